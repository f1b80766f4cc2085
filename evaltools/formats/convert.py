"""`evaltools convert FORMAT FILE... -o FILE`: other tools' files as ours."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from ..core.errors import Problems, UsageError
from ..core.files import first_names, refuse_input, write_jsonl, write_text
from . import deepeval, inspect_logs, lines, lm_eval, promptfoo, ragas, semeval
from .source import Records, Source, where


@dataclass(frozen=True)
class Format:
    """`kind`: aspect-based sentiment (samples with tuples), or scores (one of a metric on a sample, a row).

    `read`: takes a `Source` and the options by name, and gives (place, row). `options`: what the format does not say.
    """

    kind: Literal["sentiment", "scores"]
    read: Callable[..., Records]
    options: tuple[str, ...] = ()


FORMATS = {
    "nikl": Format("sentiment", lines.nikl),
    "semeval14": Format("sentiment", semeval.read14, options=("level",)),
    "semeval15": Format("sentiment", semeval.read16),
    "semeval16": Format("sentiment", semeval.read16),
    "aste": Format("sentiment", lines.aste),
    "asqp": Format("sentiment", lines.asqp),
    "tasd": Format("sentiment", lines.tasd),
    "acos": Format("sentiment", lines.acos),
    "inspect": Format("scores", inspect_logs.read),
    "lm-eval": Format("scores", lm_eval.read),
    "promptfoo": Format("scores", promptfoo.read),
    "deepeval": Format("scores", deepeval.read),
    "ragas": Format("scores", ragas.read, options=("sep", "decimal")),
}

# options of scores that are given once for all files, or once for each
PER_FILE = ("condition", "seed")


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
    options that the format does not take, and for a target that is an input; InputError for gold without a single
    tuple.
    """
    form = FORMATS[name]
    settings = {key: value for key, value in options.items() if value not in (None, ())}
    _check_options(
        name,
        form,
        settings,
        len(files),
    )
    refuse_input(target, files)
    found = _rows(
        form,
        files,
        settings,
        problems,
    )
    if form.kind == "scores":
        if as_ == "predictions":
            raise UsageError(f"{name} holds scores: --as predictions is for aspect-based sentiment")
        rows = _score_rows(list(found), problems)
        if target.suffix.lower() == ".csv":
            frame = pd.DataFrame(list(rows), dtype=object)
            write_text(target, frame.to_csv(index=False, lineterminator="\n"))
            return len(frame)
    elif as_ == "predictions":
        rows = map(_prediction_row, found)
    else:
        rows = _gold_rows(found, files, problems)
    return write_jsonl(target, rows)


def _check_options(
    name: str,
    form: Format,
    settings: Mapping[str, Any],
    n_files: int,
) -> None:
    """UsageError for options that the format does not take, or given too often."""
    known = (*form.options, *(PER_FILE if form.kind == "scores" else ()))
    for option in settings:
        if option not in known:
            listed = ", ".join(f"--{name}" for name in known) or "-"
            raise UsageError(f"{name} takes no --{option}; its options: {listed}")
        if option in PER_FILE and len(settings[option]) not in (1, n_files):
            raise UsageError(f"give --{option} once, or once for each of the {n_files} files")


def _rows(
    form: Format,
    files: Sequence[Path],
    settings: Mapping[str, Any],
    problems: Problems,
) -> Iterator[dict[str, Any]]:
    """The rows of all files; a second one of a sample, or of a metric on a sample, is an error.

    InputError for a metric of several tasks: what they measure is not the same.
    """
    options = {key: value for key, value in settings.items() if key not in PER_FILE}
    seen: set[Any] = set()
    tasks: dict[str, str] = {}
    for number, path in enumerate(files):
        of_file = {}
        for option in settings.keys() & PER_FILE:
            of_file[option] = settings[option][min(number, len(settings[option]) - 1)]
        source = Source(path, problems)
        for place, row in form.read(source, **options):
            row |= of_file
            what = row.get("metric", "sample")
            other = tasks.setdefault(what, source.task)
            if other != source.task:
                message = f"{what} is of the task {source.task} here, and of the task {other}"
                raise source.fatal("several-tasks", f"{message}: convert one task at a time")
            key = (what, *map(row.get, ("condition", "seed", "trial", "id")))
            if key in seen:
                message = f"a second {what} of this id"
                source.error(
                    "duplicate-id",
                    message,
                    id=row["id"],
                    **where(place),
                )
            else:
                seen.add(key)
                yield row
    problems.raise_if_failed()
    if not seen:
        raise problems.fatal("no-rows", "nothing in it can be used", file=files[0])


def _gold_rows(
    samples: Iterable[dict[str, Any]],
    files: Sequence[Path],
    problems: Problems,
) -> Iterator[dict[str, Any]]:
    is_labelled = False
    for sample in samples:
        tuples = sample["tuples"]
        is_labelled = is_labelled or bool(tuples)
        yield {"uid": sample["id"], "input_text": sample["text"], "gold_tuples": tuples}
    if not is_labelled:
        text = "no sample has a tuple: this is no gold (predictions: --as predictions)"
        raise problems.fatal("no-gold", text, file=files[0])


def _prediction_row(sample: dict[str, Any]) -> dict[str, Any]:
    meta = {"text_id": sample["id"], "input_text": sample["text"], "protocol_mode": "predictions"}
    return {"meta": meta, "final_result": {"final_tuples": sample["tuples"]}}


def _score_rows(
    rows: list[dict[str, Any]],
    problems: Problems,
) -> Iterator[dict[str, Any]]:
    """The rows of a long table.

    Values that are no numbers are not measured, with a warning; a metric without any number is left out.
    A metric has the direction on which all who know it agree, else null: without the column, higher would be better.
    """
    known: defaultdict[str, set[bool | None]] = defaultdict(set)
    no_numbers: Counter[str] = Counter()
    for row in rows:
        if isinstance(row.get("value"), list | dict):
            row["value"] = None
            no_numbers[row["metric"]] += 1
        else:
            known[row["metric"]].add(row["higher_is_better"])
    for metric, n in no_numbers.items():
        problems.warn("no-number", f"{metric}: {n} values are no numbers: not measured")
    directions: dict[str, bool | None] = {}
    for metric, said in known.items():
        directions[metric] = True in said if len(said - {None}) == 1 else None
    unknown = [metric for metric, is_higher in directions.items() if is_higher is None]
    if unknown:
        message = (
            f"whether higher is better is not known of {first_names(unknown)}: described, never "
            "judged (--higher NAME and --lower NAME of the suite `table` say it)"
        )
        problems.warn("no-direction", message)
    for row in rows:
        if row["metric"] in directions:
            yield {**row, "higher_is_better": directions[row["metric"]]}
