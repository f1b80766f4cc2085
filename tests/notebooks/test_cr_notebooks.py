"""The notebooks of Conflict Review: their cells work on every kind of run, and say what the estimates say."""

from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import evaltools as et
from evaltools.core.files import asset_dir
from evaltools.report.notebook import parameters_of
from evaltools.report.tables import ASSIGNED
from tests.files import read_json
from tests.notebooks.cells import run_cells
from tests.suites.cr.cards import gold, output, run, tup

RIGHT, WRONG = tup("본품#품질", "향"), tup("본품#품질", "향", "negative")
FOREIGN = tup("x#y", "향")
QUICK = {"n_resamples": 200}


def test_tables_of_cells_are_the_estimates() -> None:
    names = run_cells("cr_run.ipynb", **QUICK)
    result, outcomes = names["result"], names["outcomes"]["outcome_refpol"].value_counts()
    fixed, broken = result["fix_rate_refpol"], result["break_rate_refpol"]
    assert (outcomes["fix"], outcomes["fix"] + outcomes["still"]) == (
        fixed["numerator"],
        fixed["denominator"],
    )
    assert outcomes["break"] == broken["numerator"]
    pairs = names["pairs"]
    mean = (pairs["after review"] * pairs["samples"]).sum() / pairs["samples"].sum()
    assert mean == pytest.approx(result.value("tuple_f1_s2_refpol"), abs=1e-3)
    terms = names["terms"]
    assert (len(terms), (terms["gold"] == terms["after review"]).sum()) == (64, 61)
    for group, metric in [
        ("degraded", "changed_and_degraded_rate"),
        ("dropped-out-of-text", "hallucination_out_of_text_rate"),
    ]:
        assert len(result.samples(group).frame) == result[metric]["numerator"]


@pytest.mark.parametrize(
    "rows, golds",
    [
        ([output("a", final=[RIGHT])], []),
        ([output("a", stage1=[WRONG], final=[RIGHT])], [gold("a", RIGHT)]),
        ([output("a", final=[])], [gold("a", RIGHT)]),
        (
            [output(f"s{i}", final=[FOREIGN]) for i in range(12)],
            [gold(f"s{i}", RIGHT) for i in range(12)],
        ),
        ([output("a", final=[tup("", "향")])], [gold("a", tup("본품#품질", ""))]),
    ],
    ids=["no gold", "one sample", "nothing predicted", "refs blocked", "no ref"],
)
def test_cells_work_on_any_run(rows: list[Any], golds: list[Any], tmp_path: Path) -> None:
    folder = run(tmp_path / "r", rows, golds) if golds else run(tmp_path / "r", rows)
    names = run_cells("cr_run.ipynb", run=str(folder), **QUICK)
    assert len(names["units"]) == len(rows)


def test_a_wrong_aspect_counts_where_it_was_predicted(tmp_path: Path) -> None:
    rows = [output("a", final=[RIGHT, FOREIGN]), output("b", final=[FOREIGN])]
    folder = run(tmp_path / "r", rows, [gold("a", RIGHT), gold("b", RIGHT)])
    aspects = run_cells("cr_run.ipynb", run=str(folder), **QUICK)["aspects"]
    counts = aspects.set_index("aspect")[["samples", "tp", "fp", "fn"]].T.to_dict("list")
    assert counts == {"본품#품질": [2, 1, 0, 1], "x#y": [0, 0, 2, 0]}


def test_a_query_is_followed_by_all_cells_and_by_what_is_written(tmp_path: Path) -> None:
    names = run_cells("cr_run.ipynb", query="split == 'dev'", out=str(tmp_path), **QUICK)
    assert len(names["units"]) == names["result"].n_units == len(names["outcomes"]) < 60
    folder = tmp_path / "results" / "with_memory__seed1_proposed"
    stored = et.load(folder)
    assert not (folder / "scorecards.jsonl").exists()  # they would be of all samples
    assert stored.frame.equals(names["result"].frame) and stored.query == "split == 'dev'"


def test_cells_of_seeds_work_on_one_condition_and_on_several() -> None:
    runs = [f"example:cr/with_memory__seed{s}_proposed" for s in (1, 2)]
    names = run_cells("cr_seeds.ipynb", runs=runs, **QUICK)
    assert len(names["values"]) and not names["study"].candidates
    names = run_cells("cr_seeds.ipynb", **QUICK)
    assert len(names["outcomes"]) == len(names["units"].dropna(subset="outcome_refpol"))


def test_a_notebook_looks_the_second_time_as_it_did_at_first() -> None:
    """Tables keep their styles where all cells run twice in one kernel."""
    shell = InteractiveShell.instance()
    outputs = []
    for _ in range(2):
        shell.run_cell("import evaltools as et\nimport pandas as pd\nfirst = et.notebook('en')")
        setup = shell.run_cell("first").result._repr_html_()
        shown = shell.run_cell("pd.DataFrame({'value': [0.5]})").result
        outputs.append((setup, shell.display_formatter.format(shown)[0]["text/html"]))
    InteractiveShell.clear_instance()
    assert outputs[0] == outputs[1] and ".et-table" in outputs[0][0]


def test_papermill_lists_every_parameter() -> None:
    for path in sorted(asset_dir("notebooks").glob("*.ipynb")):
        (cell,) = (
            c for c in read_json(path)["cells"] if "parameters" in c["metadata"].get("tags", [])
        )
        assert parameters_of(path) == ASSIGNED.findall("".join(cell["source"]))
