"""Logs of Inspect: .eval (a zip of a header and samples) and .json."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import comb
from operator import itemgetter
from statistics import median, mode
from typing import Any, Literal

from pydantic import AliasChoices, AliasPath, Field
from pydantic_core import from_json

from ..core.files import Fields, grouped
from ..core.records import short
from .source import Records, Row, Score, Source, at, score_rows

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile  # that of Python 3.14, which reads zstandard

# the name of the member with a sample
SAMPLE = re.compile(r"samples/.+\.json")

# a member that unpacks to more is not read
MEMBER_BYTES = 1 << 30

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

REDUCERS: dict[str, Callable[..., float]] = {
    "max": max,
    "median": median,
    "mode": mode,
}


class Config(Row):
    """How it was evaluated."""

    epochs_reducer: list[str] | None = None
    score_on_error: Any = None


class Evaluation(Row):
    """What was evaluated, and how."""

    model: str
    task: str = ""
    task_args: Any = None
    config: Config = Config()


class Header(Row):
    """What a log says of all its samples."""

    version: Literal[1, 2, 3]
    status: str = "started"
    eval: Evaluation


class LogSample(Row):
    """A sample in an epoch."""

    id: int | str
    epoch: int = 1
    input: str | list[Any] = ""
    target: Any = None
    output: Any = Field(None, validation_alias=AliasPath("output", "completion"))
    metadata: Fields | None = None
    error: Any = Field(None, validation_alias=AliasChoices(AliasPath("error", "message"), "error"))
    scores: dict[str, Fields] | None = None

    @property
    def text(self) -> str:
        """The input: a text, or what the user says in a list of messages."""
        if isinstance(self.input, str):
            return self.input
        said = [at(m, "content", kind=str) for m in self.input if at(m, "role") == "user"]
        return "\n".join(filter(None, said))


def read(source: Source) -> Records:
    """A metric for every scorer, or for every key of its value.

    The epoch is the trial of a sample, the model the condition; where the log reduces epochs by
    another reducer than the mean a sample has one value, the reduced one; of several the first counts.
    More is better of words (C, yes) and truth values; of numbers the log does not say it. A sample with
    an error is not measured, unless the log scores errors.
    """
    if source.path.suffix.lower() == ".eval":
        contents = _unzipped(source)
        head = next(contents, None)
        samples = source.fitting(contents, LogSample, "samples")
    else:
        samples = source.records(LogSample, "samples")
        head = source.document
    header = source.record(Header.model_validate, head)
    if header.status != "success":
        source.warn("not-finished", f"the status of the log is {short(header.status)}")
    # one of a package is logged as package/task
    source.task = f"{header.eval.task.rpartition('/')[2]} {header.eval.task_args or ''}".strip()
    scored = _scored(header.eval, list(samples), source)
    reducer, *_ = header.eval.config.epochs_reducer or ["mean"]
    return scored if reducer == "mean" else _reduced(scored, reducer, source)


def _unzipped(source: Source) -> Iterator[Any]:
    """The header, then the samples one by one. InputError for a zip that is damaged, or holds too much."""
    try:
        with zipfile.ZipFile(source.path) as log:
            if max((member.file_size for member in log.infolist()), default=0) > MEMBER_BYTES:
                raise source.fatal(
                    "file-too-large",
                    f"unpacks to more than {MEMBER_BYTES >> 20} MB: it is not read",
                )
            for name in ["header.json", *filter(SAMPLE.fullmatch, log.namelist())]:
                try:
                    content = from_json(log.read(name))
                except Exception as error:  # noqa: BLE001 - every compression has errors of its own
                    source.error("bad-member", f"{name} cannot be read: {error}")
                    continue
                yield content
    except zipfile.BadZipFile as error:
        raise source.fatal(
            "bad-zip", f"expected a log of Inspect (is it whole?): {error}"
        ) from None


def _scored(
    log: Evaluation,
    samples: Sequence[tuple[str, LogSample]],
    source: Source,
) -> Records:
    """The samples with a score for each metric that they have; one without any has all of the log, not measured."""
    scores_errors = log.config.score_on_error
    n_errors = sum(bool(sample.error and sample.scores) for _, sample in samples)
    if n_errors and scores_errors:
        source.warn(
            "errors-scored",
            f"{n_errors} samples have an error and were scored all the same "
            "(score_on_error): their scores count, as in Inspect",
            field="samples",
        )
    # metric -> not measured
    of_log = {s.metric: Score(s.metric, None) for _, r in samples for s in _scores(r)}
    for place, sample in samples:
        error = None
        if sample.error and not (sample.scores and scores_errors):
            error = str(sample.error).partition("\n")[0]
        rows = score_rows(
            str(sample.id),
            [score._replace(error=error) for score in [*_scores(sample)] or of_log.values()],
            {"output": sample.output, "target": sample.target} | (sample.metadata or {}),
            condition=log.model,
            trial=str(sample.epoch),
            text=sample.text,
        )
        yield place, rows


def _reduced(
    scored: Records,
    reducer: str,
    source: Source,
) -> Records:
    """One row a metric on a sample, the values of its epochs reduced to one."""
    rows = [row for _, row in source.rows(scored)]
    for epochs in grouped(rows, itemgetter("id", "metric")).values():
        row, *_ = epochs
        # of two with one name the first counts; in their order, which decides between modes
        trials = {epoch.pop("trial"): epoch["value"] for epoch in reversed(epochs)}
        if len(trials) < len(epochs):
            source.error("duplicate-id", "a second sample of this id and epoch", id=row["id"])
        if values := [v for v in reversed(trials.values()) if isinstance(v, float)]:
            row["value"] = _reduce(reducer, values, source)
            row.pop("error", None)  # of its first epoch alone
        yield "samples", [row]


def _reduce(
    reducer: str,
    values: Sequence[float],
    source: Source,
) -> float:
    """The value of a sample from those of its epochs, as Inspect's reducer gives it.

    pass_at_k is the chance that one of k of its epochs, drawn without order, is right.
    """
    if reducer in REDUCERS:
        return REDUCERS[reducer](values)
    match = re.fullmatch("(at_least|pass_at)_([1-9][0-9]{0,8})", reducer)
    if not match:
        raise source.fatal(
            "unknown-reducer",
            f"epochs are reduced by {short(reducer)}, which is not known here",
            field="eval.config.epochs_reducer",
        )
    k = int(match[2])
    n_right = sum(value >= 1 for value in values)
    n_wrong = len(values) - n_right
    if match[1] == "at_least":
        return float(n_right >= k)
    return 1.0 if n_wrong < k else 1 - comb(n_wrong, k) / comb(len(values), k)


def _scores(sample: LogSample) -> Iterator[Score]:
    """The scores of a sample; a value of several keys is several."""
    for scorer, result in (sample.scores or {}).items():
        value = result.get("value")
        for key, part in value.items() if isinstance(value, dict) else [("", value)]:
            is_higher = isinstance(part, bool) or None
            if isinstance(part, str):
                word = WORDS.get(part, WORDS.get(part.lower()))
                if word is not None:
                    part, is_higher = word, True
                else:
                    with suppress(ValueError):
                        part = float(part)
            yield Score(
                f"{scorer}/{key}" if key else scorer,
                part,
                is_higher,
            )
