"""The gallery: one static, self-contained page that finds, filters and compares all results of an output folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ..core.jsonl import dumps, write_text
from .cards import NotComplete, read_card, shown, texts
from .cases import RUNS, SCORES, SIZE, read_cases, read_verdicts
from .fonts import BLOCKS, webfont_css
from .html import _asset, _environment, _policy

STYLES = ("report/page.css", "report/fragments.css", "gallery/gallery.css")
SCRIPTS = (
    "vendor/datatables/dataTables.min.js",
    "vendor/d3/d3.min.js",
    "vendor/plot/plot.umd.min.js",
    "report/page.js",
    "gallery/gallery.js",
)

GLYPHS = 1500
"""Korean and Chinese characters that the page brings along; any others are left to the reader's own fonts."""

LISTED = 100
"""Folders that are not complete are named up to this many; the rest are counted."""


def build(out: Path) -> Path:
    """(Re)build `<out>/index.html` from what stands under `<out>/results` and `<out>/reports`; returns its path.

    The page loads nothing from anywhere and is written whole or not at all. The same files give the same
    bytes. A results folder that is being written, spoilt or unknown is listed as not complete, with the reason.
    """
    out = Path(out)
    path = out / "index.html"
    write_text(path, render(collect(out)))
    return path


def collect(out: Path) -> dict[str, Any]:
    """All that the page shows, as JSON."""
    results = out / "results"
    folders = sorted((p for p in results.iterdir() if p.is_dir()), key=lambda p: p.name) if results.is_dir() else []
    cards: list[dict[str, Any]] = []
    suites: dict[str, dict[str, Any]] = {}
    incomplete: list[list[str]] = []
    scored: list[tuple[dict[str, Any], Path]] = []
    for folder in folders:
        try:
            card, lead = read_card(out, folder)
            card["thresholds"] = read_verdicts(folder) if (folder / SCORES).is_file() else []
        except NotComplete as e:
            incomplete.append([shown(folder.name), shown(str(e), 300)])
            continue
        if (folder / SCORES).is_file():
            scored.append((card, folder))
        cards.append(card)
        suite = suites.setdefault(card["suite"], {"title": lead.suite_title, "metrics": {}, "titles": {}})
        # a title may name a threshold, so that runs under other rules have other titles: the card then brings its own
        known = {**{m: title for m, (title, _) in lead.metrics.items()}, **lead.titles}
        used = {m: known[m] for m in [*lead.metrics, *(t[0] for t in card["thresholds"])] if m in known}
        suite["metrics"] = {**lead.metrics, **suite["metrics"]}
        suite["titles"] = used | suite["titles"]
        card["titles"] = {m: title for m, title in used.items() if suite["titles"][m] != title}
    return {
        "cards": cards,
        "suites": suites,
        "incomplete": incomplete[:LISTED],
        "incompleteTotal": len(incomplete),
        "cases": _cases(scored),
        "caseRuns": len(scored),
    }


def _cases(scored: Sequence[tuple[dict[str, Any], Path]]) -> list[dict[str, Any]]:
    """The cases of the newest summary runs, the newest first."""
    newest = sorted(scored, key=lambda s: (s[0]["started"], s[0]["id"]), reverse=True)[:RUNS]
    out: list[dict[str, Any]] = []
    for card, folder in newest:
        try:
            out.append({"card": card["id"], **read_cases(folder, SIZE // len(newest))})
        except NotComplete as e:
            out.append(
                {
                    "card": card["id"],
                    "metrics": [],
                    "total": 0,
                    "failing": 0,
                    "rows": [],
                    "problem": shown(str(e), 300),
                }
            )
    return out


def render(data: dict[str, Any]) -> str:
    """The page around the data of `collect`."""
    scripts = [_asset(name) for name in SCRIPTS]
    css = "\n".join([webfont_css(_glyphs(texts(data))), *(_asset(name) for name in STYLES)])
    return (
        _environment()
        .get_template("gallery/gallery.html.j2")
        .render(
            policy=_policy(scripts),
            css=Markup(css),
            data=Markup(script_json(data)),
            scripts=[Markup(s) for s in scripts],
        )
    )


def script_json(value: Any) -> str:
    """JSON that no text in it can end or escape from inside a <script type="application/json">."""
    return re.sub("[<>&\u2028\u2029]", lambda m: f"\\u{ord(m[0]):04x}", dumps(value))


def _glyphs(parts: Iterable[str]) -> str:
    """The first GLYPHS different Korean and Chinese characters, in the order of the page."""
    seen: dict[str, None] = {}
    for text in parts:
        for c in text:
            if c >= "\u1100" and c not in seen and any(first <= ord(c) <= last for first, last in BLOCKS):
                seen[c] = None
                if len(seen) == GLYPHS:
                    return "".join(seen)
    return "".join(seen)
