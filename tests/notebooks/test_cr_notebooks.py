"""The notebooks of Conflict Review: their cells work on every kind of run, and say what the estimates say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.notebooks.cells import run_cells
from tests.suites.cr.cards import gold, output, run, tup

RIGHT, WRONG = tup("본품#품질", "향"), tup("본품#품질", "향", "negative")
FOREIGN = tup("x#y", "향")
QUICK = {"n_resamples": 200}


def test_tables_of_cells_are_the_estimates() -> None:
    names = run_cells("cr_run.ipynb", **QUICK)
    result, outcomes = names["result"], names["outcomes"]
    for key in ("refpol", "otepol", "attrpol"):
        row = outcomes.loc[key]
        fixed, broken = result[f"fix_rate_{key}"], result[f"break_rate_{key}"]
        assert (row["fix"], row["fix"] + row["still"]) == (fixed["numerator"], fixed["denominator"])
        assert (row["break"], row["break"] + row["keep"]) == (
            broken["numerator"],
            broken["denominator"],
        )
    counts = names["counts"][["tp", "fp", "fn"]].sum()
    units = result.units
    explicit = units[["tp_otepol", "fp_otepol", "fn_otepol"]].sum()
    assert counts["tp"] == explicit["tp_otepol"]
    aspects = names["aspects"][["tp", "fp", "fn"]].sum()
    by_ref = units[["tp_refpol", "fp_refpol", "fn_refpol"]].sum()
    assert aspects.tolist() == by_ref.tolist()
    by_stage = names["f1"].groupby("stage")["F1"].mean()
    assert by_stage["after review"] == pytest.approx(result.value("tuple_f1_s2_refpol"), abs=1e-12)


@pytest.mark.parametrize(
    "rows, golds",
    [
        ([output("a", final=[RIGHT])], []),
        ([output("a", stage1=[WRONG], final=[RIGHT])], [gold("a", RIGHT)]),
        ([output("a", final=[])], [gold("a", RIGHT)]),
        ([output(f"s{i}", final=[FOREIGN]) for i in range(12)], [gold("s0", RIGHT)]),
        (
            [output(f"s{i}", final=[FOREIGN]) for i in range(12)],
            [gold(f"s{i}", RIGHT) for i in range(12)],
        ),
        ([output("a", final=[tup("", "향")])], [gold("a", tup("본품#품질", ""))]),
    ],
    ids=["no gold", "one sample", "nothing predicted", "foreign refs", "refs blocked", "no ref"],
)
def test_cells_work_on_any_run(rows: list[Any], golds: list[Any], tmp_path: Path) -> None:
    folder = run(tmp_path / "r", rows, golds) if golds else run(tmp_path / "r", rows)
    names = run_cells("cr_run.ipynb", run=str(folder), **QUICK)
    assert len(names["units"]) == len(rows)


def test_a_wrong_aspect_counts_where_it_was_predicted(tmp_path: Path) -> None:
    rows = [output("a", final=[RIGHT, FOREIGN]), output("b", final=[FOREIGN])]
    folder = run(tmp_path / "r", rows, [gold("a", RIGHT), gold("b", RIGHT)])
    aspects = run_cells("cr_run.ipynb", run=str(folder), **QUICK)["aspects"]
    counts = aspects[["samples", "tp", "fp", "fn"]].T.to_dict("list")
    assert counts == {"본품#품질": [2, 1, 0, 1], "x#y": [0, 0, 2, 0]}


def test_a_run_without_gold_has_no_tables_of_what_needs_it(tmp_path: Path) -> None:
    folder = run(tmp_path / "r", [output("a", stage1=[WRONG], final=[RIGHT])])
    names = run_cells("cr_run.ipynb", run=str(folder), **QUICK)
    assert not names["outcomes"].size and names["judged"].empty


def test_a_query_in_the_parameters_is_followed_by_all_cells() -> None:
    names = run_cells("cr_run.ipynb", query="split == 'dev'", **QUICK)
    assert len(names["units"]) == names["result"].n_units == 20
    assert names["outcomes"].sum(axis=1).eq(20).all()


def test_cells_of_seeds_work_on_one_condition_and_on_several() -> None:
    runs = [f"example:cr/with_memory__seed{s}_proposed" for s in (1, 2)]
    names = run_cells("cr_seeds.ipynb", runs=runs, **QUICK)
    assert names["changes"].empty and len(names["values"])
    names = run_cells("cr_seeds.ipynb", **QUICK)
    changes = names["changes"]
    study = names["study"]
    assert isinstance(changes, pd.DataFrame)
    assert changes["influence"].sum() == pytest.approx(study[study.primary]["delta"], abs=0.02)
