"""How often today's intervals hold the truth, and how often verdicts are wrong, on fresh data whose truth is known.

    python benchmarks/coverage.py --sets 1000       # some minutes; the table in benchmarks/README.md

Every cell runs the package's own `estimate`, `aggregate` and `compare`. Columns: cell, n, covers (with its standard
error), median width, and of differences the share of better or worse.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd

from evaltools.core.estimates import Resampling
from evaltools.core.metric import Metric
from evaltools.stats.compare import compare, compare_all
from evaltools.stats.influence import label
from evaltools.stats.intervals import aggregate, estimate

R = Resampling(n_resamples=1_000)
SIZES = (20, 60, 200)
LEVELS = np.array([0, 0.4, 0.5, 2 / 3, 0.8, 1])
F1 = np.array([0.2, 0.1, 0.15, 0.2, 0.1, 0.25])
NEAR_1 = np.array([0.02, 0.01, 0.02, 0.03, 0.02, 0.9])

Rng = np.random.Generator
Cell = tuple[str, int, Callable[[], pd.Series], float]


def metric(**settings: object) -> Metric:
    return Metric(
        name="m",
        numerator="y",
        denominator="n",
        better="higher",
        **settings,  # type: ignore[arg-type]
    )


SCORE = metric(bounds=(0, 1))
RATE = metric(proportion=True)
FREE = metric()


def frame(y: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"id": range(len(y)), "y": y, "n": 1})


def runs(rng: Rng) -> Iterator[Cell]:
    """Cells of one run."""
    for n in SIZES:
        for name, p in (("F1", F1), ("F1, 90% ones", NEAR_1)):
            draw = partial(rng.choice, LEVELS, n, p=p)
            yield name, n, partial(estimated, draw, SCORE), float(LEVELS @ p)
        for rate in (0.05, 0.5):
            draw = partial(rng.binomial, 1, rate, n)
            yield f"rate {rate:g}", n, partial(estimated, draw, RATE), rate
        draw = partial(rng.lognormal, 0, 1, n)
        yield "lognormal(1), no limits", n, partial(estimated, draw, FREE), float(np.exp(0.5))


def estimated(draw: Callable[[], np.ndarray], table: Metric) -> pd.Series:
    return estimate(frame(draw()), [table], "id", R).iloc[0]


def seeds(rng: Rng) -> Iterator[Cell]:
    """Cells of a rate of .5 over seeds."""
    for k, spread in ((2, 0.1), (3, 0.1), (3, 0.3), (5, 0.3)):
        name = f"rate .5, {k} seeds, sd {spread:g}"
        yield name, 60, partial(of_seeds, rng, 60, k, spread), 0.5


def of_seeds(
    rng: Rng,
    n: int,
    k: int,
    spread: float,
) -> pd.Series:
    of_sample = rng.normal(0, 0.7, n)
    of_seed = rng.normal(0, spread, (k, 1))
    latent = of_sample + of_seed + rng.normal(0, 0.7, (k, n))
    condition = {seed: frame(latent[seed] > 0) for seed in range(k)}
    return aggregate(label([("", condition)], [RATE], "id"), R).iloc[0]


def shifted(
    rng: Rng,
    n: int,
    shift: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Scores and what they are after a change of `shift` on average, sd .06."""
    base = rng.uniform(
        0.25,
        0.65,
        n,
    )
    return base, base + rng.normal(shift, 0.06, n)


def flips(
    rng: Rng,
    n: int,
    wins: float,
    losses: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Right or wrong, before and after: some are won, some lost."""
    u = rng.random(n)
    is_won, is_lost = u < wins, (u >= wins) & (u < wins + losses)
    before = rng.integers(0, 2, n).astype(float)
    before = np.where(
        is_won,
        0.0,
        np.where(is_lost, 1.0, before),
    )
    after = np.where(
        is_won,
        1.0,
        np.where(is_lost, 0.0, before),
    )
    return before, after


def differences(rng: Rng) -> Iterator[Cell]:
    """Cells of the difference of one run a side."""
    for n in SIZES:
        for shift in (0.0, 0.03):
            draw = partial(shifted, rng, n, shift)
            yield f"difference, mean {shift:g}, sd .06", n, partial(compared, draw, SCORE), shift
        for wins, losses in ((0.1, 0.1), (0.15, 0.03), (0.02, 0.02)):
            draw = partial(flips, rng, n, wins, losses)
            name = f"difference, wins {wins:.0%}, losses {losses:.0%}"
            yield name, n, partial(compared, draw, RATE), wins - losses


def compared(draw: Callable[[], tuple[np.ndarray, np.ndarray]], table: Metric) -> pd.Series:
    a, b = ({"": frame(y)} for y in draw())
    return compare(a, b, [table], "id", R, ["m"], n_permutations=1_000).table.iloc[0]


def of_studies(rng: Rng) -> Iterator[Cell]:
    """Cells of equal systems: over seeds, and four candidates whose intervals must all hold 0."""
    for k in (2, 3, 5):
        yield f"difference 0, {k} seeds, sd .02", 60, partial(over_seeds, rng, 60, k), 0.0
    for n in (12, *SIZES):
        yield "4 candidates, all at once", n, partial(family, rng, n), 0.0


def over_seeds(rng: Rng, n: int, k: int) -> pd.Series:
    of_sample = rng.normal(0.5, 0.1, n)
    sides = []
    for _ in range(2):
        of_seed = rng.normal(0, 0.02, (k, 1))
        values = of_sample + of_seed + rng.normal(0, 0.1, (k, n))
        sides.append({seed: frame(values[seed].clip(0, 1)) for seed in range(k)})
    return compare(*sides, [SCORE], "id", R, ["m"], n_permutations=1_000).table.iloc[0]


def family(rng: Rng, n: int) -> pd.Series:
    of_sample = rng.normal(0.5, 0.1, n)
    values = (of_sample + rng.normal(0, 0.05, (5, n))).clip(0, 1)
    conditions = [(str(i), {"": frame(y)}) for i, y in enumerate(values)]
    labelled = label(conditions, [SCORE], "id")
    table = compare_all(labelled, R, ["m"], n_permutations=1_000)
    is_shown = table["verdict"].isin(["better", "worse"]).any()
    return pd.Series(
        {
            "ci_low": table["ci_low"].max(),
            "ci_high": table["ci_high"].min(),
            "verdict": "better" if is_shown else "tied",
        }
    )


def row(
    cell: Cell,
    sets: int,
) -> str:
    """The row of a cell, from so many data sets."""
    name, n, measured, truth = cell
    found = pd.DataFrame([measured() for _ in range(sets)])
    known = found.dropna(subset=["ci_low"])
    is_covered = (known["ci_low"] <= truth) & (truth <= known["ci_high"])
    covers = is_covered.mean()
    error = np.sqrt(max(covers * (1 - covers), 0.001) / len(known))
    width = (known["ci_high"] - known["ci_low"]).median()
    shown = ""
    if "verdict" in found:
        shown = f"{100 * found['verdict'].isin(['better', 'worse']).mean():.1f}"
    return f"| {name} | {n} | {100 * covers:.1f} ± {100 * error:.1f} | {width:.3f} | {shown} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sets",
        type=int,
        default=1_000,
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
    )
    groups = {each.__name__: each for each in (runs, seeds, differences, of_studies)}
    parser.add_argument("groups", nargs="*", default=[*groups], help=f"of {', '.join(groups)}")
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    print("| cell | n | covers, % | width | better or worse, % |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for group in asked.groups:
        for cell in groups[group](rng):
            print(row(cell, asked.sets), flush=True)


if __name__ == "__main__":
    main()
