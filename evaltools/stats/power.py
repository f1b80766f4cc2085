"""What a larger study would show: samples by seeds for a wanted difference, from the variance components of a pilot.

A planned study is drawn from the pilot's own units, tilted to the wanted difference, under the pilot's seed variance,
and judged by the rule that comparisons are judged by (`compare.decide`), which pools the seeds of both sides where
those of the pilot are alike and go apart. Formulas and realised power:
docs/statistics.md.

References: Efron, "Nonparametric standard errors and confidence intervals", Canadian Journal of Statistics 9 (1981),
exponential tilting; Weerahandi, "Generalized confidence intervals", JASA 88 (1993).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import nctdtr, ndtr, ndtri

from ..core.errors import UsageError
from ..core.language import say
from ..core.metric import Metric, MetricTable, subset
from ..core.metric_matrix import compile_table
from ..core.resampling import Resampling
from .arrays import ROUNDING
from .compare import decide, evidence, mde_text
from .design import Runs, grid, pair
from .detectable import POWER, smallest_difference, units_needed
from .influence import Cells, Paired, cell_sums, seed_mean
from .intervals import MIN_UNITS
from .large_samples import LARGE
from .variance import Components, spread_of_runs

CONTRACT = ("seeds", "samples", "power", "samples_low", "samples_high", "calls")
"""The columns of a plan, in order."""

MOST = 100_000
"""Samples beyond which no plan looks."""

BLOCKS, BLOCK = 20, 50
"""Simulated studies for one power: so many blocks of studies that share their sign patterns."""

HARDLY = 0.95
"""A larger study whose smallest difference is more than this share of today's hardly changes it."""

MORE: tuple[tuple[int, int, str, str], ...] = (
    (0, 2, "two more seeds would bring that to {then}", "two more seeds would hardly change that"),
    (
        1,
        0,
        "twice the samples would bring that to {then}",
        "twice the samples would hardly change that",
    ),
)
"""What could be added: samples (times those there are), seeds; what is said where it helps, and where it does not."""

TRIES, NEAR = 12, 0.02
"""Numbers of samples that are tried, until one has at most so much more than the power wanted."""

PILOTS = 400
"""Sets of variance components, as likely as the pilot's, that its uncertainty is made of."""

ALONE = (
    "One condition only: another one is assumed to differ from it, sample by sample, as its own seeds do from each "
    "other. One that differs more needs more."
)

LIKELY = 0.8
"""Share of these whose number of samples lies from samples_low to samples_high."""


def likely(
    c: Components, n: int, known: float, seeds: int, df_seeds: float, rng: np.random.Generator
) -> Components:
    """PILOTS others under which these are as likely: every mean square over a chi-square draw (Weerahandi).

    `known` stands for the n samples in the degrees of freedom: fewer, where a few samples hold most of the variance.
    `df_seeds` are those of the seeds' mean square.
    """
    df = known - 1.0, df_seeds, (known - 1.0) * (seeds - 1.0)
    of_sample, of_seed, rest = (
        d / rng.chisquare(d, PILOTS) if d > 0 else np.zeros(PILOTS) for d in df
    )
    residual = c.residual * rest
    between, total = (
        (c.residual + n * c.seed) * of_seed,
        (c.residual + seeds * c.sample) * of_sample,
    )
    of_seeds, of_samples = (
        np.maximum(between - residual, 0.0) / n,
        np.maximum(total - residual, 0.0) / seeds,
    )
    return Components(of_seeds, of_samples, residual, c.sides)


def approximate(
    c: Components, difference: float, n: Any, seeds: int, confidence: float
) -> np.ndarray:
    """Probability that a true difference is found with n samples under each of so many seeds, for normal cells.

    Several seeds: noncentral t at the spread to expect. One seed: normal; its seed's own variance moves the
    difference that is seen, and no standard error knows of it.
    """
    error, critical, df = c.spread(n, seeds).widest(confidence)
    if seeds == 1:
        return ndtr((difference - critical * error) / np.sqrt(c.seed + error**2))
    # far out nctdtr gives nan, which is a power of 1
    return 1 - np.nan_to_num(nctdtr(df, difference / error, critical))


def needed(
    c: Components, difference: float, seeds: int, power: float, confidence: float
) -> np.ndarray:
    """The least n with that `approximate` power, from MIN_UNITS to MOST; inf where MOST is not enough."""
    low, high = np.full(np.shape(c.seed), float(MIN_UNITS)), np.full(np.shape(c.seed), float(MOST))
    never = ~(approximate(c, difference, high, seeds, confidence) >= power)
    for _ in range(30):
        middle = np.sqrt(low * high)
        enough = approximate(c, difference, middle, seeds, confidence) >= power
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(never, np.inf, np.ceil(high - 0.01))


@dataclass(frozen=True)
class Pilot:
    """What runs say of a difference in one metric, better being positive.

    `value` is the baseline's. `cells` (seeds, units): the linearised difference of each cell, without the deviations
    of the seeds. `df_seeds`: degrees of freedom of their mean square. Where the seeds of both sides are pooled
    `components.sides` is 2.
    """

    metric: Any
    value: float
    cells: np.ndarray
    components: Components
    n: int
    seeds: int
    df_seeds: float

    @cached_property
    def keep(self) -> float:
        """Probability that a drawn cell stays with its unit, so that drawn units vary as `sample` says."""
        c = self.components
        between = c.sample + c.residual / self.seeds
        return float(np.sqrt(c.sample / between)) if between > 0 else 0.0

    @property
    def known(self) -> float:
        """Number of normal units whose variance would be known as well as that of these (by their kurtosis)."""
        means = self.cells.mean(axis=0)
        z = (means - means.mean()) / (means.std() or 1.0)
        return 1 + 2 / (2 / (self.n - 1) + max(float(np.mean(z**4)) - 3, 0.0) / self.n)

    def require(self, difference: float, unit: str) -> None:
        """UsageError unless the metric has room for the difference and the units can be tilted to it."""
        low, high = self.metric.limits
        room = self.value - low if self.metric.better == "lower" else high - self.value
        what = f"a difference of {difference:g} in {self.metric.name}"
        if difference > room:
            stands = f"it stands at {self.value:.3f} and has room for {room:.3f}"
            raise UsageError(f"{what} is beyond its bounds: {stands}")
        means = self.cells.mean(axis=0)
        if difference >= (largest := float(means.max())):
            raise UsageError(
                f"{what} is beyond these runs: no {unit} of theirs differs by more than {largest:.3g}"
            )
        if difference <= (least := float(means.min())):
            raise UsageError(
                f"{what} is below these runs: no {unit} of theirs differs by less than {least:.3g}"
            )

    def weights(self, difference: float) -> np.ndarray:
        """(units,): the probabilities, nearest to equal ones, under which units differ by `difference` on average."""
        off = self.cells.mean(axis=0) - difference
        off = off / np.abs(off).max()

        def tilted(strength: float) -> np.ndarray:
            w = np.exp(strength * (off - (1.0 if strength > 0 else -1.0)))
            return w / w.sum()

        from scipy.optimize import brentq  # an eighth of a second, which only plans need

        return tilted(brentq(lambda s: float(tilted(s) @ off), -700, 700))

    def simulated(self, difference: float, n: int, seeds: int, resampling: Resampling) -> float:
        """Share of simulated studies, n samples under each of so many seeds, in which `decide` finds it."""
        rng = np.random.default_rng([resampling.seed, n, seeds])
        cumulated = np.cumsum(self.weights(difference))
        proportion = getattr(self.metric, "proportion", False)
        of_each = Metric(
            name="", numerator="", denominator="n", better="higher", proportion=proportion
        )
        compiled = compile_table(
            [replace(of_each, name=f"m{j}", numerator=f"y{j}") for j in range(BLOCK)]
        )
        at = [compiled.columns.index(f"y{j}") for j in range(BLOCK)]
        shape, found = (seeds, n, BLOCK), 0
        present = np.ones(shape[:2], dtype=bool)

        def drawn() -> np.ndarray:
            own = np.broadcast_to(np.searchsorted(cumulated, rng.random(shape[1:])), shape)
            other = np.searchsorted(cumulated, rng.random(shape))
            units = np.minimum(
                np.where(rng.random(shape) < self.keep, own, other), len(cumulated) - 1
            )
            cells = self.cells[rng.integers(len(self.cells), size=shape), units]
            if self.components.seed > 0:
                cells = _moved(
                    cells, rng.normal(0, np.sqrt(self.components.seed), (seeds, 1, BLOCK))
                )
            return cells

        def side(cells: np.ndarray) -> Cells:
            sums = np.ones((*shape[:2], len(compiled.columns)))
            sums[:, :, at] = cells
            return Cells(compiled, sums, present)

        for block in range(BLOCKS):
            difference_of = drawn()
            # cells whose mean over both sides varies as half their difference does go apart, and have like seeds
            middle = drawn() if self.components.sides == 2 and seeds > 1 else np.zeros(shape)
            paired = Paired(
                side((middle - difference_of) / 2), side((middle + difference_of) / 2), True
            )
            found += int(
                (
                    decide(paired, resampling.model_copy(update={"seed": resampling.seed + block}))
                    > 0
                ).sum()
            )
        return found / (BLOCKS * BLOCK)


def _moved(cells: np.ndarray, by: np.ndarray) -> np.ndarray:
    """(seeds, units, ...) cells whose means over units are moved by those that are not 0, so that a 0 stays 0."""
    there = cells != 0
    share = there.mean(axis=1, keepdims=True)
    return cells + there * np.divide(by, share, out=np.zeros_like(share), where=share > 0)


def pilot(
    conditions: Sequence[Runs], table: MetricTable, unit: str, metric: str, resampling: Resampling
) -> Pilot:
    """The pilot that one or two conditions make for a metric; by the method "auto" seeds are pooled as in `compare`.

    Two conditions pair by seed and sample; without a seed in common, seeds pair in their order. The seeds of a single
    condition are taken as pairs: another condition is assumed to differ from it, sample by sample, no more than its
    own seeds do from each other.

    Raises UsageError for a metric without a direction, fewer than MIN_UNITS units in common, one run only, and runs
    that do not differ.
    """
    compiled = compile_table(subset(table, [metric]))
    of = compiled.metrics[0]
    if of.better == "none" or compiled.counts[0]:
        raise UsageError(
            f"{metric} can be neither better nor worse: there is no difference in it to plan for"
        )
    alone = len(conditions) == 1
    a = grid(conditions[0], unit)
    if alone:
        if len(a.seeds) == 1:
            raise UsageError(
                "one run shows no difference to plan from: give another condition, or another seed"
            )
        b = replace(
            a, frames=a.frames[1:] + a.frames[:1], unit_of_row=a.unit_of_row[1:] + a.unit_of_row[:1]
        )
    else:
        b = grid(conditions[1], unit)
        if not set(a.seeds) & set(b.seeds):
            k = min(len(a.seeds), len(b.seeds))
            a, b = (replace(s.take(s.seeds[:k], s.units), seeds=tuple(range(k))) for s in (a, b))
    one, other, _, _ = pair(a, b)
    n = len(one.units)
    if n < MIN_UNITS:
        raise UsageError(f"{n} units ({unit}) in common: a plan needs {MIN_UNITS}")
    paired = Paired(cell_sums(one, compiled), cell_sums(other, compiled), True)
    measured = paired.in_a[:, 0]
    if not (seeds := int(measured.sum())):
        raise UsageError(f"{metric} is not measured in these runs")
    ratios = np.concatenate(
        [compiled.ratios(side.totals) for side in (paired.baseline, paired.candidate)]
    )
    middle = np.nan_to_num(seed_mean(ratios, ~np.isnan(ratios)))[None]
    present = paired.baseline.present
    cells = (paired.candidate.errors(middle) - paired.baseline.errors(middle))[:, :, 0]
    cells = np.where(present, cells * present.sum(axis=1)[:, None], np.nan)[measured]
    cells = cells[:, ~np.isnan(cells).all(axis=0)]
    cells = np.where(np.isnan(cells), np.nanmean(cells, axis=0), cells) * (
        -1.0 if of.better == "lower" else 1.0
    )
    if np.ptp(cells) <= ROUNDING * np.abs(cells).max(initial=1.0):
        raise UsageError(
            f"{metric} does not differ between these runs in any {unit}: nothing to plan from"
        )
    cells = _moved(cells, cells.mean() - cells.mean(axis=1, keepdims=True))
    value, df_seeds = float(paired.value_a[0]), seeds - 1.0
    if not alone:
        tested = evidence(paired, 1, resampling)
        sides = 2 if seeds > 1 and tested.pooled[0] else 1
        made = _first(Components.from_spread(tested.spread, n, seeds), sides)
        return Pilot(of, value, cells, made, n, seeds, sides * df_seeds)
    single = _first(
        Components.from_spread(spread_of_runs(cell_sums(a, compiled), np.array([n])), n, seeds), 1
    )
    doubled = Components(
        2 * single.seed, 0.0, 2 * single.residual, 2 if resampling.method == "auto" else 1
    )
    return Pilot(
        of, value, np.concatenate([cells, -cells]).reshape(1, -1), doubled, n, seeds, df_seeds
    )


def _first(c: Components, sides: int) -> Components:
    """The components of the first metric, as numbers."""
    return Components(float(c.seed[0]), float(c.sample[0]), float(c.residual[0]), sides)


def _row(
    made: Pilot,
    others: Components,
    difference: float,
    seeds: int,
    power: float,
    resampling: Resampling,
) -> tuple[float, ...]:
    """The row of a plan for one number of seeds."""
    if made.seeds == 1 < seeds:
        return (seeds, *[np.nan] * 5)
    confidence = resampling.confidence
    open_to = needed(others, difference, seeds, power, confidence)
    low, high = np.quantile(open_to, [(1 - LIKELY) / 2, (1 + LIKELY) / 2], method="inverted_cdf")
    normal = float(needed(made.components, difference, seeds, power, confidence))
    tried: dict[int, float] = {}
    n = int(min(normal, LARGE))
    while n not in tried and len(tried) < TRIES:
        if n > LARGE:
            tried[n] = float(approximate(made.components, difference, n, seeds, confidence))
        else:
            tried[n] = made.simulated(difference, n, seeds, resampling)
        if power <= tried[n] <= power + NEAR:
            break
        # a test's distance in standard errors grows with the root of n
        wanted, seen = ndtri(np.clip([power + NEAR / 2, tried[n]], 0.1, 0.99)) + ndtri(
            0.5 + confidence / 2
        )
        n = int(np.clip(np.ceil(n * (wanted / seen) ** 2), MIN_UNITS, MOST))
        short = max((k for k, p in tried.items() if p < power), default=0)
        beyond = min((k for k, p in tried.items() if p >= power), default=MOST + 1)
        if short and beyond <= MOST and not short < n < beyond:
            n = int(np.sqrt(short * beyond))
    enough = min((k for k, p in tried.items() if p >= power), default=None)
    low = low if np.isfinite(low) else np.nan
    if enough is None:
        return seeds, np.nan, tried[max(tried)], low, np.nan, np.nan
    scale = enough / normal if np.isfinite(normal) else 1.0
    high = max(enough, np.ceil(high * scale)) if np.isfinite(high) else np.nan
    return seeds, enough, tried[enough], min(enough, np.ceil(low * scale)), high, seeds * enough


def plan(
    conditions: Sequence[Runs],
    table: MetricTable,
    unit: str,
    metric: str,
    difference: float,
    *,
    power: float = 0.8,
    seeds: Sequence[int] = (1, 3, 5),
    resampling: Resampling | None = None,
    done: Callable[..., None] = lambda name="": None,
) -> pd.DataFrame:
    """How many samples find a difference for each number of seeds: CONTRACT, a row a number of seeds.

    `conditions`: one or two, each seed -> units frame. `difference`: how much better the candidate truly is, in
    units of the metric. `samples`: the least number under every seed, the same for both conditions, for which
    `power` of the simulated studies find it, as the primary metric at the level of `resampling`; null where none
    up to MOST does, or where a pilot of one seed says nothing of more. `power`: that of these samples, or of
    MOST. `samples_low` and `samples_high`: what the pilot's own uncertainty leaves open, LIKELY of the variance
    components that are as likely as its; a null `samples_high` is no bound. `calls` = seeds * samples, for one
    condition. `done(name)` is called after each row. The result depends on `resampling.seed` and on nothing else
    that is drawn. Studies of more than LARGE samples have the normal approximation (`approximate`).

    Raises UsageError as `pilot` and `Pilot.require` do, and for settings out of range.

    >>> rng = np.random.default_rng(0)
    >>> old = pd.DataFrame({"id": range(60), "right": rng.random(60) < 0.5, "n": 1})
    >>> new = old.assign(right=old["right"] ^ (rng.random(60) < 0.2))
    >>> table = [Metric(name="accuracy", numerator="right", denominator="n", better="higher", proportion=True)]
    >>> plan([{"": old}, {"": new}], table, "id", "accuracy", 0.1, seeds=[1])[["seeds", "samples", "calls"]]
       seeds  samples  calls
    0      1      167    167
    """
    r = resampling or Resampling()
    if not 0 < difference < np.inf:
        raise UsageError(f"difference: expected a finite number above 0, got {difference:g}")
    if not 1 - r.confidence < power < 1:
        raise UsageError(
            f"power: expected a number between {1 - r.confidence:.2g} and 1, got {power:g}"
        )
    if not seeds or min(seeds) < 1:
        raise UsageError("seeds: expected numbers of seeds, 1 or more")
    made = pilot(conditions, table, unit, metric, r)
    made.require(difference, unit)
    rng = np.random.default_rng(r.seed)
    others = likely(made.components, made.n, made.known, made.seeds, made.df_seeds, rng)
    rows = []
    for k in dict.fromkeys(seeds):
        rows.append(_row(made, others, difference, k, power, r))
        done(f"{k} seeds")
    frame = pd.DataFrame(rows, columns=list(CONTRACT))
    whole = ["samples", "samples_low", "samples_high", "calls"]
    return frame.astype(dict.fromkeys(whole, "Int64"))


def cheapest(found: pd.DataFrame) -> str:
    """Which row of a plan takes the fewest calls, a sentence; "" where no row has samples."""
    reached = found.dropna(subset=["samples"])
    if reached.empty:
        return ""
    best = next(reached.sort_values(["calls", "seeds"], kind="stable").itertuples())
    numbers = {"samples": best.samples, "calls": best.calls}
    if best.seeds == 1:
        return say(
            "Cheapest: 1 seed of {samples} samples, {calls} calls for each condition, whose verdict speaks for these "
            "systems and not for their other seeds.",
            **numbers,
        )
    return say(
        "Cheapest: {n} seeds of {samples} samples, {calls} calls for each condition.",
        n=best.seeds,
        **numbers,
    )


def unreached(found: pd.DataFrame) -> list[str]:
    """Why rows of a plan have no samples: a sentence for each reason, [] where all have."""
    said, lacking = [], found[found["samples"].isna()]
    if unknown := [str(k) for k in lacking.loc[lacking["power"].isna(), "seeds"]]:
        said.append(
            say(
                "No numbers for several seeds ({seeds}): these runs have one seed each, which does not tell how far "
                "seeds differ. Give runs of two seeds or more to plan for them.",
                seeds=", ".join(unknown),
            )
        )
    for row in lacking[lacking["power"].notna()].itertuples():
        said.append(
            say(
                "No number of samples finds it (seeds: {n}): the differences between seeds keep the power at "
                "{power}.",
                n=row.seeds,
                power=f"{row.power:.0%}",
            )
        )
    return said


def settle(row: Mapping[Any, Any], confidence: float = 0.95) -> str:
    """What would settle a "tied" row of `Comparison.table`, a sentence; "" for every other verdict.

    The smallest difference that could be shown with two more seeds, and with twice the samples, by the components of
    delta: `mde` times the ratio of what is to be expected then and now.
    """
    if row["verdict"] != "tied" or pd.isna(row["mde"]):
        return ""
    n, seeds = int(row["n_units"]), int(row["n_seeds"])
    parts = row["var_seed"] * seeds, row["var_sample"] * n, row["var_residual"] * n * seeds
    either = Components(*parts), Components(*parts, sides=2)
    # whether the seeds of both sides were pooled shows in the degrees of freedom
    c = min(
        either,
        key=lambda found: abs(float(found.spread(n, seeds).widest(confidence)[2]) - row["df"]),
    )
    level, units = np.array(row["level"]), units_needed(np.array(row["level"]), np.array(False))

    def least(times: int, more: int) -> float:
        error, _, df = c.spread(times * n, seeds + more).widest(confidence)
        return float(
            smallest_difference(error, df, level, row["each"] / times, units, np.array(np.nan))
        )

    found = [
        (least(1 + times, more) / least(1, 0), helps, hardly) for times, more, helps, hardly in MORE
    ]
    ways = [
        say(hardly)
        if share > HARDLY
        else say(helps, then=mde_text({**row, "mde": row["mde"] * share}))
        for share, helps, hardly in sorted(found[seeds == 1 :])
    ]
    return say(
        "What would settle it: {on} a true difference of {now} could be shown now ({power:.0%} power); {ways}.",
        on=say("on “{title}”", title=say(row["title"])),
        now=mde_text(row),
        power=POWER,
        ways=", ".join(ways),
    )
