"""The files of a run -> its units, in shards of bounded size; in the same pass, the scorecards of its outputs."""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
import pandas as pd
from pydantic import ValidationError

from ...core.errors import InputError, Problems
from ...core.fast_json import decoder
from ...core.files import beside, content_hash, refuse_input, state
from ...core.jsonl import Progress, read_jsonl, shards
from ...core.language import Message
from ...core.records import FirstLines
from ...core.suite import Source
from ...core.text_files import require_file
from ...core.workers import Workers
from .options import CrOptions
from .read import FILES, read_gold, read_override
from .sample import make_sample, warn_of_doubts
from .schema import Output, Scorecard, TupleRow
from .scorecard import StageDelta, scorecard
from .sources import gold_rows, profile_of, text_id
from .unit_columns import unit_row
from .units import counted, units_frame, with_override

SHARD_BYTES = 32 << 20
"""A file is read in byte ranges of about this size, whatever the workers: memory does not grow with the file."""

NO_PROFILE = "no row has the profile {profile}; other profiles: {others}"


@dataclass(frozen=True)
class _Run:
    """What all shards of a run share.

    `folder`: where scorecards are made of outputs, None for nowhere. `provenance`: what these say of the files that
    they come from.
    """

    path: Path
    role: str
    gold: Path | None
    options: CrOptions
    folder: Path | None = None
    provenance: Mapping[str, str | None] = field(default_factory=dict)

    def part(self, start: int) -> Path | None:
        """The file for the scorecards of a shard, a line for each row of the units."""
        return self.folder and self.folder / f".{start:015}.part"


class _Scored(NamedTuple):
    """What comes of a shard: what is counted, empty where no row can be used, its problems, and its number of lines.

    `profiles` are those of all rows with an id; `left_out` are the ids of rows of other profiles than the options'.
    """

    rows: pd.DataFrame
    problems: Problems
    lines: int
    profiles: set[str]
    left_out: set[str]


def _score_shard(run: _Run, shard: tuple[int, int]) -> _Scored:
    """Score one byte range of the main file, and write its part of the scorecards."""
    part = run.part(shard[0])
    problems, progress = Problems("skip"), Progress()
    rows: list[dict[str, Any]] = []
    scorecards: list[bytes] = []
    profiles: set[str] = set()
    left_out: set[str] = set()
    wanted = run.options.profile
    gold_by_id, _ = _gold_of(run.gold)
    for line, row, raw in _read(run, shard, problems, progress):
        uid = text_id(row)
        where = {"file": run.path, "line": line, "id": uid}
        if not uid:
            problems.error("missing-id", "expected a text_id", field="meta.text_id", **where)
            continue
        profile = profile_of(row)
        profiles.add(profile)
        if wanted and profile not in wanted:
            left_out.add(uid)
            continue
        # the tuples of the gold file stand in for the row's own
        is_injected = uid in gold_by_id
        gold = gold_by_id[uid] if is_injected else gold_rows(row)
        card, content = row, {}
        if run.role == "outputs":
            content = scorecard(
                json.loads(raw), row, gold, is_injected, run.options, run.provenance
            )
            card = Scorecard.model_validate(content)
        sample = make_sample(card, gold, run.options.match_policy)
        warn_of_doubts(sample, partial(problems.warn, **where))
        unit = unit_row(sample, line, run.options)
        rows.append(unit)
        if part is not None:
            if sample.protocol:
                content["stage_delta"] = {name: unit[name] for name in StageDelta._fields}
            # a number that is none, which JSON cannot hold, becomes null
            scorecards.append(msgspec.json.encode(content) + b"\n")
    if part is not None:
        part.write_bytes(b"".join(scorecards))
    return _Scored(counted(rows), problems, progress.lines, profiles, left_out)


def _read(
    run: _Run,
    shard: tuple[int, int],
    problems: Problems,
    progress: Progress,
) -> Iterator[tuple[int, Any, bytes]]:
    """(line number, record, line) of each row of a shard; of a scorecard the line is left out.

    Scorecards are large and only read: a fast decoder makes objects that look like a Scorecard.
    """
    start, stop = shard
    model: Any = Scorecard
    decode: Any = decoder(Scorecard)
    if run.role == "outputs":
        model, decode = Output, _output_and_line
    records = read_jsonl(
        run.path,
        model,
        problems,
        start=start,
        stop=stop,
        progress=progress,
        decode=decode,
    )
    for number, record in records:
        row, line = record if run.role == "outputs" else (record, b"")
        yield number, row, line


def _output_and_line(line: bytes) -> tuple[Output, bytes] | None:
    """An output and its line; None where the line does not fit, and `read_jsonl` says why."""
    try:
        return Output.model_validate_json(line), line
    except ValidationError:
        return None


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
) -> pd.DataFrame:
    """The units frame of a run, in file order; the same for any workers.

    Where it is scored from outputs, their scorecards.jsonl goes into `aside`. Reports broken lines, doubled ids (the
    first counts) and gold for unknown samples to `problems`. Raises InputError where no row can be used.
    """
    override: dict[str, float] = {}
    if "override_gate" in source.files:
        # the scores do not need it: under on_error="skip" it is left out
        with suppress(InputError):
            override = read_override(source.files["override_gate"], problems)
    run = _run(source, options, aside)
    known_gold, gold_problems = _gold_of(run.gold)
    problems.merge(gold_problems)
    tasks = shards(run.path, math.ceil(run.path.stat().st_size / SHARD_BYTES))
    frames, lines = [], 0
    profiles: set[str] = set()
    left_out: set[str] = set()
    for scored in workers.map(partial(_score_shard, run), tasks):
        problems.merge(scored.problems, lines)
        if len(scored.rows):
            scored.rows["line"] += lines
            frames.append(scored.rows)
        profiles |= scored.profiles
        left_out |= scored.left_out
        lines += scored.lines
    problems.raise_if_failed()
    _require_profiles(profiles, run, problems)
    if not frames:
        raise problems.fatal("no-rows", "no line of the file can be used", file=run.path)
    rows = pd.concat(frames, ignore_index=True)
    rows = _first_of_each_id(rows, run.path, problems)
    _refuse_mixed_modes(rows, run.path, problems)
    if run.folder is not None:
        parts = [part for start, _ in tasks if (part := run.part(start))]
        _join_parts(parts, set(rows.index), run.folder / FILES["scorecards"])
    units = units_frame(rows.reset_index(drop=True), options.match_policy)
    unknown = known_gold.keys() - left_out - set(units["text_id"])
    _report_gold(units, [uid for uid in known_gold if uid in unknown], run, problems)
    units = with_override(units, override)
    units.attrs["rows"] = {run.role: lines}
    units.attrs["override"] = override
    if run.gold is not None:
        units.attrs["rows"]["gold"] = len(known_gold)
    return units


def _run(
    source: Source,
    options: CrOptions,
    aside: Path | None,
) -> _Run:
    """What is scored; scorecards of its outputs go into `aside`."""
    files = source.files
    gold = files.get("gold")
    if "scorecards" in files:
        return _Run(files["scorecards"], "scorecards", gold, options)
    provenance = {}
    if aside is not None:
        provenance = {
            "outputs_sha256": content_hash(files["outputs"]),
            "gold_sha256": content_hash(gold) if gold is not None else None,
        }
    return _Run(files["outputs"], "outputs", gold, options, aside, provenance)


def _require_profiles(
    present: set[str],
    run: _Run,
    problems: Problems,
) -> None:
    """Warn of a profile of the options (D37) that no row has; InputError where no row has any of them."""
    wanted = run.options.profile
    others = tuple(sorted(present.difference(wanted, [""]))) or Message("none")
    for profile in wanted:
        if profile not in present:
            place = {"profile": repr(profile), "others": others, "file": run.path}
            if present.isdisjoint(wanted):
                raise problems.fatal("unknown-profile", NO_PROFILE, **place)
            problems.warn("unknown-profile", NO_PROFILE, **place)


def _first_of_each_id(
    rows: pd.DataFrame,
    path: Path,
    problems: Problems,
) -> pd.DataFrame:
    """The first row of each text_id; the others are errors."""
    first_lines = FirstLines(path, problems)
    repeated = rows[rows["text_id"].duplicated(keep=False)]
    for uid, line in zip(repeated["text_id"], repeated["line"].tolist()):
        first_lines.is_first(uid, line, id=uid, what="row with this text_id")
    problems.raise_if_failed()
    return rows.drop_duplicates("text_id")


def _refuse_mixed_modes(
    rows: pd.DataFrame,
    path: Path,
    problems: Problems,
) -> None:
    """InputError where one file holds a run of the protocol and predictions that no review has seen (D25)."""
    other = rows["protocol"] != rows["protocol"].iloc[0]
    if other.any():
        raise problems.fatal(
            "mixed-modes",
            "rows of a run of the protocol and predictions that no review has seen do not go together in a file",
            file=path,
            line=int(rows.loc[other, "line"].iloc[0]),
            field="meta.protocol_mode",
        )


def _report_gold(
    units: pd.DataFrame,
    unknown: Iterable[str],
    run: _Run,
    problems: Problems,
) -> None:
    """Warn of gold for samples that the run does not hold, and of a run without any gold."""
    for uid in unknown:
        message = "gold for a sample that the run does not hold"
        problems.warn("unknown-gold", message, file=run.gold, id=uid)
    if not units["has_gold"].any():
        message = "no sample has gold: every metric that needs it is not measured"
        problems.warn("no-gold", message, file=run.path)


def _join_parts(
    parts: Iterable[Path],
    rows: Container[int],
    target: Path,
) -> None:
    """Write the scorecards of these rows of all parts to one file, and remove the parts."""
    row = 0
    with target.open("wb") as out:
        for part in parts:
            with part.open("rb") as lines:
                for line in lines:
                    if row in rows:
                        out.write(line)
                    row += 1
            part.unlink()


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
        score(source, CrOptions(), problems, Workers(), Path(folder))
        (Path(folder) / FILES["scorecards"]).replace(target)
    with target.open("rb") as lines:
        return sum(1 for _ in lines)
