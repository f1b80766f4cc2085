"""The Conflict Review suite: from the files of a run to its units, and its metrics and headline.

Files are read in shards of bounded size; in the same pass outputs become scorecards. These: seed
cr_hallucination_rate sections 2-3, seed cr_metrics_spec sections 4.1-4.3; decision D10.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pandas as pd
import pyarrow as pa
from pandas import DataFrame

from ...core.files import Fields, Names, beside, read_once, refuse_input
from ...core.messages import Problems
from ...core.metric import MetricTable, make_metric
from ...core.records import File, read_jsonl, shards
from ...core.suite import Source, Suite
from ...core.workers import Workers
from .cards import artifacts, checks, finding, sample_view
from .read import (
    FILES,
    MAIN,
    RUNNER,
    TABLES,
    CrOptions,
    at,
    final_rows,
    gold_rows,
    locate,
    read_gold,
    read_override,
)
from .sample import Action, drop_reason, unit_row, units_frame
from .schema import Output, Scorecard, TupleRow
from .tuples import KNOWN, EvalTuple, polarity_of

# A file is read in byte ranges of about this size, whatever the workers: memory does not grow with the file
SHARD_BYTES = 32 << 20


# what scoring finds of a change: columns of the units, and fields of the scorecard
STAGE_DELTA = (
    "changed",
    "pairs_changed",
    "label_changed",
    "n_s1_pairs",
    "n_final_pairs",
    "change_type",
)


def _score_shard(
    source: Source,
    options: CrOptions,
    keep_cards: bool,
    shard: tuple[int, int],
) -> tuple[DataFrame, Problems, int]:
    """(rows, problems, number of lines) of one byte range of the main file.

    `keep_cards`: the column `scorecard` holds the scorecards that are made of outputs. Scorecards are large and only
    read: a fast decoder makes objects that look like a Scorecard.
    """
    is_outputs = "outputs" in source.files
    start, stop = shard
    file = File(source.main, Problems("skip"))
    model: Any = Output if is_outputs else Scorecard
    gold_by_id, _ = _gold_of(source)
    rows: list[Fields] = []
    for number, card in read_jsonl(file, model, start=start, stop=stop, is_large=not is_outputs):
        if card.meta.text_id in (None, ""):
            file.error("missing-id", "expected a text_id", line=number, field="meta.text_id")
            continue
        uid = str(card.meta.text_id)
        # the tuples of the gold file stand in for the row's own
        gold = gold_by_id[uid] if uid in gold_by_id else gold_rows(card)
        if is_outputs:
            content = scorecard(card, gold, options)
            card = Scorecard.model_validate(content)
        unit = unit_row(card, gold, number, options)
        if options.profile and unit["profile"] not in options.profile:
            continue
        for field, tuples in (("gold_tuples", gold), ("final_tuples", final_rows(card)[1])):
            for polarity in sorted({*map(polarity_of, tuples)} - KNOWN - {""}):
                file.warn(
                    "unknown-polarity",
                    f"polarity {polarity!r} counts as neutral; "
                    "expected mixed, negative, neutral or positive",
                    line=number,
                    field=field,
                    id=uid,
                )
        rows.append(unit)
        if keep_cards:
            if unit["protocol"]:
                content["stage_delta"] = {name: unit[name] for name in STAGE_DELTA}
            # a number that is none, which JSON cannot hold, becomes null
            unit["scorecard"] = msgspec.json.encode(content) + b"\n"
    return pa.Table.from_pylist(rows).to_pandas(), file.problems, file.n_lines


# the tuples of a gold file by sample id, and its problems
GoldFile = tuple[dict[str, list[TupleRow]], Problems]


def _gold_of(source: Source) -> GoldFile:
    """The tuples of the gold file by sample id, and its problems."""
    path = source.files.get("gold")
    return _read_gold(path) if path else ({}, Problems("skip"))


@partial(read_once, 1)
def _read_gold(path: Path) -> GoldFile:
    # each process reads the file once, and a forked one has what its parent read
    problems = Problems("skip")
    return read_gold(File(path, problems)), problems


def score(
    source: Source,
    options: CrOptions,
    problems: Problems,
    workers: Workers,
    aside: Path | None,
) -> DataFrame:
    """The units frame of a run, in file order; the same for any workers.

    Where it is scored from outputs, their scorecards.jsonl goes into `aside`. Reports broken lines, doubled ids (the
    first counts) and gold for unknown samples to `problems`. Raises InputError where no row can be used.
    """
    file = File(source.main, problems)
    cards_folder = aside if "outputs" in source.files else None
    gold, gold_problems = _gold_of(source)
    problems.merge(gold_problems)
    override = read_override(source.files.get("override_gate"), problems)
    tasks = shards(source.main, math.ceil(source.main.stat().st_size / SHARD_BYTES))
    frames, lines = [], 0
    for frame, shard_problems, n_lines in workers.map(
        partial(_score_shard, source, options, bool(cards_folder)), tasks
    ):
        problems.merge(shard_problems, lines)
        if len(frame):
            frame["line"] += lines
            frames.append(frame)
        lines += n_lines
    problems.raise_if_failed()
    if not frames:
        what = "no line of the file can be used"
        if options.profile:
            what = f"no row has the profile {', '.join(options.profile)!r}"
        raise file.fatal("no-rows", what)
    rows = pd.concat(frames, ignore_index=True)
    [*file.unique(zip(rows["line"], rows["text_id"]), str, "row with this text_id")]
    problems.raise_if_failed()
    rows = rows.drop_duplicates("text_id", ignore_index=True)
    if cards_folder:
        with (cards_folder / FILES["scorecards"]).open("wb") as cards:
            cards.writelines(rows.pop("scorecard"))
    units = units_frame(rows)
    # the numbers of the override gate are of the run: they stand in its first row
    for name, value in override.items():
        units[name] = value * (units.index == 0)
    _warn_of_gaps(source, options, units, gold, problems)
    return units


def _warn_of_gaps(
    source: Source,
    options: CrOptions,
    units: DataFrame,
    gold: Collection[str],
    problems: Problems,
) -> None:
    """Warn of profiles and samples that the run does not hold, and of samples without gold.

    InputError for a gold file of other samples: those of the run would be held against other gold, or none.
    """
    for profile in sorted({*options.profile}.difference(units["profile"])):
        problems.warn("unknown-profile", f"no row has the profile {profile!r}", file=source.main)
    # with profiles there may well be gold for the rows that are left out
    known = set(units["text_id"])
    unknown = [] if options.profile else [uid for uid in gold if uid not in known]
    if unknown and len(unknown) == len(gold):
        raise problems.fatal(
            "unknown-gold",
            "none of the samples of this gold file is in the run; expected the gold of these samples",
            file=source.files["gold"],
        )
    for uid in unknown:
        problems.warn(
            "unknown-gold",
            "gold for a sample that the run does not hold",
            file=source.files["gold"],
            id=uid,
        )
    for uid in units.loc[~(units["has_gold"] | units["text_id"].isin(gold)), "text_id"]:
        problems.warn(
            "no-gold",
            "no gold for this sample: what needs gold is not measured on it",
            file=source.main,
            id=uid,
        )


def scorecard(
    output: Output,
    gold: Sequence[TupleRow],
    options: CrOptions,
) -> Fields:
    """One line of scorecards.jsonl; what is in its `stage_delta`, scoring finds.

    The line of the `output` is kept whole under `runtime.parsed_output`. Its aspects have an `action` (keep or drop) and
    a `drop_reason` (null where kept), as `build_filtered_aspects` of seed cr_hallucination_rate 3 gives them.
    """
    raw = output.content
    inputs = raw.get("inputs") or {}
    flags = raw.get("flags") or {}
    filtered = []
    for aspect in at(output, "stage1_ate.aspects") or ():
        reason = drop_reason(output.meta.input_text or "", aspect, options)
        filtered.append(
            aspect.model_copy(
                update={"action": "drop" if reason else "keep", "drop_reason": reason}
            )
        )
    dropped = [aspect.term for aspect in filtered if aspect.drop_reason]
    return {
        "run_id": output.meta.run_id,
        "profile": output.meta.profile,
        "meta": raw["meta"],
        "inputs": {
            "aspect_sentiments": [],
            **inputs,
            "gold_tuples": [row.model_dump(exclude_unset=True) for row in gold],
            "ate_debug": {
                "raw": [aspect.model_dump(include={"term", "span"}) for aspect in filtered],
                "filtered": [aspect.model_dump() for aspect in filtered],
                "kept_terms": [aspect.term for aspect in filtered if not aspect.drop_reason],
                "dropped_terms": dropped,
            },
        },
        "ate": {"hallucination_flag": bool(dropped)},
        "atsa": {"sentiment_judgements": []},
        "validator": [
            {**verdict, "stage": stage}
            for stage in ("stage1", "stage2")
            if (verdict := raw.get(f"{stage}_validator")) is not None
        ],
        "moderator": raw.get("moderator") or {},
        "stage_delta": dict.fromkeys(STAGE_DELTA),
        "flags": {
            name: bool(flags.get(name))
            for name in ("parse_failed", "generate_failed", "fallback_used")
        },
        "latency": {"total_ms": output.meta.latency_ms},
        "runtime": {
            "parsed_output": raw,
            "process_trace": raw.get("process_trace") or [],
            "error": raw.get("error"),
        },
    }


def write_scorecards(
    outputs: Path,
    gold: Path,
    target: Path,
    problems: Problems,
) -> int:
    """Write the scorecards of a file of outputs, or of a run folder's outputs.jsonl; returns how many.

    With nothing written it raises InputError for input that cannot be used, UsageError for a target that is an input.
    """
    files = {"outputs": outputs / FILES["outputs"] if outputs.is_dir() else outputs, "gold": gold}
    for file in files.values():
        File(file, problems)
    refuse_input(target, files.values())
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(**beside(target)) as folder:
        units = score(
            Source(target.name, files),
            CrOptions(),
            problems,
            Workers(),
            Path(folder),
        )
        (Path(folder) / FILES["scorecards"]).replace(target)
    return len(units)


@cache
def metrics(options: CrOptions) -> MetricTable:
    """Every metric, then other names for some of them: the short ones stand for those under the protocol's key.

    >>> [metric.alias_of for metric in metrics(CrOptions()) if metric.name == "tuple_f1_s2"]
    ['tuple_f1_s2_refpol']
    """
    table = [make_metric(row) for row in TABLES["counts"]]
    for key, words in TABLES["key"].items():
        table += [make_metric(row, key=key, **words) for row in TABLES["by_key"]]
    table += [make_metric(row, protocol=options.key) for row in TABLES["metric"]]
    by_name = {metric.name: metric for metric in table}
    for alias, template in TABLES["aliases"].items():
        name = template.format(protocol=options.key)
        table.append(replace(by_name[name], name=alias, alias_of=name))
    return tuple(table)


def headline(
    options: CrOptions,
    blocked: frozenset[str],
) -> Names:
    """The names that lead every page; those by term where the protocol's key cannot be measured."""
    key = options.key
    if f"tuple_f1_s2_{key}" in blocked:
        key = "otepol"
    other = "otepol" if key == "refpol" else "refpol"
    return tuple(name.format(key=key, other=other) for name in TABLES["headline"])


SUITE = Suite(
    name="cr",
    title="Conflict Review",
    unit="text_id",
    options=CrOptions,
    locate=locate,
    recognised=tuple(FILES[role] for role in MAIN),
    score=score,
    metrics=metrics,
    headline=headline,
    checks=checks,
    artifacts=artifacts,
    notebook="cr_run.ipynb",
    study_notebook="cr_seeds.ipynb",
    sample_view=sample_view,
    finding=finding,
    runner=RUNNER,
    decode=dict.fromkeys(
        ("gold", "stage1", "final"), partial(msgspec.json.decode, type=list[EvalTuple])
    )
    | dict.fromkeys(("reviews", "arbiter"), partial(msgspec.json.decode, type=list[Action])),
)
