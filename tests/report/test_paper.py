"""What a paper takes: its table, its paragraph and its figures."""

import re

import pandas as pd
import pytest
from matplotlib.text import Text

import evaltools as et
from evaltools.report import paper
from evaltools.report.figures import export
from evaltools.report.text import latex, latex_table, markdown, number
from tests.files import read_lines

FAST = et.Resampling(n_resamples=100)


@pytest.fixture(scope="module")
def study() -> et.Study:
    return et.compare("example:cr/no_memory", "example:cr/with_memory", resampling=FAST)


def test_means_are_those_of_the_pairs_and_give_the_difference(study: et.Study) -> None:
    table = paper.table(study)
    row, shown = study["tuple_f1_s2_refpol"], table.iloc[0]
    assert shown["no_memory"] == number(row["value_baseline"])
    assert shown["with_memory"] == number(row["value_candidate"])
    assert abs(float(shown["with_memory"]) - float(shown["no_memory"]) - row["delta"]) < 0.0015
    assert len(table.columns) <= 7


def test_latex_and_markdown_hold_the_same_numbers(study: et.Study) -> None:
    named = latex_table(pd.DataFrame({"a": [1]}), caption="", label="tab:실험_1")
    assert r"\label{tab:실험-1}" in named, "names in Hangul stay apart"
    tex, md = study.to_latex(), paper.markdown(study)
    for name in ("tuple_f1_s2_refpol", "fix_rate_refpol"):
        value = study[name]["delta"]
        assert number(value, signed=True) in md
        assert number(value, signed=True).replace("−", "$-$") in tex
    assert "(seeds 1, 2, 3); n = 60 (text_id)" in md and "nan" not in md
    assert "no_memory (seed 1);" in et.study(study.results[:1]).paragraph()


def test_methods_name_what_was_used_and_nothing_else() -> None:
    rows = [{"id": f"u{i}", "metric": "right", "value": i % 2} for i in range(40)]
    text = et.study(rows, suite="table").paragraph()
    assert "sign-flip" not in text and "BCa" not in text and "seed" not in text.split(".")[0]
    assert "trials" not in text
    more = [{"trial": t, "condition": name} for t in (1, 2) for name in "ab"]
    rows = [{**row, "cluster": row["id"], **of} for row in rows for of in more]
    clustered = et.study(rows, suite="table", resampling=FAST)
    assert "permutation tests over clusters (mid-p" in clustered.paragraph()
    assert "mid-p" not in et.compare([0.1, 0.2] * 6, [0.2, 0.4] * 6).paragraph()
    assert "trials averaged within a sample" in clustered.paragraph()
    assert "Bold" not in paper.note(clustered)


def test_a_row_without_verdict_says_that_it_is_not_measured() -> None:
    """The candidate lacks what was wrong before."""
    values = pd.Series(range(40)).gt(19).astype(int)
    row = paper.table(et.compare(values, values[18:])).iloc[0]
    assert (row["95% interval"], row["p"]) == ("not measured", "")
    folder = et.example("cr/no_memory__seed1_proposed")
    outputs = read_lines(folder / "outputs.jsonl")[:12]
    for output in outputs:
        output |= {"flags": {"parse_failed": True}, "final_result": {"label": "neutral"}}
    unread = et.study(
        et.evaluate("cr", outputs, gold=folder / "gold.jsonl", name=name) for name in "ab"
    )
    assert unread.primary == "" and list(paper.files(unread)) == ["paper.tex", "paper.md"]


@pytest.mark.parametrize("text", ["a & b_c % $ # {x} ~ ^ \\ <b>", "[0, 1]", "*x*"])
def test_hostile_text_is_shown_as_it_is(text: str) -> None:
    assert not re.search(r"(?<!\\)[&%#_]", latex(text))
    assert "<b>" not in markdown(text) and "*x*" not in markdown(text).replace("\\*", "")


def test_figures_are_one_column_wide_without_a_title_and_hold_text(study: et.Study) -> None:
    axis = study.plot.forest().axes[0].get_xlabel()
    assert axis.split() == ["with_memory", "−", "no_memory,", "95%", "interval"]
    for figure in (study.plot.forest(), study.plot.paired()):
        assert round(72 * figure.get_figwidth()) == 219
        assert not figure.get_suptitle() and not figure.axes[0].get_title()
        assert any(t.get_text() for t in figure.findobj(Text))
        svg = export(figure, "svg")
        assert b"<text" in svg and svg == export(figure, "svg")
        assert export(figure, "pdf").startswith(b"%PDF")


def test_a_paired_figure_counts_what_changed() -> None:
    figure = et.compare([0, 1] * 5, [1] * 10).plot.paired()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["improved: 5 (50%)", "same: 5 (50%)", "worsened: 0 (0%)"]
