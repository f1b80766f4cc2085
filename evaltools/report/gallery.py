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
from ..core.language import Message, say, stored_text
from .cards import NotComplete, read_card, shown
from .check_tables import KINDS
from .fonts import ANSWERED
from .page import page
from .sentences import verdict_word
from .tables import VERDICTS
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
    paths = (out / "results").glob("[!.]*")
    cards: list[dict[str, Any]] = []
    metrics: dict[tuple[str, ...], int] = {}
    incomplete: list[list[str]] = []
    for folder in sorted(path for path in paths if path.is_dir()):
        try:
            card = read_card(out, folder)
        except NotComplete as e:
            incomplete.append([shown(folder.name), shown(say(e.args[0]), 300)])
            continue
        rows = []
        for name, title, better, *values in card["rows"]:
            index = metrics.setdefault((name, title, better), len(metrics))
            rows.append([index, *values])
        cards.append({**card, "rows": rows})
    cards = together(cards)
    words = _words(cards)
    for card in cards:
        _translate(card)
    return {
        **searched(cards),
        "cards": cards,
        "metrics": [(name, say(title), better) for name, title, better in metrics],
        "incomplete": incomplete[:LISTED],
        "incompleteTotal": len(incomplete),
        "words": words,
    }


def _translate(card: dict[str, Any]) -> None:
    """Put what a card says into the language in force."""
    card["suiteTitle"] = say(card["suiteTitle"])
    card["judged"] = [[say(title), verdict, say(why)] for title, verdict, why in card["judged"]]


def _words(cards: list[dict[str, Any]]) -> dict[str, Any]:
    """The words of the page that come with colours or meanings, and names in the language in force."""
    names = {}
    for word in sorted(set(_keys(cards))):
        text = say(word)
        if text != word:
            names[word] = text
    return {
        "levels": {level: [say(LEVEL_WORDS[level]), KINDS[level]] for level in LEVELS},
        "fine": say(ALL_PASSED),
        "kinds": VERDICTS,
        "meaning": {verdict: say(text) for verdict, text in MEANING.items()},
        "names": names,
    }


def _keys(cards: list[dict[str, Any]]) -> Iterator[str]:
    """What the page names in words by keys that its address and its script know in English."""
    yield from ("rank", "group", "aggregate", "not measured")
    for card in cards:
        yield card["kind"]
        yield card["status"]
        for severity, *_ in card["problems"]:
            yield severity
        for _, verdict, _ in [*card["verdicts"], *card["judged"]]:
            yield verdict
        for name, _ in [*card["explored"], *card["links"]]:
            yield name


def searched(cards: list[dict[str, Any]]) -> dict[str, Any]:
    """The texts of samples, a text once whatever the number of its runs; the `texts` of cards become places in them.

    Where they are more than TEXTS bytes, of each sample fewer characters are kept, and none where that helps not.
    `searched` says how many, null where nothing was cut.
    """
    indices: dict[tuple[str, ...], int] = {}
    for card in cards:
        texts = [tuple(lines) for lines in card["texts"] if lines]
        card["texts"] = [indices.setdefault(lines, len(indices)) for lines in texts]
    every = [line for lines in indices for line in lines]
    clip = CLIP
    while clip and sum(len(line[:clip].encode()) for line in every) > TEXTS:
        clip = clip * 3 // 4
    joined = []
    for lines in indices:
        joined.append("\n".join(visible(line[:clip]) for line in lines) if clip else "")
    is_whole = all(len(line) <= clip for line in every)
    return {"texts": joined, "searched": None if is_whole else clip}


def together(cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cards, where an aggregate that only repeats its one run is folded into the run's card.

    The run's card then has what only the aggregate had (condition, verdicts, checks, links) and its id in `also`.
    An aggregate's `samples` are those of its runs; "" where they are not known.
    """
    runs = {card["id"]: card for card in cards if card["kind"] == "run"}
    kept = []
    for card in cards:
        if card["kind"] != "aggregate":
            kept.append(card)
            continue
        members = [runs[id] for id in card["of"] if id in runs]
        has_all = len(members) == card["runs"]
        card["texts"] = [lines for run in members for lines in run["texts"]]
        samples = {run["samples"] for run in members}
        is_known = has_all and "" not in samples
        card["samples"] = "+".join(sorted(samples)) if is_known else ""
        if has_all and len(members) == 1 and repeats(card, members[0]):
            fold(card, members[0])
        else:
            kept.append(card)
    return kept


def repeats(card: dict[str, Any], run: dict[str, Any]) -> bool:
    """Whether every number of an aggregate's card, with its interval, stands on the card of its run."""
    return card["suite"] == run["suite"] and all(row in run["rows"] for row in card["rows"])


def fold(card: dict[str, Any], run: dict[str, Any]) -> None:
    """Give a run's card what only the card of its aggregate has."""
    addresses = {address for _, address in run["links"]}
    for label, address in card["links"]:
        if address not in addresses:
            run["links"].append([stored_text("Study: {what}", what=Message(label)), address])
    run["notes"] += [note for note in card["notes"] if note not in run["notes"]]
    checks = list(run["checks"] or ())
    codes = {code for _, code, *_ in checks}
    checks += [check for check in card["checks"] or () if check[1] not in codes]
    if checks:
        run["checks"] = sorted(checks, key=lambda check: LEVELS.index(check[0]))
    for key in ("condition", "verdicts", "explored"):
        run[key] = card[key]
    run["also"] = card["id"]
    run["alsoName"] = card["name"]


def render(data: dict[str, Any]) -> str:
    """The page around the data of `collect`."""
    without_texts = {key: value for key, value in data.items() if key != "texts"}
    characters = dict.fromkeys(ANSWERED.findall(dumps(without_texts)))  # each once
    return page(
        "gallery/gallery.html.j2",
        STYLES,
        SCRIPTS,
        glyphs="".join(islice(characters, GLYPHS)),
        data=Markup(script_json(data)),
    )
