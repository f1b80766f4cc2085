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
from markupsafe import Markup
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
from .strip import Scale, strip
from .tables import VERDICTS
from .text import anchor, visible
from .trust import trust

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


class NotComplete(Exception):
    """A folder under results/ that cannot be a card; its argument, a Message, says why."""


@dataclass(frozen=True)
class Chip:
    """A word with a colour, and what it means."""

    text: str
    kind: str = "info"
    meaning: str = ""


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

    def row(self, estimate: StoredMetric, scales: Mapping[str, Scale]) -> dict[str, Any]:
        """A metric as text, with its strip; what a check blocks is struck and has no interval."""
        name = estimate.name
        is_blocked = name in self.metrics.blocked
        numbers = {**estimate.model_dump(), "metric": name}
        texts = shown_estimate(numbers, self.manifest.bootstrap.resampling, is_blocked)
        drawn = Markup("")
        if not is_blocked:
            text = f"{texts['value']} {texts['interval']}".rstrip()
            drawn = strip(numbers, scales[name], text, n_units=estimate.n_units)
        is_of_all = estimate.n_units in (None, self.manifest.bootstrap.n_units)
        return {
            **texts,
            "title": title_of(name, estimate.title),
            "n": "" if is_of_all else texts["n"],
            "strip": drawn,
            "is_blocked": is_blocked,
            "verdict": self.verdict(name),
        }

    def verdict(self, metric: str) -> Chip | None:
        """What the comparison with the baseline said of a metric; None where it said nothing."""
        if metric not in self.verdicts:
            return None
        verdict, baseline = map(shown, self.verdicts[metric])
        against = say("against {what}", what=baseline)
        return Chip(say(verdict), VERDICTS.get(verdict, "info"), against)

    @property
    def decision(self) -> Chip | None:
        """What was decided: the verdict on the leading metric, or what the suite judges; None of neither."""
        compared = self.verdict(self.leading.name) if self.leading else None
        if compared:
            return compared
        for judged in sorted(self.metrics.verdicts, key=lambda judged: judged.verdict != "fail"):
            kind = VERDICTS.get(judged.verdict, "info")
            return Chip(shown(say(judged.verdict)), kind, shown(say(judged.said)))
        is_baseline = self.manifest.condition == self.manifest.baseline != ""
        return Chip(say("baseline")) if is_baseline else None

    @property
    def checks(self) -> list[Any]:
        """The checks that failed, the worst first."""
        return worst_first(self.metrics.checks or ())

    @property
    def trust(self) -> Chip:
        """Whether it can be believed, with the worst of its checks; problems of the input are a caution."""
        doubts = [check for check in self.checks if check.level != "info"]
        levels = [check.level for check in doubts]
        reasons = [check_text(check) for check in doubts]
        for problem in self.manifest.problems:
            levels.append("warning")
            reasons.append(f"{problem.count} x {shown(problem.code)}")
        nobody_looked = self.metrics.checks is None and not levels
        state = trust(
            None if nobody_looked else levels,
            incomplete=self.manifest.incomplete,
            spoilt=bool(self.spoilt),
        )
        meaning = listed(map(shown, self.spoilt)) or "".join(reasons[:1])
        return Chip(say(state.words), state.kind, meaning)


def shown(text: str, limit: int = 200) -> str:
    """Text from data, made visible and clipped."""
    seen = visible(text[: limit + 1])
    return seen if len(seen) <= limit else seen[:limit] + "…"


def title_of(name: str, title: str) -> str:
    """The title of a metric in the language in force."""
    return shown(say(metric_title(name, title)))


def check_text(check: Any) -> str:
    """What a check says, as it stands in the gallery: visible, and not longer than can be read there."""
    return shown(check.text(), 500)


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
    frame = pd.read_csv(path, dtype=str, keep_default_na=False, usecols=columns)
    named = [name for name in manifest.headline if name not in metrics.blocked]
    of_card = (frame["candidate"] == manifest.condition) & frame["metric"].isin(named)
    rows = frame[of_card].itertuples(index=False)
    return {row.metric: (verdict_word(row.verdict), row.baseline) for row in rows}


def links(
    out: Path,
    name: str,
    report: str,
) -> list[tuple[str, str]]:
    """(label, URL relative to `out`) of every file of LINKS that is there."""
    folders = {"results": name, "reports": report}
    entries = []
    for label, top, file in LINKS:
        folder = folders[top]
        path = f"{top}/{folder}/{file}"
        is_inside = "/" not in folder and not folder.startswith(".")
        if is_inside and (out / path).is_file():
            entries.append((label, quote(os.fsencode(path))))
    return entries
