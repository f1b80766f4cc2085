"""Whether a result can be believed, in a word: the worst decides."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

import evaltools as et
from evaltools.report.trust import trust


@pytest.mark.parametrize(
    "levels, incomplete, words, kind",
    [
        ([], False, "no caution", "good"),
        (["info", "info"], False, "no caution", "good"),
        (["warning"], False, "1 caution", "warning"),
        (["info", "warning", "warning"], False, "2 cautions", "warning"),
        (["warning", "blocking"], False, "cannot be measured", "error"),
        (["blocking"], True, "incomplete", "error"),
        ([], True, "incomplete", "error"),
        (None, False, "not checked", "info"),
        (None, True, "incomplete", "error"),
    ],
)
def test_the_worst_is_said(levels: Any, incomplete: bool, words: str, kind: str) -> None:
    state = trust(levels, incomplete=incomplete)
    assert (str(state.words), state.kind) == (words, kind)


def test_what_is_spoilt_is_worse_than_all_else() -> None:
    state = trust(["blocking"], incomplete=True, spoilt=True)
    assert (str(state.words), state.kind) == ("not as it was written", "error")


class Answer(BaseModel):
    id: str
    task: str
    right: int


@pytest.mark.parametrize("elsewhere, is_told", [(None, True), (0, False)])
def test_a_mean_that_is_not_the_mean_of_its_metrics_is_told(elsewhere: Any, is_told: bool) -> None:
    """Math has half of the units, law all of them: a null leaves a unit out of the mean."""

    def columns(answer: Answer) -> dict[str, Any]:
        is_math = answer.task == "math"
        return {
            "law": answer.right,
            "n_law": 1,
            "math": answer.right if is_math else elsewhere,
            "n_math": 1 if is_math else elsewhere,
        }

    better = {"better": "higher", "bounds": (0, 1)}
    metrics: list[Any] = [
        et.Metric(name=name, numerator=name, denominator=f"n_{name}", **better)
        for name in ("law", "math")
    ]
    metrics.append(et.Mean(name="macro", of=("law", "math"), title="Macro", better="higher"))
    suite = et.jsonl_suite(
        "tasks",
        title="Tasks",
        record=Answer,
        unit="id",
        columns=columns,
        metrics=metrics,
        headline=["macro"],
    )
    rows = [
        {"id": str(i), "task": "law" if i % 2 else "math", "right": int(i % 3 > i % 2)}
        for i in range(60)
    ]
    run = et.evaluate(suite, rows)
    told = [check.message for check in run.checks if check.code == "mean-units"]
    assert bool(told) == is_told
    of_metrics = (run.value("law") + run.value("math")) / 2
    assert (run.value("macro") != pytest.approx(of_metrics)) == is_told
    if is_told:
        assert "“Macro” (n = 30, 0.583 by its metrics)" in told[0]
