"""Repeated draws of the same samples (epochs, repeats: the column `trial`): how often one of several is right."""

from __future__ import annotations

from numbers import Integral

import pandas as pd

from ..core.errors import UsageError
from ..core.metric import Metric
from ..stats.differences import unit_values
from ..stats.intervals import estimate
from .run import Run


def pass_at_k(run: Run, k: int, metric: str | None = None) -> pd.Series:
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
    from scipy.stats import hypergeom  # slow to import

    trials, unit = run.data, run.suite.unit
    if "trial" not in trials:
        raise UsageError(f"{run.name} has no trials: every sample was drawn once")
    name = run.metric(metric or run.headline[0]).name
    each_alone = trials.assign(row=range(len(trials)))
    values = unit_values(each_alone, run.metrics, "row", name).to_numpy()
    if not pd.Series(values).dropna().isin([0, 1]).all():
        raise UsageError("pass@k needs a metric whose trials are 0 or 1")
    sample = list({unit: "", "item" if "item" in trials else unit: ""})
    units = trials.assign(right=values).groupby(sample, sort=False)["right"]
    units = units.agg(n="count", right="sum").reset_index()
    is_whole = isinstance(k, Integral) and k >= 1
    if not is_whole or not (units["n"] >= k).any():
        raise UsageError(
            f"pass@k: expected k from 1 to the number of trials of a sample, got {k!r}"
        )
    units = units[units["n"] >= k]
    units = units.assign(passed=1 - hypergeom.pmf(0, units["n"], units["right"], k), one=1)
    passed = Metric(
        name=f"pass@{k}",
        numerator="passed",
        denominator="one",
        better="higher",
        bounds=(0, 1),
        proportion=k == 1 and bool((units["n"] == 1).all()),
    )
    return estimate(units, [passed], unit, run.resampling).iloc[0].rename(passed.name)
