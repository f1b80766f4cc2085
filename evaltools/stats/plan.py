"""How large a study must be, by formula.

n = (z_a + z_b)^2 s^2 / d^2 * n0 / (n0 - 2) samples show a difference d, s^2 being the variance of a
sample's difference in a pilot of n0; its range is that of the variance (chi-square). Of a proportion s^2 grows by
d - d^2 less that of the pilot's own difference: more units must change. Of several seeds
the variance is that of the components: seeds / K + (samples + interaction / K) / n, and d is no less than
t over the seeds' values asks for: seeds / K + interaction / (K n).
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import chdtri, ndtri, stdtrit

from ..core.estimates import Resampling
from ..core.messages import UsageError
from .effects import MIN_UNITS, ROUGH, Effect, paired, shared_seeds
from .formulas import variance_of_change
from .influence import ITEM, Condition

# The smallest pilot.
MIN_PILOT = 4


def plan(
    conditions: Sequence[Condition],
    metric: str,
    difference: float,
    power: float = 0.8,
    seeds: Sequence[int] = (1, 3, 5),
    resampling: Resampling | None = None,
) -> pd.DataFrame:
    """How many samples under each number of seeds show a difference in a metric, a row a number of seeds.

    `conditions`: the pilot, two that were labelled together. `samples`: units, of clusters their samples; null where no
    number is enough, or where a pilot of one seed does not say how far seeds differ; of MIN_UNITS units or more (of a
    proportion so many that change), as fewer have no verdict. `samples_low`, `samples_high`: what the
    pilot leaves open (95%). In one digit for a pilot of fewer than ROUGH units. One seed speaks of two runs.

    UsageError for a pilot that is too small or does not vary, and for settings out of their range.

    >>> from evaltools.core.metric import Metric
    >>> from evaltools.stats.influence import label
    >>> accuracy = Metric(name="accuracy", numerator="right", denominator="n", better="higher")
    >>> old = pd.DataFrame({"id": range(40), "right": [1, 0] * 20, "n": 1})
    >>> new = old.assign(right=[1, 0, 1, 1] * 10)
    >>> pilot = label([("old", {"": old}), ("new", {"": new})], [accuracy], "id")
    >>> int(plan(pilot, "accuracy", 0.1, seeds=[1])["samples"].iloc[0])
    159
    """
    if not (np.isfinite(difference) and difference > 0):
        raise UsageError(f"difference: expected a difference above 0, got {difference:g}")
    if not 0 < power < 1:
        raise UsageError(f"power: expected a number between 0 and 1, got {power:g}")
    if not seeds or min(seeds) < 1 or max(seeds) > 1000:
        raise UsageError(f"seeds: expected whole numbers from 1 to 1000, got {list(seeds)}")
    if len(conditions) != 2:
        raise UsageError("a plan takes the runs of two conditions")
    conditions = shared_seeds(*conditions)
    sides = [condition.cells(metric) for condition in conditions]
    pilot = paired(*sides)
    if pilot is None:
        raise UsageError(f"{metric} is not measured on both sides of the pilot")
    low, high = sides[0].formula.ends
    if difference > high - low:
        raise UsageError(
            f"difference: {metric} lies between {low:g} and {high:g}, so that no difference is above {high - low:g}, "
            f"got {difference:g}"
        )
    n, of_samples, of_seeds, rest, change = _variances(pilot, difference)
    if n < MIN_PILOT or not pilot.errors.any():
        raise UsageError(
            f"{metric}: a plan needs a pilot of {MIN_PILOT} or more units, some of which differ"
        )
    # a unit may weigh more than another, not be counted (0 or null), or be a cluster of samples
    names = [conditions[0].units.name, *[ITEM] * all(ITEM in side.rows for side in conditions)]
    samples = [pd.MultiIndex.from_frame(side.rows[names]) for side in conditions]
    n_units = len(samples[0].intersection(samples[-1]))
    upper, of_power = 1 - (resampling or Resampling()).level / 2, ndtri(power)
    # what the pilot's variance may truly be, as parts of it
    shares = np.array([1.0, *(n - 1) / chdtri(n - 1, [0.025, 0.975])]) * n / (n - 2)
    rows = []
    for k in seeds:
        needs = [(ndtri(upper), (of_samples + rest / k) * shares + change)]
        if k > 1:  # no interval is narrower than t over the seeds' values
            needs.append((stdtrit(k - 1, upper), rest / k * shares))
        needed = np.zeros(3)
        for reach, spread in needs:
            room = (difference / (reach + of_power)) ** 2 - (of_seeds / k if k > 1 else 0.0)
            enough = spread / room if room > 0 else np.full(3, np.nan)
            enough = enough.clip(MIN_UNITS / (difference if pilot.is_single else 1))
            needed = np.maximum(needed, np.ceil(enough * n_units / n))
        if n < ROUGH and needed[0] > 0:
            needed = np.array([float(f"{each:.0e}") for each in needed])
        rows.append((k, *needed))
    return pd.DataFrame(
        rows,
        columns=["seeds", "samples", "samples_low", "samples_high"],
    )


def _variances(
    pilot: Effect,
    difference: float,
) -> tuple[float, float, float, float, float]:
    """Effective units of a pilot, and the variances that samples, seeds, the rest, and the difference itself bring.

    nan for seeds if one. Of a proportion, units that change make both the difference and its variance: the pilot's own
    change is taken out of the samples' variance, and that of the difference to show put in its place.
    """
    n = pilot.n_effective
    of_samples = n * pilot.variance
    if pilot.parts:
        k = pilot.n_seeds
        rest = min(sum(part.residual for part in pilot.parts) * n, of_samples) * k
        of_seeds = sum(part.own for part in pilot.parts) * k
        return n, max(of_samples - rest / k, 0.0), of_seeds, rest, 0.0
    if not pilot.is_single:
        return n, of_samples, np.nan, 0.0, 0.0
    of_change = variance_of_change(
        pilot.value,
        np.sqrt(of_samples / n),
    )
    change = variance_of_change(min(difference, 1.0))
    return n, max(of_samples - of_change, 0.0), np.nan, 0.0, change
