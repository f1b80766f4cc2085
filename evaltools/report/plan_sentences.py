"""What a larger study would show, in words: a plan, and what would settle a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..core.language import listed, say
from ..stats.detectable import POWER, larger_studies
from .sentences import Row, mde_text, on_metric

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


def settle(
    row: Row,
    confidence: float = 0.95,
) -> str:
    """What would settle a "tied" row of `Comparison.table`, a sentence; "" for every other verdict.

    It names the smallest difference that could be shown now, with two more seeds, and with twice
    the samples.
    """
    studies = larger_studies(row, confidence)
    if not studies:
        return ""
    return say(
        "What would settle it: {on} a true difference of {now} could be shown now ({power:.0%} power); {ways}.",
        on=on_metric(row),
        now=mde_text(row),
        power=POWER,
        ways=listed(say(HELPS[code], then=_mde(row, share)) for code, share in studies.items()),
    )


def _mde(row: Row, share: float) -> str:
    """The smallest difference that a larger study could show, a share of today's."""
    return mde_text({"mde": row["mde"] * share, "df": row["df"]})


def plan_title(
    study: Study,
    metric: str,
    difference: float,
    power: float,
) -> str:
    """What a plan is for, a sentence."""
    title = study.metric(metric).shown_title
    candidate = study.candidates[0] if study.comparisons else say("another condition")
    return say(
        "To show {candidate} better than {baseline} by {difference} on “{metric}” with {power} power, as the primary "
        "metric at level {level}:",
        candidate=candidate,
        baseline=study.baseline,
        difference=f"{difference:g}",
        metric=say(title),
        power=f"{power:.0%}",
        level=f"{1 - study.resampling.confidence:.2g}",
    )


def plan_notes(
    study: Study,
    planned: pd.DataFrame,
) -> list[str]:
    """What a reader must know of a plan, in sentences."""
    notes = [cheapest(planned), *unreached(planned)]
    if not study.comparisons:
        notes.append(say(ALONE))
    if planned["samples"].notna().any():
        text = (
            "samples: units ({unit}), each of as many rows as these runs have. calls: "
            "seeds x samples, for one condition. samples_low to samples_high: what these runs leave open (in "
            "simulations more than 80% of such ranges held the truth); no samples_high: they do not rule out that no "
            "number is enough. One seed speaks for these systems, not for their other seeds."
        )
        notes.append(say(text, unit=study.suite.unit))
    return [note for note in notes if note]


def cheapest(planned: pd.DataFrame) -> str:
    """Which row of a plan takes the fewest calls, a sentence; "" where no row has samples."""
    best = cheapest_row(planned)
    if pd.isna(best["samples"]):
        return ""
    return say(
        "Cheapest (seeds: {n}): {samples} samples, {calls} calls for each condition.",
        n=int(best["seeds"]),
        samples=int(best["samples"]),
        calls=int(best["calls"]),
    )


def cheapest_row(planned: pd.DataFrame) -> pd.Series:
    """The row of a plan that takes the fewest calls; one without samples where none has any."""
    in_order = planned.sort_values(["calls", "seeds"], kind="stable", na_position="last")
    return in_order.iloc[0]


def unreached(planned: pd.DataFrame) -> list[str]:
    """Why rows of a plan have no samples: a sentence for each reason, [] where all have."""
    lacking = planned[planned["samples"].isna()]
    unknown = lacking[lacking["power"].isna()]
    sentences = []
    if len(unknown):
        text = (
            "No numbers for several seeds ({seeds}): only one seed pairs here, which does not tell how far seeds "
            "differ. Give runs of two seeds or more to plan for them."
        )
        sentences.append(say(text, seeds=listed(unknown["seeds"].unique())))
    tried = lacking[lacking["power"].notna()]
    if len(tried):
        text = (
            "No number of samples finds it (seeds: {seeds}): the differences between seeds keep the power at {power} "
            "or below."
        )
        power = f"{tried['power'].max():.0%}"
        sentences.append(say(text, seeds=listed(tried["seeds"].unique()), power=power))
    return sentences
