"""Repeated draws of the same samples (epochs, repeats: the column `trial`): how often one of several is right."""

from __future__ import annotations

from numbers import Integral

import pandas as pd

from ..core.errors import UsageError
from ..core.metric import Metric
from ..stats.differences import unit_values
from ..stats.intervals import estimate
from .run import Run

ROW = "row"


def pass_at_k(
    run: Run,
    k: int,
    metric: str | None = None,
) -> pd.Series:
    """How often at least one of k trials of a sample is right, with its interval for new samples and new draws.

    Of n trials of a sample of which c are right it is 1 - C(n - c, k) / C(n, k), the mean over all choices of k of them;
    samples with fewer than k trials take no part, and those of a cluster are resampled together. The Series has what
    one estimate of a run has. `metric`: one whose trials are 0 or 1, by default the first of the headline. UsageError
    for other values, k below 1, and a run without k trials of any sample.

    Reference: Chen and others, "Evaluating large language models trained on code" (2021), arXiv 2107.03374.

    >>> import evaltools as et
    >>> rows = [{"id": i, "trial": t, "metric": "right", "value": int(t > i % 3)} for i in range(12) for t in range(3)]
    >>> run = et.evaluate("table", rows)
    >>> round(float(et.pass_at_k(run, 2)["value"]), 3)
    0.556
    """
    sample, values = _values(run, metric)
    if not values["value"].isin([0, 1]).all():
        raise UsageError("pass@k needs a metric whose trials are 0 or 1")
    unit = run.suite.unit  # the samples of a cluster are resampled together
    grouped = values.groupby(list({unit: "", sample: ""}), sort=False)["value"]
    counts = grouped.agg(n="count", right="sum").reset_index()
    is_whole = isinstance(k, Integral) and k >= 1
    if not is_whole or not (counts["n"] >= k).any():
        raise UsageError(
            f"pass@k: expected k from 1 to the number of trials of a sample, got {k!r}"
        )
    counts = counts[counts["n"] >= k]
    from scipy.stats import hypergeom  # slow to import

    none_right = hypergeom.pmf(
        0,
        counts["n"],
        counts["right"],
        k,
    )
    units = counts.assign(passed=1 - none_right, one=1)
    name = f"pass@{k}"
    passed = Metric(
        name=name,
        numerator="passed",
        denominator="one",
        better="higher",
        title=name,
        bounds=(0, 1),
        proportion=k == 1 and bool((counts["n"] == 1).all()),
    )
    frame = estimate(
        units,
        [passed],
        unit=unit,
        resampling=run.resampling,
    )
    return frame.iloc[0].rename(name)


def _values(
    run: Run,
    metric: str | None,
) -> tuple[str, pd.DataFrame]:
    """(column of the samples, a row a measured trial with its sample, its resampling unit and its value)."""
    data = run.data
    if "trial" not in data:
        raise UsageError(f"{run.name} has no trials: every sample was drawn once")
    name = run.metric(metric or run.headline[0]).name
    sample = "item" if "item" in data else run.suite.unit
    trials_as_units = data.assign(**{ROW: range(len(data))})
    values = unit_values(
        trials_as_units,
        run.metrics,
        ROW,
        name,
    )
    names = data[list({sample: "", run.suite.unit: ""})]
    frame = names.assign(value=values.to_numpy())
    return sample, frame.dropna(subset=["value"])
