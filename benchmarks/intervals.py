"""Many units: agreement of the closed forms with the bootstrap, and time and memory of all Conflict Review intervals.

    python benchmarks/intervals.py                        agreement, and time at n = 1e3, 1e4, 1e5, 1e6
    python benchmarks/intervals.py --sizes 1e6 --only time
    python benchmarks/intervals.py --sizes 1e6 --only time --compare

Agreement: bounds in closed form against those of the bootstrap of the same units, in percent of the interval's width,
by kind of metric; beside it, what two seeds of the bootstrap differ by (Monte-Carlo error). Each is the largest
over metrics, bounds and `--rounds` data sets. Of comparisons, also by how much p differs. Time: units are drawn for
every column of the metric table, so that each metric varies. The candidate of a comparison has another unit's row in
three of ten places. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# one BLAS thread: threads that wait for a busy core cost ten times what they save
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd

from evaltools.core.metric import Difference, Mean, Metric, MetricTable
from evaltools.core.metric_matrix import compile_table
from evaltools.core.plugins import get_suite
from evaltools.core.resampling import Method, Resampling
from evaltools.stats import bootstrap, measured
from evaltools.stats.compare import compare
from evaltools.stats.design import Runs
from evaltools.stats.intervals import estimate
from evaltools.suites.cr.tuples import KEYS

TABLE: MetricTable = get_suite("cr").metrics(get_suite("cr").options())

CLASSES = ("a", "b", "c", "d")
KINDS: dict[str, MetricTable] = {
    "rates .5 and .3": [
        Metric(name="half", numerator="half", denominator="n", better="higher", proportion=True),
        Metric(
            name="of a tenth", numerator="hit", denominator="some", better="higher", proportion=True
        ),
    ],
    "rates .03 and .005": [
        Metric(name=name, numerator=name, denominator="n", better="higher", proportion=True)
        for name in ("rare", "very")
    ],
    "micro and mean F1": [
        Metric(name="micro", numerator="2*tp", denominator="2*tp + fp + fn", better="higher"),
        Metric(name="mean", numerator="f1", denominator="n", better="higher"),
        Difference(name="difference", minuend="micro", subtrahend="mean", better="higher"),
    ],
    "mean of milliseconds": [Metric(name="ms", numerator="ms", denominator="n", better="lower")],
    "macro F1 and its classes": [
        *(
            Metric(
                name=k,
                numerator=f"2*tp_{k}",
                denominator=f"2*tp_{k} + fp_{k} + fn_{k}",
                better="higher",
                empty=0.0,
            )
            for k in CLASSES
        ),
        Mean(name="macro", of=CLASSES, better="higher"),
    ],
}
MIXED: MetricTable = [m for table in KINDS.values() for m in table]


def mixed_units(n: int, seed: int, key: int = 0) -> pd.DataFrame:
    """Random units with every column of KINDS; those of one `seed` are alike under every `key`."""
    shared, rng = np.random.default_rng([n, seed]), np.random.default_rng([n, seed, key + 1])
    truth, score, some = (
        shared.choice(4, n, p=[0.6, 0.25, 0.1, 0.05]),
        shared.beta(2, 1, n),
        shared.random(n) < 0.1,
    )
    said = np.where(rng.random(n) < 0.7, truth, rng.integers(0, 4, n))
    frame = pd.DataFrame(
        {
            "id": np.arange(n),
            "n": 1,
            "half": rng.random(n) < score * 0.75,
            "some": some,
            "hit": some & (rng.random(n) < 0.3),
            "rare": rng.random(n) < 0.03,
            "very": rng.random(n) < 0.005,
            "tp": rng.binomial(3, score),
            "fp": rng.poisson(0.8, n),
            "fn": rng.poisson(0.5, n),
            "f1": rng.binomial(6, score) / 6,
            "ms": shared.lognormal(9, 1, n) * rng.lognormal(0, 0.2, n),
        }
    )
    for k, name in enumerate(CLASSES):
        frame[f"tp_{name}"] = (truth == k) & (said == k)
        frame[f"fp_{name}"] = (truth != k) & (said == k)
        frame[f"fn_{name}"] = (truth == k) & (said != k)
    return frame


def clustered(frame: pd.DataFrame) -> pd.DataFrame:
    """The same rows in units of one to five rows."""
    rng = np.random.default_rng(len(frame))
    return frame.assign(
        id=np.repeat(np.arange(len(frame)), rng.integers(1, 6, len(frame)))[: len(frame)]
    )


def units(n: int, seed: int = 0) -> pd.DataFrame:
    """Random units with every column of the table."""
    rng = np.random.default_rng(seed)
    columns = compile_table(TABLE).columns
    frame = {c: rng.random(n) < rng.uniform(0.02, 0.6) for c in columns}
    frame |= {"n": np.ones(n, dtype=bool), "has_gold": np.ones(n, dtype=bool)}
    gold, found = rng.integers(1, 6, n), rng.integers(0, 6, n)
    for key in KEYS:
        before, after = (
            rng.binomial(np.minimum(gold, found), rng.uniform(0.5, 0.8)) for _ in range(2)
        )
        frame[f"tp_{key}"], frame[f"fp_{key}"], frame[f"fn_{key}"] = (
            after,
            found - after,
            gold - after,
        )
        for stage, hits in (("s1", before), ("s2", after)):
            frame[f"f1_{stage}_{key}"] = 2 * hits / (gold + found)
        right = before == gold, after == gold
        for name, b, a in (("fix", 0, 1), ("break", 1, 0), ("keep", 1, 1), ("still", 0, 0)):
            frame[f"{name}_{key}"] = (right[0] == b) & (right[1] == a)
    for c in columns:
        if re.match("f1_(explicit|implicit|after)", c):
            frame[c] = frame["f1_s2_otepol"] * (rng.random(n) < 0.7)
    frame["latency_ms"] = np.where(frame["has_latency"], rng.lognormal(9.8, 0.6, n), np.nan)
    return pd.DataFrame(frame).assign(text_id=np.arange(n))


def candidate(frame: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    """The units with the row of some other unit in three of ten places: no true difference."""
    rng = np.random.default_rng(seed)
    n = len(frame)
    taken = np.where(rng.random(n) < 0.3, rng.integers(0, n, n), np.arange(n))
    return frame.iloc[taken].assign(text_id=frame["text_id"].to_numpy())


@contextmanager
def limit(n: int) -> Iterator[None]:
    """More units than n have closed forms."""
    modules = bootstrap, measured
    for module in modules:
        module.LARGE = n  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for module in modules:
            module.LARGE = 2_000  # type: ignore[attr-defined]


def found(what: str, n: int, seed: int, resampling: Resampling) -> pd.DataFrame:
    """Bounds (and p, of comparisons) of MIXED by metric."""
    if what in ("one run", "clusters"):
        frame = mixed_units(n, seed)
        return estimate(
            clustered(frame) if what == "clusters" else frame, MIXED, "id", resampling
        ).set_index("name")
    baseline: Runs = {0: mixed_units(n, seed, 0)}
    seeds = (1,) if what == "paired" else (1, 2, 3)
    others: Runs = {(0 if what == "paired" else s): mixed_units(n, seed, s) for s in seeds}
    sides = compare(
        baseline, others, MIXED, "id", resampling, n_permutations=resampling.n_resamples
    )
    return sides.table.set_index("metric")


def agreement(what: str, n: int, method: Method, resamples: int, rounds: int) -> str:
    apart, noise, p = [], [], []
    for seed in range(rounds):
        with limit(10**9):
            one, other = (
                found(what, n, seed, Resampling(method=method, n_resamples=resamples, seed=s))
                for s in (0, 1)
            )
        with limit(0):
            closed = found(what, n, seed, Resampling(method=method))
        width = one["ci_high"] - one["ci_low"]
        for bound in ("ci_low", "ci_high"):
            apart.append(
                ((closed[bound] - (one[bound] + other[bound]) / 2).abs() / width * 100).rename(seed)
            )
            noise.append(((one[bound] - other[bound]).abs() / width * 100).rename(seed))
        if "p_samples" in one:
            p.append(
                float(
                    (closed["p_samples"] - (one["p_samples"] + other["p_samples"]) / 2).abs().max()
                )
            )
    shown = [f"| {what} | {n:,} | {method} "]
    for table in KINDS.values():
        names = [m.name for m in table]
        largest = (max(float(f[names].max()) for f in some) for some in (apart, noise))
        shown.append("| {:.1f} ({:.1f}) ".format(*largest))
    return "".join(shown) + (f"| {max(p):.3f} |" if p else "| |")


def runs(n: int, compared: bool) -> list[pd.DataFrame]:
    """One run, or two that pair."""
    one = units(n)
    return [one, candidate(one)] if compared else [one]


def peak_mb() -> float:
    """Peak memory of this process (the figure of getrusage would begin with that of its parent)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.findall(r"VmHWM:\s*(\d+) kB", status)[0]) / 1024


def measure(n: int, compared: bool) -> None:
    """Print seconds, CPU seconds and peak MB of all metrics in this process."""
    frames = runs(n, compared)
    before = peak_mb()
    start, cpu = time.perf_counter(), time.process_time()
    if compared:
        both = compare({0: frames[0]}, {0: frames[1]}, TABLE, "text_id", Resampling())
        bounds = both.table["ci_low"]
    else:
        bounds = estimate(frames[0], TABLE, "text_id", Resampling())["ci_low"]
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    own = f"| {sum(f.memory_usage().sum() for f in frames) / 2**20:.0f} | {before:.0f} | {peak_mb():.0f} |"
    print(f"| {n:,} | {len(TABLE)} | {bounds.notna().sum()} | {seconds:.2f} | {cpu:.2f} {own}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1e3,1e4,1e5,1e6", help="units, for time")
    parser.add_argument("--agree", default="2e3,5e3,2e4", help="units, for agreement")
    parser.add_argument(
        "--resamples", type=int, default=40_000, help="of the bootstrap that is agreed with"
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument(
        "--compare", action="store_true", help="time of a paired comparison instead of one run"
    )
    parser.add_argument("--only", choices=["agreement", "time"])
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.measure:
        measure(args.measure, args.compare)
        return
    if args.only != "time":
        print(
            f"Closed form against the mean of two bootstraps, {args.resamples:,} resamples, {args.rounds} data sets;"
        )
        print(
            "largest difference of a bound in percent of the interval's width (of the two bootstraps).\n"
        )
        header = ["intervals", "units", "method", *KINDS, "p"]
        print("| " + " | ".join(header) + " |")
        print("| --- | ---: | --- " + "| ---: " * (len(KINDS) + 1) + "|", flush=True)
        for what in ("one run", "clusters", "paired", "one seed against three"):
            for n in (int(float(x)) for x in args.agree.split(",")):
                for method in ("bca", "percentile") if n < 10_000 else ("bca",):
                    print(agreement(what, n, method, args.resamples, args.rounds), flush=True)
    if args.only != "agreement":
        print("\nAll metrics, BCa, each size in a process of its own.\n")
        print(
            "| units | metrics | with interval | s | CPU s | frames, MB | before, MB | peak, MB |"
        )
        print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
        for n in (int(float(x)) for x in args.sizes.split(",")):
            own = [sys.executable, __file__, "--measure", str(n)]
            subprocess.run(own + ["--compare"] * args.compare, check=True)


if __name__ == "__main__":
    main()
