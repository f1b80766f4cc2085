"""Coverage where data are sparse, skewed, without limits, unbalanced, or partly not measured.

    python benchmarks/sparse.py --only run,delta,unlimited,macro,missing --datasets 2000

Every cell runs the package's own `estimate` or `compare`; BLOCK independent data sets are the metrics
of one table, so that one call serves all of them. A row says: coverage of the 95% interval in
percent, with the share of intervals that lie wholly below and wholly above the truth; the mean
width; which methods were used; and, of differences, the share of verdicts better or worse where the
true difference is 0, and of "equivalent" where it lies on the margin.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

# one BLAS thread a process
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd

from evaltools.core.metric import Mean, Metric
from evaltools.core.resampling import Resampling
from evaltools.stats.compare import compare
from evaltools.stats.intervals import estimate

BLOCK = 50
R = Resampling(n_resamples=1000)
MANY = 2_000_000
"""Draws by which a truth is known that has no formula."""

Rng = np.random.Generator
Draw = Callable[[Rng, tuple[int, ...]], np.ndarray]
F1 = np.array([0.0, 0.4, 0.5, 2 / 3, 0.8, 1.0])
F1_SHARES = [0.20, 0.10, 0.15, 0.20, 0.10, 0.25]


def f1(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return rng.choice(F1, shape, p=F1_SHARES)


def two_values(*values: tuple[float, float]) -> Draw:
    """0, but each of (value, share)."""
    sizes = [0.0, *(value for value, _ in values)]
    shares = [share for _, share in values]

    def draw(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
        return rng.choice(sizes, shape, p=[1 - sum(shares), *shares])

    return draw


def redrawn(share: float, upward: bool) -> Draw:
    """The difference of a new F1 to the old one in a share of the units, upward only or any way."""

    def draw(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
        change = f1(rng, shape) - f1(rng, shape)
        if upward:
            change = np.abs(change)
        return np.where(rng.random(shape) < share, change, 0.0)

    return draw


RUNS: dict[str, Draw] = {
    "F1": f1,
    "F1, 90% are 1": lambda r, s: np.where(r.random(s) < 0.9, 1.0, f1(r, s)),
    "3% above 0": lambda r, s: np.where(r.random(s) < 0.03, r.random(s), 0.0),
    "Beta(5, 1)": lambda r, s: r.beta(5, 1, s),
    "normal, sd .15": lambda r, s: np.clip(r.normal(0.6, 0.15, s), 0, 1),
    "2% spikes": lambda r, s: np.where(r.random(s) < 0.02, 1.0, 0.1 + 0.05 * r.random(s)),
}

DIFFERENCES: dict[str, Draw] = {
    "+.8 2%, -.04 40%": two_values((0.8, 0.02), (-0.04, 0.4)),
    "+.6 4%, -.3 8%": two_values((0.6, 0.04), (-0.3, 0.08)),
    "F1, 10% upward": redrawn(0.10, True),
    "F1, 4% upward": redrawn(0.04, True),
    "F1, 10% any way": redrawn(0.10, False),
    "F1, 30% any way": redrawn(0.30, False),
    "flips 4% and 4%": two_values((1, 0.04), (-1, 0.04)),
    "flips 16% and 2%": two_values((1, 0.16), (-1, 0.02)),
    "dense, sd .2": lambda r, s: np.clip(r.normal(0, 0.2, s), -1, 1),
}

UNLIMITED: dict[str, Draw] = {
    "normal": lambda r, s: r.normal(1, 1, s),
    "t of 3 df": lambda r, s: r.standard_t(3, s),
    "exponential": lambda r, s: r.exponential(1, s),
    "lognormal(.5)": lambda r, s: r.lognormal(0, 0.5, s),
    "lognormal(1)": lambda r, s: r.lognormal(0, 1, s),
}

MACRO = {
    "3 classes, least 12%": [0.5, 0.38, 0.12],
    "5 classes, least 4%": [0.4, 0.3, 0.16, 0.1, 0.04],
    "8 classes, equal": [1 / 8] * 8,
}


@dataclass
class Found:
    """What the data sets of a cell gave."""

    below: float
    above: float
    width: float
    methods: Counter[str]
    verdicts: Counter[str]

    def row(self, name: str, n: int) -> str:
        covered = 100 * (1 - self.below - self.above)
        shown = [f"{method} {n}" for method, n in self.methods.most_common(2)]
        total = sum(self.verdicts.values())
        share = {v: 100 * k / total for v, k in self.verdicts.items()} if total else {}
        decided = share.get("better", 0.0) + share.get("worse", 0.0)
        numbers = (
            f"{covered:.1f} ({100 * self.below:.1f} / {100 * self.above:.1f}) | {self.width:.3f}"
        )
        verdicts = f"{decided:.1f} | {share.get('equivalent', 0.0):.1f}" if total else "|"
        return f"| {name} | {n} | {numbers} | {', '.join(shown)} | {verdicts} |"


def found(rows: list[pd.DataFrame], truth: float) -> Found:
    frame = pd.concat(rows, ignore_index=True)
    has = frame[frame["ci_low"].notna()]
    verdicts = Counter(frame["verdict"]) if "verdict" in frame else Counter[str]()
    return Found(
        below=float((has["ci_high"] < truth - 1e-12).mean()),
        above=float((has["ci_low"] > truth + 1e-12).mean()),
        width=float((has["ci_high"] - has["ci_low"]).mean()),
        methods=Counter(frame["ci_method"]),
        verdicts=verdicts,
    )


def table(limits: tuple[float, float] | None) -> list[Metric]:
    metrics = []
    for i in range(BLOCK):
        name, column = f"m{i}", f"y{i}"
        metrics.append(
            Metric(name=name, numerator=column, denominator="n", better="higher", bounds=limits)
        )
    return metrics


def frame(values: np.ndarray) -> pd.DataFrame:
    columns = {f"y{i}": values[i] for i in range(BLOCK)}
    return pd.DataFrame({"id": range(values.shape[1]), "n": 1.0, **columns})


def blocks(datasets: int, *key: int) -> Iterator[tuple[Rng, Resampling]]:
    for block in range(-(-datasets // BLOCK)):
        yield np.random.default_rng([31, block, *key]), R.model_copy(update={"seed": block})


def mean_of(draw: Draw) -> float:
    return float(draw(np.random.default_rng(1), (MANY,)).mean())


def one_run(datasets: int, kinds: dict[str, Draw], limits: tuple[float, float] | None) -> None:
    for key, (name, draw) in enumerate(kinds.items()):
        for n in (10, 20, 50, 200) if limits is None else (20, 50, 200):
            rows = []
            for rng, resampling in blocks(datasets, key, n):
                data = frame(draw(rng, (BLOCK, n)))
                rows.append(estimate(data, table(limits), "id", resampling))
            print(found(rows, mean_of(draw)).row(name, n), flush=True)


def deltas(datasets: int, kinds: dict[str, Draw], limits: tuple[float, float] | None) -> None:
    """Differences of two sides.

    The margin, where there are limits, is the true difference: "equivalent" should come in 5%.
    """
    for key, (name, draw) in enumerate(kinds.items()):
        truth = mean_of(draw)
        if abs(truth) < 0.002:
            truth = 0.0
        for n in (10, 20, 50, 200) if limits is None else (20, 50, 200):
            rows = []
            for rng, resampling in blocks(datasets, 100 + key, n):
                change = draw(rng, (BLOCK, n))
                least, room = np.maximum(-change, 0), 1 - np.abs(change)
                before = least + (rng.random((BLOCK, n)) if limits else 1.0) * room
                after = before + change
                sides = [{"": frame(values)} for values in (before, after)]
                metrics = table(limits)
                margin = {m.name: abs(truth) for m in metrics} if truth and limits else {}
                got = compare(*sides, metrics, "id", resampling, (), None, margin, 1000)
                rows.append(got.table)
            print(found(rows, truth).row(name, n), flush=True)


def macro(datasets: int) -> None:
    """Macro F1 of a classifier that is right in 70% and else says a class at random."""
    for key, (name, shares) in enumerate(MACRO.items()):
        for n in (20, 50, 200):
            rows = []
            for rng, resampling in blocks(datasets, 200 + key, n):
                rows.append(macro_rows(rng, n, shares, resampling))
            print(found(rows, macro_truth(shares)).row(name, n), flush=True)


def macro_truth(shares: list[float]) -> float:
    """F1 of class c at its expected counts."""
    k = len(shares)
    scores = []
    for share in shares:
        right = share * (0.7 + 0.3 / k)
        said = share * 0.7 + 0.3 / k
        scores.append(2 * right / (share + said))
    return float(np.mean(scores))


def macro_rows(rng: Rng, n: int, shares: list[float], resampling: Resampling) -> pd.DataFrame:
    """BLOCK data sets of n units each."""
    k = len(shares)
    columns: dict[str, np.ndarray] = {"id": np.arange(n)}
    metrics: list[Metric | Mean] = []
    for i in range(BLOCK):
        gold = rng.choice(k, n, p=shares)
        said = np.where(rng.random(n) < 0.7, gold, rng.integers(0, k, n))
        for c in range(k):
            columns[f"tp{i}_{c}"] = 2.0 * ((gold == c) & (said == c))
            columns[f"all{i}_{c}"] = (gold == c) * 1.0 + (said == c)
            metrics.append(
                Metric(
                    name=f"f{i}_{c}",
                    numerator=f"tp{i}_{c}",
                    denominator=f"all{i}_{c}",
                    better="higher",
                    bounds=(0, 1),
                    empty=0.0,
                )
            )
        parts = tuple(f"f{i}_{c}" for c in range(k))
        metrics.append(Mean(name=f"macro{i}", of=parts, better="higher"))
    rows = estimate(pd.DataFrame(columns), metrics, "id", resampling)
    return rows[rows["name"].str.startswith("macro")]


def missing(datasets: int) -> None:
    """Two equal systems; of the candidate the judge gives no score to harder units."""
    for key, share in enumerate((0.15, 0.25)):
        for n in (60, 200):
            rows = []
            for rng, resampling in blocks(datasets, 300 + key, n):
                easy = rng.normal(0, 1, (BLOCK, n))
                sides = []
                for silent in (0.0, share):
                    score = np.clip(0.6 + 0.2 * easy + rng.normal(0, 0.1, (BLOCK, n)), 0, 1)
                    is_silent = easy < np.quantile(easy, 2 * silent, axis=1, keepdims=True)
                    is_silent &= rng.random((BLOCK, n)) < 0.5
                    score[is_silent] = np.nan
                    sides.append({"": judged(score)})
                metrics = [
                    Metric(
                        name=f"m{i}",
                        numerator=f"y{i}",
                        denominator=f"n{i}",
                        better="higher",
                        bounds=(0, 1),
                    )
                    for i in range(BLOCK)
                ]
                rows.append(compare(*sides, metrics, "id", resampling, n_permutations=1000).table)
            print(found(rows, 0.0).row(f"judge silent on {share:.0%}", n), flush=True)


def judged(score: np.ndarray) -> pd.DataFrame:
    columns: dict[str, np.ndarray] = {"id": np.arange(score.shape[1])}
    for i, values in enumerate(score):
        columns[f"y{i}"] = values
        columns[f"n{i}"] = np.where(np.isnan(values), np.nan, 1.0)
    return pd.DataFrame(columns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=2000, help="simulated data sets a cell")
    parser.add_argument("--only", default="run,delta,unlimited,macro,missing")
    args = parser.parse_args()
    n = args.datasets
    tasks: dict[str, Callable[[], None]] = {
        "run": lambda: one_run(n, RUNS, (0, 1)),
        "delta": lambda: deltas(n, DIFFERENCES, (0, 1)),
        "unlimited": lambda: one_run(n, UNLIMITED, None),
        "unlimited-delta": lambda: deltas(n, {"lognormal(1) each": lognormal_pair}, None),
        "macro": lambda: macro(n),
        "missing": lambda: missing(n),
    }
    head = "| data | n | covered (below / above) | width | methods | verdicts, % | equivalent, % |"
    for name in args.only.split(","):
        print(f"\n{name}\n\n{head}\n|" + " --- |" * 7, flush=True)
        tasks[name]()


def lognormal_pair(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return rng.lognormal(0, 1, shape) - rng.lognormal(0, 1, shape)


if __name__ == "__main__":
    main()
