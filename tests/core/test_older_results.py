"""Results that earlier states of the package wrote: gates and the gallery read their numbers; else it is said what to do.

`tests/data/results` holds results of three samples each, as they were written then: without titles, and a list of file
names in the manifest (first); with titles and hashes, and units without columns that are summed today (second).
"""

from __future__ import annotations

import json
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
def test_an_older_result_passes_gates_and_stands_in_the_gallery(path: Path, tmp_path: Path) -> None:
    result = Path(shutil.copytree(path, tmp_path / "results" / path.name))
    rows = json.loads((path / "metrics.json").read_text(encoding="utf-8"))["metrics"]
    name = next(row["name"] for row in rows if row["value"] is not None)
    call("gate", result, "--min", f"{name}=-1")
    call("gate", result, "--min", f"{name}=1e9", status=1)
    call("gallery", tmp_path)
    assert path.name in (tmp_path / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", OUTDATED, ids=of)
def test_a_result_that_did_not_count_what_is_summed_today_says_what_to_run(path: Path) -> None:
    said = call("compare", path, path, *QUICK, status=2).output
    assert "was made by another version of evaltools, or with other rules" in said
    for ask in (et.load, lambda folder: et.study([folder])):
        with pytest.raises(et.UsageError, match=r"score its input again: evaltools score \w+ \S+"):
            ask(path)


def test_a_result_that_counted_the_same_is_compared() -> None:
    study = et.compare(DATA / "second" / "scores", DATA / "second" / "scores")
    assert study.frame["delta"].eq(0).all()
