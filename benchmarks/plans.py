"""How often ranks and plans are right, on simulated studies whose truth is known.

    python benchmarks/plans.py --datasets 1000 --jobs 2 > plans.md

A cell is normal on a latent scale, effect + sample + own + seed + residual, with variances 0.35 (sample, shared by
the conditions), 0.15 (own: sample by condition), the seed variance (a condition's seeds are its own) and 0.5, and is
turned into one of a few values (KINDS). `--only fresh`: plans on cells on which no constant was chosen. `--only rows`:
samples of several trials (the residual is that of a trial), and clusters of several samples (half of it is the
sample's, and shared by the conditions), planned with other numbers of them than the pilot has.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from evaltools.core.errors import UsageError
from evaltools.core.metric import Metric
from evaltools.core.metric_matrix import compile_table
from evaltools.core.resampling import Resampling
from evaltools.stats.differences import decide
from evaltools.stats.influence import Cells, Paired
from evaltools.stats.max_t import joint_tests
from evaltools.stats.power import plan
from evaltools.stats.ranks import ranks

SHARED, OWN, RESIDUAL = 0.35, 0.15, 0.5
RESAMPLING = Resampling(n_resamples=100)
PERMUTATIONS = 2000
METRIC = Metric(name="m", numerator="y", denominator="n", better="higher", title="m")

Study = dict[str, dict[str, pd.DataFrame]]


KINDS: dict[str, tuple[list[float], list[float]]] = {
    # name -> (values, their probabilities where the effect is 0)
    "mean": ([0.0, 0.4, 0.5, 2 / 3, 0.8, 1.0], [0.20, 0.10, 0.15, 0.20, 0.10, 0.25]),
    "rate .3": ([0.0, 1.0], [0.7, 0.3]),
    "grades": ([0.0, 0.25, 0.5, 0.75, 1.0], [0.03, 0.05, 0.12, 0.30, 0.50]),
    "rate .85": ([0.0, 1.0], [0.15, 0.85]),
    "mostly 0": ([0.0, 0.3, 1.0], [0.80, 0.15, 0.05]),
}


def cuts(kind: str) -> np.ndarray:
    return ndtri(np.cumsum(KINDS[kind][1])[:-1])


def cells(
    rng: np.random.Generator,
    kind: str,
    n: int,
    seeds: int,
    seed_variance: float,
    effects: Sequence[float],
    studies: int = 1,
    rows: int = 1,
    of_cluster: bool = False,
) -> np.ndarray:
    """(studies, conditions, seeds, samples, rows); effects are on the latent scale, in standard deviations of a cell."""
    shape = (studies, len(effects), seeds, n, rows)
    variance = SHARED + OWN + RESIDUAL + seed_variance
    of_row = RESIDUAL / 2 if of_cluster else 0.0
    z = np.array(effects)[:, None, None, None] * np.sqrt(variance)
    z = z + rng.normal(0, np.sqrt(SHARED), (studies, 1, 1, n, 1))
    z = z + rng.normal(0, np.sqrt(OWN), (studies, len(effects), 1, n, 1))
    z = z + rng.normal(0, np.sqrt(RESIDUAL - of_row), shape)
    z = z + rng.normal(0, np.sqrt(seed_variance), (*shape[:3], 1, 1))
    if of_row:
        z = z + rng.normal(0, np.sqrt(of_row), (studies, 1, 1, n, rows))
    cuts_of_kind = cuts(kind) * np.sqrt(variance)
    return np.array(KINDS[kind][0])[np.searchsorted(cuts_of_kind, z)]


def simulate(
    rng: np.random.Generator,
    kind: str,
    n: int,
    seeds: int,
    seed_variance: float,
    effects: Sequence[float],
    rows: int = 1,
    of_cluster: bool = False,
) -> Study:
    """Conditions c0, c1, ... -> seed -> units."""
    y = cells(rng, kind, n, seeds, seed_variance, effects, rows=rows, of_cluster=of_cluster)[0]
    ids = pd.DataFrame({"id": np.repeat(np.arange(n), rows), "n": 1})
    if rows > 1:
        ids["item" if of_cluster else "trial"] = np.tile(np.arange(rows), n)
    study: Study = {}
    for c in range(len(effects)):
        of_seed = {}
        for s in range(seeds):
            of_seed[str(s)] = ids.assign(y=y[c, s].ravel())
        study[f"c{c}"] = of_seed
    return study


def truth(kind: str, effect: float) -> float:
    """The mean of a kind at an effect (in standard deviations)."""
    shares = np.diff([0, *ndtr(cuts(kind) - effect), 1])
    return float(np.array(KINDS[kind][0]) @ shares)


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


def realised(cell: PlanCell, studies: int) -> np.ndarray:
    """The true power of studies of SIZES samples, whose candidate is better by the effect of the cell."""
    table = [replace(cell.metric, name=f"m{j}", numerator=f"y{j}") for j in range(50)]
    compiled = compile_table(table)
    columns = [compiled.columns.index(f"y{j}") for j in range(50)]
    powers = []
    for n in SIZES:
        found = 0
        for block in range(studies // 50):
            rng = np.random.default_rng([block, n, cell.seeds])
            shape = (cell.seeds, n, len(compiled.columns))
            sums = np.ones((2, *shape))
            drawn = cells(
                rng,
                cell.kind,
                int(n),
                cell.seeds,
                cell.seed_variance,
                (0.0, cell.effect),
                studies=50,
                rows=cell.planned_rows,
                of_cluster=cell.of_cluster,
            )
            sums[..., columns] = np.moveaxis(drawn.mean(axis=-1), 0, -1)
            sides = [Cells(compiled, side, np.ones(shape[:2], dtype=bool)) for side in sums]
            found += int((decide(Paired(sides[0], sides[1], True), RESAMPLING) > 0).sum())
        powers.append(found / (studies // 50 * 50))
        if len(powers) > 1 and min(powers[-2:]) > 0.99:
            break
    powers += [1.0] * (len(SIZES) - len(powers))
    return np.maximum.accumulate(powers)


@dataclass(frozen=True)
class PlanCell:
    """Pilots of `pilot` samples under `pilot_seeds`, and a study of `seeds` that is planned from each.

    Each sample has `rows` trials in the pilot and `planned_rows` in the study; or is a cluster of so many samples.
    """

    kind: str
    pilot: int
    pilot_seeds: int
    seeds: int
    seed_variance: float
    effect: float
    rows: int = 1
    planned_rows: int = 1
    of_cluster: bool = False
    proportion: bool = False

    @property
    def metric(self) -> Metric:
        """The metric that is planned for."""
        return replace(METRIC, proportion=self.proportion)


TUNED = [
    PlanCell("mean", 100, 1, 1, 0.0, 0.25), PlanCell("mean", 100, 3, 3, 0.0, 0.25),
    PlanCell("rate .3", 100, 1, 1, 0.0, 0.25), PlanCell("mean", 100, 3, 5, 0.02, 0.25),
    PlanCell("mean", 100, 5, 5, 0.02, 0.4),
]  # fmt: skip

FRESH = [
    PlanCell("grades", 20, 1, 1, 0.0, 0.3), PlanCell("grades", 50, 1, 1, 0.0, 0.3),
    PlanCell("grades", 200, 1, 1, 0.0, 0.3),
    PlanCell("rate .85", 20, 1, 1, 0.0, 0.35), PlanCell("rate .85", 50, 1, 1, 0.0, 0.35),
    PlanCell("rate .85", 200, 1, 1, 0.0, 0.35),
    PlanCell("mostly 0", 50, 1, 1, 0.0, 0.4), PlanCell("mostly 0", 200, 1, 1, 0.0, 0.4),
    PlanCell("grades", 20, 3, 3, 0.0, 0.3), PlanCell("grades", 50, 3, 3, 0.0, 0.3),
]  # fmt: skip
"""Cells on which nothing of the plans was chosen."""

ROWS = [
    PlanCell("grades", 60, 1, 1, 0.0, 0.25, rows=3, planned_rows=1),
    PlanCell("grades", 60, 1, 1, 0.0, 0.25, rows=3, planned_rows=3),
    PlanCell("grades", 60, 1, 1, 0.0, 0.25, rows=3, planned_rows=10),
    PlanCell("rate .3", 60, 1, 1, 0.0, 0.25, rows=4, planned_rows=1, proportion=True),
    PlanCell("rate .3", 60, 1, 1, 0.0, 0.25, rows=2, planned_rows=8, proportion=True),
    PlanCell("grades", 60, 3, 3, 0.0, 0.25, rows=3, planned_rows=1),
    PlanCell("mean", 40, 1, 1, 0.0, 0.25, rows=5, planned_rows=1, of_cluster=True),
    PlanCell("mean", 40, 1, 1, 0.0, 0.25, rows=5, planned_rows=15, of_cluster=True),
    PlanCell("rate .85", 40, 1, 1, 0.0, 0.25, rows=4, planned_rows=12, of_cluster=True,
             proportion=True),
]  # fmt: skip
"""Trials of a sample and samples of a cluster; nothing of the plans was chosen on these."""


def plan_once(cell: PlanCell, key: int) -> np.ndarray:
    """(samples, samples_low, samples_high) of the plan of one pilot; nan where it cannot be planned."""
    rng = np.random.default_rng([key, cell.pilot, cell.pilot_seeds, 7])
    difference = truth(cell.kind, cell.effect) - truth(cell.kind, 0.0)
    effects = (0.0, cell.effect)
    study = simulate(
        rng,
        cell.kind,
        cell.pilot,
        cell.pilot_seeds,
        cell.seed_variance,
        effects,
        cell.rows,
        cell.of_cluster,
    )
    sizes = {}
    if cell.rows > 1:
        sizes = {"cluster_size" if cell.of_cluster else "trials": [cell.planned_rows]}
    try:
        planned = plan(
            list(study.values()),
            [cell.metric],
            "id",
            "m",
            difference,
            seeds=[cell.seeds],
            resampling=RESAMPLING,
            **sizes,
        )
    except UsageError:
        return np.full(3, np.nan)
    return planned[["samples", "samples_low", "samples_high"]].iloc[0].astype(float).to_numpy()


def plan_line(cell: PlanCell, pilots: int) -> str:
    """The row of a cell: how many samples are planned, with which true power, and whether the range holds the truth."""
    curve = realised(cell, 500)
    plans = np.array([plan_once(cell, key) for key in range(pilots)])
    samples, low, high = plans.T
    planned = ~np.isnan(samples)
    power = np.interp(samples[planned], SIZES, curve)
    needed = float(np.interp(0.8, curve, SIZES)) if curve[-1] >= 0.8 else np.inf
    ranged = ~np.isnan(low)
    high = np.nan_to_num(high, nan=np.inf)
    below, above = (needed < low)[ranged].mean(), (needed > high)[ranged].mean()
    difference = truth(cell.kind, cell.effect) - truth(cell.kind, 0.0)
    spread = np.quantile(samples[planned], [0.1, 0.5, 0.9]) if planned.any() else [np.nan] * 3
    texts = [
        cell.kind + (", clusters" if cell.of_cluster else ""), f"{cell.pilot} x {cell.pilot_seeds}",
        f"{cell.rows} / {cell.planned_rows}", f"{cell.seed_variance:g}", str(cell.seeds),
        f"{difference:.3f}", f"{needed:.0f}", f"{planned.sum()} of {pilots}",
        f"{spread[1]:.0f} ({spread[0]:.0f} to {spread[2]:.0f})",
        f"{power.mean():.1%} ± {power.std() / np.sqrt(len(power)):.1%}",
        f"{1 - below - above:.0%} ({below:.0%} / {above:.0%})",
    ]  # fmt: skip
    return "| " + " | ".join(texts) + " |"


def plan_table(cells: Sequence[PlanCell], pilots: int, jobs: int) -> None:
    head = [
        "data", "pilot", "rows: pilot / planned", "seed variance",
        "seeds planned", "difference", "truly needed", "pilots with a plan",
        "samples planned: median (10 to 90%)", "their true power, mean", "range holds the truth (below / above)",
    ]  # fmt: skip
    print(f"| {' | '.join(head)} |")
    print(f"| --- | {' | '.join(['---:'] * (len(head) - 1))} |")
    with ProcessPoolExecutor(jobs) as pool:
        for line in pool.map(partial(plan_line, pilots=pilots), cells):
            print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", choices=["ranks", "plans", "fresh", "rows"])
    given = parser.parse_args()
    if given.only in (None, "ranks"):
        rank_table(given.datasets, given.jobs)
    if given.only in (None, "plans"):
        plan_table(TUNED, given.datasets // 10, given.jobs)
    if given.only in (None, "fresh"):
        plan_table(FRESH, given.datasets // 10, given.jobs)
    if given.only in (None, "rows"):
        plan_table(ROWS, given.datasets // 10, given.jobs)


if __name__ == "__main__":
    main()
