"""Checks: each appears where it must, and not where it must not."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import evaltools as et
from evaltools.core.check import (
    ALL_PASSED,
    Check,
    CheckKind,
    QuietCheck,
    check_lines,
    check_states,
    checks_of_runs,
    failed_checks,
    quiet_checks,
)
from evaltools.core.common_checks import (
    constant_metrics,
    duplicate_texts,
    few_units,
    missing_units,
)
from evaltools.core.language import Message


def codes(outcomes: object) -> list[str]:
    return [check.code for check in failed_checks(outcomes)]  # type: ignore[arg-type]


def test_few_units_below_thirty_only() -> None:
    assert codes(few_units(29, "text_id")) == ["few-units"]
    assert codes(few_units(30, "text_id")) == []


def frame(**columns: object) -> pd.DataFrame:
    row = {"metric": "m", "title": "M", "value": 0.0, "ci_method": "none", "n_units": 40}
    return pd.DataFrame([{**row, **columns}])


def test_a_metric_that_no_unit_moves_is_named() -> None:
    (check,) = constant_metrics(frame(), ["m"])
    assert check.message == "the same for every unit: “M” = 0" and (check.n, check.of) == (1, 1)
    assert codes(constant_metrics(frame(ci_method="wilson", value=1.0), ["m"])) == [
        "constant-metric"
    ]


def test_a_metric_that_varies_or_that_is_not_measured_is_not() -> None:
    assert codes(constant_metrics(frame(ci_method="bca", value=0.0), ["m"])) == []
    assert codes(constant_metrics(frame(ci_method="wilson", value=0.4), ["m"])) == []
    assert codes(constant_metrics(frame(value=float("nan")), ["m"])) == []
    assert codes(constant_metrics(frame(n_units=9), ["m"])) == []
    assert codes(constant_metrics(frame(n_units=10), ["m"])) == ["constant-metric"]
    assert codes(constant_metrics(frame(), ["other"])) == []


def test_texts_that_come_twice() -> None:
    units = pd.DataFrame({"id": ["a", "b", "c", "d"], "text": ["x", "x", "y", " "]})
    (check,) = duplicate_texts(units, "text", "id")
    assert (check.n, check.of) == (2, 3) and "2 units share a text:" in check.message
    assert codes(duplicate_texts(units.drop_duplicates("text"), "text", "id")) == []
    assert codes(duplicate_texts(units, "", "id")) == []


def test_rows_of_one_unit_are_no_duplicates() -> None:
    turns = pd.DataFrame({"id": ["a", "a", "b"], "text": ["x", "x", "y"]})
    assert codes(duplicate_texts(turns, "text", "id")) == []


def test_runs_that_lack_units() -> None:
    (check,) = missing_units({"r1": 50, "r2": 33}, 50)
    assert (
        (check.n, check.of) == (17, 100)
        and "r2 lacks 17" in check.message
        and "r1" not in check.message
    )
    assert codes(missing_units({"r1": 50, "r2": 50}, 50)) == []


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


def test_few_units_of_several_runs_are_those_of_the_smallest() -> None:
    runs = [list(few_units(n, "id")) for n in (6, 5, 40)]
    (check,) = checks_of_runs(runs)
    assert check.message.startswith("only 5 units (id)")
    assert check.message.endswith("(in 2 of 3 runs)")


def test_the_worst_level_stands_for_several_runs() -> None:
    caution = Check("b", "warning", "some are missing", n=1, of=9)
    blocking = Check("b", "blocking", "all are missing", n=9, of=9)
    (check,) = checks_of_runs([[caution], [blocking]])
    assert check.level == "blocking"
    assert check.message == "all are missing (in 2 of 2 runs)"


def test_it_is_said_that_no_check_failed_only_where_none_did() -> None:
    assert check_lines([]) == [ALL_PASSED]
    assert check_lines([Check("n", "info", "by the way")]) == ["Note: by the way", ALL_PASSED]
    assert ALL_PASSED not in check_lines([Check("w", "warning", "few", help="--more")])
    assert check_lines([Check("w", "warning", "few", help="--more")]) == ["Caution: few (--more)"]


def test_a_check_survives_json() -> None:
    values = {"known": 3, "how": Message("by ref"), "listed": (Message("{n} a", {"n": 1}), "b")}
    check = Check(
        "b",
        "blocking",
        "nothing of {known} fits {how}: {listed}",
        values,
        n=0,
        of=167,
        blocks=("m",),
        help="--protocol cr_v1",
    )
    assert Check.from_json(check.as_json()) == check
    assert Check.from_json(json.loads(json.dumps(check.as_json()))) == check
    assert check.message == "nothing of 3 fits by ref: 1 a, b"


A, B, C = (CheckKind(code, f"what {code} looks for") for code in "abc")


def test_a_kind_of_which_nothing_was_found_passed_or_says_why_it_does_not_apply() -> None:
    outcomes = [A.failed("warning", "few"), B.not_applicable("no texts")]
    quiet = quiet_checks((A, B, C), outcomes)
    assert [(check.kind.code, check.state) for check in quiet] == [
        ("b", "not applicable"),
        ("c", "passed"),
    ]
    states = check_states([A.failed("warning", "few")], quiet)
    assert states.to_dict("records") == [
        {"code": "a", "state": "failed", "message": "few"},
        {"code": "b", "state": "not applicable", "message": "no texts"},
        {"code": "c", "state": "passed", "message": "what c looks for"},
    ]


def test_a_check_that_stands_in_the_result_is_never_listed_as_passed() -> None:
    assert quiet_checks((A,), [A.failed("info", "stored by an earlier version")]) == []


def test_of_several_runs_a_check_passed_where_it_applied_to_one() -> None:
    rows = [{"id": str(i), "metric": "m", "value": i / 40} for i in range(40)]
    texts = [{**row, "text": row["id"]} for row in rows]
    runs = [et.evaluate("table", data, name=name) for name, data in (("a", rows), ("b", texts))]
    for study, state in ((et.study(runs), "passed"), (et.study(runs[:1]), "not applicable")):
        states = study.check_states.set_index("code")["state"]
        assert states["duplicate-texts"] == state
    assert states["one-sided-missing"] == "not applicable"


def test_texts_that_are_not_there_are_not_applicable() -> None:
    (outcome,) = duplicate_texts(pd.DataFrame({"id": ["a"]}), "text", "id")
    assert isinstance(outcome, QuietCheck) and str(outcome.reason) == "the units have no texts"


@pytest.mark.parametrize(
    "content",
    [{}, {"code": "a", "level": "fatal", "message": "b"}, {"code": "a", "level": "info"}],
)
def test_what_is_no_check_is_refused(content: dict[str, str]) -> None:
    with pytest.raises((KeyError, ValueError)):
        Check.from_json(content)
