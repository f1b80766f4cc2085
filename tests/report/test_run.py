"""What a notebook cell gets: runs and studies that show themselves, their tables, units, samples and figures."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from markupsafe import escape
from matplotlib.figure import Figure

import evaltools as et
from evaltools.core.language import speaking, translations
from evaltools.core.plugins import load_suite_file
from evaltools.report.tables import no_rows
from tests.suites.cr import cards

FAST = et.Resampling(n_resamples=100)
EXAMPLES = {
    "cr": "example:cr/with_memory__seed1_proposed",
    "memfin": "example:memfin/memory_agent",
    "summary": "example:summary/cases.jsonl",
}
SEEDS = [f"example:cr/{c}_memory__seed{s}_proposed" for c in ("no", "with") for s in (1, 2, 3)]


@pytest.fixture(scope="module")
def runs() -> dict[str, et.Run]:
    return {suite: et.evaluate(suite, run, resampling=FAST) for suite, run in EXAMPLES.items()}


@pytest.fixture(scope="module")
def run(runs: dict[str, et.Run]) -> et.Run:
    return runs["cr"]


@pytest.fixture(scope="module")
def other() -> et.Run:
    return et.evaluate("cr", SEEDS[0], resampling=FAST)


@pytest.fixture(scope="module")
def study() -> et.Study:
    return et.study(SEEDS, resampling=FAST)


def test_a_run_shows_its_headline_and_signature(runs: dict[str, et.Run]) -> None:
    for run in runs.values():
        html, text = run._repr_html_(), repr(run)
        for name in run.headline:
            assert name in text or run[name]["title"] in text, name
        assert run[run.headline[0]]["title"] in re.sub(r"<[^>]*>", "", html)
        assert run.signature in html and run.signature in text
        assert not re.search(r"</?(?:div|table|span|td|style|p)\b", text), "text has no HTML in it"


def test_one_estimate_is_a_series_with_its_claim(run: et.Run) -> None:
    row = run["fix_rate_refpol"]
    assert row.name == "fix_rate_refpol" and row["title"] == "Fix rate (ref-pol)"
    assert row["ci_low"] <= row["value"] <= row["ci_high"]
    assert row["claim"] == "new samples, this system"
    assert run.value("fix_rate_refpol") == row["value"]
    with pytest.raises(
        KeyError, match=r"no metric 'fix_rate_refpl' in cr; did you mean .*fix_rate_refpol"
    ):
        run["fix_rate_refpl"]


def test_frame_has_a_row_a_metric(runs: dict[str, et.Run]) -> None:
    for run in runs.values():
        assert list(run.frame["name"]) == [m.name for m in run.metrics]
        assert list(run.frame.columns[:6]) == [
            "name",
            "title",
            "value",
            "ci_low",
            "ci_high",
            "ci_method",
        ]


def test_units_hold_lists_and_no_json(runs: dict[str, et.Run]) -> None:
    units = runs["cr"].units
    for column in ("gold", "stage1", "final"):
        assert all(isinstance(found, list) for found in units[column].dropna())
    first = next(t for found in units["final"] for t in found)
    assert first._fields == ("ref", "term", "polarity")
    action = next(a for found in units["reviews"] for a in found)
    assert {"actor", "action_type"} <= set(action._fields)
    for run in runs.values():
        texts = run.units.select_dtypes(exclude=[np.number, bool])
        for column in texts:
            json_like = [
                v
                for v in texts[column]
                if isinstance(v, str) and re.match(r"^[\[{].*[\]}]$", v, re.DOTALL)
            ]
            assert json_like == [], column
    assert len(units.query("has_gold and n_gold_tuples > 1")) > 0


def test_tables_by_group_by_metric_by_view_and_all(runs: dict[str, et.Run]) -> None:
    for run in runs.values():
        for name in run.tables:
            shown = run.table(name).html
            assert "<table" in shown or shown.endswith(": none</p>"), name
        everything = run.table().html
        assert all(run[m]["title"] in everything for m in run.headline)
    run = runs["cr"]
    assert "Fix rate (ref-pol)" in run.table("fix_rate_refpol", "break_rate_refpol").html
    assert len(run.rows("Correction by review")) > 3
    assert run.rows("fix_rate_refpol")["name"].tolist() == ["fix_rate_refpol"]
    with pytest.raises(et.UsageError, match="no metric 'nosuch'"):
        run.table("nosuch")


def test_a_metric_of_one_s_own(run: et.Run) -> None:
    both = et.Metric(
        name="both", numerator="reviewed", denominator="n", better="none", proportion=True
    )
    row = run.estimate(both)
    assert isinstance(row, pd.Series) and row.name == "both"
    assert row["value"] == pytest.approx(run.units["reviewed"].mean())
    gap = et.Difference(name="gap", minuend="tuple_f1_s2_refpol", subtrahend="both", better="none")
    frame = run.estimate(both, gap)
    assert list(frame["name"]) == ["both", "gap"]
    assert frame["value"].iloc[1] == pytest.approx(run.value("tuple_f1_s2_refpol") - row["value"])
    with pytest.raises(et.UsageError, match="nosuch"):
        run.estimate(et.Metric(name="x", numerator="nosuch", denominator="n", better="none"))


def test_units_that_differ_between_two_runs(run: et.Run, other: et.Run) -> None:
    found = other.diff(run)
    assert list(found.columns[:4]) == ["text_id", "baseline", "candidate", "change"]
    assert (found["change"] != 0).all()
    assert found["change"].abs().is_monotonic_decreasing
    mine, theirs = (r.units.set_index("text_id")["f1_s2_refpol"] for r in (other, run))
    row = found.iloc[0]
    assert row["change"] == pytest.approx(theirs[row["text_id"]] - mine[row["text_id"]])
    assert {"final", "final (other)"} <= set(found.columns)
    assert not {"tp_refpol", "fix_refpol"} & set(found.columns), (
        "what is counted stands in `change`"
    )
    assert run.diff(run).empty
    with pytest.raises(et.UsageError, match="share no text_id: nothing to compare"):
        run.where("text_id == 'review-001'").diff(other.where("text_id != 'review-001'"))
    with pytest.raises(et.UsageError, match="is a run of memfin"):
        run.diff(et.evaluate("memfin", "example:memfin/plain_llm"))
    with pytest.raises(et.UsageError, match="did you mean"):
        run.diff(other, "fix_rate_refpl")


def test_breakdown_by_any_column(runs: dict[str, et.Run]) -> None:
    found = runs["summary"].by("intent", "summary_accuracy")
    assert set(found["part"]) == set(runs["summary"].units["intent"].dropna())
    assert found["n"].sum() == len(runs["summary"].units)
    assert set(runs["memfin"].by("difficulty")["name"]) == set(runs["memfin"].headline)
    with pytest.raises(et.UsageError, match="the units have no column 'nosuch'; there are "):
        runs["cr"].by("nosuch")


def test_samples_by_group_and_by_query(runs: dict[str, et.Run]) -> None:
    run = runs["cr"]
    ids = run.units.query("outcome_refpol == 'still'")["text_id"]
    found = run.samples("outcome_refpol == 'still'")
    assert 0 < len(ids) < 100 and all(i in found.html for i in ids)
    assert "et-sample" in run.samples("broken").html
    for name in runs:
        assert runs[name].samples("").html
    for wrong in ("nosuch > 1", "outcome_refpol ==", "'still'", "n +"):
        with pytest.raises(
            et.UsageError, match=r"is no query on the units .*groups: .*broken.*columns: "
        ):
            run.samples(wrong)


def test_figures_are_listed_and_returned(runs: dict[str, et.Run]) -> None:
    for run in runs.values():
        assert {"forest", "spread"} <= set(dir(run.plot))
        for name in dir(run.plot):
            assert figure_of(getattr(run.plot, name)()), name


def figure_of(chart: object) -> bool:
    return isinstance(chart, Figure)


def test_a_study_shows_its_verdicts_and_notes(study: et.Study) -> None:
    html, text = study._repr_html_(), repr(study)
    assert "with_memory" in text and study.signature in text and study.signature in html
    title = study.frame.set_index("metric")["title"]["tuple_f1_s2_refpol"]
    assert title in re.sub(r"<[^>]*>", "", html) and title in text
    assert "with_memory__seed3_proposed lacks 6" in study.page().text
    assert not re.search(r"</?(?:div|table|span|td|style|p)\b", text)


def test_tables_of_a_study(study: et.Study) -> None:
    for name in ("comparison", "all metrics"):
        assert study.table(name).html, name
    assert "Tuple F1" in study.table().html
    aliases = {m.name for m in study.metrics if m.alias_of}
    assert aliases and set(study.headline) <= set(study.scores["name"])
    with pytest.raises(et.UsageError, match="no table 'nosuch'; there are comparison, "):
        study.table("nosuch")


def test_samples_and_changes_of_a_study(study: et.Study) -> None:
    changes = study.changes("fix_rate_refpol")
    assert list(changes.columns)[-4:] == ["baseline", "candidate", "change", "influence"]
    moved = study.changes("tuple_f1_s2_refpol").query("change != 0")
    shown = study.samples("tuple_f1_s2_refpol").html
    there = set(study.conditions["with_memory"]["1"].units["text_id"])
    assert all(i in shown for i in moved["text_id"] if i in there)
    assert moved["influence"].sum() == pytest.approx(
        study.frame.set_index("metric").at["tuple_f1_s2_refpol", "delta"]
    )
    first = moved.loc[
        moved["influence"].abs().sort_values(ascending=False, kind="stable").index, "text_id"
    ]
    order = [shown.index(i) for i in first if i in there]
    assert order == sorted(order), "the largest influence comes first"
    heads = re.findall(r"<thead><tr>(.*?)</tr></thead>", shown)
    expected = "<th>Aspect · term</th><th>Gold</th><th>no_memory</th><th>with_memory</th>"
    assert set(heads) == {expected}, "gold, baseline and candidate, the seeds of each as one"
    assert ">3/3</bdi>" in shown and ">1/3</bdi>" in shown
    assert study.samples().html == shown
    # every unit that moved rises, and falls with the sides swapped
    assert (moved["change"] > 0).all()
    swapped = et.study(study.results, baseline="with_memory", resampling=FAST)
    for of, group in ((study, "Higher under with_memory"), (swapped, "Lower under no_memory")):
        buttons = re.findall(r'<button[^>]*id="[^"]*"[^>]*>([^<]*) <b>(\d+)</b>', of.samples().html)
        assert buttons == [(group, str(len(moved)))]
    # the colour of a change is that of the metric's better direction
    tags = re.findall(r'<span class="et-tag et-(\w+)">([\d.]+) → ([\d.]+)<', shown)
    assert tags and all((kind == "good") == (a < b) for kind, a, b in tags)
    lower = study.samples("implicit_invalid_pred_rate").html
    tags = re.findall(r'<span class="et-tag et-(\w+)">([\d.]+) → ([\d.]+)<', lower)
    assert tags and all((kind == "good") == (a > b) for kind, a, b in tags)
    for metric in ("fix_rate_refpol", "break_rate_refpol", "tuple_f1_explicit"):
        assert len(study.samples(metric).frame) == study[metric]["n_differ"]
    assert study.samples("polarity_conflict_rate").frame.empty
    with pytest.raises(et.UsageError, match="did you mean"):
        study.changes("fix_rate_refpl")
    alone = et.study(SEEDS[:2], resampling=FAST)
    with pytest.raises(et.UsageError, match="one condition only: nothing to compare"):
        alone.changes("fix_rate_refpol")
    assert (
        "Differences of one condition only: none" in alone.table().html
        and alone.samples().text == "Differences: none"
    )
    assert set(alone.frame["name"]) == {m.name for m in alone.metrics}


def test_an_unknown_candidate_is_named(study: et.Study) -> None:
    for call in (study.changes, study.samples):
        with pytest.raises(et.UsageError, match="no candidate 'nosuch'; there is with_memory"):
            call("tuple_f1_s2_refpol", "nosuch")


def test_each_run_of_a_study(study: et.Study) -> None:
    for shown in (study.each(lambda r: r.table("fix_rate_refpol")),):
        assert re.findall(r'et-fold"[^>]*><summary><bdi>(.*?)</bdi>', shown.html) == [
            r.name for r in study.results
        ]
        assert shown.html.count('<details class="et-fold" open>') == 1  # the first
        assert shown.text.startswith(study.results[0].name)
    alone = et.study([EXAMPLES["memfin"]], resampling=FAST)
    assert "et-fold" not in alone.each(lambda r: r.page()).html
    assert study.each(lambda r: no_rows("x")).html == ""


def test_figures_of_a_study(study: et.Study) -> None:
    assert dir(study.plot) == ["forest", "paired"]
    assert figure_of(study.plot.forest())
    assert figure_of(study.plot.paired(metric="tuple_f1_s2_refpol"))


def test_scores_for_a_paper(study: et.Study) -> None:
    assert "\\begin{tabular}" in study.to_latex() and "with_memory" in study.paragraph()


def test_results_and_folders_and_inputs_make_the_same_study(tmp_path: Path) -> None:
    two = SEEDS[0], SEEDS[3]
    results = [et.evaluate("cr", r, resampling=FAST, out=tmp_path) for r in two]
    folders = [tmp_path / "results" / r.name for r in results]
    first, *others = (et.study(x, resampling=FAST).frame for x in (results, folders, two))
    for frame in others:
        pd.testing.assert_frame_equal(first, frame)


def test_systems_without_seeds_keep_the_order_given() -> None:
    given = ["example:memfin/plain_llm", "example:memfin/memory_agent"]
    study = et.study(given, resampling=FAST)
    assert (study.baseline, study.candidates) == ("plain_llm", ["memory_agent"])
    assert not study.seeded


def test_compare_takes_results_prefixes_and_lists(run: et.Run, other: et.Run) -> None:
    one = et.compare(other, run)
    assert one.frame["n_units"].max() == 40
    by_name = et.compare(SEEDS[0], SEEDS[3], resampling=FAST)
    pd.testing.assert_frame_equal(one.frame, by_name.frame)
    three = et.compare("example:cr/no_memory", "example:cr/with_memory", resampling=FAST)
    listed = et.compare(SEEDS[:3], SEEDS[3:], resampling=FAST)
    pd.testing.assert_frame_equal(three.frame, listed.frame)
    same = et.compare(run, run)
    assert (same.frame["delta"].dropna() == 0).all()
    assert same.baseline.endswith("(A)") and same.candidates[0].endswith("(B)")
    with pytest.raises(et.UsageError, match="holds several conditions"):
        et.compare(SEEDS, run)
    with pytest.raises(et.UsageError, match="no run given"):
        et.compare("", run)


def test_runs_that_cannot_be_put_together(run: et.Run) -> None:
    with pytest.raises(et.UsageError, match="no runs given"):
        et.study([])
    with pytest.raises(et.UsageError, match="are runs of one condition and seed"):
        et.study([run, run])
    with pytest.raises(et.UsageError, match=r"is a run of memfin, .* of cr"):
        et.study([run, EXAMPLES["memfin"]], resampling=FAST)


def test_a_suite_without_views_shows_itself_too(tmp_path: Path) -> None:
    suite = load_suite_file(Path(__file__).parents[1] / "data/labels.py")
    path = tmp_path / "run.jsonl"
    path.write_text(
        "".join(
            f'{{"id": "s{i}", "gold": "pos", "pred": "{("pos", "neg")[i % 2]}"}}\n'
            for i in range(20)
        )
    )
    run = et.evaluate(suite, path, resampling=FAST)
    assert "Macro F1" in run._repr_html_() and run.signature in repr(run)
    wrong = run.samples("right == False").html
    assert "s7" in wrong and "s8" not in wrong
    assert figure_of(run.plot.forest())


@pytest.mark.parametrize("run", ["cr/with_memory__seed1_proposed", "summary/cases.jsonl"])
@pytest.mark.parametrize("lang", ["ko", "zh"])
def test_a_run_shows_no_english_sentence_in_another_language(run: str, lang: str) -> None:
    result = et.evaluate(
        run.partition("/")[0],
        f"example:{run}",
        resampling=et.Resampling(method="bca", n_resamples=100),
    )
    english = {
        key for key, text in translations(lang).items() if key.count(" ") > 1 and key != text
    }

    def left() -> set[str]:
        page = result._repr_html_() + result.table()._repr_html_()
        page = re.sub(r"<style.*?</style>", "", page, flags=re.DOTALL)
        assert result.signature in page
        return {key for key in english if escape(key) in page}

    assert left()
    with speaking(lang):
        assert left() == set()


def test_where_takes_rows_of_the_units(runs: dict[str, et.Run]) -> None:
    """A notebook filters its units and adds columns; the numbers follow."""
    run = runs["cr"]
    units = run.units.query("n_gold_tuples > 1").assign(long=lambda u: u["text"].str.len() > 20)
    part = run.where(units)
    same = run.where("n_gold_tuples > 1")
    pd.testing.assert_frame_equal(part.frame, same.frame)
    assert part.n_units == len(units) and f"where:{len(units)} of" in part.signature
    assert set(part.by(units["long"], run.primary)["part"]) == {"True", "False"}
    assert run.where(run.units) is run


def test_where_refuses_other_rows(runs: dict[str, et.Run]) -> None:
    run = runs["cr"]
    shuffled = run.units.sample(frac=1, random_state=0).reset_index(drop=True)
    with pytest.raises(et.UsageError, match="expected rows of the units"):
        run.where(shuffled)
    with pytest.raises(et.UsageError, match=r"no unit of .* is so"):
        run.where(run.units.head(0))


def test_a_metric_of_ones_own_names_the_nearest_column(runs: dict[str, et.Run]) -> None:
    misspelt = et.Metric(name="m", numerator="f1_s2_refpoll", denominator="n", better="higher")
    with pytest.raises(et.UsageError, match="did you mean f1_s2_refpol"):
        runs["cr"].estimate(misspelt)
    query = et.Metric(name="m", numerator="f1_s2_refpol == 1", denominator="n", better="higher")
    with pytest.raises(et.UsageError, match="add it to the units as a column first"):
        runs["cr"].estimate(query)


def test_where_of_a_study_is_of_every_run() -> None:
    runs = [f"example:cr/{c}__seed1_proposed" for c in ("no_memory", "with_memory")]
    study = et.study(runs, primary="fix_rate_refpol")
    part = study.where("split == 'dev'")
    by_hand = et.study(
        [run.where("split == 'dev'") for run in study.results], primary="fix_rate_refpol"
    )
    pd.testing.assert_frame_equal(part.frame, by_hand.frame)
    assert not part.frame["value_baseline"].equals(study.frame["value_baseline"])


def states(result: et.Run | et.Study) -> dict[str, tuple[str, str]]:
    """Code -> state and message."""
    frame = result.check_states
    assert frame["code"].is_unique
    return dict(zip(frame["code"], zip(frame["state"], frame["message"])))


def test_a_run_lists_every_check_as_failed_passed_or_not_applicable(run: et.Run) -> None:
    of_run = states(run)
    assert of_run["few-units"] == ("passed", "fewer than 30 resampling units")
    assert of_run["missing-units"] == ("not applicable", "one run only")
    failed = [code for code, (state, _) in of_run.items() if state == "failed"]
    assert failed == [check.code for check in run.checks]


def test_a_table_without_texts_says_that_texts_cannot_be_checked(tmp_path: Path) -> None:
    rows = [{"id": f"q{i}", "metric": "acc", "value": i % 2} for i in range(12)]
    run = et.evaluate("table", rows, resampling=FAST)
    of_run = states(run)
    assert of_run["duplicate-texts"] == ("not applicable", "the units have no texts")
    assert of_run["constant-metric"][0] == "passed"
    assert of_run["few-units"][0] == "failed"


def test_predictions_without_gold_say_so(tmp_path: Path) -> None:
    outputs = [cards.output(str(i), final=[cards.tup("본품#품질", "향")]) for i in range(3)]
    of_run = states(et.evaluate("cr", cards.run(tmp_path / "r", outputs), resampling=FAST))
    for code in ("gold-without-pairs", "empty-predictions"):
        assert of_run[code] == ("not applicable", "no sample has gold tuples")


def test_what_failed_stands_on_top_once_and_the_rest_is_folded(tmp_path: Path) -> None:
    rows = [{"id": f"q{i}", "metric": "acc", "value": i % 2} for i in range(12)]
    run = et.evaluate("table", rows, resampling=FAST)
    html = run.page().html
    top, _, folded = html.partition('<details class="et-quiet">')
    assert "only 12 units" in top and "few-units" not in folded
    states = run.check_states["state"].value_counts()
    passed = states["passed"] + 1  # that of the input, which stands on pages only
    assert f"Checks passed: {passed}; not applicable: {states['not applicable']}" in folded
    assert "missing-units" in folded and "missing-units" not in top
    assert folded.index("passed</span>") < folded.index("not applicable</span>")
    assert "passed" not in run.page().text
    with speaking("ko"):
        assert "해당 없음" in run.page().html and "실행이 하나뿐임" in run.page().html


def test_a_study_lists_the_checks_of_its_runs_and_those_of_several_runs(study: et.Study) -> None:
    of_study = states(study)
    assert of_study["missing-units"][0] == "failed"
    assert of_study["missing-seeds"][0] == "passed"
    one = states(et.study(SEEDS[:3], resampling=FAST))
    assert one["missing-seeds"] == ("not applicable", "one condition only")


def test_a_terminal_shows_intervals_without_the_escapes_of_markdown(run: et.Run) -> None:
    texts = [run.table().text, run.page().text, et.study([run]).page().text]
    for text in texts:
        assert re.search(r"\[0\.\d+, [01]\.\d+\]", text)
        assert "\\" not in text
