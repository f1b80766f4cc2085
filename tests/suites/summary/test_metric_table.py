"""The metric table: what stands in it under which thresholds."""

from evaltools.suites.summary.rules import METRICS
from evaltools.suites.summary.states import SummaryOptions
from evaltools.suites.summary.suite import metrics


def test_four_scores_by_mean_measured_mean_and_pass_rate_and_two_more() -> None:
    table = {metric.name: metric for metric in metrics(SummaryOptions(rules="seed"))}
    forms = ("", "_measured", "_pass_rate")
    expected = {name + form for form in forms for name in METRICS[:4]}
    assert set(table) == expected | {"any_unsupported", "entity_recall"}
    assert table["entity_recall"].better == "none"  # D36: described, never judged
