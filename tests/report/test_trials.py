"""Trials of a sample: pass@k by hand, samples that flip, and what intervals over trials speak for."""

import pytest

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
    assert et.pass_at_k(run, 4)["better"] == "higher"


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


def test_a_k_that_no_sample_has_is_refused() -> None:
    for k in (0, 5, 1.5):
        with pytest.raises(et.UsageError, match="expected k from 1 to the number of trials"):
            et.pass_at_k(run_of({"a": [1, 0]}), k)  # type: ignore[arg-type]
