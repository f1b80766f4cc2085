"""How often today's intervals hold the truth, and how often verdicts are wrong, on fresh data whose truth is known.

    python benchmarks/coverage.py --sets 200        # some minutes; the table that docs/statistics.md speaks of

Every cell runs the package's own `estimate`, `aggregate` and `compare`. Columns: cell, n, covers (with its standard
error), median width, and of differences the share of better or worse.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import pandas as pd

from evaltools.core.metric import Metric
from evaltools.core.resampling import Resampling
from evaltools.stats.compare import compare
from evaltools.stats.intervals import estimate
from evaltools.stats.seeds import aggregate

R = Resampling(n_resamples=1_000)
SCORE = Metric(name="m", numerator="y", denominator="n", better="higher", bounds=(0, 1))
RATE = Metric(name="m", numerator="y", denominator="n", better="higher", proportion=True)
FREE = Metric(name="m", numerator="y", denominator="n", better="higher")
LEVELS = np.array([0, 0.4, 0.5, 2 / 3, 0.8, 1])
F1 = np.array([0.2, 0.1, 0.15, 0.2, 0.1, 0.25])
NEAR_1 = np.array([0.02, 0.01, 0.02, 0.03, 0.02, 0.9])

Draw = Callable[[np.random.Generator, int], np.ndarray]


def scores(p: np.ndarray) -> Draw:
    return lambda rng, n: rng.choice(LEVELS, n, p=p)


def frame(y: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"id": range(len(y)), "y": y, "n": 1})


# name, metric, sizes, values, truth
RUNS: list[tuple[str, Metric, tuple[int, ...], Draw, float]] = [
    ("F1", SCORE, (20, 60, 200), scores(F1), float(LEVELS @ F1)),
    ("F1, 90% ones", SCORE, (20, 60, 200), scores(NEAR_1), float(LEVELS @ NEAR_1)),
    ("rate .05", RATE, (20, 60, 200), lambda rng, n: (rng.random(n) < 0.05) * 1.0, 0.05),
    ("rate .5", RATE, (20, 60, 200), lambda rng, n: (rng.random(n) < 0.5) * 1.0, 0.5),
    ("lognormal(1), no limits", FREE, (20, 60), lambda rng, n: rng.lognormal(0, 1, n), np.exp(0.5)),
]


def shifted(shift: float, spread: float) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        base = rng.uniform(0.25, 0.65, n)
        return base, base + rng.normal(shift, spread, n)

    return draw


def flips(wins: float, losses: float) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        u = rng.random(n)
        a = np.where(u < wins, 0, np.where(u < wins + losses, 1, rng.integers(0, 2, n)))
        b = np.where(u < wins, 1, np.where(u < wins + losses, 0, a))
        return a.astype(float), b.astype(float)

    return draw


# name, metric, values of both sides, truth
PAIRS = [
    ("mean 0, sd .06", SCORE, shifted(0.0, 0.06), 0.0),
    ("mean .03, sd .06", SCORE, shifted(0.03, 0.06), 0.03),
    ("wins 10%, losses 10%", RATE, flips(0.1, 0.1), 0.0),
    ("wins 15%, losses 3%", RATE, flips(0.15, 0.03), 0.12),
    ("wins 2%, losses 2%", RATE, flips(0.02, 0.02), 0.0),
]


def seeds(rng: np.random.Generator, n: int, k: int, spread: float) -> dict[object, pd.DataFrame]:
    sample = rng.normal(0, 0.7, n)
    latent = sample + rng.normal(0, spread, (k, 1)) + rng.normal(0, 0.7, (k, n))
    return {seed: frame((latent[seed] > 0) * 1.0) for seed in range(k)}


def row(cell: str, n: int, found: list[tuple[float, float, str]], truth: float) -> str:
    low, high = np.array([(a, b) for a, b, _ in found]).T
    known = ~np.isnan(low)
    covers = ((low <= truth) & (truth <= high))[known].mean() if known.any() else np.nan
    error = 100 * np.sqrt(max(covers * (1 - covers), 0.001) / max(known.sum(), 1))
    verdicts = [verdict for *_, verdict in found if verdict]
    shown = f"{100 * np.mean([v in ('better', 'worse') for v in verdicts]):.1f}" if verdicts else ""
    width = np.nanmedian(high - low) if known.any() else np.nan
    return f"| {cell} | {n} | {100 * covers:.1f} ± {error:.1f} | {width:.3f} | {shown} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    print("| cell | n | covers, % | width | better or worse, % |\n| --- | --- | --- | --- | --- |")
    for cell, metric, sizes, draw, truth in RUNS:
        for n in sizes:
            found = []
            for _ in range(asked.sets):
                made = estimate(frame(draw(rng, n)), [metric], "id", R).iloc[0]
                found.append((made["ci_low"], made["ci_high"], ""))
            print(row(cell, n, found, truth), flush=True)
    for k, spread in ((2, 0.1), (3, 0.1), (3, 0.3), (5, 0.3)):
        found = []
        for _ in range(asked.sets):
            made = aggregate(seeds(rng, 60, k, spread), [RATE], "id", R).iloc[0]
            found.append((made["ci_low"], made["ci_high"], ""))
        print(row(f"rate .5, {k} seeds, sd {spread}", 60, found, 0.5), flush=True)
    for cell, metric, draw_pair, truth in PAIRS:
        for n in (20, 60, 200):
            found = []
            for _ in range(asked.sets):
                a, b = (({"": frame(y)}) for y in draw_pair(rng, n))
                made = compare(a, b, [metric], "id", R, ["m"], n_permutations=1_000).table.iloc[0]
                found.append((made["ci_low"], made["ci_high"], made["verdict"]))
            print(row(f"difference, {cell}", n, found, truth), flush=True)


if __name__ == "__main__":
    main()
