"""The first screen: its title is the finding, tables with strips, and what must not be said."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from pydantic import BaseModel

import evaltools as et
from evaltools.core.check import Check
from evaltools.core.language import speaking
from evaltools.core.metric import Difference, Metric
from evaltools.report import study_sentences
from evaltools.report.first_screen import primary_differences
from evaltools.report.strip import Scale, by_scale
from evaltools.report.study_sentences import switched

FAST = et.Resampling(n_resamples=200)
RUN = "example:cr/with_memory__seed1_proposed"


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def heading(html: str) -> str:
    """The title of a page, as a reader sees it."""
    match = re.search(r"<h1[^>]*>(.*?)</h1>", html, flags=re.DOTALL)
    assert match
    return words(match[1])


@pytest.fixture(scope="module")
def run() -> et.Run:
    return et.evaluate("cr", RUN, resampling=FAST)


@pytest.fixture(scope="module")
def study() -> et.Study:
    return et.compare("example:cr/no_memory", "example:cr/with_memory", resampling=FAST)


def long_table(folder: Path, values: dict[str, list[float]], name: str = "scores") -> Path:
    """A table of scores: condition -> the value of each of its samples."""
    rows = []
    for condition, numbers in values.items():
        for i, value in enumerate(numbers):
            rows.append({"id": f"s{i}", "condition": condition, "metric": "score", "value": value})
    path = folder / f"{name}.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def test_the_title_of_a_run_is_its_primary_metric_with_its_value(run: et.Run) -> None:
    html = run.page().html
    assert heading(html).startswith("Tuple F1 after review (ref-pol) 0.878")
    assert "95% interval [0.76, 0.94], n = 40" in heading(html)
    assert html.index("<h1") < html.index("et-trust") < html.index("et-look") < html.index("<table")


def test_the_title_of_a_study_is_its_verdict_and_stands_once(study: et.Study) -> None:
    html = study.page().html
    (sentence,) = study_sentences.outcomes(study)
    title = heading(html)
    assert title.startswith("with_memory is not shown to differ from no_memory")
    assert words(sentence).replace(": ", " ") == title.replace(" : ", " ").replace(": ", " ")
    assert words(html).count("is not shown to differ from") == 1
    assert sentence in study.paragraph() and sentence in repr(study)


def test_undecided_metrics_are_grey_below_the_others(study: et.Study) -> None:
    html = study.table().html
    rows = re.findall(r"<tr([^>]*)>(.*?)</tr>", html, flags=re.DOTALL)
    kinds = [
        ("et-dim" in attributes, words(content).rpartition("  ")[2]) for attributes, content in rows
    ]
    verdicts = study.frame.set_index("metric")["verdict"]
    dim = [content for is_dim, content in kinds if is_dim]
    assert len(dim) == int(
        (study.frame.query("headline")["verdict"].isin(["too few", "not measured"])).sum()
    )
    assert verdicts["fix_rate_refpol"] == "better"
    better = next(content for _, content in rows if "Fix rate (ref-pol)" in content)
    assert "et-tag et-good" in better
    assert all("too few" in content for content in dim)


def test_n_is_that_of_every_seed(study: et.Study) -> None:
    # one of the six runs has 34 of the 40 samples
    assert "n = 34–40 (text_id)" in words(study.page().html)


def test_one_candidate_of_several_leads_no_page(tmp_path: Path) -> None:
    values = {"a": [0.1, 0.2] * 20, "b": [0.1, 0.2] * 20, "c": [0.8, 0.95] * 20}
    study = et.study([long_table(tmp_path, values)], suite="table", resampling=FAST)
    title = heading(study.page().html)
    assert title == "1 of 2 conditions better than a_scores on “score”, 0 worse"
    assert {"b_scores", "c_scores"} <= set(words(study.page().html).split())
    same = {"a": [0.1, 0.2] * 20, "b": [0.2, 0.1] * 20, "c": [0.1, 0.2] * 20}
    study = et.study([long_table(tmp_path, same, "same")], suite="table", resampling=FAST)
    assert heading(study.page().html).startswith("0 of 2 conditions better than a_same")


def test_a_blocked_primary_metric_is_announced_and_named_in_the_signature(run: et.Run) -> None:
    assert switched(run) == [] and "primary:" not in run.signature
    check = Check("made-up", "blocking", "nothing to see", blocks=("tuple_f1_s2_refpol",))
    blocked = replace(run, checks=(check,))
    html = blocked.page().html
    assert "“Tuple F1 after review (ref-pol)” cannot be measured here" in words(html)
    assert f"primary:{blocked.primary}" in blocked.signature.split("|")
    assert '<details class="et-trust" open>' in html and "<s>0.878</s>" in html


def test_a_declared_primary_metric_is_named_in_the_signature() -> None:
    study = et.compare(
        "example:cr/no_memory", "example:cr/with_memory", primary="fix_rate_refpol", resampling=FAST
    )
    assert "primary:fix_rate_refpol" in study.signature.split("|")
    assert "“Fix rate (ref-pol)”" in heading(study.page().html)


def test_metrics_of_one_kind_share_an_axis_and_others_have_their_own() -> None:
    metrics = [
        Metric(name="rate", numerator="a", denominator="n", better="higher", proportion=True),
        Metric(name="f1", numerator="b", denominator="n", better="higher", bounds=(0, 1)),
        Metric(name="chars", numerator="c", denominator="n", better="none"),
        Difference(name="gain", minuend="f1", subtrahend="rate", better="higher"),
    ]
    rows = [
        {"metric": "rate", "value": 0.5, "ci_low": 0.3, "ci_high": 0.7},
        {"metric": "chars", "value": 812.0, "ci_low": 700.0, "ci_high": 930.0},
        {"metric": "gain", "value": 0.05, "ci_low": -0.11, "ci_high": 0.16},
        {"metric": "f1", "value": 0.9, "ci_low": 0.8, "ci_high": 0.95},
    ]
    groups = {tuple(r["metric"] for r in g.rows): g.scale for g in by_scale(rows, metrics)}
    assert groups == {
        ("rate", "f1"): Scale(0, 1),
        ("chars",): Scale(0, 1000),
        # as far as 0.16 reaches, with 0 in the middle
        ("gain",): Scale(-0.2, 0.2),
    }
    (differences,) = by_scale([rows[0], rows[3]], metrics, differences=True)
    assert differences.scale == Scale(-1, 1)


@pytest.mark.parametrize("lang", ["ko", "zh"])
def test_no_english_is_left_on_the_first_screen(run: et.Run, study: et.Study, lang: str) -> None:
    with speaking(lang):
        pages = [run.page().html, study.page().html]
    for html in pages:
        text = re.sub(r"<code>.*?</code>", "", html)
        english = re.findall(
            r"\b(?:better|interval|seeds|conditions|metric|value|verdict)\b", words(text)
        )
        assert english == []


def test_one_unit_makes_a_page_without_a_hole(tmp_path: Path) -> None:
    run = et.evaluate("table", long_table(tmp_path, {"": [0.4]}), resampling=FAST)
    html = run.page().html
    assert heading(html).startswith("score 0.400") and "nan" not in html.lower()


def test_a_metric_without_limits_has_a_panel_of_its_own_in_the_forest_figure(
    tmp_path: Path,
) -> None:
    rows = []
    for i in range(12):
        rows.append({"id": f"s{i}", "metric": "win", "value": i % 2})
        rows.append({"id": f"s{i}", "metric": "characters", "value": 700 + 10 * i})
    path = tmp_path / "arena.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    run = et.evaluate("table", path, resampling=FAST)
    both = run.plot.forest("win", "characters")
    assert len(both.axes) == 2
    limits = sorted(ax.get_xlim()[1] for ax in both.axes)
    assert limits[0] < 2 and limits[1] > 700
    assert len(run.plot.forest("win").axes) == 1


def test_a_table_with_a_row_a_condition_says_so_in_its_head() -> None:
    runs = []
    for step, name in enumerate(("a", "b", "c"), 1):
        scores = [{"id": i, "metric": "accuracy", "value": (i * step) % 2} for i in range(30)]
        runs.append(et.evaluate("table", scores, name=name))
    table = primary_differences(et.study(runs))
    assert table.html.count("<th>condition</th>") == 1
    assert "<th>metric</th>" not in table.html


def test_a_metric_without_a_title_goes_by_its_name() -> None:
    class Record(BaseModel):
        id: str
        right: bool

    suite = et.jsonl_suite(
        "answers",
        title="Answers",
        record=Record,
        unit="id",
        columns=lambda record: {"n": 1, "right": record.right},
        metrics=[et.Metric(name="accuracy", numerator="right", denominator="n", better="higher")],
        headline=("accuracy",),
    )
    runs = []
    for name, n_right in (("a", 10), ("b", 20), ("c", 30)):
        records = [{"id": str(i), "right": i < n_right} for i in range(40)]
        runs.append(et.evaluate(suite, records, name=name, n_resamples=200))
    study = et.study(runs)
    assert "on “accuracy”" in study.page().text
    assert "“”" not in study.page().text
    assert "on “accuracy”" in study.table("ranks").text


def test_nothing_is_said_of_intervals_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("id,metric,value\na,acc,\nb,acc,\n", encoding="utf-8")
    html = et.evaluate("table", path, resampling=FAST)._repr_html_()
    assert "can be measured" in heading(html)
    assert "intervals speak" not in html and "Hollow" not in html


def test_hollow_marks_are_explained_where_there_are_some(tmp_path: Path) -> None:
    many = long_table(tmp_path, {"a": [0.0, 1.0] * 6}, "many")
    few = long_table(tmp_path, {"a": [0.0, 1.0] * 3}, "few")
    assert "Hollow" not in et.evaluate("table", many, resampling=FAST)._repr_html_()
    assert "Hollow: fewer than 10 units" in et.evaluate("table", few, resampling=FAST)._repr_html_()


def test_one_unit_is_one_unit(tmp_path: Path) -> None:
    one = et.evaluate("table", long_table(tmp_path, {"a": [1.0]}), resampling=FAST)._repr_html_()
    assert "1 intervals" not in one
    pair = et.study(
        [long_table(tmp_path, {"a": [1.0], "b": [0.0]}, "pair")], suite="table", resampling=FAST
    )
    assert "too few: 1 pairs, 1 differ<" in pair._repr_html_()


def test_long_names_leave_the_verdict_in_sight(tmp_path: Path) -> None:
    baseline, candidate = "a" * 150 + "_old", "a" * 150 + "_new"
    values = {baseline: [0.0, 1.0] * 10, candidate: [1.0, 0.0] * 10}
    study = et.study([long_table(tmp_path, values, "t")], suite="table", resampling=FAST)
    title = heading(study._repr_html_())
    assert "is not shown to differ from" in title
    # names that differ at their ends are told apart
    assert "_new_t" in title and "_old_t" in title and len(title) < 300
