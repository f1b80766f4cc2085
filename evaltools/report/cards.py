"""What the gallery knows of one run or aggregate: read from the JSON and CSV files of its results folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import pandas as pd
from pydantic import BaseModel, ValidationError

from .. import BUILT_IN
from ..core.check import Check, worst_first
from ..core.language import Message
from ..core.manifest import Manifest
from ..core.names import RUN_NAME, condition_of
from ..core.plugins import get_suite
from ..core.records import describe
from ..core.results import StoredMetric, StoredMetrics, spoilt_files
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
    ("CSV", "results", "ranks.csv"),
    ("Text report", "results", "report.md"),
    ("Turns JSONL", "results", "turn_eval.jsonl"),
    ("Scorecards JSONL", "results", "scorecards.jsonl"),
    ("Metrics JSON", "results", "metrics.json"),
)
"""Label, folder under `out`, file: a card links those that exist. What a suite writes is known by its name alone."""

NAME = 200
"""Characters of a name that are shown."""

STRUCK = 4
"""Metrics that a check blocks which stand, struck, on a card; the check's message speaks for the rest."""

SEARCHED = 20_000
"""Units of a run whose texts are searched."""

Model = TypeVar("Model", bound=BaseModel)


class NotComplete(Exception):
    """A folder under results/ that cannot be a card; its argument, a Message, says why."""


@dataclass(frozen=True)
class Card:
    """A run or aggregate as the gallery shows it: its manifest, its metrics.json, and what stands beside them.

    `spoilt`: the files that are not as the manifest says they were written. `links`: (label, relative URL) of files
    that exist. `verdicts`: metric of the headline -> (verdict, baseline). `samples`: a hash of the units' names and of
    the texts that these were given, "" if unknown. `texts`: those given, and those that systems wrote; a line a unit.
    An aggregate has neither: its runs have.
    """

    name: str
    manifest: Manifest
    metrics: StoredMetrics
    spoilt: Sequence[str]
    links: Sequence[tuple[str, str]]
    verdicts: Mapping[str, tuple[str, str]]
    samples: str
    texts: Sequence[tuple[str, ...]]

    @property
    def id(self) -> str:
        """The id of its row in the page."""
        return anchor("run", self.name)

    @property
    def title(self) -> str:
        """What its row is called: a run by its name, an aggregate by its condition."""
        return (shown(self.condition) if self.is_aggregate else "") or self.name

    @property
    def is_aggregate(self) -> bool:
        return self.manifest.kind == "aggregate"

    @cached_property
    def runs(self) -> list[str]:
        """The names of its runs."""
        return self.manifest.runs if self.is_aggregate else [self.name]

    @property
    def seeds(self) -> list[str]:
        """The seeds that the names of its runs tell."""
        seeds = []
        for name in self.runs:
            match = RUN_NAME.match(name)
            if match:
                seeds.append(match["seed"])
        return seeds

    @property
    def condition(self) -> str:
        """Its condition; that of its first run's name, where the manifest names none."""
        if self.manifest.condition:
            return self.manifest.condition
        for name in self.runs:
            if RUN_NAME.match(name):
                condition, _, _ = condition_of(name)
                return condition
        return ""

    @cached_property
    def checks(self) -> list[Check] | None:
        """The checks that failed, the worst first; None where nobody looked."""
        checks = self.metrics.checks
        if checks is None:
            return None
        return worst_first(checks)

    @cached_property
    def blocked(self) -> set[str]:
        """The metrics that mean nothing here, as a check says."""
        return self.metrics.blocked

    @cached_property
    def estimates(self) -> list[StoredMetric]:
        """The estimates of the headline, then some of the metrics that a check blocks."""
        by_name = {estimate.name: estimate for estimate in self.metrics.metrics}
        headline = self.manifest.headline
        names = dict.fromkeys([*headline, *by_name])  # each once, in this order
        blocked = [name for name in names if name in self.blocked][:STRUCK]
        usable = [name for name in headline if name not in self.blocked]
        return [by_name[name] for name in [*usable, *blocked] if name in by_name]

    @cached_property
    def leading(self) -> StoredMetric | None:
        """The estimate that the verdict is about; None where nothing can be measured."""
        usable = [estimate for estimate in self.estimates if estimate.name not in self.blocked]
        for estimate in usable:
            if estimate.name == self.manifest.leading:
                return estimate
        return usable[0] if usable else None

    @property
    def inputs(self) -> list[tuple[str, int, str]]:
        """(role, number of files, eight digits that tell their contents), the run's own file first."""
        hashes: dict[str, set[str]] = {}
        for file in self.manifest.inputs:
            hashes.setdefault(file.role, set()).add(file.sha256)
        inputs = []
        for role, of_role in hashes.items():
            joined = " ".join(sorted(of_role))
            digest = hashlib.sha256(joined.encode("utf-8", "replace"))
            digits = digest.hexdigest()[:8]
            inputs.append((role, len(of_role), digits))
        return inputs


def read_card(out: Path, folder: Path) -> Card:
    """The card of one results folder. NotComplete where the folder's files are not whole."""
    manifest = read_json(folder / "manifest.json", Manifest)
    metrics = read_json(folder / "metrics.json", StoredMetrics)
    given = _texts(folder, manifest, "given")
    wrote = _texts(folder, manifest, "wrote")
    return Card(
        name=shown(folder.name),
        manifest=manifest,
        metrics=metrics,
        spoilt=spoilt_files(folder, manifest),
        links=links(out, folder.name, manifest.report or folder.name),
        verdicts=_verdicts(folder / "comparison.csv", manifest, metrics),
        samples=_samples(given),
        texts=(_lines(given), _lines(wrote)),
    )


def _texts(
    folder: Path,
    manifest: Manifest,
    part: str,
) -> pd.DataFrame:
    """The names of the units and the texts that systems were `given`, or `wrote`; empty where these are not known."""
    known: Any = manifest
    if manifest.suite in BUILT_IN:
        known = get_suite(manifest.suite)
    texts = getattr(known, part)
    if part == "wrote" and not texts:
        return pd.DataFrame()
    columns = [manifest.bootstrap.unit, *texts]
    try:
        units = pd.read_parquet(folder / "units.parquet", columns=columns)
    except (OSError, ValueError, KeyError, NotImplementedError):
        return pd.DataFrame()  # not there, as of an aggregate, spoilt, or of other columns
    return units.astype(str).fillna("").drop_duplicates()


def _samples(units: pd.DataFrame) -> str:
    """A hash of the names of units and the texts that these were given, whatever their order; "" of none."""
    if units.empty:
        return ""
    hashes = pd.util.hash_pandas_object(units, index=False).to_numpy()
    total = int(hashes.sum()) % 2**32
    return f"{total:08x}"


def _lines(units: pd.DataFrame) -> tuple[str, ...]:
    """A line a unit, its name and texts, as they are searched; of the first SEARCHED units."""
    lines = []
    for row in units.head(SEARCHED).itertuples(index=False):
        text = " ".join(row)
        one_line = " ".join(text.split())
        lines.append(one_line)
    return tuple(lines)


def _verdicts(
    path: Path,
    manifest: Manifest,
    metrics: StoredMetrics,
) -> dict[str, tuple[str, str]]:
    """Metric -> (verdict, baseline): what the comparison, if there was one, said of the headline."""
    if not path.exists():
        return {}
    columns = ["metric", "verdict", "baseline", "candidate"]
    with _whole(path):
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, usecols=columns)
    verdicts = {}
    of_candidate = frame[frame["candidate"] == manifest.condition]
    for row in of_candidate.itertuples(index=False):
        if row.metric in manifest.headline and row.metric not in metrics.blocked:
            verdicts[row.metric] = verdict_word(row.verdict), row.baseline
    return verdicts


def links(
    out: Path,
    name: str,
    report: str,
) -> tuple[tuple[str, str], ...]:
    """(label, URL relative to `out`) of every file of LINKS that is there."""
    folders = {"results": name, "reports": report}
    entries = []
    for label, top, file in LINKS:
        folder = folders[top]
        if "/" in folder or folder.startswith("."):
            continue
        path = f"{top}/{folder}/{file}"
        if (out / path).is_file():
            entries.append((label, quote(os.fsencode(path))))
    return tuple(entries)


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
    # of pydantic; of pandas for other columns, for a file that is no CSV or no UTF-8
    except (OSError, ValueError) as e:
        reason = str(e)
        if isinstance(e, ValidationError):
            first = describe(e)[0]
            parts = [str(part) for part in first[1:]]
            reason = ", ".join(part for part in parts if part)
        values = {"file": path.name, "reason": reason}
        raise NotComplete(Message("{file} is not as expected: {reason}", values)) from e


def shown(text: str, limit: int = NAME) -> str:
    """Text from data, made visible and clipped."""
    seen = visible(text[: limit + 1])
    if len(seen) > limit:
        return seen[:limit] + "…"
    return seen
