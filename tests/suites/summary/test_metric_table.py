"""The metric table: what stands in it under which thresholds, and that its words have translations."""

from evaltools.core.messages import say, speaking
from evaltools.suites.summary.rules import METRICS
from evaltools.suites.summary.states import SummaryOptions
from evaltools.suites.summary.suite import metrics

SEED = SummaryOptions(rules="seed")


def test_four_scores_by_mean_measured_mean_and_pass_rate_and_two_more() -> None:
    table = {metric.name: metric for metric in metrics(SEED)}
    forms = ("", "_measured", "_pass_rate")
    expected = {name + form for form in forms for name in METRICS[:4]}
    assert set(table) == expected | {"any_unsupported", "entity_recall"}
    assert table["entity_recall"].better == "none"  # D36: described, never judged


def test_every_title_and_description_is_told_in_the_languages_of_readers() -> None:
    with speaking("ko"):
        for metric in metrics(SEED):
            for text in (metric.title, metric.description, metric.group):
                assert say(text) != text
