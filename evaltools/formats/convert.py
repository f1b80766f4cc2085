"""`evaltools convert FORMAT FILE... -o FILE`: other tools' files as ours."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from ..core.errors import Problems, UsageError
from ..core.files import atomic, refuse_input, write_jsonl
from ..core.names import nearest
from .formats import FORMATS, Format
from .rows import Place, Sample, Score, at

PER_FILE = ("condition", "seed")
"""Options that are given once for all files, or once for each."""


def convert(
    name: str,
    files: Sequence[Path],
    target: Path,
    problems: Problems,
    *,
    as_: str = "gold",
    **options: Any,
) -> int:
    """Write what the files of a format hold as rows of ours; returns how many. Nothing is written where one fails.

    Sentiment: gold.jsonl or, with `as_` "predictions", outputs.jsonl of Conflict Review. Scores: long rows of the
    suite `table`, as CSV where the target is named so, else JSONL. UsageError for options that the format does not
    take or lacks, and for a target that is an input.
    """
    if name not in FORMATS:
        raise UsageError(f"no format {name!r}; {nearest(name, list(FORMATS))}")
    form = FORMATS[name]
    given = {k: v for k, v in options.items() if v not in (None, ())}
    if wrong := sorted(set(given) - set(form.options)):
        raise UsageError(
            f"{name} takes no --{wrong[0]}"
            + (f"; it takes --{', --'.join(form.options)}" * bool(form.options))
        )
    if lacking := [k for k in form.needs if k not in given]:
        raise UsageError(f"{name} needs --{lacking[0]}")
    if as_ == "predictions" and form.kind != "sentiment":
        raise UsageError(f"{name} holds scores: --as predictions is for aspect-based sentiment")
    for option in PER_FILE:
        if len(given.get(option, ())) not in (0, 1, len(files)):
            raise UsageError(f"give --{option} once, or once for each of the {len(files)} files")
    refuse_input(target, files)
    rows = _rows(form, files, given, problems)
    if form.kind == "sentiment":
        return write_jsonl(target, map(_gold if as_ == "gold" else _prediction, rows))
    scores = map(_plain, rows)
    return (
        _write_csv(target, scores)
        if target.suffix.lower() == ".csv"
        else write_jsonl(target, scores)
    )


def _rows(
    form: Format, files: Sequence[Path], given: Mapping[str, Any], problems: Problems
) -> Iterator[Any]:
    """The rows of all files; a second one of a sample is an error."""
    seen: dict[Any, tuple[Path, Place]] = {}
    for number, path in enumerate(files):
        of_file = {k: given[k][min(number, len(given[k]) - 1)] for k in PER_FILE if k in given}
        for place, row in form.read(
            path, problems, **{k: v for k, v in given.items() if k not in PER_FILE}
        ):
            row = replace(row, **of_file) if of_file else row
            key = (
                row.id if isinstance(row, Sample) else (row.condition, row.seed, row.metric, row.id)
            )
            if key in seen:
                first = "; the first is {}:{}".format(*seen[key])
                message = f"a second {'sample' if isinstance(row, Sample) else row.metric} of this id{first}"
                problems.error("duplicate-id", message, file=str(path), id=row.id, **at(place))
                continue
            seen[key] = (path, place)
            yield row
    problems.raise_if_failed()
    if not seen:
        raise problems.fatal("no-rows", "nothing in it can be used", file=str(files[0]))


def _gold(sample: Sample) -> dict[str, Any]:
    return {"uid": sample.id, "input_text": sample.text, "gold_tuples": _tuples(sample)}


def _prediction(sample: Sample) -> dict[str, Any]:
    meta = {"text_id": sample.id, "input_text": sample.text, "protocol_mode": "predictions"}
    return {"meta": meta, "final_result": {"final_tuples": _tuples(sample)}}


def _tuples(sample: Sample) -> list[dict[str, Any]]:
    found = []
    for one in sample.opinions:
        row: dict[str, Any] = {
            "aspect_ref": one.ref,
            "aspect_term": one.term,
            "polarity": one.polarity,
        }
        span = {"span": {"start": one.span[0], "end": one.span[1]}} if one.span else {}
        found.append({**row, **span})
    return found


def _plain(score: Score) -> dict[str, Any]:
    """The fields that say something; a value that was not measured is said."""
    given = {k: v for k, v in asdict(score).items() if v is not None}
    return given if "den" in given else {**given, "value": score.value}


def _write_csv(target: Path, rows: Iterable[dict[str, Any]]) -> int:
    with atomic(target) as f:
        table = csv.DictWriter(f, [field.name for field in fields(Score)], lineterminator="\n")
        table.writeheader()
        return sum(1 for _ in map(table.writerow, rows))
