"""The notebook of MemFin: its cells work on every kind of trace, and say what the estimates say."""

from pathlib import Path

from tests.notebooks.cells import run_cells
from tests.suites.memfin.memfin_traces import dialog, write

QUICK = {"n_resamples": 200}


def test_tables_of_cells_are_the_estimates() -> None:
    names = run_cells("memfin.ipynb", **QUICK)
    for run in names["study"].results:
        labels = names["labels"].loc[run.name]
        right = sum(labels.loc[label, label] for label in labels.index if label in labels.columns)
        assert right == run["m4_compliance_label_acc"]["numerator"]
        missed = names["missed"]
        risks = missed[(missed["system"] == run.name) & missed["what"].str.startswith("M3")]
        coverage = run["m3_risk_coverage"]
        assert len(risks) == coverage["denominator"]
        assert (1 - risks["missed"]).sum() == coverage["numerator"]


def test_cells_work_on_one_system_and_on_a_dialogue_without_turns(tmp_path: Path) -> None:
    names = run_cells("memfin.ipynb", runs=["example:memfin/plain_llm"], **QUICK)
    assert [run.name for run in names["study"].results] == ["plain_llm"]
    empty = write(tmp_path, dialog("d", []))
    run_cells("memfin.ipynb", runs=[str(empty)], **QUICK)
