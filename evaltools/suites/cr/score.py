"""The files of a run -> its units, in shards of bounded size; in the same pass, the scorecards of its outputs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pandas as pd
from pydantic import ValidationError

from ...core.errors import InputError, Problems, Severity
from ...core.fast_json import decoder
from ...core.files import beside, content_hash, dumps, refuse_input
from ...core.jsonl import Progress, read_jsonl, shards
from ...core.language import Message
from ...core.records import FirstLines
from ...core.suite import Source, Workers
from ...core.text_files import require_file
from .options import CrOptions
from .read import FILES, read_gold, read_override, warn_of_doubts
from .sample import make_sample
from .schema import Output, Scorecard, TupleRow
from .scorecard import scorecard
from .sources import final_rows, gold_rows, profile_of, text_id
from .unit_columns import unit_row
from .units import units_frame, with_override

SHARD_BYTES = 32 << 20
"""A file is read in byte ranges of about this size, whatever the workers: memory does not grow with the file."""

NO_PROFILE = "no row has the profile {profile}; other profiles: {others}"
NOT_WRITABLE = "no scorecard: the line cannot be written as JSON again: {reason}"


@dataclass(frozen=True)
class _Run:
    """What all shards of a run share.

    `gold_time`: when the gold file was changed; `unwritable`: the severity of an output that JSON cannot hold again;
    `provenance`: what the scorecards say of the files that they come from.
    """

    path: Path
    role: str
    gold: Path | None
    gold_time: int
    options: CrOptions
    unwritable: Severity
    provenance: Mapping[str, str | None]


@dataclass(frozen=True)
class _Shard:
    """A byte range of the main file; into `part` (None: nowhere) go its scorecards, a line for each row of the units."""

    run: _Run
    start: int
    stop: int
    part: Path | None


@dataclass
class _Scored:
    """What comes of a shard: its units, empty where no row can be used, its problems, and how many lines it has.

    `left_out`: the profile of each sample that is not among the profiles of the options.
    """

    units: pd.DataFrame = field(default_factory=pd.DataFrame)
    problems: Problems = field(default_factory=lambda: Problems("skip"))
    progress: Progress = field(default_factory=Progress)
    left_out: dict[str, str] = field(default_factory=dict)


class _Record(NamedTuple):
    """One row of the main file. `raw` is the line of an output, of which a scorecard is made; b"" of a scorecard."""

    line: int
    row: Output | Scorecard
    raw: bytes = b""


def _read(shard: _Shard, scored: _Scored) -> Iterator[_Record]:
    """The rows of a shard. Scorecards are large and only read: a fast decoder makes them."""
    is_output = shard.run.role == "outputs"
    model: Any = Output if is_output else Scorecard
    rows: Iterator[tuple[int, Any]] = read_jsonl(
        shard.run.path,
        model,
        scored.problems,
        start=shard.start,
        stop=shard.stop,
        progress=scored.progress,
        decode=_with_line if is_output else decoder(Scorecard),
    )
    for line, row in rows:
        yield _Record(line, *row) if is_output else _Record(line, row)


def _with_line(line: bytes) -> Any:
    """An output and its line; None where the line does not fit, and `read_jsonl` says why."""
    try:
        return Output.model_validate_json(line), line
    except ValidationError:
        return None


@lru_cache(maxsize=1)
def _gold_of(path: Path | None, _changed: int) -> tuple[dict[str, list[TupleRow]], Problems]:
    """The gold file and its problems; each process reads it once, and a forked one has what its parent read."""
    problems = Problems("skip")
    return read_gold(path, problems) if path is not None else {}, problems


def _score_shard(shard: _Shard) -> _Scored:
    """Score one byte range, and write its part of the scorecards."""
    scored = _Scored()
    scorecards: list[bytes] = []
    rows = _unit_rows(shard, scored, scorecards)
    scored.units = units_frame(rows, shard.run.options.match_policy)
    if shard.part is not None:
        shard.part.write_bytes(b"".join(scorecards))
    return scored


def _unit_rows(
    shard: _Shard,
    scored: _Scored,
    scorecards: list[bytes],
) -> Iterator[dict[str, Any]]:
    """The rows of the units one by one: a sample is read, counted and left behind while it is in the cache."""
    run, problems = shard.run, scored.problems
    profiles = run.options.profile
    gold_by_id, _ = _gold_of(run.gold, run.gold_time)
    for record in _read(shard, scored):
        uid = text_id(record.row)
        profile = profile_of(record.row)
        if profiles and profile not in profiles:
            scored.left_out[uid] = profile
            continue
        where = {"file": run.path, "line": record.line, "id": uid}
        if not uid:
            problems.error("missing-id", "expected a text_id", field="meta.text_id", **where)
            continue
        # the tuples of the gold file stand in for the row's own
        in_gold_file = gold_by_id.get(uid)
        gold = gold_rows(record.row) if in_gold_file is None else in_gold_file
        # a fast decoder makes objects that only look like a Scorecard
        card: Any = record.row
        content: dict[str, Any] = {}
        if run.role == "outputs":
            raw = json.loads(record.raw)
            content = scorecard(raw, card, in_gold_file, run.options, run.provenance)
            card = Scorecard.model_validate(content)
        final = final_rows(card)
        warn = partial(problems.warn, **where)
        warn_of_doubts(card.meta.input_text or "", gold, final.rows, warn)
        sample = make_sample(record.line, uid, card, gold, final)
        row = unit_row(sample, run.options)
        if shard.part is not None:
            for name in content["stage_delta"]:
                content["stage_delta"][name] = row[name] if sample.protocol else None
            scorecards.append(_scorecard_line(content, run, problems, where))
        yield row


def _scorecard_line(
    content: Mapping[str, Any],
    run: _Run,
    problems: Problems,
    where: Mapping[str, Any],
) -> bytes:
    """The line of a scorecard; an empty one where JSON cannot hold it (as NaN), which is reported."""
    try:
        return dumps(content).encode() + b"\n"
    except ValueError as e:
        report = problems.error if run.unwritable == "error" else problems.warn
        report("not-writable", NOT_WRITABLE, reason=str(e), **where)
        return b"\n"


def score(
    source: Source,
    options: CrOptions,
    problems: Problems,
    workers: Workers,
    aside: Path | None,
    unwritable: Severity = "warning",
) -> pd.DataFrame:
    """The units frame of a run, in file order; the same for any workers.

    Where it is scored from outputs, their scorecards.jsonl goes into `aside`. Reports broken lines, doubled ids (the
    first counts), gold for unknown samples and (as `unwritable`) outputs without a scorecard to `problems`. Raises
    InputError where no row can be used.
    """
    override: dict[str, float] = {}
    if "override_gate" in source.files:
        with suppress(
            InputError
        ):  # the scores do not need it: under on_error="skip" it is left out
            override = read_override(source.files["override_gate"], problems)
    role = "scorecards" if "scorecards" in source.files else "outputs"
    run = _run(source, role, options, unwritable, with_hashes=aside is not None)
    known_gold, gold_problems = _gold_of(run.gold, run.gold_time)
    problems.merge(gold_problems)
    tasks = _shards(run, aside if role == "outputs" else None)
    frames, lines = [], 0
    left_out: dict[str, str] = {}
    for scored in workers.map(_score_shard, tasks):
        problems.merge(scored.problems, lines)
        if len(scored.units):
            scored.units["line"] += lines
            frames.append(scored.units)
        lines += scored.progress.lines
        left_out.update(scored.left_out)
    problems.raise_if_failed()
    _report_profiles(frames, left_out, run, problems)
    if not frames:
        raise problems.fatal("no-rows", "no line of the file can be used", file=run.path)
    units = pd.concat(frames, ignore_index=True)
    is_first = _is_first(units, run.path, problems)
    _refuse_mixed_modes(units, run.path, problems)
    if aside is not None and role == "outputs":
        parts = [task.part for task in tasks if task.part]
        _join_parts(parts, is_first, aside / FILES["scorecards"])
    if not all(is_first):
        units = units[is_first].reset_index(drop=True)
    _report_gold(units, [uid for uid in known_gold if uid not in left_out], run, problems)
    units = with_override(units, override)
    units.attrs["rows"] = {role: lines}
    if run.gold is not None:
        units.attrs["rows"]["gold"] = len(known_gold)
    return units


def _run(
    source: Source,
    role: str,
    options: CrOptions,
    unwritable: Severity,
    *,
    with_hashes: bool,
) -> _Run:
    path, gold = source.files[role], source.files.get("gold")
    provenance: dict[str, str | None] = {}
    if role == "outputs" and with_hashes:
        provenance = {
            "outputs_sha256": content_hash(path),
            "gold_sha256": content_hash(gold) if gold is not None else None,
        }
    return _Run(
        path=path,
        role=role,
        gold=gold,
        gold_time=gold.stat().st_mtime_ns if gold is not None else 0,
        options=options,
        unwritable=unwritable,
        provenance=provenance,
    )


def _shards(run: _Run, folder: Path | None) -> list[_Shard]:
    """The byte ranges of the main file; `folder` takes a file of scorecards of each."""
    n_shards = math.ceil(run.path.stat().st_size / SHARD_BYTES)
    found = []
    for start, stop in shards(run.path, n_shards):
        part = folder / f".{start:015}.part" if folder is not None else None
        found.append(_Shard(run, start, stop, part))
    return found


def _is_first(
    units: pd.DataFrame,
    path: Path,
    problems: Problems,
) -> list[bool]:
    """For each row, whether it is the first of its text_id; the others are errors."""
    first_lines = FirstLines(path, problems)
    is_first = []
    for uid, line in zip(units["text_id"], units["line"].tolist()):
        is_first.append(first_lines.is_first(uid, line, id=uid, what="row with this text_id"))
    problems.raise_if_failed()
    return is_first


def _refuse_mixed_modes(
    units: pd.DataFrame,
    path: Path,
    problems: Problems,
) -> None:
    """InputError where one file holds a run of the protocol and predictions that no review has seen (D25)."""
    other = units["protocol"] != units["protocol"].iloc[0]
    if other.any():
        raise problems.fatal(
            "mixed-modes",
            "rows of a run of the protocol and predictions that no review has seen do not go together in a file",
            file=path,
            line=int(units.loc[other, "line"].iloc[0]),
            field="meta.protocol_mode",
        )


def _report_profiles(
    frames: Sequence[pd.DataFrame],
    left_out: Mapping[str, str],
    run: _Run,
    problems: Problems,
) -> None:
    """Warn of each profile of the options that no row has; InputError where no row is left."""
    known = {profile for frame in frames for profile in frame["profile"].dropna()}
    others = {profile for profile in left_out.values() if profile}
    listed = tuple(sorted(others)) or Message("none")
    for profile in run.options.profile:
        if profile not in known:
            place = {"profile": repr(profile), "others": listed, "file": run.path}
            if not frames:
                raise problems.fatal("unknown-profile", NO_PROFILE, **place)
            problems.warn("unknown-profile", NO_PROFILE, **place)


def _report_gold(
    units: pd.DataFrame,
    known_gold: Iterable[str],
    run: _Run,
    problems: Problems,
) -> None:
    """Warn of gold for samples that the run does not hold, and of a run without any gold."""
    text_ids = set(units["text_id"])
    for uid in known_gold:
        if uid not in text_ids:
            message = "gold for a sample that the run does not hold"
            problems.warn("unknown-gold", message, file=run.gold, id=uid)
    if not units["has_gold"].any():
        message = "no sample has gold: every metric that needs it is not measured"
        problems.warn("no-gold", message, file=run.path)


def _join_parts(
    parts: Iterable[Path],
    is_first: list[bool],
    target: Path,
) -> None:
    """Write the scorecards of all parts to one file, and remove the parts.

    A part has a line for each row of the units. Left out are those of doubled ids, and empty ones.
    """
    row = 0
    with target.open("wb") as out:
        for part in parts:
            with part.open("rb") as lines:
                for line in lines:
                    if is_first[row] and line != b"\n":
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
        score(source, CrOptions(), problems, Workers(), Path(folder), "error")
        (Path(folder) / FILES["scorecards"]).replace(target)
    with target.open("rb") as lines:
        return sum(1 for _ in lines)
