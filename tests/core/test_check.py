"""Checks: each appears where it must, and not where it must not."""

from __future__ import annotations

import pandas as pd

from evaltools.core.check import (
    Check,
    checks_of_runs,
    constant_metrics,
    lacking,
)


def codes(outcomes: object) -> list[str]:
    return [check.code for check in outcomes]  # type: ignore[arg-type]


def frame(**columns: object) -> pd.DataFrame:
    row = {"metric": "m", "title": "M", "value": 0.0, "ci_method": "none", "n_units": 40}
    value = columns.get("value", 0.0)
    at_limit = (
        {"ci_low": value, "ci_high": 0.1}
        if value in (0.0, 1.0)
        else {"ci_low": 0.1, "ci_high": 0.9}
    )
    return pd.DataFrame([{**row, **at_limit, **columns}])


def test_a_metric_that_no_unit_moves_is_named() -> None:
    (check,) = constant_metrics(frame(), ["m"])
    assert check.message == "The same in all samples: “M” = 0" and (check.n, check.of) == (1, 1)
    assert codes(constant_metrics(frame(ci_method="mid-p", value=1.0), ["m"])) == [
        "constant-metric"
    ]


def test_a_metric_that_varies_or_that_is_not_measured_is_not() -> None:
    assert (
        codes(constant_metrics(frame(ci_method="bca", value=0.0, ci_low=-0.1, ci_high=0.2), ["m"]))
        == []
    )
    assert codes(constant_metrics(frame(value=float("nan")), ["m"])) == []
    assert codes(constant_metrics(frame(n_units=9), ["m"])) == []


def test_runs_that_lack_units() -> None:
    (check,) = lacking("missing-units", {"r1": 0, "r2": 17}, 50)
    assert (
        (check.n, check.of) == (17, 100)
        and "r2 lacks 17" in check.message
        and "r1" not in check.message
    )
    assert codes(lacking("missing-units", {"r1": 0, "r2": 0}, 50)) == []
    (check,) = lacking("missing-units", {f"r{n}": 1 for n in range(1000)}, 50)
    assert check.n == 1000 and "r9 lacks 1, and 990 more. " in check.message


def test_checks_of_several_runs_are_one_a_code() -> None:
    blocking = Check("b", "blocking", "nothing fits", n=0, of=167, blocks=("m",))
    note = Check("n", "info", "by the way", n=1, of=2)
    found = checks_of_runs(
        [
            [note, blocking],
            [Check("b", "blocking", "nothing fits", n=0, of=176, blocks=("m", "k"))],
            [],
        ]
    )
    assert [(c.code, c.n, c.of, c.blocks) for c in found] == [
        ("b", 0, 343, ("m", "k")),
        ("n", 1, 2, ()),
    ]
    assert found[0].message == "nothing fits (in 2 of 3 runs)"
    assert found[1].message == "by the way (in the worst of 3 runs)"
    lacking = [[Check("l", "warning", f"{n} of 60 lack it", n, 60)] for n in (7, 11)]
    (check,) = checks_of_runs(lacking)
    assert check.message == "11 of 60 lack it (in the worst of 2 runs)"
