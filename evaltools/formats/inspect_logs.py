"""Logs of Inspect: .eval (a zip of a header and samples) and .json."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pydantic import Field
from pydantic_core import from_json

from ..core.records import fitted, short
from .directions import higher_is_better
from .rows import Row, Score, Scored, Unfit, called, mapping, number
from .source import Records, Source

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile  # that of Python 3.14, which reads zstandard

VERSIONS = (1, 2, 3)

HEADERS = ("header.json", "_journal/start.json")
"""Of a log that is finished, of one that is not."""

MEMBER_BYTES = 256 << 20
"""A member of the zip that unpacks to more is refused."""

STEP_BYTES = 1 << 12
"""So much of a compressed member is unpacked at a time, whatever it grows to."""

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
"""What Inspect counts its words for a score as."""


class Spec(Row):
    """What was evaluated."""

    model: str
    task: str = ""
    task_args: dict[str, Any] = Field(default_factory=dict)
    dataset: dict[str, Any] = Field(default_factory=dict)

    @property
    def asked(self) -> str:
        """The task with its arguments and the name of its data set."""
        # a task of a package is logged as package/task
        name = self.task.rpartition("/")[2]
        dataset = self.dataset.get("name")
        return called(name, self.task_args | ({"dataset": dataset} if dataset else {}))


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

    @property
    def accuracies(self) -> set[str]:
        """The scores of which the log reports an accuracy: more is better."""
        reported = self.results.scores if self.results else []
        return {score.name for score in reported if "accuracy" in score.metrics}


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

    @property
    def further(self) -> dict[str, Any]:
        """Output, target, and the metadata of the sample."""
        return {
            "output": mapping(self.output).get("completion"),
            "target": self.target,
            "error": mapping(self.error).get("message"),
            **mapping(self.metadata),
        }


def read(source: Source) -> Records:
    """A metric for every scorer, or for every key of its value; that of the log's headline first.

    The epoch is the trial of a sample, the model the condition. More is better of words (C, yes),
    truth values, scores with an accuracy, and Inspect's own scorers; of other numbers the log does
    not say it.
    """
    is_log = source.path.suffix.lower() == ".eval"
    if not is_log and not zipfile.is_zipfile(source.path):
        content = {name: source.value(name) for name in Header.model_fields}
        header = _header(content, source)
        yield from _scores(header, source.records(LogSample, "samples"), source)
        return
    try:
        with zipfile.ZipFile(source.path) as log:
            names = log.namelist()
            header_name, *_ = [name for name in HEADERS if name in names] or HEADERS
            header = _header(_member(log, header_name), source)
            samples = source.fitting(_samples(log, source), LogSample, "samples")
            yield from _scores(header, samples, source)
    except (zipfile.BadZipFile, Unfit) as error:
        reason = error.message if isinstance(error, Unfit) else str(error)
        text = "expected a log of Inspect (is it whole?): {reason}"
        raise source.fatal("bad-zip", text, reason=reason) from None


def _samples(
    log: zipfile.ZipFile,
    source: Source,
) -> Iterator[Any]:
    for name in log.namelist():
        if not name.startswith("samples/") or not name.endswith(".json"):
            continue
        try:
            yield _member(log, name)
        except Unfit as unfit:
            source.error("bad-member", unfit.message, field=name)


def _member(
    log: zipfile.ZipFile,
    name: str,
) -> Any:
    """The JSON value of a member of the zip, which is unpacked in small steps and never beyond MEMBER_BYTES."""
    data = bytearray()
    try:
        with log.open(name) as file:
            while (step := file.read(STEP_BYTES)) and len(data) <= MEMBER_BYTES:
                data += step
        if len(data) <= MEMBER_BYTES:
            return from_json(bytes(data))
    except Exception as error:  # noqa: BLE001 - every kind of compression has errors of its own
        raise Unfit(name, "cannot be read: {reason}", reason=str(error)) from None
    text = "unpacks to more than {size} MB: it is not read"
    raise Unfit(name, text, size=MEMBER_BYTES >> 20)


def _header(
    content: Any,
    source: Source,
) -> Header:
    header = fitted(Header, content, source.problems, file=source.path)
    if header is None:
        text = "expected a log of Inspect: version, status, eval.model"
        raise source.fatal("wrong-format", text)
    source.require_version(header.version, VERSIONS, "version")
    source.task = header.eval.asked
    if header.status != "success":
        text = "the status of the log is {status}"
        source.warn("not-finished", text, status=short(header.status))
    return header


def _scores(
    header: Header,
    samples: Records,
    source: Source,
) -> Records:
    directions: dict[str, bool | None] = {}
    unscored: list[Scored] = []
    not_numbers: list[tuple[str, Scored]] = []

    def scored(
        _: int,
        sample: LogSample,
    ) -> Scored | None:
        scores: list[Score] = []
        row = Scored(
            id=str(sample.id),
            scores=scores,
            condition=header.eval.model,
            trial=str(sample.epoch),
            text=_text(sample.input),
            further=sample.further,
        )
        if not sample.scores:
            unscored.append(row)
            return None
        for scorer, key, value in _values(sample, header):
            metric = f"{scorer}/{key}" if key else scorer
            field = f"scores.{metric}.value"
            if isinstance(value, list | dict):
                not_numbers.append((metric, row))
                continue
            if directions.get(metric) is None:
                is_judgement = isinstance(value, bool) or _word(value) is not None
                is_higher = (key or scorer) in header.accuracies or is_judgement
                directions[metric] = is_higher or higher_is_better("inspect", scorer)
            measured = None if sample.error else _value(value, field)
            scores.append(Score(metric, measured, directions[metric]))
        return row

    yield from source.rows(samples, scored)
    # not measured, rather than left out of every mean
    unmeasured = {
        metric: Score(metric, None, is_higher) for metric, is_higher in directions.items()
    }
    if unscored:
        text = "{n} samples have no score: not measured"
        source.warn("no-score", text, n=len(unscored), field="samples")
    for row in unscored:
        yield "samples", replace(row, scores=list(unmeasured.values()))
    source.warn_of_no_numbers(Counter(metric for metric, _ in not_numbers), directions)
    for metric, row in not_numbers:
        if metric in unmeasured:
            yield "samples", replace(row, scores=[unmeasured[metric]])


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


def _value(
    value: Any,
    field: str,
) -> float | None:
    word = _word(value)
    if word is not None:
        return word
    if not isinstance(value, str):
        return number(value, field)
    try:
        return number(float(value), field)
    except ValueError:
        expected = "expected a number or one of {words}"
        raise Unfit(field, expected, got=value, words=tuple(WORDS)) from None


def _text(content: Any) -> str | None:
    """The input: a text, or what the user says in a list of messages."""
    if isinstance(content, str):
        return content or None
    messages = map(mapping, content if isinstance(content, list) else [])
    texts = [message.get("content") for message in messages if message.get("role") == "user"]
    return "\n".join(text for text in texts if isinstance(text, str)) or None
