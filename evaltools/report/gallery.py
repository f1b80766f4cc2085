"""The gallery: one static, self-contained page with a table of all results of an output folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mode
from typing import Any

from markupsafe import Markup

from ..core.check import LEVEL_WORDS, Check
from ..core.errors import UsageError
from ..core.files import require_writable, write_text
from ..core.language import listed, say
from ..core.metric import metric_title
from ..core.results import StoredMetric
from .cards import Card, NotComplete, read_card, shown
from .estimate_tables import shown_estimate
from .markdown import ARROWS
from .page import page
from .strip import Scale, scale_of, strip
from .tables import VERDICTS
from .text import script_json, visible
from .trust import KINDS, trust

STYLES = ("report/page.css", "report/fragments.css", "gallery/gallery.css")
SCRIPTS = ("report/page.js", "gallery/gallery.js")

OURS = b'<meta name="generator" content="evaltools gallery">'
"""Stands in a page that this package made."""

TEXTS = 1 << 20
"""Characters of texts of samples that the page carries, to be searched."""

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
class Section:
    """The results of a suite. `metric`: the title of the metric that leads most of them, with its arrow.

    `lines`: each result that stands alone or is an aggregate, with the runs below it. `scales`: metric -> the scale
    on which all its strips are drawn.
    """

    suite: str
    title: str
    metric: str
    lines: Sequence[tuple[Card, list[Card]]]
    scales: Mapping[str, Scale]


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
    folders = [path for path in paths if path.is_dir()]
    for folder in sorted(folders):
        try:
            card = read_card(out, folder)
        except NotComplete as e:
            reason = shown(say(e.args[0]), 300)
            incomplete.append((shown(folder.name), reason))
        else:
            cards.append(card)
    cards.sort(key=lambda card: card.id)
    return Results(tuple(cards), tuple(incomplete))


# --- texts that are searched


def searched(cards: Iterable[Card]) -> tuple[list[str], dict[str, list[int]], int]:
    """The texts of samples, a text once whatever the number of its runs; name of a run -> its places among them.

    Last how many characters of each sample are kept, so that all of them are not more than TEXTS.
    """
    indices: dict[tuple[str, ...], int] = {}
    of_run = {}
    for card in cards:
        places = [indices.setdefault(lines, len(indices)) for lines in card.texts if lines]
        of_run[card.name] = places
    n_samples = sum(len(lines) for lines in indices)
    clip = min(CLIP, TEXTS // max(1, n_samples))
    texts = []
    for lines in indices:
        clipped = [visible(line[:clip]) for line in lines]
        texts.append("\n".join(clipped))
    return texts, of_run, clip


def samples_of(runs: Sequence[str], cards: Mapping[str, Card]) -> str:
    """What tells the samples of some runs from others', the same for the same; "" where they are not known."""
    samples = {cards[name].samples if name in cards else "" for name in runs}
    return "" if "" in samples else "+".join(sorted(samples))


# --- sections, rows, chips


def sections(cards: Sequence[Card]) -> list[Section]:
    """The results by suite, the newest first, the runs of an aggregate under the first that has them."""
    newest_first = sorted(
        cards,
        key=lambda card: card.manifest.started,
        reverse=True,
    )
    of_suite: dict[str, list[Card]] = {}
    for card in newest_first:
        of_suite.setdefault(card.manifest.suite, []).append(card)
    sections = [section_of(suite, members) for suite, members in of_suite.items()]
    return sorted(sections, key=lambda section: section.title)


def section_of(suite: str, cards: Sequence[Card]) -> Section:
    """The section of one suite, with the title that its newest titled result has."""
    titles = []
    leading = []
    for card in cards:
        if card.manifest.suite_title:
            titles.append(say(card.manifest.suite_title))
        if card.leading:
            leading.append(lead_title(card))
    return Section(
        suite=suite,
        title=titles[0] if titles else suite,
        metric=mode(leading) if leading else "",
        lines=lines_of(cards),
        scales=scales_of(cards),
    )


def lines_of(cards: Sequence[Card]) -> list[tuple[Card, list[Card]]]:
    """The results of a suite, each with the runs that stand below it: an aggregate's, below the first that has them."""
    runs = {card.name: card for card in cards if not card.is_aggregate}
    lines = []
    for card in cards:
        if card.is_aggregate:
            below = [runs.pop(name) for name in card.runs if name in runs]
            lines.append((card, below))
    return lines + [(run, []) for run in runs.values()]


def scales_of(cards: Iterable[Card]) -> dict[str, Scale]:
    """Metric -> the scale on which all its strips are drawn."""
    numbers: dict[str, list[float | None]] = {}
    for card in cards:
        for estimate in card.estimates:
            of_metric = numbers.setdefault(estimate.name, [])
            of_metric.append(estimate.value)
            of_metric.append(estimate.ci_low)
            of_metric.append(estimate.ci_high)
    scales = {}
    for name, values in numbers.items():
        scales[name] = scale_of(values)
    return scales


def studies_of(cards: Iterable[Card]) -> dict[str, str]:
    """Name of an aggregate or of one of its runs -> the address of the study's page."""
    addresses = {}
    for card in cards:
        address = dict(card.links).get("Report")
        if card.is_aggregate and address:
            addresses.update(dict.fromkeys([card.name, *card.runs], address))
    return addresses


def title_of(name: str, title: str) -> str:
    """The title of a metric in the language in force."""
    return shown(say(metric_title(name, title)))


def lead_title(card: Card) -> str:
    """The title of the metric that leads a card, with its arrow; "" where there is none."""
    if card.leading is None:
        return ""
    title = title_of(card.leading.name, card.leading.title)
    arrow, _ = ARROWS.get(card.leading.better, ("", ""))
    return f"{title} {arrow}".rstrip()


def goodness(estimate: StoredMetric | None) -> float | None:
    """What results are sorted by, the best first: the value, turned round where lower is better."""
    if estimate is None or estimate.value is None:
        return None
    value = float(f"{estimate.value:.6g}")
    if estimate.better == "lower":
        return -value
    return value


def metric_row(
    card: Card,
    estimate: StoredMetric,
    scales: Mapping[str, Scale],
) -> dict[str, Any]:
    """A metric of a card as text, with its strip; what a check blocks is struck and has no interval."""
    name = estimate.name
    is_blocked = name in card.blocked
    numbers = {**estimate.model_dump(), "metric": name}
    bootstrap = card.manifest.bootstrap
    texts = shown_estimate(numbers, bootstrap.resampling, is_blocked)
    drawn = Markup("")
    if not is_blocked:
        text = f"{texts['value']} {texts['interval']}".rstrip()
        drawn = strip(
            numbers,
            scales[name],
            text,
            n_units=estimate.n_units,
        )
    is_of_all = estimate.n_units in (None, bootstrap.n_units)
    return {
        **texts,
        "title": title_of(name, estimate.title),
        "n": "" if is_of_all else texts["n"],
        "strip": drawn,
        "is_blocked": is_blocked,
        "verdict": verdict_chip(card, name),
    }


def verdict_chip(card: Card, metric: str) -> Chip | None:
    """What the comparison with the baseline said of a metric; None where it said nothing."""
    if metric not in card.verdicts:
        return None
    verdict, baseline = map(shown, card.verdicts[metric])
    kind = VERDICTS.get(verdict, "info")
    return Chip(
        say(verdict),
        kind,
        say("against {what}", what=baseline),
    )


def decision(card: Card) -> Chip | None:
    """What was decided of a result: the verdict on its leading metric, or what its suite judges; None of neither."""
    if card.leading:
        chip = verdict_chip(card, card.leading.name)
        if chip is not None:
            return chip
    judged = sorted(
        card.metrics.verdicts,
        key=lambda verdict: verdict.verdict != "fail",
    )
    if judged:
        worst = judged[0]
        return Chip(
            text=shown(say(worst.verdict)),
            kind=VERDICTS.get(worst.verdict, "info"),
            meaning=shown(say(worst.said)),
        )
    if card.condition and card.condition == card.manifest.baseline:
        return Chip(say("baseline"))
    return None


def check_text(check: Check) -> str:
    """What a check says, as it stands in the gallery: visible, and not longer than can be read there."""
    return shown(check.text(), 500)


def trust_chip(card: Card) -> Chip:
    """Whether a result can be believed, with the worst of its checks; problems of the input are a caution."""
    levels = []
    reasons = []
    for check in card.checks or ():
        levels.append(check.level)
        if check.level != "info":
            reasons.append(check_text(check))
    for problem in card.manifest.problems:
        levels.append("warning")
        reasons.append(f"{problem.count} x {shown(problem.code)}")
    nobody_looked = card.checks is None and not levels
    state = trust(
        None if nobody_looked else levels,
        incomplete=card.manifest.incomplete,
        spoilt=bool(card.spoilt),
    )
    meaning = ""
    if card.spoilt:
        meaning = listed(map(shown, card.spoilt))
    elif reasons and state.kind != "good":
        meaning = reasons[0]
    return Chip(say(state.words), state.kind, meaning)


# --- the page


def render(results: Results) -> str:
    """The page of the results."""
    texts, of_run, clip = searched(results.cards)
    return page(
        "gallery/gallery.html.j2",
        STYLES,
        SCRIPTS,
        data=script_json(texts),
        sections=sections(results.cards),
        studies=studies_of(results.cards),
        texts=of_run,
        cards={card.name: card for card in results.cards},
        samples_of=samples_of,
        n_results=len(results.cards),
        incomplete=results.incomplete[:LISTED],
        n_incomplete=len(results.incomplete),
        level_words=LEVEL_WORDS,
        level_kinds=KINDS,
        kinds=VERDICTS,
        clip=clip,
        shown=shown,
        check_text=check_text,
        title_of=title_of,
        lead_title=lead_title,
        goodness=goodness,
        metric_row=metric_row,
        decision=decision,
        trust_chip=trust_chip,
    )
