"""Scores a trace: the five measures M1 to M5 of a dialogue, and the units frame, one row a turn.

Source: memfin_metrics 3 (the ratios) and 4 (who is eligible).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pandas import DataFrame, Series
from pydantic import Field, ValidationError

from ...core.files import Fields, dumps, first_names, toml_of_package
from ...core.messages import InputError, Problems, say
from ...core.metric import make_metric
from ...core.records import File, misfit, read_json, read_jsonl
from ...core.suite import Source, SuiteOptions
from ...core.workers import Workers
from ...formats.source import at
from ...report.run import Run
from .rules import (
    LABELS,
    VALUES,
    compliance,
    continuity,
    disclosure,
    explainability,
    profile_columns,
)
from .schema import Dialog

TABLES = toml_of_package("suites/memfin/metrics.toml")

# ratios only
METRICS: Fields = {row["name"]: make_metric(row) for row in TABLES["metric"]}

MEASURES: list[Fields] = TABLES["measure"]

# at the end of the name of a mean over dialogues, behind that of the ratio
MACRO = "_macro"
# at the end of the column with the ratio of each dialogue
DIALOG = "_dialog"


def add_dialog_ratios(units: DataFrame) -> DataFrame:
    """The units with the ratio of each dialogue, and whether it has one, in its first row, null in the others.

    M2 has its values already.
    """
    by_dialog = units.groupby("dialog_id", sort=False)
    columns = {}
    for name, mean in METRICS.items():
        if name.endswith(MACRO):
            numerator = by_dialog[mean.numerator].sum()
            denominator = by_dialog[mean.denominator].sum()
            columns[f"{name[:2]}_dialogs"] = (denominator > 0).astype(float)
            columns[name.replace(MACRO, DIALOG)] = numerator / denominator.where(denominator > 0)
    return units.join(DataFrame(columns).set_axis(units.index[~units["dialog_id"].duplicated()]))


def counters(units: DataFrame) -> dict[str, int]:
    """How many dialogues a trace holds, in which state, and how many turns the valid ones have."""
    counts = {"valid_dialogs": units["dialog_id"].nunique()}
    for name in ("skipped_dialogs", "failed_dialogs"):
        counts[name] = int(units[name].max())
    return {
        "total_dialogs": sum(counts.values()),
        **counts,
        "total_turn_pairs": int(units["turn_pair_id"].count()),
    }


def eligibility(result: Run) -> DataFrame:
    """How many take part in each measure: measure, unit, total, eligible, skipped, failed.

    total = eligible + skipped + failed. Turns of valid dialogues: a turn that timed out or broke is failed, one that is
    not eligible skipped. Of M2 dialogues: one that is not valid is failed or skipped, as its dialog_status says, one
    without a true profile is skipped.
    """
    units = result.data
    n = counters(units)
    n_failed = int(units["turn_failed"].sum())
    rows = []
    for measure in MEASURES:
        unit, total, failed = "turn", n["total_turn_pairs"], n_failed
        if measure["key"] == "M2":
            unit, total, failed = "dialogue", n["total_dialogs"], n["failed_dialogs"]
        eligible = int(units[measure["eligible"]].sum())
        rows.append(
            {
                "measure": measure["key"],
                "unit": say(unit),
                "total": total,
                "eligible": eligible,
                "skipped": total - eligible - failed,
                "failed": failed,
            }
        )
    return DataFrame(rows)


PATTERN = "dialog_trace*.jsonl"

MANIFEST = "run_manifest.json"
# the `m1_handling` of a manifest beside the trace that says that the system had no memory to score (D13, D44)
MEMORY_IGNORED = "ignored_memory_required_keys"

# values of `dialog_status` that say that the dialogue failed
FAILED = ("error", "failed", "timeout")

# column -> its dtype; "json" is a list or an object, which the units hold as text
TURN_EVAL: dict[str, str] = TABLES["turn_eval"]
COLUMNS = TURN_EVAL | TABLES["evidence"] | dict.fromkeys(TABLES["sums"], "float64")

JSON = [name for name, kind in COLUMNS.items() if kind == "json"]


class MemfinOptions(SuiteOptions):
    """The options of the memfin suite that change its numbers."""

    ignore_memory_keys: bool = Field(
        False, description="Score a system without memory: M1 is not measured."
    )

    def signature(self) -> dict[str, str]:
        """What the signature of a run says of its options."""
        return {"memory": "ignored" if self.ignore_memory_keys else "scored"}


def locate(
    path: Path,
    name: str | None,
    options: MemfinOptions,
    problems: Problems,
) -> Source:
    """The trace of a run: a file, or the only `dialog_trace*.jsonl` of a folder.

    A trace has the name of its folder, or of its file where the folder has several. InputError for a folder that holds
    none or several. Where the run_manifest.json beside the trace says that memory keys were ignored, so do the options
    (D44).
    """
    traces = sorted(path.glob(PATTERN)) if path.is_dir() else [path]
    if len(traces) != 1:
        found = first_names([trace.name for trace in traces]) or "none"
        raise problems.fatal(
            "missing-file", f"expected one {PATTERN} in this folder, found {found}", file=path
        )
    [trace] = traces
    File(trace, problems)
    folder = trace.resolve().parent
    files = {"trace": trace}
    manifest = folder / MANIFEST
    if manifest.is_file():
        content = read_json(File(manifest, problems))
        if isinstance(content, dict) and content.get("m1_handling") == MEMORY_IGNORED:
            files["run_manifest"] = manifest
            options = MemfinOptions(ignore_memory_keys=True)
    others = {*folder.glob(PATTERN)} - {folder / trace.name}
    return Source(name or (trace.stem if others else folder.name), files, options)


def score(
    source: Source,
    options: MemfinOptions,
    problems: Problems,
    workers: Workers,
    aside: Path | None,
) -> DataFrame:
    """The units frame of a trace: one row a turn of a valid dialogue.

    The values of a dialogue stand in its first row; `skipped_dialogs` and `failed_dialogs`, the numbers of those that
    are not valid, in every row. Reading the trace is most of the work and is done in one process: `workers` and `aside`
    change nothing.
    """
    file = File(source.files["trace"], problems)
    rows = []
    states = Counter[str]()
    dialogs = file.unique(
        read_jsonl(file, Dialog), lambda dialog: dialog.dialog_id, "record of this dialog_id"
    )
    for line, dialog in dialogs:
        if not dialog.valid_dialog:
            states["failed" if dialog.dialog_status in FAILED else "skipped"] += 1
            continue
        turns = dialog_units(dialog, options.ignore_memory_keys)
        for code, message, field in _gaps(dialog, turns):
            file.warn(
                code,
                message,
                line=line,
                field=field,
                id=dialog.dialog_id,
            )
        for row in turns:
            # as text: many small lists would keep the garbage collector busy for a sixth of the time
            rows.append(row | {name: dumps(row[name]) for name in JSON if name in row})
    problems.raise_if_failed()
    if states and not rows:
        raise file.fatal(
            "no-rows",
            "no valid dialogue in this trace: nothing to score",
        )
    columns = {
        name: Series([row.get(name) for row in rows], dtype="str" if kind == "json" else kind)
        for name, kind in COLUMNS.items()
    }
    return add_dialog_ratios(DataFrame(columns)).assign(
        skipped_dialogs=states["skipped"], failed_dialogs=states["failed"]
    )


def _gaps(
    dialog: Dialog,
    rows: Sequence[Fields],
) -> Iterator[tuple[str, str, str]]:
    """Warnings (code, message, field) of what a dialogue lacks but can be scored without; `rows`: its units."""
    for scored in rows[0].get("profile", ()):
        if scored["truth"] is None:
            name, _ = VALUES[scored["metric"]]
            value = dumps(getattr(dialog.profile_gt, name))
            yield (
                "unknown-truth",
                f"the true value {value} is none that the word lists know; it scores 0",
                f"profile_gt.{name}",
            )
    for turn, row in zip(dialog.turns, rows):
        field = f"turn {turn.turn_pair_id}"
        label = turn.gt_turn_tags.compliance_label_gt
        if label not in LABELS:
            known = ", ".join(LABELS)
            yield (
                "unknown-label",
                f"compliance_label_gt {label!r} is none of {known}; it counts as compliant",
                field,
            )
        for key in row["resolved_keys"]:
            if not key["resolvable"]:
                yield (
                    "unresolvable-key",
                    f"the memory key {key['key']!r} points at nothing; it takes no part",
                    field,
                )


def score_dialog(
    dialog: Fields,
    ignore_memory_keys: bool = False,
) -> list[Fields]:
    """The measures M1, M3, M4 and M5 of every turn of a dialogue (memfin_metrics 3 and 4).

    dialog: a line of dialog_trace.jsonl, as a dict.
    ignore_memory_keys: reads every turn as asking for no memory, for a system without memory.

    Gives a row a turn with the columns of turn_eval.jsonl; [] for a dialogue that is not valid. A
    turn takes part in a measure where its `eligible_m1` to `eligible_m5` is true: it was answered
    (turn_status ok) and something is required of it. `eligible_m2` is false always: M2 is measured
    by dialogue. InputError for a dialogue that does not fit the format.

    M1, context continuity (3.1): one of the two required keys stands in a memory, and the reply
    speaks against a constraint of the user.

    >>> turn = {
    ...     "turn_pair_id": 1,
    ...     "turn_status": "ok",
    ...     "pred_assistant_text": "可以适当用杠杆。净值有波动，不构成投资建议。",
    ...     "gt_turn_tags": {
    ...         "memory_required_keys_gt": ["profile_gt.risk_level_gt", "profile_gt.horizon_gt"],
    ...         "risk_disclosure_required_gt": ["波动风险", "不保证收益"],
    ...         "compliance_label_gt": "compliant",
    ...         "explainability_rubric_gt": ["边界声明", "信息依据"],
    ...     },
    ...     "recall": {"short_term_context": "用户偏稳健"},
    ... }
    >>> user = {"risk_level_gt": "稳健", "horizon_gt": "2年以上", "constraints_gt": ["不使用杠杆"]}
    >>> dialog = {"dialog_id": "d1", "valid_dialog": True, "profile_gt": user, "turns": [turn]}
    >>> [row] = score_dialog(dialog)
    >>> row["key_hit_flags"], row["constraint_contradiction"]
    ([1, 0], 1)

    M3, risk disclosure (3.3): one of two required tags is disclosed.

    >>> row["risk_required_tags"], row["risk_tag_hits"]
    (['volatility_risk', 'no_guaranteed_return'], 1)

    M4, compliance (3.4): no forbidden entry, no violation. M5, explainability (3.5): one of two
    elements is present, so that the score is 1 + 4 * 1/2.

    >>> row["pred_compliance_label"], row["rubric_hit_items"], row["judge_score_1_5"]
    ('compliant', ['边界声明'], 3.0)
    """
    problems = Problems()
    try:
        record = Dialog.model_validate(dialog)
    except ValidationError as e:
        misfit(e, problems.error, id=str(at(dialog, "dialog_id") or ""))
        raise InputError(problems) from None
    if not record.valid_dialog or not record.turns:
        return []
    return [
        {name: row[name] for name in TURN_EVAL} for row in dialog_units(record, ignore_memory_keys)
    ]


def dialog_units(
    dialog: Dialog,
    ignore_memory_keys: bool,
) -> list[Fields]:
    """The units of a valid dialogue, one a turn, with the columns of COLUMNS.

    A sum that is left out of a row is null: the turn is not eligible. The values of the dialogue
    (M2) stand in its first row. A dialogue without turns has one row, whose `turn_pair_id` is null,
    so that its profile counts.
    """
    dialog_columns = dialog.model_dump(include={*COLUMNS})
    truth = dialog.model_dump(include={"profile_gt", "blueprint"}, exclude_defaults=True)
    rows = []
    for turn in dialog.turns:
        gold = truth | turn.model_dump(include={"gt_turn_tags"}, exclude_defaults=True)
        row = {
            **dialog_columns,
            **turn.model_dump(include={*COLUMNS}),
            "reply": turn.pred_assistant_text,
            "compared_gold": dumps(gold) if gold else None,
            "turn": 1,
            "turn_failed": turn.turn_status != "ok",
            "eligible_m2": False,
        }
        measures = {
            "m1": continuity(dialog, turn, ignore_memory_keys),
            "m3": disclosure(turn),
            "m4": compliance(dialog, turn),
            "m5": explainability(turn),
        }
        for name, (columns, sums) in measures.items():
            is_eligible = turn.turn_status == "ok" and bool(sums)
            row |= columns | {f"eligible_{name}": is_eligible}
            if is_eligible:
                row |= {f"{name}_{part}": value for part, value in sums.items()}
        row["judge_score_1_5"] = row.get("m5_score")
        rows.append(row)
    rows = rows or [dialog_columns]
    rows[0].update(profile_columns(dialog))
    return rows
