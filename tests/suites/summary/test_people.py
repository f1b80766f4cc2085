"""Labels of people lead a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from openpyxl import load_workbook

import evaltools as et
from evaltools.core.errors import Problems
from evaltools.stats.calibration import calibrate, labelled_cases
from evaltools.stats.labels import read_labels, read_scores
from evaltools.suites.summary import people
from tests.app.calling import QUICK, call, written

M = "summary_non_definitive"
ANSWERS = ("골절 30만원 지급", "무조건 지급됩니다", "골절 30만원, 자기부담금 2만원")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """150 cases, and labels of 50: the rules' score of promises, turned round in every tenth."""
    folder = tmp_path_factory.mktemp("people")
    lines = [json.dumps({"id": f"c{i}", "answer": ANSWERS[i % 3] + f" {i}번"}) for i in range(150)]
    (folder / "cases.jsonl").write_text("\n".join(lines), encoding="utf-8")
    score = et.evaluate("summary", folder / "cases.jsonl").data[M].to_numpy()
    at = np.random.default_rng(0).permutation(150)[:50]
    said = np.where(np.arange(50) % 10 == 0, 1 - score[at], score[at])
    labels = pd.DataFrame({"case_id": [f"c{i}" for i in at], "metric": M, "label": said})
    labels.to_csv(folder / "labels.csv", index=False)
    return folder


def run(files: Path, **how: Any) -> et.Run:
    return et.evaluate("summary", files / "cases.jsonl", labels=str(files / "labels.csv"), **how)


def test_a_corrected_mean_leads_and_the_score_stands_beside(files: Path) -> None:
    found, plain = run(files), et.evaluate("summary", files / "cases.jsonl")
    assert found.headline[0] == found.primary == f"{M}_corrected"
    assert found.headline[1:] == plain.headline and not any(
        "corrected" in name for name in plain.frame["name"]
    )
    row = found[f"{M}_corrected"]
    assert row["ci_method"] == people.METHOD and row["n_units"] == 50
    assert found[f"{M}_pass_rate_measured"]["value"] == plain[f"{M}_pass_rate_measured"]["value"]
    assert [i.role for i in found.manifest.inputs] == ["cases", "labels"]
    assert "Non-definitive, corrected by labels" in found._repr_html_()


def test_report_terminal_excel_and_calibrate_say_the_same(files: Path, tmp_path: Path) -> None:
    how = ("--labels", files / "labels.csv", "-o", tmp_path, *QUICK)
    said = call("score", "summary", files / "cases.jsonl", *how).stdout
    folder = tmp_path / "results" / "cases"
    call("calibrate", folder / "summary_scores.csv", files / "labels.csv", "-o", tmp_path / "c.csv")
    expected = pd.read_csv(tmp_path / "c.csv").iloc[0]
    row = et.load(folder)[f"{M}_corrected"]
    for ours, theirs in (
        ("value", "corrected_mean"),
        ("ci_low", "corrected_low"),
        ("ci_high", "corrected_high"),
    ):
        assert row[ours] == pytest.approx(expected[theirs], abs=1e-12)
    stored = et.load(folder)
    shown = people.calibration(stored.data, stored.options).frame.iloc[0]
    assert shown["corrected_mean"] == pytest.approx(row["value"]) and shown["n_labelled"] == 50
    sheet = load_workbook(folder / "summary_scores.xlsx").worksheets[0]
    lead = {r[0]: r[1] for r in sheet.iter_rows(max_col=2, values_only=True)}
    shown_in_sheet = str(lead["Non-definitive, corrected by labels"])
    value, _, rest = shown_in_sheet.partition(" [")
    assert float(value) == pytest.approx(row["value"], abs=0.005)
    assert f"{value} [" in " ".join(said.split())
    assert rest.endswith("n = 50")


def test_what_cases_bring_is_the_corrected_mean(files: Path) -> None:
    units = run(files).data
    assert units[f"{M}_corrected"].mean() == pytest.approx(run(files)[f"{M}_corrected"]["value"])


def test_systems_are_compared_on_their_corrected_means(files: Path, tmp_path: Path) -> None:
    """The other system promises in two of three answers; people labelled the same 50 cases of both."""
    lines = []
    for i in range(150):
        answer = ANSWERS[1 if i % 3 else 0]
        lines.append(json.dumps({"id": f"c{i}", "answer": f"{answer} {i}번"}))
    (tmp_path / "cases.jsonl").write_text("\n".join(lines), encoding="utf-8")
    score = et.evaluate("summary", tmp_path / "cases.jsonl").data.set_index("case_id")[M]
    labels = pd.read_csv(files / "labels.csv")
    labels["label"] = labels["case_id"].map(score)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    a, b = run(files), run(tmp_path, name="other")
    compared = et.compare(a, b)[f"{M}_corrected"]
    means = [made[f"{M}_corrected"]["value"] for made in (a, b)]
    assert compared["delta"] == pytest.approx(means[1] - means[0])
    assert compared["ci_low"] < compared["delta"] < compared["ci_high"] < 0
    assert compared["verdict"] == "worse" and compared["primary"]


def test_too_few_labels_change_nothing_and_are_said(files: Path, tmp_path: Path) -> None:
    pd.read_csv(files / "labels.csv").head(29).to_csv(tmp_path / "few.csv", index=False)
    found = et.evaluate("summary", files / "cases.jsonl", labels=str(tmp_path / "few.csv"))
    assert found.headline == et.evaluate("summary", files / "cases.jsonl").headline
    assert (
        "29 labelled cases that were measured, 30 are needed"
        in found.manifest.problems[0].examples[0]
    )
    assert not found.options.labelled


def test_labels_of_failures_only_are_a_check(files: Path, tmp_path: Path) -> None:
    units = et.evaluate("summary", files / "cases.jsonl").data
    failing = units["case_id"][units[M] == 0].head(40)
    pd.DataFrame({"case_id": failing, "metric": M, "label": 0}).to_csv(
        tmp_path / "f.csv", index=False
    )
    biased = et.evaluate("summary", files / "cases.jsonl", labels=str(tmp_path / "f.csv"))
    (check,) = [c for c in biased.checks if c.code == "labels-not-random"]
    assert "labels are of failures only" in check.message and (check.n, check.of) == (40, 150)
    assert not [c for c in run(files).checks if c.code == "labels-not-random"]


def test_labels_that_do_not_fit_are_bad_input(files: Path, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text(f"case_id,metric,label\nnobody,{M},1\n", encoding="utf-8")
    how = ("score", "summary", files / "cases.jsonl", "-o", tmp_path / "out")
    said = call(*how, "--labels", tmp_path / "l.csv", status=3).stderr
    assert f"l.csv:2: nobody: case_id: the scores have no {M} of this case" in said
    call(*how, "--labels", tmp_path / "none.csv", status=3)
    two = call("score", "summary", files / "cases.jsonl", files / "labels.csv", "-o", tmp_path / "out",
               "--labels", files / "labels.csv", status=2)  # fmt: skip
    assert "--labels goes with one run only" in two.stderr
    assert not [f for f in written(tmp_path) if f.endswith("metrics.json")]


def test_changed_labels_make_the_result_again(files: Path, tmp_path: Path) -> None:
    labels = tmp_path / "l.csv"
    labels.write_bytes((files / "labels.csv").read_bytes())
    first = et.evaluate("summary", files / "cases.jsonl", labels=str(labels), out=tmp_path)
    pd.read_csv(labels).assign(label=1).to_csv(labels, index=False)
    again = et.evaluate("summary", files / "cases.jsonl", labels=str(labels), out=tmp_path)
    assert again[f"{M}_corrected"]["value"] > first[f"{M}_corrected"]["value"]


def test_the_same_numbers_from_files(files: Path, tmp_path: Path) -> None:
    """`calibrate` in Python, on the scores that a run wrote."""
    et.evaluate("summary", files / "cases.jsonl", out=tmp_path)
    problems = Problems()
    scores = read_scores(tmp_path / "results" / "cases" / "summary_scores.csv", problems)
    labels = read_labels(files / "labels.csv", scores, problems)
    assert not problems.kept and len(scores) == 5 * 150
    assert calibrate(scores, labels).frame["n_labelled"].tolist() == [50]
    assert labelled_cases(scores, labels, M)["threshold"].unique().tolist() == [0.8]


def test_a_metric_that_few_labelled_cases_measure_is_left_out(files: Path, tmp_path: Path) -> None:
    labels = pd.read_csv(files / "labels.csv")
    other = labels.assign(metric="summary_risk_coverage")
    pd.concat([labels, other]).to_csv(tmp_path / "two.csv", index=False)
    found = et.evaluate("summary", files / "cases.jsonl", labels=str(tmp_path / "two.csv"))
    assert found[f"{M}_corrected"]["value"] == run(files)[f"{M}_corrected"]["value"]
    assert pd.isna(found["summary_risk_coverage_corrected"]["value"])
    assert "0 labelled cases that were measured" in found.manifest.problems[0].examples[0]
