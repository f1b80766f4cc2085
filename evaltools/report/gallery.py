"""The gallery: one static, self-contained page with a table of all results of an output folder.

A card is one run or aggregate, read from the files of its results folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mode
from typing import Any
from urllib.parse import quote

import pandas as pd
from pydantic import ValidationError

from ..core.check import LEVEL_WORDS, Check, Level, worst_first
from ..core.errors import UsageError
from ..core.files import require_writable, write_text
from ..core.language import listed, say
from ..core.manifest import Manifest
from ..core.metric import metric_title
from ..core.names import RUN_NAME
from ..core.records import describe
from ..core.results import StoredMetric, StoredMetrics, spoilt_files
from .numbers import ARROWS
from .page import page
from .sentences import verdict_word
from .strip import Scale, scale_of, strip
from .tables import VERDICTS, Kind, shown_estimate
from .text import anchor, visible
from .trust import COLOURS, trust

STYLES = ("report/page.css", "report/fragments.css", "gallery/gallery.css")
SCRIPTS = ("report/page.js", "gallery/gallery.js")

OURS = b'<meta name="generator" content="evaltools gallery">'
"""Stands in a page that this package made."""

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
        names = sorted(self.manifest.headline, key=self.metrics.blocked.__contains__)
        return [by_name[name] for name in names if name in by_name]

    @cached_property
    def leading(self) -> StoredMetric | None:
        """The estimate that the verdict is about; None where nothing can be measured."""
        usable = [row for row in self.estimates if row.name not in self.metrics.blocked]
        usable.sort(key=lambda row: row.name != self.manifest.leading)
        return usable[0] if usable else None

    def texts(self, estimate: StoredMetric) -> dict[str, Any]:
        """What a reader sees of a metric; what a check blocks is struck and has no interval."""
        numbers = {**estimate.model_dump(), "metric": estimate.name}
        resampling = self.manifest.bootstrap.resampling
        if estimate.name in self.metrics.blocked:
            numbers.update(value=None, ci_low=None, ci_high=None)
        texts = shown_estimate(numbers, resampling)
        return {**texts, "raw": numbers, "arrow": ARROWS.get(estimate.better, "")}

    @property
    def checks(self) -> list[Check]:
        """The checks that failed, the worst first."""
        return worst_first(self.metrics.checks or ())

    @property
    def trust(self) -> tuple[tuple[str, Kind], str]:
        """Whether it can be believed, and the worst of its checks; problems of the input are a caution."""
        doubts: list[tuple[Level, str]] = []
        for check in self.checks:
            if check.level != "info":
                doubts.append((check.level, shown(check.message, 500)))
        for problem in self.manifest.problems:
            doubts.append(("warning", f"{problem.count} x {shown(problem.code)}"))
        nobody_looked = self.metrics.checks is None and not doubts
        state = trust(
            None if nobody_looked else [level for level, _ in doubts],
            incomplete=self.manifest.incomplete,
            spoilt=bool(self.spoilt),
        )
        if self.spoilt:
            return state, listed(map(shown, self.spoilt))
        return state, doubts[0][1] if doubts else ""


def shown(
    text: str,
    limit: int = 200,
) -> str:
    """Text from data, made visible and clipped."""
    seen = visible(text[: limit + 1])
    return seen if len(seen) <= limit else seen[:limit] + "…"


def title_of(
    name: str,
    title: str,
) -> str:
    """The title of a metric in the language in force."""
    return shown(metric_title(name, title))


def read_card(
    out: Path,
    folder: Path,
) -> Card:
    """The card of one results folder. NotComplete where the folder's files are not whole."""
    file = "manifest.json"
    try:
        manifest = Manifest.model_validate_json(_content(folder / file))
        file = "metrics.json"
        metrics = StoredMetrics.model_validate_json(_content(folder / file))
        file = "comparison.csv"
        verdicts = _verdicts(folder / file, manifest, metrics)
    except FileNotFoundError as e:
        message = f"no {file}: the run is being written, or was stopped"
        raise NotComplete(message) from e
    # of pydantic; of pandas for other columns, for a file that is no CSV or no UTF-8
    except (OSError, ValueError) as e:
        reason = str(e)
        if isinstance(e, ValidationError):
            _, *parts = describe(e)[0]
            reason = ", ".join(str(part) for part in parts if str(part))
        raise NotComplete(f"{file} is not as expected: {reason}") from e
    return Card(
        name=shown(folder.name),
        manifest=manifest,
        metrics=metrics,
        spoilt=spoilt_files(folder, manifest),
        links=_links(out, folder.name, manifest.report or folder.name),
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


def _links(
    out: Path,
    name: str,
    report: str,
) -> list[tuple[str, str]]:
    """(label, URL relative to `out`) of the report of a result, and of each of its files, by the file's name."""
    paths = []
    if "/" not in report and not report.startswith("."):
        paths = [(label, out / "reports" / report / file) for label, file in REPORT.items()]
    files = sorted((out / "results" / name).rglob("[!.]*"))
    paths += [(shown(path.name), path) for path in files]
    links = []
    for label, path in paths:
        if path.is_file():
            address = os.fsencode(path.relative_to(out))
            links.append((label, quote(address)))
    return links


# --- the page


@dataclass(frozen=True)
class Section:
    """The results of a suite, the newest first."""

    suite: str
    cards: Sequence[Card]

    @property
    def title(self) -> str:
        """The title that its newest titled result has."""
        titles = [card.manifest.suite_title for card in self.cards if card.manifest.suite_title]
        return say(titles[0]) if titles else self.suite

    @cached_property
    def metric(self) -> str:
        """The title of the metric that leads most of the results, with its arrow."""
        leading = [lead_title(card) for card in self.cards if card.leading]
        return mode(leading) if leading else ""

    @property
    def lines(self) -> list[tuple[Card, list[Card]]]:
        """Each result with the runs that stand below it: an aggregate's, below the first that has them."""
        runs = {card.name: card for card in self.cards if not card.is_aggregate}
        lines = []
        for card in self.cards:
            if card.is_aggregate:
                below = [runs.pop(name) for name in card.runs if name in runs]
                lines.append((card, below))
        return lines + [(run, []) for run in runs.values()]

    @cached_property
    def scales(self) -> dict[str, Scale]:
        """Metric -> the scale on which all its strips are drawn."""
        numbers: dict[str, list[float | None]] = {}
        for card in self.cards:
            for estimate in card.estimates:
                ends = [estimate.value, estimate.ci_low, estimate.ci_high]
                numbers.setdefault(estimate.name, []).extend(ends)
        return {name: scale_of(values) for name, values in numbers.items()}


def build(out: Path) -> Path:
    """(Re)build `<out>/index.html` from what stands under `<out>/results` and `<out>/reports`; returns its path.

    The page loads nothing from anywhere and is written whole or not at all. The same files give the same
    bytes. A results folder that is being written, spoilt or unknown is listed as not complete, with the reason;
    hidden folders are passed over. UsageError where there is no folder `out`, or somebody else's index.html in it.
    """
    out = Path(out)
    if not out.is_dir():
        raise UsageError("{folder}: no such folder", folder=out)
    require_writable(out)
    path = replaceable(out)
    write_text(path, render(*collect(out)))
    return path


def replaceable(out: Path) -> Path:
    """The path of `<out>/index.html`; UsageError where a page stands there that this package did not make."""
    path = out / "index.html"
    if path.exists() and not (path.is_file() and OURS in path.read_bytes()):
        raise UsageError(
            "{path} was not made by evaltools and is left as it is: move it, or choose another folder",
            path=path,
        )
    return path


def collect(out: Path) -> tuple[list[Card], list[tuple[str, str]]]:
    """(the results in an output folder by their ids, name and reason of each folder that is not complete)."""
    paths = (out / "results").glob("[!.]*")
    cards = []
    incomplete = []
    for folder in sorted(path for path in paths if path.is_dir()):
        try:
            cards.append(read_card(out, folder))
        except NotComplete as e:
            reason = shown(say(e.args[0]), 300)
            incomplete.append((shown(folder.name), reason))
    cards.sort(key=lambda card: card.id)
    return cards, incomplete


def sections(cards: Sequence[Card]) -> list[Section]:
    """The results by suite, the newest first, the runs of an aggregate under the first that has them."""
    by_suite: dict[str, list[Card]] = {}
    for card in sorted(cards, key=lambda card: card.manifest.started, reverse=True):
        by_suite.setdefault(card.manifest.suite, []).append(card)
    sections = [Section(suite, members) for suite, members in by_suite.items()]
    return sorted(sections, key=lambda section: (section.title, section.suite))


def lead_title(card: Card) -> str:
    """The title of the metric that leads a card, with its arrow; "" where there is none."""
    leading = card.leading
    if leading is None:
        return ""
    arrow = ARROWS.get(leading.better, "")
    return f"{title_of(leading.name, leading.title)} {arrow}".rstrip()


def render(
    cards: Sequence[Card],
    incomplete: Sequence[tuple[str, str]],
) -> str:
    """The page of the results."""
    return page(
        "gallery/gallery.html.j2",
        STYLES,
        SCRIPTS,
        sections=sections(cards),
        n_results=len(cards),
        incomplete=incomplete,
        level_words=LEVEL_WORDS,
        level_kinds=COLOURS,
        kinds=VERDICTS,
        shown=shown,
        strip=strip,
        title_of=title_of,
        lead_title=lead_title,
    )
