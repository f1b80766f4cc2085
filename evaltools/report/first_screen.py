"""The first screen of a page: what came out, whether to believe it, and where to look; its title is the finding.

Its tables hold headline metrics, or differences, with an interval strip in each row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.check import LEVEL_WORDS
from ..core.estimates import Row
from ..core.language import listed, say
from . import study_sentences
from .browse import groups_of_change, groups_of_run
from .numbers import number
from .provenance import short_signature
from .sentences import UNDECIDED, verdict_text
from .strip import SMALL_N, scale_of, scales, strip, strip_table
from .tables import VERDICTS, HtmlTable, no_rows, shown_difference, shown_estimate, stack, words
from .templates import macros
from .text import anchor
from .trust import all_checks, is_bundled

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

# letters of the gist of a check in the trust line
GIST = 60


# --- estimates


def estimates_table(
    shown: Run | Study,
    estimates: pd.DataFrame,
    is_whole: bool = False,
) -> HtmlTable:
    """Estimates with their strips, the primary metric first; metrics that a check blocks stand in one line below.

    Aliases are left out. `is_whole`: all metrics by their groups, folded.
    """
    aliases = [metric.name for metric in shown.metrics if metric.alias_of]
    is_blocked = estimates["metric"].isin(shown.blocked)
    usable = estimates[~is_blocked & ~estimates["metric"].isin(aliases)]
    records = usable.to_dict("records")
    if not is_whole:
        records.sort(key=lambda row: row["metric"] != shown.primary)
    axes = scales(records, shown.metrics)
    if not is_whole:
        # metrics that share an axis stand together
        order = list(dict.fromkeys(axes.values()))
        records.sort(key=lambda row: order.index(axes[row["metric"]]))
    rows = [_estimate_row(shown, row, axes[row["metric"]], is_whole) for row in records]
    level = say("{level} interval", level=shown.resampling.percent)
    heads = {
        "title": say("Metric"),
        "strip": level,
        "value": say("value"),
        "interval": level,
        "ratio": say("of"),
    }
    caption = say("All metrics") if is_whole else ""
    pieces = [strip_table(rows, heads, usable, caption, is_whole)] if rows else []
    pieces.append(_blocked_line(shown, estimates.loc[is_blocked, "metric"]))
    return HtmlTable(stack(pieces).html, usable) if len(estimates) else no_rows(say("Metrics"))


def _blocked_line(shown: Run | Study, names: Iterable[str]) -> HtmlTable:
    """The metrics that a check blocks, in a line; empty without any."""
    titles = listed(dict.fromkeys(map(shown.title, names)))
    return words(say("Cannot be measured here: {names}", names=titles) if titles else "")


def _estimate_row(
    shown: Run | Study,
    estimate: Row,
    scale: Any,
    is_whole: bool,
) -> dict[str, Any]:
    texts = shown_estimate(estimate, shown.resampling)
    text = f"{texts['value']} {texts['interval']}".strip()
    metric = shown.metric(estimate["metric"])
    return {
        **texts,
        "id": anchor("metric", metric.name),
        "about": f"{say(metric.description)} ({metric.name})".strip(),
        "scale": scale,
        "strip": strip(estimate, scale, text, n_units=estimate["n_units"]),
        "ratio": texts["ratio"] or f"n = {texts['n']}",
        "group": say(estimate["group"]) if is_whole else "",
        "primary": not is_whole and metric.name == shown.primary,
        "dim": False,
    }


# --- differences


def comparison_table(
    study: Study,
    names: Sequence[str],
    is_whole: bool = False,
) -> HtmlTable:
    """Metrics of every candidate against the baseline, one axis a metric; of several candidates a row each below it.

    A metric that a check blocks stands in one line below. `is_whole`: folded.
    """
    rows = study.differences_of(*names)
    if rows.empty:
        return no_rows(say("Differences"))
    is_blocked = rows["metric"].isin(study.blocked)
    records = rows[~is_blocked].assign(value=rows["delta"]).to_dict("records")
    several = len(study.candidates) > 1
    if several:
        order = list(dict.fromkeys(rows["metric"]))
        records.sort(key=lambda row: order.index(row["metric"]))
    records.sort(key=lambda row: (not row["primary"], not several and _is_dim(row)))
    axes = scales(records, study.metrics, differences=True)
    shown = [_difference_row(study, row, axes[row["metric"]], several) for row in records]
    level = say("{level} interval", level=study.resampling.percent)
    n_compared = int(rows["p_adjusted"].notna().sum())
    heads = {
        "title": say("condition") if several else say("Metric"),
        "baseline": study.baseline,
        "candidate": say("candidate") if several else study.candidates[0],
        "strip": level,
        "difference": say("difference"),
        "interval": level,
        "p": say("p adj.") if n_compared > 1 else "p",
        "n": "n",
        "verdict": say("verdict"),
    }
    caption = say("Difference from {baseline} (shared samples)", baseline=study.baseline)
    pieces = [
        strip_table(shown, heads, rows, caption, is_whole),
        _blocked_line(study, rows.loc[is_blocked, "metric"]),
    ]
    return HtmlTable(stack(pieces).html, rows)


def _is_dim(row: Row) -> bool:
    """Whether a row has no verdict, so that it stands below the others in grey."""
    return not row["primary"] and row["verdict"] in UNDECIDED


def _difference_row(
    study: Study,
    row: Row,
    scale: Any,
    several: bool,
) -> dict[str, Any]:
    """A row of the comparison as text; of several candidates it is named by its candidate, under its metric."""
    texts = shown_difference(row, f" {say('raw')}")
    group = texts["title"] if several else ""
    if not several and _is_dim(row):
        group = say("Too few samples differ for a verdict")
    return {
        **texts,
        "id": "",
        "title": row["candidate"] if several else texts["title"],
        "about": say(study.metric(row["metric"]).description),
        "group": group,
        "primary": not several and bool(row["primary"]),
        "dim": _is_dim(row),
        "scale": scale,
        "n": number(int(row["n_units"])),
        "strip": strip(row, scale, _read_aloud(texts)),
        "verdict": verdict_text(row),
        "kind": VERDICTS.get(row["verdict"], "info"),
    }


def _read_aloud(texts: Mapping[str, str]) -> str:
    """A difference with its interval for those who do not see its strip."""
    return f"{texts['difference']} {texts['interval']}".strip()


def verdict_strip(
    study: Study,
    row: Row,
) -> HtmlTable:
    """The difference on the primary metric large, with what the data would miss in grey and who is better where."""
    reach = row["mde"] if row["verdict"] == "tied" else None
    scale = scale_of([row["delta"], row["ci_low"], row["ci_high"], reach], signed=True)
    left, right = row["baseline"], row["candidate"]
    if row["better"] == "lower":
        left, right = right, left
    start, middle, end = scale.labels
    ends = [
        f"{start} {say('{condition} better', condition=left)}",
        middle,
        f"{say('{condition} better', condition=right)} {end}",
    ]
    drawn = strip(
        {**row, "value": row["delta"]},
        scale,
        _read_aloud(shown_difference(row, "")),
        miss=reach,
    )
    return HtmlTable(macros().verdict_strip(drawn, ends))


# --- whether to believe it, and where to look


def trust_line(shown: Run | Study) -> HtmlTable:
    """Whether the numbers of a page can be believed, in a line that opens: how many checks failed, and their gist."""
    checks = all_checks(shown)
    levels = Counter(str(check.level) for check in checks)
    counts = []
    kind = "warning" if levels["warning"] else "good"
    if any(run.manifest.incomplete for run in shown.results):
        counts.append(say("incomplete"))
        kind = "error"
    if shown.blocked:
        usual = shown.suite.headline(shown.options, frozenset())
        n_blocked = len(shown.blocked.intersection(usual))
        text = "{n} of {total} headline metrics cannot be measured"
        counts.append(say(text, n=n_blocked, total=len(usual)))
        kind = "error"
    for level, one, many in (
        ("warning", "1 caution", "{n} cautions"),
        ("info", "1 note", "{n} notes"),
    ):
        if levels[level]:
            counts.append(say(one) if levels[level] == 1 else say(many, n=levels[level]))
        elif level == "warning" and not counts:
            counts.append(say("No caution"))
    gists = [_gist(check.message) for check in checks if check.level != "info"][:2]
    gist = f": {listed(gists, '; ')}" if gists else ""
    html = macros().trust(" · ".join(counts), gist, kind, LEVEL_WORDS, checks)
    return HtmlTable(html)


def _gist(message: str) -> str:
    """The beginning of a sentence that says the most of it: up to a colon, a semicolon or GIST letters."""
    for stop in (". ", ": ", "; ", "。", "；"):
        message = message.partition(stop)[0]
    message = message.rstrip(".。")
    return message if len(message) <= GIST else message[:GIST].rsplit(" ", 1)[0] + "…"


def where_to_look(groups: Mapping[str, Sized]) -> HtmlTable:
    """Links to the groups of samples of the page: label -> its samples; those without any are left out."""
    links = []
    for label, members in groups.items():
        if len(members):
            text = label
            if text[1:2].islower():  # a name keeps its capitals
                text = text[:1].lower() + text[1:]
            links.append((f"{len(members):,}", text, anchor("group", label)))
    return HtmlTable(macros().look(links) if links else "")


# --- the screens


def run_screen(run: Run) -> HtmlTable:
    """The first screen of one run."""
    usual = run.suite.headline(run.options, frozenset())
    blocked = [name for name in usual if name in run.blocked]
    estimates = run.estimates.set_index("metric", drop=False).loc[[*run.headline, *blocked]]
    about = study_sentences.cover(estimates, run.resampling)
    has_interval = estimates["ci_low"].notna()
    if (estimates.loc[has_interval, "n_units"] < SMALL_N).any():
        about.append(say("Open circle: fewer than {n} samples.", n=SMALL_N))
    own = run.suite.first_screen(run) if run.suite.first_screen else HtmlTable("")
    return _screen(
        run,
        run.name,
        study_sentences.run_finding(run),
        [],
        groups_of_run(run),
        [own, estimates_table(run, estimates), words(" ".join(about))],
    )


def study_screen(study: Study) -> HtmlTable:
    """The first screen of several runs: the differences from the baseline, or of one condition its values."""
    if not study.seeded and len(study.results) == 1:
        return run_screen(study.results[0])
    size = say(
        "{conditions} conditions, {n} runs", conditions=len(study.conditions), n=len(study.results)
    )
    pieces = []
    groups: dict[str, Sized] = {}
    for name in study.candidates if study.primary else []:
        groups |= groups_of_change(study, study.primary, name)
    numbers = study.table()
    rows = study_sentences.primary_rows(study)
    if len(study.candidates) == 1:
        (compared,) = study.comparisons.values()
        if not compared.identical:
            pieces += [verdict_strip(study, row) for row in rows.values()]
    settling = study_sentences.settling(study)
    if settling and pieces:
        settling.append(say("Grey band: smaller differences."))
    pieces.append(words(" ".join(settling)))
    return _screen(
        study,
        size,
        study_sentences.finding(study),
        pieces,
        groups,
        [numbers, words(study_sentences.how(study))],
    )


def _screen(
    shown: Run | Study,
    what: str,
    finding: study_sentences.Parts,
    verdict: Sequence[HtmlTable],
    groups: Mapping[str, Sized],
    numbers: Sequence[HtmlTable],
) -> HtmlTable:
    """The pieces that every first screen has, in their order; `what` is shown, and `groups` of units lead on."""
    kind = [say(shown.suite.title), what]
    if is_bundled(shown):
        kind.append(say("bundled example"))
    counts = [run.n_units for run in shown.results]
    ends = dict.fromkeys([number(min(counts)), number(max(counts))])
    size = f"n = {'–'.join(ends)} ({shown.suite.unit}) · {short_signature(shown)}"
    return stack(
        [
            HtmlTable(macros().first(kind, size, *finding)),
            words("\n\n".join(study_sentences.switched(shown))),
            *verdict,
            trust_line(shown),
            where_to_look(groups),
            *numbers,
        ]
    )
