"""Checks that any suite may need: few units, what never varies, texts that come twice, units and seeds that lack.

First their kinds: titles stand on pages and are translated; the rest is written to docs/checks.md by
scripts/make_docs.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from .check import AnyCheck, Check, CheckKind
from .language import Message
from .metric import Mean, MetricTable, metric_title
from .resampling import CONSTANT

FEW_UNITS = CheckKind(
    code="few-units",
    title="fewer than 30 resampling units",
    advice="Evaluate more samples: `evaltools plan` says how many show the difference you look for. Until then read"
    " the interval, not the value.",
)

CONSTANT_METRIC = CheckKind(
    code="constant-metric",
    title="a metric of the headline that no unit moves",
    applies="Where a metric of the headline is measured on 10 units or more.",
    advice="Do not compare systems by this metric: the data are too easy or too hard for it, or a field is always"
    " empty. Look at some samples, and at the metric that shows them apart.",
)

CLASS_SIZE = CheckKind(
    code="class-size",
    title="classes with few units in a mean over classes",
    applies="Where a metric is a mean over classes, as macro F1 is.",
    advice="Evaluate more units of these classes, or read a metric that weighs units alike (micro F1, accuracy): such"
    " a mean is too low on average, and no interval mends that.",
)

MEAN_UNITS = CheckKind(
    code="mean-units",
    title="a mean of metrics that rests on fewer units than these",
    applies="Where a metric is a mean over classes, as macro F1 is.",
    advice="A unit with a null in one of the metrics takes no part in their mean. Where a unit does not belong to a"
    " class, give 0 in the columns of that class; null means that it was not measured.",
)

DUPLICATE_TEXTS = CheckKind(
    code="duplicate-texts",
    title="units that share a text, so that they are not independent",
    applies="Where the units have texts: the input text of a sample, the user's turns of a dialogue, the contexts of"
    " a summary, the column `text` of a table.",
    advice="Remove the copies, or give the copies of one text one cluster (`cluster` in a table).",
)

MISSING_UNITS = CheckKind(
    code="missing-units",
    title="a run without units that other runs of the study have",
    applies="To several runs that are seen together.",
    advice="Finish the run that lacks units (a runner resumes where it stopped). The values of a run rest on its own"
    " units; comparisons use the units that both sides have.",
)

ONE_SIDED_MISSING = CheckKind(
    code="one-sided-missing",
    title="values that only one side of a comparison has",
    applies="To conditions that are compared.",
    advice="Read the difference between its two ends: the message gives it if all that is missing were the worst, or"
    " the best. Find out why one side lacks the values (failed replies, a judge that was silent) and fill them in.",
)

MISSING_SEEDS = CheckKind(
    code="missing-seeds",
    title="a condition without seeds that other conditions of the study have",
    applies="To a study of several conditions whose runs have seeds.",
    advice="Run the seeds that are missing, or leave out the seeds that only one condition has.",
)

INPUT = CheckKind(
    code="input",
    title="records of the input that could not be used, or only in part",
    applies="Always; it stands on pages, and its counts in `problems` of manifest.json.",
    advice="`evaltools check SUITE FILE` lists every problem with its line. Mend the file: what was left out is in no"
    " number of the page.",
)

BUNDLED_EXAMPLE = CheckKind(
    code="bundled-example",
    title="numbers of a bundled example",
    applies="To inputs that are named `example:...`; it stands on pages only.",
    advice="Give your own files.",
)

RUN_KINDS = (FEW_UNITS, CONSTANT_METRIC, CLASS_SIZE, MEAN_UNITS)
"""The checks that every run has."""

STUDY_KINDS = (MISSING_UNITS, ONE_SIDED_MISSING, MISSING_SEEDS)
"""The checks that need several runs."""

PAGE_KINDS = (INPUT, BUNDLED_EXAMPLE)
"""The checks that stand on pages, and not in metrics.json."""

MIN_CONSTANT_UNITS = 10
"""Fewest units for which a constant metric raises a check."""

MIN_CLASS_UNITS = 10
"""Fewer units of a class than this raise a check: a macro mean is then biased, and no interval helps."""

MIN_UNITS = 30
"""Fewer resampling units than this raise a check."""


def few_units(n: int, unit: str) -> Iterator[Check]:
    """Intervals from few units are wide, and their coverage is not that of many."""
    if n < MIN_UNITS:
        template = "only {units} units ({unit}): intervals are wide, and single units decide"
        yield FEW_UNITS.failed("warning", template, {"unit": unit, "units": n}, n, n)


def constant_metrics(
    estimates: pd.DataFrame,
    headline: Sequence[str],
) -> Iterator[AnyCheck]:
    """Metrics of the headline that no unit moves, so that they tell no two systems apart."""
    rows = estimates[estimates["metric"].isin(headline) & estimates["value"].notna()]
    rows = rows[rows["n_units"] >= MIN_CONSTANT_UNITS]
    if rows.empty:
        yield CONSTANT_METRIC.not_applicable("no metric of the headline is measured on 10 units")
        return
    is_rate = rows["ci_method"].isin(["mid-p", "wilson"])
    at_a_limit = is_rate & rows["value"].isin([0.0, 1.0])
    is_constant = rows["ci_method"].isin(["none", CONSTANT])
    rows = rows[is_constant | at_a_limit]
    if rows.empty:
        return
    metrics = tuple(
        Message("“{title}” = {value:g}", {"title": metric_title(name, title), "value": value})
        for name, title, value in zip(rows["metric"], rows["title"], rows["value"])
    )
    template = "the same for every unit: {metrics}"
    yield CONSTANT_METRIC.failed("info", template, {"metrics": metrics}, len(rows), len(headline))


def class_sizes(
    estimates: pd.DataFrame,
    metrics: MetricTable,
) -> Iterator[AnyCheck]:
    """Means over classes of which some have few units: these decide the mean, which is too low on average."""
    means = [metric for metric in metrics if isinstance(metric, Mean)]
    if not means:
        yield CLASS_SIZE.not_applicable("no metric is a mean over classes")
        return
    n_units = dict(zip(estimates["metric"], estimates["n_units"]))
    titles = dict(zip(estimates["metric"], estimates["title"]))
    small: dict[str, Message] = {}
    for mean in means:
        largest = max(n_units[name] for name in mean.of)
        for name in mean.of:
            count = int(n_units[name])
            if count < min(MIN_CLASS_UNITS, largest):
                values = {"title": metric_title(name, titles[name]), "count": count}
                small[name] = Message("“{title}” ({count})", values)
    if not small:
        return
    template = (
        "classes with fewer than {least} units: {classes}; a mean over classes rests on each as much as on a "
        "large one"
    )
    values = {"least": MIN_CLASS_UNITS, "classes": tuple(small.values())}
    yield CLASS_SIZE.failed("warning", template, values, len(small), len(small))


def mean_units(
    estimates: pd.DataFrame,
    metrics: MetricTable,
) -> Iterator[AnyCheck]:
    """Means that are not those of their metrics as shown: units in which one of these is null take no part in them."""
    means = [metric for metric in metrics if isinstance(metric, Mean)]
    if not means:
        yield MEAN_UNITS.not_applicable("no metric is a mean over classes")
        return
    by_name = estimates.set_index("metric")
    differing = []
    for mean in means:
        own = by_name.loc[mean.name]
        of_parts = by_name.loc[list(mean.of), "value"].mean(skipna=False)
        if pd.isna(of_parts) or np.isclose(own["value"], of_parts):
            continue
        template = "“{title}” (n = {n_units}, {mean:.3f} by its metrics)"
        values = {
            "title": metric_title(mean.name, own["title"]),
            "n_units": int(own["n_units"]),
            "mean": float(of_parts),
        }
        differing.append(Message(template, values))
    if not differing:
        return
    template = "means over the units in which all of their metrics are measured, not those of the values shown: {means}"
    n = len(differing)
    yield MEAN_UNITS.failed("warning", template, {"means": tuple(differing)}, n, len(means))


def duplicate_texts(
    units: pd.DataFrame,
    column: str,
    unit: str,
) -> Iterator[AnyCheck]:
    """Units that have the same text are no independent samples."""
    texts = pd.Series(dtype=object)
    if column in units:
        texts = units.drop_duplicates(unit)[column].dropna()
        texts = texts[texts.astype(str).str.strip() != ""]
    if texts.empty:
        yield DUPLICATE_TEXTS.not_applicable("the units have no texts")
        return
    doubled = texts[texts.duplicated(keep=False)]
    if doubled.empty:
        return
    template = "{n} units share {texts}: they are not independent, and intervals are too narrow"
    n_texts = doubled.nunique()
    shared = Message("a text") if n_texts == 1 else Message("{count} texts", {"count": n_texts})
    yield DUPLICATE_TEXTS.failed("warning", template, {"texts": shared}, len(doubled), len(texts))


def missing_units(
    units: Mapping[str, int],
    total: int,
) -> Iterator[Check]:
    """Runs of a study that lack units which others have. `units`: run -> number of its units, of `total`."""
    lacking = {run: total - n for run, n in units.items() if n < total}
    if not lacking:
        return
    runs = tuple(
        Message("{run} lacks {count}", {"run": run, "count": count})
        for run, count in lacking.items()
    )
    template = (
        "not all runs have all of the {total} units: {runs}; values of a run rest on its own units"
    )
    values = {"total": total, "runs": runs}
    n = sum(lacking.values())
    yield MISSING_UNITS.failed("warning", template, values, n, total * len(units))


def one_sided_missing(differences: pd.DataFrame) -> Iterator[Check]:
    """Cells that only one side of a comparison has: they take no part, and could change the difference.

    `differences`: rows of a comparison, those of the metrics that lead. One check a candidate, on the first metric
    that lacks cells; it says in how many others cells are lacking too.
    """
    n_missing = differences["missing_baseline"] + differences["missing_candidate"]
    for candidate, rows in differences[n_missing > 0].groupby("candidate", sort=False):
        first = rows.iloc[0]
        values: dict[str, Any] = {
            "title": metric_title(first["metric"], first["title"]),
            "baseline": first["baseline"],
            "candidate": candidate,
            "of_baseline": int(first["missing_baseline"]),
            "of_candidate": int(first["missing_candidate"]),
        }
        template = (
            "“{title}”: {n} of {of} values are on one side only ({baseline} lacks {of_baseline}, {candidate} lacks "
            "{of_candidate}) and take no part; {ends}{also}"
        )
        values["also"] = ""
        if pd.isna(first["delta_worst"]) or pd.isna(first["delta_best"]):
            values["ends"] = Message(
                "without limits of the metric nobody can say what they would change"
            )
        else:
            values["ends"] = Message(
                "if all of them were the worst or the best for {candidate}, the difference would be {worst:+.3f} or "
                "{best:+.3f}",
                {
                    "candidate": candidate,
                    "worst": first["delta_worst"],
                    "best": first["delta_best"],
                },
            )
        if len(rows) > 1:
            values["also"] = Message(" (so in {more} more metrics)", {"more": len(rows) - 1})
        n = int(first["missing_baseline"] + first["missing_candidate"])
        yield ONE_SIDED_MISSING.failed("warning", template, values, n, int(first["n_cells"]))


def missing_seeds(
    conditions: Mapping[str, Sequence[str]],
) -> Iterator[Check]:
    """Conditions of a study that lack seeds which others have."""
    seeds: dict[str, None] = {}
    for own in conditions.values():
        seeds.update(dict.fromkeys(own))
    lacking = {}
    for condition, own in conditions.items():
        missing = [seed for seed in seeds if seed not in own]
        if missing:
            lacking[condition] = missing
    if not lacking:
        return
    listed = tuple(
        Message("{condition} lacks {seeds}", {"condition": condition, "seeds": tuple(missing)})
        for condition, missing in lacking.items()
    )
    template = "not all conditions have all of the {total} seeds: {conditions}"
    n = sum(len(missing) for missing in lacking.values())
    values = {"total": len(seeds), "conditions": listed}
    yield MISSING_SEEDS.failed("warning", template, values, n, len(seeds) * len(conditions))
