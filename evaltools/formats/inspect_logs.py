"""Logs of Inspect: .eval (a zip of a header and samples) and .json."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from ..core.errors import Problems, UsageError
from ..core.records import fitted, read_json, require_file
from .rows import Place, Row, Score, Unfit, fitting, listed, made, number

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

WORDS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""What Inspect counts its words for a score as."""


class Spec(Row):
    model: str


class Header(Row):
    version: int
    status: str = "started"
    eval: Spec


class Given(Row):
    value: Any = None


class Sample(Row):
    id: int | str
    epoch: int = 1
    input: Any = None
    error: Any = None
    scores: dict[str, Given] | None = None


def read(path: Path, problems: Problems) -> Iterator[tuple[Place, Score]]:
    """A metric for every scorer, or for every key of its value; the epoch is the seed, the model the condition."""
    require_file(path, problems)
    if path.suffix.lower() != ".eval" and not zipfile.is_zipfile(path):
        content = read_json(path, problems)
        header = _header(content, path, problems)
        yield from _scores(header, listed(content, "samples", path, problems), path, problems)
        return
    try:
        with zipfile.ZipFile(path) as log:
            names = log.namelist()
            first = next((n for n in HEADERS if n in names), HEADERS[0])
            header = _header(_member(log, first), path, problems)
            samples = [n for n in names if n.startswith("samples/") and n.endswith(".json")]
            yield from _scores(header, _members(log, samples, path, problems), path, problems)
    except (zipfile.BadZipFile, Unfit) as e:
        message = f"expected a log of Inspect (is it whole?): {e}"
        raise problems.fatal("bad-zip", message, file=str(path)) from None


def _members(
    log: zipfile.ZipFile, names: Iterable[str], path: Path, problems: Problems
) -> Iterator[Any]:
    for name in names:
        try:
            yield _member(log, name)
        except Unfit as e:
            problems.error("bad-member", e.message, file=str(path), field=name)


def _member(log: zipfile.ZipFile, name: str) -> Any:
    """The JSON value of a member, which is read in small steps and never beyond MEMBER_BYTES."""
    data = bytearray()
    try:
        info = log.getinfo(name)
        if info.compress_type == ZSTANDARD and not hasattr(zipfile, "ZIP_ZSTANDARD"):
            raise UsageError(
                "this log is compressed with zstandard: pip install 'evaltools[inspect]' reads it"
            )
        with log.open(info) as f:
            for step in iter(partial(f.read, STEP_BYTES), b""):
                data += step
                if len(data) > MEMBER_BYTES:
                    raise Unfit(
                        name, f"unpacks to more than {MEMBER_BYTES >> 20} MB: it is not read"
                    )
        return from_json(bytes(data))
    except (Unfit, UsageError):
        raise
    except ValueError as e:
        raise Unfit(name, f"not JSON: {e}") from None
    except Exception as e:  # noqa: BLE001 - every kind of compression has errors of its own
        raise Unfit(name, f"cannot be read: {e}") from None


def _header(content: Any, path: Path, problems: Problems) -> Header:
    found = fitted(Header, content, problems, file=str(path))
    if found is None:
        raise problems.fatal(
            "wrong-format", "expected a log of Inspect: version, status, eval.model", file=str(path)
        )
    if found.version not in VERSIONS:
        message = f"version {found.version}; expected {' or '.join(map(str, VERSIONS))}"
        raise problems.fatal("wrong-version", message, file=str(path), field="version")
    if found.status != "success":
        problems.warn(
            "not-finished", f"the status of the log is {found.status[:80]!r}", file=str(path)
        )
    return found


def _scores(
    header: Header, content: Any, path: Path, problems: Problems
) -> Iterator[tuple[Place, Score]]:
    model, metrics, failed = header.eval.model, dict[str, None](), list[dict[str, Any]]()

    def rows(_: int, sample: Sample) -> Iterator[Score]:
        about: dict[str, Any] = {
            "id": str(sample.id),
            "seed": str(sample.epoch),
            "text": _text(sample.input),
        }
        if sample.error and not sample.scores:
            failed.append(about)
        for scorer, given in (sample.scores or {}).items():
            parts = given.value if isinstance(given.value, dict) else {"": given.value}
            for key, value in parts.items():
                metric = f"{scorer}/{key}" if key else scorer
                metrics[metric] = None
                found = None if sample.error else _value(value, f"scores.{metric}.value")
                yield Score(metric=metric, value=found, condition=model, **about)

    yield from made(fitting(content, Sample, path, problems, "samples"), rows, path, problems)
    for about in failed:  # by no metric measured, rather than left out of every mean
        yield from (
            ("samples", Score(metric=metric, condition=model, **about)) for metric in metrics
        )


def _value(value: Any, field: str) -> float | None:
    if not isinstance(value, str):
        return number(value, field)
    if value in WORDS or value.lower() in WORDS:
        return WORDS[value if value in WORDS else value.lower()]
    try:
        return number(float(value), field)
    except ValueError:
        raise Unfit(
            field, f"expected a number or one of {', '.join(WORDS)}, got {value[:80]!r}"
        ) from None


def _text(given: Any) -> str | None:
    """The input: a text, or what the user says in a list of messages."""
    messages = given if isinstance(given, list) else [{"role": "user", "content": given}]
    said = [m.get("content") for m in messages if isinstance(m, dict) and m.get("role") == "user"]
    return "\n".join(s for s in said if isinstance(s, str)) or None
