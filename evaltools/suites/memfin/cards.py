"""What MemFin shows: turns as cards with what falls short in them, checks of what was measured, files for people."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path

import pandas as pd
from pandas import DataFrame

from ...core.estimates import Checks, check_lines, duplicate_texts, plain_rows, share_check
from ...core.files import Fields, Names, grouped, write_json, write_jsonl, write_text
from ...core.manifest import SCHEMA_VERSION
from ...core.messages import listed, say
from ...report.run import Run
from ...report.samples import Line, Place, Row, SampleView
from ...report.study import Study
from ...report.study_sentences import whole_sentence
from ...report.tables import text_table
from ...report.text import markdown, markdown_table
from ...stats.effects import MIN_UNITS
from .score import DIALOG, MACRO, MEASURES, TABLES, TURN_EVAL, counters, eligibility

GROUPS = TABLES["groups"]

# what before a forbidden word says that it is denied, up to the word itself, as in 不承诺保本
DENIAL = re.compile(r"(?:不|没有|无法|并非|绝非|禁止|避免|切勿)[^，。！？；,.!?;]{0,6}$")

ENDS = re.compile(r"[。！？!?\n]")


def in_order(result: Run, units: DataFrame) -> DataFrame:
    """The turns with their names, those in most groups first, then in the order of the trace."""
    turns = units.dropna(subset="turn_pair_id")
    turns = turns.assign(turn=turns["dialog_id"] + " / " + turns["turn_pair_id"].astype(str))
    n_groups = sum(turns.eval(query).astype(int) for query, _ in GROUPS.values())
    return turns.loc[n_groups.sort_values(ascending=False, kind="stable").index]


def card(turn: Fields) -> Fields:
    """The card of a turn.

    tags, rows (one a measure: what was required, the turn's score and what it falls short of), places (forbidden words
    of the reply), context.
    """
    forbidden = list(forbidden_words(turn))
    rows = list(_rows(turn, forbidden))
    failed = " ".join(row.label.partition(" ")[0] for row in rows if row.mark == "bad")
    said = [say("fails {measures}", measures=failed)] * bool(failed)
    said += [say("M4 severe violation")] * (turn["m4_severe"] > 0)
    return {
        "tags": [Line(text, "bad") for text in said],
        "rows": rows,
        "places": [place for place, _ in forbidden],
        "context": turn["context"],
    }


def forbidden_words(turn: Fields) -> Iterator[tuple[Place, str]]:
    """Where the words of violations stand in a reply, each with its sentence; a denied one is to be looked at (D50).

    >>> turn = {"reply": "您好。本产品不承诺保本！谢谢", "forbidden_hits": ["保本"], "violations": []}
    >>> place, sentence = next(forbidden_words(turn))
    >>> place.mark, place.tooltip, sentence
    ('look', 'denied: 不承诺保本', '本产品不承诺保本')
    """
    reply = turn["reply"]
    for word, said in _phrases(turn).items():
        for found in re.finditer(re.escape(word), reply):
            start, end = found.span()
            mark, tip = "bad", said
            if denial := DENIAL.search(reply[:start]):
                mark, tip = "look", say("denied: {words}", words=denial[0] + word)
            sentence = ENDS.split(reply[:start])[-1] + word + ENDS.split(reply[end:])[0]
            yield Place("reply", start, end, mark, tooltip=tip), sentence.strip()


def _phrases(turn: Fields) -> dict[str, str]:
    """The words that are forbidden in a reply, or recorded as a violation -> what they are, each once.

    A violation without words stands for itself.
    """
    phrases = {word: say("forbidden {what}", what=word) for word in turn["forbidden_hits"]}
    for violation in turn["violations"]:
        phrase = violation["phrase"]
        text = "{type} “{phrase}” ({severity})" if phrase else "{type} ({severity})"
        said = say(text, **{name: say(value or "?") for name, value in violation.items()})
        phrases.setdefault(phrase or said, said)
    return phrases


def _rows(
    turn: Fields,
    forbidden: list[tuple[Place, str]],
) -> Iterator[Row]:
    """What each measure that a turn takes part in required, and what the turn falls short of."""
    keys = [
        (_required_text(key), is_hit)
        for key, is_hit in zip(turn["resolved_keys"], turn["key_hit_flags"])
        if key["resolvable"]
    ]
    found = {
        "M1": _counted([key for key, _ in keys], [key for key, is_hit in keys if not is_hit]),
        "M3": _counted(turn["risk_required_tags"], turn["missed_tags"]),
        "M4": (
            say(turn["gt_compliance_label"]),
            say(turn["pred_compliance_label"]),
            _compliance_reasons(turn, forbidden),
        ),
        "M5": _counted(turn["rubric_required"], turn["missed_elements"]),
    }
    for name in turn["contradicted_constraints"]:
        found["M1"][2].append(say("the reply goes against {constraint}", constraint=name))
    for of in MEASURES:
        key = of["key"]
        if key in found and turn[of["eligible"]]:
            required, result, why = found[key]
            # of a severe violation with the true label the label is right
            is_wrong = required != result if key == "M4" else why
            mark = "bad" if is_wrong else "good"
            cells = {
                "required": [Line(required)],
                "found": [Line(result, mark, listed(why, "; "))],
            }
            yield Row(f"{key} {say(of['title'])}", cells, mark=mark)


def _required_text(key: Fields) -> str:
    """What a memory key asks for; a value such as 高 with the field of the profile that it is of."""
    if key["resolver"] != "profile_field":
        return key["target_text"]
    field = key["key"].removeprefix("profile_gt.").removesuffix("_gt").replace("_", " ")
    return f"{say(field)} {key['target_text']}"


def _counted(
    required: Sequence[str],
    missed: Sequence[str],
) -> tuple[str, str, list[str]]:
    """What was required, how much of it there is, and why that falls short."""
    n, total = len(required) - len(missed), len(required)
    why = [say("missing: {what}", what=listed(map(say, missed)))] if missed else []
    return listed(map(say, required)), say("{n} of {total} met", n=n, total=total), why


def _compliance_reasons(
    turn: Fields,
    forbidden: list[tuple[Place, str]],
) -> list[str]:
    """Why a label is wrong, or a violation severe: how much is denied, and each sentence with what is wrong in it."""
    label = turn["pred_compliance_label"]
    if label == turn["gt_compliance_label"] and label != "severe_violation":
        return []
    reasons = [
        whole_sentence(listed(dict.fromkeys(place.tooltip for place, _ in found)), f"“{text}”")
        for text, found in grouped(forbidden, itemgetter(1)).items()
    ]
    reasons += [said for word, said in _phrases(turn).items() if word not in turn["reply"]]
    if n_denied := [place.mark for place, _ in forbidden].count("look"):
        reasons.insert(
            0,
            say(
                "denied: {n} of {of} forbidden words",
                n=n_denied,
                of=len(forbidden),
            ),
        )
    return reasons


def finding(run: Run) -> tuple[str, str] | None:
    """How many replies are severe violations, and where that says nothing of other dialogues; None if not measured."""
    name = "m4_severe_violation_rate"
    severe = run[name]
    if pd.isna(severe["value"]) or name in run.blocked:
        return None
    lead = say(
        "{n:.0f} of {of:.0f} replies are judged severe violations",
        n=severe["numerator"],
        of=severe["denominator"],
    )
    n_dialogs = int(severe["n_units"])
    if n_dialogs >= MIN_UNITS:
        return lead, ""
    return lead, say("only {n} dialogues, so that nothing follows for others", n=n_dialogs)


def sample_view(shown: Run | Study) -> SampleView:
    """How turns are browsed: those that fall short of anything, and the groups of these."""
    any_of_them = " or ".join(query for query, _ in GROUPS.values())
    return SampleView(
        in_order,
        card,
        id="turn",
        groups={"failing": (any_of_them, "Turns that fall short"), **GROUPS},
        texts={"user_text": "user", "reply": "reply"},
        head="Measure",
        columns={"required": "required / label", "found": "this turn"},
        fields={"context": "memory"},
    )


# more than this share matters: the interval of a rate over 300 turns is about 0.05 wide to either side
MANY = 0.05

# from this share on a number says more of the echo than of the rest
MOST = 0.5

# the groups of the metrics that are read from what the system replied
FROM_REPLIES = ("M3", "M4", "M5")


def checks(result: Run) -> Checks:
    """The checks of a run; those of replies are over the turns that were answered."""
    turns = result.data.dropna(subset="turn_pair_id")
    user_texts = turns.groupby("dialog_id", sort=False)["user_text"].agg("\n".join).reset_index()
    yield from duplicate_texts(user_texts, "user_text", "dialog_id")
    is_ignored = any(entry.role == "run_manifest" for entry in result.manifest.inputs)  # D44
    answered = turns[turns["turn_status"] == "ok"]
    of, n = len(turns), len(answered)
    has_one_class = n > 1 and answered["gt_compliance_label"].nunique() == 1
    yield from share_check(
        "memory-ignored",
        "info",
        "the run_manifest.json beside the trace says that memory keys were ignored: context "
        "continuity is not measured",
        of * is_ignored,
        of,
    )
    yield from share_check(
        "unanswered-turns",
        "warning",
        "{n} of {of} turns have no answer, as they timed out or failed: they take no part in the "
        "metrics of turns, which may look better for it",
        of - n,
        of,
    )
    yield from _of_replies(result, answered)
    yield from share_check(
        "one-class-truth",
        "warning",
        "the true compliance label is the same on all {of} answered turns: giving always that one "
        "would score 1.000 on compliance accuracy",
        n * has_one_class,
        n,
    )


def _of_replies(
    result: Run,
    answered: DataFrame,
) -> Checks:
    """Replies that are the user's own text, that are empty, and that stand on many turns."""
    replies, questions = (
        answered[column].str.split().str.join(" ") for column in ("reply", "user_text")
    )
    n = len(replies)
    is_echo = (replies != "") & (replies == questions)
    is_doubled = (replies != "") & replies.duplicated(keep=False)
    blocks = _metrics_of_replies(result) if is_echo.sum() >= MOST * n else ()
    yield from share_check(
        "echo-replies",
        "blocking" if blocks else "warning",
        "{n} of {of} replies are the user's own text: on these turns, metrics of replies describe the user",
        is_echo.sum(),
        n,
        blocks,
        MANY,
    )
    yield from share_check(
        "empty-replies",
        "warning",
        "{n} of {of} turns count as answered but have an empty reply",
        (replies == "").sum(),
        n,
        above=MANY,
    )
    yield from share_check(
        "duplicate-replies",
        "warning",
        "{n} of {of} turns have a reply that stands on other turns too",
        is_doubled.sum(),
        n,
        above=MANY,
    )


def _metrics_of_replies(result: Run) -> Names:
    """The metrics that are read from replies: those of the profile (M2) too, where replies have filled in most of it."""
    origins = Counter(field["origin"] for of in result.units["profile"].dropna() for field in of)
    groups = (*FROM_REPLIES, "M2") if origins["replies"] > origins["snapshot"] else FROM_REPLIES
    names = [metric.name for metric in result.metrics if metric.group.startswith(groups)]
    return (*names, "m1_contradiction_rate", "m1_contradiction_rate_macro")


def write_artifacts(
    result: Run,
    folder: Path,
) -> None:
    """Write the files of a run into its results folder."""
    # a row a turn of a valid dialogue, in the order of the trace
    turns = result.units.dropna(subset="turn_pair_id")[list(TURN_EVAL)]
    write_jsonl(folder / "turn_eval.jsonl", plain_rows(turns))
    write_json(folder / "metrics_summary.json", metrics_summary(result))
    n = counters(result.data)
    text = [
        f"# MemFin: {markdown(result.name)}\n",
        f"{n['total_dialogs']} dialogues: {n['valid_dialogs']} valid, {n['skipped_dialogs']} skipped, "
        f"{n['failed_dialogs']} failed; {n['total_turn_pairs']} turns.\n",
        f"Intervals ({result.resampling.percent}) resample dialogues. N/A: not measured. "
        "Micro: over turns; macro: mean of dialogues.\n",
        f"## Metrics\n\n{markdown_table(text_table(result.estimates))}",
        f"## Eligibility\n\n{markdown_table(eligibility(result))}",
        *(f"{markdown(line)}\n" for line in check_lines(result.checks)),
        f"`{result.signature}`\n",
    ]
    write_text(folder / "report.md", "\n".join(text))


def metrics_summary(result: Run) -> Fields:
    """micro, macro, counts and by_dialog of the five measures; null is "not measured".

    `by_dialog` holds the dialogues with an eligible turn. `counts`: every turn of a valid dialogue
    is eligible, failed (turn_status timeout or error) or skipped (nothing to measure it against);
    for M2 every dialogue is eligible, failed (not valid, with a failed dialog_status) or skipped.
    """
    values = result.to_dict()
    first_rows = result.data.drop_duplicates("dialog_id").set_index("dialog_id")
    states = eligibility(result).set_index("measure")
    texts = {
        name: ", ".join(first_rows[name].dropna().unique()) or None
        for name in ("run_id", "trace_version")
    }
    measures = {}
    for measure in MEASURES:
        counts = states.loc[measure["key"], ["eligible", "skipped", "failed"]].add_suffix("_count")
        of_turns = {name: f"{measure['key'].lower()}_{name}" for name in measure["ratios"]}
        # M2 has values of dialogues only: both are the same
        of_dialogs = {name: of_turns[name] + MACRO for name in measure["means"]} or of_turns
        columns = {name.replace(MACRO, DIALOG): key for key, name in of_dialogs.items()}
        by_dialog = first_rows[list(columns)].dropna(how="all").rename(columns=columns)
        measures[measure["stored"]] = {
            "metric_name": measure["stored"],
            "micro": {name: values[metric] for name, metric in of_turns.items()},
            "macro": {name: values[metric] for name, metric in of_dialogs.items()},
            "counts": counts.to_dict()
            | {
                name: int(result.data[column].sum())
                for name, column in measure.get("totals", {}).items()
            },
            "by_dialog": dict(zip(by_dialog.index, plain_rows(by_dialog))),
        }
    return {
        "schema_version": SCHEMA_VERSION,
        **texts,
        "eval_policy_hash": result.policy["eval_policy_hash"],
        "metrics": measures,
        "counters": counters(result.data),
    }
