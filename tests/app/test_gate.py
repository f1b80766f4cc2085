"""Release gates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evaltools.app.cli import main


@pytest.fixture
def metrics(tmp_path: Path) -> str:
    rows = [
        {"name": "f1", "value": 0.8, "ci_low": 0.7, "ci_high": 0.9},
        {"name": "conflict", "value": 0.02, "ci_low": None, "ci_high": None},
        {"name": "null", "value": None, "ci_low": None, "ci_high": None},
    ]
    path = tmp_path / "metrics.json"
    path.write_text(json.dumps({"metrics": rows}))
    return str(path)


@pytest.mark.parametrize(
    ("args", "status"),
    [
        (["--min", "f1=0.8"], 0),
        (["--min", "f1=0.81"], 1),
        (["--min", "f1=0.75", "--use", "ci_low"], 1),
        (["--max", "f1=0.85", "--use", "ci_high"], 1),
        (["--max", "conflict=0.02"], 0),
        (["--min", "f1=0.5", "--max", "conflict=0.01"], 1),
        (["--max", "conflict=0.05", "--use", "ci_high"], 1),  # no interval does not pass
        (["--min", "null=0"], 1),  # not measured does not pass
        (["--min", "other=0"], 2),
        (["--min", "f1"], 2),
        (["--min", "f1=nan"], 2),
        ([], 2),
    ],
)
def test_exit_status(metrics: str, args: list[str], status: int) -> None:
    assert CliRunner().invoke(main, ["gate", metrics, *args]).exit_code == status


def test_every_bound_is_said(metrics: str) -> None:
    out = CliRunner().invoke(main, ["gate", metrics, "--min", "f1=0.9", "--max", "null=1"]).output
    assert out.splitlines() == ["FAIL f1 value 0.8 >= 0.9", "FAIL null value not measured <= 1"]


@pytest.mark.parametrize("content", ["{", "[]", '{"metrics": [1]}', '{"metrics": [{"name": "a", "value": "1"}]}'])
def test_other_files_are_bad_input(tmp_path: Path, content: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(content)
    assert CliRunner().invoke(main, ["gate", str(path), "--min", "a=0"]).exit_code == 3
