"""Notes about intervals whose measured coverage is not what they claim."""

from __future__ import annotations

import pytest

from evaltools.stats.coverage import BAND, MEASURED, TITLES, coverage_note, kind


def test_a_note_exactly_where_coverage_left_the_band() -> None:
    assert set(MEASURED) == set(TITLES)
    for name, sizes in MEASURED.items():
        for n, (low, high) in sizes.items():
            assert 0.9 < low <= high < 1
            note = coverage_note(name, n)
            assert (note is None) == (BAND[0] <= low and high <= BAND[1])
            if note:
                assert f"{100 * low:.1f}" in note
                assert TITLES[name] in note


def test_the_nearest_size_stands_in() -> None:
    assert coverage_note("rate, rare", 1) == coverage_note("rate, rare", 20) == coverage_note("rate, rare", 0)
    assert coverage_note("mean", 10**6) == coverage_note("mean", 600)
    with pytest.raises(KeyError):
        coverage_note("zzz", 20)


def test_kinds_of_metrics() -> None:
    assert kind(False, 0.5) == "mean"
    assert kind(True, 0.5) == "rate"
    assert kind(True, 0.02) == "rate, rare"
    assert kind(True, 0.95, n_seeds=4) == "3 seeds rate, rare"
    assert kind(False, 0.95, n_seeds=30) == "10 seeds"
    assert kind(True, 0.5, clustered=True) == "clusters"
