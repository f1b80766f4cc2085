"""Logs of Inspect: .eval (a zip of a header and samples) and .json."""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import comb
from statistics import fmean, median, mode
from typing import Any, Literal

from pydantic import Field
from pydantic_core import from_json

from ..core import records
from ..core.records import fitted, short
from .source import Records, Row, Score, Scored, Source, Unfit, higher_is_better, mapping, number

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile  # that of Python 3.14, which reads zstandard

# of a log that is finished, of one that is not
HEADERS = ("header.json", "_journal/start.json")

# what Inspect counts its words for a score as
WORDS = {
    "C": 1.0,
    "P": 0.5,
    "I": 0.0,
    "N": 0.0,
    "yes": 1.0,
    "true": 1.0,
    "no": 0.0,
    "false": 0.0,
}

REDUCERS: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": fmean,
    "max": max,
    "median": median,
    "mode": mode,
}

# reducers of Inspect's epochs that take a number: at_least_2, pass_at_2
COUNTING = re.compile(r"(at_least|pass_at)_([1-9]\d{0,5})")


class Config(Row):
    """How the log was made: how epochs are reduced, and whether samples that failed are scored."""

    epochs_reducer: list[str] | None = None
    score_on_error: bool | None = None


class Spec(Row):
    """What was evaluated."""

    model: str
    task: str = ""
    task_args: dict[str, Any] = Field(default_factory=dict)
    dataset: dict[str, Any] = Field(default_factory=dict)
    config: Config = Field(default_factory=Config)


class ReportedScore(Row):
    """A score in the results of the log: its metrics by their names."""

    name: str = ""
    metrics: dict[str, Any] = Field(default_factory=dict)


class LogResults(Row):
    """The numbers of the log, and the scorer that it leads with."""

    scores: list[ReportedScore] = Field(default_factory=list)
    headline: dict[str, Any] | None = None


class Header(Row):
    """The log without its samples."""

    version: Literal[1, 2, 3]
    status: str = "started"
    eval: Spec
    results: LogResults | None = None


class ScorerResult(Row):
    """What a scorer gave: one value, or one for each of its keys."""

    value: Any = None


class LogSample(Row):
    """A sample in an epoch."""

    id: int | str
    epoch: int = 1
    input: Any = None
    target: Any = None
    output: Any = None
    metadata: Any = None
    error: Any = None
    scores: dict[str, ScorerResult] | None = None


def read(source: Source) -> Records:
    """A metric for every scorer, or for every key of its value; that of the log's headline first.

    The epoch is the trial of a sample, the model the condition; where the log reduces epochs by
    another reducer than the mean a sample has one value, the reduced one. More is better of words
    (C, yes), truth values, scores with an accuracy, and Inspect's own scorers; of other numbers the
    log does not say it. A sample with an error is not measured, unless the log scores errors.
    """
    if source.path.suffix.lower() == ".eval" or zipfile.is_zipfile(source.path):
        contents = _unzipped(source)
        header = _header(next(contents), source)
        samples = source.fitting(contents, LogSample, "samples")
    else:
        header = _header(source.document, source)
        samples = source.records(LogSample, "samples")
    rows = _scored(header, samples, source)
    reducers = header.eval.config.epochs_reducer or ["mean"]
    return rows if reducers == ["mean"] else _reduced(rows, reducers, source)


def _unzipped(source: Source) -> Iterator[Any]:
    """The header, then the samples one by one. InputError for a zip that is damaged, or holds too much."""
    most = records.FILE_BYTES
    try:
        with zipfile.ZipFile(source.path) as log:
            names = log.namelist()
            if max((member.file_size for member in log.infolist()), default=0) > most:
                message = f"unpacks to more than {most >> 20} MB: it is not read"
                raise source.fatal("file-too-large", message)
            yield _member(log, next((name for name in HEADERS if name in names), HEADERS[0]))
            for name in names:
                if name.startswith("samples/") and name.endswith(".json"):
                    try:
                        yield _member(log, name)
                    except Unfit as unfit:
                        source.error("bad-member", unfit.message, field=name)
    except (zipfile.BadZipFile, Unfit) as error:
        message = f"expected a log of Inspect (is it whole?): {error}"
        raise source.fatal("bad-zip", message) from None


def _member(log: zipfile.ZipFile, name: str) -> Any:
    """The JSON value of a member of the zip."""
    try:
        return from_json(log.read(name))
    except Exception as error:  # noqa: BLE001 - every kind of compression has errors of its own
        raise Unfit(name, f"cannot be read: {error}") from None


def _header(content: Any, source: Source) -> Header:
    header = fitted(Header, content, source.problems, file=source.path)
    if header is None:
        message = "expected a log of Inspect: version, status, eval.model"
        raise source.fatal("wrong-format", message)
    if header.status != "success":
        source.warn("not-finished", f"the status of the log is {short(header.status)}")
    # the task with its arguments and the name of its data set; one of a package is logged as package/task
    spec = header.eval
    dataset = spec.dataset.get("name")
    arguments = spec.task_args | ({"dataset": dataset} if dataset else {})
    listed = ", ".join(f"{key}={value}" for key, value in arguments.items())
    source.task = spec.task.rpartition("/")[2] + (f"({listed})" if arguments else "")
    return header


def _scored(
    header: Header,
    samples: Records,
    source: Source,
) -> Records:
    """The samples with a score for each metric that they have; one without any has all of the log, not measured."""
    # metric -> whether more is better
    directions: dict[str, bool | None] = {}
    no_numbers: Counter[str] = Counter()
    reported = header.results.scores if header.results else []
    accuracies = {score.name for score in reported if "accuracy" in score.metrics}
    records: list[tuple[Any, tuple[Scored, str | None, dict[str, Any]]]] = []
    for place, sample in samples:
        values = {}
        for scorer, key, value in _values(sample, header):
            metric = f"{scorer}/{key}" if key else scorer
            values[metric] = value
            if isinstance(value, list | dict):
                no_numbers[metric] += 1
            elif directions.get(metric) is None:
                is_judgement = isinstance(value, bool) or _word(value) is not None
                is_higher = is_judgement or (key or scorer) in accuracies
                directions[metric] = is_higher or higher_is_better("inspect", scorer)
        records.append((place, (_row(header, sample), _error_of(sample), values)))
    _warn(header, [record for _, record in records], source)
    source.warn_of_no_numbers(no_numbers, directions)

    def scored(_: int, record: tuple[Scored, str | None, dict[str, Any]]) -> Scored:
        row, error, values = record
        if values and header.eval.config.score_on_error:
            error = None
        scores = []
        for metric in values or directions:
            value = values.get(metric)
            is_measured = not error and not isinstance(value, list | dict)
            measured = _value(value, f"scores.{metric}.value") if is_measured else None
            if metric in directions:
                scores.append(Score(metric, measured, directions[metric], error=error))
        return replace(row, scores=scores)

    return source.rows(records, scored)


def _warn(
    header: Header,
    records: Sequence[tuple[Any, str | None, Any]],
    source: Source,
) -> None:
    """Say how many samples failed and were scored, and how many have no score."""
    n_errors = sum(bool(error and values) for _, error, values in records)
    if n_errors and header.eval.config.score_on_error:
        message = (
            f"{n_errors} samples have an error and were scored all the same "
            "(score_on_error): their scores count, as in Inspect"
        )
        source.warn("errors-scored", message, field="samples")
    n_unscored = sum(not values for _, _, values in records)
    if n_unscored:
        message = f"{n_unscored} samples have no score: not measured"
        source.warn("no-score", message, field="samples")


def _reduced(
    rows: Records,
    reducers: Sequence[str],
    source: Source,
) -> Records:
    """One row a sample, its epochs reduced to one value a metric and reducer."""
    # sample -> metric -> its scores in all epochs
    epochs: dict[str, dict[str, list[Score]]] = defaultdict(lambda: defaultdict(list))
    first: dict[str, Scored] = {}
    for _, row in rows:
        first.setdefault(row.id, row)
        for score in row.scores:
            epochs[row.id][score.metric].append(score)
    for id_, row in first.items():
        scores = []
        for index, reducer in enumerate(reducers):
            for metric, of_epochs in epochs[id_].items():
                values = [score.value for score in of_epochs if score.value is not None]
                reduced = _reduce(reducer, values, source) if values else None
                name = metric if index == 0 else f"{metric} ({reducer})"
                scores.append(of_epochs[0]._replace(metric=name, value=reduced))
        yield "samples", replace(row, trial=None, scores=scores)


def _reduce(
    reducer: str,
    values: Sequence[float],
    source: Source,
) -> float:
    """The value of a sample from those of its epochs, as Inspect's reducer gives it.

    pass_at_k is the chance that one of k of its epochs, drawn without order, is right.
    """
    if reducer in REDUCERS:
        return float(REDUCERS[reducer](values))
    counting = COUNTING.fullmatch(reducer)
    if counting is None:
        message = f"epochs are reduced by {short(reducer)}, which is not known here"
        raise source.fatal("unknown-reducer", message, field="eval.config.epochs_reducer")
    n_right = sum(value >= 1 for value in values)
    k = int(counting[2])
    if counting[1] == "at_least":
        return float(n_right >= k)
    n_wrong = len(values) - n_right
    return 1.0 if n_wrong < k else 1 - comb(n_wrong, k) / comb(len(values), k)


def _row(header: Header, sample: LogSample) -> Scored:
    output = mapping(sample.output).get("completion")
    return Scored(
        id=str(sample.id),
        scores=(),
        condition=header.eval.model,
        trial=str(sample.epoch),
        text=_text(sample.input),
        further={"output": output, "target": sample.target, **mapping(sample.metadata)},
    )


def _error_of(sample: LogSample) -> str | None:
    """What the sample failed with, its first line; None where it did not."""
    if not sample.error:
        return None
    message = mapping(sample.error).get("message") or sample.error
    return (str(message).splitlines() or ["error"])[0]


def _values(sample: LogSample, header: Header) -> Iterator[tuple[str, str, Any]]:
    """(scorer, key, value) of every scorer, that of the headline first; a single value has the key ""."""
    lead = mapping(header.results and header.results.headline).get("scorer")
    results = sample.scores or {}
    for scorer in sorted(results, key=lambda name: name != lead):
        value = results[scorer].value
        parts = value if isinstance(value, dict) else {"": value}
        for key, part in parts.items():
            yield scorer, key, part


def _word(value: Any) -> float | None:
    """What Inspect counts a word as; None for what is none of them."""
    return WORDS.get(value, WORDS.get(value.lower())) if isinstance(value, str) else None


def _value(value: Any, field: str) -> float | None:
    if not isinstance(value, str):
        return number(value, field)
    word = _word(value)
    try:
        return number(float(value) if word is None else word, field)
    except ValueError:
        raise Unfit(field, f"expected a number or one of {', '.join(WORDS)}", got=value) from None


def _text(content: Any) -> str | None:
    """The input: a text, or what the user says in a list of messages."""
    if isinstance(content, str):
        return content or None
    messages = map(mapping, content if isinstance(content, list) else [])
    texts = [message.get("content") for message in messages if message.get("role") == "user"]
    return "\n".join(text for text in texts if isinstance(text, str)) or None
