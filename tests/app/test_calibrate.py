"""`evaltools calibrate`: what it prints and writes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from evaltools.core.language import say, speaking
from evaltools.report.sentences import OF_LABELS, label_message
from evaltools.stats.calibration import COLUMNS, Drawn, calibrate
from tests.app.calling import call, written
from tests.stats.test_calibration import judged


@pytest.fixture
def files(tmp_path: Path) -> Path:
    scores, labels = judged()
    scores.to_csv(tmp_path / "scores.csv", index=False)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    return tmp_path


def test_calibrate_writes_what_it_prints(files: Path) -> None:
    out = files / "c.csv"
    said = call("calibrate", files / "scores.csv", files / "labels.csv", "-o", out).stdout
    found, made = pd.read_csv(out), calibrate(*judged())
    assert list(found) == list(COLUMNS)
    pd.testing.assert_frame_equal(found, made.frame, check_dtype=False)
    row = found.iloc[0]
    (line,) = [line.split() for line in said.splitlines() if line.startswith("m ")]
    assert line[:3] == ["m", "200", "60"]
    assert f"{row['corrected_low']:.3f}" in line and f"{row['corrected_high']:.3f}" in line
    assert "warning" not in said and "nan" not in said


def test_labels_of_failures_are_warned_of(files: Path) -> None:
    scores = pd.read_csv(files / "scores.csv")
    failing = scores[scores["score"] == 0].head(40)[["case_id", "metric"]].assign(label=0)
    failing.to_csv(files / "labels.csv", index=False)
    said = call(
        "calibrate", files / "scores.csv", files / "labels.csv", "-o", files / "c.csv"
    ).stdout
    assert "warning: m: labels are of failures only" in said


@pytest.mark.parametrize(
    ("lang", "warning"),
    [
        ("ko", "경고: m: 라벨이 미달 사례에만 있음 (평균 점수 0.00, 전체 사례 0."),
        ("zh", "警告: m：标签只有未达标的案例（平均分 0.00，全部案例 0."),
    ],
)
def test_calibrate_speaks_the_language_and_writes_the_same(
    files: Path, lang: str, warning: str
) -> None:
    scores = pd.read_csv(files / "scores.csv")
    failing = scores[scores["score"] == 0].head(40)[["case_id", "metric"]].assign(label=0)
    failing.to_csv(files / "labels.csv", index=False)
    for of in ("en", lang):
        out = "--lang", of, "-o", files / f"{of}.csv"
        said = call("calibrate", files / "scores.csv", files / "labels.csv", *out).stdout
        assert (warning in said) == (of == lang)
    assert (files / "en.csv").read_bytes() == (files / f"{lang}.csv").read_bytes()


@pytest.mark.parametrize("code", OF_LABELS)
@pytest.mark.parametrize("lang, beginning", [("ko", "m: 라벨이 "), ("zh", "m：标签")])
def test_the_note_of_a_page_is_told_in_the_language(code: str, lang: str, beginning: str) -> None:
    note = Drawn(code, 0.9, 0.58)
    with speaking(lang):
        assert say(label_message("m", note)).startswith(beginning)


def test_too_few_labels_write_nothing(files: Path) -> None:
    pd.read_csv(files / "labels.csv").head(29).to_csv(files / "labels.csv", index=False)
    before = written(files)
    done = call(
        "calibrate", files / "scores.csv", files / "labels.csv", "-o", files / "c.csv", status=3
    )
    assert "labels.csv: m: 29 labelled cases; expected 30 or more" in done.stderr
    assert written(files) == before


def test_nothing_is_written_over_an_input(files: Path) -> None:
    two = files / "scores.csv", files / "labels.csv"
    before = {f: f.read_bytes() for f in two}
    for file in two:
        call("calibrate", *two, "-o", file, status=2)
    assert {f: f.read_bytes() for f in two} == before and written(files) == {
        "scores.csv",
        "labels.csv",
    }


def test_escape_sequences_do_not_reach_the_terminal(files: Path) -> None:
    for name in ("scores", "labels"):
        pd.read_csv(files / f"{name}.csv").assign(metric="m\x1b[31m").to_csv(
            files / f"{name}.csv", index=False
        )
    assert (
        "\x1b"
        not in call(
            "calibrate", files / "scores.csv", files / "labels.csv", "-o", files / "c.csv"
        ).stdout
    )


def test_what_was_not_measured_takes_no_part_and_is_said(tmp_path: Path) -> None:
    """40 measured cases, of which the score is right in all; 20 imputed ones would spoil the kappa."""
    rows = []
    for i in range(60):
        measured = i < 40
        score = i % 2 if measured else 1.0
        rows.append({"case_id": f"c{i}", "metric": "m", "score": score, "measured": measured})
    scores = pd.DataFrame(rows)
    labels = scores[["case_id", "metric"]].assign(label=[float(i % 2) for i in range(60)])
    scores.to_csv(tmp_path / "scores.csv", index=False)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    how = ("calibrate", tmp_path / "scores.csv", tmp_path / "labels.csv", "-o", tmp_path / "c.csv")
    said = " ".join(call(*how).stdout.split())
    row = pd.read_csv(tmp_path / "c.csv").iloc[0]
    assert (row["n"], row["n_labelled"], row["judge_kappa"]) == (40, 40, 1.0)
    assert (
        "20 of 60 cases of m were not measured: they take no part, and neither do 20 labels" in said
    )
    labels.loc[0, "label"] = 0.5
    labels.to_csv(tmp_path / "labels.csv", index=False)
    call(*how)
    assert pd.isna(pd.read_csv(tmp_path / "c.csv").iloc[0]["judge_kappa"])
    korean = call(*how, "--lang", "ko").stdout
    assert "측정되지 않아" in korean


def with_metric_few(files: Path, n: int, measured: int) -> list[Path]:
    """The files with a further metric of n labelled cases, of which only the first were measured."""
    for name in ("scores", "labels"):
        rows = pd.read_csv(files / f"{name}.csv")
        few = rows.head(n).assign(metric="few")
        rows = pd.concat([rows, few])
        if name == "scores":
            rows["measured"] = [True] * (len(rows) - n + measured) + [False] * (n - measured)
        rows.to_csv(files / f"{name}.csv", index=False)
    return [files / "scores.csv", files / "labels.csv"]


def test_a_metric_of_which_too_few_cases_were_measured_is_left_out_and_said(files: Path) -> None:
    paths = with_metric_few(files, n=35, measured=20)
    said = call("calibrate", *paths, "-o", files / "c.csv").stdout
    assert "few is left out: 20 labelled cases; expected 30 or more" in " ".join(said.split())
    assert pd.read_csv(files / "c.csv")["metric"].tolist() == ["m"]


def test_too_few_labels_of_a_metric_are_bad_input(files: Path) -> None:
    paths = with_metric_few(files, n=20, measured=20)
    said = call("calibrate", *paths, "-o", files / "c.csv", status=3).output
    assert "few" in said and "20 labelled cases; expected 30 or more" in " ".join(said.split())
    assert not (files / "c.csv").exists()
