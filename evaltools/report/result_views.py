"""Parts of a result's estimates, with titles, for its report."""

from __future__ import annotations

import pandas as pd

from ..core.metric import Metric, MetricTable
from ..core.suite import Result
from ..stats.coverage import coverage_note, grouped_notes, kind


def metric_table(result: Result) -> MetricTable:
    """The metric table that the result was made with."""
    return result.suite.metrics(result.options)


def headline(result: Result) -> pd.DataFrame:
    """The estimates that lead the page, with their titles."""
    return metric_rows(result, *result.suite.headline(result.options))


def coverage(result: Result) -> pd.DataFrame:
    """What simulation says of the headline intervals where it is not 95%: note, metrics (titles, joined)."""
    proportion = {m.name: isinstance(m, Metric) and m.proportion for m in metric_table(result)}
    clustered = len(result.units) > result.n_units
    return grouped_notes(
        (coverage_note(kind(proportion[e["name"]], e["value"], 1, clustered), e["n_units"]), e["title"])
        for e in headline(result).to_dict("records")
        if e["ci_method"] in ("bca", "percentile")
    )


def metric_group(result: Result, *groups: str) -> pd.DataFrame:
    """The estimates of one or more groups of metrics, aliases left out."""
    found = _titled(result, result.estimates[result.estimates["group"].isin(groups)])
    return found[~found["title"].str.startswith("= ")]


def metric_rows(result: Result, *names: str) -> pd.DataFrame:
    """The estimates of the named metrics, in this order, with their titles."""
    return _titled(result, result.estimates.set_index("name", drop=False).loc[list(names)].reset_index(drop=True))


def _titled(result: Result, estimates: pd.DataFrame) -> pd.DataFrame:
    titles = {m.name: m.title for m in metric_table(result)}
    return estimates.assign(title=estimates["name"].map(titles))
