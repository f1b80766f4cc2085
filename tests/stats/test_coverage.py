"""Notes about intervals whose measured coverage is not what they claim."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evaltools.core.metric import Difference, Mean, Metric
from evaltools.stats.coverage import BAND, MEASURED, TITLES, coverage_note, coverage_notes, kind

RATE = Metric(
    name="rate", numerator="x", denominator="n", better="higher", title="Rate", proportion=True
)
MEAN = Metric(
    name="mean", numerator="x", denominator="n", better="higher", title="Mean", bounds=(0, 1)
)
F1 = Metric(
    name="f1",
    numerator="2*tp",
    denominator="2*tp + fp + fn",
    better="higher",
    title="F1",
    bounds=(0, 1),
)
NET = Metric(
    name="net", numerator="x", denominator="n", better="higher", title="Net", bounds=(-1, 1)
)
FREE = Metric(name="free", numerator="x", denominator="n", better="higher", title="Free")
COUNT = Metric(name="count", numerator="x", denominator="", better="none", title="Count")
GAIN = Difference(name="gain", minuend="rate", subtrahend="mean", better="higher", title="Gain")
MACRO = Mean(name="macro", of=("rate", "mean"), better="higher", title="Macro")


def test_a_note_says_what_was_simulated_and_where_it_left_the_band() -> None:
    assert set(MEASURED) == set(TITLES)
    for name, sizes in MEASURED.items():
        for n, (low, high) in sizes.items():
            assert 0.9 < low <= high <= 1
            note = coverage_note(name, n)
            assert note and f"{100 * low:.1f}" in note and TITLES[name] in note
            within = BAND[0] <= low and high <= BAND[1]
            assert ("than they" in note) == (not within)


@pytest.mark.parametrize(
    ("n", "said"), [(0, False), (9, False), (10, True), (1200, True), (1201, False)]
)
def test_nothing_is_said_of_sizes_far_from_any_simulated(n: int, said: bool) -> None:
    assert (coverage_note("mean", n) is not None) == said
    assert coverage_note(None, n) is None


def test_the_nearest_size_stands_in() -> None:
    assert coverage_note("rate, rare", 10) == coverage_note("rate, rare", 20)
    assert coverage_note("mean", 1000) == coverage_note("mean", 600)
    with pytest.raises(KeyError):
        coverage_note("zzz", 20)


def test_kinds_of_metrics() -> None:
    assert kind(MEAN, 0.5) == "mean"
    assert kind(F1, 0.5) == "micro"
    assert kind(RATE, 0.5) == "rate"
    assert kind(RATE, 0.02) == "rate, rare"
    assert kind(RATE, 0.95, n_seeds=4) == "3 seeds rate, rare"
    assert kind(MEAN, 0.85, n_seeds=20) == "10 seeds"
    assert kind(MEAN, 0.95) == "near 1" and kind(MEAN, 0.95, n_seeds=3) == "3 seeds near 1"
    assert kind(NET, 0.02) == "net gain"
    assert kind(RATE, 0.5, rows=6.5) == "clusters"


@pytest.mark.parametrize(
    ("metric", "given"),
    [
        (GAIN, {}),
        (MACRO, {}),
        (COUNT, {}),
        (FREE, {}),
        (NET, {"value": 0.4}),
        (F1, {"value": 0.97}),
        (MEAN, {"n_seeds": 21}),
        (MEAN, {"rows": 7}),
        (RATE, {"rows": 3}),
        (RATE, {"rows": 15}),
        (RATE, {"rows": 7, "n_seeds": 2}),
        (RATE, {"rows": 7, "value": 0.99}),
    ],
)
def test_kinds_that_were_never_simulated_have_no_note(
    metric: Metric, given: dict[str, float]
) -> None:
    assert kind(metric, **{"value": 0.5, **given}) is None  # type: ignore[arg-type]


def test_notes_of_estimates_name_their_metrics_and_leave_the_others_out() -> None:
    table = [RATE, MEAN, F1, COUNT, GAIN, MACRO]
    rows = [
        {"name": m.name, "title": m.title, "value": 0.5, "ci_low": 0.4, "n_units": 50}
        for m in table
    ]
    rows[2]["ci_low"] = np.nan
    found = coverage_notes(pd.DataFrame(rows), table)
    assert found["metrics"].tolist() == ["Rate", "Mean"]
    assert coverage_notes(pd.DataFrame(rows).assign(n_units=5000), table).empty
    over_seeds = coverage_notes(pd.DataFrame(rows).assign(n_seeds=3), table)
    assert over_seeds["metrics"].tolist() == ["Rate; Mean"]
    assert coverage_notes(pd.DataFrame(rows), table, rows=30).empty
