"""The metrics of the summary suite.

Every score is given twice: as a mean over all cases, with the source document's number where
nothing could be measured, and as a mean over the cases in which it was (D14). Source: seed
insurance_summary_prd 5 and 6; specification section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ...core.language import Message, stored_text
from ...core.metric import Better, Metric, MetricTable

ZERO_ONE = ("summary_non_definitive", "summary_needs_followup")
"""Scores that are 0 or 1 by rule: what matters of them is the failing cases, not the mean."""


@dataclass(frozen=True)
class Measure:
    """A score of a case in words; `term` is shorter, for the titles of what is derived.

    `better` is the direction of the metrics made of it: "none" for one that is described, never judged (D36).
    """

    title: str
    term: str
    what: str
    source: str
    better: Better = "higher"

    def titled(self, template: str, **values: str) -> str:
        """The title of a metric that is derived; {metric} stands for the term."""
        return stored_text(template, metric=Message(self.term), **values)

    def described(self, template: str, **values: str) -> str:
        """The description of a metric; {what} stands for what is scored."""
        return stored_text(template, what=Message(self.what), **values)


MEASURES = {
    "summary_accuracy": Measure(
        title="Summary accuracy (entity precision)",
        term="Summary accuracy",
        what="Figures and conditions of the summary that the contexts support",
        source="seed 5.1, D14, D16",
    ),
    "summary_risk_coverage": Measure(
        title="Risk coverage",
        term="Risk coverage",
        what="Expected risk items that the summary names",
        source="seed 5.2, D14",
    ),
    "summary_non_definitive": Measure(
        title="Non-definitive rate",
        term="Non-definitive",
        what="Summaries without a definitive promise",
        source="seed 5.3",
    ),
    "summary_needs_followup": Measure(
        title="Follow-up rate",
        term="Follow-up",
        what="Summaries that name a follow-up where one is due, and only there",
        source="seed 5.4",
    ),
    "entity_recall": Measure(
        title="Entity recall",
        term="Entity recall",
        what="Figures and conditions of the contexts that the summary keeps",
        source="D36",
        better="none",
    ),
}

POOLED = (
    Metric(
        name="any_unsupported",
        group="measured",
        numerator="any_unsupported",
        denominator="any_unsupported_measured",
        better="lower",
        bounds=(0.0, 1.0),
        proportion=True,
        title="Summaries with an unsupported figure",
        description=(
            "Share of the summaries, of those that state what the contexts can be asked for, with "
            "at least one amount, percentage, duration or date that no context supports; figures "
            "that were not read take no part."
        ),
        source="D23",
    ),
    Metric(
        name="summary_accuracy_micro",
        group="micro",
        numerator="summary_accuracy_num",
        denominator="summary_accuracy_den",
        better="higher",
        bounds=(0.0, 1.0),
        title="Summary accuracy, micro",
        description="Entities that the contexts support, of all entities of all summaries.",
        source="seed 5.1, D14, D16",
    ),
    Metric(
        name="summary_risk_coverage_micro",
        group="micro",
        numerator="summary_risk_coverage_num",
        denominator="summary_risk_coverage_den",
        better="higher",
        bounds=(0.0, 1.0),
        title="Risk coverage, micro",
        description="Expected tags that the summaries cover, of all expected tags.",
        source="seed 5.2, D14",
    ),
    Metric(
        name="entity_recall_micro",
        group="micro",
        numerator="entity_recall_num",
        denominator="entity_recall_den",
        better="none",
        bounds=(0.0, 1.0),
        title="Entity recall, micro",
        description=(
            "Entities of the contexts that the summaries keep, of all entities of all contexts."
        ),
        source="D36",
    ),
)
"""Ratios over what stands in all cases together."""


@lru_cache(maxsize=8)
def metric_table(
    thresholds: tuple[tuple[str, float], ...],
    judged: bool,
    labelled: tuple[str, ...] = (),
) -> MetricTable:
    """The metrics under these thresholds, in the order of reports.

    A score without a threshold has no pass rate, one without labels no correction. judged: a
    judge's score may lie between 0 and 1, so that a mean of 0/1 scores is no proportion any more.
    """
    limits = {name: f"{threshold:g}" for name, threshold in thresholds}
    table = _means(judged)
    table += _pass_rates(limits)
    for name, measure in MEASURES.items():
        table.append(_not_measured(name, measure))
    for name, measure in MEASURES.items():
        if name in labelled:
            table.append(_corrected(name, measure))
    return (*table, *POOLED)


def _means(judged: bool) -> list[Metric]:
    """The mean of each score over all cases, then over those in which it was measured."""
    over_all = []
    over_measured = []
    for name, measure in MEASURES.items():
        is_proportion = name in ZERO_ONE and not judged
        mean = Metric(
            name=name,
            group="score",
            numerator=name,
            denominator="cases",
            better=measure.better,
            bounds=(0.0, 1.0),
            proportion=is_proportion,
            title=measure.title,
            description=measure.described("{what}: mean over all cases."),
            source=measure.source,
        )
        mean_of_measured = Metric(
            name=f"{name}_measured",
            group="measured",
            numerator=f"{name}_if_measured",
            denominator=f"{name}_measured",
            better=measure.better,
            bounds=(0.0, 1.0),
            proportion=is_proportion,
            title=measure.titled("{metric}, measured cases"),
            description=measure.described(
                "{what}: mean over the cases in which it could be measured."
            ),
            source=measure.source,
        )
        over_all.append(mean)
        over_measured.append(mean_of_measured)
    return over_all + over_measured


def _pass_rates(limits: Mapping[str, str]) -> list[Metric]:
    """The share at or above the threshold, of all cases, then of the measured ones."""
    of_all = []
    of_measured = []
    for name, measure in MEASURES.items():
        if name not in limits:
            continue
        limit = limits[name]
        rate = Metric(
            name=f"{name}_pass_rate",
            group="pass",
            numerator=f"{name}_passed",
            denominator="cases",
            better=measure.better,
            proportion=True,
            title=measure.titled("{metric} pass rate (≥ {threshold})", threshold=limit),
            description=measure.described(
                "{what}: share of all cases at or above {threshold}.", threshold=limit
            ),
            source="seed 6",
        )
        rate_of_measured = Metric(
            name=f"{name}_pass_rate_measured",
            group="pass",
            numerator=f"{name}_measured_passed",
            denominator=f"{name}_measured",
            better=measure.better,
            proportion=True,
            title=measure.titled(
                "{metric} pass rate (≥ {threshold}), measured cases", threshold=limit
            ),
            description=measure.described(
                "{what}: share of the measured cases at or above {threshold}.", threshold=limit
            ),
            source="seed 6, D14",
        )
        of_all.append(rate)
        of_measured.append(rate_of_measured)
    return of_all + of_measured


def _not_measured(name: str, measure: Measure) -> Metric:
    return Metric(
        name=f"{name}_not_measured_n",
        group="count",
        numerator=f"{name}_not_measured",
        denominator="",
        better="none",
        title=measure.titled("{metric}: cases not measured"),
        description=measure.described("{what}: number of cases in which it could not be measured."),
        source="D14",
    )


def _corrected(name: str, measure: Measure) -> Metric:
    return Metric(
        name=f"{name}_corrected",
        group="corrected",
        numerator=f"{name}_corrected",
        denominator=f"{name}_measured",
        better=measure.better,
        title=measure.titled("{metric}, corrected by labels"),
        description=measure.described(
            "{what}: the mean that people would give all cases that could be measured, from their labels "
            "of some and the scores of all; n counts the labelled cases."
        ),
        source="PPI++, arXiv 2311.01453",
    )
