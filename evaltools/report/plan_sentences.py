"""What a larger study would show, in words: a plan, and what would settle a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..core.language import listed, say
from ..stats.detectable import POWER
from ..stats.larger_studies import LargerStudy, larger_studies
from ..stats.within_units import CLUSTER_SIZE, TRIALS
from .sentences import Row, mde_text, on_metric

if TYPE_CHECKING:
    from .study import Study

HARDLY = 0.95
"""A larger study whose smallest difference is more than this share of today's hardly changes it."""

HELPS = {
    "more-seeds": "two more seeds would bring that to {then}",
    "more-samples": "twice the samples would bring that to {then}",
}
"""Code of a larger study -> what is said where it helps."""

HARDLY_HELPS = {
    "more-seeds": "two more seeds would hardly change that",
    "more-samples": "twice the samples would hardly change that",
}

OF_SIZE = {
    TRIALS: "samples counts units ({unit}); each sample is drawn as often as trials says.",
    CLUSTER_SIZE: "samples counts units ({unit}): clusters of as many samples as cluster_size says.",
}
"""Column of a plan -> what its numbers are."""

CHEAPEST_SIZE = {
    TRIALS: "Each sample has {n} trials there.",
    CLUSTER_SIZE: "Each cluster has {n} samples there.",
}

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
        ways=listed(_way(study, row) for study in studies),
    )


def _way(
    study: LargerStudy,
    row: Row,
) -> str:
    """What a larger study would do to the smallest difference, part of a sentence."""
    if study.share > HARDLY:
        return say(HARDLY_HELPS[study.code])
    return say(HELPS[study.code], then=mde_text({"mde": study.mde, "df": row["df"]}))


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
    notes.append(_rows_of_samples(planned, study.suite.unit))
    if planned["samples"].notna().any():
        note = say(
            "calls: seeds x samples x rows of a sample, for one condition. samples_low to samples_high: what these runs "
            "leave open (in simulations more than 80% of such ranges held the truth); no samples_high: they do not "
            "rule out that no number is enough."
        )
        notes.append(note)
    return [note for note in notes if note]


def _rows_of_samples(
    planned: pd.DataFrame,
    unit: str,
) -> str:
    """What a sample of a plan is where units have several rows, a sentence; "" where each has one."""
    for kind, text in OF_SIZE.items():
        if planned[kind].notna().any():
            return say(text, unit=unit)
    rows = float(planned["rows_per_sample"].iloc[0])
    if rows == 1:
        return ""
    text = (
        "samples counts units ({unit}): each has {rows} rows here on average (repeats, turns, or items of a cluster), "
        "and as many in what is planned."
    )
    return say(text, unit=unit, rows=f"{rows:.3g}")


def cheapest(planned: pd.DataFrame) -> str:
    """Which row of a plan takes the fewest calls, a sentence; "" where no row has samples."""
    best = cheapest_row(planned)
    if pd.isna(best["samples"]):
        return ""
    text = "Cheapest: {n} seeds of {samples} samples, {calls} calls for each condition."
    if best["seeds"] == 1:
        text = (
            "Cheapest: 1 seed of {samples} samples, {calls} calls for each condition, whose verdict speaks for these "
            "systems and not for their other seeds."
        )
    sentences = [
        say(
            text,
            n=int(best["seeds"]),
            samples=int(best["samples"]),
            calls=int(best["calls"]),
        )
    ]
    for kind, of_size in CHEAPEST_SIZE.items():
        if pd.notna(best[kind]):
            sentences.append(say(of_size, n=int(best[kind])))
    return " ".join(sentences)


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
    for seeds, power in tried.groupby("seeds", sort=False)["power"].max().items():
        text = "No number of samples finds it (seeds: {n}): the differences between seeds keep the power at {power}."
        sentences.append(
            say(
                text,
                n=seeds,
                power=f"{power:.0%}",
            )
        )
    return sentences
