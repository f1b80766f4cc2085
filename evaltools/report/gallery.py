"""The gallery: one static, self-contained page with a table of all results of an output folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from ..core.check import LEVEL_WORDS, LEVELS, Check, worst_first
from ..core.errors import UsageError
from ..core.files import dumps, require_writable, write_text
from ..core.language import Message, listed, say, stored_text
from .cards import Card, NotComplete, read_card, shown
from .check_tables import KINDS
from .estimate_tables import plain_estimates
from .fonts import ANSWERED
from .markdown import ARROWS
from .page import page
from .sentences import verdict_word
from .strip import Scale, scale_of, strip
from .tables import VERDICTS
from .text import script_json, visible
from .trust import trust

STYLES = ("report/page.css", "report/fragments.css", "gallery/gallery.css")
SCRIPTS = ("report/page.js", "gallery/gallery.js")

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


@dataclass(frozen=True)
class Results:
    """What stands in an output folder: the cards, and the folders that are not complete with the reason."""

    cards: tuple[Card, ...]
    incomplete: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Chip:
    """A word with a colour, and what it means."""

    text: str
    kind: str = "info"
    meaning: str = ""


@dataclass(frozen=True)
class MetricRow:
    """A metric of a result as text, with its strip."""

    name: str
    title: str
    arrow: str
    value: str
    interval: str
    n: str
    strip: Markup
    is_blocked: bool
    verdict: Chip | None


@dataclass(frozen=True)
class Line:
    """A result in the table: its card, its metrics, the one that leads, what was decided, and whether to believe it."""

    card: Card
    metrics: tuple[MetricRow, ...]
    lead: MetricRow | None
    lead_title: str
    sort_by: float | None
    verdict: Chip | None
    trust: Chip
    study: str
    texts: tuple[int, ...]
    children: tuple[Line, ...] = ()


@dataclass(frozen=True)
class Section:
    """The results of a suite. `metric`: the title of the metric that leads most of them, with its arrow."""

    suite: str
    title: str
    metric: str
    lines: tuple[Line, ...]


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
    if path.exists() and not (path.is_file() and any(mark in path.read_bytes() for mark in OURS)):
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
            incomplete.append((shown(folder.name), shown(say(e.args[0]), 300)))
    return Results(tuple(together(cards)), tuple(incomplete))


# --- aggregates and their runs


def together(cards: Sequence[Card]) -> list[Card]:
    """The cards, where an aggregate that only repeats its one run is folded into the run's card.

    The run's card then has what only the aggregate had (condition, verdicts, checks, links) and its id in `also`.
    An aggregate's `samples` and `texts` are those of its runs; `samples` is "" where they are not known.
    """
    runs = {card.id: card for card in cards if not card.is_aggregate}
    aggregates = []
    for card in cards:
        if not card.is_aggregate:
            continue
        members = [runs[id] for id in card.members if id in runs]
        has_all = len(members) == card.n_runs
        if has_all and len(members) == 1 and repeats(card, members[0]):
            runs[members[0].id] = folded(card, members[0])
        else:
            aggregates.append(with_samples(card, members, has_all))
    return sorted([*aggregates, *runs.values()], key=lambda card: card.id)


def with_samples(
    card: Card,
    members: Sequence[Card],
    has_all: bool,
) -> Card:
    """An aggregate's card with the samples and texts of its runs."""
    samples = {run.samples for run in members}
    is_known = has_all and "" not in samples
    return replace(
        card,
        samples="+".join(sorted(samples)) if is_known else "",
        texts=tuple(lines for run in members for lines in run.texts),
    )


def repeats(card: Card, run: Card) -> bool:
    """Whether every number of an aggregate's card, with its interval, stands on the card of its run."""
    if card.suite != run.suite:
        return False
    for estimate in card.estimates:
        of_run = run.estimate(estimate.name)
        if of_run is None or not same_numbers(estimate, of_run):
            return False
    return True


def same_numbers(one: Any, other: Any) -> bool:
    """Whether two estimates show the same value, interval and n."""
    for key in ("value", "ci_low", "ci_high", "n_units"):
        a, b = getattr(one, key), getattr(other, key)
        if (a is None) != (b is None):
            return False
        if a is not None and f"{a:.6g}" != f"{b:.6g}":
            return False
    return True


def folded(card: Card, run: Card) -> Card:
    """A run's card with what only the card of its aggregate has."""
    addresses = {address for _, address in run.links}
    more_links = []
    for label, address in card.links:
        if address not in addresses:
            more_links.append((stored_text("Study: {what}", what=Message(label)), address))
    codes = {check.code for check in run.checks or ()}
    checks = list(run.checks or ())
    checks += [check for check in card.checks or () if check.code not in codes]
    is_checked = run.checks is not None or card.checks is not None
    return replace(
        run,
        links=(*run.links, *more_links),
        notes=tuple(dict.fromkeys([*run.notes, *card.notes])),
        checks=tuple(worst_first(checks)) if is_checked else None,
        condition=card.condition,
        baseline=card.baseline,
        verdicts=card.verdicts,
        explored=card.explored,
        also=(card.id, card.name),
    )


# --- texts that are searched


def searched(cards: Iterable[Card]) -> tuple[list[str], dict[str, tuple[int, ...]], int | None]:
    """The texts of samples, a text once whatever the number of its runs; card id -> its places among them; the cut.

    Where they are more than TEXTS bytes, of each sample fewer characters are kept, and none where that helps not:
    the cut is how many, None where nothing was cut.
    """
    indices: dict[tuple[str, ...], int] = {}
    of_card = {}
    for card in cards:
        of_card[card.id] = tuple(
            indices.setdefault(lines, len(indices)) for lines in card.texts if lines
        )
    every = [line for lines in indices for line in lines]
    clip = CLIP
    while clip and sum(len(line[:clip].encode()) for line in every) > TEXTS:
        clip = clip * 3 // 4
    joined = []
    for lines in indices:
        joined.append("\n".join(visible(line[:clip]) for line in lines) if clip else "")
    is_whole = all(len(line) <= clip for line in every)
    return joined, of_card, None if is_whole else clip


# --- sections, lines, chips


def sections(cards: Sequence[Card], texts: Mapping[str, tuple[int, ...]]) -> list[Section]:
    """The results by suite, the newest first, the runs of an aggregate under it."""
    of_suite: dict[str, list[Card]] = {}
    for card in cards:
        of_suite.setdefault(card.suite, []).append(card)
    found = []
    for suite, members in of_suite.items():
        titles = [card.suite_title for card in members if card.suite_title]
        lead_titles = Counter(lead_title(card) for card in members if card.leading)
        metric = lead_titles.most_common(1)[0][0] if lead_titles else ""
        lines = lines_of(members, texts)
        found.append(Section(suite, titles[0] if titles else suite, metric, tuple(lines)))
    return sorted(found, key=lambda section: section.title)


def lead_title(card: Card) -> str:
    """The title of the metric that leads a card, with its arrow; "" where there is none."""
    estimate = card.estimate(card.leading)
    if estimate is None:
        return ""
    arrow, _ = ARROWS.get(estimate.better, ("", ""))
    return f"{estimate.title} {arrow}".rstrip()


def lines_of(cards: Sequence[Card], texts: Mapping[str, tuple[int, ...]]) -> list[Line]:
    """The lines of a suite's results; runs stand below the first aggregate that has them."""
    scales = scales_of(cards)
    studies = studies_of(cards)
    lines = {}
    for card in sorted(cards, key=lambda card: card.started, reverse=True):
        lines[card.id] = line_of(card, scales, studies.get(card.id, ""), texts.get(card.id, ()))
    below: dict[str, str] = {}
    for card in cards:
        for member in card.members:
            if card.is_aggregate and member in lines:
                below.setdefault(member, card.id)
    top = []
    for id, line in lines.items():
        if id not in below:
            children = [lines[member] for member in line.card.members if below.get(member) == id]
            top.append(replace(line, children=tuple(children)))
    return top


def scales_of(cards: Iterable[Card]) -> dict[str, Scale]:
    """Metric -> the scale on which all its strips are drawn."""
    numbers: dict[str, list[float | None]] = {}
    for card in cards:
        for estimate in card.estimates:
            ends = [estimate.value, estimate.ci_low, estimate.ci_high]
            numbers.setdefault(estimate.name, []).extend(ends)
    return {name: scale_of(values) for name, values in numbers.items()}


def studies_of(cards: Iterable[Card]) -> dict[str, str]:
    """Id of an aggregate or of one of its runs -> the address of the study's page."""
    addresses = {}
    for card in cards:
        labels = dict(card.links)
        address = labels.get("Report", "") if card.is_aggregate else labels.get("Study: Report", "")
        if address:
            for id in (card.id, *card.members):
                addresses[id] = address
    return addresses


def line_of(
    card: Card,
    scales: Mapping[str, Scale],
    study: str,
    texts: tuple[int, ...],
) -> Line:
    """A result as the table shows it."""
    metrics = metric_rows(card, scales)
    lead = None
    for row in metrics:
        if row.name == card.leading:
            lead = row
    estimate = card.estimate(card.leading)
    return Line(
        card=card,
        metrics=metrics,
        lead=lead,
        lead_title=lead_title(card),
        sort_by=goodness(estimate) if estimate else None,
        verdict=decision(card),
        trust=trust_chip(card),
        study=study,
        texts=texts,
    )


def goodness(estimate: Any) -> float | None:
    """What results are sorted by, the best first: the value, turned round where lower is better."""
    if estimate.value is None:
        return None
    value = float(f"{estimate.value:.6g}")
    return -value if estimate.better == "lower" else value


def metric_rows(card: Card, scales: Mapping[str, Scale]) -> tuple[MetricRow, ...]:
    """The headline of a card as text; what a check blocks is struck and has no interval."""
    if not card.estimates:
        return ()
    frame = pd.DataFrame([estimate.model_dump() for estimate in card.estimates])
    frame = frame.rename(columns={"name": "metric"})
    shown_texts = plain_estimates(frame, card.resampling, card.blocked).to_dict("records")
    rows = []
    for estimate, texts in zip(card.estimates, shown_texts, strict=True):
        is_blocked = estimate.name in card.blocked
        arrow, _ = ARROWS.get(estimate.better, ("", ""))
        numbers = f"{texts['value']} {texts['interval']}".rstrip()
        drawn = Markup("")
        if not is_blocked:
            drawn = strip(estimate.model_dump(), scales[estimate.name], numbers)
        is_of_all = estimate.n_units is None or estimate.n_units == card.n_units
        row = MetricRow(
            name=estimate.name,
            title=estimate.title,
            arrow=arrow,
            value=texts["value"],
            interval=texts["interval"],
            n="" if is_of_all else texts["n"],
            strip=drawn,
            is_blocked=is_blocked,
            verdict=verdict_chip(card, estimate.name),
        )
        rows.append(row)
    return tuple(rows)


def verdict_chip(card: Card, metric: str) -> Chip | None:
    """What the comparison with the baseline said of a metric; None where it said nothing."""
    if metric not in card.verdicts:
        return None
    verdict, baseline = card.verdicts[metric]
    meaning = say("against {what}", what=baseline)
    if verdict in MEANING:
        meaning = f"{meaning}: {say(MEANING[verdict])}"
    return Chip(say(verdict), VERDICTS.get(verdict, "info"), meaning)


def decision(card: Card) -> Chip | None:
    """What was decided of a result: the verdict on its leading metric, or what its suite judges; None of neither."""
    chip = verdict_chip(card, card.leading)
    if chip is not None:
        return chip
    if card.judged:
        failing = [verdict for verdict in card.judged if verdict.verdict == "fail"]
        worst = failing[0] if failing else card.judged[0]
        return Chip(say(worst.verdict), VERDICTS.get(worst.verdict, "info"), worst.said)
    if card.condition and card.condition == card.baseline:
        return Chip(say("baseline"))
    return None


def check_text(check: Check) -> str:
    """What a check says, as it stands in the gallery: visible, and not longer than can be read there."""
    return shown(check.text(), 500)


def trust_chip(card: Card) -> Chip:
    """Whether a result can be believed, with the worst of its checks; problems of the input are a caution."""
    levels = card.levels
    problems = [f"{n} x {code}" for _, code, n in card.problems]
    if problems:
        levels = [*(levels or ()), "warning"]
    state = trust(levels, incomplete=card.incomplete, spoilt=bool(card.spoilt))
    if card.spoilt:
        return Chip(say(state.words), state.kind, listed(card.spoilt))
    reasons = [check_text(check) for check in card.checks or () if check.level != "info"]
    meaning = [*reasons, *problems][:1] if state.kind != "good" else []
    return Chip(say(state.words), state.kind, "".join(meaning))


# --- the page


def render(results: Results) -> str:
    """The page of the results."""
    texts, of_card, cut = searched(results.cards)
    shown_sections = sections(results.cards, of_card)
    data = {"texts": texts, "searched": cut}
    characters = dict.fromkeys(ANSWERED.findall(_words(results)))  # each once
    return page(
        "gallery/gallery.html.j2",
        STYLES,
        SCRIPTS,
        glyphs="".join(islice(characters, GLYPHS)),
        sections=shown_sections,
        n_results=len(results.cards),
        incomplete=results.incomplete[:LISTED],
        n_incomplete=len(results.incomplete),
        levels={level: (say(LEVEL_WORDS[level]), KINDS[level]) for level in LEVELS},
        kinds=VERDICTS,
        shown=shown,
        check_text=check_text,
        cut=cut,
        data=Markup(script_json(data)),
    )


def _words(results: Results) -> str:
    """All words of the cards but the texts of samples, whose glyphs the page brings along."""
    parts: list[Any] = [list(results.incomplete)]
    for card in results.cards:
        verdicts = [*card.explored, *(verdict for verdict, _ in card.verdicts.values())]
        verdicts += [verdict.verdict for verdict in card.judged]
        parts += [say(verdict) for verdict in verdicts]
        parts += [card.name, card.suite_title, card.condition, list(card.notes)]
        parts += [estimate.title for estimate in card.estimates]
        parts += [check_text(check) for check in card.checks or ()]
        parts += [[verdict.title, verdict.said] for verdict in card.judged]
        chips = [decision(card), trust_chip(card)]
        parts += [[chip.text, chip.meaning] for chip in chips if chip is not None]
    return dumps(parts)
