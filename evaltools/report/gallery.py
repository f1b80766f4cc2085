"""The gallery: one static, self-contained page with a table of all results of an output folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mode
from typing import Any

from markupsafe import Markup

from ..core.check import LEVEL_WORDS, LEVELS, Check
from ..core.errors import UsageError
from ..core.files import require_writable, write_text
from ..core.language import Message, listed, say, stored_text
from ..core.metric import metric_title
from ..core.results import StoredMetric, StoredVerdict
from .cards import Card, NotComplete, read_card, shown
from .check_tables import KINDS
from .estimate_tables import shown_estimate
from .markdown import ARROWS
from .page import page
from .sentences import verdict_word
from .strip import Scale, scale_of, strip
from .tables import VERDICTS
from .text import anchor, script_json, visible
from .trust import trust

STYLES = ("report/page.css", "report/fragments.css", "gallery/gallery.css")
SCRIPTS = ("report/page.js", "gallery/gallery.js")

OURS = b'<meta name="generator" content="evaltools gallery">'
"""Stands in a page that this package made."""

MEANING = {
    "equivalent": "the difference lies within the declared margin",
    verdict_word("tied"): "and not shown to be equal",
    "too few": "too few units to judge",
    "not measured": "a side has no value",
}
"""What verdicts say that a reader might take for another."""

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
    for folder in sorted(path for path in paths if path.is_dir()):
        try:
            cards.append(read_card(out, folder))
        except NotComplete as e:
            incomplete.append((shown(folder.name), shown(say(e.args[0]), 300)))
    return Results(tuple(together(cards)), tuple(incomplete))


# --- aggregates and their runs


def together(cards: Sequence[Card]) -> list[Card]:
    """The cards, where an aggregate of one run is folded into the run's card.

    An aggregate's `samples` and `texts` are those of its runs; `samples` is "" where they are not known.
    """
    runs = {card.name: card for card in cards if not card.is_aggregate}
    aggregates = []
    for card in cards:
        if not card.is_aggregate:
            continue
        suite = card.manifest.suite
        members = [runs[name] for name in card.runs if name in runs]
        if len(card.runs) == len(members) == 1 and members[0].manifest.suite == suite:
            runs[members[0].name] = folded(card, members[0])
            continue
        samples = {run.samples for run in members}
        is_known = len(card.runs) == len(members) and "" not in samples
        of_runs = replace(
            card,
            samples="+".join(sorted(samples)) if is_known else "",
            texts=[lines for run in members for lines in run.texts],
        )
        aggregates.append(of_runs)
    return sorted([*aggregates, *runs.values()], key=lambda card: card.id)


def folded(card: Card, run: Card) -> Card:
    """A run's card with what only the card of its aggregate has."""
    more_links = []
    for label, address in card.links:
        if address not in dict(run.links).values():
            more_links.append((stored_text("Study: {what}", what=Message(label)), address))
    of_study = {
        "condition": card.condition,
        "baseline": card.manifest.baseline,
        "notes": [*run.manifest.notes, *card.manifest.notes],
    }
    return replace(
        run,
        manifest=run.manifest.model_copy(update=of_study),
        metrics=run.metrics.model_copy(update={"checks": card.metrics.checks}),
        links=[*run.links, *more_links],
        verdicts=card.verdicts,
        rank=card.rank,
        also=card.name,
    )


# --- texts that are searched


def searched(cards: Iterable[Card]) -> tuple[list[str], dict[str, list[int]], int]:
    """The texts of samples, a text once whatever the number of its runs; name of a card -> its places among them.

    Last how many characters of each sample are kept, so that all of them are not more than TEXTS.
    """
    indices: dict[tuple[str, ...], int] = {}
    of_card = {}
    for card in cards:
        texts = [lines for lines in card.texts if lines]
        of_card[card.name] = [indices.setdefault(lines, len(indices)) for lines in texts]
    n_samples = sum(map(len, indices))
    clip = min(CLIP, TEXTS // max(1, n_samples))
    joined = ["\n".join(visible(line[:clip]) for line in lines) for lines in indices]
    return joined, of_card, clip


# --- sections, rows, chips


def sections(cards: Sequence[Card]) -> list[Section]:
    """The results by suite, the newest first, the runs of an aggregate under the first that has them."""
    of_suite: dict[str, list[Card]] = {}
    for card in sorted(cards, key=lambda card: card.manifest.started, reverse=True):
        of_suite.setdefault(card.manifest.suite, []).append(card)
    found = []
    for suite, members in of_suite.items():
        titles = [say(card.manifest.suite_title) for card in members if card.manifest.suite_title]
        leading = [lead_title(card) for card in members if card.leading]
        section = Section(
            suite,
            titles[0] if titles else suite,
            mode(leading) if leading else "",
            lines_of(members),
            scales_of(members),
        )
        found.append(section)
    return sorted(found, key=lambda section: section.title)


def lines_of(cards: Sequence[Card]) -> list[tuple[Card, list[Card]]]:
    """The results of a suite, each with the runs that stand below it."""
    by_name = {card.name: card for card in cards}
    below: dict[str, str] = {}
    for card in cards:
        if card.is_aggregate:
            for name in card.runs:
                below.setdefault(name, card.name)
    lines = []
    for card in cards:
        if card.name not in below:
            names = [name for name in card.runs if below.get(name) == card.name]
            lines.append((card, [by_name[name] for name in names if name in by_name]))
    return lines


def scales_of(cards: Iterable[Card]) -> dict[str, Scale]:
    """Metric -> the scale on which all its strips are drawn."""
    numbers: dict[str, list[float | None]] = {}
    for card in cards:
        for estimate in card.estimates:
            ends = [estimate.value, estimate.ci_low, estimate.ci_high]
            numbers.setdefault(estimate.name, []).extend(ends)
    return {name: scale_of(values) for name, values in numbers.items()}


def studies_of(cards: Iterable[Card]) -> dict[str, str]:
    """Name of an aggregate or of one of its runs -> the address of the study's page."""
    addresses = {}
    for card in cards:
        label = "Report" if card.is_aggregate else "Study: Report"
        address = dict(card.links).get(label)
        if address and (card.is_aggregate or card.also):
            addresses.update(dict.fromkeys([card.name, *card.runs], address))
    return addresses


def title_of(named: StoredMetric | StoredVerdict) -> str:
    """The title of a metric in the language in force."""
    name = named.name if isinstance(named, StoredMetric) else named.metric
    return shown(say(metric_title(name, named.title)))


def lead_title(card: Card) -> str:
    """The title of the metric that leads a card, with its arrow; "" where there is none."""
    if card.leading is None:
        return ""
    arrow, _ = ARROWS.get(card.leading.better, ("", ""))
    return f"{title_of(card.leading)} {arrow}".rstrip()


def goodness(estimate: StoredMetric | None) -> float | None:
    """What results are sorted by, the best first: the value, turned round where lower is better."""
    if estimate is None or estimate.value is None:
        return None
    value = float(f"{estimate.value:.6g}")
    return -value if estimate.better == "lower" else value


def metric_row(
    card: Card,
    estimate: StoredMetric,
    scales: Mapping[str, Scale],
) -> dict[str, Any]:
    """A metric of a card as text, with its strip; what a check blocks is struck and has no interval."""
    name = estimate.name
    is_blocked = name in card.blocked
    numbers = {**estimate.model_dump(), "metric": name}
    texts = shown_estimate(numbers, card.manifest.bootstrap.resampling, is_blocked)
    drawn = Markup("")
    if not is_blocked:
        drawn = strip(numbers, scales[name], f"{texts['value']} {texts['interval']}".rstrip())
    is_of_all = estimate.n_units in (None, card.manifest.bootstrap.n_units)
    return {
        **texts,
        "title": title_of(estimate),
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
    meaning = say("against {what}", what=baseline)
    if verdict in MEANING:
        meaning = f"{meaning}: {say(MEANING[verdict])}"
    return Chip(say(verdict), VERDICTS.get(verdict, "info"), meaning)


def decision(card: Card) -> Chip | None:
    """What was decided of a result: the verdict on its leading metric, or what its suite judges; None of neither."""
    chip = verdict_chip(card, card.leading.name) if card.leading else None
    if chip is not None:
        return chip
    judged = sorted(card.metrics.verdicts, key=lambda verdict: verdict.verdict != "fail")
    if judged:
        worst = judged[0]
        kind = VERDICTS.get(worst.verdict, "info")
        return Chip(shown(say(worst.verdict)), kind, shown(say(worst.said)))
    if card.condition and card.condition == card.manifest.baseline:
        return Chip(say("baseline"))
    return None


def check_text(check: Check) -> str:
    """What a check says, as it stands in the gallery: visible, and not longer than can be read there."""
    return shown(check.text(), 500)


def trust_chip(card: Card) -> Chip:
    """Whether a result can be believed, with the worst of its checks; problems of the input are a caution."""
    levels = None if card.checks is None else [check.level for check in card.checks]
    problems = [f"{found.count} x {shown(found.code)}" for found in card.manifest.problems]
    if problems:
        levels = [*(levels or ()), "warning"]
    state = trust(levels, incomplete=card.manifest.incomplete, spoilt=bool(card.spoilt))
    if card.spoilt:
        return Chip(say(state.words), state.kind, listed(map(shown, card.spoilt)))
    reasons = [check_text(check) for check in card.checks or () if check.level != "info"]
    meaning = [*reasons, *problems][:1] if state.kind != "good" else []
    return Chip(say(state.words), state.kind, "".join(meaning))


# --- the page


def render(results: Results) -> str:
    """The page of the results."""
    texts, of_card, clip = searched(results.cards)
    return page(
        "gallery/gallery.html.j2",
        STYLES,
        SCRIPTS,
        data=script_json(texts),
        sections=sections(results.cards),
        studies=studies_of(results.cards),
        texts=of_card,
        n_results=len(results.cards),
        incomplete=results.incomplete[:LISTED],
        n_incomplete=len(results.incomplete),
        levels={level: (say(LEVEL_WORDS[level]), KINDS[level]) for level in LEVELS},
        kinds=VERDICTS,
        clip=clip,
        shown=shown,
        anchor=anchor,
        check_text=check_text,
        title_of=title_of,
        lead_title=lead_title,
        goodness=goodness,
        metric_row=metric_row,
        decision=decision,
        trust_chip=trust_chip,
    )
