"""The notebook of summaries: its cells work on every kind of file, and say what the estimates say."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import evaltools as et
from evaltools.core.messages import speaking
from evaltools.suites.summary.rules import METRICS
from tests.files import write_lines
from tests.notebooks.cells import run_cells

QUICK = {"n_resamples": 200}
SOURCE = (
    "골절 진단비는 30만 원입니다. 가입 후 90일은 면책기간이고, 자기부담금은 2만 원이에요. "
    "음주 사고는 보상하지 않습니다."
)
RIGHT = {"id": "right", "answer": "면책기간 90일, 자기부담금 2만원, 음주는 보상하지 않음"}


def cells_on(tmp_path: Path, cases: list[dict[str, Any]], **parameters: Any) -> dict[str, Any]:
    path = tmp_path / "cases.jsonl"
    rows = [{"contexts": [SOURCE], "summary_tags": ["deductible"], **case} for case in cases]
    write_lines(path, rows)
    return run_cells("summary.ipynb", run=str(path), **QUICK, **parameters)


def test_tables_of_cells_are_the_estimates_and_the_files(tmp_path: Path) -> None:
    names = run_cells("summary.ipynb", out=str(tmp_path), **QUICK)
    counts = pd.crosstab(names["judged"]["metric"], names["judged"]["state"])
    written = pd.read_csv(tmp_path / "results/cases/summary_scores.csv")
    for metric in METRICS[:4]:
        row = counts.loc[names["METRICS"][metric]]
        of_metric = written[written["metric"] == metric]
        of_state = {state: of_metric["state"] == state for state in ("fail", "look", "ok")}
        assert row["Do not ship"] == of_state["fail"].sum()
        assert row["Check"] == of_state["look"].sum()
        assert row["OK"] == (of_state["ok"] & of_metric["measured"]).sum()
    units, tags = names["units"], names["tags"]
    assert tags["risk"].eq("covered").sum() == units["summary_risk_coverage_num"].sum()
    assert len(tags) == units["summary_risk_coverage_den"].sum()
    found = names["figures"]["found"].value_counts()
    assert found["supported"] == units["summary_accuracy_num"].sum()
    assert names["counts"]["accuracy"].sum() == (~units["summary_accuracy_measured"]).sum()


def test_a_missing_risk_has_its_sentence_and_a_promise_stands_or_is_taken_back(
    tmp_path: Path,
) -> None:
    cases = [
        RIGHT | {"product": "B"},
        {"id": "a", "answer": "대기기간 90일이며 음주는 보상하지 않음"},
        {"id": "b", "answer": "골절 진단비 30만원", "summary_tags": ["deductible", "reduction"]},
        {"id": "promise", "answer": "무조건 지급됩니다.", "summary_tags": [], "product": "A"},
        {"id": "denied", "answer": "무조건 지급되는 것은 아닙니다.", "summary_tags": []},
    ]
    names = cells_on(tmp_path, cases)
    missing = names["missing"].set_index(["case", "tag"])
    sentence = "가입 후 90일은 면책기간이고, 자기부담금은 2만 원이에요"
    assert missing.loc[("b", "deductible"), "source"] == sentence
    assert missing.loc[("b", "reduction"), "source"] == ""  # no context names one
    assert names["by_tag"]["deductible"] == pytest.approx(1 / 3)
    assert names["parts"]["cases"].tolist() == [2, 2, 1, 1]
    promises = names["promises"].reset_index().set_index("case")
    assert promises["counts as promise"].to_dict() == {"promise": "yes", "denied": "no"}
    assert promises.loc["denied", "reason"] == "denies that it is so"


@pytest.mark.parametrize(
    "case",
    [
        RIGHT,
        {"id": "nothing", "answer": None, "contexts": [], "summary_tags": None},
        {"id": "unknown", "answer": "안내함", "summary_tags": ["면챡"]},
    ],
    ids=["one right case", "nothing given", "unknown tag"],
)
def test_cells_work_on_one_case(case: dict[str, Any], tmp_path: Path) -> None:
    names = cells_on(tmp_path, [case])
    assert len(names["units"]) == 1 and len(names["scores"]) == 4


def test_a_query_is_followed_by_all_cells_and_by_what_is_written(tmp_path: Path) -> None:
    names = run_cells("summary.ipynb", query="state == 'fail'", out=str(tmp_path), **QUICK)
    assert et.load(tmp_path / "results" / "cases").frame.equals(names["result"].frame)
    assert len(names["units"]) == names["result"].n_units == 11
    n_judged = names["judged"]["metric"].value_counts()
    assert n_judged.le(11).all() and n_judged["accuracy"] == 11


def test_reasons_are_told_in_the_language_of_the_reader(tmp_path: Path) -> None:
    case = {"id": "a", "answer": "무조건 지급되는 것은 아닙니다."}
    with speaking("en"):  # the cells speak Korean from their set-up on
        names = cells_on(tmp_path, [case], lang="ko")
    assert names["promises"]["reason"].tolist() == ["그렇지 않다고 부정함"]
