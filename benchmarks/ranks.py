"""How often ranks are wrong: data sets of equal conditions in which some pair is shown to differ, and time.

    python benchmarks/ranks.py > ranks.md
    python benchmarks/ranks.py --conditions 3,10 --datasets 1000
    python benchmarks/ranks.py --pools --conditions 10,60
    python benchmarks/ranks.py --command

Each condition is a column of values that share the effect of their sample; "half high" lifts every second condition,
and counts a wrong pair among equal ones as an error. The share of right pairs that are shown stands beside it. Prints
Markdown. `--pools`: what the seeds of the pair alone, those of all conditions alone, and both would do on the same data.
`--command` times `evaltools rank` of 181 conditions on 41 samples, or on one of 41 metrics, instead.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtr

from evaltools.core.metric import Metric
from evaltools.core.resampling import Resampling
from evaltools.stats import max_t
from evaltools.stats.max_t import joint_tests

PERMUTATIONS = 1000
Runs = dict[str, dict[str, pd.DataFrame]]


def normal(total: np.ndarray) -> np.ndarray:
    return total


def event(total: np.ndarray) -> np.ndarray:
    """1 for some four of five cells."""
    return (total < 0.84).astype(float)


CELLS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int, float, bool]] = {
    # name -> (value of a cell, seeds, variance of seeds, whether every second condition is lifted)
    "scores": (normal, 1, 0.0, False),
    "events (.8)": (event, 1, 0.0, False),
    "scores, half high": (normal, 1, 0.0, True),
    "scores, 3 seeds": (normal, 3, 0.0, False),
    "scores, 3 seeds of variance .1": (normal, 3, 0.1, False),
    "events, 3 seeds of variance .1": (event, 3, 0.1, False),
    "events, 3 seeds": (event, 3, 0.0, False),
}


def dataset(name: str, conditions: int, n: int, rng: np.random.Generator) -> Runs:
    value, seeds, seed_variance, half_high = CELLS[name]
    sample = np.sqrt(0.5) * rng.normal(size=n)
    runs: Runs = {}
    for c in range(conditions):
        own = np.sqrt(0.2) * rng.normal(size=n) + (0.3 if half_high and c % 2 else 0.0)
        of_seed = {}
        for seed in range(seeds):
            of_cell = np.sqrt(0.3) * rng.normal(size=n)
            shift = np.sqrt(seed_variance) * rng.normal()
            y = value(sample + own + of_cell + shift)
            of_seed[str(seed)] = pd.DataFrame({"id": np.arange(n), "y": y, "n": 1})
        runs[f"c{c:03d}"] = of_seed
    return runs


def judged(name: str, conditions: int, n: int, rng: np.random.Generator) -> tuple[bool, float]:
    """(whether an equal pair is shown to differ, share of the other pairs that are)."""
    metric = Metric(
        name="m",
        numerator="y",
        denominator="n",
        better="higher",
        proportion=CELLS[name][0] is event,
    )
    runs = dataset(name, conditions, n, rng)
    resampling = Resampling(seed=int(rng.integers(2**31)))
    pairs = joint_tests(runs, [metric], "id", "m", resampling, PERMUTATIONS).pairs
    shown = (pairs["p_adjusted"] <= resampling.level).to_numpy()
    lifted = CELLS[name][3]
    parity = [pairs[side].str[1:].astype(int) % 2 for side in ("baseline", "candidate")]
    equal = (parity[0] == parity[1]).to_numpy() | (not lifted)
    right = shown[~equal].mean() if lifted else np.nan
    return bool((shown & equal).any()), right


def pool_table(conditions: list[int], samples: int, datasets: int, seconds: float) -> None:
    """Some wrong pair, by the spread of the seeds that T is lowered by."""
    print(
        "| data | conditions | samples | data sets | seeds of the pair alone | of all alone | both |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    both = max_t._pools
    pools = [
        lambda *terms: both(*terms)[:1],
        lambda *terms: both(*terms)[1:],
        both,
    ]
    for name in [name for name in CELLS if CELLS[name][1] > 1]:
        for n_conditions in conditions:
            wrong = []
            start = time.process_time()
            while len(wrong) < datasets and time.process_time() - start < seconds:
                of_pools = []
                for max_t._pools in pools:
                    # the same data for each
                    rng = np.random.default_rng([n_conditions, samples, len(name), len(wrong)])
                    of_pools.append(judged(name, n_conditions, samples, rng)[0])
                wrong.append(of_pools)
            rates = " | ".join(f"{100 * rate:.1f}" for rate in np.mean(wrong, axis=0))
            print(f"| {name} | {n_conditions} | {samples} | {len(wrong)} | {rates} |", flush=True)
    max_t._pools = both


def write_table(path: Path, conditions: int, samples: int, metrics: int, seeds: int) -> None:
    """A long file of scores in 0..1; half of the spread of a cell is that of its sample."""
    rng = np.random.default_rng(0)
    sample = rng.normal(size=(metrics, samples))
    ids = np.tile(np.arange(samples), metrics)
    names = np.repeat([f"score{m}" for m in range(metrics)], samples)
    rows = []
    for c in range(conditions):
        own = rng.normal(0, 0.3)
        for seed in range(seeds):
            scores = ndtr(sample + own + rng.normal(size=sample.shape)).ravel()
            frame = pd.DataFrame({"id": ids, "metric": names, "value": scores})
            rows.append(frame.assign(condition=f"system{c:03d}", seed=seed))
    pd.concat(rows).to_csv(path, index=False)


def time_command() -> None:
    """Seconds and largest memory of `evaltools rank`, once each, in a folder that is thrown away."""
    print("| conditions | samples | metrics | seeds | s | CPU s | peak so far, MB |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    command = [sys.executable, "-m", "evaltools.app.cli", "rank", "scores.csv"]
    for samples, metrics, seeds in ((41, 1, 1), (50, 41, 1), (41, 1, 3)):
        with tempfile.TemporaryDirectory() as folder:
            write_table(Path(folder, "scores.csv"), 181, samples, metrics, seeds)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            start = time.perf_counter()
            subprocess.run(
                [*command, "--metric", "score0"],
                cwd=folder,
                check=True,
                stdout=subprocess.DEVNULL,
            )
            seconds = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        peak = after.ru_maxrss / 1024
        print(
            f"| 181 | {samples} | {metrics} | {seeds} | {seconds:.1f} | {cpu:.1f} | {peak:.0f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conditions", default="3,10,60,180")
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--datasets", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=20, help="at most so long for each cell")
    parser.add_argument("--pools", action="store_true", help="compare the pools of seeds instead")
    parser.add_argument("--command", action="store_true", help="time the command instead")
    args = parser.parse_args()
    if args.command:
        time_command()
        return
    if args.pools:
        sizes = [int(c) for c in args.conditions.split(",")]
        pool_table(sizes, args.samples, args.datasets, args.seconds)
        return
    print(
        "| data | conditions | data sets | some wrong pair, % | SE | right pairs shown, % | s each |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in CELLS:
        for conditions in (int(c) for c in args.conditions.split(",")):
            rng = np.random.default_rng([conditions, args.samples, len(name)])
            wrong, right = [], []
            start = time.process_time()
            while len(wrong) < args.datasets and time.process_time() - start < args.seconds:
                is_wrong, share = judged(name, conditions, args.samples, rng)
                wrong.append(is_wrong)
                right.append(share)
            each = (time.process_time() - start) / len(wrong)
            rate = np.mean(wrong)
            error = 100 * np.sqrt(max(rate * (1 - rate), 0.01 * 0.99) / len(wrong))
            power = "" if np.isnan(right[0]) else f"{100 * np.mean(right):.0f}"
            print(
                f"| {name} | {conditions} | {len(wrong)} | {100 * rate:.1f} | {error:.1f} "
                f"| {power} | {each:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
