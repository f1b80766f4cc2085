"""The files of a run -> its units, in shards of bounded size; in the same pass, the scorecards of its outputs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
import pandas as pd
import pyarrow as pa

from ...core.errors import Problems
from ...core.fast_json import decoder
from ...core.files import beside, content_hash, refuse_input, state
from ...core.json_files import Progress, read_jsonl, shards
from ...core.records import FirstLines, require_file
from ...core.suite import Scored, Source
from ...core.workers import Workers
from .options import CrOptions
from .read import FILES, read_gold, read_override
from .sample import unit_row, units_frame
from .schema import Output, Scorecard, TupleRow
from .scorecard import STAGE_DELTA, scorecard
from .sources import final_rows, gold_rows, profile_of, text_id
from .tuples import KNOWN, polarity_of, ref_of

SHARD_BYTES = 32 << 20
"""A file is read in byte ranges of about this size, whatever the workers: memory does not grow with the file."""


class _Run(NamedTuple):
    """What all shards of a run share.

    `provenance`: what its scorecards say of the files that they come from; None where none are made.
    """

    path: Path
    is_outputs: bool
    gold: Path | None
    options: CrOptions
    provenance: Mapping[str, str | None] | None


def _score_shard(run: _Run, shard: tuple[int, int]) -> tuple[pd.DataFrame, Problems, int]:
    """(rows, problems, number of lines) of one byte range of the main file; `scorecard` holds those that are made.

    Scorecards are large and only read: a fast decoder makes objects that look like a Scorecard.
    """
    start, stop = shard
    problems, progress = Problems("skip"), Progress()
    model: Any = Output if run.is_outputs else Scorecard
    records = read_jsonl(
        run.path,
        model,
        problems,
        start=start,
        stop=stop,
        progress=progress,
        decode=None if run.is_outputs else decoder(Scorecard),
    )
    gold_by_id, _ = _gold_of(run.gold)
    wanted = run.options.profile
    rows: list[dict[str, Any]] = []
    for number, card in records:
        uid = text_id(card)
        where = {"file": run.path, "line": number, "id": uid}
        if not uid:
            problems.error("missing-id", "expected a text_id", field="meta.text_id", **where)
            continue
        if wanted and profile_of(card) not in wanted:
            continue
        # the tuples of the gold file stand in for the row's own
        gold = gold_by_id[uid] if uid in gold_by_id else gold_rows(card)
        if run.is_outputs:
            is_injected = uid in gold_by_id
            origin = run.provenance or {}
            content = scorecard(
                card.content,
                card,
                gold,
                is_injected,
                run.options,
                origin,
            )
            card = Scorecard.model_validate(content)
        for code, message, field in _doubts(gold, final_rows(card)[1]):
            problems.warn(code, message, field=field, **where)
        unit = unit_row(card, gold, number, run.options)
        rows.append(unit)
        if run.provenance is not None:
            if unit["protocol"]:
                content["stage_delta"] = {name: unit[name] for name in STAGE_DELTA}
            # a number that is none, which JSON cannot hold, becomes null
            unit["scorecard"] = msgspec.json.encode(content) + b"\n"
    return pa.Table.from_pylist(rows).to_pandas(), problems, progress.lines


def _doubts(gold: list[TupleRow], final: list[TupleRow]) -> Iterator[tuple[str, str, str]]:
    """(code, message, field) of what a sample was not meant to hold; it counts nonetheless."""
    has_refs = any(map(ref_of, gold))
    for field, rows in (("gold_tuples", gold), ("final_tuples", final)):
        for i, row in enumerate(rows):
            polarity = polarity_of(row)
            if polarity and polarity not in KNOWN:
                known = ", ".join(sorted(KNOWN))
                message = f"polarity {polarity!r} of tuple {i} counts as neutral; expected {known}"
                yield "unknown-polarity", message, field
            if has_refs and not ref_of(row):
                message = f"tuple {i} has no aspect_ref; it takes no part in the metrics by ref"
                yield "invalid-refs", message, field


def _gold_of(path: Path | None) -> tuple[dict[str, list[TupleRow]], Problems]:
    """The tuples of a gold file by sample id, and its problems."""
    return _read_gold(path, state(path)) if path is not None else ({}, Problems())


@lru_cache(maxsize=1)
def _read_gold(path: Path, _state: Any) -> tuple[dict[str, list[TupleRow]], Problems]:
    # each process reads the file once, and a forked one has what its parent read
    problems = Problems("skip")
    return read_gold(path, problems), problems


def score(
    source: Source,
    options: CrOptions,
    problems: Problems,
    workers: Workers,
    aside: Path | None,
) -> Scored:
    """The units frame of a run, in file order; the same for any workers.

    Where it is scored from outputs, their scorecards.jsonl goes into `aside`. Reports broken lines, doubled ids (the
    first counts) and gold for unknown samples to `problems`. Raises InputError where no row can be used.
    """
    files = source.files
    is_outputs = "outputs" in files
    role = "outputs" if is_outputs else "scorecards"
    path = files[role]
    provenance = None
    if is_outputs and aside is not None:
        hashes = {name: content_hash(file) for name, file in files.items()}
        provenance = {f"{name}_sha256": hashes.get(name) for name in ("outputs", "gold")}
    run = _Run(
        path,
        is_outputs,
        files.get("gold"),
        options,
        provenance,
    )
    gold, gold_problems = _gold_of(run.gold)
    problems.merge(gold_problems)
    override = read_override(files.get("override_gate"), problems)
    tasks = shards(path, math.ceil(path.stat().st_size / SHARD_BYTES))
    frames, lines = [], 0
    for frame, shard_problems, n_lines in workers.map(partial(_score_shard, run), tasks):
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
        raise problems.fatal("no-rows", what, file=path)
    rows = pd.concat(frames, ignore_index=True)
    first_lines = FirstLines(path, problems)
    repeated = rows[rows["text_id"].duplicated(keep=False)]
    for uid, line in zip(repeated["text_id"], repeated["line"].tolist()):
        first_lines.is_first(uid, line, id=uid, what="row with this text_id")
    problems.raise_if_failed()
    rows = rows.drop_duplicates("text_id")
    if aside is not None and is_outputs:
        with (aside / FILES["scorecards"]).open("wb") as file:
            file.writelines(rows.pop("scorecard"))
    units = units_frame(rows.reset_index(drop=True))
    # the numbers of the override gate are of the run: they stand in its first row
    for name, value in override.items():
        units[name] = value * (units.index == 0)
    _warn_of_gaps(run, units, gold, problems)
    n_rows = {role: lines}
    if run.gold is not None:
        n_rows["gold"] = len(gold)
    return Scored(units, n_rows)


def _warn_of_gaps(
    run: _Run,
    units: pd.DataFrame,
    gold: Collection[str],
    problems: Problems,
) -> None:
    """Warn of profiles and samples that the run does not hold, and of a run without gold.

    InputError for a gold file of other samples: those of the run would be held against other gold, or none.
    """
    wanted = run.options.profile
    for profile in set(wanted).difference(units["profile"]):
        problems.warn("unknown-profile", f"no row has the profile {profile!r}", file=run.path)
    known = set(units["text_id"])
    # with profiles there may well be gold for the rows that are left out
    unknown = [] if wanted else [uid for uid in gold if uid not in known]
    if unknown and len(unknown) == len(gold):
        message = "none of the samples of this gold file is in the run; expected the gold of these samples"
        raise problems.fatal("unknown-gold", message, file=run.gold)
    for uid in unknown:
        message = "gold for a sample that the run does not hold"
        problems.warn("unknown-gold", message, file=run.gold, id=uid)
    if not units["has_gold"].any():
        message = "no sample has gold: every metric that needs it is not measured"
        problems.warn("no-gold", message, file=run.path)


def write_scorecards(
    outputs: Path,
    gold: Path,
    target: Path,
    problems: Problems,
) -> int:
    """Write the scorecards of a file of outputs, or of a run folder's outputs.jsonl; returns how many.

    With nothing written it raises InputError for input that cannot be used, UsageError for a target that is an input.
    """
    path = outputs / FILES["outputs"] if outputs.is_dir() else outputs
    files = {"outputs": path, "gold": gold}
    for file in files.values():
        require_file(file, problems)
    refuse_input(target, files.values())
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(**beside(target)) as folder:
        source = Source(target.name, files)
        units = score(
            source,
            CrOptions(),
            problems,
            Workers(),
            Path(folder),
        ).units
        (Path(folder) / FILES["scorecards"]).replace(target)
    return len(units)
