"""The suite of long tables: any benchmark with a score for each sample. Its metrics follow from the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from math import inf
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from pandas import DataFrame, Series
from pandas.api.types import is_numeric_dtype
from pydantic import Field, field_validator

from ...core.estimates import Checks, share_check
from ...core.files import Fields, Names, first_names, nearest, read_once, safe_name
from ...core.messages import InputError, Problems, UsageError, first_ten, shown_path
from ...core.metric import Better, Metric
from ...core.records import File
from ...core.suite import Source, Suite, SuiteOptions
from ...core.tables import COLUMNS, TABLES, Line, read_table
from ...core.workers import Workers
from ...report.run import Run

# with more metrics or runs than this, a column was taken for another
MAX_NAMES = 1_000

LEADING = 10  # metrics that lead every page

# columns that have one value in all rows of a metric, or none; a direction is 1 or 0
METRIC_COLUMNS = ["higher_is_better", "low", "high"]
DIRECTIONS: dict[float, Better] = {1.0: "higher", 0.0: "lower"}


class Survey(NamedTuple):
    """The runs, the metrics and the usable rows of a file.

    `runs`: their names. `rows`: as `read` has them, with the column `run`, the name of the run. `problems`: what is
    wrong with the other rows.
    """

    runs: list[str]
    rows: DataFrame
    metrics: tuple[Metric, ...]
    problems: Problems


def survey(path: Path, problems: Problems) -> Survey:
    """The content of a file, which is read again only after it changed; InputError where it is not in the long form."""
    File(path, problems)
    try:
        return _survey(path)
    except InputError as error:
        problems.merge(error.found)
        raise


@partial(read_once, 2)  # the two sides of a comparison
def _survey(path: Path) -> Survey:
    file = File(path, Problems("skip"))
    rows, default = read(file)
    # rows without a seed where others of the condition have one would be a run of their own
    has_seed = rows["seed"].notna()
    is_partial = ~has_seed & has_seed.groupby(rows["condition"], dropna=False).transform("any")
    first = rows[["id", "cluster"]].dropna().drop_duplicates("id").set_index("id")["cluster"]
    cluster = rows["id"].map(first).astype("str")
    is_second = rows["cluster"].notna() & (rows["cluster"] != cluster)
    is_cluster = cluster.isna() & rows["id"].isin(first)
    for is_wrong, field, message in (
        (is_partial, "seed", "expected a seed, as other rows of this condition have; got nothing"),
        (is_second, "cluster", "a second cluster of this sample; expected one in all its rows"),
        (is_cluster, "cluster", "a cluster has the name of this sample, which is in no cluster"),
    ):
        _report(file, "bad-field", rows.loc[is_wrong, "id"], message, field)
    rows = rows[~(is_partial | is_second | is_cluster)].assign(cluster=cluster)
    keys = rows[["condition", "seed"]]
    of_runs = keys.drop_duplicates()
    if max(len(of_runs), rows["metric"].nunique()) > MAX_NAMES:
        raise file.fatal(
            "wrong-columns",
            f"more than {MAX_NAMES:,} metrics or runs; expected one metric on one sample, a row",
        )
    runs = [_run_name(condition, seed, path.stem) for condition, seed in of_runs.values]
    for index in np.flatnonzero(Series(runs).str.casefold().duplicated()):
        raise file.fatal(
            "same-name", f"two runs (condition, seed) would both be named {runs[index]!r}"
        )
    for line, name in zip(of_runs.index, runs):
        try:
            safe_name(name)
        except UsageError as e:
            raise file.fatal("bad-field", str(e), line=line, field="condition") from None
    codes = keys.groupby(list(keys), sort=False, dropna=False).ngroup()
    rows = rows.assign(run=pd.Categorical.from_codes(codes, runs))
    return Survey(runs, rows, _metrics(rows, default, file), file.problems)


def _report(
    file: File,
    code: str,
    ids: Series,
    message: str,
    field: str = "",
) -> None:
    """Report an error in each of some lines. `ids`: line -> the id that stands there."""
    for line, id_ in ids.items():
        file.error(code, message, line=line, id=id_, field=field)


def _run_name(
    condition: Any,
    seed: Any,
    stem: str,
) -> str:
    """`<condition>__seed<seed>_<stem>`, without what the file does not say, as the name of a folder."""
    parts = []
    for prefix, value in (("", condition), ("seed", seed)):
        if pd.notna(value):
            part = re.sub(r'[/\\:*?"<>|\x00-\x1f]+', "-", value.strip()).lstrip(".") or "-"
            parts.append(prefix + (part.replace("_", "-") if prefix else part))
    return "_".join(filter(None, ["__".join(parts), stem]))


def _metrics(
    rows: DataFrame,
    default: Better,
    file: File,
) -> tuple[Metric, ...]:
    """The metrics of a file, each the ratio of the sums of num_KEY and den_KEY in the units.

    A metric whose values are all 0 or 1 is a proportion; others have the limits that the file says, and none if it
    says none. `default`: the direction of a metric of which the file says none. Two limits or directions of a metric
    are reported.
    """
    metrics: dict[str, Metric] = {}
    # by name, so that keys are the same in every file of these metrics
    for name, of_metric in rows.groupby("metric"):
        stated = of_metric[METRIC_COLUMNS]
        lowest, highest = stated.min(), stated.max()
        for field in METRIC_COLUMNS:
            if lowest[field] < highest[field]:
                file.error(
                    "bad-field",
                    f"both {lowest[field]:g} and {highest[field]:g} for {str(name)[:80]!r}; expected one a metric",
                    field=field,
                )
        # one odd cell, which is reported, changes nothing for the others; of two as common none counts
        commonest = stated.mode().reindex([0, 1])
        direction, low, high = commonest.loc[0].where(commonest.loc[1].isna())
        bounds = None if pd.isna(low + high) else (float(low), float(high))
        key = re.sub(r"\W", "_", str(name))
        while key in metrics:
            key += "_"
        metrics[key] = Metric(
            name=str(name),
            description="Sum of the numerators (values) over the sum of the denominators (1 each).",
            numerator=f"num_{key}",
            denominator=f"den_{key}",
            group="Scores",
            better=DIRECTIONS.get(direction, default),
            proportion=_is_binary(of_metric, *(bounds or (-inf, inf))),
            bounds=bounds,
        )
    order = [*rows["metric"].unique()]
    return tuple(sorted(metrics.values(), key=lambda metric: order.index(metric.name)))


def _is_binary(rows: DataFrame, low: float, high: float) -> bool:
    """Whether all values of a metric are 0 or 1, but for second rows and those outside of limits, which count nowhere."""
    firsts = rows.drop_duplicates(["condition", "seed", "id", "trial"])
    counted = firsts[(firsts["num"] / firsts["den"]).between(low, high)]
    return bool((counted["num"].isin([0, 1]) & (counted["den"] == 1)).all())


def score(
    source: Source,
    options: TableOptions,
    problems: Problems,
    workers: Workers,
    aside: Path | None,
) -> DataFrame:
    """The units of a run: one row an id, or an id and trial.

    Columns: id; item, the sample, where `id` is its cluster; trial, line and text where the file
    has them; its further columns; num_KEY and den_KEY of every metric, null where it has no row; of a row without
    a value, or with one outside the limits of its metric, num_KEY is null and den_KEY 0. Such a value and a second row
    of a metric on an id and trial are problems of the input, with their line.
    """
    file = File(source.files["scores"], problems)
    # what is wrong with other rows was said when the file was surveyed
    content = survey(file.path, Problems())
    rows = content.rows
    if len(content.runs) > 1:  # the only run of a file may be given another name
        rows = rows[rows["run"] == source.name]
    unit = rows.groupby(["id", "trial"], sort=False, dropna=False).ngroup()
    units = _unit_columns(rows, unit, file)
    rows = rows.assign(unit=unit)
    sums = {}
    for metric in options.found:
        of_metric = rows[rows["metric"] == metric.name]
        is_second = of_metric["unit"].duplicated()
        _report(
            file,
            "duplicate-id",
            of_metric.loc[is_second, "id"],
            f"a second row of {metric.name}: id is one sample, cluster what samples belong to",
        )
        used = of_metric[~is_second].copy()
        low, high = metric.bounds or (-inf, inf)
        values = used["num"] / used["den"]
        is_outside = (values < low) | (values > high)
        for line, id_ in used.loc[is_outside, "id"].items():
            file.error(
                "out-of-bounds",
                f"{values[line]:g} is not within {low:g} and {high:g}",
                line=line,
                id=id_,
                field=metric.name,
            )
        used.loc[is_outside, ["num", "den"]] = np.nan, 0
        used = used.set_index("unit")
        sums[metric.numerator] = used["num"]
        sums[metric.denominator] = used["den"]
    problems.raise_if_failed()
    return units.join(DataFrame(sums))


def _unit_columns(
    rows: DataFrame,
    unit: Series,
    file: File,
) -> DataFrame:
    """The columns of the units that are no sums, with the first value of each unit that is not null."""
    first = rows.groupby(unit).first()
    units = {
        "id": first["cluster"].fillna(first["id"]),
        "item": first["id"],
        "trial": first["trial"],
        "line": rows.index[~unit.duplicated()],
        "text": first["text"],
    }
    for name, column in (("item", "cluster"), ("trial", "trial"), ("text", "text")):
        if first[column].isna().all():
            del units[name]
    for name in first.columns.difference([*COLUMNS, "run"], sort=False):
        if name in ("item", "line") or name.startswith(("num_", "den_")):
            file.warn(
                "column-taken",
                f"the column {name} is left out: the units have a column of this name",
                field=name,
            )
        else:
            units[name] = _of_one_kind(first[name], file.path.suffix.lower() in TABLES)
    return DataFrame(units)


NUMBER = r"[-+]?((0|[1-9]\d{0,14})(\.\d*)?|\.\d+)([eE][-+]?\d+)?"


def _of_one_kind(values: Series, is_text: bool) -> Series:
    """Numbers or truth values as they are; all else, and what is mixed, as text.

    A CSV file and a sheet have texts only (`is_text`): there texts that are all numbers are numbers. What would lose
    digits as a number (007, a long id; 1.1 beside 1.10) stays as it is written.
    """
    if values.notna().all():
        values = values.infer_objects()
    if is_numeric_dtype(values):  # truth values too
        return values
    known = values.dropna()
    may_be = is_text or str not in {*map(type, known)}
    if may_be and known.map(str).str.strip().str.fullmatch(NUMBER).all():
        numbers = pd.to_numeric(values)
        if numbers.nunique() == known.nunique():
            return numbers
    return values.map(str, na_action="ignore").astype("str")


# rows that are records at the same time: a record takes ten times the memory of a row of a frame
CHUNK_ROWS = 10_000

FLOATS = ("value", "num", "den", "low", "high", "higher_is_better")
DTYPES = dict.fromkeys(COLUMNS, "str") | dict.fromkeys(FLOATS, "float")


def read(file: File) -> tuple[DataFrame, Better]:
    """The usable rows of a file, and the usual direction of its metrics; what is wrong with the other rows is reported.

    The index is the line. Columns: those of `Line`, but a value, which counts before num and den, is num with the
    denominator 1 (not measured: null, and 0), and the further columns of the file. InputError where the file is damaged,
    not in the long form, or has no row that can be used.
    """
    parts = []
    named: set[str] = set()
    records = read_table(file, Line)
    while part := dict(islice(records, CHUNK_ROWS)):
        parts.append(DataFrame(map(dict, part.values()), list(part), dtype=object).astype(DTYPES))
        named.update(*(row.model_fields_set for row in part.values()))
    if not parts:
        raise file.fatal(
            "no-rows",
            "no row can be used; expected the columns id, metric and value, one metric of a sample a row",
        )
    if "value" not in named and not {"num", "den"} <= named:
        raise file.fatal(
            "wrong-columns",
            f"expected the columns id, metric and value (or num and den), got {first_names(sorted(named))}",
        )
    frame = pd.concat(parts).copy()  # its many columns in one block
    for name in frame.columns.difference(COLUMNS):
        if (meant := name.strip().casefold()) in COLUMNS:
            raise file.fatal(
                "wrong-columns", f"the column {name!r}: write {meant}, or another name"
            )
    # a value counts before num and den; where there is neither value nor num, nothing was measured: 0
    value = frame.pop("value")
    frame["den"] = frame["den"].where(frame["num"].notna(), 0).mask(value.notna(), 1.0)
    frame["num"] = value.fillna(frame["num"])
    return frame, "none" if "higher_is_better" in named else "higher"


class TableOptions(SuiteOptions):
    """What the file does not say of its metrics. `found` are its metrics: they follow from it."""

    derived: ClassVar = ("found",)

    bounds: Names = Field(
        (), description="NAME=LOW,HIGH: the least and greatest value of a metric."
    )
    lower: Names = Field((), description="NAME of a metric that is better the lower it is.")
    higher: Names = Field((), description="NAME of a metric that is better the higher it is.")
    found: tuple[Metric, ...] = ()

    @field_validator("bounds", mode="before")
    @classmethod
    def _as_texts(cls, bounds: Any) -> Any:
        """The texts of the command line, also of {metric: (low, high)}."""
        if isinstance(bounds, Mapping):
            return tuple(f"{name}={str(ends).strip('()[]')}" for name, ends in bounds.items())
        if not isinstance(bounds, list | tuple) or not all(isinstance(t, str) for t in bounds):
            raise ValueError("expected {metric: (low, high)}, or texts NAME=LOW,HIGH in a list")
        return bounds

    def policy(self) -> Fields:
        """The options, and of each metric what decides its numbers; its texts do not.

        Whether all its values are 0 or 1 is no policy: two runs may be otherwise in that (`Study.metrics`).
        """
        found = sorted([m.name, m.better, m.bounds and list(m.bounds)] for m in self.found)
        return self.model_dump(mode="json") | {"found": found}

    def with_metrics(
        self,
        content: Survey,
        source: str,
    ) -> TableOptions:
        """The options with the metrics of a file (`source`), limits and directions as declared; UsageError for others."""
        changes: dict[str, Fields] = {metric.name: {} for metric in content.metrics}

        def change(name: str, **fields: Any) -> None:
            if name not in changes:
                raise UsageError(f"{source} has no metric {name!r}; {nearest(name, list(changes))}")
            if changes[name].keys() & fields.keys():
                raise UsageError(f"{name!r}: give its bounds once, and --lower or --higher once")
            changes[name] |= fields

        for text in self.bounds:
            name, _, numbers = text.rpartition("=")
            try:
                low, high = map(float, numbers.split(","))
            except ValueError:
                low, high = inf, inf
            if not name or not -inf < low < high < inf:
                raise UsageError(
                    f"--bounds {text!r}: expected NAME=LOW,HIGH with LOW below HIGH, both finite (in Python a pair)"
                )
            of_metric = content.rows[content.rows["metric"] == name]
            change(name, bounds=(low, high), proportion=_is_binary(of_metric, low, high))
        for name in self.lower:
            change(name, better="lower")
        for name in self.higher:
            change(name, better="higher")
        found = tuple(replace(metric, **changes[metric.name]) for metric in content.metrics)
        return self.model_copy(update={"found": found})


def locate(
    path: Path,
    name: str | None,
    options: TableOptions,
    problems: Problems,
) -> Source:
    """A run of a file: the only one, or the one of that name."""
    content = survey(path, problems)
    if len(names := content.runs) > 1 and name not in names:
        raise UsageError(f"{path} holds {len(names)} runs, name one of them: {first_names(names)}")
    problems.merge(content.problems)
    problems.raise_if_failed()
    options = options.with_metrics(content, shown_path(path))
    return Source(name or names[0], {"scores": path}, options)


def headline(
    options: TableOptions,
    blocked: frozenset[str],
) -> Names:
    """The first metrics of the file, those that have a direction before the others."""
    metrics = sorted(options.found, key=lambda metric: metric.better == "none")
    return tuple(metric.name for metric in metrics[:LEADING])


def checks(run: Run) -> Checks:
    """The check of a run: samples without a value or with an error, by metric and cause."""
    units = run.sample_data.set_index("id")
    lost = {
        metric.name: units.index[units[metric.numerator].isna() & (units[metric.denominator] == 0)]
        for metric in run.options.found
    }
    if "error" in units:
        lost |= units.groupby(units["error"].astype(str).str[:60]).groups
    commonest = sorted(lost, key=lambda why: -lost[why].nunique())
    ids = {*chain(*lost.values())}
    yield from share_check(
        "errored-rows",
        "warning",
        "{n} of {of} samples lack a value or have an error: {what}. {k} of them have other values, which count.",
        len(ids),
        units.index.nunique(),
        what=first_ten([f"{why} ({lost[why].nunique()})" for why in commonest if len(lost[why])]),
        k=len(ids.intersection(units.index[units.filter(regex="^den_").any(axis=1)])),
    )


SUITE = Suite(
    name="table",
    title="Scores",
    unit="id",
    options=TableOptions,
    locate=locate,
    runs=lambda path, problems: survey(path, problems).runs,  # in order of appearance
    score=score,
    metrics=lambda options: options.found,
    headline=headline,
    checks=checks,
)
