"""The files of a run -> its units, in shards of bounded size, and in the same pass the scorecards of its outputs."""

from __future__ import annotations

import gc
import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from ...core.errors import InputError, Problem, Problems, Severity
from ...core.fast_json import decoder
from ...core.files import beside, content_hash, dumps, refuse_input
from ...core.records import Progress, read_jsonl, require_file, shards
from ...core.suite import Source, Workers
from .options import CrOptions
from .read import FILES, doubts, read_gold, read_override
from .sample import Sample, make_sample
from .schema import Output, Scorecard, TupleRow
from .scorecard import StageDelta, as_json, wrap
from .sources import final_rows, gold_rows, text_id
from .units import units_frame

SHARD_BYTES = 32 << 20
"""A file is read in byte ranges of about this size, whatever the workers: memory does not grow with the file."""


@dataclass(frozen=True)
class _Shard:
    """A byte range of the main file; into `part` (None: nowhere) go the scorecards, a line a row of the units.

    `gold_time`: when the gold file was changed; `severity`: that of an output that JSON cannot hold again;
    `provenance`: what the scorecards say of the files that they come from.
    """

    path: Path
    model: type[Output] | type[Scorecard]
    gold: Path | None
    gold_time: int
    options: CrOptions
    severity: Severity
    provenance: Mapping[str, str | None]
    start: int
    stop: int
    part: Path | None


_Draft = tuple[bytes, Scorecard, list[TupleRow] | None]
"""What a scorecard is written from: the line of its output, its type, gold of the gold file where that names it."""


@lru_cache(maxsize=1)
def _gold_of(path: Path | None, _changed: int) -> tuple[dict[str, list[TupleRow]], Problems]:
    """The gold file and its problems; each process reads it once, and a forked one has what its parent read."""
    problems = Problems("skip")
    return read_gold(path, problems) if path is not None else {}, problems


def _score_shard(shard: _Shard) -> tuple[pd.DataFrame | None, Problems, int]:
    """(units, problems, lines read) of one byte range."""
    problems, progress = Problems("skip"), Progress()
    drafts: list[_Draft] = []
    was_on = gc.isenabled()
    gc.disable()  # the collector of cycles would take a tenth of the time, and there are none
    try:
        units = units_frame(_samples(shard, problems, progress, drafts), shard.options)
    finally:
        if was_on:
            gc.enable()
    if shard.part is not None and units is not None:
        _write_part(shard, shard.part, units, drafts, problems)
    return units, problems, progress.lines


def _samples(
    shard: _Shard, problems: Problems, progress: Progress, drafts: list[_Draft]
) -> Iterator[Sample]:
    """The samples of the rows that have an id. The gold file's tuples stand in for a row's own where it names it."""
    by_id, _ = _gold_of(shard.gold, shard.gold_time)
    line_read = deque[bytes](maxlen=1)
    # scorecards are large and only read: a fast decoder makes them; outputs are left to pydantic, their lines kept
    decode: Any = decoder(Scorecard) if shard.model is Scorecard else line_read.append
    how: dict[str, Any] = {
        "start": shard.start,
        "stop": shard.stop,
        "progress": progress,
        "decode": decode,
    }
    file = str(shard.path)
    row: Any
    for number, row in read_jsonl(shard.path, shard.model, problems, **how):
        uid = text_id(row)
        where = {"file": file, "line": number, "id": uid}
        if not uid:
            problems.error("missing-id", "expected a text_id", field="meta.text_id", **where)
            continue
        given = by_id.get(uid)
        gold = gold_rows(row) if given is None else given
        card: Scorecard = row if shard.model is Scorecard else wrap(row, gold, shard.options)
        used = final_rows(card)
        for field, rows, text in (
            ("gold_tuples", gold, card.meta.input_text),
            ("final_tuples", used.rows, None),
        ):
            for code, message in doubts(rows, text):
                problems.warn(code, message, field=field, **where)
        if shard.part is not None:
            drafts.append((line_read[-1], card, given))
        yield make_sample(number, uid, card, gold, used, shard.options)


def _write_part(
    shard: _Shard, part: Path, units: pd.DataFrame, drafts: Iterable[_Draft], problems: Problems
) -> None:
    """A line for each row of the units: its scorecard, or nothing where JSON cannot hold it (as NaN)."""
    places = units[["line", "text_id"]].itertuples(index=False)
    found = units[list(StageDelta._fields)].to_dict("records")
    deltas = [
        delta if seen else dict.fromkeys(delta) for delta, seen in zip(found, units["protocol"])
    ]
    with part.open("wb") as f:
        for (line, uid), delta, (raw, card, gold) in zip(places, deltas, drafts):
            try:
                f.write(
                    dumps(as_json(json.loads(raw), card, gold, delta, shard.provenance)).encode()
                )
            except ValueError as e:
                message = f"no scorecard: the line cannot be written as JSON again: {e}"
                problems.add(
                    Problem(shard.severity, "not-writable", message, str(shard.path), line, id=uid)
                )
            f.write(b"\n")


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
    role = "scorecards" if "scorecards" in source.files else "outputs"
    path, gold = source.files[role], source.files.get("gold")
    gold_time = gold.stat().st_mtime_ns if gold is not None else 0
    known_gold, found = _gold_of(gold, gold_time)
    problems.merge(found)
    if "override_gate" in source.files:
        with suppress(
            InputError
        ):  # the scores do not need it: under on_error="skip" it is left out
            read_override(source.files["override_gate"], problems)
    aside = aside if role == "outputs" else None
    hashed = {"outputs": path, "gold": gold} if aside else {}
    provenance = {f"{role}_sha256": content_hash(p) if p else None for role, p in hashed.items()}
    shared = (path, _MODELS[role], gold, gold_time, options, unwritable, provenance)
    tasks = [
        _Shard(*shared, start, stop, aside and aside / f".{start:015}.part")
        for start, stop in shards(path, -(-path.stat().st_size // SHARD_BYTES))
    ]
    frames, parts, offset = [], [], 0
    for task, (frame, found, lines) in zip(tasks, workers.map(_score_shard, tasks)):
        problems.merge(found, offset)
        if frame is not None:
            frame["line"] += offset
            frames.append(frame)
            parts.append(task.part)
        offset += lines
    problems.raise_if_failed()
    if not frames:
        raise problems.fatal("no-rows", "no line of the file can be used", file=str(path))
    units = pd.concat(frames, ignore_index=True)
    first = _first_of_each(units, path, problems)
    if units["protocol"].nunique() > 1:
        line = int(units.loc[units["protocol"] != units["protocol"].iloc[0], "line"].iloc[0])
        message = "rows of a run of the protocol and predictions that no review has seen do not go together in a file"
        raise problems.fatal(
            "mixed-modes", message, file=str(path), line=line, field="meta.protocol_mode"
        )
    if aside is not None:
        _join(parts, first, aside / FILES["scorecards"])
    if not first.all():
        units = units[first].reset_index(drop=True)
    for uid in pd.Index(list(known_gold)).difference(units["text_id"], sort=False):
        problems.warn(
            "unknown-gold", "gold for a sample that the run does not hold", file=str(gold), id=uid
        )
    if not units["has_gold"].any():
        problems.warn(
            "no-gold",
            "no sample has gold: every metric that needs it is not measured",
            file=str(path),
        )
    units.attrs["rows"] = {role: offset, **({"gold": len(known_gold)} if gold is not None else {})}
    return units


def write_scorecards(outputs: Path, gold: Path, target: Path, problems: Problems) -> int:
    """Write the scorecards of a file of outputs, or of a run folder's outputs.jsonl; returns how many.

    With nothing written it raises InputError for input that cannot be used, UsageError for a target that is an input.
    """
    files = {"outputs": outputs / FILES["outputs"] if outputs.is_dir() else outputs, "gold": gold}
    for path in files.values():
        require_file(path, problems)
    refuse_input(target, files.values())
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(**beside(target)) as folder:
        score(Source(target.name, files), CrOptions(), problems, Workers(), Path(folder), "error")
        (Path(folder) / FILES["scorecards"]).replace(target)
    with target.open("rb") as lines:
        return sum(1 for _ in lines)


_MODELS: Mapping[str, type[Output] | type[Scorecard]] = {"outputs": Output, "scorecards": Scorecard}


def _first_of_each(units: pd.DataFrame, path: Path, problems: Problems) -> pd.Series:
    """Whether a row is the first of its text_id; the others are errors."""
    doubled = units["text_id"].duplicated()
    line_of = units[~doubled].set_index("text_id")["line"]
    for uid, line in units.loc[doubled, ["text_id", "line"]].itertuples(index=False):
        message = f"a second row with this text_id; the first is on line {line_of[uid]}"
        problems.error("duplicate-id", message, file=str(path), line=line, id=uid)
    problems.raise_if_failed()
    return ~doubled


def _join(parts: Iterable[Path | None], wanted: Iterable[bool], target: Path) -> None:
    """Put the wanted lines of the parts together, without the empty ones, and remove the parts."""
    is_wanted = iter(wanted)
    with target.open("wb") as out:
        for part in filter(None, parts):
            with part.open("rb") as lines:
                out.writelines(line for line in lines if next(is_wanted) and line != b"\n")
            part.unlink()
