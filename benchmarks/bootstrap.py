"""BCa intervals of many metrics: this package against scipy, arch and a plain NumPy loop, on the same data.

    python benchmarks/bootstrap.py                      all metrics of Conflict Review, 600 units
    python benchmarks/bootstrap.py --ratios 100         ratios 2 tp / (2 tp + fp), each of columns of its own

Each contender computes the BCa interval of every metric that has one, this package the whole table.
There are `--rounds` rounds: the other contenders some metrics a round, scaled to all, between two passes of this
package, so that whatever else the machine does falls on both. Medians are printed, with the smallest and largest;
differences are the largest over all bounds. All run with one BLAS thread; seconds are those of the processor. Prints
a Markdown table.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import TypeVar

# one BLAS thread for every contender: threads that wait for a busy core cost ten times what they save
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from arch.bootstrap import IIDBootstrap
from intervals import TABLE, units
from scipy import stats

from evaltools.core.metric import Metric, MetricTable
from evaltools.core.metric_matrix import column_values, compile_table
from evaltools.core.resampling import Resampling
from evaltools.stats.intervals import estimate
from evaltools.stats.measured import measured_groups

Bounds = tuple[float, float]
Sums = Sequence[np.ndarray]


def own_columns(ratios: int, n: int) -> tuple[pd.DataFrame, MetricTable]:
    """Random units, and a table of ratios 2 tp / (2 tp + fp)."""
    rng = np.random.default_rng(0)
    gold = rng.integers(1, 5, (n, ratios))
    tp, fp = rng.binomial(gold, rng.uniform(0.3, 0.9, ratios)), rng.poisson(0.7, gold.shape)
    columns = {f"tp{j}": tp[:, j] for j in range(ratios)} | {
        f"fp{j}": fp[:, j] for j in range(ratios)
    }
    table = [
        Metric(name=f"m{j}", numerator=f"2*tp{j}", denominator=f"2*tp{j} + fp{j}", better="higher")
        for j in range(ratios)
    ]
    return pd.DataFrame({"text_id": np.arange(n), **columns}), table


def sums_of(frame: pd.DataFrame, table: MetricTable) -> dict[str, Sums]:
    """Of each metric the numerator and denominator of each of its ratios, in the rows that are measured."""
    compiled = compile_table(table)
    sums = {}
    for group in measured_groups(table, [frame], "text_id"):
        values = column_values(group.rows(frame), compiled.columns)
        num, den = values @ compiled.numerator, values @ compiled.denominator
        for metric in group.metrics:
            ratios = [ratio for ratio, _ in compiled.parts[metric]]
            sums[compiled.names[metric]] = [x for r in ratios for x in (num[:, r], den[:, r])]
    return sums


def statistic(*sums: np.ndarray, axis: int = -1) -> np.ndarray:
    """A ratio of sums, or the first of two less the second."""
    ratios = [num.sum(axis) / den.sum(axis) for num, den in zip(sums[::2], sums[1::2])]
    return ratios[0] - ratios[1] if len(ratios) == 2 else ratios[0]


def with_scipy(sums: Sums, resamples: int, batch: int | None = None) -> Bounds:
    ci = stats.bootstrap(
        sums,
        statistic,
        paired=True,
        vectorized=True,
        n_resamples=resamples,
        method="BCa",
        batch=batch,
        rng=np.random.default_rng(0),
    ).confidence_interval
    return ci.low, ci.high


def with_arch(sums: Sums, resamples: int) -> Bounds:
    low, high = (
        IIDBootstrap(*sums, seed=0).conf_int(statistic, reps=resamples, method="bca").ravel()
    )
    return low, high


def with_numpy(sums: Sums, resamples: int) -> Bounds:
    rng = np.random.default_rng(0)
    n, value = len(sums[0]), statistic(*sums)
    replicates = np.empty(resamples)
    for b in range(resamples):
        at = rng.integers(0, n, n)
        replicates[b] = statistic(*(x[at] for x in sums))
    others = np.array([statistic(*(np.delete(x, i) for x in sums)) for i in range(n)])
    d = others.mean() - others
    a = (d**3).sum() / (6 * (d**2).sum() ** 1.5)
    z0 = stats.norm.ppf((np.mean(replicates < value) + np.mean(replicates <= value)) / 2)
    z = z0 + stats.norm.ppf([0.025, 0.975])
    low, high = np.quantile(replicates, stats.norm.cdf(z0 + z / (1 - a * z)))
    return low, high


T = TypeVar("T")


def timed(call: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--ratios", type=int, help="so many ratios instead of the metrics of Conflict Review"
    )
    parser.add_argument("--units", type=int, default=600)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    frame, table = (
        own_columns(args.ratios, args.units) if args.ratios else (units(args.units), TABLE)
    )
    resampling = Resampling(method="bca", n_resamples=args.resamples)
    compiled = compile_table(table)

    def package() -> pd.DataFrame:
        return estimate(frame, table, "text_id", resampling).set_index("name")

    known = package()
    with_interval = known.index[known["ci_method"] == "bca"].to_numpy()
    ends = [pd.Series(end, index=compiled.names) for end in compiled.ends]
    sums = sums_of(frame, table)
    contenders: list[tuple[str, Callable[[Sums], Bounds]]] = [
        (f"scipy {version('scipy')}, one call a metric", lambda x: with_scipy(x, args.resamples)),
        (f"scipy {version('scipy')}, batch=256", lambda x: with_scipy(x, args.resamples, 256)),
        (f"arch {version('arch')}", lambda x: with_arch(x, args.resamples)),
        ("NumPy loop", lambda x: with_numpy(x, args.resamples)),
    ]
    ours: list[float] = []
    rows = []
    for name, one in contenders:
        took, ratios, apart = [], [], 0.0
        for part in np.array_split(with_interval, args.rounds):
            before, bounds = timed(package)
            seconds, found = timed(lambda one=one, part=part: [one(sums[m]) for m in part])  # type: ignore[misc]
            after, _ = timed(package)
            ours += [before, after]
            took.append(seconds / len(part) * len(with_interval))
            ratios.append(2 * took[-1] / (before + after))
            expected = bounds.loc[part, ["ci_low", "ci_high"]].to_numpy(dtype=float)
            # random units do not keep within the limits of a metric, at which intervals end here
            within = np.clip(np.array(found), *(end[part].to_numpy()[:, None] for end in ends))
            apart = max(apart, float(np.abs(within - expected).max()))
        rows.append((name, len(with_interval), took, ratios, apart))
    rows.insert(0, ("this package", len(table), ours, [1.0], 0.0))
    print(
        f"{args.units} units, {args.resamples} resamples, BCa; Python {platform.python_version()}, "
        f"numpy {version('numpy')}.\n"
    )
    print_table(rows)


def print_table(rows: list[tuple[str, int, list[float], list[float], float]]) -> None:
    """Each row: contender, metrics, seconds of each round, times as long, largest difference."""
    print(
        "| contender | metrics | s (range) | times as long (range) | largest difference of a bound |"
    )
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, count, took, ratios, apart in rows:
        seconds = f"{statistics.median(took):.2f} ({min(took):.2f} to {max(took):.2f})"
        times = f"{statistics.median(ratios):.0f} ({min(ratios):.0f} to {max(ratios):.0f})"
        print(f"| {name} | {count} | {seconds} | {times} | {apart:.1e} |")


if __name__ == "__main__":
    main()
