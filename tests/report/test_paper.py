"""What a paper takes from a study: words that follow from the data, LaTeX that compiles, figures with their text."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure
from pydantic import BaseModel

import evaltools as et
from evaltools.report import figures, paper
from evaltools.report import markdown as plain
from evaltools.report.figures import export, png
from evaltools.report.page import render
from evaltools.report.study import Study
from tests.report.synthetic import estimates

SEEDS = [
    f"example:cr/{c}__seed{k}_proposed" for c in ("no_memory", "with_memory") for k in (1, 2, 3)
]


class Record(BaseModel):
    id: str
    right: float | None
    wrong: int


SUITE = et.jsonl_suite(
    "marks",
    title="Marks",
    record=Record,
    unit="id",
    columns=lambda r: {"n": 1, "right": r.right or 0, "asked": int(r.right is not None), "wrong": r.wrong},
    headline=("accuracy", "errors"),
    metrics=[
        et.Metric(name="accuracy", title="Accuracy", numerator="right", denominator="asked", group="M",
                  better="higher", bounds=(0, 1)),
        et.Metric(name="errors", title="Error_rate & more", numerator="wrong", denominator="n", group="M",
                  better="lower", proportion=True),
    ],
)  # fmt: skip


def runs_of(
    folder: Path,
    sides: Mapping[str, tuple[list[Any], list[int]]],
    resampling: et.Resampling | None = None,
) -> Study:
    """The study of systems with one run each: name -> (values of accuracy, errors) a unit."""
    paths = []
    for name, columns in sides.items():
        path = folder / f"{name}.jsonl"
        rows = [
            {"id": f"u{i}", "right": right, "wrong": wrong}
            for i, (right, wrong) in enumerate(zip(*columns))
        ]
        path.write_text(pd.DataFrame(rows).to_json(orient="records", lines=True, force_ascii=False))
        paths.append(path)
    return et.study(paths, suite=SUITE, resampling=resampling)


@pytest.fixture(scope="module")
def seeded() -> Study:
    return et.study(SEEDS)


@pytest.fixture(scope="module")
def clear(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A candidate that is better on one metric and worse on the other, both shown."""
    up = [0.1 * (i % 3) + 0.05 * (i % 2) for i in range(40)]
    sides = {
        "old": (up, [0] * 40),
        "new_한국": ([u + 0.4 + 0.01 * (i % 5) for i, u in enumerate(up)], [1, 1, 0, 1] * 10),
    }
    return runs_of(tmp_path_factory.mktemp("clear"), sides, et.Resampling(method="bca"))


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """One run of four units, of which a metric is measured in none."""
    return runs_of(tmp_path_factory.mktemp("bare"), {"only": ([None] * 4, [0, 1, 0, 0])})


def test_bold_is_for_better(clear: Study) -> None:
    verdicts = clear.frame.set_index("metric")["verdict"]
    assert verdicts.to_dict() == {"accuracy": "better", "errors": "worse"}
    rows = paper.table(clear)
    assert rows["Metric"].tolist() == ["Accuracy\xa0↑", "", "Error_rate & more\xa0↓", ""]
    assert [isinstance(v, plain.Strong) for v in rows["Value"]] == [False, True, False, False]
    assert [bool(p) for p in rows["p"]] == [False, True, False, True]
    assert rows["n"].tolist() == ["40"] * 4 and "Seeds" not in rows
    note = paper.note(clear)
    assert "Bold: better than old." in note and clear.signature in note


def test_a_metric_outside_the_family_is_said_to_be_exploratory() -> None:
    study = et.study(["example:memfin/memory_agent", "example:memfin/plain_llm"])
    rows = paper.table(study)
    titles = rows["Metric"].replace("", None).ffill().str.partition("\xa0")[0]
    p_of = dict(zip(titles[rows["p"] != ""], rows["p"][rows["p"] != ""]))
    headline = {study.title(name) for name in study.headline}
    assert p_of.keys() & headline and p_of.keys() - headline
    for title, p in p_of.items():
        assert ("exploratory" in p) == (title not in headline), title


def test_what_is_not_there_has_no_column_and_is_not_spoken_of(bare: Study, seeded: Study) -> None:
    alone = paper.table(bare)
    assert {"Difference", "Its 95% interval", "p", "Seeds"}.isdisjoint(alone)
    assert "Bold" not in paper.note(bare)
    assert set(paper.table(seeded)["Seeds"]) == {"3"}


def test_methods_name_what_was_done_and_nothing_else(
    seeded: Study, clear: Study, bare: Study
) -> None:
    words = paper.methods(seeded)
    assert (
        "We scored no_memory (seeds 1, 2, 3; n = 40, 40, 40), with_memory (seeds 1, 2, 3; n = 40, 40, 34) "
        "on 40 samples (text_id)." in words
    )
    assert (
        "Paired by sample and seed" in words and "variance components of seeds and samples" in words
    )
    assert (
        "(mid-p)" in words
        and "Bartlett's test" in words
        and "paired sign-flip" in words
        and "p of the other headline metrics (9) adjusted by Westfall and Young's" in words
    )
    assert "resamples" not in words
    words = paper.methods(clear)
    assert "old (n = 40), new_한국 (n = 40) on 40 samples (id)." in words
    assert (
        "BCa) bootstrap" in words
        and "10,000 resamples" in words
        and "“Accuracy” is tested alone, p of the other headline metrics (1)" in words
    )
    assert "variance components of seeds and samples" not in words and "Bartlett" not in words
    words = paper.methods(bare)
    assert "mid-p Clopper-Pearson intervals" in words
    assert words.startswith("We scored only (n = 4) on 4 samples (id).")
    for absent in ("p values", "Paired", "Westfall", "seed", "Better or worse"):
        assert absent not in words


def test_n_counts_what_was_measured_not_what_stands_in_the_file() -> None:
    rows = [
        {"id": str(i), "metric": "acc", "value": 1.0 if i < 3 or name == "old" else None, "condition": name}
        for name in ("old", "new")
        for i in range(20)
    ]  # fmt: skip
    study = et.study(pd.DataFrame(rows), suite="table", n_resamples=100)
    assert "old_data (n = 20), new_data (n = 3) on 20 samples" in paper.methods(study)


def test_no_test_is_named_where_too_few_samples_pair() -> None:
    few = et.study(["example:memfin/memory_agent", "example:memfin/plain_llm"])
    assert (few.frame["n_units"] < 10).all()
    words = paper.methods(few)
    assert "Paired by dialog_id" in words
    assert "p values" not in words and "Westfall" not in words


def test_results_are_the_verdicts(clear: Study, bare: Study) -> None:
    said = paper.paragraph(clear).split("\n\n")[1]
    assert said.startswith("new_한국 is better than old on “Accuracy”")
    assert "not measured" not in said and "Westfall" not in said
    assert paper.paragraph(bare).split("\n\n") == [paper.methods(bare), paper.limits(bare)]


def test_checks_stand_beside_the_numbers_they_are_about(clear: Study, bare: Study) -> None:
    assert paper.limits(bare).startswith("To bear in mind: only 4 units")
    assert "To bear in mind" in paper.paragraph(bare)
    assert paper.limits(clear) == "" and "To bear in mind" not in paper.paragraph(clear)


def unescaped(text: str) -> str:
    """What of LaTeX is left without its escapes and the commands that we write."""
    text = re.sub(r"^%.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"\\[&%$#_{}]|\$(\\[A-Za-z]+|-)\$|\\[A-Za-z]+|\\\\", "", text)


@pytest.mark.parametrize("which", ["seeded", "clear", "bare"])
def test_latex_is_escaped_and_every_row_has_its_cells(
    which: str, request: pytest.FixtureRequest
) -> None:
    study = request.getfixturevalue(which)
    text = paper.latex(study)
    left = unescaped(text)
    assert not set("#$%_^~") & set(left), left
    assert left.count("{") == left.count("}")
    columns = len(paper.table(study).columns)
    body = (
        text.split(r"\toprule")[1]
        .split(r"\bottomrule")[0]
        .replace(r"\midrule", "")
        .replace(r"\&", "")
    )
    assert {line.count("&") for line in body.strip().splitlines() if line} == {columns - 1}
    assert ("XeLaTeX" in text) == (which == "clear")


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no LaTeX here")
def test_latex_compiles(seeded: Study, tmp_path: Path) -> None:
    (tmp_path / "paper.tex").write_text(paper.latex(seeded), encoding="utf-8")
    page = r"\documentclass{article}\usepackage[margin=2cm]{geometry}\usepackage{booktabs}\begin{document}\input{paper}"
    (tmp_path / "page.tex").write_text(page + r"\end{document}")
    done = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "page.tex"],
        cwd=tmp_path,
        capture_output=True,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert b"Overfull" not in done.stdout


def test_markdown_has_the_same_numbers(clear: Study) -> None:
    text = paper.markdown(clear)
    bold = paper.table(clear)["Value"][1]
    assert f"| **{bold}** |" in text and "Error_rate &amp; more ↓" in text
    assert paper.methods(clear).split(".")[0] in text.replace("\\", "")


def chart() -> Figure:
    names = ["정확도 (ref-pol)", "Fix rate", "风险覆盖率 $x$ & <b></style>"]
    frame = estimates(4).head(3).assign(value=[0.5, 0.3, 0.2], ci_low=0.1, ci_high=0.6, title=names)
    return figures.forest(frame, title="지표 of a study")


def test_svg_has_its_text_as_text_and_the_glyphs_inside() -> None:
    svg = export(chart(), "svg").decode()
    for text in (
        "정확도 (ref-pol) ↑",
        "Fix rate ↓",
        "风险覆盖率 $x$ &amp; &lt;b&gt;&lt;/style&gt;",
    ):
        assert text in svg
    assert "@font-face" in svg and "font/woff;base64," in svg and "<dc:date>" not in svg
    assert "font-family: 'Evaltools Sans CJK', 'DejaVu Sans', sans-serif" in svg
    latin = export(figures.forest(estimates(4).head(3), title="t"), "svg")
    assert "@font-face" not in latin.decode()


def test_pdf_holds_text_and_says_no_time() -> None:
    pdf = export(chart(), "pdf")
    assert b"EvaltoolsSansCJK" in pdf and b"/Type3" in pdf and b"/ToUnicode" in pdf
    assert b"CreationDate" not in pdf and b"Matplotlib" not in pdf
    latin = export(figures.forest(estimates(4).head(3), title="t"), "pdf")
    assert b"/CIDFontType2" in latin and b"/Type3" not in latin


def test_a_saved_figure_has_the_same_bytes_and_leaves_the_figure_as_it_was() -> None:
    one, other = chart(), chart()
    before = png(one)
    assert export(one, "svg") == export(one, "svg") == export(other, "svg")
    assert export(one, "pdf") == export(other, "pdf") and png(one) == before


def test_figures_of_a_study_are_those_that_have_something_to_draw(
    seeded: Study, clear: Study
) -> None:
    assert set(paper.figures(seeded)) == {"forest", "paired"}
    assert set(paper.figures(clear)) == {"forest", "paired"}
    assert seeded.primary and paper.figures(seeded)["paired"].get_suptitle().startswith(
        "Tuple F1 after review"
    )


def test_the_files_of_a_study(clear: Study) -> None:
    files = paper.files(clear)
    assert {"paper.tex", "paper.md", "figures/forest.svg", "figures/forest.pdf"} <= set(files)


def test_the_page_links_what_stands_beside_it_and_does_not_need_it() -> None:
    from nbformat import v4

    nb = v4.new_notebook(cells=[v4.new_markdown_cell("# a")])
    page = render(
        nb,
        title="t",
        beside={"figures/a b.svg": "A <b>", "figures/a b.pdf": "A <b>", "paper.tex": "Table"},
    )
    assert (
        '<a href="figures/a%20b.svg" download>SVG</a>, <a href="figures/a%20b.pdf" download>PDF</a>'
        in page
    )
    assert (
        page.count("A &lt;b&gt;") == 1
        and 'href="#downloads"' in page
        and 'src="figures' not in page
    )
    assert "ownloads" not in render(nb, title="t")
