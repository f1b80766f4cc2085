"""Logs of Inspect: .eval (a zip of a header and samples) and .json."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic_core import from_json

from ..core.errors import UsageError
from ..core.records import fitted
from .rows import Row, Score, Unfit, number
from .source import Records, Source

try:
    from backports.zstd import zipfile  # that of Python 3.14, which reads zstandard
except ImportError:
    import zipfile  # type: ignore[no-redef]

VERSIONS = (1, 2)

HEADERS = ("header.json", "_journal/start.json")
"""Of a log that is finished, of one that is not."""

MEMBER_BYTES = 256 << 20
"""A member of the zip that unpacks to more is refused."""

STEP_BYTES = 1 << 12
"""So much of a compressed member is unpacked at a time, whatever it grows to."""

ZSTANDARD = 93

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


class Header(Row):
    """The log without its samples."""

    version: int
    status: str = "started"
    eval: Spec


class ScorerResult(Row):
    """What a scorer gave: one value, or one for each of its keys."""

    value: Any = None


class LogSample(Row):
    """A sample in an epoch."""

    id: int | str
    epoch: int = 1
    input: Any = None
    error: Any = None
    scores: dict[str, ScorerResult] | None = None


def read(source: Source) -> Records:
    """A metric for every scorer, or for every key of its value.

    The epoch is the seed, the model the condition.
    """
    is_zip = source.path.suffix.lower() == ".eval" or zipfile.is_zipfile(source.path)
    if is_zip:
        yield from _read_zip(source)
        return
    content = source.json()
    header = _header(content, source)
    yield from _scores(header, source.listed(content, "samples"), source)


def _read_zip(source: Source) -> Records:
    try:
        with zipfile.ZipFile(source.path) as log:
            names = log.namelist()
            present = [name for name in HEADERS if name in names]
            header_name = present[0] if present else HEADERS[0]
            header = _header(_member(log, header_name), source)
            samples = []
            for name in names:
                if name.startswith("samples/") and name.endswith(".json"):
                    samples.append(name)
            yield from _scores(header, _members(log, samples, source), source)
    except (zipfile.BadZipFile, Unfit) as error:
        message = f"expected a log of Inspect (is it whole?): {error}"
        raise source.fatal("bad-zip", message) from None


def _members(log: zipfile.ZipFile, names: Iterable[str], source: Source) -> Iterator[Any]:
    for name in names:
        try:
            yield _member(log, name)
        except Unfit as unfit:
            source.error("bad-member", unfit.message, field=name)


def _member(log: zipfile.ZipFile, name: str) -> Any:
    """The JSON value of a member of the zip."""
    try:
        return from_json(_unpacked(log, name))
    except (Unfit, UsageError):
        raise
    except ValueError as error:
        raise Unfit(name, f"not JSON: {error}") from None
    except Exception as error:  # noqa: BLE001 - every kind of compression has errors of its own
        raise Unfit(name, f"cannot be read: {error}") from None


def _unpacked(log: zipfile.ZipFile, name: str) -> bytes:
    """A member, which is read in small steps and never beyond MEMBER_BYTES."""
    info = log.getinfo(name)
    if info.compress_type == ZSTANDARD and not hasattr(zipfile, "ZIP_ZSTANDARD"):
        raise UsageError(
            "this log is compressed with zstandard: pip install 'evaltools[inspect]' reads it"
        )
    data = bytearray()
    with log.open(info) as file:
        while step := file.read(STEP_BYTES):
            data += step
            if len(data) > MEMBER_BYTES:
                most = f"{MEMBER_BYTES >> 20} MB"
                raise Unfit(name, f"unpacks to more than {most}: it is not read")
    return bytes(data)


def _header(content: Any, source: Source) -> Header:
    header = fitted(Header, content, source.problems, file=str(source.path))
    if header is None:
        message = "expected a log of Inspect: version, status, eval.model"
        raise source.fatal("wrong-format", message)
    if header.version not in VERSIONS:
        expected = " or ".join(str(version) for version in VERSIONS)
        message = f"version {header.version}; expected {expected}"
        raise source.fatal("wrong-version", message, field="version")
    if header.status != "success":
        source.warn("not-finished", f"the status of the log is {header.status[:80]!r}")
    return header


def _scores(header: Header, samples: Iterable[Any], source: Source) -> Records:
    model = header.eval.model
    metrics: dict[str, None] = {}
    failed: list[dict[str, Any]] = []

    def scores(_: int, sample: LogSample) -> Iterator[Score]:
        about: dict[str, Any] = {
            "id": str(sample.id),
            "seed": str(sample.epoch),
            "text": _text(sample.input),
            "condition": model,
        }
        results = sample.scores or {}
        if sample.error and not results:
            failed.append(about)
        for scorer, result in results.items():
            values = result.value if isinstance(result.value, dict) else {"": result.value}
            for key, value in values.items():
                metric = f"{scorer}/{key}" if key else scorer
                metrics[metric] = None
                measured = None
                if not sample.error:
                    measured = _value(value, f"scores.{metric}.value")
                yield Score(metric=metric, value=measured, **about)

    yield from source.rows(source.fitting(samples, LogSample, "samples"), scores)
    for about in failed:
        # by no metric measured, rather than left out of every mean
        for metric in metrics:
            yield "samples", Score(metric=metric, **about)


def _value(value: Any, field: str) -> float | None:
    if not isinstance(value, str):
        return number(value, field)
    for word in (value, value.lower()):
        if word in WORDS:
            return WORDS[word]
    try:
        return number(float(value), field)
    except ValueError:
        words = ", ".join(WORDS)
        message = f"expected a number or one of {words}, got {value[:80]!r}"
        raise Unfit(field, message) from None


def _text(content: Any) -> str | None:
    """The input: a text, or what the user says in a list of messages."""
    if isinstance(content, str):
        return content or None
    texts = []
    for message in content if isinstance(content, list) else []:
        if isinstance(message, dict) and message.get("role") == "user":
            text = message.get("content")
            if isinstance(text, str):
                texts.append(text)
    return "\n".join(texts) or None
