"""The gallery: one static, self-contained page that finds, filters and compares all results of an output folder."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ..core.check import ALL_PASSED, LEVEL_WORDS, LEVELS
from ..core.errors import UsageError
from ..core.files import dumps, require_writable, write_text
from ..core.language import say
from .cards import NotComplete, read_card, shown
from .fonts import ANSWERED
from .page import page
from .sentences import verdict_word
from .tables import KINDS, VERDICTS
from .text import script_json, visible

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

OURS = (b'<meta name="generator" content="evaltools gallery">', b'<body class="gallery">')
"""One of these stands in a page that this package made; the second in those of the first edition, too."""

MEANING = {
    "equivalent": "the difference lies within the declared margin",
    verdict_word("tied"): "and not shown to be equal",
    "too few": "too few units to judge",
    "not measured": "a side has no value",
}
"""What verdicts say that a reader might take for another."""

TEXTS = 3 << 20
"""Bytes of texts of samples that the page carries, to be searched."""

CLIP = 400
"""Characters of a sample that are searched, fewer where there are many samples."""

LISTED = 100
"""Folders that are not complete are named up to this many; the rest are counted."""


def build(out: Path) -> Path:
    """(Re)build `<out>/index.html` from what stands under `<out>/results` and `<out>/reports`; returns its path.

    The page loads nothing from anywhere and is written whole or not at all. The same files give the same
    bytes. A results folder that is being written, spoilt or unknown is listed as not complete, with the reason;
    hidden folders are passed over. UsageError where there is no folder `out`, or somebody else's index.html in it.
    """
    out = Path(out)
    if not out.is_dir():
        raise UsageError(f"{out}: no such folder")
    require_writable(out)
    path = replaceable(out)
    write_text(path, render(collect(out)))
    return path


def replaceable(out: Path) -> Path:
    """The path of `<out>/index.html`; UsageError where a page stands there that this package did not make."""
    path = out / "index.html"
    if path.exists() and not (path.is_file() and any(mark in path.read_bytes() for mark in OURS)):
        raise UsageError(
            f"{path} was not made by evaltools and is left as it is: move it, or choose another folder"
        )
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
            incomplete.append([shown(folder.name), say(shown(str(e), 300))])
            continue
        rows = [
            [metrics.setdefault(tuple(row[:3]), len(metrics)), *row[3:]] for row in card["rows"]
        ]
        cards.append({**card, "rows": rows})
    listed = {"incomplete": incomplete[:LISTED], "incompleteTotal": len(incomplete)}
    cards = together(cards)
    words = {
        "levels": {k: [say(LEVEL_WORDS[k]), KINDS[k]] for k in LEVELS},
        "fine": say(ALL_PASSED),
        "kinds": VERDICTS,
    }
    words["meaning"] = {verdict: say(text) for verdict, text in MEANING.items()}
    words["names"] = {
        word: text for word in sorted(set(_words(cards))) if (text := say(word)) != word
    }
    for card in cards:
        card["suiteTitle"] = say(card["suiteTitle"])
        card["checks"] = card["checks"] and [[*c[:2], say(c[2]), *c[3:]] for c in card["checks"]]
        card["judged"] = [[say(title), verdict, say(why)] for title, verdict, why in card["judged"]]
    titled = [(name, say(title), better) for name, title, better in metrics]
    return {**searched(cards), "cards": cards, "metrics": titled, **listed, "words": words}


def _words(cards: list[dict[str, Any]]) -> Iterator[str]:
    """What the page names in words by keys that its address and its script know in English."""
    yield from ("rank", "group", "aggregate", "not measured")
    for card in cards:
        yield from (card["kind"], card["status"], *(problem[0] for problem in card["problems"]))
        yield from (found[1] for found in [*card["verdicts"], *card["judged"]])
        yield from (found[0] for found in [*card["explored"], *card["links"]])


def searched(cards: list[dict[str, Any]]) -> dict[str, Any]:
    """The texts of samples, a text once whatever the number of its runs; the `texts` of cards become places in them.

    Where they are more than TEXTS bytes, of each sample fewer characters are kept, and none where that helps not.
    `searched` says how many, null where nothing was cut.
    """
    places: dict[tuple[str, ...], int] = {}
    for card in cards:
        card["texts"] = [
            places.setdefault(tuple(lines), len(places)) for lines in card["texts"] if lines
        ]
    clip = CLIP
    while clip and sum(len(line[:clip].encode()) for lines in places for line in lines) > TEXTS:
        clip = clip * 3 // 4
    whole = all(len(line) <= clip for lines in places for line in lines)
    texts = ["\n".join(visible(line[:clip]) for line in lines) if clip else "" for lines in places]
    return {"texts": texts, "searched": None if whole else clip}


def together(cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cards, where an aggregate that only repeats its one run is folded into the run's card.

    The run's card then has what only the aggregate had (condition, verdicts, checks, links) and its id in `also`.
    An aggregate's `samples` are those of its runs; "" where they are not known.
    """
    runs = {card["id"]: card for card in cards if card["kind"] == "run"}
    out = []
    for card in cards:
        if card["kind"] == "aggregate":
            mine = [runs[i] for i in card["of"] if i in runs]
            found = {run["samples"] for run in mine}
            card["texts"] = [lines for run in mine for lines in run["texts"]]
            card["samples"] = (
                "+".join(sorted(found)) if len(mine) == card["runs"] and "" not in found else ""
            )
            if len(mine) == card["runs"] == 1 and repeats(card, mine[0]):
                fold(card, mine[0])
                continue
        out.append(card)
    return out


def repeats(card: dict[str, Any], run: dict[str, Any]) -> bool:
    """Whether every number of an aggregate's card, with its interval, stands on the card of its run."""
    return card["suite"] == run["suite"] and all(row in run["rows"] for row in card["rows"])


def fold(card: dict[str, Any], run: dict[str, Any]) -> None:
    """Give a run's card what only the card of its aggregate has."""
    there = {href for _, href in run["links"]}
    run["links"] += [
        [f"Study: {label}", href] for label, href in card["links"] if href not in there
    ]
    run["notes"] += [note for note in card["notes"] if note not in run["notes"]]
    known = {code for _, code, *_ in run["checks"] or ()}
    checks = [*(run["checks"] or ()), *(c for c in card["checks"] or () if c[1] not in known)]
    run["checks"] = sorted(checks, key=lambda c: LEVELS.index(c[0])) if checks else run["checks"]
    run |= {k: card[k] for k in ("condition", "verdicts", "explored")} | {
        "also": card["id"],
        "alsoName": card["name"],
    }


def render(data: dict[str, Any]) -> str:
    """The page around the data of `collect`."""
    content = script_json(data)
    shown = dumps({k: v for k, v in data.items() if k != "texts"})
    glyphs = "".join(islice(dict.fromkeys(ANSWERED.findall(shown)), GLYPHS))
    return page("gallery/gallery.html.j2", STYLES, SCRIPTS, glyphs=glyphs, data=Markup(content))
