"""How often ranks and plans are right, on simulated studies whose truth is known.

    python benchmarks/plans.py --datasets 1000 --jobs 2 > plans.md

A cell is normal on a latent scale, effect + sample + own + seed + residual, with variances 0.35 (sample, shared by
the conditions), 0.15 (own: sample by condition), the seed variance (a condition's seeds are its own) and 0.5, and is
turned into an F1-like value (0, .4, .5, 2/3, .8, 1) or into an event of probability .3 where the effect is 0.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from evaltools.core.metric import Metric
from evaltools.core.metric_matrix import compile_table
from evaltools.core.resampling import Resampling
from evaltools.stats.evidence import decide
from evaltools.stats.influence import Cells, Paired
from evaltools.stats.max_t import joint_tests
from evaltools.stats.power import plan
from evaltools.stats.ranks import ranks

SHARED, OWN, RESIDUAL = 0.35, 0.15, 0.5
LEVELS = np.array([0.0, 0.4, 0.5, 2 / 3, 0.8, 1.0])
CUTS = np.cumsum([0.20, 0.10, 0.15, 0.20, 0.10])
RESAMPLING = Resampling(n_resamples=100)
PERMUTATIONS = 2000
METRIC = Metric(name="m", numerator="y", denominator="n", better="higher", title="m")

Study = dict[str, dict[str, pd.DataFrame]]


def f1_like(z: np.ndarray, variance: float) -> np.ndarray:
    return LEVELS[np.searchsorted(ndtri(CUTS) * np.sqrt(variance), z)]


def event(z: np.ndarray, variance: float) -> np.ndarray:
    return (z > ndtri(0.7) * np.sqrt(variance)).astype(float)


KINDS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {"mean": f1_like, "rate .3": event}


def simulate(
    rng: np.random.Generator,
    kind: str,
    n: int,
    seeds: int,
    seed_variance: float,
    effects: Sequence[float],
) -> Study:
    """Conditions c0, c1, ... -> seed -> units; effects are on the latent scale, in standard deviations of a cell."""
    k, variance = len(effects), SHARED + OWN + RESIDUAL + seed_variance
    z = np.array(effects)[:, None, None] * np.sqrt(variance) + rng.normal(0, np.sqrt(SHARED), n)
    z = z + rng.normal(0, np.sqrt(OWN), (k, 1, n)) + rng.normal(0, np.sqrt(RESIDUAL), (k, seeds, n))
    y = KINDS[kind](z + rng.normal(0, np.sqrt(seed_variance), (k, seeds, 1)), variance)
    ids = np.arange(n)
    return {
        f"c{c}": {str(s): pd.DataFrame({"id": ids, "y": y[c, s], "n": 1}) for s in range(seeds)}
        for c in range(k)
    }


def truth(kind: str, effect: float) -> float:
    """The mean of a kind at an effect (in standard deviations)."""
    if kind == "mean":
        return float(LEVELS @ np.diff([0, *ndtr(ndtri(CUTS) - effect), 1]))
    return float(1 - ndtr(ndtri(0.7) - effect))


SHAPES = {
    "all equal": (0.0,) * 5,
    "two and the rest": (0.4, 0.4, 0.0, 0.0, 0.0),
    "steps": (0.0, 0.2, 0.4, 0.6, 0.8),
}


def rank_once(
    kind: str, n: int, seeds: int, v: float, effects: Sequence[float], key: int
) -> tuple[bool, bool, float]:
    """(a wrong pair, every true rank in its interval, share of the unequal pairs that are shown)."""
    study = simulate(
        np.random.default_rng([key, n, seeds, len(effects)]), kind, n, seeds, v, effects
    )
    found = joint_tests(study, [METRIC], "id", "m", RESAMPLING, PERMUTATIONS).pairs
    true = dict(zip(study, effects))
    gap = np.array([true[b] - true[a] for a, b in zip(found["baseline"], found["candidate"])])
    shown = (found["p_adjusted"] <= 0.05).to_numpy()
    wrong = shown & (np.sign(found["delta"]) != np.sign(gap)).to_numpy()
    means = [float(np.mean([f["y"].mean() for f in runs.values()])) for runs in study.values()]
    estimates = pd.DataFrame(
        {"condition": list(study), "value": means, "ci_low": np.nan, "ci_high": np.nan}
    )
    placed = ranks(estimates, found, METRIC, 0.05).set_index("condition")
    held = all(
        placed.rank_low[c] <= 1 + sum(e > true[c] for e in effects)
        and placed.rank_high[c] >= len(effects) - sum(e < true[c] for e in effects)
        for c in true
    )
    return bool(wrong.any()), held, float(shown[gap != 0].mean()) if (gap != 0).any() else np.nan


def rank_setting(setting: tuple[str, int, int, float, str, int], datasets: int) -> str:
    kind, n, seeds, v, shape, k = setting
    found = np.array(
        [rank_once(kind, n, seeds, v, SHAPES[shape][:k], key) for key in range(datasets)]
    )
    error, held, power = found.mean(axis=0)
    se = 100 * np.sqrt(0.05 * 0.95 / datasets)
    shown = "" if np.isnan(power) else f"{100 * power:.0f}"
    what = f"| {kind} | {k} | {shape} | {seeds} | {v:g} | {n} "
    return what + f"| {100 * error:.1f} | {100 * held:.1f} ±{se:.1f} | {shown} |"


def rank_table(datasets: int, jobs: int) -> None:
    shapes = [
        (shape, k) for k in (3, 5) for shape in SHAPES if (shape, k) != ("two and the rest", 3)
    ]
    cells = [
        ("mean", 1, 0.0),
        ("mean", 3, 0.02),
        ("mean", 3, 0.1),
        ("rate .3", 1, 0.0),
        ("rate .3", 3, 0.02),
    ]
    settings = [(kind, 100, seeds, v, *shape) for kind, seeds, v in cells for shape in shapes]
    print(
        "| data | conditions | truth | seeds | seed variance | n | a wrong pair, % | ranks held, % | pairs shown, % |"
    )
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with ProcessPoolExecutor(jobs) as pool:
        for line in pool.map(partial(rank_setting, datasets=datasets), settings):
            print(line, flush=True)


SIZES = np.unique(np.round(30 * 1.35 ** np.arange(16)).astype(int))


def realised(kind: str, seeds: int, v: float, effect: float, studies: int) -> np.ndarray:
    """The true power of studies of SIZES samples, whose candidate is better by `effect`."""
    compiled = compile_table([replace(METRIC, name=f"m{j}", numerator=f"y{j}") for j in range(50)])
    at, out = [compiled.columns.index(f"y{j}") for j in range(50)], []
    for n in SIZES:
        found = 0
        for block in range(studies // 50):
            rng = np.random.default_rng([block, n, seeds])
            made = [simulate(rng, kind, int(n), seeds, v, (0.0, effect)) for _ in range(50)]
            sums = np.ones((2, seeds, n, len(compiled.columns)))
            for j, study in zip(at, made):
                sums[..., j] = [[frame["y"] for frame in runs.values()] for runs in study.values()]
            sides = [Cells(compiled, side, np.ones((seeds, n), dtype=bool)) for side in sums]
            found += int((decide(Paired(sides[0], sides[1], True), RESAMPLING) > 0).sum())
        out.append(found / (studies // 50 * 50))
    return np.maximum.accumulate(out)


def plan_once(
    kind: str, pilot_seeds: int, seeds: int, v: float, effect: float, key: int
) -> np.ndarray:
    rng = np.random.default_rng([key, pilot_seeds, 7])
    difference = truth(kind, effect) - truth(kind, 0.0)
    runs = list(simulate(rng, kind, 100, pilot_seeds, v, (0.0, effect)).values())
    row = plan(runs, [METRIC], "id", "m", difference, seeds=[seeds], resampling=RESAMPLING).iloc[0]
    return row[["samples", "samples_low", "samples_high"]].astype(float).to_numpy()


def plan_setting(setting: tuple[str, int, int, float, float], datasets: int) -> str:
    kind, pilot_seeds, seeds, v, effect = setting
    curve = realised(kind, seeds, v, effect, 500)
    found = np.array(
        [plan_once(kind, pilot_seeds, seeds, v, effect, key) for key in range(datasets)]
    )
    power = np.interp(found[:, 0], SIZES, curve)
    need = float(np.interp(0.8, curve, SIZES)) if curve[-1] >= 0.8 else np.inf
    n = found[:, 0]
    planned = ~np.isnan(n)
    low, high = np.nan_to_num(found[:, 1], nan=np.inf), np.nan_to_num(found[:, 2], nan=np.inf)
    held = np.mean((low <= need) & (need <= high))
    difference = truth(kind, effect) - truth(kind, 0.0)
    five = (
        [np.quantile(x[planned], q) for x in (n, power) for q in (0.1, 0.5, 0.9)]
        if planned.any()
        else [np.nan] * 6
    )
    sizes, powers = (f"{middle:{form}} ({least:{form}} to {most:{form}})" for form, (least, middle, most) in
                     (((".0f"), five[:3]), ((".0%"), five[3:])))  # fmt: skip
    what = f"| {kind} | {pilot_seeds} | {v:g} | {seeds} | {difference:.3f} | {need:.0f} "
    return what + f"| {planned.mean():.0%} | {sizes} | {powers} | {held:.0%} |"


def plan_table(datasets: int, jobs: int) -> None:
    settings = [
        ("mean", 1, 1, 0.0, 0.25), ("mean", 3, 3, 0.0, 0.25), ("mean", 3, 5, 0.02, 0.25), ("mean", 5, 5, 0.02, 0.25),
        ("rate .3", 1, 1, 0.0, 0.25), ("rate .3", 3, 5, 0.02, 0.25),
        ("mean", 3, 3, 0.02, 0.4), ("mean", 5, 5, 0.02, 0.4),
    ]  # fmt: skip
    print("| data | seeds of pilot | seed variance | seeds planned | difference | truly needed | pilots with a plan "
          "| samples planned: median (10 to 90%) | their true power | range holds the truth |")  # fmt: skip
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    with ProcessPoolExecutor(jobs) as pool:
        for line in pool.map(partial(plan_setting, datasets=datasets), settings):
            print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", choices=["ranks", "plans"])
    given = parser.parse_args()
    if given.only != "plans":
        rank_table(given.datasets, given.jobs)
    if given.only != "ranks":
        plan_table(given.datasets // 10, given.jobs)


if __name__ == "__main__":
    main()
