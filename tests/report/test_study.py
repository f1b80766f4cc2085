"""Several runs together: grouping, files, the numbers of the reference runs, and what the report says."""

from __future__ import annotations

import json
import random
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evaltools as et
from evaltools.core.errors import UsageError, tell
from evaltools.core.language import speaking
from evaltools.core.names import condition_of, find_runs, natural, safe_name
from evaltools.report import study_sentences
from evaltools.report import study_tables as study_views
from evaltools.report.make_study import default_name
from evaltools.report.run_groups import group
from tests.app.calling import call, renamed

FAST = et.Resampling(n_resamples=200)
RUNS = [f"example:cr/{c}_memory__seed{s}_proposed" for c in ("no", "with") for s in (1, 2, 3)]


@pytest.fixture(scope="module")
def study() -> et.Study:
    return et.study(RUNS, resampling=FAST)


def test_names_of_runs() -> None:
    assert condition_of("cr_n50_m0__seed42_proposed") == ("cr_n50_m0", "42", "proposed")
    assert condition_of("a__b__seed7_x_y") == ("a__b", "7", "x_y")
    with pytest.raises(et.UsageError, match="is not named"):
        condition_of("plain")
    assert sorted(["s10", "s9", "s1"], key=natural) == ["s1", "s9", "s10"]


def test_modes_and_doubled_seeds(study: et.Study) -> None:
    first = study.results[0]
    runs = [renamed(first, n) for n in ("a__seed1_x", "a__seed1_y", "b__seed1_x")]
    assert list(group(runs)[0]) == ["a_x", "a_y", "b"]
    with pytest.raises(et.UsageError, match="are runs of one condition and seed"):
        group([runs[0], runs[0]])


def test_agreement_of_seeds_has_its_columns_also_where_there_is_none(study: et.Study) -> None:
    columns = [
        "metric",
        "value",
        "ci_low",
        "ci_high",
        "ci_method",
        "n_samples",
        "n_incomplete",
        "title",
    ]
    found = study.agreement
    assert list(found) == ["condition", *columns] and set(found["condition"]) == set(
        study.conditions
    )
    assert [found.dtypes[c].kind for c in ("value", "ci_low", "n_samples")] == ["f", "f", "i"]
    one = [renamed(r, f"{c}__seed1_x") for c, r in zip("ab", study.results)]
    alone = et.study(one, resampling=FAST).agreement
    assert alone.empty and list(alone) == ["condition", *columns]


def test_the_first_condition_by_name_is_the_baseline_whatever_the_order(tmp_path: Path) -> None:
    shuffled = list(RUNS)
    random.Random(1).shuffle(shuffled)
    et.study(RUNS, out=tmp_path / "a", resampling=FAST)
    et.study(shuffled, out=tmp_path / "b", resampling=FAST)
    files = sorted(p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*.csv"))
    assert len([f for f in files if "_aggregated" in str(f)]) == 6
    for f in files:
        assert (tmp_path / "a" / f).read_bytes() == (tmp_path / "b" / f).read_bytes(), f


def test_a_study_of_long_names_has_a_name_that_a_folder_can_have() -> None:
    baseline, candidate, other = ("가" * 60 + "_a", "나" * 60 + "_b", "나" * 60 + "_c")
    names = {default_name(baseline, [candidate]), default_name(baseline, [other])}
    assert len(names) == 2 and all(safe_name(name) for name in names)
    assert default_name("a", ["b", "c"]) == "a_vs_b_and_1_more"


def test_files_and_columns(tmp_path: Path) -> None:
    et.study(RUNS, out=tmp_path, resampling=FAST, baseline="with_memory")
    folder = tmp_path / "results" / "no_memory_aggregated"
    aggregated = pd.read_csv(folder / "aggregated_mean_std.csv")
    assert list(aggregated) == [
        "condition",
        "metric",
        "mean",
        "std",
        "n_seeds",
        "ci_low",
        "ci_high",
        "min",
        "max",
    ]
    comparison = pd.read_csv(folder / "comparison.csv")
    assert set(comparison["baseline"]) == {"with_memory"}
    assert set(comparison["verdict"]) <= {"better", "worse", "tied", "too few", "not measured"}
    last = ["verdict", "primary", "mde", "margin", "equivalence_low", "equivalence_high"]
    assert list(comparison)[-6:] == last
    primary = comparison.loc[comparison["primary"], "metric"].tolist()
    assert primary[:2] == ["tuple_f1_s2_refpol", "tuple_f1_s2"]  # an alias inherits
    assert json.loads((folder / "manifest.json").read_text())["runs"] == [
        f"no_memory__seed{s}_proposed" for s in (1, 2, 3)
    ]
    one = tmp_path / "one"
    et.study(RUNS[:3], out=one, resampling=FAST)
    alone = pd.read_csv(one / "results" / "no_memory_aggregated" / "aggregated_mean_std.csv")
    assert next(iter(alone)) == "metric"
    assert not (one / "results" / "no_memory_aggregated" / "comparison.csv").exists()


def test_one_seed_has_no_standard_deviation(tmp_path: Path) -> None:
    study = et.study(RUNS[:1], resampling=FAST)
    row = study.aggregates["no_memory"].set_index("metric").loc["tuple_f1_s2_refpol"]
    assert pd.isna(row["std"])
    assert row["n_seeds"] == 1
    assert row["claim"] == "new samples, this system"


def test_rows_of_the_units_make_a_study_over_these_rows(study: et.Study) -> None:
    units = study.units
    assert units.groupby(["condition", "seed", "run"]).size().tolist() == [40] * 5 + [34]
    assert study.where(units) is study
    kept = units.query("split == 'dev'").assign(long=units["text"].str.len() > 20)
    of_rows, of_query = study.where(kept), study.where("split == 'dev'")
    pd.testing.assert_frame_equal(of_rows.frame, of_query.frame)
    assert of_rows.results[0].by("long", "n")["n"].sum() == of_rows.results[0].n_units == 20
    with pytest.raises(et.UsageError, match="no unit of no_memory__seed1_proposed"):
        study.where(units.query("condition == 'with_memory'"))


def test_rows_that_lost_their_index_or_their_run_are_refused(study: et.Study) -> None:
    """Rows of the second run, numbered anew, would stand where those of the first are: the ids are the same."""
    units = study.units
    of_second = units[units["run"] == study.results[1].name]
    for rows in (of_second.reset_index(drop=True), units.drop(columns="run")):
        with pytest.raises(et.UsageError, match="expected rows of the units of no_memory__seed1"):
            study.where(rows)


def test_a_column_that_one_run_lacks_stays_away_from_it() -> None:
    runs = []
    for name, rows in (("a", [{"topic": "law"}] * 12), ("b", [{}] * 12)):
        lines = [
            {"id": f"q{i}", "metric": "m", "value": i % 2, **row} for i, row in enumerate(rows)
        ]
        runs.append(et.evaluate("table", lines, name=name, resampling=FAST))
    study = et.study(runs, resampling=FAST)
    part = study.where(study.units.query("id != 'q0'"))
    assert [run.n_units for run in part.results] == [11, 11]
    assert ["topic" in run.units for run in part.results] == [True, False]


def test_incomplete_seeds_are_named(study: et.Study) -> None:
    assert any("with_memory__seed3_proposed lacks 6" in check.message for check in study.checks)


def test_unknown_baseline_and_differing_policies() -> None:
    with pytest.raises(et.UsageError, match="no condition 'x'"):
        et.study(RUNS, baseline="x", resampling=FAST)
    a = et.evaluate("cr", RUNS[0], resampling=FAST)
    b = et.evaluate("cr", RUNS[1], resampling=FAST, match="reference")
    with pytest.raises(et.UsageError, match="different policies"):
        et.study([a, b])


@pytest.mark.parametrize(
    ("lang", "unknown", "alone"),
    [
        (
            "en",
            "no condition 'x' among no_memory, with_memory",
            "one condition only (no_memory): nothing to rank",
        ),
        (
            "ko",
            "'x' 조건이 없음. 있는 조건: no_memory, with_memory",
            "조건이 하나뿐이라(no_memory) 순위를 매길 수 없음",
        ),
        (
            "zh",
            "没有条件 'x'；现有条件：no_memory、with_memory",
            "只有一个条件（no_memory）：无法排名",
        ),
    ],
)
def test_what_is_refused_is_told_in_every_language(
    capsys: pytest.CaptureFixture[str], lang: str, unknown: str, alone: str
) -> None:
    with pytest.raises(et.UsageError) as no_condition:
        et.study(RUNS, baseline="x", resampling=FAST)
    with pytest.raises(et.UsageError) as nothing_to_rank:
        et.study(RUNS[:3], resampling=FAST).rank()
    with speaking(lang):
        assert tell(no_condition.value) == tell(nothing_to_rank.value) == 2
    told = capsys.readouterr().err
    assert unknown in told
    assert alone in told


def test_identical_runs_are_called_so() -> None:
    runs = [et.evaluate("cr", RUNS[0], resampling=FAST, name=n) for n in ("a", "b")]
    study = et.study(runs)
    table = study.comparisons["b"].table
    assert (table["delta"].dropna() == 0).all()
    assert set(table["verdict"]) <= {"too few", "not measured"}
    assert study_sentences.outcomes(study) == [
        "b and a are identical: there is nothing to compare."
    ]
    assert "b and a are identical" in study.page().text
    assert study.samples().text.endswith("samples that differ: none")
    assert study_sentences.how(study) == ""


def test_runs_that_share_no_sample_cannot_be_compared(study: et.Study) -> None:
    a, b = study.results[0], study.results[3]
    other = replace(b, data=b.data.assign(text_id="x" + b.data["text_id"].astype(str)))
    with pytest.raises(et.UsageError, match=r"\(40 units\) share no text_id"):
        et.compare(a, other)


def test_a_planted_improvement_is_found() -> None:
    base = et.evaluate("cr", RUNS[0], resampling=FAST, name="base")
    better = base.data.copy()
    wrong = better["f1_s2_refpol"] < 1
    assert wrong.sum() >= 8
    better.loc[wrong, "f1_s2_refpol"] = 1.0
    planted = renamed(base, "planted", data=better)
    table = et.study([planted, base], baseline="base").comparisons["planted"].table
    row = table.set_index("metric").loc["tuple_f1_s2_refpol"]
    assert row["verdict"] == "better"
    assert row["delta"] > 0


def test_words_name_claim_and_verdicts(study: et.Study) -> None:
    text = study_sentences.how(study)
    assert "95% intervals speak for new seeds and new samples." in text
    assert (
        "“Tuple F1 after review (ref-pol)” is tested alone, p of the other headline metrics (9) adjusted by "
        in text
    )
    assert "; all else is exploratory." in text and "an interval that leaves out 0" in text
    assert "no difference" not in text
    alone = et.study(RUNS[:3], resampling=FAST)
    assert study_sentences.how(alone) == "95% intervals speak for new seeds and new samples."
    (value,) = study_sentences.outcomes(alone)
    assert value.startswith("no_memory, Tuple F1 after review (ref-pol) 0.")


def test_a_declared_primary_metric_leads_the_page_and_is_tested_alone(study: et.Study) -> None:
    assert study.primary == "tuple_f1_s2_refpol"
    other = et.study(study.results, primary="polarity_conflict_rate_raw")
    assert other.headline == ("polarity_conflict_rate_raw", *study.headline)
    (said,) = study_sentences.outcomes(other)
    assert "“Polarity conflict rate (raw)”" in said and "exploratory" not in said
    assert "tested alone, p of the other headline metrics (10)" in study_sentences.how(other)
    assert [
        c.table.loc[c.table["primary"], "metric"].iloc[0] for c in other.comparisons.values()
    ] == [other.primary]


@pytest.mark.reference
def test_a_blocked_metric_is_no_primary_one(reference: Path) -> None:
    """No ref that these runs predict occurs in the gold, so that the term leads, and the ref cannot be declared."""
    runs = [str(reference / "cr" / f"cr_n50_{m}__seed42_proposed") for m in ("m0", "m1")]
    assert et.study(runs, resampling=FAST).primary == "tuple_f1_s2_otepol"
    with pytest.raises(UsageError, match="tuple_f1_s2_refpol means nothing here: "):
        et.study(runs, resampling=FAST, primary="tuple_f1_s2_refpol")


def test_margins_are_said_where_they_are_declared_and_nowhere_else(study: et.Study) -> None:
    declared = et.study(
        study.results, margin={"break_rate_refpol": 0.1, "tuple_f1_s2_refpol": 0.02}
    )
    said = "Equivalent: the 90% interval lies within the declared margin (two one-sided tests)."
    for text in (study_sentences.how(declared), declared.paragraph()):
        assert text.count(said) == 1
    assert "margin" not in study_sentences.how(study) + study.paragraph()


def test_one_function_counts_the_family(study: et.Study) -> None:
    """10 headline metrics beside the primary one, of which one has fewer than 10 pairs and cannot be tested."""
    (found,) = study.comparisons.values()
    lead = found.table[found.table["headline"] & ~found.table["primary"]]
    assert len(lead) == 10 and lead["p_adjusted"].notna().sum() == 9
    (said,) = study_sentences.family(study)
    assert "p of the other headline metrics (9) adjusted" in said
    for text in (study_sentences.how(study), study.paragraph()):
        assert said in text


def test_words_of_few_units_speak_of_no_test_and_no_interval() -> None:
    """Five dialogues pair: there is neither an adjusted p nor an interval."""
    study = et.study(["example:memfin/memory_agent", "example:memfin/plain_llm"], resampling=FAST)
    assert study_sentences.how(study) == "Paired by dialog_id, over what both sides have."
    (said,) = study_sentences.outcomes(study)
    assert said.startswith(
        "Too few units to judge plain_llm against memory_agent on “Profile score”"
    )
    assert "5 paired units, of which " in said
    assert "not shown to differ" not in said and " p " not in said


def test_views_have_a_row_a_metric_and_condition(study: et.Study) -> None:
    lead = study.suite.headline(study.options, frozenset())
    assert len(study_views.estimates(study)) == 2 * len(lead)
    assert list(study_views.comparison(study)["metric"]) == list(lead)


def test_compare_finds_runs_by_prefix_list_and_example(tmp_path: Path) -> None:
    for seed in (2, 10, 1):
        (tmp_path / f"m0__seed{seed}_p").mkdir()
    assert [p.name for p in find_runs(str(tmp_path / "m0"))] == [
        "m0__seed1_p",
        "m0__seed2_p",
        "m0__seed10_p",
    ]
    assert len(find_runs("example:cr/no_memory")) == 3
    assert len(find_runs(f"{tmp_path}/m0__seed1_p,{tmp_path}/m0__seed2_p")) == 2
    with pytest.raises(et.UsageError, match="no such run"):
        find_runs(str(tmp_path / "other"))


@pytest.mark.reference
def test_reference_means_and_deltas(reference: Path) -> None:
    folders = sorted((reference / "cr").glob("cr_n50_*"))
    expected = {
        f.name: json.loads((f / "expected_metrics.json").read_text())["spec"] for f in folders
    }
    study = et.study(folders, resampling=FAST)
    for condition in ("cr_n50_m0", "cr_n50_m1"):
        rows = study.aggregates[condition].set_index("metric")
        values = [v for name, v in sorted(expected.items()) if name.startswith(condition)]
        for metric in values[0]:
            found = [v[metric] for v in values if v[metric] is not None]
            row = rows.loc[metric]
            assert row["n_seeds"] == len(found), metric
            if found:
                assert row["value"] == pytest.approx(sum(found) / len(found), abs=1e-9)
            if len(found) > 1:
                assert row["std"] == pytest.approx(statistics.stdev(found), abs=1e-9)


@pytest.mark.reference
def test_reference_deltas_are_paired_by_sample_and_seed(reference: Path) -> None:
    study = et.study(sorted((reference / "cr").glob("cr_n50_*")), resampling=FAST)
    per_seed = []
    for seed in ("42", "123", "456"):
        a, b = (
            study.conditions[c][seed].units.set_index("text_id")["f1_s2_otepol"]
            for c in ("cr_n50_m0", "cr_n50_m1")
        )
        both = a.index.intersection(b.index)
        per_seed.append(b[both].mean() - a[both].mean())
    row = study.comparisons["cr_n50_m1"].table.set_index("metric").loc["tuple_f1_s2_otepol"]
    assert row["delta"] == pytest.approx(sum(per_seed) / 3, abs=1e-9)
    assert row["n_units"] == 50


# --- several candidates: one joint answer


def _systems(shifts: dict[str, float], n: int = 40) -> list[et.Run]:
    """Runs of one seed, 0 or 1 an item; a system is right in its share more of the items."""
    rng = np.random.default_rng(5)
    difficulty = rng.random(n)
    runs = []
    for name, shift in shifts.items():
        luck = rng.normal(0, 0.15, n)
        right = (difficulty + luck < 0.5 + shift).astype(int)
        rows = [{"id": str(i), "metric": "right", "value": int(v)} for i, v in enumerate(right)]
        runs.append(et.evaluate("table", rows, name=name))
    return runs


@pytest.mark.parametrize("spread", [0.0, 0.08, 0.15, 0.22])
def test_verdicts_and_ranks_of_several_conditions_are_one_answer(spread: float) -> None:
    shifts = {"base": 0.0, "low": -spread, "high": spread, "higher": 2 * spread}
    study = et.study(_systems(shifts), baseline="base")
    frame = study.frame[study.frame["primary"]].set_index("candidate")
    ranks = study.rank().set_index("condition")
    for candidate, row in frame.iterrows():
        alone = et.compare(
            study.conditions["base"][""], study.conditions[str(candidate)][""]
        ).frame.set_index("metric")
        assert row["p_value"] == alone.loc["right", "p_value"]
        assert row["p_adjusted"] >= row["p_value"]
        share_a_letter = set(ranks.loc["base", "group"]) & set(ranks.loc[candidate, "group"])
        assert (row["verdict"] in ("better", "worse")) == (not share_a_letter)
    text = study_sentences.how(study)
    assert "over all pairs of the 4 conditions together" in text
    assert "tested alone" not in text


def test_two_conditions_are_tested_alone() -> None:
    study = et.study(_systems({"base": 0.0, "high": 0.3}), baseline="base")
    row = study.frame[study.frame["primary"]].iloc[0]
    assert row["p_adjusted"] == row["p_value"]
    assert "all pairs" not in study_sentences.how(study)


def test_results_of_a_study_of_runs_are_written_too(tmp_path: Path) -> None:
    def run(name: str, n: int = 40) -> et.Run:
        rows = [{"id": f"q{i}", "metric": "m", "value": i % 2} for i in range(n)]
        return et.evaluate("table", rows, name=name, n_resamples=100)

    runs = [run("a__seed1_x"), run("b__seed1_x")]
    et.study(runs, out=tmp_path)
    assert et.load(tmp_path / "results/a__seed1_x").value("m") == 0.5
    folders = [tmp_path / f"results/{name}_aggregated" for name in "ab"]
    call("gate", folders[0], "--baseline", folders[1], "--margin", "m=.9")
    manifest = tmp_path / "results/a__seed1_x/manifest.json"
    before = manifest.stat().st_ino
    et.study([et.load(manifest.parent), runs[1].where("line > 9")], out=tmp_path)
    assert manifest.stat().st_ino == before, "it stood there"
    assert et.load(tmp_path / "results/b__seed1_x").n_units == 40, "not some of its units"
    with pytest.raises(et.UsageError, match="a__seed1_x holds the result of something else"):
        et.study([run("a__seed1_x", 30), runs[1]], out=tmp_path)
