"""Levels of several looks: against published bounds, by simulation, and at the ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from evaltools.stats.multiplicity import look_levels, spent


@pytest.mark.parametrize(
    ("looks", "bounds"),
    [
        # O'Brien-Fleming-like spending, two-sided .05: Lan and DeMets 1983; Reboussin and others 2000
        (1, [1.960]),
        (2, [2.963, 1.969]),
        (3, [3.710, 2.511, 1.993]),
        (5, [4.877, 3.357, 2.680, 2.290, 2.031]),
    ],
)
def test_equal_looks_have_the_published_bounds(looks: int, bounds: list[float]) -> None:
    levels = look_levels([look / looks for look in range(1, looks + 1)], 0.05)
    assert norm.isf(np.array(levels) / 2) == pytest.approx(bounds, abs=0.0015)


def test_all_looks_together_err_as_often_as_the_level_says() -> None:
    """Sums of 100 normal differences, looked at after 30, 55 and 100: a share of .1 crosses a bound."""
    sums = np.random.default_rng(1).normal(size=(100_000, 100)).cumsum(axis=1)
    looks = [30, 55, 100]
    p = 2 * norm.sf(np.abs(sums[:, np.array(looks) - 1]) / np.sqrt(looks))
    crossed = (p <= look_levels([look / 100 for look in looks], 0.1)).any(axis=1)
    assert crossed.mean() == pytest.approx(0.1, abs=4 * np.sqrt(0.1 * 0.9 / 100_000))


# levels of one look more take some 50 ms; four looks of three levels are a small space
@settings(max_examples=30)
@given(
    st.lists(st.floats(0.05, 1.0), min_size=1, max_size=4, unique_by=lambda x: round(x, 2)),
    st.sampled_from([0.01, 0.05, 0.2]),
)
def test_no_look_has_more_than_may_be_spent_by_then(fractions: list[float], level: float) -> None:
    fractions = sorted(fractions)
    levels = look_levels(fractions, level)
    for fraction, of_look in zip(fractions, levels):
        assert 0 <= of_look <= spent(fraction, level) + 1e-9
    assert spent(1.0, level) == level
