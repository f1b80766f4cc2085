"""A suite of one's own for JSON Lines files, from a record model and a function that gives what the metrics sum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel

from .. import BUILT_IN
from .errors import Problems, UsageError
from .json_files import read_jsonl
from .metric import AnyMetric
from .records import require_file, unique_records
from .suite import Source, Suite, SuiteOptions


def jsonl_suite(
    name: str,
    *,
    title: str,
    record: type[BaseModel],
    unit: str,
    columns: Callable[..., Mapping[str, Any]],
    metrics: Sequence[AnyMetric],
    headline: Sequence[str],
    options: type[SuiteOptions] = SuiteOptions,
    **fields: Any,
) -> Suite:
    """A suite for JSON Lines files: `record` reads a line, `columns(record)` gives the columns that metrics sum.

    `unit` is the field of the record that names it; records are the resampling units. `headline` names the metrics
    that lead every page, the first being the primary one. Numbers, booleans and texts of the record stand in the
    units beside the columns.

    `columns(record, options)` gets the options too where there is a model of them. Further `fields` are those of
    `Suite`: checks, breakdowns, notebook, verdicts, artifacts, study_notebook, input and the like.

    A line that does not fit, a doubled id and an error in `columns` are problems of the input, reported with their
    line. UsageError for the name of a built-in suite, for a `record` without the field `unit`, and for a headline of
    what is no metric. docs/extending.md makes one.

    >>> from evaltools.core.metric import Metric
    >>> class Record(BaseModel):
    ...     id: str; gold: str; pred: str
    >>> labels = jsonl_suite(
    ...     "labels", title="Labels", record=Record, unit="id",
    ...     columns=lambda r: {"n": 1, "right": r.gold == r.pred},
    ...     metrics=[Metric(name="accuracy", numerator="right", denominator="n", better="higher")],
    ...     headline=("accuracy",),
    ... )
    >>> labels.name
    'labels'
    """
    table, names = tuple(metrics), tuple(headline)
    _require_sense(name, record, unit, table, names)
    fields = {"input": "FILE", **fields}
    return Suite(
        name=name,
        title=title,
        unit=unit,
        options=options,
        locate=_locate,
        score=partial(_score, record, unit, columns),
        metrics=lambda opts: table,
        headline=lambda opts, blocked: names,
        **fields,
    )


def _require_sense(
    name: str,
    record: type[BaseModel],
    unit: str,
    table: Sequence[AnyMetric],
    headline: Sequence[str],
) -> None:
    """UsageError for a suite that cannot be made of these, as `jsonl_suite` says."""
    if name in BUILT_IN:
        raise UsageError(f"suite {name!r}: that is the name of a built-in suite")
    if not hasattr(record, unit) and unit not in getattr(record, "model_fields", {}):
        raise UsageError(
            f"suite {name!r}: expected record as a pydantic model with the field {unit}"
        )
    unknown = sorted({*headline} - {metric.name for metric in table})
    if unknown:
        raise UsageError(
            f"suite {name!r}: headline names {', '.join(unknown)}, which is no metric of it"
        )


def _locate(
    path: Path,
    name: str | None,
    options: SuiteOptions,
    problems: Problems,
) -> Source:
    require_file(path, problems)
    return Source(name or path.stem, {"records": path})


def _score(
    record: type[BaseModel],
    unit: str,
    columns: Callable[..., Mapping[str, Any]],
    source: Source,
    options: SuiteOptions,
    problems: Problems,
    *_: Any,
) -> pd.DataFrame:
    """The units of a file of records: its numbers, booleans and texts, and the columns that metrics sum."""
    path = source.files["records"]
    arguments = () if type(options) is SuiteOptions else (options,)
    rows = []

    def name_of(entry: BaseModel) -> str:
        return str(getattr(entry, unit))

    records = read_jsonl(path, record, problems)
    what = f"record of this {unit}"
    for line, entry in unique_records(records, name_of, problems, path, what):
        uid = name_of(entry)
        try:
            sums = dict(columns(entry, *arguments))
        except Exception as e:  # noqa: BLE001 - the user's own code may raise anything
            error = f"columns(record): {type(e).__name__}: {e}"
            problems.error("bad-columns", error, file=path, line=line, id=uid)
            continue
        fields = entry.model_dump().items()
        plain = {name: value for name, value in fields if isinstance(value, str | int | float)}
        rows.append({"line": line, **plain, unit: uid, **sums})
    return pd.DataFrame(rows)
