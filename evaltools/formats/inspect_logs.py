"""Logs of Inspect: .eval (a zip of a header and samples) and .json."""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import comb
from statistics import fmean, median, mode
from typing import Any

from pydantic import Field
from pydantic_core import from_json

from ..core import text_files
from ..core.records import fitted, short
from .directions import higher_is_better
from .rows import Row, Score, Scored, Unfit, mapping, number
from .source import Records, Source

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile  # that of Python 3.14, which reads zstandard

VERSIONS = (1, 2, 3)

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

    @property
    def asked(self) -> str:
        """The task with its arguments and the name of its data set."""
        # a task of a package is logged as package/task
        name = self.task.rpartition("/")[2]
        dataset = self.dataset.get("name")
        arguments = self.task_args | ({"dataset": dataset} if dataset else {})
        listed = ", ".join(f"{key}={value}" for key, value in arguments.items())
        return f"{name}({listed})" if arguments else name


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

    version: int
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
    if source.path.suffix.lower() != ".eval" and not zipfile.is_zipfile(source.path):
        header = _header({name: source.value(name) for name in Header.model_fields}, source)
        yield from _reduced(header, source.records(LogSample, "samples"), source)
        return
    try:
        with zipfile.ZipFile(source.path) as log:
            members = {member.filename: member.file_size for member in log.infolist()}
            if max(members.values(), default=0) > text_files.FILE_BYTES:
                message = f"unpacks to more than {text_files.FILE_BYTES >> 20} MB: it is not read"
                raise source.fatal("file-too-large", message)
            header_name, *_ = [name for name in HEADERS if name in members] or HEADERS
            header = _header(_member(log, header_name), source)
            samples = source.fitting(_samples(log, source), LogSample, "samples")
            yield from _reduced(header, samples, source)
    except (zipfile.BadZipFile, Unfit) as error:
        reason = error.message if isinstance(error, Unfit) else str(error)
        message = f"expected a log of Inspect (is it whole?): {reason}"
        raise source.fatal("bad-zip", message) from None


def _samples(log: zipfile.ZipFile, source: Source) -> Iterator[Any]:
    for name in log.namelist():
        if name.startswith("samples/") and name.endswith(".json"):
            try:
                yield _member(log, name)
            except Unfit as unfit:
                source.error("bad-member", unfit.message, field=name)


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
    if header.version not in VERSIONS:
        message = f"version {header.version} is none of {', '.join(map(str, VERSIONS))}"
        raise source.fatal("wrong-version", message, field="version")
    source.task = header.eval.asked
    if header.status != "success":
        source.warn("not-finished", f"the status of the log is {short(header.status)}")
    return header


def _reduced(header: Header, samples: Records, source: Source) -> Records:
    """The rows of a log, epochs reduced as it says: by their mean they stay trials."""
    rows = _scores(header, samples, source)
    reducers = header.eval.config.epochs_reducer or ["mean"]
    if reducers == ["mean"]:
        yield from rows
        return
    epochs: dict[str, list[Scored]] = defaultdict(list)
    for _, row in rows:
        epochs[row.id].append(row)
    for trials in epochs.values():
        by_metric: dict[str, list[Score]] = defaultdict(list)
        for trial in trials:
            for score in trial.scores:
                by_metric[score.metric].append(score)
        scores = []
        for index, reducer in enumerate(reducers):
            for metric, of_trials in by_metric.items():
                values = [score.value for score in of_trials if score.value is not None]
                reduced = _reduce(reducer, values, source) if values else None
                name = metric if index == 0 else f"{metric} ({reducer})"
                scores.append(of_trials[0]._replace(metric=name, value=reduced))
        yield "samples", replace(trials[0], trial=None, scores=scores)


def _reduce(reducer: str, values: Sequence[float], source: Source) -> float:
    """The value of a sample from those of its epochs, as Inspect's reducer gives it.

    pass_at_k is the chance that one of k of its epochs, drawn without order, is right.
    """
    simple: dict[str, Callable[[Sequence[float]], float]]
    simple = {"mean": fmean, "max": max, "median": median, "mode": mode}
    if reducer in simple:
        return float(simple[reducer](values))
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


def _scores(header: Header, samples: Records, source: Source) -> Records:
    directions: dict[str, bool | None] = {}
    unscored: list[Scored] = []
    not_numbers: list[tuple[str, Scored]] = []
    scored_errors: list[str] = []
    reported = header.results.scores if header.results else []
    accuracies = {score.name for score in reported if "accuracy" in score.metrics}

    def scored(_: int, sample: LogSample) -> Scored | None:
        scores: list[Score] = []
        row = _row(header, sample, scores)
        error = _error_of(sample)
        if not sample.scores:
            scores.append(Score("", None, error=error))
            unscored.append(row)
            return None
        if error and header.eval.config.score_on_error:
            scored_errors.append(row.id)
            error = None
        for scorer, key, value in _values(sample, header):
            metric = f"{scorer}/{key}" if key else scorer
            if isinstance(value, list | dict):
                not_numbers.append((metric, row))
                continue
            if directions.get(metric) is None:
                is_judgement = isinstance(value, bool) or _word(value) is not None
                is_higher = (key or scorer) in accuracies or is_judgement
                directions[metric] = is_higher or higher_is_better("inspect", scorer)
            measured = None if error else _value(value, f"scores.{metric}.value")
            scores.append(Score(metric, measured, directions[metric], error=error))
        return row

    yield from source.rows(samples, scored)
    if scored_errors:
        message = (
            f"{len(scored_errors)} samples have an error and were scored all the same "
            "(score_on_error): their scores count, as in Inspect"
        )
        source.warn("errors-scored", message, field="samples")
    # not measured, rather than left out of every mean
    if unscored:
        message = f"{len(unscored)} samples have no score: not measured"
        source.warn("no-score", message, field="samples")
    for row in unscored:
        error = row.scores[0].error
        scores = [Score(metric, None, up, error=error) for metric, up in directions.items()]
        yield "samples", replace(row, scores=scores)
    source.warn_of_no_numbers(Counter(metric for metric, _ in not_numbers), directions)
    for metric, row in not_numbers:
        if metric in directions:
            yield "samples", replace(row, scores=[Score(metric, None, directions[metric])])


def _row(header: Header, sample: LogSample, scores: list[Score]) -> Scored:
    output = mapping(sample.output).get("completion")
    return Scored(
        id=str(sample.id),
        scores=scores,
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
    headline = mapping(header.results and header.results.headline)
    results = sample.scores or {}
    for scorer in sorted(results, key=lambda name: name != headline.get("scorer")):
        value = results[scorer].value
        parts = value if isinstance(value, dict) else {"": value}
        for key, part in parts.items():
            yield scorer, key, part


def _word(value: Any) -> float | None:
    """What Inspect counts a word as; None for what is none of them."""
    if not isinstance(value, str):
        return None
    return WORDS.get(value, WORDS.get(value.lower()))


def _value(value: Any, field: str) -> float | None:
    word = _word(value)
    if word is not None:
        return word
    if not isinstance(value, str):
        return number(value, field)
    try:
        return number(float(value), field)
    except ValueError:
        raise Unfit(field, f"expected a number or one of {', '.join(WORDS)}", got=value) from None


def _text(content: Any) -> str | None:
    """The input: a text, or what the user says in a list of messages."""
    if isinstance(content, str):
        return content or None
    messages = map(mapping, content if isinstance(content, list) else [])
    texts = [message.get("content") for message in messages if message.get("role") == "user"]
    return "\n".join(text for text in texts if isinstance(text, str)) or None
