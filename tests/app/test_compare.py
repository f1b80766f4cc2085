"""The text of `evaltools compare`: verdict first, then a line a metric, notes and signature."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

import pytest
from pydantic import BaseModel

import evaltools as et
from evaltools.app.commands.compare import MDE, comparison_text
from evaltools.app.text import WIDTH, wrapped
from evaltools.core.check import check_lines
from evaltools.report.study_sentences import outcomes, settling
from tests.app.calling import call, renamed

FAST = et.Resampling(n_resamples=200)
COMPARED = {
    "seeds": ("example:cr/no_memory", "example:cr/with_memory"),
    "systems": ("example:memfin/memory_agent", "example:memfin/plain_llm"),
    "one run twice": ("example:memfin/plain_llm", "example:memfin/plain_llm"),
}


@pytest.fixture(scope="module", params=COMPARED)
def study(request: pytest.FixtureRequest) -> et.Study:
    return et.compare(*COMPARED[request.param], resampling=FAST)


@pytest.mark.parametrize("everything", [False, True])
def test_verdict_first_then_a_line_with_title_and_id(study: et.Study, everything: bool) -> None:
    text = comparison_text(study, everything=everything)
    lines = text.splitlines()
    above = " ".join(text.partition("\nA (baseline)  ")[0].split())
    doubts = check_lines(study.doubts) if study.doubts else []
    sentences = [*outcomes(study), *settling(study), *doubts]
    assert above == " ".join(sentences)
    (found,) = study.comparisons.values()
    rows = found.table if everything else found.table[found.table["headline"]]
    for name, title in zip(rows["metric"], rows["title"]):
        assert sum(line.split()[-1:] == [name] for line in lines) == 1, name
        assert any(line.startswith(title[:30]) for line in lines)
    assert text.endswith(study.signature)
    assert (MDE[:60] in text) == rows["mde"].notna().any()
    for wrong in ("no difference", "no verdict", "no variation", "nan"):
        assert wrong not in text


def test_page_terminal_and_paper_say_one_verdict(study: et.Study) -> None:
    (sentence,) = outcomes(study)
    terminal = " ".join(comparison_text(study, everything=False).split())
    page = " ".join(study.page().text.split())
    assert sentence in terminal and sentence in page
    assert sentence in study.paragraph()


def test_identical_sides_are_called_so_and_have_no_p() -> None:
    text = comparison_text(
        et.compare(*COMPARED["one run twice"], resampling=FAST), everything=False
    )
    assert text.startswith("plain_llm (B) and plain_llm (A) are identical")
    assert " 1.000 " not in text


def test_exploratory_stands_beside_a_verdict_outside_the_family() -> None:
    base = et.evaluate("cr", "example:cr/no_memory__seed1_proposed", resampling=FAST)
    better = base.data.assign(f1_s2_attrpol=1.0, f1_s2_refpol=1.0)
    study = et.compare(base, renamed(base, "better", data=better))
    text = comparison_text(study, everything=True)
    said = {line.split()[-1]: line for line in text.splitlines() if line.strip()}
    assert "better (exploratory)" in said["tuple_f1_s2_attrpol"]
    for family in ("tuple_f1_s2_refpol", "tuple_f1_s2"):  # the metric and its alias
        assert " better " in said[family] and "exploratory" not in said[family]
    assert "exploratory)" not in comparison_text(study, everything=False)


def test_runs_that_share_no_sample_are_a_usage_error(tmp_path: Path) -> None:
    with chdir(tmp_path):
        for name in ("one", "other"):
            lines = (
                f'{{"id": "{name}{i}", "answer": "보장됩니다", "contexts": ["90일"]}}\n'
                for i in range(12)
            )
            Path(f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
        done = call(
            "compare", "one.jsonl", "other.jsonl", "--suite", "summary", "--csv", "c.csv", status=2
        )
        assert "one (12 units) and other (12 units) share no" in done.stderr
        assert not Path("c.csv").exists()


def test_a_line_has_the_numbers_of_its_metric(tmp_path: Path) -> None:
    class Record(BaseModel):
        id: str
        x: float

    whole, cut = "T" * 36, "U" * 37
    metrics = [
        et.Metric(
            name="big", numerator="100*x", denominator="n", group="g", better="higher", title=whole
        ),
        et.Metric(
            name="small", numerator="x", denominator="n", group="g", better="higher", title=cut
        ),
        et.Metric(
            name="none",
            numerator="x",
            denominator="0*n",
            group="g",
            better="higher",
            title="Nothing",
        ),
    ]
    suite = et.jsonl_suite(
        "own", title="Own", record=Record, unit="id", columns=lambda r: {"n": 1, "x": r.x}, headline=("big",),
        metrics=metrics,
    )  # fmt: skip
    for name, more in (("a", 0.25), ("b", 0.75)):
        lines = "".join(f'{{"id": "{i}", "x": {1 + more + i % 2}}}\n' for i in range(12))
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    a, b = (
        et.evaluate(suite, tmp_path / f"{name}.jsonl", name=name, resampling=FAST) for name in "ab"
    )
    lines = {
        ln.split()[-1]: ln
        for ln in comparison_text(et.compare(a, b), everything=True).splitlines()
        if ln
    }
    # x is 1.25 and 2.25 in turn, then 1.75 and 2.75
    assert lines["big"].split()[:4] == [whole, "175.000", "225.000", "+50.000"]
    assert lines["small"].split()[:4] == [cut, "1.750", "2.250", "+0.500"]
    assert (
        lines["none"].split()[:4] == ["Nothing", "N/A", "N/A", "N/A"] and "[" not in lines["none"]
    )


def test_no_line_ends_within_the_name_of_an_option() -> None:
    text = f"{'x' * (WIDTH - 10)} --on-error skip"
    assert wrapped(text).splitlines() == ["x" * (WIDTH - 10), "  --on-error skip"]
