"""The gallery: one static, self-contained page that finds, filters and compares all results of an output folder."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ..core.errors import UsageError
from ..core.files import dumps, write_text
from .cards import NotComplete, read_card, shown
from .fonts import ANSWERED
from .html import page

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
    bytes. A results folder that is being written, spoilt or unknown is listed as not complete, with the reason;
    hidden folders are passed over. UsageError where there is no folder `out`.
    """
    out = Path(out)
    if not out.is_dir():
        raise UsageError(f"{out}: no such folder")
    path = out / "index.html"
    write_text(path, render(collect(out)))
    return path


def collect(out: Path) -> dict[str, Any]:
    """All that the page shows, as JSON.

    `metrics` holds every (name, title, better) once; the rows of `cards` begin with their place in it.
    """
    folders = sorted(p for p in (out / "results").glob("[!.]*") if p.is_dir())
    cards: list[dict[str, Any]] = []
    metrics: dict[tuple[str, ...], int] = {}
    incomplete: list[list[str]] = []
    for folder in folders:
        try:
            card = read_card(out, folder)
        except NotComplete as e:
            incomplete.append([shown(folder.name), shown(str(e), 300)])
            continue
        rows = [[metrics.setdefault(tuple(row[:3]), len(metrics)), *row[3:]] for row in card["rows"]]
        cards.append({**card, "rows": rows})
    listed = {"incomplete": incomplete[:LISTED], "incompleteTotal": len(incomplete)}
    return {"cards": cards, "metrics": list(metrics), **listed}


def render(data: dict[str, Any]) -> str:
    """The page around the data of `collect`."""
    content = script_json(data)
    glyphs = "".join(islice(dict.fromkeys(ANSWERED.findall(content)), GLYPHS))
    return page("gallery/gallery.html.j2", STYLES, SCRIPTS, glyphs=glyphs, data=Markup(content))


def script_json(value: Any) -> str:
    """JSON that no text in it can end or escape from inside a <script type="application/json">."""
    return re.sub("[<>&\u2028\u2029]", lambda m: f"\\u{ord(m[0]):04x}", dumps(value))
