"""The rows of a long file -> what it holds, and the units of each run, in memory that grows with the units alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import InputError, Problems
from ...core.metric import Metric
from ...core.records import require_file
from ...core.suite import Source, Workers
from .read import Key, blocks

MOST = 1_000
"""More metrics or runs than this are a column that was taken for another."""


@dataclass(frozen=True)
class Survey:
    """What a file holds: its runs by name, its metrics, and what is wrong with its rows."""

    runs: dict[str, Key]
    metrics: tuple[Metric, ...]
    problems: Problems


def survey(path: Path, problems: Problems) -> Survey:
    """What a file holds, found in one pass, once for as long as it stays as it is. InputError for no long file."""
    require_file(path, problems)
    stat = path.stat()
    try:
        return _survey(path, stat.st_mtime_ns, stat.st_size)
    except InputError as e:
        for problem in e.problems:
            problems.add(problem)
        raise


@lru_cache(maxsize=8)
def _survey(path: Path, *_as_it_was: int) -> Survey:
    problems, keys, found = Problems("skip"), dict[Key, None](), pd.DataFrame()
    for block in blocks(path, problems):
        pairs = block[["condition", "seed"]].drop_duplicates()
        keys |= dict.fromkeys(zip(_plain(pairs["condition"]), _plain(pairs["seed"])))
        ratio = (block["num"] / block["den"]).where(block["den"] > 0)
        single = ratio.isna() | (ratio.isin([0, 1]) & (block["den"] == 1))
        about = {
            "low": ratio,
            "high": ratio,
            "single": single,
            "up": block["higher_is_better"].eq(True),
        }
        about |= {"down": block["higher_is_better"].eq(False), "metric": block["metric"]}
        found = pd.concat([found, _merged(pd.DataFrame(about))])
        found = _merged(found.reset_index())
        for what, n in (("metrics", len(found)), ("runs", len(keys))):
            if n > MOST:
                message = f"more than {MOST:,} {what}; expected one metric on one sample, a row"
                raise problems.fatal("wrong-columns", message, file=str(path))
    if found.empty:
        raise problems.fatal("no-rows", "no row of the file can be used", file=str(path))
    for name in found.index[found["up"] & found["down"]]:
        message = f"both true and false for {str(name)[:80]!r}; expected one direction a metric"
        problems.error("bad-field", message, file=str(path), field="higher_is_better")
    return Survey(_named(keys, path, problems), tuple(_metrics(found)), problems)


def _merged(found: pd.DataFrame) -> pd.DataFrame:
    how = {"low": "min", "high": "max", "single": "all", "up": "any", "down": "any"}
    return found.groupby("metric", sort=False).agg(how)


def _plain(column: pd.Series) -> list[Any]:
    return [None if pd.isna(v) else v for v in column]


def _metrics(found: pd.DataFrame) -> Iterator[Metric]:
    """The metrics of a file, in order of appearance: the columns num_KEY and den_KEY of the units."""
    keys: dict[str, int] = {}
    for name, row in found.iterrows():
        key = re.sub(r"\W", "_", str(name))
        keys[key] = keys.get(key, 0) + 1
        key = key if keys[key] == 1 else f"{key}_{keys[key]}_"
        yield Metric(
            name=str(name),
            title=str(name),
            description="Sum of the numerators (values) over the sum of the denominators (1 each).",
            numerator=f"num_{key}",
            denominator=f"den_{key}",
            group="Scores",
            better="lower" if row["down"] else "higher",
            proportion=bool(row["single"]),
            bounds=(0.0, 1.0)
            if row["low"] >= 0 and row["high"] <= 1 and not row["single"]
            else None,
        )


def _named(keys: dict[Key, None], path: Path, problems: Problems) -> dict[str, Key]:
    """The runs by the name `<condition>__seed<seed>_<stem>`, without what the file does not say."""
    runs: dict[str, Key] = {}
    for condition, seed in keys:
        parts = [_slug(condition)] if condition is not None else []
        parts += [f"seed{_slug(seed).replace('_', '-')}"] if seed is not None else []
        name = "_".join(filter(None, ["__".join(parts), path.stem]))
        clash = next((k for n, k in runs.items() if n.casefold() == name.casefold()), None)
        if clash is not None:
            message = (
                f"{clash} and {(condition, seed)} (condition, seed) would both be named {name!r}"
            )
            raise problems.fatal("same-name", message, file=str(path))
        runs[name] = (condition, seed)
    return runs


def _slug(text: str) -> str:
    return re.sub(r'[/\\:*?"<>|\x00-\x1f]+', "-", text.strip()).lstrip(".") or "-"


def score(
    source: Source, options: Any, problems: Problems, workers: Workers, aside: Path | None
) -> pd.DataFrame:
    """The units of a run, one row an id: num_KEY and den_KEY of every metric, nan where it was not measured.

    With clusters `id` is the cluster, which is resampled, and `item` the id. A second row of a metric on an id and
    a value outside the declared bounds are problems of the input, with their line.
    """
    path, metrics = source.files["scores"], options.found
    runs = survey(path, problems).runs
    only = runs[source.name] if len(runs) > 1 else None
    wanted = ["id", "line", "cluster", "text", "metric", "num", "den"]
    rows = pd.concat(
        [block[wanted] for block in blocks(path, Problems("skip"), only)], ignore_index=True
    )
    unit, _ = pd.factorize(rows["id"])
    metric = rows["metric"].map({m.name: i for i, m in enumerate(metrics)}).to_numpy(dtype=int)
    low, high = np.array([m.bounds or (-np.inf, np.inf) for m in metrics])[metric].T
    ratio = rows["num"] / rows["den"]
    again = rows.duplicated(["id", "metric"])
    wrong = again | (ratio < low) | (ratio > high)
    for i, line, uid, name in rows.loc[wrong, ["line", "id", "metric"]].itertuples():
        where: dict[str, Any] = {"file": str(path), "line": int(line), "id": uid}
        if again[i]:
            problems.error("duplicate-id", f"a second row of {name}", **where)
        else:
            said = f"{ratio[i]:g} is not within {low[i]:g} and {high[i]:g}"
            problems.error("out-of-bounds", said, field=name, **where)
    problems.raise_if_failed()
    units = rows.loc[~rows["id"].duplicated(), ["id", "line", "cluster", "text"]].reset_index(
        drop=True
    )
    sums = np.full((len(units), len(metrics), 2), np.nan)
    sums[unit[~wrong], metric[~wrong]] = rows.loc[~wrong, ["num", "den"]]
    if units["cluster"].notna().any():
        units.insert(1, "item", units["id"])
        units["id"] = units["cluster"].fillna(units["id"])
    if units["text"].isna().all():
        units = units.drop(columns="text")
    names = [column for m in metrics for column in (m.numerator, m.denominator)]
    values = pd.DataFrame(sums.reshape(len(units), -1), columns=names)
    units = pd.concat([units.drop(columns="cluster"), values], axis=1)
    units.attrs["rows"] = {"scores": int((~wrong).sum())}
    return units
