"""Many units: time and memory of all Conflict Review intervals, and agreement of cells with the plain bootstrap.

    python benchmarks/intervals.py                        agreement and time at n = 1e3, 1e4, 1e5, 1e6
    python benchmarks/intervals.py --sizes 1e6 --only time
    python benchmarks/intervals.py --compare              the same of a paired comparison

Units are drawn for every column of the metric table, so that each metric varies: shares, F1 scores of random
tuple counts, and latencies of which nearly every one is different. Agreement: bounds from cells against
bounds from the plain bootstrap of the same units, as parts of the interval's width; beside it, what two
seeds of the plain bootstrap differ by (Monte-Carlo error). Each is the median and the largest over metrics,
bounds and `--seeds` pairs of seeds. Of a comparison, also by how much p differs. The candidate of a comparison
has another unit's row in three of ten places. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from evaltools.core.metric import MetricTable, compile_table
from evaltools.cr.metrics import metrics
from evaltools.cr.options import CrOptions
from evaltools.cr.tuples import KEYS
from evaltools.stats import compare
from evaltools.stats import intervals as bootstrap
from evaltools.stats.intervals import Resampling, estimate

TABLE: MetricTable = metrics(CrOptions())
GROUPED = "latency_ms_mean"
"""The metric with about as many cells as units."""


def units(n: int, seed: int = 0) -> pd.DataFrame:
    """Random units with every column of the table."""
    rng = np.random.default_rng(seed)
    columns = compile_table(TABLE).columns
    frame = {c: rng.random(n) < rng.uniform(0.02, 0.6) for c in columns}
    frame |= {"n": np.ones(n, dtype=bool), "has_gold": np.ones(n, dtype=bool)}
    gold, found = rng.integers(1, 6, n), rng.integers(0, 6, n)
    for key in KEYS:
        before, after = (rng.binomial(np.minimum(gold, found), rng.uniform(0.5, 0.8)) for _ in range(2))
        frame[f"tp_{key}"], frame[f"fp_{key}"], frame[f"fn_{key}"] = after, found - after, gold - after
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
    """More units than n are drawn in cells."""
    modules = bootstrap, compare
    kept = [m.LARGE for m in modules]
    for m in modules:
        m.LARGE = n  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for m, was in zip(modules, kept):
            m.LARGE = was  # type: ignore[attr-defined]


Found = tuple[pd.DataFrame, pd.Series]
"""Bounds and p by metric; no p for a single run."""
What = Callable[[list[pd.DataFrame], Resampling], Found]


def single(frames: list[pd.DataFrame], resampling: Resampling) -> Found:
    found = estimate(frames[0], TABLE, "text_id", resampling).set_index("name")
    return found[["ci_low", "ci_high"]].dropna(), pd.Series(dtype=float)


def paired(frames: list[pd.DataFrame], resampling: Resampling) -> Found:
    sides = ({0: frame} for frame in frames)
    both = compare.compare(*sides, TABLE, "text_id", resampling, n_permutations=resampling.n_resamples)
    found = pd.concat([both.table, both.descriptive]).set_index("metric")
    return found[["ci_low", "ci_high"]].dropna(), found["p_value"].dropna()


def runs(n: int, what: What) -> list[pd.DataFrame]:
    """One run, or two that pair."""
    one = units(n)
    return [one, candidate(one)] if what is paired else [one]


def agreement(n: int, resamples: int, seeds: int, what: What) -> str:
    frames = runs(n, what)
    apart, noise, p_apart, p_noise = [], [], [], []
    with limit(n):
        plain = [what(frames, Resampling(n_resamples=resamples, seed=s)) for s in range(seeds + 1)]
    for seed in range(seeds):
        with limit(0):
            cells, p = what(frames, Resampling(n_resamples=resamples, seed=seed))
        (one, p_one), (other, p_other) = plain[seed : seed + 2]
        width = plain[0][0]["ci_high"] - plain[0][0]["ci_low"]
        apart.append((cells - other).abs().div(width, axis=0))
        noise.append((one - other).abs().div(width, axis=0))
        p_apart.append((p - p_other).abs().max())
        p_noise.append((p_one - p_other).abs().max())
    shown = [f"| {n:,} | {len(width)} "]
    for found, p_found in ((apart, p_apart), (noise, p_noise)):
        every, latency = (
            np.array([f.to_numpy() for f in some]) for some in (found, [f.loc[[GROUPED]] for f in found])
        )
        shown.append(f"| {np.median(every):.4f} | {every.max():.4f} | {np.median(latency):.4f} ")
        shown.append(f"| {np.max(p_found):.4f} " if np.isfinite(p_found).all() else "")
    return "".join(shown) + "|"


def peak_mb() -> float:
    """Peak memory of this process (the figure of getrusage would begin with that of its parent)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.findall(r"VmHWM:\s*(\d+) kB", status)[0]) / 1024


def measure(n: int, resamples: int, what: What) -> None:
    """Print seconds, CPU seconds and peak MB of all metrics in this process."""
    frames = runs(n, what)
    before = peak_mb()
    start, cpu = time.perf_counter(), time.process_time()
    found = what(frames, Resampling(n_resamples=resamples))
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    own = f"| {sum(f.memory_usage().sum() for f in frames) / 2**20:.0f} | {before:.0f} | {peak_mb():.0f} |"
    print(f"| {n:,} | {len(TABLE)} | {len(found[0])} | {seconds:.2f} | {cpu:.2f} {own}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1e3,1e4,1e5,1e6")
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--compare", action="store_true", help="a paired comparison instead of one run")
    parser.add_argument("--plain-to", type=float, default=1e5, help="largest n that the plain bootstrap is run at")
    parser.add_argument("--only", choices=["agreement", "time"])
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    what = paired if args.compare else single
    if args.measure:
        measure(args.measure, args.resamples, what)
        return
    sizes = [int(float(s)) for s in args.sizes.split(",")]
    if args.only != "time":
        print(
            f"Bounds from cells against the plain bootstrap, BCa, {args.resamples:,} resamples, {args.seeds} seeds;"
        )
        print("differences as parts of the interval's width" + ", and of p (largest).\n" * args.compare)
        p = ["p"] * args.compare
        header = ["units", "intervals", "median", "largest", GROUPED, *p, "two seeds: median", "largest", GROUPED, *p]
        print("| " + " | ".join(header) + " |")
        print("| " + " | ".join(["---:"] * len(header)) + " |", flush=True)
        for n in sizes:
            if n <= args.plain_to:
                print(agreement(n, args.resamples, args.seeds, what), flush=True)
    if args.only != "agreement":
        print(f"\nAll metrics, BCa, {args.resamples:,} resamples, each size in a process of its own.\n")
        print("| units | metrics | with interval | s | CPU s | frames, MB | before, MB | peak, MB |")
        print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
        for n in sizes:
            own = [sys.executable, __file__, "--measure", str(n), "--resamples", str(args.resamples)]
            subprocess.run(own + ["--compare"] * args.compare, check=True)


if __name__ == "__main__":
    main()
