"""What Conflict Review shows: checks of its inputs, cards of its samples with their tuples marked, files for people."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pandas as pd
from pandas import DataFrame

from ...core.estimates import Check, Checks, share_check
from ...core.files import Fields, Names, write_csv, write_text
from ...core.messages import listed, say
from ...report.run import Run
from ...report.samples import Line, Place, Row, SampleView
from ...report.study import Study
from ...report.tables import text_table
from ...report.text import markdown, markdown_table
from .read import TABLES
from .schema import STAND_IN
from .tuples import (
    KEYS,
    EvalTuple,
    Key,
    MatchPolicy,
    Side,
    attribute_of,
    match_pairs,
    pairs,
)

LEGEND = "✓ matched, − missing, ✗ wrong against the gold by {key}; all else may differ"


def sample_view(shown: Run | Study) -> SampleView:
    """How samples are browsed, their tuples marked under the key of the headline."""
    key = leading_key(shown)
    return SampleView(
        groups={
            name: (query.format(key=key), caption)
            for name, (query, caption) in TABLES["groups"].items()
        },
        order=partial(in_order, key=key),
        card=partial(card, key=key, policy=shown.options.match_policy),
        id="text_id",
        texts={"text": ""},
        head="Aspect · term",
        columns={"gold": "Gold", "stage1": "Before review", "final": "After review"},
        fields={"review": ""},
        legend=say(LEGEND, key=say(TABLES["key"][key]["compared"])),
    )


def leading_key(shown: Run | Study) -> Key:
    """The key that a page speaks of: that of its primary metric, which is the protocol's unless it is blocked."""
    for name in shown.headline:
        for key in KEYS:
            if name.endswith(key):
                return key
    return "refpol"


def finding(run: Run) -> tuple[str, str] | None:
    """Whether review helped, with what it fixed and broke; None where no review was scored."""
    # the net gain is made of just these counts
    names = [f"{name}_{leading_key(run)}" for name in ("net_gain", "fix_rate", "break_rate")]
    gain, fixed, broken = (run[name] for name in names)
    if run.blocked.intersection(names) or pd.isna([gain["value"], fixed["value"]]).any():
        return None
    text = "Review is not shown to fix more than it breaks, or less"
    if gain["ci_low"] > 0:
        text = "Review helps"
    elif gain["ci_high"] < 0:
        text = "Review harms"
    lead = say(
        "{finding}: fixed {fixed[numerator]:.0f} of {fixed[denominator]:.0f}, "
        "broke {broken[numerator]:.0f} of {broken[denominator]:.0f}",
        finding=say(text),
        fixed=fixed,
        broken=broken,
    )
    return lead, ""


def in_order(
    run: Run,
    units: DataFrame,
    *,
    key: Key,
) -> DataFrame:
    """The samples, the worst change under a key first."""
    gain = units[f"f1_s2_{key}"] - units[f"f1_s1_{key}"].fillna(0)
    return units.assign(gain=gain).sort_values(["gain", "text_id"], kind="stable")


def card(
    sample: Fields,
    *,
    key: Key,
    policy: MatchPolicy,
) -> Fields:
    """The card of a sample: tags, rows, places, review. The rows are marked under a key and a match policy."""
    rows = [*card_rows({name: sample[name] for name in ("gold", "stage1", "final")}, key, policy)]
    return {
        "tags": _tags(sample, key),
        "rows": rows,
        "places": [
            Place("text", start, start + len(row.part), row.mark)
            # of terms at one place the wrong ones count
            for row in sorted(rows, key=lambda row: row.mark != "bad")
            if row.mark and row.part and (start := sample["text"].find(row.part)) >= 0
        ],
        "review": _review(sample),
    }


def card_rows(
    columns: Mapping[str, Sequence[EvalTuple]], key: Key, policy: MatchPolicy
) -> Iterator[Row]:
    """The rows of a card, from the tuples of the gold and of each stage.

    A row holds the tuples that are alike in what the key compares besides polarity. Each is matched or wrong, and a
    pair of the gold that a stage lacks is missing there; without gold nothing is right or wrong. What the final
    result makes of a row marks its term in the text.
    """
    gold = Side(columns["gold"], policy).pairs[key]
    groups: dict[str, tuple[EvalTuple, defaultdict[str, list[Line]]]] = {}
    for column, tuples in columns.items():
        match = match_pairs(gold, Side(tuples, policy).pairs[key])
        for named in tuples:
            # a tuple that takes no part stands where nothing is compared
            pair = pairs(named, policy)[key]
            first, cells = groups.setdefault(pair[0] if pair else "", (named, defaultdict(list)))
            mark = "bad" if pair in match.spurious else "good"
            if column == "gold" or not gold or not pair:
                mark = ""
            other = " · ".join(filter(None, named[:2])) if named[:2] != first[:2] else ""
            cells[column].append(Line(named.polarity, mark, other))
        for text, polarity, *_ in sorted(match.missing):
            groups[text][1][column].append(Line(polarity, "missing"))
    for first, cells in groups.values():
        marks = {line.mark for line in cells.get("final", ())}
        mark = "bad" if marks & {"bad", "missing"} else "good" if marks == {"good"} else ""
        label = first.ref or say("(no ref)")
        if not first.term:
            label = f"{label} · {say('implicit')}"
        yield Row(
            label,
            cells,
            first.term,
            mark,
        )


def _tags(
    sample: Fields,
    key: Key,
) -> list[Line]:
    """What became of a sample, and its F1 before and after review."""
    before, after = sample[f"f1_s1_{key}"], sample[f"f1_s2_{key}"]
    if pd.isna(after):
        return [Line(say("not measured" if sample["gold"] else "no gold"))]
    word, mark = TABLES["outcomes"].get(
        sample[f"outcome_{key}"], ("right", "good") if after == 1 else ("wrong", "bad")
    )
    change = f"{after:.2f}" if pd.isna(before) else f"{before:.2f} → {after:.2f}"
    return [Line(say(word), mark), Line(f"F1 {change}")]


def _review(sample: Fields) -> str:
    """Who did what in review, in words: "A, B flip (polarity mismatch) · arbiter keep"."""
    acts = [(action.actor or "?", action) for action in sample["reviews"]]
    acts += [(say("arbiter"), action) for action in sample["arbiter"]]
    actors = defaultdict(list)
    for actor, action in acts:
        text = say((action.action_type or "?").lower())
        if action.reason_code:
            text += f" ({say(action.reason_code.replace('_', ' ').lower())})"
        actors[text].append(actor)
    acted = [f"{listed(dict.fromkeys(names))} {text}" for text, names in actors.items()]
    return say("Review: {actions}.", actions=" · ".join(acted)) if acted else ""


# a system that names a ref of the gold three times in ten misses ten in a row in 3% of runs; fewer prove nothing
FEW_REFS = 10

# the group of the metrics by ref that compare predicted tuples with each other only
WITHOUT_GOLD = "Polarity conflict"

BY_TERM = "Rerun with --protocol cr_v1."


def checks(run: Run) -> Checks:
    """The checks of a run."""
    data, of = run.data, len(run.data)
    yield from gold_without_pairs(run)
    yield from ref_outside_gold(run)
    values = run.to_dict()
    n_failed = int(data["parse_failed"].sum())
    n_unseen = of - data["protocol"].sum()
    # D25
    yield from share_check(
        "predictions-only",
        "info",
        "{n} of {of} samples are predictions that no review has seen: nothing before review, or of it, is measured",
        n_unseen,
        of,
        tuple(name for name in values if values[name] is None and n_unseen == of),
    )
    for column, (code, text, columns) in TABLES["stages"].items():
        k = data[column].sum()
        n = (of - k) * data["protocol"].any()
        yield from share_check(code, "info", text, n, of, _resting_on(run, columns), above=0.5, k=k)
    # D27
    yield from share_check(
        "invalid-refs",
        "warning",
        "{n} of {of} predicted tuples have an empty ref: they take no part in the metrics by ref",
        data["n_invalid_ref"].sum(),
        data["n_pred_used"].sum(),
    )
    yield from share_check(
        "empty-stage1",
        "info",
        "{n} of {of} samples have no tuples before review: their final ones stand for them, as if unchanged",
        data["empty_stage1"].sum(),
        of,
    )
    answered = data["has_gold"] & ~data["parse_failed"]
    yield from share_check(
        "empty-predictions",
        "warning",
        "{n} of {of} samples with gold and a reply have no predicted tuple, and their F1 is 0",
        (answered & (data["n_pred_used"] == 0)).sum(),
        answered.sum(),
    )
    yield from share_check(
        "parse-failures",
        "blocking" if n_failed == of else "warning",
        "for {n} of {of} samples the runner could not get or read a reply; they are scored with the"
        " tuples that are left (without any F1 is 0, and there is no conflict and nothing out of the text)",
        n_failed,
        of,
        tuple(values) * (n_failed == of),
    )
    yield from share_check(
        "stand-in",
        "warning",
        "the replies of {n} samples are a stand-in's, by rules: no model was asked, the numbers are of none",
        (data["model"] == STAND_IN).sum(),
        of,
    )


def gold_without_pairs(run: Run) -> Checks:
    """No gold tuple of the run has a pair under a key: that key is not measured (D26)."""
    data = run.data
    n_gold = int(data["n_gold_tuples"].sum())
    keys = [key for key in KEYS if not data[f"has_gold_{key}"].any()]
    if n_gold and keys:
        message = say(
            "none of the {of} gold tuples has a pair by {keys}: these metrics are not measured",
            of=f"{n_gold:,}",
            keys=listed([say(TABLES["key"][key]["compared"]) for key in keys]),
        )
        is_lost = run.options.key in keys
        yield Check(
            "gold-without-pairs",
            "blocking" if is_lost else "info",
            f"{message}. {say(BY_TERM)}" if is_lost else message,
            0,
            n_gold,
            _resting_on(run, keys),
        )


def ref_outside_gold(run: Run) -> Checks:
    """No predicted ref stands anywhere in the gold of the run: the two sides name aspects in two ways.

    Blocks the metrics by ref, and those by attribute where no predicted attribute stands in the gold either.
    """
    # the first spares reading the tuples of nearly every run; of the second see gold_without_pairs
    if run.data["tp_refpol"].any() or not run.data["has_gold_refpol"].any():
        return
    with_gold = run.data[run.data["has_gold"]]
    # these two columns of many rows, and a cell at a time
    final, known = (
        [named.ref for cell in with_gold[side] for named in run.suite.decode[side](cell)]
        for side in ("final", "gold")
    )
    gold = {*known} - {""}
    predicted = {*final} - {""}
    if not final or gold & predicted:
        return
    keys = ["refpol", "attrpol"]
    if {*map(attribute_of, gold)} & {*map(attribute_of, predicted)} - {""}:
        keys = ["refpol"]
    message = say(
        "The predictions use {n} refs and the gold {known}, none in common, so metrics by them are always 0.",
        n=f"{len(predicted):,}",
        known=f"{len(gold):,}",
    )
    if run.options.key == "refpol":
        message = f"{message} {say(BY_TERM)}"
    of = sum(map(bool, final)) or len(final)
    is_sure = of >= FEW_REFS
    yield Check(
        "ref-outside-gold",
        "blocking" if is_sure else "warning",
        message,
        0,
        of,
        _resting_on(run, keys) if is_sure else (),
    )


def _resting_on(
    run: Run,
    parts: Sequence[str],
) -> Names:
    """The names of the metrics that rest on columns with one of these parts in their names.

    A key stands for the metrics that compare with gold by it.
    """
    return tuple(
        metric.name
        for metric in run.metrics
        if metric.group != WITHOUT_GOLD and any(part in str(metric) for part in parts)
    )


def artifacts(
    run: Run,
    folder: Path,
) -> None:
    """structural_metrics.csv (a row, a column a metric) and structural_metrics_table.md (each with its interval).

    An empty cell is not measured, counts are whole numbers, and `blocked` lists the metrics that mean nothing here,
    divided by semicolons (D47).
    """
    values: Fields = run.to_dict()
    for metric in run.metrics:
        name, is_count = metric.name, not getattr(metric, "denominator", True)
        if is_count and values[name] is not None:
            values[name] = int(values[name])
    row = {
        "run": run.name,
        "protocol": run.options.protocol,
        **values,
        "blocked": ";".join(name for name in values if name in run.blocked) or None,
        "eval_semver": run.policy["eval_semver"],
        "eval_policy_hash": run.policy["eval_policy_hash"],
    }
    metrics_folder = folder / "derived" / "metrics"
    write_csv(metrics_folder / "structural_metrics.csv", DataFrame([row]))
    write_text(
        metrics_folder / "structural_metrics_table.md",
        f"# Structural metrics of {markdown(run.name)}\n\n"
        f"{markdown_table(text_table(run.estimates))}\n`{run.signature}`\n",
    )
