"""How large a study must be, by formula.

n = (z_a + z_b)^2 s^2 / d^2 * n0 / (n0 - 2) samples show a difference d, s^2 being the variance of a
sample's difference in a pilot of n0; its range is that of the variance (chi-square). Of several seeds
the variance is that of the components: seeds / K + (samples + interaction / K) / n.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import chdtri, ndtri

from ..core.errors import UsageError
from ..core.metric import MetricTable, subset
from ..core.resampling import Resampling
from .differences import paired_differences
from .influence import Array, Runs, effective_units, in_order, measured_groups, without_nulls
from .pairs import label_rows, pairs_by_seed
from .seeds import sample_variance, seed_part

# The columns of a plan.
COLUMNS = ("seeds", "samples", "samples_low", "samples_high", "power", "calls")
# The smallest pilot.
LEAST_PILOT = 4


def plan(
    conditions: Sequence[Runs],
    table: MetricTable,
    unit: str,
    metric: str,
    difference: float,
    power: float = 0.8,
    seeds: Sequence[int] = (1, 3, 5),
    resampling: Resampling | None = None,
) -> pd.DataFrame:
    """How many samples under each number of seeds show a difference in a metric: COLUMNS, a row a number of seeds.

    `conditions`: the pilot, the runs (seed -> units frame) of two conditions, or of one, two seeds of
    which then stand for two conditions. `samples`: units; null where no number is enough, or where a
    pilot of one seed does not say how far seeds differ. `samples_low`, `samples_high`: what the pilot
    leaves open (95%). `calls`: seeds x samples, for one condition. One seed speaks of two runs.

    UsageError for a pilot that is too small or does not vary, and for settings out of their range.

    >>> from evaltools.core.metric import Metric
    >>> accuracy = Metric(name="accuracy", numerator="right", denominator="n", better="higher")
    >>> old = pd.DataFrame({"id": range(40), "right": [1, 0] * 20, "n": 1})
    >>> new = old.assign(right=[1, 0, 1, 1] * 10)
    >>> int(plan([{"": old}, {"": new}], [accuracy], "id", "accuracy", 0.1, seeds=[1])["samples"].iloc[0])
    159
    """
    resampling = resampling or Resampling()
    if not (np.isfinite(difference) and difference > 0):
        raise UsageError(f"difference: expected a difference above 0, got {difference:g}")
    if not 0 < power < 1:
        raise UsageError(f"power: expected a number between 0 and 1, got {power:g}")
    if not seeds or min(seeds) < 1:
        raise UsageError(f"seeds: expected whole numbers from 1, got {list(seeds)}")
    n, components = _components(conditions, table, unit, metric)
    z2 = (ndtri(1 - resampling.level / 2) + ndtri(power)) ** 2
    factor = n / (n - 2)
    df = n - 1
    # what the pilot's variance may truly be, as parts of it
    low, high = df / chdtri(df, 0.025), df / chdtri(df, 0.975)
    rows = []
    for k in seeds:
        of_seeds, of_samples, rest = components
        room = difference**2 / z2 - (of_seeds / k if k > 1 else 0.0)
        variance = of_samples + rest / k
        needed = [np.nan] * 3
        if room > 0:
            needed = [np.ceil(variance * factor * share / room) for share in (1.0, low, high)]
        rows.append((k, *needed, power, needed[0] * k))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _components(
    conditions: Sequence[Runs],
    table: MetricTable,
    unit: str,
    metric: str,
) -> tuple[float, tuple[float, float, float]]:
    """(units of the pilot, variances of a difference that seeds, samples and the rest bring).

    That of seeds is nan for a pilot of one seed.
    """
    sides = list(conditions)
    if len(sides) == 1:
        runs = sides[0]
        names = in_order(runs)
        if len(names) < 2:
            raise UsageError(
                "one run says nothing of differences: give the runs of two conditions, or several "
                "seeds of one"
            )
        half = len(names) // 2
        # seeds of one condition stand for two
        sides = [
            {i: runs[name] for i, name in enumerate(names[:half])},
            {i: runs[name] for i, name in enumerate(names[half : 2 * half])},
        ]
    by_seed = pairs_by_seed(*sides)
    a, b = label_rows(sides, unit)
    frames = [frame for runs in (a, b) for frame in runs.values()]
    indices, compiled, columns = next(iter(measured_groups(subset(table, [metric]), frames, unit)))
    a, b = without_nulls(a, columns), without_nulls(b, columns)
    of_metric = [
        differences
        for differences in paired_differences(a, b, compiled, indices, unit, by_seed, Resampling())
        if 0 in differences.metrics
    ]
    if not of_metric:
        raise UsageError(f"{metric} is not measured on both sides of the pilot")
    d = of_metric[0]
    n = float(d.n_effective[0])
    errors = d.b.errors.mean(axis=0) - d.a.errors.mean(axis=0)
    total = float(sample_variance(errors, effective_units(d.shares))[0]) * n
    if n < LEAST_PILOT or total <= 0:
        raise UsageError(
            f"{metric}: a plan needs a pilot of {LEAST_PILOT} or more units, some of which differ"
        )
    if d.n_seeds == 1:
        return n, (np.nan, total, 0.0)
    takes_part = d.a.takes_part | d.b.takes_part
    if by_seed:
        values, of_cells = d.b.values - d.a.values, d.b.errors - d.a.errors
        parts = [seed_part(values, of_cells, d.a.present, takes_part)]
    else:
        parts = [seed_part(s.values, s.errors, s.present, s.takes_part) for s in (d.a, d.b)]
    k = d.n_seeds

    def whole(brought: Array) -> float:
        return float(brought[0]) * k

    own = sum(whole(part.own) for part in parts)
    rest = min(sum(whole(part.residual) for part in parts), total * k / n) * n
    return n, (own, max(total - rest / k, 0.0), rest)
