"""Every pair of conditions on one metric: tests that hold together, tie groups, and intervals for ranks.

References: Mogstad, Romano, Shaikh and Wilhelm, "Inference for ranks with applications to mobility across
neighbourhoods and academic achievement across countries", Review of Economic Studies 91 (2024); Piepho, "An
algorithm for a letter-based representation of all-pairwise comparisons", Journal of Computational and Graphical
Statistics 13 (2004). Measured error and coverage: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr

from ..core.metric import AnyMetric, MetricTable, subset
from ..core.metric_matrix import compile_table
from ..core.resampling import Resampling
from .compare import Evidence, evidence
from .design import Runs, grid, in_order, pair
from .influence import Paired, cell_sums
from .intervals import MIN_UNITS
from .multiplicity import step_down
from .sign_flips import flipped_p

CONTRACT = ("condition", "value", "ci_low", "ci_high", "rank_low", "rank_high", "group")
"""The columns of ranks.csv, in order."""

PAIRS = ("baseline", "candidate", "delta", "n_units", "p_value", "p_adjusted")
SEEDS = ("seeds", "plain", "residual", "samples")


def pairs(
    conditions: Mapping[str, Runs],
    table: MetricTable,
    unit: str,
    metric: str,
    resampling: Resampling,
    n_permutations: int = 10_000,
) -> pd.DataFrame:
    """Every pair of conditions on one metric: PAIRS.

    `p_value` is `compare`'s. `p_adjusted` holds for all pairs together: Westfall and Young's over the pairs, with
    sign flips that all of them share, and with the seed variance of all pairs. null where a pair has fewer than
    MIN_UNITS units in common.
    """
    compiled = compile_table(subset(table, [metric]))
    grids = {name: grid(runs, unit) for name, runs in conditions.items()}
    units = pd.Index(in_order(set().union(*(g.units for g in grids.values()))), dtype=object)
    found, differences = [], []
    for one, other in combinations(conditions, 2):
        a, b, by_seed, _ = pair(grids[one], grids[other])
        row: dict[str, Any] = {"baseline": one, "candidate": other, "n_units": len(a.units)}
        found.append(row)
        if not len(a.units):
            continue
        tested = evidence(
            Paired(cell_sums(a, compiled), cell_sums(b, compiled), by_seed),
            n_permutations,
            resampling,
        )
        row |= {"delta": tested.paired.delta[0], "n_units": int(tested.paired.n_units[0])}
        if row["n_units"] >= MIN_UNITS and not np.isnan(tested.p_value[0]):
            row["p_value"] = tested.p_value[0]
            row |= _seeds_of(tested)
            differences.append(np.zeros(len(units)))
            differences[-1][units.get_indexer(a.units)] = tested.differences[:, 0]
    frame = pd.DataFrame(found, columns=[*PAIRS, *SEEDS])
    numbers = frame.columns.drop(["baseline", "candidate", "n_units"])
    frame[numbers] = frame[numbers].astype(float)
    if differences:
        mid = np.full(len(differences), getattr(compiled.metrics[0], "proportion", False))
        flipped = flipped_p(np.stack(differences, axis=1), n_permutations, resampling.seed, mid)
        known = frame["p_value"].notna()
        p = _with_all_seeds(frame[known], len(conditions))
        frame.loc[known, "p_adjusted"] = step_down(p, flipped, 1 - resampling.confidence).p
    return frame[[*PAIRS]]


def _seeds_of(tested: Evidence) -> dict[str, float]:
    """Of a pair: its seeds, and the variance of delta by their values alone, what of that is residual, by samples."""
    paired = tested.paired
    if not paired.by_seed or paired.n_seeds[0] < 2:
        return {}
    values = (paired.b.values - paired.a.values)[paired.in_a[:, 0], 0]
    samples, residual = tested.together()["of_samples"][0], tested.spread.from_residual[0]
    return dict(zip(SEEDS, (len(values), values.var(ddof=1) / len(values), residual, samples)))


def _with_all_seeds(found: pd.DataFrame, conditions: int) -> np.ndarray:
    """`p_value`, or that under the seed variance of all pairs if it is larger.

    A pair's few seeds can by chance not differ at all: the mean square of all pairs, which has (conditions - 1) *
    (seeds - 1) degrees of freedom, stands beside its own.
    """
    p = found["p_value"].to_numpy(dtype=float)
    if found["seeds"].isna().all():
        return p
    plain, seeds = found["plain"].mean(), found["seeds"].min()
    samples, n, delta = (found[column].to_numpy() for column in ("samples", "n_units", "delta"))
    total = samples + max(plain - found["residual"].mean(), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = total**2 / (samples**2 / (n - 1) + plain**2 / ((conditions - 1) * (seeds - 1)))
        return np.fmax(p, 2 * stdtr(df, -np.abs(delta) / np.sqrt(total)))


def ranks(
    estimates: pd.DataFrame, found: pd.DataFrame, metric: AnyMetric, level: float
) -> pd.DataFrame:
    """The conditions from the best value on: CONTRACT.

    `estimates` has condition, value, ci_low, ci_high; `found` is `pairs`'s. `rank_low` is 1 + the number of
    conditions that are better, `rank_high` the number of conditions less those that are worse, each shown with
    p_adjusted <= `level` (as 0.05): together they hold every true rank with probability 1 - level. Conditions that
    share a letter in `group` are not shown to differ. A condition that is not measured has no rank and no group.

    >>> from evaltools.core.metric import Metric
    >>> estimates = pd.DataFrame({"condition": ["x", "y", "z"], "value": [0.5, 0.7, 0.8]})
    >>> estimates[["ci_low", "ci_high"]] = None
    >>> found = pd.DataFrame(
    ...     [("x", "y", 0.2, 0.01), ("x", "z", 0.3, 0.001), ("y", "z", 0.1, 0.2)],
    ...     columns=["baseline", "candidate", "delta", "p_adjusted"],
    ... )
    >>> ranks(estimates, found, Metric(name="f1", numerator="a", denominator="n", better="higher"), 0.05)[
    ...     ["condition", "rank_low", "rank_high", "group"]
    ... ]
      condition  rank_low  rank_high group
    0         z         1          2     a
    1         y         1          2     a
    2         x         3          3     b
    """
    measured = estimates[estimates["value"].notna()]
    best = measured.sort_values("value", ascending=metric.better == "lower", kind="stable")[
        "condition"
    ].tolist()
    shown = found[found["p_adjusted"] <= level]
    up = (shown["delta"] > 0) == (metric.better != "lower")
    better, worse = (shown["candidate"].where(way, shown["baseline"]) for way in (up, ~up))
    groups = letters(best, list(zip(better, worse)))
    placed = pd.DataFrame(
        {"condition": [*best, *estimates.loc[estimates["value"].isna(), "condition"]]}
    )
    known, counts = placed["condition"].isin(best), (worse.value_counts(), better.value_counts())
    above, below = (
        placed["condition"].map(c).fillna(0).astype("Int64").where(known) for c in counts
    )
    placed = placed.assign(
        rank_low=1 + above, rank_high=len(best) - below, group=placed["condition"].map(groups)
    )
    numbers = estimates.set_index("condition")[["value", "ci_low", "ci_high"]]
    return placed.join(numbers, on="condition")[list(CONTRACT)]


def letters(conditions: Sequence[str], differ: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Condition -> its letters: two conditions share one if and only if they are not in `differ` (insert and absorb).

    Letters go by the first condition of each group. From the 27th on they are numbered: a2, b2, ...

    >>> letters("xyz", [("x", "z")])
    {'x': 'a', 'y': 'ab', 'z': 'b'}
    """
    groups = {frozenset(conditions)}
    for a, b in differ:
        split = {
            group - {out} for group in groups for out in ((a, b) if {a, b} <= group else (None,))
        }
        groups = {g for g in split if not any(g < other for other in split)}
    place = {c: i for i, c in enumerate(conditions)}
    ordered = sorted(groups, key=lambda group: sorted(place[c] for c in group))
    names = [
        ascii_lowercase[i % 26] + (str(i // 26 + 1) if i >= 26 else "") for i in range(len(ordered))
    ]
    return {
        c: "".join(name for name, group in zip(names, ordered) if c in group) for c in conditions
    }
