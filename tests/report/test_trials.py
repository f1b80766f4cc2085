"""Trials of a sample: pass@k by hand, samples that flip, and what intervals over trials speak for."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evaltools as et


def run_of(trials: dict[str, list[float | None]], name: str = "data") -> et.Run:
    rows = [
        {"id": sample, "trial": trial, "metric": "right", "value": value}
        for sample, values in trials.items()
        for trial, value in enumerate(values)
    ]
    return et.evaluate("table", rows, name=name, n_resamples=200)


def test_pass_at_k_by_hand() -> None:
    """Right in 2 of 4, 1 of 4, 0 of 4: pass@2 is 1 - 1/6, 1 - 3/6, 0; a sample with one trial takes no part."""
    run = run_of({"a": [1, 1, 0, 0], "b": [0, 1, 0, 0], "c": [0, 0, 0, 0], "d": [1]})
    assert et.pass_at_k(run, 2)["value"] == pytest.approx((5 / 6 + 1 / 2 + 0) / 3)
    assert et.pass_at_k(run, 2)["n_units"] == 3
    assert et.pass_at_k(run, 1)["value"] == pytest.approx((2 / 4 + 1 / 4 + 0 + 1) / 4)
    assert et.pass_at_k(run, 4)["value"] == pytest.approx(2 / 3)


def test_samples_of_a_cluster_are_resampled_together() -> None:
    """12 clusters of 10 samples that are all alike are 12 units, not 120: pass@1 has the interval of the metric."""
    rows = [
        {"id": f"{c}-{i}", "cluster": f"c{c}", "trial": t, "metric": "right", "value": c % 2}
        for c in range(12)
        for i in range(10)
        for t in range(3)
    ]
    run = et.evaluate("table", rows, n_resamples=200)
    one = et.pass_at_k(run, 1)
    assert (one["n_units"], run["right"]["n_units"]) == (12, 12)
    assert one["ci_low"] == pytest.approx(run["right"]["ci_low"], abs=0.03)


@pytest.mark.parametrize("k", [0, 5, 1.5, "2", None])
def test_a_k_that_no_sample_has_is_refused(k: Any) -> None:
    with pytest.raises(et.UsageError, match="expected k from 1 to the number of trials"):
        et.pass_at_k(run_of({"a": [1, 0]}), k)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=7), st.integers(1, 7))
def test_pass_at_k_is_the_mean_over_all_choices(right: list[bool], k: int) -> None:
    if k > len(right):
        return
    choices = list(combinations(right, k))
    by_hand = sum(any(choice) for choice in choices) / len(choices)
    run = run_of({"a": [float(value) for value in right]})
    assert et.pass_at_k(run, k)["value"] == pytest.approx(by_hand, abs=1e-9)


def test_samples_that_flip_come_first_and_what_was_not_measured_is_no_trial() -> None:
    found = et.trials(run_of({"a": [1, 1, 1], "b": [1, 0, None], "c": [0, 0, 0]}))
    assert found["id"].tolist() == ["b", "a", "c"]
    assert found["trials"].tolist() == [2, 3, 3]
    assert found["flips"].tolist() == [True, False, False]
    assert found["value"].tolist() == [0.5, 1.0, 0.0]


def test_intervals_over_trials_speak_for_new_draws_and_others_do_not() -> None:
    several = {str(i): [float(i % 2), float(i % 3 == 0)] for i in range(20)}
    more = {sample: [1.0, values[1]] for sample, values in several.items()}
    run, other = run_of(several, "old"), run_of(more, "new")
    assert run["right"]["claim"] == "new samples, new draws"
    assert et.compare(run, other)["right"]["claim"] == "new samples, new draws"
    once = {sample: values[:1] for sample, values in several.items()}
    alone = run_of(once, "once")
    assert alone["right"]["claim"] == "new samples, this system"
    assert et.compare(alone, other)["right"]["claim"] == "new samples, these systems"


@pytest.mark.parametrize(
    ("trials", "k", "said"),
    [
        ({"a": [1, 0]}, 3, "expected k from 1"),
        ({"a": [1, 0]}, 0, "expected k from 1"),
        ({"a": [0.5, 0.2]}, 1, "0 or 1"),
    ],
)
def test_what_pass_at_k_refuses(trials: dict[str, list[float | None]], k: int, said: str) -> None:
    with pytest.raises(et.UsageError, match=said):
        et.pass_at_k(run_of(trials), k)


def test_a_run_without_trials_is_refused() -> None:
    run = et.evaluate("memfin", "example:memfin/plain_llm", n_resamples=200)
    with pytest.raises(et.UsageError, match="has no trials"):
        et.trials(run)
