"""The notebook of MemFin: its cells work on every kind of trace, and say what the estimates say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.notebooks.cells import run_cells
from tests.suites.memfin.memfin_traces import dialog, turn, write

QUICK = {"n_resamples": 200}


def test_tables_of_cells_are_the_estimates() -> None:
    names = run_cells("memfin.ipynb", **QUICK)
    for run in names["study"].results:
        coverage = run["m1_key_coverage"]
        nowhere = names["found_in"].loc[run.name, "nowhere"]
        assert nowhere == coverage["denominator"] - coverage["numerator"]
        for table, metric in (("tags", "m3_risk_coverage"), ("elements", "m5_rubric_hit_rate")):
            counts = names[table].xs(run.name, level="system").sum()
            assert counts["required"] == run[metric]["denominator"]
            assert counts["required"] - counts["missed"] == run[metric]["numerator"]
        labels = names["labels"].loc[run.name]
        right = sum(labels.loc[label, label] for label in labels.index if label in labels.columns)
        assert right == run["m4_compliance_label_acc"]["numerator"]
        fields = names["fields"]
        of_run = fields[fields["system"] == run.name]
        mean = of_run.groupby("dialog_id")["score"].mean().mean()
        assert mean == pytest.approx(run.value("m2_profile_score"))


def test_cells_work_on_one_system_and_on_a_dialogue_without_turns(tmp_path: Path) -> None:
    names = run_cells("memfin.ipynb", runs=["example:memfin/plain_llm"], **QUICK)
    assert names["systems"] == ["plain_llm"]
    empty = write(tmp_path, dialog("d", []))
    run_cells("memfin.ipynb", runs=[str(empty)], **QUICK)


def test_keys_that_resolve_to_nothing_are_listed(tmp_path: Path) -> None:
    first = ["profile_gt.risk_level_gt", "nonsense", "profile_gt.constraints_gt[0]"]
    second = ["history_turn_index:1", "profile_gt.constraints_gt[9]"]
    turns = [
        turn(1, keys=first, profile="偏稳健", risk=["b", "a"]),
        turn(2, keys=second, risk=["c", "b"]),
    ]
    names = run_cells("memfin.ipynb", runs=[str(write(tmp_path, dialog("d", turns)))], **QUICK)
    unresolved = names["unresolved"][["turn_pair_id", "key", "resolver"]]
    assert unresolved.to_numpy().tolist() == [
        [1, "nonsense", "not_a_key"],
        [2, "profile_gt.constraints_gt[9]", "no_target"],
    ]
    tags = names["tags"].droplevel("system")
    assert tags.loc["b"].tolist() == [2, 2] and tags.loc["a"].tolist() == [1, 1]
