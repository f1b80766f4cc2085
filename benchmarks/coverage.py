"""Empirical coverage of the 95% intervals and false-positive rate of comparisons, on data whose truth is known.

    python benchmarks/coverage.py --datasets 10000 --jobs 2 > coverage.md

Every setting runs the package's own functions (`estimate`, `aggregate`, `compare`). Independent data sets
are the metrics of one table, so that one call serves a block of them; blocks differ in the seed of
their weights and signs. Bootstraps use 2,000 resamples and permutation tests 2,000 sign patterns here
(the package's default is 10,000): the Monte-Carlo error averages out over blocks.

The simulated quantity of a setting is normal on a latent scale, z = sample + seed + residual with variances
0.5, as the setting says (none 0, small 0.02, large 0.1), and 0.5, and is turned into
  mean    F1-like: 0, .4, .5, 2/3, .8, 1 with probabilities .20, .10, .15, .20, .10, .25
  rate    an event of probability .05, .5 or .95
  micro   2 tp / (2 tp + fp + fn), with 1 + Poisson(1) gold items a sample
  cluster hits over turns, in dialogues of 1 + Poisson(6) turns, intraclass correlation .2, rate .7
The truth of a micro F1 is its mean over seeds, by quadrature.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from evaltools.core.metric import Metric
from evaltools.core.resampling import Resampling
from evaltools.stats.compare import compare
from evaltools.stats.intervals import estimate
from evaltools.stats.seeds import aggregate

SIZES = (20, 50, 200, 600)
BLOCK = 50
RESAMPLES = 2000
BAND = (0.935, 0.965)
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


def f1_like(z: np.ndarray, total: float, gold: np.ndarray, rng: np.random.Generator) -> Columns:
    return LEVELS[np.searchsorted(ndtri(CUTS) * np.sqrt(total), z)], np.ones(z.shape)


def event(p: float, z: np.ndarray, total: float, gold: np.ndarray, rng: np.random.Generator) -> Columns:
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


KINDS = {
    "mean": Kind(f1_like, lambda _: F1_MEAN),
    "rate .05": Kind(partial(event, 0.05), lambda _: 0.05, proportion=True),
    "rate .5": Kind(partial(event, 0.5), lambda _: 0.5, proportion=True),
    "rate .95": Kind(partial(event, 0.95), lambda _: 0.95, proportion=True),
    "micro": Kind(micro, micro_truth),
}


@dataclass(frozen=True)
class Setting:
    """One line of a table: `task` is single, clusters, seeds, compare or power."""

    task: str
    kind: str
    n: int
    seeds: int = 1
    seed_variance: str = "none"
    complete: str = "complete"


def latent(rng: np.random.Generator, setting: Setting, sides: int) -> tuple[np.ndarray, float, np.ndarray]:
    """(sides, seeds, units, BLOCK) scores, their variance, and the gold counts that the sides share."""
    v = SEED_VARIANCES[setting.seed_variance]
    shape = (sides, setting.seeds, setting.n, BLOCK)
    seed = rng.normal(0, np.sqrt(v), (*shape[:2], 1, BLOCK))
    if setting.complete == "no sample shared":
        sample = rng.normal(0, np.sqrt(SAMPLE), shape)
    elif sides == 2:
        own = rng.normal(0, np.sqrt(OWN), (2, 1, *shape[2:]))
        sample = rng.normal(0, np.sqrt(SAMPLE - OWN), shape[2:]) + own
    else:
        sample = rng.normal(0, np.sqrt(SAMPLE), shape[2:])
    gold = np.broadcast_to(1 + rng.poisson(1, shape[2:]), shape)
    return sample + seed + rng.normal(0, np.sqrt(RESIDUAL), shape), SAMPLE + RESIDUAL + v, gold


def frame(num: np.ndarray, den: np.ndarray) -> pd.DataFrame:
    data = {f"a{j}": num[:, j] for j in range(BLOCK)} | {f"b{j}": den[:, j] for j in range(BLOCK)}
    return pd.DataFrame({"unit": np.arange(len(num)), **data})


def table(proportion: bool) -> list[Metric]:
    return [
        Metric(name=f"m{j}", numerator=f"a{j}", denominator=f"b{j}", better="higher", proportion=proportion)
        for j in range(BLOCK)
    ]


def keep(setting: Setting, k: int, data: pd.DataFrame) -> pd.DataFrame:
    """The part of the samples that seed k has: a third is missing from the last seed, or each seed has its own."""
    if setting.complete == "a third of one seed missing" and k == setting.seeds - 1:
        return data.iloc[: -(setting.n // 3)]
    if setting.complete == "no sample shared":
        return data.assign(unit=data["unit"] + k * setting.n)
    return data


def clusters(rng: np.random.Generator, n: int) -> Columns:
    turns = 1 + rng.poisson(6, (n, BLOCK))
    return rng.binomial(turns, rng.beta(0.7 * 4, 0.3 * 4, (n, BLOCK))).astype(float), turns.astype(float)


def run(setting: Setting, block: int, key: int) -> tuple[np.ndarray, np.ndarray]:
    """For BLOCK data sets of a setting: whether the interval (or p) is right, and the interval's width (or mde).

    right: the truth lies inside (for compare: p > 0.05; for power: a difference was found). nan: no interval.
    """
    rng = np.random.default_rng([key, block])
    resampling = Resampling(n_resamples=RESAMPLES, seed=block)
    if setting.task == "clusters":
        e = estimate(frame(*clusters(rng, setting.n)), table(True), "unit", resampling)
        return inside(e, 0.7)
    kind = KINDS[setting.kind]
    sides = 2 if setting.task in {"compare", "power"} else 1
    z, total, gold = latent(rng, setting, sides)
    num, den = kind.make(z, total, gold, rng)
    if setting.task == "power":
        num[1] += POWER_DIFFERENCE[setting]
    runs = [{k: keep(setting, k, frame(num[s, k], den[s, k])) for k in range(setting.seeds)} for s in range(sides)]
    if setting.task in {"compare", "power"}:
        c = compare(runs[0], runs[1], table(kind.proportion), "unit", resampling, n_permutations=RESAMPLES).table
        right = c["p_value"] > 0.05 if setting.task == "compare" else c["verdict"] == "better"
        return right.to_numpy(float), c["mde"].to_numpy(float)
    if setting.task == "single":
        return inside(estimate(runs[0][0], table(kind.proportion), "unit", resampling), kind.truth(0.0))
    truth = kind.truth(SEED_VARIANCES[setting.seed_variance])
    return inside(aggregate(runs[0], table(kind.proportion), "unit", resampling), truth)


def inside(e: pd.DataFrame, truth: float) -> tuple[np.ndarray, np.ndarray]:
    low, high = e["ci_low"].to_numpy(float), e["ci_high"].to_numpy(float)
    return np.where(np.isnan(low), np.nan, (low <= truth) & (truth <= high)), high - low


POWER_DIFFERENCE: dict[Setting, float] = {}


def job(setting: Setting, key: int, datasets: int, difference: float | None) -> tuple[float, float, float, int]:
    """(share right, its binomial standard error, mean width, data sets without an interval)."""
    if difference is not None:
        POWER_DIFFERENCE[setting] = difference
    parts = [run(setting, block, key) for block in range(-(-datasets // BLOCK))]
    right = np.concatenate([p[0] for p in parts])[:datasets]
    width = np.concatenate([p[1] for p in parts])[:datasets]
    known = right[~np.isnan(right)]
    share = float(known.mean())
    return share, float(np.sqrt(share * (1 - share) / len(known))), float(np.nanmean(width)), len(right) - len(known)


def all_settings() -> list[Setting]:
    settings = [Setting("single", kind, n) for kind in KINDS for n in SIZES]
    settings += [Setting("clusters", "cluster", n) for n in SIZES]
    for kind in ("mean", "rate .05", "rate .95", "micro"):
        for k in (2, 3, 5, 10):
            settings += [Setting("seeds", kind, n, k, v) for v in SEED_VARIANCES for n in SIZES]
    for how in ("a third of one seed missing", "no sample shared"):
        settings += [
            Setting("seeds", "mean", n, k, v, how) for k in (3, 5) for v in SEED_VARIANCES for n in (50, 200)
        ]
    settings += [Setting("compare", kind, n) for kind in ("mean", "rate .05", "micro") for n in SIZES]
    for k in (3, 5, 10):
        settings += [
            Setting("compare", kind, n, k, v) for kind in ("mean", "micro") for v in SEED_VARIANCES for n in SIZES
        ]
    return settings


def markdown(settings: list[Setting], results: list[tuple[float, float, float, int]]) -> str:
    """A table a task: a row a setting, a column a size; outside the band in bold."""
    titles = {
        "single": "One run: coverage (%) of BCa (Wilson where it stands in)",
        "clusters": "One run, dialogues as units: coverage (%); n counts dialogues",
        "seeds": "Several seeds, claim new seeds and new samples: coverage (%)",
        "compare": "Comparisons without a difference: p <= 0.05 (%)",
        "power": "Comparisons at a true difference equal to the mean mde: found (%)",
    }
    out = []
    for task, title in titles.items():
        mine = [(c, r) for c, r in zip(settings, results) if c.task == task]
        if not mine:
            continue
        sizes = sorted({c.n for c, _ in mine})
        out += [
            f"### {title}",
            "",
            "| data | seeds | seed variance | samples | " + " | ".join(f"n={n}" for n in sizes) + " |",
        ]
        out.append("|" + " --- |" * 4 + " ---: |" * len(sizes))
        rows: dict[tuple[object, ...], dict[int, str]] = {}
        for c, (share, error, _, missing) in mine:
            shown = 1 - share if task == "compare" else share
            text = f"{100 * shown:.1f} ±{100 * error:.1f}"
            if task != "power" and not BAND[0] <= share <= BAND[1]:
                text = f"**{text}**"
            if missing:
                text += f" ({missing} without)"
            rows.setdefault((c.kind, c.seeds, c.seed_variance if c.seeds > 1 else "-", c.complete), {})[c.n] = text
        for key, values in rows.items():
            out.append("| " + " | ".join(map(str, key)) + " | " + " | ".join(values.get(n, "") for n in sizes) + " |")
        out.append("")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=10_000, help="simulated data sets a setting (at least 2,000)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="tasks to run, comma separated")
    args = parser.parse_args()
    settings = [c for c in all_settings() if not args.only or c.task in args.only.split(",")]
    with ProcessPoolExecutor(args.jobs) as pool:
        futures = [pool.submit(job, c, i, args.datasets, None) for i, c in enumerate(settings)]
        results = []
        for c, f in zip(settings, futures):
            results.append(f.result())
            print(c, *results[-1], file=sys.stderr, flush=True)
        # power: shift one side by the smallest difference that the comparison says it can show
        aims = [
            (Setting("power", c.kind, c.n, c.seeds, c.seed_variance), r[2])
            for c, r in zip(settings, results)
            if c.task == "compare" and c.kind == "mean"
        ]
        futures = [pool.submit(job, c, 10_000 + i, min(args.datasets, 4_000), aim) for i, (c, aim) in enumerate(aims)]
        for (c, _), f in zip(aims, futures):
            settings.append(c)
            results.append(f.result())
            print(c, *results[-1], file=sys.stderr, flush=True)
    print(f"{args.datasets} data sets a setting, {RESAMPLES} resamples and sign patterns.\n")
    print(markdown(settings, results))


if __name__ == "__main__":
    main()
