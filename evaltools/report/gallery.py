"""The gallery: one static, self-contained page with a table of all results of an output folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
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
from .strip import ENDS, axis_over
from .tables import VERDICTS, shown_estimate
from .text import anchor, clipped

STYLES = ("report/page.css", "report/fragments.css", "gallery/gallery.css")
SCRIPTS = ("report/page.js", "gallery/gallery.js")

# stands in a page that this package made
OURS = b'<meta name="generator" content="evaltools gallery">'

REPORT = "metric_report.html"

# level of a note, the worst first -> its colour
LEVELS = {
    "spoilt": "error",
    "blocking": "error",
    "warning": "warning",
    "info": "info",
}

# letters of a sentence that are shown
SENTENCE_LENGTH = 500

# what the template shows of a result, or of the results of a suite: texts from its files, which it clips and escapes
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
                reason = getattr(e, "strerror", "") or f"{type(e).__name__}: {e}"
                if isinstance(e, InputError):  # without the folders above its file
                    first = e.problems[0]
                    parts = [Path(first.file).name, first.field, first.message]
                    reason = ": ".join(filter(None, parts))
                incomplete.append((folder.name, clipped(reason, SENTENCE_LENGTH)))
    return cards, incomplete


def _card(
    out: Path,
    folder: Path,
) -> Card:
    """What the page shows of one results folder; raises whatever is wrong with its files.

    `metrics`: metric of the headline -> its row of metrics.json with its texts as `cells`, those that a check blocks
    last and without numbers. `leading`: the one that leads. `verdict`, `trust`: (words, colour). `notes`: (level,
    sentence). `links`: (file, address).
    """
    manifest = read_model(folder / NAME, Manifest)
    stored = read_model(folder / METRICS, MetricsFile)
    is_aggregate = manifest.kind == "aggregate"
    runs = manifest.runs if is_aggregate else [folder.name]
    by_name = {row.name: row for row in stored.metrics}
    metrics = {}
    for name in sorted(by_name.keys() & manifest.headline, key=manifest.headline.index):
        row = {**by_name[name].model_dump(), "metric": name}
        if name in stored.blocked:
            row |= dict.fromkeys(ENDS)
        metrics[name] = {**row, "cells": shown_estimate(row)}
    usable = [name for name in metrics if name not in stored.blocked]
    leading = manifest.leading if manifest.leading in usable else "".join(usable[:1])
    verdict = _verdict(
        folder,
        manifest,
        stored,
        leading,
    )
    notes = _notes(folder, manifest, stored)
    report = out / "reports" / (manifest.report or folder.name) / REPORT
    is_inside = report.parent.parent == out / "reports" and report.parent.name not in (".", "..")
    files = [path for path in sorted(folder.rglob("[!.]*")) if path.is_file()]
    return {
        "name": folder.name,
        "title": (is_aggregate and manifest.condition) or folder.name,
        "manifest": manifest,
        "runs": runs,
        "seeds": [match["seed"] for match in map(RUN_NAME.match, runs) if match],
        "metrics": dict(sorted(metrics.items(), key=lambda item: item[0] in stored.blocked)),
        "leading": leading,
        "verdict": (say(verdict), VERDICTS.get(verdict, "info")),
        "trust": _trust(Counter(level for level, _ in notes), manifest.incomplete),
        "notes": [(LEVELS[level], sentence) for level, sentence in notes],
        "report": _address(out, report) if is_inside and report.is_file() else "",
        "links": [(path.name, _address(out, path)) for path in files],
        "id": anchor("run", folder.name),
        "children": [],
    }


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
        frame = pd.read_csv(
            path,
            dtype=str,
            keep_default_na=False,
            usecols=columns,
        )
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
    """(level, sentence) of each thing to know before a result is believed; the worst first."""
    notes = []
    for name in spoilt_files(folder, manifest):
        notes.append(("spoilt", say("{file} is not as it was written", file=clipped(name))))
    for check in worst_first(stored.checks or ()):
        notes.append((check.level, check.message))
    for problem in manifest.problems:
        notes.append(("warning", f"{problem.count} × {problem.code}"))
    return [(level, clipped(sentence, SENTENCE_LENGTH)) for level, sentence in notes]


def _trust(levels: Counter[str], is_incomplete: bool) -> tuple[str, str]:
    """In a few words whether a result can be believed, and their colour; the worst is said."""
    if levels["spoilt"]:
        return say("not as it was written"), "error"
    if is_incomplete:
        return say("incomplete"), "error"
    if levels["blocking"]:
        return say("cannot be measured"), "error"
    n = levels["warning"]
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
    for card in sorted(cards, key=lambda card: card["manifest"].started, reverse=True):
        by_suite.setdefault(card["manifest"].suite, []).append(card)
    found = []
    for suite, members in by_suite.items():
        runs = {card["name"]: card for card in members if card["manifest"].kind == "run"}
        aggregates = [card for card in members if card["manifest"].kind == "aggregate"]
        for card in aggregates:
            card["children"] = [runs.pop(name) for name in card["runs"] if name in runs]
        titles: dict[str, str] = {}
        for card in reversed(members):
            titles |= {name: row["cells"]["title"] for name, row in card["metrics"].items()}
        leading = Counter(titles[card["leading"]] for card in members if card["leading"])
        section = {
            "suite": suite,
            "title": say(members[0]["manifest"].suite_title or suite),
            "metric": leading.most_common(1)[0][0] if leading else "",
            "columns": titles,
            "cards": [*aggregates, *runs.values()],
        }
        found.append(section)
    return sorted(found, key=lambda section: (section["title"], section["suite"]))


def render(cards: list[Card], incomplete: list[tuple[str, str]]) -> str:
    """The page of the results; a metric of a suite has one axis."""
    numbers: dict[tuple[str, str], list[Any]] = {}
    rows = [(card["manifest"].suite, row) for card in cards for row in card["metrics"].values()]
    for suite, row in rows:
        numbers.setdefault((suite, row["metric"]), []).extend(row[end] for end in ENDS)
    for suite, row in rows:
        row["axis"] = axis_over(numbers[suite, row["metric"]])
    return page(
        "gallery/gallery.html.j2",
        STYLES,
        SCRIPTS,
        sections=sections(cards),
        n_results=len(cards),
        incomplete=incomplete,
    )
