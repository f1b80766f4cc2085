"""`evaltools convert FORMAT FILE... -o FILE`: other tools' files as ours."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..core.files import Fields, Names, ending, first_names, refuse_input, write_jsonl
from ..core.messages import Problems, UsageError
from ..core.tables import TABLES
from . import inspect_logs, lm_eval, ragas, sentences, test_runs
from .source import Reader, Rows, Source, where

# of aspect-based sentiment: samples with tuples
SENTIMENT: dict[str, Reader] = {
    "nikl": sentences.nikl,
    "semeval14": sentences.read14,
    "semeval15": sentences.read16,
    "semeval16": sentences.read16,
    "aste": sentences.aste,
    "asqp": sentences.asqp,
    "tasd": sentences.tasd,
    "acos": sentences.acos,
}

# of a metric on a sample, a row
SCORES: dict[str, Reader] = {
    "inspect": inspect_logs.read,
    "lm-eval": lm_eval.read,
    "promptfoo": test_runs.promptfoo,
    "deepeval": test_runs.deepeval,
    "ragas": ragas.read,
}

FORMATS = SENTIMENT | SCORES

# what a format does not say
OPTIONS = {"semeval14": ("level",), "ragas": ("sep", "decimal")}

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

    Sentiment: gold.jsonl or, with `as_` "predictions", outputs.jsonl of Conflict Review. Scores: long rows of the suite
    `table`. UsageError for options that the format does not take, and for a target that is an input or no JSON Lines;
    InputError for gold without a single tuple.
    """
    settings = {key: value for key, value in options.items() if value}
    if name in SCORES and as_ == "predictions":
        raise UsageError(f"{name} holds scores: --as predictions is for aspect-based sentiment")
    for option, value in settings.items():
        if option not in OPTIONS.get(name, ()) + PER_FILE * (name in SCORES):
            raise UsageError(f"{name} takes no --{option}")
        if option in PER_FILE and len(value) not in (1, len(files)):
            raise UsageError(f"give --{option} once, or once for each of the {len(files)} files")
    if ending(target) in TABLES:
        raise UsageError(f"{target}: the rows are written as JSON Lines; name a file *.jsonl")
    refuse_input(target, files)
    names = {option: settings.pop(option) for option in PER_FILE if option in settings}
    found = _rows(
        partial(FORMATS[name], **settings),
        files,
        names,
        problems,
    )
    if name in SCORES:
        return write_jsonl(target, _score_rows(list(found), files[0], problems))
    rows = []
    for sample in found:
        id_, text, tuples = sample["id"], sample["text"], sample["tuples"]
        row = {"uid": id_, "input_text": text, "gold_tuples": tuples}
        if as_ == "predictions":
            meta = {"text_id": id_, "input_text": text, "protocol_mode": "predictions"}
            row = {"meta": meta, "final_result": {"final_tuples": tuples}}
        rows.append(row)
    if as_ == "gold" and not any(row["gold_tuples"] for row in rows):
        raise problems.fatal(
            "no-gold",
            "no sample has a tuple: this is no gold (predictions: --as predictions)",
            file=files[0],
        )
    return write_jsonl(target, rows)


def _rows(
    read: Reader,
    files: Sequence[Path],
    names: Mapping[str, Names],
    problems: Problems,
) -> Rows:
    """The rows of all files; a second one of a sample, or of a metric on a sample, is an error.

    `names`: by their option, one for all files or one for each. InputError for a metric of several tasks: what they
    measure is not the same.
    """
    seen = set[Any]()
    tasks: dict[str, str] = {}
    for number, path in enumerate(files):
        of_file = {option: values[number % len(values)] for option, values in names.items()}
        source = Source(path, problems)
        for place, row in source.rows(read(source)):
            row |= of_file
            what = row.get("metric", "sample")
            other = tasks.setdefault(what, source.task)
            if other != source.task:
                raise source.fatal(
                    "several-tasks",
                    f"{what} is of the task {source.task} here, and of the task {other}: "
                    "convert one task at a time",
                )
            key = (what, *map(row.get, ("condition", "seed", "trial", "id")))
            if key in seen:
                source.error(
                    "duplicate-id", f"a second {what} of this id", id=row["id"], **where(place)
                )
            else:
                seen.add(key)
                yield row
    problems.raise_if_failed()
    if not seen:
        raise problems.fatal(
            "no-rows",
            "nothing in it can be used",
            file=files[0],
        )


def _score_rows(
    rows: list[Fields],
    file: Path,
    problems: Problems,
) -> Rows:
    """The rows of a long table.

    Values that are no numbers are not measured, with a warning; a metric without any number is left out.
    A metric has the direction on which all who know it agree, else null: without the column, higher would be better.
    """
    known = defaultdict(set)
    no_numbers = Counter[str]()
    for row in rows:
        if isinstance(row.get("value"), list | dict):
            row["value"] = None
            no_numbers[row["metric"]] += 1
        else:
            known[row["metric"]].add(row["higher_is_better"])
    for metric, n in no_numbers.items():
        problems.warn("no-number", f"{metric}: {n} values are no numbers: not measured")
    if not known:
        raise problems.fatal(
            "no-rows",
            "no metric holds a number",
            file=file,
        )
    directions = {
        metric: True in said if len(said - {None}) == 1 else None for metric, said in known.items()
    }
    if unknown := [metric for metric, is_higher in directions.items() if is_higher is None]:
        problems.warn(
            "no-direction",
            f"whether higher is better is not known of {first_names(unknown)}: described, never "
            "judged (--higher NAME and --lower NAME of the suite `table` say it)",
        )
    for row in rows:
        if row["metric"] in directions:
            yield {**row, "higher_is_better": directions[row["metric"]]}
