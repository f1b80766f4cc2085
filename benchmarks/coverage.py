"""Empirical coverage of the 95% intervals and false-positive rate of comparisons, on data whose truth is known.

    python benchmarks/coverage.py --only single,clusters,delta --methods score,plain,bca,auto
    python benchmarks/coverage.py --only seeds --largest 200
    python benchmarks/coverage.py --only pooled --methods bca,auto
    python benchmarks/coverage.py --only compare
    python benchmarks/coverage.py --only exact,limits

Intervals are made by each of `--methods`, which may be one of ALTERNATIVES. Every setting runs the package's own
functions (`estimate`, `aggregate`, `compare`). Independent data sets are the metrics of one table, so that one call
serves a block of them; blocks differ in the seed of their weights and signs. Bootstraps use 2,000 resamples and
permutation tests 2,000 sign patterns here (the package's default is 10,000): the Monte-Carlo error averages out over
blocks.

The simulated quantity of a setting is normal on a latent scale, z = sample + seed + residual with variances
0.5, as the setting says (none 0, small 0.02, large 0.1), and 0.5, and is turned into
  mean     F1-like: 0, .4, .5, 2/3, .8, 1 with probabilities .20, .10, .15, .20, .10, .25
  near 1   the same with .02, .01, .02, .03, .02, .90
  net gain -1, 0, 1 with .02, .93, .05
  rate     an event of probability .05, .5 or .95
  micro    2 tp / (2 tp + fp + fn), with 1 + Poisson(1) gold items a sample
  cluster  hits over turns, intraclass correlation .2, rate .7, in dialogues of 1 + Poisson(6) turns, or 1 + lognormal
           (1.5, 1); and intraclass correlation .9 in a few of the sizes named
  limits   "near 1" and "rate .05" over seeds, by other intervals that were tried
  exact    proportions: no simulation, but the sum over all outcomes
  delta    two sides of one seed each: sample and residual variance 12:1 or 1:1, with the difference named
The truth of a micro F1 is its mean over seeds, by quadrature.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

# one BLAS thread a process
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from scipy.special import bdtr, betaincinv, expit, logit, ndtr, ndtri, stdtrit

from evaltools.core.metric import Metric
from evaltools.core.resampling import Resampling
from evaltools.stats import intervals, score_intervals
from evaltools.stats.compare import compare
from evaltools.stats.intervals import estimate
from evaltools.stats.seeds import aggregate

SIZES = (20, 50, 200, 600)
BLOCK = 50
RESAMPLES = 2000
BAND = (0.935, 0.965)
USUAL = {"CARRIES": intervals.CARRIES, "DOUBT": score_intervals.DOUBT}
ALTERNATIVES = {"score": {"CARRIES": np.inf}, "plain": {"CARRIES": np.inf, "DOUBT": 1e-9}}
"""Score intervals wherever there are limits, and these at p (1 - p) / se^2 trials without a doubt."""
LEVELS = np.array([0.0, 0.4, 0.5, 2 / 3, 0.8, 1.0])
CUTS = np.cumsum([0.20, 0.10, 0.15, 0.20, 0.10])
F1_MEAN = float(LEVELS @ np.diff([0, *CUTS, 1]))
SAMPLE = RESIDUAL = 0.5
OWN = 0.15
"""The part of the sample variance that two compared conditions do not share."""
SEED_VARIANCES = {"none": 0.0, "small": 0.02, "large": 0.1}

Columns = tuple[np.ndarray, np.ndarray]
"""Numerator and denominator of every cell."""


@dataclass(frozen=True)
class Kind:
    """How a latent score becomes numerator and denominator, and what the metric is in truth."""

    make: Callable[[np.ndarray, float, np.ndarray, np.random.Generator], Columns]
    truth: Callable[[float], float]
    proportion: bool = False
    limits: tuple[float, float] = (0.0, 1.0)


def f1_like(z: np.ndarray, total: float, gold: np.ndarray, rng: np.random.Generator) -> Columns:
    return LEVELS[np.searchsorted(ndtri(CUTS) * np.sqrt(total), z)], np.ones(z.shape)


def event(
    p: float, z: np.ndarray, total: float, gold: np.ndarray, rng: np.random.Generator
) -> Columns:
    return (z > ndtri(1 - p) * np.sqrt(total)).astype(float), np.ones(z.shape)


def micro(z: np.ndarray, total: float, gold: np.ndarray, rng: np.random.Generator) -> Columns:
    q = ndtr(z + 0.4)
    tp = rng.binomial(gold, q)
    fp = rng.poisson(0.8 * (1.5 - q))
    return 2.0 * tp, 2.0 * tp + fp + (gold - tp)


def micro_truth(seed_variance: float) -> float:
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    q = ndtr((0.4 + nodes * np.sqrt(seed_variance)) / np.sqrt(1 + SAMPLE + RESIDUAL))
    return float(weights @ (4 * q / (4 * q + 0.8 * (1.5 - q) + 2 * (1 - q))) / weights.sum())


NEAR = np.array([0.02, 0.01, 0.02, 0.03, 0.02, 0.90])
"""Probabilities of LEVELS near 1."""


def near_one(z: np.ndarray, total: float, gold: np.ndarray, rng: np.random.Generator) -> Columns:
    return LEVELS[np.searchsorted(ndtri(np.cumsum(NEAR)[:-1]) * np.sqrt(total), z)], np.ones(
        z.shape
    )


def net_gain(z: np.ndarray, total: float, gold: np.ndarray, rng: np.random.Generator) -> Columns:
    return np.searchsorted(ndtri([0.02, 0.95]) * np.sqrt(total), z) - 1.0, np.ones(z.shape)


KINDS = {
    "mean": Kind(f1_like, lambda _: F1_MEAN),
    "near 1": Kind(near_one, lambda _: float(LEVELS @ NEAR)),
    "net gain": Kind(net_gain, lambda _: 0.03, limits=(-1.0, 1.0)),
    "rate .05": Kind(partial(event, 0.05), lambda _: 0.05, proportion=True),
    "rate .5": Kind(partial(event, 0.5), lambda _: 0.5, proportion=True),
    "rate .95": Kind(partial(event, 0.95), lambda _: 0.95, proportion=True),
    "micro": Kind(micro, micro_truth),
}


@dataclass(frozen=True)
class Setting:
    """One line of a table: `task` is single, clusters, seeds, delta, pooled or compare."""

    task: str
    kind: str
    n: int
    seeds: int = 1
    seed_variance: str = "none"
    complete: str = "complete"
    method: str = "auto"
    difference: float = 0.0


def latent(
    rng: np.random.Generator, setting: Setting, sides: int
) -> tuple[np.ndarray, float, np.ndarray]:
    """(sides, seeds, units, BLOCK) scores, their variance, and the gold counts that the sides share."""
    v = SEED_VARIANCES[setting.seed_variance]
    shape = (sides, setting.seeds, setting.n, BLOCK)
    seed = rng.normal(0, np.sqrt(v), (*shape[:2], 1, BLOCK))
    if setting.complete == "no sample shared":
        sample = rng.normal(0, np.sqrt(SAMPLE), shape)
    elif sides > 1:
        own = rng.normal(0, np.sqrt(OWN), (sides, 1, *shape[2:]))
        sample = rng.normal(0, np.sqrt(SAMPLE - OWN), shape[2:]) + own
    else:
        sample = rng.normal(0, np.sqrt(SAMPLE), shape[2:])
    gold = np.broadcast_to(1 + rng.poisson(1, shape[2:]), shape)
    return sample + seed + rng.normal(0, np.sqrt(RESIDUAL), shape), SAMPLE + RESIDUAL + v, gold


def frame(num: np.ndarray, den: np.ndarray) -> pd.DataFrame:
    data = {f"a{j}": num[:, j] for j in range(BLOCK)} | {f"b{j}": den[:, j] for j in range(BLOCK)}
    return pd.DataFrame({"unit": np.arange(len(num)), **data})


def table(kind: Kind) -> list[Metric]:
    also = {"better": "higher", "proportion": kind.proportion, "bounds": kind.limits}
    return [
        Metric(name=f"m{j}", numerator=f"a{j}", denominator=f"b{j}", **also) for j in range(BLOCK)
    ]  # type: ignore


def keep(setting: Setting, k: int, data: pd.DataFrame) -> pd.DataFrame:
    """The part of the samples that seed k has: a third is missing from the last seed, or each seed has its own."""
    if setting.complete == "a third of one seed missing" and k == setting.seeds - 1:
        return data.iloc[: -(setting.n // 3)]
    if setting.complete == "no sample shared":
        return data.assign(unit=data["unit"] + k * setting.n)
    return data


FEW = {"40, 5x3": [40] + [3] * 5, "60, 60, 6x2": [60, 60] + [2] * 6}
"""Sizes of a few unequal clusters."""


def clusters(rng: np.random.Generator, kind: str, n: int) -> Columns:
    if kind in FEW:
        turns, strength = np.repeat(np.array(FEW[kind])[:, None], BLOCK, axis=1), 1 / 9
    elif kind == "cluster":
        turns, strength = 1 + rng.poisson(6, (n, BLOCK)), 4.0
    else:
        turns, strength = 1 + np.rint(rng.lognormal(1.5, 1, (n, BLOCK))).astype(int), 4.0
    shares = rng.beta(0.7 * strength, 0.3 * strength, turns.shape)
    return rng.binomial(turns, shares).astype(float), turns.astype(float)


@dataclass(frozen=True)
class Pair:
    """Two sides of one seed: LEVELS or an event with these probabilities, and the residual's part of the variance."""

    baseline: Sequence[float]
    candidate: Sequence[float]
    residual: float
    proportion: bool = False

    def draw(self, rng: np.random.Generator, n: int) -> list[np.ndarray]:
        levels = [0.0, 1.0] if self.proportion else LEVELS
        sample = rng.normal(0, np.sqrt(1 - self.residual), (n, BLOCK))
        z = [sample + rng.normal(0, np.sqrt(self.residual), (n, BLOCK)) for _ in range(2)]
        cuts = (ndtri(np.cumsum(p)[:-1]) for p in (self.baseline, self.candidate))
        return [np.asarray(levels)[np.searchsorted(c, x)] for c, x in zip(cuts, z)]

    @property
    def truth(self) -> float:
        levels = [0.0, 1.0] if self.proportion else LEVELS
        return float(np.subtract(self.candidate, self.baseline) @ levels)


MEAN, BETTER = np.diff([0, *CUTS, 1]), np.array([0.15, 0.10, 0.15, 0.20, 0.10, 0.30])
NEARER = np.array([0.01, 0.01, 0.01, 0.01, 0.01, 0.95])
PAIRS = {
    f"{name}, {ratio}:1": Pair(a, b, 1 / (1 + ratio), len(a) == 2)
    for name, a, b in (
        ("mean, none", MEAN, MEAN),
        ("mean, +.062", MEAN, BETTER),
        ("near 1, none", NEAR, NEAR),
        ("near 1, +.027", NEAR, NEARER),
        ("rate .05, none", [0.95, 0.05], [0.95, 0.05]),
        ("rate .05, +.048", [0.95, 0.05], [0.902, 0.098]),
        ("rate .5, none", [0.5, 0.5], [0.5, 0.5]),
    )
    for ratio in (12, 1)
}


def run(setting: Setting, block: int, key: int) -> tuple[np.ndarray, np.ndarray]:
    """For BLOCK data sets of a setting: where the truth lies (or whether p is right), and the width.

    0: the truth lies inside (for compare: p > 0.05); -1 or 1: below or above the interval. nan: no interval.
    """
    rng = np.random.default_rng([key, block])
    for name, value in (USUAL | ALTERNATIVES.get(setting.method, {})).items():
        for module in intervals, score_intervals:
            setattr(module, name, value)
    method: Any = "auto" if setting.method in ALTERNATIVES else setting.method
    resampling = Resampling(method=method, n_resamples=RESAMPLES, seed=block)
    if setting.task == "clusters":
        e = estimate(
            frame(*clusters(rng, setting.kind, setting.n)),
            table(KINDS["rate .5"]),
            "unit",
            resampling,
        )
        return inside(e, 0.7)
    if setting.task == "delta":
        pair = PAIRS[setting.kind]
        a, b = ({0: frame(x, np.ones_like(x))} for x in pair.draw(rng, setting.n))
        metrics = table(KINDS["rate .5" if pair.proportion else "mean"])
        return inside(
            compare(a, b, metrics, "unit", resampling, n_permutations=100).table, pair.truth
        )
    kind = KINDS[setting.kind]
    conditions = int(setting.complete.split()[0]) if setting.task == "pooled" else 1
    sides = 2 if setting.task == "compare" else conditions
    z, total, gold = latent(rng, setting, sides)
    num, den = kind.make(z, total, gold, rng)
    if setting.task == "pooled":
        num[1] += setting.difference
    runs = [
        {k: keep(setting, k, frame(num[s, k], den[s, k])) for k in range(setting.seeds)}
        for s in range(sides)
    ]
    if setting.task == "pooled":
        metrics = table(kind)
        found = compare(*runs[:2], metrics, "unit", resampling, n_permutations=RESAMPLES).table
        return (found["p_value"] <= 0.05).to_numpy(float), (
            found["ci_high"] - found["ci_low"]
        ).to_numpy(float)
    if setting.task == "compare":
        c = compare(
            runs[0], runs[1], table(kind), "unit", resampling, n_permutations=RESAMPLES
        ).table
        return (c["p_value"] <= 0.05).to_numpy(float), (c["ci_high"] - c["ci_low"]).to_numpy(float)
    if setting.task == "single":
        return inside(estimate(runs[0][0], table(kind), "unit", resampling), kind.truth(0.0))
    truth = kind.truth(SEED_VARIANCES[setting.seed_variance])
    return inside(aggregate({"": runs[0]}, table(kind), "unit", resampling)[""], truth)


def inside(e: pd.DataFrame, truth: float) -> tuple[np.ndarray, np.ndarray]:
    low, high = e["ci_low"].to_numpy(float), e["ci_high"].to_numpy(float)
    return np.where(np.isnan(low), np.nan, (truth > high).astype(float) - (truth < low)), high - low


@dataclass(frozen=True)
class Found:
    """Share right, its binomial standard error, shares of truths below and above, mean width, and none at all."""

    share: float
    error: float
    below: float
    above: float
    width: float
    missing: int


def job(setting: Setting, key: int, datasets: int) -> Found:
    parts = [run(setting, block, key) for block in range(-(-datasets // BLOCK))]
    right = np.concatenate([p[0] for p in parts])[:datasets]
    width = np.concatenate([p[1] for p in parts])[:datasets]
    known = right[~np.isnan(right)]
    share = float((known == 0).mean())
    error = float(np.sqrt(share * (1 - share) / len(known)))
    sides = (float((known == side).mean()) for side in (-1, 1))
    return Found(share, error, *sides, float(np.nanmean(width)), len(right) - len(known))


def all_settings() -> list[Setting]:
    settings = [Setting("single", kind, n) for kind in KINDS for n in SIZES]
    settings += [Setting("clusters", kind, n) for kind in ("cluster", "lognormal") for n in SIZES]
    settings += [Setting("clusters", kind, len(sizes)) for kind, sizes in FEW.items()]
    settings += [Setting("delta", kind, n) for kind in PAIRS for n in SIZES]
    for kind in ("mean", "near 1", "net gain", "rate .05", "micro"):
        for k in (2, 3, 5, 10):
            settings += [Setting("seeds", kind, n, k, v) for v in SEED_VARIANCES for n in SIZES]
    for how in ("a third of one seed missing", "no sample shared"):
        settings += [
            Setting("seeds", "mean", n, k, v, how)
            for k in (3, 5)
            for v in SEED_VARIANCES
            for n in (50, 200)
        ]
    settings += [
        Setting("pooled", "mean", 50, 3, v, f"{conditions} conditions", difference=difference)
        for conditions in (2, 4, 6)
        for v in ("small", "large")
        for difference in (0.0, 0.1, 0.2)
    ]
    settings += [
        Setting("compare", kind, n) for kind in ("mean", "rate .05", "micro") for n in SIZES
    ]
    for k in (3, 5, 10):
        settings += [
            Setting("compare", kind, n, k, v)
            for kind in ("mean", "micro")
            for v in SEED_VARIANCES
            for n in SIZES
        ]
    return settings


TITLES = {
    "single": "One run: coverage (%)",
    "clusters": "One run, dialogues as units: coverage (%); n counts dialogues",
    "seeds": "Several seeds, claim new seeds and new samples: coverage (%)",
    "delta": "Differences of two runs: coverage (%)",
    "pooled": "Two of several conditions, seeds pooled (auto) or not (bca): p <= 0.05 (%)",
    "compare": "Comparisons without a difference: p <= 0.05 (%)",
}


def shown(c: Setting, r: Found) -> str:
    """Coverage, the sides that were missed and the mean width (of p: how often it was within the level)."""
    tested = c.task in {"compare", "pooled"}
    outside = not c.difference and not BAND[0] <= r.share <= BAND[1]
    star = "**" if outside else ""
    text = f"{star}{100 * (1 - r.share if tested else r.share):.1f}{star}"
    if not tested:
        text += f" ({100 * r.below:.1f} / {100 * r.above:.1f}) {r.width:.3f}"
    return text + (f", {r.missing} without" if r.missing else "")


def markdown(settings: list[Setting], results: list[Found]) -> str:
    """A table a task: a row a setting and method, a column a size; outside the band in bold."""
    out = []
    for task, title in TITLES.items():
        mine = [(c, r) for c, r in zip(settings, results) if c.task == task]
        if not mine:
            continue
        sizes = sorted({c.n for c, _ in mine})
        out += [f"### {title}", ""]
        out.append(
            "| data | seeds | seed variance | samples | method | "
            + " | ".join(f"n={n}" for n in sizes)
            + " |"
        )
        out.append("|" + " --- |" * 5 + " ---: |" * len(sizes))
        rows: dict[tuple[object, ...], dict[int, str]] = {}
        for c, r in mine:
            what = f"{c.kind}, +{c.difference}" if c.difference else c.kind
            key = what, c.seeds, c.seed_variance if c.seeds > 1 else "-", c.complete, c.method
            rows.setdefault(key, {})[c.n] = shown(c, r)
        for key, values in rows.items():
            out.append(
                "| "
                + " | ".join(map(str, key))
                + " | "
                + " | ".join(values.get(n, "") for n in sizes)
                + " |"
            )
        out.append("")
    return "\n".join(out)


def clopper_pearson(x: np.ndarray, n: int) -> Columns:
    return betaincinv(x, n - x + 1.0, 0.025), betaincinv(x + 1.0, n - x, 0.975)


def jeffreys(x: np.ndarray, n: int) -> Columns:
    ends = (betaincinv(x + 0.5, n - x + 0.5, q) for q in (0.025, 0.975))
    low, high = ends
    return np.where(x == 0, 0.0, low), np.where(x == n, 1.0, high)


def mid_p(x: np.ndarray, n: int) -> Columns:
    """The p at which the outcomes beyond, with half of the one that was seen, have 2.5%, by bisection."""

    def end(side: int) -> np.ndarray:
        low, high = np.zeros(len(x)), np.ones(len(x))
        for _ in range(60):
            p = (low + high) / 2
            upto, below = bdtr(x, n, p), np.where(x > 0, bdtr(np.maximum(x - 1, 0), n, p), 0.0)
            tail = (upto + below) / 2 if side > 0 else 1 - (upto + below) / 2
            more = tail > 0.025 if side > 0 else tail < 0.025
            low, high = np.where(more, p, low), np.where(more, high, p)
        return (low + high) / 2

    return np.where(x == 0, 0.0, end(-1)), np.where(x == n, 1.0, end(1))


def exact() -> str:
    """Coverage and mean width of intervals of a proportion over all of its outcomes, as Markdown."""
    kinds: dict[str, Callable[[np.ndarray, int], Columns]] = {
        "Wilson": lambda x, n: score_intervals.score_interval(x / n, n, ndtri(0.975)),
        "t-Wilson": lambda x, n: score_intervals.score_interval(x / n, n, stdtrit(n - 1, 0.975)),
        "mid-p": mid_p,
        "Jeffreys": jeffreys,
        "Clopper-Pearson": clopper_pearson,
    }
    out = [f"| rate | n | {' | '.join(kinds)} |", "|" + " --- |" * (2 + len(kinds))]
    for rate in (0.05, 0.5):
        for n in SIZES:
            x = np.arange(n + 1.0)
            mass, cells = np.diff(bdtr(x, n, rate), prepend=0.0), []
            for of in kinds.values():
                low, high = np.nan_to_num(of(x, n)[0]), np.nan_to_num(of(x, n)[1], nan=1.0)
                cells.append(
                    f"{100 * mass[(low <= rate) & (rate <= high)].sum():.1f} {mass @ (high - low):.3f}"
                )
            out.append(f"| {rate} | {n} | {' | '.join(cells)} |")
    return "\n".join(out) + "\n"


def tried(kind: str, seeds: int, block: int) -> dict[str, np.ndarray]:
    """For BLOCK data sets of 200 samples, large seed variance: (below, above, width) by intervals that were tried."""
    setting, rng = (
        Setting("seeds", kind, 200, seeds, "large"),
        np.random.default_rng([7, block, seeds]),
    )
    z, total, gold = latent(rng, setting, 1)
    num, den = KINDS[kind].make(z, total, gold, rng)
    runs = {k: frame(num[0, k], den[0, k]) for k in range(seeds)}
    now = aggregate({"": runs}, table(KINDS[kind]), "unit", Resampling())[""]
    no_rate = table(replace(KINDS[kind], proportion=False))
    plain = aggregate({"": runs}, no_rate, "unit", Resampling(method="bca"))[""]
    mean, df = now["value"].to_numpy(float), plain["df"].to_numpy(float)
    half = np.where(mean > 0.5, mean - plain["ci_low"], plain["ci_high"] - mean)
    trials = mean * (1 - mean) / (half / stdtrit(df, 0.975)) ** 2
    auto = now["ci_low"].to_numpy(float), now["ci_high"].to_numpy(float)
    components = np.maximum(mean - half, 0.0), np.minimum(mean + half, 1.0)
    by_logit = expit(logit(mean) + np.array([[-1.0], [1.0]]) * half / (mean * (1 - mean)))
    wilson_98 = score_intervals.score_interval(mean, trials, stdtrit(df, 0.98))
    ends: dict[str, Any] = {
        "auto (t-Wilson)": auto,
        "components": components,
        "the wider of both": (np.fmin(auto[0], components[0]), np.fmax(auto[1], components[1])),
        "t on the logit": by_logit,
        "t-Wilson at 96%": wilson_98,
    }
    truth = KINDS[kind].truth(0.0)
    return {
        name: np.array([truth < low, truth > high, high - low])
        for name, (low, high) in ends.items()
    }


def limits(datasets: int) -> str:
    """Coverage of the intervals of `tried`, as Markdown."""
    out = []
    for kind, seeds in ((kind, seeds) for kind in ("near 1", "rate .05") for seeds in (3, 5, 10)):
        found = [tried(kind, seeds, block) for block in range(-(-datasets // BLOCK))]
        if not out:
            out = [
                f"| data | seeds | {' | '.join(found[0])} |",
                "|" + " --- |" * (2 + len(found[0])),
            ]
        cells = []
        for name in found[0]:
            below, above, width = np.nanmean(
                np.concatenate([f[name] for f in found], axis=1), axis=1
            )
            cells.append(
                f"{100 * (1 - below - above):.1f} ({100 * below:.1f} / {100 * above:.1f}) {width:.3f}"
            )
        out.append(f"| {kind} | {seeds} | {' | '.join(cells)} |")
    return "\n".join(out) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--datasets",
        type=int,
        default=10_000,
        help="simulated data sets a setting (at least 2,000)",
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="tasks to run, comma separated")
    parser.add_argument(
        "--largest", type=int, default=max(SIZES), help="samples of the largest setting"
    )
    parser.add_argument("--methods", default="auto", help="methods of intervals, comma separated")
    args = parser.parse_args()
    for name, made in (("exact", exact), ("limits", partial(limits, args.datasets))):
        if name in args.only.split(","):
            print(f"{made()}")
    keys = {c: i for i, c in enumerate(all_settings())}
    methods = args.methods.split(",")
    chosen = [
        c for c in keys if (not args.only or c.task in args.only.split(",")) and c.n <= args.largest
    ]
    settings = [
        replace(c, method=m)
        for c in chosen
        for m in methods
        if m == methods[-1]
        or c.task in {"single", "clusters"}
        or (c.task in {"delta", "pooled"} and m not in ALTERNATIVES)
    ]
    if not settings:
        return
    with ProcessPoolExecutor(args.jobs) as pool:
        # the same data for every method
        futures = [
            pool.submit(job, c, keys[replace(c, method="auto")], args.datasets) for c in settings
        ]
        results = []
        for c, f in zip(settings, futures):
            results.append(f.result())
            print(c, results[-1], file=sys.stderr, flush=True)
    print(f"{args.datasets} data sets a setting, {RESAMPLES} resamples and sign patterns.\n")
    print(markdown(settings, results))


if __name__ == "__main__":
    main()
