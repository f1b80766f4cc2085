"""Numbers of a run in the shapes of other tools."""

from __future__ import annotations

import json
from pathlib import Path

import evaltools as et
from evaltools.report.export import flat, inspect_scores

from ..app.calling import QUICK, call

ROWS = [("a", "acc", 1), ("b", "acc", 0), ("c", "f1", 0.5), ("a", "f1", 0.25)]


def table(folder: Path, name: str = "x__seed3_y") -> Path:
    path = folder / f"{name}.jsonl"
    path.write_text(
        "".join(json.dumps({"id": i, "metric": m, "value": v}) + "\n" for i, m, v in ROWS)
    )
    return path


def test_values_by_hand(tmp_path: Path) -> None:
    run = et.evaluate("table", table(tmp_path))
    assert flat(run) == {"acc": 0.5, "f1": 0.375}
    about = {"epoch": 3, "answer": None, "explanation": "acc of x__seed3_y"}
    assert list(inspect_scores(run)) == [
        {"id": "a", "value": 1.0, **about, "metadata": {"f1": 0.25}},
        {"id": "b", "value": 0.0, **about, "metadata": {}},  # c has no acc
    ]


def test_the_command_writes_them(tmp_path: Path) -> None:
    files = ("--flat", tmp_path / "flat.json", "--inspect-scores", tmp_path / "scores.jsonl")
    call("score", "table", table(tmp_path), "-o", tmp_path / "out", "-q", *QUICK, *files)
    assert json.loads((tmp_path / "flat.json").read_text()) == {"acc": 0.5, "f1": 0.375}
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == ["a", "b"]


def test_one_run_and_never_an_input(tmp_path: Path) -> None:
    a, b = table(tmp_path), table(tmp_path, "other")
    done = call(
        "score", "table", a, b, "-o", tmp_path / "out", "--flat", tmp_path / "flat.json", status=2
    )
    assert "numbers of one run go into a file, here are several" in done.output
    assert (
        "is an input"
        in call("score", "table", a, "-o", tmp_path / "out", "--flat", a, status=2).output
    )
    assert not (tmp_path / "out").exists() and not (tmp_path / "flat.json").exists()


def test_units_of_every_suite_sum_to_its_primary_metric() -> None:
    run = et.evaluate(
        "cr", "example:cr/with_memory__seed2_proposed", resampling=et.Resampling(n_resamples=100)
    )
    rows = list(inspect_scores(run))
    assert {row["epoch"] for row in rows} == {2}
    assert abs(sum(row["value"] for row in rows) / len(rows) - run.value(run.primary)) < 1e-12
