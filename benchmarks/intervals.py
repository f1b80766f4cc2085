"""Time of intervals: of all metrics beside scipy's bootstrap, of a million units, and of ranks of many conditions.

    python benchmarks/intervals.py [--rounds 3]

Units are those of a bundled run of Conflict Review, drawn with replacement. In each round the contenders run one after the
other, so that whatever else the machine does falls on all; scipy computes ten of the metrics, scaled to all. Seconds of
the processor with one thread of the linear algebra, median (smallest to largest). Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

# threads that wait for a busy core cost ten times what they save
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from scipy import stats

import evaltools as et

RESAMPLES = 10_000


def drawn(
    units: pd.DataFrame,
    n: int,
    unit: str,
) -> pd.DataFrame:
    """The numbers of so many units, drawn with replacement; each is a unit of its own."""
    numbers = units.select_dtypes(["number", "bool"])
    frame = numbers.sample(
        n,
        replace=True,
        random_state=0,
        ignore_index=True,
    )
    return frame.assign(**{unit: range(n)})


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def shown(times: list[float]) -> str:
    return f"{statistics.median(times):.2f} ({min(times):.2f} to {max(times):.2f})"


def scipy_bootstrap(sums: list[np.ndarray]) -> None:
    """The BCa interval of each ratio of sums, one call a metric, as scipy's documentation shows it."""
    for numerator, denominator in sums:

        def ratio(
            a: np.ndarray,
            b: np.ndarray,
            axis: int,
        ) -> np.ndarray:
            return a.sum(axis) / b.sum(axis)

        how = {"paired": True, "vectorized": True, "n_resamples": RESAMPLES, "batch": 256}
        stats.bootstrap(
            (numerator, denominator),
            ratio,
            **how,
        )


def ranks(
    conditions: int,
    tasks: int,
) -> float:
    """Seconds of ranking so many conditions of one score a task."""
    rng = np.random.default_rng(0)
    names = np.repeat([f"c{i}" for i in range(conditions)], tasks)
    values = rng.random(len(names))
    ids = np.tile([f"t{i}" for i in range(tasks)], conditions)
    table = pd.DataFrame({"id": ids, "metric": "score", "value": values, "condition": names})
    study = et.study(table, suite="table")
    return seconds(lambda: study.rank("score"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rounds",
        type=int,
        default=3,
    )
    rounds = range(parser.parse_args().rounds)
    run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
    suite, metrics = run.suite, run.metrics
    resampling = et.Resampling(method="bca", n_resamples=RESAMPLES)
    few = drawn(
        run.units,
        600,
        suite.unit,
    )
    many = drawn(
        run.units,
        1_000_000,
        suite.unit,
    )
    ratios = [
        m for m in metrics if isinstance(m, et.Metric) and {m.numerator, m.denominator} <= set(few)
    ]
    sums = [
        (few[m.numerator].to_numpy(float), few[m.denominator].to_numpy(float)) for m in ratios[:10]
    ]
    ours, theirs, million = [], [], []
    for _ in rounds:
        ours.append(seconds(lambda: et.estimate(few, metrics, suite.unit, resampling)))
        theirs.append(seconds(lambda: scipy_bootstrap(sums)) * len(metrics) / len(sums))
        million.append(seconds(lambda: et.estimate(many, metrics, suite.unit, et.Resampling())))
    print(f"{len(metrics)} metrics, {RESAMPLES:,} resamples.\n")
    print("| what | s | limit |\n| --- | ---: | ---: |")
    print(f"| 600 units, this package | {shown(ours)} | 0.2 |")
    print(f"| 600 units, scipy, one call a metric | {shown(theirs)} | |")
    print(f"| a million units, this package | {shown(million)} | 5 |")
    print(f"| ranks of 181 conditions, 41 tasks | {shown([ranks(181, 41) for _ in rounds])} | 20 |")


if __name__ == "__main__":
    main()
