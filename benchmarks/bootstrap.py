"""BCa intervals of many metrics: this package against scipy, arch and a plain NumPy loop, on the same data.

    python benchmarks/bootstrap.py --metrics 100 --units 600 --resamples 10000

Every metric is a ratio of sums 2 tp / (2 tp + fp) over the units. Each contender computes the BCa
interval of every metric; times are wall seconds of the fastest of `--repeat` passes (contenders other
than this package: one pass, of `--sample` metrics, scaled to all). Differences are the largest over bounds.
All run with one BLAS thread. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version

# one BLAS thread for every contender: threads that wait for a busy core cost ten times what they save
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from arch.bootstrap import IIDBootstrap
from scipy import stats

from evaltools.bootstrap import Resampling, estimate
from evaltools.metric import Metric

Bounds = tuple[float, float]


def data(metrics: int, units: int) -> tuple[np.ndarray, np.ndarray]:
    """tp and fp, each (units, metrics)."""
    rng = np.random.default_rng(0)
    gold = rng.integers(1, 5, (units, metrics))
    return rng.binomial(gold, rng.uniform(0.3, 0.9, metrics)).astype(float), rng.poisson(0.7, gold.shape).astype(
        float
    )


def package(tp: np.ndarray, fp: np.ndarray, resamples: int) -> list[Bounds]:
    m = tp.shape[1]
    table = [Metric(f"m{j}", f"2*tp{j}", f"2*tp{j} + fp{j}", "", "higher", "", "") for j in range(m)]
    columns = {f"tp{j}": tp[:, j] for j in range(m)} | {f"fp{j}": fp[:, j] for j in range(m)}
    frame = pd.DataFrame({"unit": np.arange(len(tp)), **columns})
    found = estimate(frame, table, "unit", Resampling(n_resamples=resamples))
    return list(zip(found["ci_low"], found["ci_high"]))


def ratio(tp: np.ndarray, fp: np.ndarray, axis: int = -1) -> np.ndarray:
    return 2 * tp.sum(axis) / (2 * tp.sum(axis) + fp.sum(axis))


def with_scipy(tp: np.ndarray, fp: np.ndarray, resamples: int, batch: int | None = None) -> Bounds:
    rng = np.random.default_rng(0)
    ci = stats.bootstrap(
        (tp, fp), ratio, paired=True, vectorized=True, n_resamples=resamples, method="BCa", batch=batch, rng=rng
    ).confidence_interval
    return ci.low, ci.high


def with_arch(tp: np.ndarray, fp: np.ndarray, resamples: int) -> Bounds:
    low, high = IIDBootstrap(tp, fp, seed=0).conf_int(ratio, reps=resamples, method="bca").ravel()
    return low, high


def with_numpy(tp: np.ndarray, fp: np.ndarray, resamples: int) -> Bounds:
    rng = np.random.default_rng(0)
    n, value = len(tp), ratio(tp, fp)
    replicates = np.empty(resamples)
    for b in range(resamples):
        at = rng.integers(0, n, n)
        replicates[b] = ratio(tp[at], fp[at])
    others = np.array([ratio(np.delete(tp, i), np.delete(fp, i)) for i in range(n)])
    d = others.mean() - others
    a = (d**3).sum() / (6 * (d**2).sum() ** 1.5)
    z0 = stats.norm.ppf((np.mean(replicates < value) + np.mean(replicates <= value)) / 2)
    z = z0 + stats.norm.ppf([0.025, 0.975])
    low, high = np.quantile(replicates, stats.norm.cdf(z0 + z / (1 - a * z)))
    return low, high


def timed(call: Callable[[], list[Bounds]]) -> tuple[float, list[Bounds]]:
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--metrics", type=int, default=100)
    parser.add_argument("--units", type=int, default=600)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--sample", type=int, default=100, help="metrics that the slower contenders compute")
    args = parser.parse_args()
    tp, fp = data(args.metrics, args.units)
    seconds, ours = min(
        (timed(lambda: package(tp, fp, args.resamples)) for _ in range(args.repeat)), key=lambda r: r[0]
    )
    single = min(timed(lambda: package(tp[:, :1], fp[:, :1], args.resamples))[0] for _ in range(args.repeat))
    rows = [("this package, all at once", single, seconds, 0.0)]
    contenders: list[tuple[str, Callable[[np.ndarray, np.ndarray], Bounds]]] = [
        (f"scipy {version('scipy')}, one call a metric", lambda a, b: with_scipy(a, b, args.resamples)),
        (f"scipy {version('scipy')}, batch=256", lambda a, b: with_scipy(a, b, args.resamples, 256)),
        (f"arch {version('arch')}", lambda a, b: with_arch(a, b, args.resamples)),
        ("NumPy loop", lambda a, b: with_numpy(a, b, args.resamples)),
    ]
    count = min(args.sample, args.metrics)
    for name, one in contenders:
        took, found = timed(lambda one=one: [one(tp[:, j], fp[:, j]) for j in range(count)])  # type: ignore[misc]
        apart = float(np.abs(np.array(found) - np.array(ours[:count])).max())
        rows.append((name, took / count, took / count * args.metrics, apart))
    print(
        f"{args.metrics} metrics, {args.units} units, {args.resamples} resamples, BCa; Python "
        f"{platform.python_version()}, numpy {version('numpy')}.\n"
    )
    print("| contender | one metric, s | all metrics, s | times as long | largest difference of a bound |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, each, total, apart in rows:
        print(f"| {name} | {each:.4f} | {total:.3f} | {total / seconds:.1f} | {apart:.1e} |")


if __name__ == "__main__":
    main()
