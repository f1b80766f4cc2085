"""The files of a run -> its units, in shards of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from ..app.workers import Workers, collector_off
from ..core.errors import InputError, Problems
from ..core.jsonl import Progress, shards
from ..core.suite import Source
from .options import CrOptions
from .read import check_tuples, duplicate_id, read_gold, read_override, read_rows, unknown_gold
from .sample import Sample, make_sample
from .schema import Output, Scorecard, TupleRow
from .scorecard import wrap
from .sources import final_rows, gold_rows
from .units import units_frame

SHARD_BYTES = 32 << 20
"""A file is read in byte ranges of about this size, whatever the workers: memory does not grow with the file."""


@dataclass(frozen=True)
class _Shard:
    """A byte range of the main file, and all that a worker needs to score it."""

    role: str
    path: Path
    start: int
    stop: int
    gold: Path | None
    options: CrOptions


@lru_cache(maxsize=1)
def _gold_of(path: Path, _changed_ns: int) -> dict[str, list[TupleRow]]:
    """The gold file, read once by each process for all its shards; its problems were found before."""
    return read_gold(path, Problems("skip"))


def _score_shard(shard: _Shard) -> tuple[pd.DataFrame | None, Problems, int]:
    """(units, problems, lines read) of one byte range."""
    problems, progress = Problems("skip"), Progress()
    with collector_off():
        samples = list(_samples(shard, problems, progress))
        units = units_frame(samples, shard.options) if samples else None
        del samples  # before the collector would look through them
    return units, problems, progress.lines


def _samples(shard: _Shard, problems: Problems, progress: Progress) -> Iterator[Sample]:
    """The gold file's tuples stand in for a row's own where it names the sample."""
    by_id = _gold_of(shard.gold, shard.gold.stat().st_mtime_ns) if shard.gold is not None else {}
    options = shard.options
    model: type[Output] | type[Scorecard] = Output if shard.role == "outputs" else Scorecard
    row: Any
    rows = read_rows(shard.path, model, problems, start=shard.start, stop=shard.stop, progress=progress)
    for line, uid, row in rows:
        gold = by_id.get(uid)
        if gold is None:
            gold = gold_rows(row)
        card: Scorecard = row if model is Scorecard else wrap(row, gold, options.stop_terms, options.allowlist)
        used = final_rows(card)
        where = {"file": str(shard.path), "line": line, "id": uid}
        check_tuples(gold, card.meta.input_text, problems, field="gold_tuples", **where)
        check_tuples(used.rows, None, problems, field="final_tuples", **where)
        yield make_sample(line, uid, card, gold, used, options)


def score(source: Source, options: CrOptions, problems: Problems, workers: Workers) -> pd.DataFrame:
    """The units frame of a run, in file order; the same for any workers.

    Reports broken lines, doubled ids (the first counts) and gold for unknown samples to `problems`.
    Raises InputError where no row can be used.
    """
    role = "scorecards" if "scorecards" in source.files else "outputs"
    path, gold = source.files[role], source.files.get("gold")
    known_gold = read_gold(gold, problems) if gold is not None else {}
    if "override_gate" in source.files:
        with suppress(InputError):  # the scores do not need it: under on_error="skip" it is left out
            read_override(source.files["override_gate"], problems)
    cuts = shards(path, -(-path.stat().st_size // SHARD_BYTES))
    done = workers.map(_score_shard, [_Shard(role, path, start, stop, gold, options) for start, stop in cuts])
    frames, offset = [], 0
    for frame, found, lines in done:
        problems.merge(found, offset)
        if frame is not None:
            frame["line"] += offset
            frames.append(frame)
        offset += lines
    problems.raise_if_failed()
    if not frames:
        raise problems.fatal("no-rows", "no line of the file can be used", file=str(path))
    units = _without_doubled(pd.concat(frames, ignore_index=True), path, problems)
    unknown_gold(problems, gold, known_gold, set(units["text_id"]) if known_gold else ())
    if not units["has_gold"].any():
        problems.warn("no-gold", "no sample has gold: every metric that needs it is not measured", file=str(path))
    units.attrs["rows"] = {role: offset, **({"gold": len(known_gold)} if gold is not None else {})}
    return units


def _without_doubled(units: pd.DataFrame, path: Path, problems: Problems) -> pd.DataFrame:
    """The first row of each text_id; the others are errors."""
    doubled = units["text_id"].duplicated()
    if not doubled.any():
        return units
    first = units[~doubled].set_index("text_id")["line"]
    for uid, line in zip(units.loc[doubled, "text_id"], units.loc[doubled, "line"]):
        duplicate_id(problems, first=int(first[uid]), file=str(path), line=int(line), id=uid)
    problems.raise_if_failed()
    return units[~doubled].reset_index(drop=True)
