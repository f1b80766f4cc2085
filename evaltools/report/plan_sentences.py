"""What a larger study would show, in words: a plan, and what would settle a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..core.language import listed, say
from ..core.metric import metric_title
from ..core.resampling import Resampling
from ..stats.detectable import POWER, larger_studies
from .sentences import Row, mde_text

if TYPE_CHECKING:
    from .study import Study

HELPS = {
    "more-seeds": "two more seeds would bring that to {then}",
    "more-samples": "twice the samples would bring that to {then}",
}
"""Code of a larger study -> what it would do."""

ALONE = (
    "One condition only: another one is assumed to differ from it, sample by sample, as its own seeds do from each "
    "other. One that differs more needs more."
)

COLUMNS = (
    "samples: units ({unit}), each of as many rows as these runs have. calls: "
    "seeds x samples, for one condition. samples_low to samples_high: what these runs leave open (in "
    "simulations more than 80% of such ranges held the truth); no samples_high: they do not rule out that no "
    "number is enough. One seed speaks for these systems, not for their other seeds."
)

NONE_IS_ENOUGH = (
    "No number of samples for {seeds} seeds: the differences between seeds keep the power below what is asked, or "
    "only one seed pairs here, which does not tell how far seeds differ."
)


def settle(row: Row, resampling: Resampling) -> str:
    """What would settle a "tied" row of `Comparison.table`, a sentence; "" for every other verdict.

    It names the smallest difference that could be shown now, with two more seeds, and with twice the samples.
    """
    ways = []
    for code, share in larger_studies(row, resampling.confidence).items():
        then = mde_text({"mde": row["mde"] * share, "df": row["df"]})
        ways.append(say(HELPS[code], then=then))
    if not ways:
        return ""
    return say(
        "What would settle it: on “{title}” a true difference of {now} could be shown now ({power:.0%} power); {ways}.",
        title=say(metric_title(row["metric"], row["title"])),
        now=mde_text(row),
        power=POWER,
        ways=listed(ways),
    )


def plan_title(
    study: Study,
    metric: str,
    difference: float,
    power: float,
) -> str:
    """What a plan is for, a sentence."""
    return say(
        "To show {candidate} better than {baseline} by {difference} on “{metric}” with {power} power, as the primary "
        "metric at level {level}:",
        candidate=study.candidates[0] if study.candidates else say("another condition"),
        baseline=study.baseline,
        difference=f"{difference:g}",
        metric=say(study.metric(metric).shown_title),
        power=f"{power:.0%}",
        level=f"{study.resampling.level:.2g}",
    )


def plan_notes(study: Study, planned: pd.DataFrame) -> list[str]:
    """What a reader must know of a plan, in sentences; the first names its cheapest row."""
    notes = []
    lacking = planned[planned["samples"].isna()]
    if len(lacking) < len(planned):
        best = cheapest_row(planned)
        cheapest = say(
            "Cheapest (seeds: {n}): {samples} samples, {calls} calls for each condition.",
            n=int(best["seeds"]),
            samples=int(best["samples"]),
            calls=int(best["calls"]),
        )
        notes += [cheapest, say(COLUMNS, unit=study.suite.unit)]
    if len(lacking):
        notes.append(say(NONE_IS_ENOUGH, seeds=listed(lacking["seeds"].unique())))
    if not study.candidates:
        notes.append(say(ALONE))
    return notes


def cheapest_row(planned: pd.DataFrame) -> pd.Series:
    """The row of a plan that takes the fewest calls; one without samples where none has any."""
    in_order = planned.sort_values(["calls", "seeds"], kind="stable", na_position="last")
    return in_order.iloc[0]
