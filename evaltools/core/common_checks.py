"""Checks that any suite may need: few units, what never varies, texts that come twice, units and seeds that lack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from .check import Check
from .language import listed, say
from .metric import Mean, MetricTable, metric_title

MIN_CONSTANT_UNITS = 10  # fewest units for which a constant metric raises a check
MIN_CLASS_UNITS = 10  # a class of fewer units raises a check: a macro mean is then biased
MIN_UNITS = 30  # fewer resampling units than this raise a check


def few_units(
    n: int,
    unit: str,
    n_samples: int = 0,
) -> Iterator[Check]:
    """Intervals from few units are wide, and their coverage is not that of many. `n_samples`: where units are clusters."""
    if n < MIN_UNITS:
        text = (
            "Only {n} samples ({unit}): intervals are wide, and one sample can change the result."
        )
        if n == 1:
            text = "Only 1 sample ({unit}): it decides the result alone."
        elif n_samples:
            text = "Only {n} clusters of {samples} samples: intervals are wide, and one cluster can change the result."
        yield Check("few-units", "warning", say(text, n=n, unit=unit, samples=n_samples), n, n)


def constant_metrics(
    estimates: pd.DataFrame,
    headline: Sequence[str],
) -> Iterator[Check]:
    """Metrics of the headline that no unit moves, so that they tell no two systems apart."""
    rows = estimates[estimates["metric"].isin(headline) & estimates["value"].notna()]
    rows = rows[rows["n_units"] >= MIN_CONSTANT_UNITS]
    at_a_limit = (rows["ci_low"] == rows["value"]) | (rows["ci_high"] == rows["value"])
    nothing_moves = (rows["value"] == 0) & (rows["ci_low"] == -rows["ci_high"])
    rows = rows[(rows["ci_method"] == "none") | at_a_limit | nothing_moves]
    if rows.empty:
        return
    metrics = listed(
        f"“{metric_title(name, title)}” = {value:g}"
        for name, title, value in zip(rows["metric"], rows["title"], rows["value"])
    )
    message = say("The same in all samples: {metrics}", metrics=metrics)
    yield Check("constant-metric", "info", message, len(rows), len(headline))


def class_sizes(
    estimates: pd.DataFrame,
    metrics: MetricTable,
) -> Iterator[Check]:
    """Means over classes of which some have few units: these decide the mean, which is too low on average."""
    n_units = dict(zip(estimates["metric"], estimates["n_units"]))
    titles = dict(zip(estimates["metric"], estimates["title"]))
    small: dict[str, str] = {}
    for mean in (metric for metric in metrics if isinstance(metric, Mean)):
        largest = max(n_units[name] for name in mean.of)
        for name in mean.of:
            count = int(n_units[name])
            if count < min(MIN_CLASS_UNITS, largest):
                small[name] = f"“{metric_title(name, titles[name])}” ({count})"
    if small:
        text = (
            "classes with fewer than {limit} units: {classes}; a mean over classes rests on each as much as on a "
            "large one"
        )
        message = say(text, limit=MIN_CLASS_UNITS, classes=listed(small.values()))
        yield Check("class-size", "warning", message, len(small), len(small))


def mean_units(
    estimates: pd.DataFrame,
    metrics: MetricTable,
) -> Iterator[Check]:
    """Means that are not those of their metrics as shown: units in which one of these is null take no part in them."""
    means = [metric for metric in metrics if isinstance(metric, Mean)]
    by_name = estimates.set_index("metric")
    differing = []
    for mean in means:
        own = by_name.loc[mean.name]
        of_parts = by_name.loc[list(mean.of), "value"].mean(skipna=False)
        if pd.isna(of_parts) or np.isclose(own["value"], of_parts):
            continue
        text = say(
            "“{title}” (n = {n_units}, {mean:.3f} by its metrics)",
            title=metric_title(mean.name, own["title"]),
            n_units=int(own["n_units"]),
            mean=float(of_parts),
        )
        differing.append(text)
    if differing:
        text = "means over the units in which all of their metrics are measured, not those of the values shown: {means}"
        message = say(text, means=listed(differing))
        yield Check("mean-units", "warning", message, len(differing), len(means))


def duplicate_texts(
    units: pd.DataFrame,
    column: str,
    unit: str,
) -> Iterator[Check]:
    """Units that have the same text are no independent samples."""
    if column not in units:
        return
    texts = units.drop_duplicates(unit)[column].dropna()
    texts = texts[texts.astype(str).str.strip() != ""]
    doubled = texts[texts.duplicated(keep=False)]
    if doubled.empty:
        return
    n_texts = doubled.nunique()
    shared = say("1 text") if n_texts == 1 else say("{count} texts", count=n_texts)
    text = (
        "{n} samples come from {texts}, so they are not independent: the true intervals are wider."
    )
    message = say(text, n=len(doubled), texts=shared)
    yield Check("duplicate-texts", "warning", message, len(doubled), len(texts))


def missing_units(
    units: Mapping[str, int],
    total: int,
) -> Iterator[Check]:
    """Runs of a study that lack units which others have. `units`: run -> number of its units, of `total`."""
    lacking = {run: total - n for run, n in units.items() if n < total}
    if not lacking:
        return
    runs = listed(
        say("{run} lacks {count}", run=run, count=count) for run, count in lacking.items()
    )
    text = "Not all runs have all {total} samples: {runs}. Values of a run rest on its own samples."
    message = say(text, total=total, runs=runs)
    n = sum(lacking.values())
    yield Check("missing-units", "warning", message, n, total * len(units))


def one_sided_missing(differences: pd.DataFrame) -> Iterator[Check]:
    """Cells that only one side of a comparison has: they take no part, and could change the difference.

    `differences`: rows of a comparison, those of the metrics that lead. One check a candidate, on the first metric
    that lacks cells.
    """
    n_missing = differences["missing_baseline"] + differences["missing_candidate"]
    for candidate, rows in differences[n_missing > 0].groupby("candidate", sort=False):
        first = rows.iloc[0]
        n = int(first["missing_baseline"] + first["missing_candidate"])
        of = int(first["n_cells"])
        text = (
            "{n} of {of} values of “{title}” are on one side only and left out ({baseline} lacks {of_baseline}, "
            "{candidate} lacks {of_candidate})"
        )
        message = say(
            text,
            title=metric_title(first["metric"], first["title"]),
            n=f"{n:,}",
            of=f"{of:,}",
            baseline=first["baseline"],
            candidate=candidate,
            of_baseline=int(first["missing_baseline"]),
            of_candidate=int(first["missing_candidate"]),
        )
        if pd.notna(first["delta_worst"]) and pd.notna(first["delta_best"]):
            message += say(
                "; were they all the worst, the difference would be {worst:+.3f}, all the best, {best:+.3f}",
                worst=first["delta_worst"],
                best=first["delta_best"],
            )
        yield Check("one-sided-missing", "warning", message, n, of)


def not_random(differences: pd.DataFrame) -> Iterator[Check]:
    """Metrics of which one side lacks other samples than it has: its values are no fair part of all.

    `differences`: rows of a comparison, those of the metrics that lead.
    """
    for candidate, rows in differences[differences["not_random"]].groupby("candidate", sort=False):
        titles = [metric_title(name, title) for name, title in zip(rows["metric"], rows["title"])]
        first = rows.iloc[0]
        n = int(first["missing_baseline"] + first["missing_candidate"])
        text = (
            "What is missing between {baseline} and {candidate} is not missing at random: on {metrics} the samples that "
            "one side lacks have other values on the other side. No verdict."
        )
        message = say(
            text,
            baseline=first["baseline"],
            candidate=candidate,
            metrics=listed(f"“{title}”" for title in titles),
        )
        yield Check("missing-not-random", "blocking", message, n, int(first["n_cells"]))


def other_texts(
    n: int,
    baseline: str,
    candidate: str,
) -> Iterator[Check]:
    """Samples that pair by their id but have other texts: they are other questions."""
    if n:
        text = "{n} samples of {baseline} and {candidate} pair by id but have other texts, and are left out."
        message = say(text, n=n, baseline=baseline, candidate=candidate)
        yield Check("other-texts", "warning", message, n, n)


def missing_seeds(
    conditions: Mapping[str, Sequence[str]],
) -> Iterator[Check]:
    """Conditions of a study that lack seeds which others have."""
    seeds = dict.fromkeys(seed for own in conditions.values() for seed in own)
    lacking = {}
    for condition, own in conditions.items():
        if missing := [seed for seed in seeds if seed not in own]:
            lacking[condition] = missing
    if not lacking:
        return
    conditions_text = listed(
        say("{condition} lacks {seeds}", condition=condition, seeds=listed(missing))
        for condition, missing in lacking.items()
    )
    text = "not all conditions have all of the {total} seeds: {conditions}"
    message = say(text, total=len(seeds), conditions=conditions_text)
    n = sum(len(missing) for missing in lacking.values())
    yield Check("missing-seeds", "warning", message, n, len(seeds) * len(conditions))
