"""Checks: each appears where it must, and not where it must not."""

from dataclasses import replace

import pandas as pd
import pytest

import evaltools as et
from evaltools.core.estimates import Check, checks_of_runs, lacking, one_sided_missing
from evaltools.core.messages import UsageError
from evaltools.report.first_screen import run_checks
from evaltools.report.text import number


def codes(outcomes: object) -> list[str]:
    return [check.code for check in outcomes]  # type: ignore[arg-type]


def test_a_level_and_a_metric_that_there_are_not_are_refused() -> None:
    with pytest.raises(UsageError, match="expected a level"):
        Check("code", "fatal", "")  # type: ignore[arg-type]
    run = et.evaluate("table", [{"id": 1, "metric": "m", "value": 0.5}])
    typo = replace(run.suite, checks=lambda run: [Check("code", "blocking", "", blocks=("mm",))])
    with pytest.raises(UsageError, match="no metric 'mm'"):
        run_checks(replace(run, suite=typo))


def test_a_metric_at_its_limit_in_all_of_ten_samples_is_named() -> None:
    rows = [{"id": i, "metric": "m", "value": i > 0} for i in range(11)]
    found = [codes(et.evaluate("table", part).checks) for part in (rows[1:], rows, rows[2:])]
    assert ["constant-metric" in each for each in found] == [True, False, False]


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
    note = Check("n", "info", "by the way", n=1, of=2)
    found = checks_of_runs(
        [
            [note, Check("b", "blocking", "nothing fits", n=0, of=167, blocks=("m",))],
            [Check("b", "blocking", "nothing fits", n=0, of=176, blocks=("m", "k"))],
            [Check("b", "warning", "a few fit", n=1, of=2)] * 2,
        ]
    )
    assert [(c.code, c.n, c.of, c.blocks) for c in found] == [
        ("b", 0, 343, ("m", "k")),
        ("b", 2, 4, ()),
        ("n", 1, 2, ()),
    ]
    assert found[0].message == "nothing fits (in 2 of 3 runs)"
    assert found[1].message == "a few fit (in 1 of 3 runs)"
    for of, worst in ((60, 11), (None, 7)):  # of so many, or all of them
        runs = [[Check("l", "warning", f"{n} lack it", n, of or n)] for n in (11, 7)]
        (check,) = checks_of_runs(runs)
        assert check.message == f"{worst} lack it (in 2 of 2 runs; this in the worst)"


def test_what_is_missing_may_change_a_small_difference() -> None:
    row = {"metric": "m", "title": "M", "baseline": "a", "candidate": "b", "n_cells": 60}
    row |= {
        "blocked": None,
        "missing_baseline": 0,
        "missing_candidate": 7,
        "delta_worst": 4.7e-5,
        "delta_best": 2e4,
    }
    # the primary metric leads, then that which lacks most
    other, first = ({**row, "missing_baseline": 9, "primary": i, "title": str(i)} for i in (0, 1))
    rows = pd.DataFrame([{**row, "primary": 0}, other, {**first, "missing_candidate": 0}])
    for n, title in ((3, "1"), (2, "0")):
        (check,) = one_sided_missing(rows[:n], str)
        assert f"values of “{title}” a lacks" in check.message
    (check,) = one_sided_missing(rows[:1], lambda x: number(x, signed=True))
    assert check.message.endswith("all 60 would be +0.000047, at the best +20,000")
