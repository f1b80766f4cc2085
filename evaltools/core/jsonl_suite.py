"""A suite of one's own for JSON Lines files, from a record model and a function that gives what the metrics sum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel

from .errors import Problems, UsageError
from .metric import AnyMetric
from .records import first_line, read_jsonl, require_file, unique_records
from .suite import Source, Suite, SuiteOptions, Workers


def jsonl_suite(
    name: str,
    *,
    title: str,
    record: type[BaseModel],
    unit: str,
    columns: Callable[..., Mapping[str, Any]],
    metrics: Sequence[AnyMetric],
    headline: Sequence[str],
    input: str = "FILE",
    options: type[SuiteOptions] = SuiteOptions,
    **fields: Any,
) -> Suite:
    """A suite for JSON Lines files: `record` reads a line, `columns(record)` gives the columns that metrics sum.

    `unit` is the field of the record that names it; records are the resampling units. `headline` names the metrics
    that lead every page, the first being the primary one. Numbers, booleans and texts of the record stand in the
    units beside the columns. With a model of `options` of its own, `columns(record, options)` gets these too. Further
    `fields` are those of `Suite`: checks, breakdowns, verdicts, artifacts, notebook and the like.

    A line that does not fit the record, an id that comes twice and an error in `columns` are problems of the input,
    reported with their line. UsageError for a headline that is no metric. docs/extending.md makes one.

    >>> from evaltools.core.metric import Metric
    >>> class Record(BaseModel):
    ...     id: str
    ...     gold: str
    ...     pred: str
    >>> labels = jsonl_suite(
    ...     "labels",
    ...     title="Labels",
    ...     record=Record,
    ...     unit="id",
    ...     columns=lambda r: {"n": 1, "right": r.gold == r.pred},
    ...     metrics=[Metric(name="accuracy", numerator="right", denominator="n", better="higher", proportion=True)],
    ...     headline=("accuracy",),
    ... )
    >>> labels.name
    'labels'
    """
    table = tuple(metrics)
    names = tuple(headline)
    unknown = sorted(set(names) - {metric.name for metric in table})
    if unknown:
        listed = ", ".join(unknown)
        raise UsageError(f"suite {name!r}: the headline names {listed}, which is no metric of it")

    def locate(path: Path, run: str | None, opts: SuiteOptions, problems: Problems) -> Source:
        require_file(path, problems)
        return Source(run or path.stem, {"records": path})

    def sniff(path: Path) -> bool:
        """Whether the first record of a file fits."""
        try:
            record.model_validate_json(first_line(path))
        except (OSError, ValueError):
            return False
        return True

    def score(
        source: Source,
        opts: SuiteOptions,
        problems: Problems,
        workers: Workers,
        aside: Path | None,
    ) -> pd.DataFrame:
        arguments = () if options is SuiteOptions else (opts,)
        return _score_records(source.files["records"], record, unit, columns, arguments, problems)

    texts = [key for key, field in record.model_fields.items() if field.annotation is str]
    fields.setdefault("wrote", tuple(key for key in texts if key != unit))
    return Suite(
        name=name,
        title=title,
        unit=unit,
        input=input,
        options=options,
        locate=locate,
        sniff=sniff,
        score=score,
        metrics=lambda opts: table,
        headline=lambda opts, blocked: names,
        **fields,
    )


def _score_records(
    path: Path,
    model: type[BaseModel],
    unit: str,
    columns: Callable[..., Mapping[str, Any]],
    arguments: tuple[Any, ...],
    problems: Problems,
) -> pd.DataFrame:
    """The units of a file of records."""
    records = read_jsonl(path, model, problems, id_field=unit)
    rows = []
    n_records = 0
    for line, uid, record in unique_records(records, unit, problems, path):
        n_records += 1
        try:
            sums = dict(columns(record, *arguments))
        except Exception as e:  # noqa: BLE001 - the user's own code may raise anything
            message = f"columns(record): {type(e).__name__}: {e}"
            problems.error("bad-columns", message, file=str(path), line=line, id=uid)
            continue
        row: dict[str, Any] = {unit: uid}
        for field, value in record.model_dump().items():
            if field != unit and isinstance(value, str | int | float):
                row[field] = value
        row.update(sums)
        row["line"] = line
        rows.append(row)
    problems.raise_if_failed()
    if not rows:
        raise problems.fatal("no-rows", "no line of the file can be used", file=str(path))
    units = pd.DataFrame(rows)
    units.attrs["rows"] = {"records": n_records}
    return units
