"""Conditions in order: tie groups, and intervals for ranks, from the tests of every pair.

References: Mogstad, Romano, Shaikh and Wilhelm, "Inference for ranks with applications to mobility
across neighbourhoods and academic achievement across countries", Review of Economic Studies 91
(2024); Piepho, "An algorithm for a letter-based representation of all-pairwise comparisons",
Journal of Computational and Graphical Statistics 13 (2004); Bron and Kerbosch, "Finding all cliques
of an undirected graph", Communications of the ACM 16 (1973). Measured error and coverage:
docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from string import ascii_lowercase

import pandas as pd

from ..core.metric import AnyMetric

CONTRACT = ("condition", "value", "ci_low", "ci_high", "rank_low", "rank_high", "group")
"""The columns of ranks.csv, in order."""


def ranks(
    estimates: pd.DataFrame,
    tested: pd.DataFrame,
    metric: AnyMetric,
    level: float,
) -> pd.DataFrame:
    """The conditions from the best value on: the columns of CONTRACT.

    `estimates` has condition, value, ci_low, ci_high; `tested` is `max_t.JointTests.pairs`. `rank_low` is
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
    shown = tested[tested["p_adjusted"] <= level]
    rises = shown["delta"] > 0
    improves = ~rises if metric.better == "lower" else rises
    better = shown["candidate"].where(improves, shown["baseline"])
    worse = shown["baseline"].where(improves, shown["candidate"])
    groups = letters(
        by_value["condition"].tolist(),
        list(zip(better, worse)),
    )

    not_measured = estimates[~is_measured]
    order = [*by_value.index, *not_measured.index]
    rows = estimates.loc[order]
    condition = rows["condition"]
    n_better = condition.map(worse.value_counts()).fillna(0)
    n_beaten = condition.map(better.value_counts()).fillna(0)
    rank_low = 1 + n_better
    rank_high = len(by_value) - n_beaten
    rows = rows.assign(
        rank_low=rank_low.where(is_measured).astype("Int64"),
        rank_high=rank_high.where(is_measured).astype("Int64"),
        group=condition.map(groups),
    )
    return rows.reset_index(drop=True)[list(CONTRACT)]


def letters(
    conditions: Sequence[str],
    differ: Sequence[tuple[str, str]],
) -> dict[str, str]:
    """Condition -> its letters: two share one if and only if they are not in `differ`.

    A letter stands for a largest group of conditions of which no two differ. Letters go by the
    first condition of each group; from the 27th on they are numbered: a2, b2, ...

    >>> letters("xyz", [("x", "z")])
    {'x': 'a', 'y': 'ab', 'z': 'b'}
    """
    everyone = frozenset(range(len(conditions)))
    alike = {index: everyone - {index} for index in everyone}
    place = {condition: index for index, condition in enumerate(conditions)}
    for one, other in differ:
        a, b = place[one], place[other]
        alike[a] -= {b}
        alike[b] -= {a}
    groups = [sorted(group) for group in _groups(alike, everyone)]
    of_each = dict.fromkeys(conditions, "")
    for number, group in enumerate(sorted(groups)):
        letter = ascii_lowercase[number % 26]
        if number >= 26:
            letter += str(number // 26 + 1)
        for index in group:
            of_each[conditions[index]] += letter
    return of_each


def _groups(
    alike: Mapping[int, frozenset[int]],
    left: frozenset[int],
    tried: frozenset[int] = frozenset(),
    group: frozenset[int] = frozenset(),
) -> Iterator[frozenset[int]]:
    """The largest groups that hold `group` and others of those `left`, all alike (Bron and Kerbosch).

    Groups that hold one of those `tried` were given before.
    """
    if not left and not tried:
        yield group
        return
    # every largest group holds this one, or one that differs from it
    pivot = max(left | tried, key=lambda index: len(left & alike[index]))
    for index in sorted(left - alike[pivot]):
        near = alike[index]
        yield from _groups(alike, left & near, tried & near, group | {index})
        left -= {index}
        tried |= {index}
