"""The gallery: one static, self-contained page with a table of all results of an output folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mode
from typing import Any
from urllib.parse import quote

import pandas as pd

from ..core.check import worst_first
from ..core.errors import InputError, UsageError
from ..core.files import require_writable, write_text
from ..core.json_files import read_model
from ..core.language import say
from ..core.manifest import NAME, Manifest
from ..core.names import RUN_NAME
from ..core.results import METRICS, MetricsFile, spoilt_files
from .page import page
from .sentences import verdict_word
from .strip import ENDS, axis_over
from .tables import VERDICTS, shown_estimate
from .templates import macros
from .text import anchor, visible

STYLES = ("report/page.css", "report/fragments.css", "gallery/gallery.css")
SCRIPTS = ("report/page.js", "gallery/gallery.js")

# stands in a page that this package made
OURS = b'<meta name="generator" content="evaltools gallery">'

REPORT = "metric_report.html"

LEVELS = {"blocking": "error", "warning": "warning", "info": "info"}

# letters of a name and of a sentence that are shown
NAME_LENGTH, SENTENCE_LENGTH = 200, 500

# what the template shows of a result, or of the results of a suite: texts from its files, which it escapes
Card = dict[str, Any]


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
                cards.append(_card(out, folder))
            # whatever stands in a folder, it shall not take the others from the page
            except Exception as e:  # noqa: BLE001
                incomplete.append((clipped(folder.name), clipped(_reason(e), SENTENCE_LENGTH)))
    return cards, incomplete


def _reason(error: Exception) -> str:
    """What made a folder incomplete, without the folders above its file."""
    if isinstance(error, InputError):
        first = error.problems[0]
        parts = [Path(first.file).name, first.field, first.message]
        return ": ".join(part for part in parts if part)
    return getattr(error, "strerror", "") or f"{type(error).__name__}: {error}"


def clipped(text: str, limit: int = NAME_LENGTH) -> str:
    """Text from data, made visible and cut after so many letters."""
    seen = visible(text[: limit + 1])
    return seen if len(seen) <= limit else seen[:limit] + "…"


def _card(out: Path, folder: Path) -> Card:
    """What the page shows of one results folder; raises whatever is wrong with its files.

    `metrics`: metric of the headline -> its title with an arrow, value, interval and (`raw`) numbers. `leading`: the
    one that leads. `verdict`, `trust`: (words, colour). `notes`: (colour, sentence). `links`: (file, address).
    """
    manifest = read_model(folder / NAME, Manifest)
    stored = read_model(folder / METRICS, MetricsFile)
    is_aggregate = manifest.kind == "aggregate"
    runs = manifest.runs if is_aggregate else [folder.name]
    seeds = [match["seed"] for match in map(RUN_NAME.match, runs) if match]
    metrics = _headline(manifest, stored)
    usable = [name for name in metrics if name not in stored.blocked]
    leading = manifest.leading if manifest.leading in usable else "".join(usable[:1])
    verdict = _verdict(folder, manifest, stored, leading)
    notes = _notes(folder, manifest, stored)
    report = out / "reports" / (manifest.report or folder.name) / REPORT
    is_inside = report.parent.parent == out / "reports" and report.parent.name not in (".", "..")
    files = [path for path in sorted(folder.rglob("[!.]*")) if path.is_file()]
    return {
        "name": clipped(folder.name),
        "title": clipped((is_aggregate and manifest.condition) or folder.name),
        "suite": clipped(manifest.suite),
        "suite_title": clipped(say(manifest.suite_title or manifest.suite)),
        "started": clipped(manifest.started),
        "n": manifest.n_units,
        "unit": clipped(manifest.unit),
        "is_aggregate": is_aggregate,
        "runs": list(map(clipped, runs)),
        "seeds": list(map(clipped, seeds)),
        "metrics": metrics,
        "leading": leading,
        "verdict": (say(verdict_word(verdict)), VERDICTS.get(verdict, "info")),
        "trust": _trust(notes, manifest.incomplete),
        "notes": notes,
        "report": _address(out, report) if is_inside and report.is_file() else "",
        "links": [(clipped(path.name), _address(out, path)) for path in files],
        "id": anchor("run", clipped(folder.name)),
        "children": [],
    }


def _headline(manifest: Manifest, stored: MetricsFile) -> dict[str, Card]:
    """The metrics of the headline that the file has, those that a check blocks last and without numbers."""
    by_name = {row.name: row for row in stored.metrics}
    metrics = {}
    for name in sorted(manifest.headline, key=stored.blocked.__contains__):
        if name in by_name:
            raw = {**by_name[name].model_dump(), "metric": name}
            if name in stored.blocked:
                raw |= {"value": None, "ci_low": None, "ci_high": None}
            shown = shown_estimate(raw, manifest.resampling)
            metrics[name] = {**shown, "title": clipped(shown["title"]), "raw": raw}
    return metrics


def _verdict(
    folder: Path,
    manifest: Manifest,
    stored: MetricsFile,
    leading: str,
) -> str:
    """The verdict of a result's comparison on its leading metric, else the worst of its suite."""
    path = folder / "comparison.csv"
    if manifest.kind == "aggregate" and path.is_file():
        columns = ["metric", "verdict", "candidate"]
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, usecols=columns)
        is_own = (frame["candidate"] == manifest.condition) & (frame["metric"] == leading)
        if is_own.any():
            return str(frame.loc[is_own, "verdict"].iloc[0])
    words = [row.verdict for row in stored.verdicts]
    if words:
        return "fail" if "fail" in words else words[0]
    is_baseline = manifest.condition and manifest.condition == manifest.baseline
    return "baseline" if is_baseline else ""


def _notes(
    folder: Path,
    manifest: Manifest,
    stored: MetricsFile,
) -> list[tuple[str, str]]:
    """(colour, sentence) of each thing to know before a result is believed; the worst first."""
    notes = []
    for name in spoilt_files(folder, manifest):
        notes.append(("spoilt", clipped(say("{file} is not as it was written", file=name))))
    for check in worst_first(stored.checks or ()):
        notes.append((LEVELS[check.level], clipped(check.message, SENTENCE_LENGTH)))
    for problem in manifest.problems:
        notes.append(("warning", f"{problem.count} × {clipped(problem.code)}"))
    return notes


def _trust(notes: Sequence[tuple[str, str]], is_incomplete: bool) -> tuple[str, str]:
    """In a few words whether a result can be believed, and their colour; the worst is said."""
    kinds = [kind for kind, _ in notes]
    if "spoilt" in kinds:
        return say("not as it was written"), "error"
    if is_incomplete:
        return say("incomplete"), "error"
    if "error" in kinds:
        return say("cannot be measured"), "error"
    n = kinds.count("warning")
    if n:
        return say("1 caution") if n == 1 else say("{n} cautions", n=n), "warning"
    return say("no caution"), "good"


def _address(out: Path, path: Path) -> str:
    return quote(os.fsencode(path.relative_to(out)))


def sections(cards: Iterable[Card]) -> list[Card]:
    """The results by suite, the newest first; runs stand below the first aggregate that has them.

    `metric`: the title that leads most of the results. `columns`: metric -> title.
    """
    by_suite: dict[str, list[Card]] = {}
    for card in sorted(cards, key=lambda card: card["started"], reverse=True):
        by_suite.setdefault(card["suite"], []).append(card)
    found = []
    for suite, members in by_suite.items():
        runs = {card["name"]: card for card in members if not card["is_aggregate"]}
        aggregates = [card for card in members if card["is_aggregate"]]
        for card in aggregates:
            card["children"] = [runs.pop(name) for name in card["runs"] if name in runs]
        leading = [c["metrics"][c["leading"]]["title"] for c in members if c["leading"]]
        columns: dict[str, str] = {}
        for card in reversed(members):
            columns |= {name: shown["title"] for name, shown in card["metrics"].items()}
        section = {
            "suite": suite,
            "title": members[0]["suite_title"],
            "metric": mode(leading) if leading else "",
            "columns": columns,
            "cards": [*aggregates, *runs.values()],
        }
        found.append(section)
    return sorted(found, key=lambda section: (section["title"], section["suite"]))


def render(cards: Sequence[Card], incomplete: Sequence[tuple[str, str]]) -> str:
    """The page of the results."""
    numbers: dict[tuple[str, str], list[Any]] = {}
    for card in cards:
        for name, shown in card["metrics"].items():
            ends = [shown["raw"][field] for field in ENDS]
            numbers.setdefault((card["suite"], name), []).extend(ends)
    axes = {key: axis_over(ends) for key, ends in numbers.items()}

    def drawn(card: Card, shown: Card) -> Any:
        row = {**shown["raw"], "axis": axes[card["suite"], shown["metric"]]}
        return macros().strip(row, f"{shown['value']} {shown['interval']}")

    return page(
        "gallery/gallery.html.j2",
        STYLES,
        SCRIPTS,
        sections=sections(cards),
        n_results=len(cards),
        incomplete=incomplete,
        drawn=drawn,
    )
