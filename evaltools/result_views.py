"""Parts of a result's estimates, with titles, for its report."""

from __future__ import annotations

import pandas as pd

from .metric import MetricTable
from .suite import Result


def metric_table(result: Result) -> MetricTable:
    """The metric table that the result was made with."""
    return result.suite.metrics(result.options)


def headline(result: Result) -> pd.DataFrame:
    """The estimates that lead the page, with their titles."""
    return metric_rows(result, *result.suite.headline(result.options))


def metric_group(result: Result, *groups: str) -> pd.DataFrame:
    """The estimates of one or more groups of metrics, aliases left out."""
    titles = {m.name: m.title for m in result.suite.metrics(result.options)}
    found = result.estimates[result.estimates["group"].isin(groups)]
    found = found.assign(title=found["name"].map(titles))
    return found[~found["title"].str.startswith("= ")]


def metric_rows(result: Result, *names: str) -> pd.DataFrame:
    """The estimates of the named metrics, in this order, with their titles."""
    titles = {m.name: m.title for m in result.suite.metrics(result.options)}
    found = result.estimates.set_index("name", drop=False).loc[list(names)].reset_index(drop=True)
    return found.assign(title=found["name"].map(titles))
