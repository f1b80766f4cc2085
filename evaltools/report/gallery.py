"""The gallery: one static, self-contained page with a table of all results of an output folder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mode
from typing import Any
from urllib.parse import quote

import pandas as pd

from ..core.errors import InputError, UsageError
from ..core.files import require_writable, write_text
from ..core.json_files import read_model
from ..core.language import say
from ..core.manifest import NAME, Manifest
from ..core.metric import metric_title
from ..core.names import RUN_NAME
from ..core.results import METRICS, StoredMetrics, spoilt_files
from .page import page
from .sentences import verdict_word
from .strip import scale_of, strip
from .tables import VERDICTS, shown_estimate
from .text import anchor, visible

STYLES = ("report/page.css", "report/fragments.css", "gallery/gallery.css")
SCRIPTS = ("report/page.js", "gallery/gallery.js")

# stands in a page that this package made
OURS = b'<meta name="generator" content="evaltools gallery">'

REPORT = "metric_report.html"

LEVELS = {"blocking": "error", "warning": "warning", "info": "info"}

# letters of a name and of a sentence that are shown
NAME_LENGTH, SENTENCE_LENGTH = 200, 500


@dataclass
class Card:
    """What the page shows of one result: texts from its files, which the template escapes.

    `metrics`: metric of the headline -> its title with an arrow, value, interval, ends (`strip`) and verdict.
    `leading`: the one that leads. `verdict`, `trust`: (words, colour). `notes`: (colour, sentence).
    `links`: (file, address).
    """

    name: str
    title: str
    suite: str
    suite_title: str
    started: str
    n: int
    unit: str
    is_aggregate: bool
    runs: list[str]
    seeds: list[str]
    metrics: dict[str, dict[str, Any]]
    leading: str
    verdict: tuple[str, str]
    trust: tuple[str, str]
    notes: list[tuple[str, str]]
    report: str
    links: list[tuple[str, str]]
    children: list[Card] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The id of its row in the page."""
        return anchor("run", self.name)


@dataclass
class Section:
    """The results of a suite, the newest first; `metric` is the title that leads most of them."""

    suite: str
    title: str
    metric: str
    columns: dict[str, str]
    cards: list[Card]


def build(out: Path) -> Path:
    """(Re)build `<out>/index.html` from what stands under `<out>/results` and `<out>/reports`; returns its path.

    The page loads nothing from anywhere and is written whole or not at all. The same files give the same bytes. A
    results folder that cannot be read is listed as incomplete, with the reason; hidden folders are passed over.
    UsageError where there is no folder `out`, or somebody else's index.html in it.
    """
    out = Path(out)
    if not out.is_dir():
        raise UsageError(f"{out}: no such folder")
    require_writable(out)
    path = replaceable(out)
    write_text(path, render(*collect(out)))
    return path


def replaceable(out: Path) -> Path:
    """The path of `<out>/index.html`; UsageError where a page stands there that this package did not make."""
    path = out / "index.html"
    if path.exists() and not (path.is_file() and OURS in path.read_bytes()):
        raise UsageError(
            f"{path} was not made by evaltools and is left as it is: move it, or choose another folder"
        )
    return path


def collect(out: Path) -> tuple[list[Card], list[tuple[str, str]]]:
    """(the results in an output folder by name, name and reason of each folder that is incomplete)."""
    cards = []
    incomplete = []
    for folder in sorted((out / "results").glob("[!.]*")):
        if folder.is_dir():
            try:
                cards.append(read_card(out, folder))
            # whatever stands in a folder, it shall not take the others from the page
            except Exception as e:  # noqa: BLE001
                incomplete.append((clipped(folder.name), clipped(_reason(e), SENTENCE_LENGTH)))
    return cards, incomplete


def _reason(error: Exception) -> str:
    """What made a folder incomplete, without the folders above its file."""
    if isinstance(error, InputError):
        first = error.problems[0]
        parts = [Path(first.file).name, first.field, str(first.message)]
        return ": ".join(part for part in parts if part)
    return getattr(error, "strerror", "") or f"{type(error).__name__}: {error}"


def clipped(text: str, limit: int = NAME_LENGTH) -> str:
    """Text from data, made visible and cut after so many letters."""
    seen = visible(text[: limit + 1])
    return seen if len(seen) <= limit else seen[:limit] + "…"


# --- one result


def read_card(out: Path, folder: Path) -> Card:
    """The card of one results folder; raises whatever is wrong with its files."""
    manifest = read_model(folder / NAME, Manifest)
    stored = read_model(folder / METRICS, StoredMetrics)
    is_aggregate = manifest.kind == "aggregate"
    compared = _compared(folder / "comparison.csv", manifest) if is_aggregate else {}
    runs = manifest.runs if is_aggregate else [folder.name]
    by_name = {row.name: row for row in stored.metrics}
    metrics = {}
    for name in sorted(manifest.headline, key=stored.blocked.__contains__):
        if name in by_name:
            row = {**by_name[name].model_dump(), "metric": name}
            if name in stored.blocked:
                row.update(value=None, ci_low=None, ci_high=None)
            shown = shown_estimate(row, manifest.resampling)
            title = clipped(shown["title"])
            metrics[name] = {**shown, "title": title, "raw": row, "verdict": compared.get(name, "")}
    usable = [name for name in metrics if name not in stored.blocked]
    leading = manifest.leading if manifest.leading in usable else "".join(usable[:1])
    verdict = compared.get(leading, "")
    judged = sorted(stored.verdicts, key=lambda row: row.verdict != "fail")
    if not verdict and judged:
        verdict = judged[0].verdict
    if not verdict and manifest.condition and manifest.condition == manifest.baseline:
        verdict = "baseline"
    checks = sorted(stored.checks or (), key=lambda check: list(LEVELS).index(check.level))
    notes = [(LEVELS[check.level], clipped(check.message, SENTENCE_LENGTH)) for check in checks]
    for problem in manifest.problems:
        notes.append(("warning", f"{problem.count} × {clipped(problem.code)}"))
    doubts = [kind for kind, _ in notes]
    for judgement in stored.verdicts:
        title = metric_title(judgement.metric, judgement.title)
        sentence = f"{title}: {say(judgement.verdict)}, {judgement.said}".removesuffix(", ")
        notes.append((VERDICTS.get(judgement.verdict, "info"), clipped(sentence, SENTENCE_LENGTH)))
    spoilt = spoilt_files(folder, manifest)
    for name in spoilt:
        notes.insert(0, ("error", clipped(say("{file} is not as it was written", file=name))))
    matches = filter(None, map(RUN_NAME.match, runs))
    return Card(
        name=clipped(folder.name),
        title=clipped(manifest.condition if is_aggregate else "") or clipped(folder.name),
        suite=clipped(manifest.suite),
        suite_title=clipped(say(manifest.suite_title or manifest.suite)),
        started=clipped(manifest.started, 40),
        n=manifest.n_units,
        unit=clipped(manifest.unit),
        is_aggregate=is_aggregate,
        runs=[clipped(run) for run in runs],
        seeds=[clipped(match["seed"], 20) for match in matches],
        metrics=metrics,
        leading=leading,
        verdict=(say(verdict_word(verdict)), VERDICTS.get(verdict, "info")),
        trust=_trust(bool(spoilt), manifest.incomplete, doubts),
        notes=notes,
        report=_report(out, manifest.report or folder.name),
        links=_links(out, folder),
    )


def _trust(is_spoilt: bool, is_incomplete: bool, kinds: Sequence[str]) -> tuple[str, str]:
    """In a few words whether a result can be believed, and their colour; the worst is said."""
    if is_spoilt:
        return say("not as it was written"), "error"
    if is_incomplete:
        return say("incomplete"), "error"
    if "error" in kinds:
        return say("cannot be measured"), "error"
    n = kinds.count("warning")
    if n:
        return say("1 caution") if n == 1 else say("{n} cautions", n=n), "warning"
    return say("no caution"), "good"


def _compared(path: Path, manifest: Manifest) -> dict[str, str]:
    """Metric -> verdict: what the comparison, if there was one, said of this condition."""
    if not path.is_file():
        return {}
    columns = ["metric", "verdict", "candidate"]
    frame = pd.read_csv(path, dtype=str, keep_default_na=False, usecols=columns)
    own = frame[frame["candidate"] == manifest.condition]
    return dict(zip(own["metric"], own["verdict"]))


def _report(out: Path, name: str) -> str:
    """The address of a result's page; "" where there is none."""
    file = out / "reports" / name / REPORT
    is_name = "/" not in name and not name.startswith(".")
    return _address(out, file) if is_name and file.is_file() else ""


def _links(out: Path, folder: Path) -> list[tuple[str, str]]:
    """(name, address) of each file of a result."""
    files = [path for path in sorted(folder.rglob("[!.]*")) if path.is_file()]
    return [(clipped(path.name), _address(out, path)) for path in files]


def _address(out: Path, path: Path) -> str:
    return quote(os.fsencode(path.relative_to(out)))


# --- the page


def sections(cards: Sequence[Card]) -> list[Section]:
    """The results by suite, the newest first; runs stand below the first aggregate that has them."""
    by_suite: dict[str, list[Card]] = {}
    for card in sorted(cards, key=lambda card: card.started, reverse=True):
        by_suite.setdefault(card.suite, []).append(card)
    found = []
    for suite, members in by_suite.items():
        runs = {card.name: card for card in members if not card.is_aggregate}
        aggregates = [card for card in members if card.is_aggregate]
        for card in aggregates:
            card.children = [runs.pop(name) for name in card.runs if name in runs]
        leading = [card.metrics[card.leading]["title"] for card in members if card.leading]
        columns = {n: of["title"] for card in reversed(members) for n, of in card.metrics.items()}
        title = members[0].suite_title
        metric = mode(leading) if leading else ""
        found.append(Section(suite, title, metric, columns, [*aggregates, *runs.values()]))
    return sorted(found, key=lambda section: (section.title, section.suite))


def render(cards: Sequence[Card], incomplete: Sequence[tuple[str, str]]) -> str:
    """The page of the results."""
    ends: dict[tuple[str, str], list[Any]] = {}
    for card in cards:
        for name, shown in card.metrics.items():
            raw = shown["raw"]
            ends.setdefault((card.suite, name), []).extend(
                [raw["value"], raw["ci_low"], raw["ci_high"]]
            )
    scales = {key: scale_of(numbers) for key, numbers in ends.items()}

    def drawn(card: Card, shown: Mapping[str, Any]) -> Any:
        text = f"{shown['value']} {shown['interval']}"
        raw = shown["raw"]
        return strip(raw, scales[card.suite, shown["metric"]], text, n_units=raw["n_units"])

    return page(
        "gallery/gallery.html.j2",
        STYLES,
        SCRIPTS,
        sections=sections(cards),
        n_results=len(cards),
        incomplete=incomplete,
        drawn=drawn,
    )
