"""`evaltools calibrate`: what it prints and writes, and what it refuses."""

from pathlib import Path

import openpyxl
import pandas as pd
import pytest

import evaltools as et
from evaltools.core.messages import speaking
from evaltools.stats.calibration import COLUMNS, calibrate
from tests.app.calling import call, said, written
from tests.stats.test_calibration import judged


@pytest.fixture
def files(tmp_path: Path) -> Path:
    scores, labels = judged()
    scores.to_csv(tmp_path / "scores.csv", index=False)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    return tmp_path


def called(files: Path, *more: object, **how: int) -> str:
    done = call(
        "calibrate", files / "scores.csv", files / "labels.csv", "-o", files / "c.csv", *more, **how
    )
    return " ".join(done.output.split())


def test_calibrate_writes_what_it_prints(files: Path) -> None:
    shown = called(files)
    found, (frame, _) = pd.read_csv(files / "c.csv"), calibrate(*judged())
    assert list(found) == list(COLUMNS)
    pd.testing.assert_frame_equal(found, frame, check_dtype=False)
    row = found.iloc[0]
    low, high = (f"{row[f'corrected_{end}']:.3f}" for end in ("low", "high"))
    assert "60 200" in shown and f"{row['corrected_mean']:.3f} {low} {high}" in shown
    assert "note:" not in shown and "nan" not in shown


def test_no_label_at_all_is_bad_input_and_no_input_is_written_over(files: Path) -> None:
    two = files / "scores.csv", files / "labels.csv"
    for file in two:
        call("calibrate", *two, "-o", file, status=2)
    two[1].write_text("case_id,metric,label\nc0,m,\n", encoding="utf-8")
    before = written(files)
    assert "labels.csv: no label in this file" in called(files, status=3)
    assert written(files) == before


def test_escape_sequences_do_not_reach_the_terminal(files: Path) -> None:
    for name in ("scores", "labels"):
        path = files / f"{name}.csv"
        pd.read_csv(path).assign(metric="m\x1b[31m").to_csv(path, index=False)
    assert "\x1b" not in called(files)


def test_what_was_not_measured_takes_no_part_and_is_said(tmp_path: Path) -> None:
    """40 measured cases, of which the score is right in all; 20 imputed ones would spoil the kappa."""
    rows = []
    for i in range(60):
        score = i % 2 if i < 40 else 1.0
        rows.append({"case_id": f"c{i}", "metric": "m", "score": score, "measured": i < 40})
    scores = pd.DataFrame(rows)
    labels = scores[["case_id", "metric"]].assign(label=[float(i % 2) for i in range(60)])
    scores.to_csv(tmp_path / "scores.csv", index=False)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    assert "m: 20 of 60 labels are of cases that were not measured" in called(tmp_path)
    row = pd.read_csv(tmp_path / "c.csv").iloc[0]
    assert (row["n"], row["n_labelled"], row["judge_kappa"]) == (40, 40, 1.0)


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_the_workbook_is_read_with_the_labels_that_people_wrote_into_it(
    tmp_path: Path, lang: str
) -> None:
    with speaking(lang):
        et.evaluate("summary", "example:summary/cases.jsonl", out=tmp_path)
    path = tmp_path / "results" / "cases" / "summary_scores.xlsx"
    book = openpyxl.load_workbook(path)
    sheet = book.worksheets[2]
    words = iter(["합격", "불합격", "예", "아니요", 1, 0, "yes", "FAIL", "pass"])
    for row in sheet.iter_rows(min_row=3):
        if row[8].value == "summary_accuracy":
            row[2].value, row[3].value = next(words, None), "김"
    book.save(path)
    call("calibrate", path, "-o", tmp_path / "c.csv")
    row = pd.read_csv(tmp_path / "c.csv").iloc[0]
    assert (row["metric"], row["n"], row["n_labelled"]) == ("summary_accuracy", 21, 8)
    assert row["labels_mean"] == 0.5  # one label is of a case that was not measured
    second = tmp_path / "second.xlsx"
    book.save(second)
    call("calibrate", path, second, "-o", tmp_path / "c.csv")
    assert "other-texts" not in said(
        "calibrate", path.with_suffix(".csv"), second, "-o", tmp_path / "d.csv"
    )
    call("gate", path.parent, status=1)  # labels are no reason to refuse the result
    assert (tmp_path / "c.csv").read_text() == (tmp_path / "d.csv").read_text()
    assert row["tpr"] == 0.0  # a score of .5 does not pass at .9
    # labels in the workbook count beside those of a file, but not two of one rater that differ
    labels = tmp_path / "l.csv"
    other = "23 of 24 labels are of other summaries than those that were scored"
    for rater, expected, status in (("이", other, 0), ("김", "by the same rater", 3)):
        scores = pd.read_csv(path.with_suffix(".csv")).query("metric == 'summary_accuracy'")
        scores.assign(label=0, rater=rater, answer="다른 요약").to_csv(labels, index=False)
        assert expected in said("calibrate", path, labels, "-o", tmp_path / "c.csv", status=status)
    assert pd.read_csv(tmp_path / "c.csv").loc[0, "raters"] == 2
    (path.parent / "units.parquet").write_text("no longer")
    assert "units.parquet beside it cannot be read" in said("calibrate", path, labels, status=3)


def test_a_workbook_without_the_columns_and_labels_of_another_scale(tmp_path: Path) -> None:
    path, out = tmp_path / "a.xlsx", ("-o", tmp_path / "c.csv")
    rows = pd.DataFrame({"case": ["a", "b"], "metric": "m", "score": [1, 0], "label": [4, 2]})
    rows.drop(columns="label").to_excel(path, index=False)
    message = "expected the columns case_id (case, 사례), metric, label (사람 판정), got case, metric, score"
    assert message in said("calibrate", path, *out, status=3)
    rows.to_excel(path, index=False)
    message = "a.xlsx:2: a: label: expected 0 to 1 (another scale is given as --scale"
    assert message in said("calibrate", path, *out, status=3)
    (tmp_path / "s.csv").write_text("case_id,metric,score\na,m,1\n")
    message = "a.xlsx:3: b: case_id: the scores have no m of this case"
    assert message in said("calibrate", tmp_path / "s.csv", path, "--scale", "1-5", status=3)
    call("calibrate", path, *out, "--scale", "1-5")
    assert pd.read_csv(tmp_path / "c.csv").loc[0, "labels_mean"] == 0.5  # 3/4 and 1/4
    # labels that are all 0 beside the scores are labels too
    scores = tmp_path / "s.jsonl"
    rows.assign(case_id=rows["case"], label=0, rater="x").to_json(
        scores, orient="records", lines=True
    )
    call("calibrate", scores, path, *out, "--scale", "0-5")
    assert pd.read_csv(tmp_path / "c.csv").loc[0, "raters"] == 2
    for scale in ("5", "20-10"):
        call("calibrate", path, "--scale", scale, status=2)
