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
from .rows import Sample, Score
from .source import Place, Source, where

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
    """Write what the files of a format hold as rows of ours; returns how many.

    Nothing is written where one fails.

    Sentiment: gold.jsonl or, with `as_` "predictions", outputs.jsonl of Conflict Review. Scores:
    long rows of the suite `table`, as CSV where the target is named so, else JSONL. UsageError for
    options that the format does not take or lacks, and for a target that is an input.
    """
    if name not in FORMATS:
        raise UsageError(f"no format {name!r}; {nearest(name, list(FORMATS))}")
    form = FORMATS[name]
    settings = {key: value for key, value in options.items() if value not in (None, ())}
    _check_options(name, form, settings, len(files))
    if as_ == "predictions" and form.kind != "sentiment":
        raise UsageError(f"{name} holds scores: --as predictions is for aspect-based sentiment")
    refuse_input(target, files)
    rows = _rows(form, files, settings, problems)
    if form.kind == "sentiment":
        if as_ == "gold":
            return write_jsonl(target, map(_gold_row, rows))
        return write_jsonl(target, map(_prediction_row, rows))
    scores = map(_score_row, rows)
    if target.suffix.lower() == ".csv":
        return _write_csv(target, scores)
    return write_jsonl(target, scores)


def _check_options(
    name: str,
    form: Format,
    settings: Mapping[str, Any],
    n_files: int,
) -> None:
    """UsageError for options that the format does not take or lacks, or given too often."""
    for option in sorted(settings):
        if option not in form.options:
            message = f"{name} takes no --{option}"
            if form.options:
                message += f"; it takes --{', --'.join(form.options)}"
            raise UsageError(message)
    for option in form.needs:
        if option not in settings:
            raise UsageError(f"{name} needs --{option}")
    for option in PER_FILE:
        if len(settings.get(option, ())) not in (0, 1, n_files):
            raise UsageError(f"give --{option} once, or once for each of the {n_files} files")


def _rows(
    form: Format,
    files: Sequence[Path],
    settings: Mapping[str, Any],
    problems: Problems,
) -> Iterator[Any]:
    """The rows of all files; a second one of a sample is an error."""
    options = {key: value for key, value in settings.items() if key not in PER_FILE}
    first: dict[Any, tuple[Path, Place]] = {}
    for number, path in enumerate(files):
        of_file = {}
        for option in PER_FILE:
            if option in settings:
                values = settings[option]
                of_file[option] = values[min(number, len(values) - 1)]
        source = Source(path, problems)
        for place, row in form.read(source, **options):
            if of_file:
                row = replace(row, **of_file)
            key = _key(row)
            if key in first:
                kind = "sample" if isinstance(row, Sample) else row.metric
                file, line = first[key]
                message = f"a second {kind} of this id; the first is {file}:{line}"
                source.error("duplicate-id", message, id=row.id, **where(place))
                continue
            first[key] = (path, place)
            yield row
    problems.raise_if_failed()
    if not first:
        raise problems.fatal("no-rows", "nothing in it can be used", file=str(files[0]))


def _key(row: Sample | Score) -> Any:
    """What no two rows may have in common."""
    if isinstance(row, Sample):
        return row.id
    return row.condition, row.seed, row.metric, row.id


def _gold_row(sample: Sample) -> dict[str, Any]:
    return {
        "uid": sample.id,
        "input_text": sample.text,
        "gold_tuples": _tuples(sample),
    }


def _prediction_row(sample: Sample) -> dict[str, Any]:
    meta = {
        "text_id": sample.id,
        "input_text": sample.text,
        "protocol_mode": "predictions",
    }
    return {"meta": meta, "final_result": {"final_tuples": _tuples(sample)}}


def _tuples(sample: Sample) -> list[dict[str, Any]]:
    tuples = []
    for opinion in sample.opinions:
        row: dict[str, Any] = {
            "aspect_ref": opinion.ref,
            "aspect_term": opinion.term,
            "polarity": opinion.polarity,
        }
        if opinion.span is not None:
            row["span"] = {"start": opinion.span[0], "end": opinion.span[1]}
        tuples.append(row)
    return tuples


def _score_row(score: Score) -> dict[str, Any]:
    """The fields that say something; a value that was not measured is null."""
    row = {name: value for name, value in asdict(score).items() if value is not None}
    if "den" not in row:
        row["value"] = score.value
    return row


def _write_csv(target: Path, rows: Iterable[dict[str, Any]]) -> int:
    columns = [field.name for field in fields(Score)]
    n = 0
    with atomic(target) as file:
        table = csv.DictWriter(file, columns, lineterminator="\n")
        table.writeheader()
        for row in rows:
            table.writerow(row)
            n += 1
    return n
