"""Every pair of conditions on one metric: joint tests, tie groups, and intervals for ranks.

References: Mogstad, Romano, Shaikh and Wilhelm, "Inference for ranks with applications to mobility
across neighbourhoods and academic achievement across countries", Review of Economic Studies 91
(2024); Piepho, "An algorithm for a letter-based representation of all-pairwise comparisons",
Journal of Computational and Graphical Statistics 13 (2004). Measured error and coverage:
docs/statistics.md.
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
from ..core.metric_matrix import Compiled, compile_table
from ..core.resampling import Resampling
from .arrays import Array
from .design import (
    Pairing,
    Runs,
    grid,
    in_order,
    pair,
)
from .evidence import Evidence, evidence
from .influence import Paired, cell_sums
from .intervals import MIN_UNITS
from .measured import measured_runs
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
    """Every pair of conditions (name -> seed -> units frame) on one metric: the columns of PAIRS.

    `p_value` is that of `compare`. `p_adjusted` holds for all pairs together: Westfall and Young's
    over the pairs, with sign flips that all of them share, and with the seed variance of all pairs.
    Both are null where a pair has fewer than MIN_UNITS units in common.
    """
    compiled = compile_table(subset(table, [metric]))
    grids = {}
    for name, runs in conditions.items():
        grids[name] = grid(measured_runs(runs, compiled), unit)
    labels = set().union(*(side.units for side in grids.values()))
    every_unit = pd.Index(in_order(labels), dtype=object)
    rows, differences = [], []
    for baseline, candidate in combinations(conditions, 2):
        row: dict[str, Any] = {"baseline": baseline, "candidate": candidate, "n_units": 0}
        rows.append(row)
        pairing = pair(grids[baseline], grids[candidate])
        units = pairing.baseline.units
        if not len(units):
            continue
        tested = _tested(pairing, compiled, n_permutations, resampling)
        row["delta"] = tested.paired.delta[0]
        row["n_units"] = int(tested.paired.n_units[0])
        if row["n_units"] < MIN_UNITS or np.isnan(tested.p_value[0]):
            continue
        row["p_value"] = tested.p_value[0]
        row.update(_spread_of_seeds(tested))
        of_pair = np.zeros(len(every_unit))
        of_pair[every_unit.get_indexer(units)] = tested.differences[:, 0]
        differences.append(of_pair)
    frame = pd.DataFrame(rows, columns=[*PAIRS, *SEEDS])
    numbers = ["delta", "p_value", "p_adjusted", *SEEDS]
    frame[numbers] = frame[numbers].astype(float)
    if differences:
        is_tested = frame["p_value"].notna()
        p = _with_seeds_of_all(frame[is_tested], len(conditions))
        proportion = getattr(compiled.metrics[0], "proportion", False)
        flipped = flipped_p(
            np.stack(differences, axis=1),
            n_permutations,
            resampling.seed,
            np.full(len(differences), proportion),
        )
        steps = step_down(p, flipped, 1 - resampling.confidence)
        frame.loc[is_tested, "p_adjusted"] = steps.p
    return frame[[*PAIRS]]


def _tested(
    pairing: Pairing,
    compiled: Compiled,
    n_permutations: int,
    resampling: Resampling,
) -> Evidence:
    """What one pair of conditions shows."""
    paired = Paired(
        cell_sums(pairing.baseline, compiled),
        cell_sums(pairing.candidate, compiled),
        pairing.by_seed,
    )
    return evidence(paired, n_permutations, resampling)


def _spread_of_seeds(tested: Evidence) -> dict[str, float]:
    """What the seeds of a pair say: SEEDS; {} where it does not pair by several seeds.

    `seeds`: how many. `plain`: variance of delta by the values of the seeds alone, of which
    `residual` comes from their samples. `samples`: the part of the variance that comes from
    samples.
    """
    paired = tested.paired
    if not paired.by_seed or paired.n_seeds[0] < 2:
        return {}
    measured = paired.in_a[:, 0]
    values = (paired.b.values - paired.a.values)[measured, 0]
    return {
        "seeds": len(values),
        "plain": values.var(ddof=1) / len(values),
        "residual": tested.spread.from_residual[0],
        "samples": tested.parts()["of_samples"][0],
    }


def _with_seeds_of_all(
    rows: pd.DataFrame,
    conditions: int,
) -> Array:
    """`p_value`, or the p under the seed variance of all pairs if that is larger.

    By chance the few seeds of one pair may not differ at all. The mean square of all pairs, which
    has (conditions - 1) * (seeds - 1) degrees of freedom, stands beside its own.
    """
    p = rows["p_value"].to_numpy(dtype=float)
    if rows["seeds"].isna().all():
        return p
    plain = rows["plain"].mean()
    of_seeds = max(plain - rows["residual"].mean(), 0.0)
    samples = rows["samples"].to_numpy()
    n = rows["n_units"].to_numpy()
    size = np.abs(rows["delta"].to_numpy())
    total = samples + of_seeds
    df_seeds = (conditions - 1) * (rows["seeds"].min() - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = total**2 / (samples**2 / (n - 1) + plain**2 / df_seeds)
        p_of_all = 2 * stdtr(df, -size / np.sqrt(total))
    return np.fmax(p, p_of_all)


def ranks(
    estimates: pd.DataFrame,
    tested: pd.DataFrame,
    metric: AnyMetric,
    level: float,
) -> pd.DataFrame:
    """The conditions from the best value on: the columns of CONTRACT.

    `estimates` has condition, value, ci_low, ci_high; `tested` is what `pairs` gives. `rank_low` is
    1 + the number of conditions that are better, `rank_high` the number of conditions less those
    that are worse, each shown with p_adjusted <= `level` (as 0.05): together they hold every true
    rank with probability 1 - level. Conditions that share a letter in `group` are not shown to
    differ. A condition that is not measured has no rank and no group.

    >>> from evaltools.core.metric import Metric
    >>> estimates = pd.DataFrame({"condition": ["x", "y", "z"], "value": [0.5, 0.7, 0.8]})
    >>> estimates[["ci_low", "ci_high"]] = None
    >>> tested = pd.DataFrame(
    ...     [("x", "y", 0.2, 0.01), ("x", "z", 0.3, 0.001), ("y", "z", 0.1, 0.2)],
    ...     columns=["baseline", "candidate", "delta", "p_adjusted"],
    ... )
    >>> f1 = Metric(name="f1", numerator="a", denominator="n", better="higher")
    >>> ranks(estimates, tested, f1, 0.05)[["condition", "rank_low", "rank_high", "group"]]
      condition  rank_low  rank_high group
    0         z         1          2     a
    1         y         1          2     a
    2         x         3          3     b
    """
    is_measured = estimates["value"].notna()
    by_value = estimates[is_measured].sort_values(
        "value",
        ascending=metric.better == "lower",
        kind="stable",
    )
    measured = by_value["condition"].tolist()

    shown = tested[tested["p_adjusted"] <= level]
    improves = (shown["delta"] > 0) == (metric.better != "lower")
    better = shown["candidate"].where(improves, shown["baseline"])
    worse = shown["baseline"].where(improves, shown["candidate"])
    times_better, times_worse = better.value_counts(), worse.value_counts()
    groups = letters(measured, list(zip(better, worse)))

    rows: list[tuple[Any, ...]] = []
    for condition in measured:
        rank_low = 1 + times_worse.get(condition, 0)
        rank_high = len(measured) - times_better.get(condition, 0)
        rows.append((condition, rank_low, rank_high, groups[condition]))
    for condition in estimates.loc[~is_measured, "condition"]:
        rows.append((condition, pd.NA, pd.NA, np.nan))
    placed = pd.DataFrame(rows, columns=["condition", "rank_low", "rank_high", "group"])
    placed = placed.astype({"rank_low": "Int64", "rank_high": "Int64"})
    numbers = estimates.set_index("condition")[["value", "ci_low", "ci_high"]]
    return placed.join(numbers, on="condition")[list(CONTRACT)]


def letters(
    conditions: Sequence[str],
    differ: Sequence[tuple[str, str]],
) -> dict[str, str]:
    """Condition -> its letters: two share one if and only if they are not in `differ`.

    Insert and absorb (Piepho). All conditions start in one group. A pair that differs splits
    every group that holds both: one copy without the one, one without the other. A group that lies
    in another goes. Letters go by the first condition of each group; from the 27th on they are
    numbered: a2, b2, ...

    >>> letters("xyz", [("x", "z")])
    {'x': 'a', 'y': 'ab', 'z': 'b'}
    """
    groups = {frozenset(conditions)}
    for a, b in differ:
        split = set()
        for group in groups:
            if a in group and b in group:
                split |= {group - {a}, group - {b}}
            else:
                split.add(group)
        groups = {group for group in split if not any(group < other for other in split)}
    position = {condition: index for index, condition in enumerate(conditions)}

    def positions(group: frozenset[str]) -> list[int]:
        return sorted(position[condition] for condition in group)

    of_each: dict[str, str] = dict.fromkeys(conditions, "")
    for index, group in enumerate(sorted(groups, key=positions)):
        letter = ascii_lowercase[index % 26]
        if index >= 26:
            letter += str(index // 26 + 1)
        for condition in group:
            of_each[condition] += letter
    return of_each
