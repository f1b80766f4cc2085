"""The metrics of the summary suite.

Every score is given twice: as a mean over all cases, with the source document's number where
nothing could be measured, and as a mean over the cases in which it was (D14). Source: seed
insurance_summary_prd 5 and 6; specification section 3.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from ...core.metric import Metric, MetricTable
from .rules import JUDGED

ZERO_ONE = ("summary_non_definitive", "summary_needs_followup")
"""Scores that are 0 or 1 by rule: what matters of them is the failing cases, not the mean."""


class About(NamedTuple):
    """What readers are told of a score: its title, a shorter name, what is scored, and where that is defined."""

    title: str
    term: str
    what: str
    source: str


ABOUT = {
    "summary_accuracy": About(
        "Summary accuracy (entity precision)",
        "Summary accuracy",
        "Figures and conditions of the summary that the contexts support",
        "seed 5.1, D14, D16",
    ),
    "summary_risk_coverage": About(
        "Risk coverage",
        "Risk coverage",
        "Expected risk items that the summary names",
        "seed 5.2, D14",
    ),
    "summary_non_definitive": About(
        "Non-definitive rate",
        "Non-definitive",
        "Summaries without a definitive promise",
        "seed 5.3",
    ),
    "summary_needs_followup": About(
        "Follow-up rate",
        "Follow-up",
        "Summaries that name a follow-up where one is due, and only there",
        "seed 5.4",
    ),
    "entity_recall": About(
        "Entity recall",
        "Entity recall",
        "Figures and conditions of the contexts that the summary keeps",
        "D36",
    ),
}
TERMS = {name: about.term for name, about in ABOUT.items()}

ANY_UNSUPPORTED = Metric(
    name="any_unsupported",
    group="measured",
    numerator="any_unsupported",
    denominator="any_unsupported_measured",
    better="lower",
    proportion=True,
    title="Summaries with an unsupported figure",
    description=(
        "Share of the summaries, of those that state what the contexts can be asked for, with "
        "at least one amount, percentage, duration or date that no context supports; figures "
        "that were not read take no part."
    ),
    source="D23",
)


@lru_cache(maxsize=8)
def metric_table(thresholds: tuple[tuple[str, float], ...], judged: bool) -> MetricTable:
    """The metrics under these thresholds, in the order of reports; of the recall only its mean (D36).

    judged: a judge's score may lie between 0 and 1, so that a mean of 0/1 scores is no proportion any more.
    """
    means = [_mean(name, name in ZERO_ONE and not judged) for name in ABOUT]
    measured, passed = [], []
    for mean, (name, threshold) in zip(means, thresholds):
        _, term, what, _ = ABOUT[name]
        where_measured = replace(
            mean,
            name=f"{name}_measured",
            group="measured",
            numerator=f"{name}_if_measured",
            denominator=f"{name}_measured",
            title=f"{term}, measured cases",
            description=f"{what}: mean over the cases in which it could be measured.",
        )
        measured.append(where_measured)
        rate = replace(
            mean,
            name=f"{name}_pass_rate",
            group="pass",
            numerator=f"{name}_passed",
            bounds=None,
            proportion=True,
            title=f"{term} pass rate (≥ {threshold:g})",
            description=f"{what}: share of all cases at or above {threshold:g}.",
            source="seed 6",
        )
        passed.append(rate)
    return (*means, *measured, *passed, ANY_UNSUPPORTED)


def _mean(name: str, proportion: bool) -> Metric:
    """The mean of a score over all cases."""
    return Metric(
        name=name,
        group="score",
        numerator=name,
        denominator="cases",
        bounds=(0.0, 1.0),
        proportion=proportion,
        better="higher" if name in JUDGED else "none",
        title=ABOUT[name].title,
        description=f"{ABOUT[name].what}: mean over all cases.",
        source=ABOUT[name].source,
    )
