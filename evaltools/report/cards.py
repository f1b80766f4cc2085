"""One run or aggregate as the gallery shows it: read from the files of its results folder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
from pydantic import ValidationError

from ..core.check import worst_first
from ..core.language import Message, listed, say
from ..core.manifest import Manifest
from ..core.metric import metric_title
from ..core.names import RUN_NAME
from ..core.records import describe
from ..core.results import StoredMetric, StoredMetrics, spoilt_files
from .estimate_tables import shown_estimate
from .sentences import verdict_word
from .text import anchor, visible
from .trust import Trust, trust

REPORT = {"Report": "metric_report.html", "Notebook": "metric_report.ipynb"}
"""Label -> file of a report that a card links."""


class NotComplete(Exception):
    """A folder under results/ that cannot be a card; its argument, a Message, says why."""


@dataclass(frozen=True)
class Card:
    """A run or aggregate: its manifest, its metrics.json, and what stands beside them.

    `spoilt`: the files that are not as the manifest says they were written. `links`: (label, relative URL) of files
    that exist. `verdicts`: metric of the headline -> (verdict, baseline).
    """

    name: str
    manifest: Manifest
    metrics: StoredMetrics
    spoilt: Sequence[str]
    links: Sequence[tuple[str, str]]
    verdicts: Mapping[str, tuple[str, str]]

    @property
    def id(self) -> str:
        """The id of its row in the page."""
        return anchor("run", self.name)

    @property
    def title(self) -> str:
        """What its row is called: a run by its name, an aggregate by its condition."""
        return (shown(self.manifest.condition) if self.is_aggregate else "") or self.name

    @property
    def is_aggregate(self) -> bool:
        return self.manifest.kind == "aggregate"

    @property
    def report(self) -> str:
        """The address of its page; "" where there is none."""
        return dict(self.links).get("Report", "")

    @property
    def runs(self) -> list[str]:
        """The names of its runs."""
        return self.manifest.runs if self.is_aggregate else [self.name]

    @property
    def seeds(self) -> list[str]:
        """The seeds that the names of its runs tell."""
        matches = map(RUN_NAME.match, self.runs)
        return [match["seed"] for match in matches if match]

    @cached_property
    def estimates(self) -> list[StoredMetric]:
        """The estimates of the headline, those that a check blocks last."""
        by_name = {estimate.name: estimate for estimate in self.metrics.metrics}
        known = [name for name in self.manifest.headline if name in by_name]
        known.sort(key=self.metrics.blocked.__contains__)
        return [by_name[name] for name in known]

    @cached_property
    def leading(self) -> StoredMetric | None:
        """The estimate that the verdict is about; None where nothing can be measured."""
        usable = [row for row in self.estimates if row.name not in self.metrics.blocked]
        named = [row for row in usable if row.name == self.manifest.leading]
        return next(iter(named + usable), None)

    def texts(self, estimate: StoredMetric) -> dict[str, Any]:
        """What a reader sees of a metric; what a check blocks is struck and has no interval."""
        numbers = {**estimate.model_dump(), "metric": estimate.name}
        resampling = self.manifest.bootstrap.resampling
        return shown_estimate(numbers, resampling, estimate.name in self.metrics.blocked)

    @property
    def checks(self) -> list[Any]:
        """The checks that failed, the worst first."""
        return worst_first(self.metrics.checks or ())

    @property
    def trust(self) -> tuple[Trust, str]:
        """Whether it can be believed, and the worst of its checks; problems of the input are a caution."""
        doubts = [check for check in self.checks if check.level != "info"]
        levels = [check.level for check in doubts]
        reasons = [shown(check.text(), 500) for check in doubts]
        for problem in self.manifest.problems:
            levels.append("warning")
            reasons.append(f"{problem.count} x {shown(problem.code)}")
        nobody_looked = self.metrics.checks is None and not levels
        state = trust(
            None if nobody_looked else levels,
            incomplete=self.manifest.incomplete,
            spoilt=bool(self.spoilt),
        )
        return state, listed(map(shown, self.spoilt)) or "".join(reasons[:1])


def shown(text: str, limit: int = 200) -> str:
    """Text from data, made visible and clipped."""
    seen = visible(text[: limit + 1])
    return seen if len(seen) <= limit else seen[:limit] + "…"


def title_of(name: str, title: str) -> str:
    """The title of a metric in the language in force."""
    return shown(say(metric_title(name, title)))


def read_card(out: Path, folder: Path) -> Card:
    """The card of one results folder. NotComplete where the folder's files are not whole."""
    file = "manifest.json"
    try:
        manifest = Manifest.model_validate_json(_content(folder / file))
        file = "metrics.json"
        metrics = StoredMetrics.model_validate_json(_content(folder / file))
        file = "comparison.csv"
        verdicts = _verdicts(folder / file, manifest, metrics)
    except FileNotFoundError as e:
        message = "no {file}: the run is being written, or was stopped"
        raise NotComplete(Message(message, {"file": file})) from e
    # of pydantic; of pandas for other columns, for a file that is no CSV or no UTF-8
    except (OSError, ValueError) as e:
        reason = str(e)
        if isinstance(e, ValidationError):
            _, *parts = describe(e)[0]
            reason = ", ".join(str(part) for part in parts if str(part))
        values = {"file": file, "reason": reason}
        raise NotComplete(Message("{file} is not as expected: {reason}", values)) from e
    return Card(
        name=shown(folder.name),
        manifest=manifest,
        metrics=metrics,
        spoilt=spoilt_files(folder, manifest),
        links=links(out, folder.name, manifest.report or folder.name),
        verdicts=verdicts,
    )


def _content(path: Path) -> bytes:
    if not path.is_file():  # a pipe would be waited for
        raise FileNotFoundError(path)
    return path.read_bytes()


def _verdicts(
    path: Path,
    manifest: Manifest,
    metrics: StoredMetrics,
) -> dict[str, tuple[str, str]]:
    """Metric -> (verdict, baseline): what the comparison, if there was one, said of the headline."""
    if not path.is_file():
        return {}
    columns = ["metric", "verdict", "baseline", "candidate"]
    frame = pd.read_csv(
        path,
        dtype=str,
        keep_default_na=False,
        usecols=columns,
    )
    named = [name for name in manifest.headline if name not in metrics.blocked]
    of_card = (frame["candidate"] == manifest.condition) & frame["metric"].isin(named)
    rows = frame[of_card].itertuples(index=False)
    return {row.metric: (verdict_word(row.verdict), row.baseline) for row in rows}


def links(
    out: Path,
    name: str,
    report: str,
) -> list[tuple[str, str]]:
    """(label, URL relative to `out`) of the report of a result, and of each of its files, by the file's name."""
    paths = []
    if "/" not in report and not report.startswith("."):
        paths = [(label, out / "reports" / report / file) for label, file in REPORT.items()]
    for path in sorted((out / "results" / name).rglob("[!.]*")):
        paths.append((shown(path.name), path))
    entries = []
    for label, path in paths:
        if path.is_file():
            address = os.fsencode(path.relative_to(out))
            entries.append((label, quote(address)))
    return entries
