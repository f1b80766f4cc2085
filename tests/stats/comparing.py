"""Conditions to compare: a table of metrics of every kind, and runs with what may be wrong with them."""

from typing import Any

import numpy as np
import pandas as pd

from evaltools.core.estimates import Resampling
from evaltools.core.metric import Difference, Metric, MetricTable
from evaltools.stats import compare as stats
from evaltools.stats.influence import Condition, label


def ratio(
    name: str, numerator: str, denominator: str = "n", better: Any = "higher", **more: Any
) -> Metric:
    return Metric(name=name, numerator=numerator, denominator=denominator, better=better, **more)


def minus(name: str, minuend: str, subtrahend: str) -> Difference:
    return Difference(name=name, minuend=minuend, subtrahend=subtrahend, better="higher")


MEAN = ratio("mean", "y")

SCORE = ratio("score", "y", bounds=(0, 1))

ERRORS = ratio("errors", "bad", better="lower", proportion=True)

MICRO = ratio("micro", "2*tp", "2*tp + fp")

SHARE = ratio("share", "tp", better="none")

COUNT = ratio("count", "tp", "")

TABLE: MetricTable = [
    MEAN,
    ERRORS,
    MICRO,
    SHARE,
    COUNT,
    minus("d", "mean", "micro"),
]

R = Resampling(n_resamples=500)

Runs = dict[Any, pd.DataFrame]


def run(rng: np.random.Generator, sample: np.ndarray, shift: float = 0.0) -> pd.DataFrame:
    n = len(sample)
    return pd.DataFrame(
        {
            "id": [f"s{i:03d}" for i in range(n)],
            "y": sample + shift + rng.normal(0, 0.1, n),
            "bad": rng.random(n) < 0.3,
            "n": 1,
            "tp": rng.integers(0, 4, n),
            "fp": rng.integers(0, 3, n),
        }
    )


def frame(y: object, **columns: object) -> pd.DataFrame:
    """A run of these values."""
    made = pd.DataFrame({"y": y, "n": 1, **columns})
    return made if "id" in made else made.assign(id=range(len(made)))


def two(
    n: int = 40, seeds: tuple[object, ...] = (42, 123, 456), shift: float = 0.0
) -> tuple[Runs, Runs]:
    rng = np.random.default_rng([n, 0])
    sample = rng.normal(0.5, 0.2, n)
    a = {s: run(rng, sample + rng.normal(0, 0.01)) for s in seeds}
    b = {s: run(rng, sample + rng.normal(0, 0.01), shift) for s in seeds}
    return a, b


def compare(a: Runs, b: Runs, table: MetricTable, *settings: Any, **options: Any) -> pd.DataFrame:
    """The table of the comparison of two conditions, by metric."""
    table = stats.compare(a, b, table, "id", *settings, **options).table
    return table.set_index("metric", drop=False)


def compared(
    a: Runs, b: Runs, headline: tuple[str, ...] = ("mean", "errors"), **options: object
) -> pd.DataFrame:
    """The comparison of two conditions over TABLE."""
    return compare(a, b, TABLE, R, headline, n_permutations=999, **options)  # type: ignore[arg-type]


def labelled(table: MetricTable, *sides: Runs) -> list[Condition]:
    """Conditions called a, b, ..."""
    return label(zip("abcd", sides), table, "id")


CASES = {
    "one seed each": two(seeds=(1,)),
    "three seeds": two(),
    "no seed in common": (two(seeds=(1, 2))[0], two(seeds=(3, 4, 5))[1]),
    "one against three": (two(seeds=(1,))[0], two(seeds=(3, 4, 5))[1]),
    "incomplete": (two()[0], {s: f.iloc[s % 7 :] for s, f in two()[1].items()}),  # type: ignore[operator]
    "few": tuple({s: f.iloc[:7] for s, f in side.items()} for side in two()),
    "one sample": tuple({s: f.iloc[:1] for s, f in side.items()} for side in two()),
}


def differing(m: int) -> tuple[Runs, Runs]:
    """One seed each; the mean rises by 1 in m of 40 units, the errors in none."""
    a = run(np.random.default_rng(0), np.zeros(40))
    return {None: a}, {None: a.assign(y=a["y"] + (np.arange(40) < m))}
