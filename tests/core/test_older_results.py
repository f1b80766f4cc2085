"""Results that earlier states of the package wrote are read: their numbers stand, and what cannot be done is said.

`tests/data/results` holds results of three samples each, as they were written then: without titles, and a list of file
names in the manifest (first); with titles and hashes, and units without columns that are summed today (second).
"""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest

import evaltools as et
from tests.app.calling import QUICK, call

DATA = Path(__file__).parents[1] / "data" / "results"
OLDER = sorted(path for path in DATA.glob("*/*") if path.is_dir())
OUTDATED = [path for path in OLDER if path.name != "scores"]


def of(path: Path) -> str:
    return f"{path.parent.name} {path.name}"


@pytest.mark.parametrize("path", OLDER, ids=of)
def test_the_numbers_of_an_older_result_are_read(path: Path) -> None:
    run = et.load(path)
    rows = json.loads((path / "metrics.json").read_text(encoding="utf-8"))["metrics"]
    values = {row["name"]: row["value"] for row in rows}
    assert list(run.frame["name"]) == list(values)
    for name in run.headline:
        value = run[name]["value"]
        assert value == values[name] or (math.isnan(value) and values[name] is None)
    assert run.headline
    for shown in (repr(run), run.table().text, run.page().text, run.samples().text):
        assert shown
    assert run.plot.forest() is not None


@pytest.mark.parametrize("path", OLDER, ids=of)
def test_an_older_result_passes_gates_and_stands_in_the_gallery(path: Path, tmp_path: Path) -> None:
    result = Path(shutil.copytree(path, tmp_path / "results" / path.name))
    name = et.load(path).headline[0]
    call("gate", result, "--min", f"{name}=-1")
    call("gate", result, "--min", f"{name}=2", status=1)
    call("gallery", tmp_path)
    assert path.name in (tmp_path / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", OUTDATED, ids=of)
def test_what_an_older_result_did_not_count_is_not_compared(path: Path) -> None:
    said = call("compare", path, path, *QUICK, status=2).output
    assert "was made by another version of evaltools, or with other rules" in said
    with pytest.raises(et.UsageError, match="score its input again"):
        et.study([path])


def test_a_result_that_counted_the_same_is_compared() -> None:
    assert (
        et.compare(DATA / "second" / "scores", DATA / "second" / "scores")
        .frame["delta"]
        .eq(0)
        .all()
    )


@pytest.mark.parametrize("path", OUTDATED, ids=of)
def test_what_an_older_result_cannot_answer_says_what_to_run(path: Path) -> None:
    run = et.load(path)
    name = run.headline[0]
    twice = et.Mean(name="twice", of=(name, name), better="higher")
    unit = run.suite.unit
    for ask in (
        lambda: run.by(unit),
        lambda: run.estimate(twice),
        lambda: run.where(run.units.head(2)),
        lambda: run.plot.spread(),
    ):
        with pytest.raises(et.UsageError, match=rf"evaltools score {run.suite.name} \S+"):
            ask()
