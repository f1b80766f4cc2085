"""The metrics of the summary suite.

Every score is given twice: as a mean over all cases, with the source document's number where
nothing could be measured, and as a mean over the cases in which it was (D14). Source: seed
insurance_summary_prd 5 and 6; specification section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ...core.metric import Metric, MetricTable
from .rules import METRICS
from .states import JUDGED

ZERO_ONE = ("summary_non_definitive", "summary_needs_followup")
"""Scores that are 0 or 1 by rule: what matters of them is the failing cases, not the mean."""

TITLES = {
    "summary_accuracy": "Summary accuracy (entity precision)",
    "summary_risk_coverage": "Risk coverage",
    "summary_non_definitive": "Non-definitive rate",
    "summary_needs_followup": "Follow-up rate",
    "entity_recall": "Entity recall",
}
"""The scores as readers call them."""

TERMS = {
    "summary_accuracy": "Summary accuracy",
    "summary_risk_coverage": "Risk coverage",
    "summary_non_definitive": "Non-definitive",
    "summary_needs_followup": "Follow-up",
    "entity_recall": "Entity recall",
}
"""Shorter names: in titles of what is derived, and on chips."""

WHAT = {
    "summary_accuracy": "Figures and conditions of the summary that the contexts support",
    "summary_risk_coverage": "Expected risk items that the summary names",
    "summary_non_definitive": "Summaries without a definitive promise",
    "summary_needs_followup": "Summaries that name a follow-up where one is due, and only there",
    "entity_recall": "Figures and conditions of the contexts that the summary keeps",
}
"""What is scored."""

SOURCES = {
    "summary_accuracy": "seed 5.1, D14, D16",
    "summary_risk_coverage": "seed 5.2, D14",
    "summary_non_definitive": "seed 5.3",
    "summary_needs_followup": "seed 5.4",
    "entity_recall": "D36",
}

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

FORMS: Mapping[str, dict[str, Any]] = {
    "{name}": {
        "group": "score",
        "numerator": "{name}",
        "denominator": "cases",
        "bounds": (0.0, 1.0),
        "description": "{what}: mean over all cases.",
    },
    "{name}_measured": {
        "group": "measured",
        "numerator": "{name}_if_measured",
        "denominator": "{name}_measured",
        "bounds": (0.0, 1.0),
        "title": "{metric}, measured cases",
        "description": "{what}: mean over the cases in which it could be measured.",
    },
    "{name}_pass_rate": {
        "group": "pass",
        "numerator": "{name}_passed",
        "denominator": "cases",
        "proportion": True,
        "title": "{metric} pass rate (≥ {threshold})",
        "description": "{what}: share of all cases at or above {threshold}.",
        "source": "seed 6",
    },
}
"""The metrics that are made of each score, in the order of reports: name -> fields of it."""


@lru_cache(maxsize=8)
def metric_table(thresholds: tuple[tuple[str, float], ...], judged: bool) -> MetricTable:
    """The metrics under these thresholds, in the order of reports; of the recall only its mean (D36).

    judged: a judge's score may lie between 0 and 1, so that a mean of 0/1 scores is no proportion any more.
    """
    limits = {name: f"{threshold:g}" for name, threshold in thresholds}
    table = []
    for form, fields in FORMS.items():
        for name in METRICS if form == "{name}" else JUDGED:
            metric = _metric(form, fields, name, limits.get(name, ""))
            if name in ZERO_ONE and not judged and metric.bounds:
                metric = replace(metric, proportion=True)
            table.append(metric)
    return (*table, ANY_UNSUPPORTED)


def _metric(
    form: str,
    fields: dict[str, Any],
    name: str,
    threshold: str,
) -> Metric:
    """A metric of a score."""
    values = {"metric": TERMS[name], "what": WHAT[name], "threshold": threshold}
    title = TITLES[name]
    if "title" in fields:
        title = fields["title"].format(**values)
    better = "none" if name == "entity_recall" else "higher"  # described, never judged
    defaults = {"better": better, "source": SOURCES[name]}
    result = {
        "name": form.format(name=name),
        "numerator": fields["numerator"].format(name=name),
        "denominator": fields["denominator"].format(name=name),
        "title": title,
        "description": fields["description"].format(**values),
    }
    return Metric(**{**defaults, **fields, **result})
