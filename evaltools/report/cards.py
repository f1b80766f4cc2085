"""The cards of the gallery: one for each run and aggregate under results/, read from its JSON and CSV files."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import pandas as pd
from pydantic import BaseModel, ValidationError

from .. import BUILT_IN
from ..core.check import LEVELS
from ..core.language import Message, say
from ..core.manifest import Manifest
from ..core.names import RUN_NAME, condition_of
from ..core.plugins import get_suite
from ..core.records import describe
from ..core.results import StoredMetrics as Stored
from .estimate_tables import row_decimals
from .sentences import verdict_word
from .text import anchor, visible

LINKS = (
    ("Report", "reports", "metric_report.html"),
    ("Notebook", "reports", "metric_report.ipynb"),
    ("CSV", "results", "derived/metrics/structural_metrics.csv"),
    ("CSV", "results", "summary_scores.csv"),
    ("XLSX", "results", "summary_scores.xlsx"),
    ("CSV", "results", "aggregated_mean_std.csv"),
    ("Comparison CSV", "results", "comparison.csv"),
    ("Text report", "results", "report.md"),
    ("Turns JSONL", "results", "turn_eval.jsonl"),
    ("Scorecards JSONL", "results", "scorecards.jsonl"),
    ("Metrics JSON", "results", "metrics.json"),
)
"""Label, folder under `out`, file: a card links those that exist. What a suite writes is known by its name alone."""

NAME = 200
"""Characters of a name that are shown."""

UNNAMED = 10
"""Metrics on the card of a result whose manifest names no headline, as in the first edition."""

STRUCK = 4
"""Metrics that a check blocks which stand, struck, on a card; the check's message speaks for the rest."""

SEARCHED = 20_000
"""Units of a run whose texts are searched."""

SAID = ("better", "worse", "equivalent")
"""Verdicts that are counted outside the headline, where they are exploratory."""

Model = TypeVar("Model", bound=BaseModel)


class NotComplete(Exception):
    """A folder under results/ that cannot be a card; its argument, a Message, says why."""


def read_card(out: Path, folder: Path) -> dict[str, Any]:
    """The card of one results folder, as JSON.

    Raises NotComplete where the folder's files are not whole. Texts are clipped and hold no unseen
    characters; `links` are (label, relative URL) of files that exist; `rows` are (name, title, better, value,
    low, high, n) of the headline metrics, null where not measured, then those that a check blocks, with an eighth
    True; `checks` are (level, code, message, help), the worst first, or null; `verdicts` are (metric, verdict,
    baseline) of the headline, `explored` how often each verdict was reached outside it, `judged` the (title,
    verdict, why) of its suite; `rank` the ranks and tie group of a ranked condition, or null. `digits` are the
    decimals of intervals that have no three, by metric. `inputs` are (role, number of files, hash), the run's own
    file first; `samples` is a hash of the units' names and of the texts that these were given, "" if unknown;
    `texts` hold a line a unit, of those given and of those that systems wrote; `of` are the ids of an aggregate's
    runs.
    """
    manifest = read_json(folder / "manifest.json", Manifest)
    is_aggregate = manifest.kind == "aggregate"
    names = manifest.runs if is_aggregate else [folder.name]
    runs = [match for match in map(RUN_NAME.match, names) if match]
    condition = manifest.condition
    if not condition and runs:
        condition = condition_of(runs[0][0])[0]
    metrics = _metrics(folder, manifest)
    rows = _rows(metrics, manifest)
    given = wrote = pd.DataFrame()
    verdicts: list[list[str]] = []
    explored: list[list[Any]] = []
    if is_aggregate:
        verdicts, explored = _verdicts(folder / "comparison.csv", manifest, metrics)
    else:
        given = _texts(folder, manifest, "given")
        wrote = _texts(folder, manifest, "wrote")
    return {
        "id": anchor("run", folder.name),
        "name": shown(folder.name),
        "kind": manifest.kind,
        "suite": shown(manifest.suite),
        "suiteTitle": shown(manifest.suite_title),
        "started": shown(manifest.started, 40),
        "condition": shown(condition),
        "seeds": [shown(match["seed"]) for match in runs],
        "runs": len(manifest.runs),
        "of": [anchor("run", name) for name in manifest.runs],
        "inputs": _inputs(manifest),
        "samples": _samples(given),
        "texts": [_lines(given), _lines(wrote)],
        "n": manifest.bootstrap.n_units,
        "unit": shown(manifest.bootstrap.unit),
        "level": manifest.bootstrap.confidence,
        "checks": _checks(metrics),
        "rows": rows,
        "digits": _digits(rows, manifest),
        "judged": [[shown(v.title), shown(v.verdict), shown(v.said)] for v in metrics.verdicts],
        "verdicts": verdicts,
        "explored": explored,
        "rank": _rank(folder.parent, manifest) if is_aggregate else None,
        "status": _status(manifest),
        "problems": [[p.severity, shown(p.code), p.count] for p in manifest.problems],
        "notes": [shown(say(note), 500) for note in manifest.notes[:20]],
        "links": links(out, folder.name, manifest.report or folder.name),
    }


def _status(manifest: Manifest) -> str:
    if manifest.incomplete:
        return "incomplete"
    return "with warnings" if manifest.problems or manifest.notes else "complete"


def _metrics(folder: Path, manifest: Manifest) -> Stored:
    path = folder / "metrics.json"
    if manifest.kind == "aggregate" and not manifest.headline and not path.exists():
        raise NotComplete(Message("made by an older version: run the report again"))
    return read_json(path, Stored)


def _checks(metrics: Stored) -> list[list[str]] | None:
    if metrics.checks is None:
        return None
    checks = sorted(metrics.checks, key=lambda check: LEVELS.index(check.level))
    rows = []
    for check in checks:
        row = [
            check.level,
            shown(check.code),
            shown(check.check.text(), 500),
            shown(check.help),
        ]
        rows.append(row)
    return rows


def _rows(metrics: Stored, manifest: Manifest) -> list[list[Any]]:
    """The rows of the headline, then those of metrics that a check blocks, with True at their end."""
    by_name = {row.name: row for row in metrics.metrics}
    headline = manifest.headline
    if not headline:
        with_interval = [row.name for row in by_name.values() if row.ci_low is not None]
        headline = with_interval[:UNNAMED]
    names = dict.fromkeys([*headline, *by_name])  # each once, in this order
    blocked = [name for name in names if name in metrics.blocked][:STRUCK]
    usable = [name for name in headline if name not in metrics.blocked]
    rows = []
    for name in [*usable, *blocked]:
        if name not in by_name:
            continue
        metric = by_name[name]
        row: list[Any] = [
            shown(name),
            shown(metric.title or name),
            metric.better,
            _number(metric.value),
            _number(metric.ci_low),
            _number(metric.ci_high),
            _number(metric.n_units),
        ]
        if name in metrics.blocked:
            row.append(True)
        rows.append(row)
    return rows


def _digits(rows: list[list[Any]], manifest: Manifest) -> dict[str, int]:
    """Metric -> decimals of its interval, where these are not three."""
    digits = {}
    for name, _, _, value, low, high, *_ in rows:
        estimate = {"value": value, "ci_low": low, "ci_high": high}
        decimals = row_decimals(estimate, manifest.bootstrap.resampling)
        if decimals < 3:
            digits[name] = decimals
    return digits


def _inputs(manifest: Manifest) -> list[list[Any]]:
    """(role, number of files, eight digits that tell their contents) of every role, in the manifest's order."""
    hashes: dict[str, set[str]] = {}
    for file in manifest.inputs:
        hashes.setdefault(file.role, set()).add(file.sha256)
    rows: list[list[Any]] = []
    for role, of_role in hashes.items():
        joined = " ".join(sorted(of_role)).encode("utf-8", "replace")
        digest = hashlib.sha256(joined).hexdigest()
        rows.append([shown(role), len(of_role), digest[:8]])
    return rows


def _texts(
    folder: Path,
    manifest: Manifest,
    part: str,
) -> pd.DataFrame:
    """The names of the units and the texts that systems were `given`, or `wrote`; empty where these are not known."""
    known = get_suite(manifest.suite) if manifest.suite in BUILT_IN else manifest
    columns = [manifest.bootstrap.unit, *getattr(known, part)]
    if part == "wrote" and len(columns) == 1:
        return pd.DataFrame()
    try:
        units = pd.read_parquet(folder / "units.parquet", columns=columns)
    except (OSError, ValueError, KeyError, NotImplementedError):
        return pd.DataFrame()  # not there, spoilt, or of other columns
    return units.astype(str).fillna("").drop_duplicates()


def _samples(units: pd.DataFrame) -> str:
    """A hash of the names of units and the texts that these were given, whatever their order; "" of none."""
    if units.empty:
        return ""
    hashes = pd.util.hash_pandas_object(units, index=False).to_numpy()
    return f"{int(hashes.sum()) % 2**32:08x}"


def _lines(units: pd.DataFrame) -> list[str]:
    """A line a unit, its name and texts, as they are searched; of the first SEARCHED units."""
    return [" ".join(" ".join(row).split()) for row in units.head(SEARCHED).itertuples(index=False)]


def _verdicts(
    path: Path,
    manifest: Manifest,
    metrics: Stored,
) -> tuple[list[list[str]], list[list[Any]]]:
    """What the comparison with the baseline, if there was one, said of the headline, and how often what beside it."""
    if not path.exists():
        return [], []
    columns = ["metric", "verdict", "baseline"]
    with _whole(path):
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, usecols=[*columns, "candidate"])
    of_condition = frame["candidate"] == manifest.condition
    rows = frame[of_condition & ~frame["metric"].isin(metrics.blocked)]
    is_headline = rows["metric"].isin(manifest.headline)
    verdicts = []
    for metric, verdict, baseline in rows.loc[is_headline, columns].to_numpy().tolist():
        verdicts.append([shown(metric), shown(verdict_word(verdict)), shown(baseline)])
    counts = Counter(rows.loc[~is_headline, "verdict"])
    explored = [[verdict, counts[verdict]] for verdict in SAID if counts[verdict]]
    return verdicts, explored


def _rank(results: Path, manifest: Manifest) -> dict[str, str] | None:
    """How a condition stands among those of its study, if these were ranked: beside the baseline's files."""
    folder = results / f"{manifest.baseline}_aggregated"
    if not (folder / "ranks.csv").exists():
        return None
    if read_json(folder / "manifest.json", Manifest).members != manifest.members:
        return None  # another study's
    with _whole(folder / "ranks.csv"):
        columns = ["condition", "rank_low", "rank_high", "group"]
        frame = pd.read_csv(folder / "ranks.csv", dtype=str, keep_default_na=False, usecols=columns)
    rows = frame.loc[frame["condition"] == manifest.condition, columns].to_numpy().tolist()
    if not rows:
        return None
    _, low, high, group = rows[0]
    bounds = [bound for bound in dict.fromkeys([low, high]) if bound]
    return {"rank": shown("–".join(bounds)), "group": shown(group)}


def links(
    out: Path,
    name: str,
    report: str,
) -> list[list[str]]:
    """(label, URL relative to `out`) of every file of LINKS that is there."""
    folders = {"results": name, "reports": report}
    entries = []
    for label, top, file in LINKS:
        folder = folders[top]
        if "/" in folder or folder.startswith("."):
            continue
        path = f"{top}/{folder}/{file}"
        if (out / path).is_file():
            entries.append([label, quote(os.fsencode(path))])
    return entries


def read_json(path: Path, model: type[Model]) -> Model:
    """The file as `model`; NotComplete where there is none or it is something else."""
    with _whole(path):
        return model.model_validate_json(path.read_bytes())


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """NotComplete for what goes wrong while a file is read."""
    try:
        if not path.is_file():  # a pipe would be waited for
            raise FileNotFoundError
        yield
    except FileNotFoundError as e:
        message = "no {file}: the run is being written, or was stopped"
        raise NotComplete(Message(message, {"file": path.name})) from e
    except OSError as e:
        values = {"file": path.name, "reason": e.strerror}
        raise NotComplete(Message("{file} cannot be read: {reason}", values)) from e
    # of pydantic; of pandas for other columns, for a file that is no CSV or no UTF-8
    except ValueError as e:
        reason = str(e)
        if isinstance(e, ValidationError):
            reason = ", ".join(part for part in describe(e)[0][1:] if part)
        values = {"file": path.name, "reason": reason}
        raise NotComplete(Message("{file} is not as expected: {reason}", values)) from e


def shown(text: str, limit: int = NAME) -> str:
    """Text from data, made visible and clipped."""
    seen = visible(text[: limit + 1])
    return seen if len(seen) <= limit else seen[:limit] + "…"


def _number(value: float | None) -> float | int | None:
    """A number with six significant digits (more than are ever printed), or None."""
    if value is None:
        return None
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() else rounded
