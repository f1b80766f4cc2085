"""The metric table: what stands in it under which thresholds, and that its words have translations."""

from __future__ import annotations

import pytest

from evaltools.core.language import say, speaking
from evaltools.suites.summary.metric_table import metric_table
from evaltools.suites.summary.rules import METRICS

SEED = (
    ("summary_accuracy", 0.9),
    ("summary_risk_coverage", 0.9),
    ("summary_non_definitive", 0.8),
    ("summary_needs_followup", 0.8),
)


def test_each_score_has_its_means_its_pass_rates_and_its_count_of_what_was_not_measured() -> None:
    names = [metric.name for metric in metric_table(SEED, judged=False)]
    expected = [*METRICS, *(f"{name}_measured" for name in METRICS)]
    expected += [f"{name}_pass_rate" for name in METRICS[:4]]
    expected += [f"{name}_pass_rate_measured" for name in METRICS[:4]]
    expected += [f"{name}_not_measured_n" for name in METRICS]
    expected += ["any_unsupported", "summary_accuracy_micro", "summary_risk_coverage_micro"]
    assert names == [*expected, "entity_recall_micro"]


def test_entity_recall_is_described_and_never_judged() -> None:
    """D36: nobody agreed on it, so no metric of it has a direction, and a comparison gives it no verdict."""
    table = metric_table((*SEED, ("entity_recall", 0.5)), False, METRICS)
    directions = {m.better for m in table if m.name.startswith("entity_recall")}
    assert directions == {"none"}


def test_labels_add_corrected_means() -> None:
    table = {m.name: m for m in metric_table(SEED, False, ("summary_needs_followup",))}
    assert table["summary_needs_followup_corrected"].title == "Follow-up, corrected by labels"
    assert "summary_accuracy_corrected" not in table


@pytest.mark.parametrize("lang", ["ko", "zh"])
def test_every_title_and_description_is_told_in_the_languages_of_readers(lang: str) -> None:
    untold = set()
    with speaking(lang):
        for metric in metric_table(SEED, False, METRICS):
            for text in (metric.title, metric.description, metric.group):
                if say(text) == text:
                    untold.add(text)
    assert untold == set()
