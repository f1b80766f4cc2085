"""The gallery: one static, self-contained page with a table of all results of an output folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from statistics import mode

from ..core.check import LEVEL_WORDS
from ..core.errors import UsageError
from ..core.files import require_writable, write_text
from ..core.language import say
from .cards import Card, NotComplete, read_card, shown, title_of
from .markdown import ARROWS
from .page import page
from .strip import Scale, scale_of, strip
from .tables import VERDICTS
from .trust import KINDS

STYLES = ("report/page.css", "report/fragments.css", "gallery/gallery.css")
SCRIPTS = ("report/page.js", "gallery/gallery.js")

OURS = b'<meta name="generator" content="evaltools gallery">'
"""Stands in a page that this package made."""


@dataclass(frozen=True)
class Results:
    """What stands in an output folder: the cards, and the folders that are not complete with the reason."""

    cards: Sequence[Card]
    incomplete: Sequence[tuple[str, str]]


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
    write_text(path, render(collect(out)))
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


def collect(out: Path) -> Results:
    """The results that stand in an output folder, in the order of their names."""
    paths = (out / "results").glob("[!.]*")
    cards: list[Card] = []
    incomplete: list[tuple[str, str]] = []
    for folder in sorted(path for path in paths if path.is_dir()):
        try:
            cards.append(read_card(out, folder))
        except NotComplete as e:
            reason = shown(say(e.args[0]), 300)
            incomplete.append((shown(folder.name), reason))
    cards.sort(key=lambda card: card.id)
    return Results(tuple(cards), tuple(incomplete))


def sections(cards: Sequence[Card]) -> list[Section]:
    """The results by suite, the newest first, the runs of an aggregate under the first that has them."""
    newest_first = sorted(cards, key=lambda card: card.manifest.started, reverse=True)
    by_suite = sorted(newest_first, key=lambda card: card.manifest.suite)
    suites = groupby(by_suite, key=lambda card: card.manifest.suite)
    sections = [Section(suite, list(members)) for suite, members in suites]
    return sorted(sections, key=lambda section: section.title)


def lead_title(card: Card) -> str:
    """The title of the metric that leads a card, with its arrow; "" where there is none."""
    leading = card.leading
    if leading is None:
        return ""
    arrow, _ = ARROWS.get(leading.better, ("", ""))
    return f"{title_of(leading.name, leading.title)} {arrow}".rstrip()


def render(results: Results) -> str:
    """The page of the results."""
    return page(
        "gallery/gallery.html.j2",
        STYLES,
        SCRIPTS,
        sections=sections(results.cards),
        n_results=len(results.cards),
        incomplete=results.incomplete,
        level_words=LEVEL_WORDS,
        level_kinds=KINDS,
        kinds=VERDICTS,
        shown=shown,
        strip=strip,
        title_of=title_of,
        lead_title=lead_title,
    )
