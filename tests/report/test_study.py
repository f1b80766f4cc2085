"""Several runs together: grouping, files, and what the report says."""

import random
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import evaltools as et
from evaltools.core.files import find_runs
from evaltools.core.messages import speaking
from evaltools.report import study_sentences
from evaltools.report.evaluate import group
from evaltools.report.first_screen import trust_line
from tests.app.calling import FAST, renamed
from tests.files import read_json


@pytest.fixture(scope="module")
def study() -> et.Study:
    return et.study(["example:cr/no_memory", "example:cr/with_memory"], resampling=FAST)


def test_modes_and_doubled_seeds(study: et.Study) -> None:
    first = study.results[0]
    runs = [renamed(first, n) for n in ("a__seed1_x", "a__seed1_y", "b__seed1_x")]
    assert list(group(runs)) == ["a_x", "a_y", "b"]
    assert list(group([renamed(first, "api"), *runs[::-2]])) == ["api", "b", "a"]
    with pytest.raises(et.UsageError, match="are runs of one condition and seed"):
        group([runs[0], runs[0]])
    other = replace(runs[2], data=first.data.assign(text="?"))
    seeds = [renamed(run, f"a__seed{n}_x") for n, run in enumerate((first, first, other))]
    found = str(et.study(seeds))
    assert "Seeds 0, 1, 2 of a have one value" in found and "60 samples of a have another" in found


def test_the_first_condition_by_name_is_the_baseline_whatever_the_order(
    study: et.Study, tmp_path: Path
) -> None:
    shuffled = random.Random(1).sample(study.results, 6)
    et.study(study.results, out=tmp_path / "a")
    et.study(shuffled, out=tmp_path / "b")
    files = sorted(p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*.csv"))
    assert len([f for f in files if "_aggregated" in str(f)]) == 5
    for f in files:
        assert (tmp_path / "a" / f).read_bytes() == (tmp_path / "b" / f).read_bytes(), f


def test_files_and_columns(study: et.Study, tmp_path: Path) -> None:
    et.study(study.results, out=tmp_path, baseline="with_memory")
    folder = tmp_path / "results" / "no_memory_aggregated"
    assert list(pd.read_csv(folder / "aggregated_mean_std.csv")) == [
        "condition", "metric", "mean", "std", "n_seeds", "ci_low", "ci_high", "min", "max", "blocked",
    ]  # fmt: skip
    comparison = pd.read_csv(folder / "comparison.csv")
    assert set(comparison["baseline"]) == {"with_memory"}
    assert set(comparison["verdict"]) <= {"better", "worse", "tied", "too few", "not measured"}
    assert list(comparison) == [
        "metric", "baseline", "candidate", "value_baseline", "value_candidate", "delta", "ci_low", "ci_high",
        "p_value", "p_adjusted", "n_units", "n_seeds", "verdict", "primary", "mde", "margin", "equivalence_low",
        "equivalence_high", "n_differ", "missing_baseline", "missing_candidate", "blocked",
    ]  # fmt: skip
    primary = comparison.loc[comparison["primary"], "metric"].tolist()
    assert primary[:2] == ["tuple_f1_s2_refpol", "tuple_f1_s2"]  # an alias inherits
    assert read_json(folder / "manifest.json")["runs"] == [
        f"no_memory__seed{s}_proposed" for s in (1, 2, 3)
    ]
    one = tmp_path / "one"
    et.study(study.results[:3], out=one)
    alone = pd.read_csv(one / "results" / "no_memory_aggregated" / "aggregated_mean_std.csv")
    assert next(iter(alone)) == "metric"
    assert not (one / "results" / "no_memory_aggregated" / "comparison.csv").exists()
    et.study([one / "results" / "no_memory_aggregated"])  # the runs that it names stand beside it


def test_rows_of_the_units_make_a_study_over_these_rows(study: et.Study) -> None:
    units = study.units
    assert units.groupby(["condition", "seed", "run"]).size().tolist() == [60] * 5 + [56]
    assert study.where(units) is study
    kept = units.query("split == 'dev'").assign(long=units["text"].str.len() > 20)
    of_rows, of_query = study.where(kept), study.where("split == 'dev'")
    pd.testing.assert_frame_equal(of_rows.frame, of_query.frame)
    assert of_rows.results[0].by("long", "n")["n"].sum() == of_rows.results[0].n_units == 30
    with pytest.raises(et.UsageError, match="no unit of no_memory__seed1_proposed"):
        study.where(units.query("condition == 'with_memory'"))


def test_unknown_baseline_and_differing_policies(study: et.Study) -> None:
    lines = [{"id": i, "metric": "m", "value": 1.0, "condition": c} for i in "xy" for c in "ab"]
    assert et.study(lines, suite="table", baseline="b").candidates == ["a_data"]
    with pytest.raises(et.UsageError, match="no condition 'x'"):
        et.study(study.results, baseline="x")
    other = et.evaluate(
        "cr", "example:cr/no_memory__seed2_proposed", resampling=FAST, match="reference"
    )
    with pytest.raises(et.UsageError, match="different policies"):
        et.study([study.results[0], other])


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


def test_what_is_missing_where_it_was_wrong_is_named_as_the_reason() -> None:
    rows = [{"id": i, "metric": "m", "value": float(i % 2), "condition": "a"} for i in range(60)]
    rows += [{**row, "condition": "b"} for row in rows if row["value"] or row["id"] % 10 == 0]
    study = et.study(rows, suite="table", baseline="a", resampling=FAST)
    assert (study["m"]["verdict"], study["m"]["blocked"]) == ("not measured", "missing-not-random")
    (sentence,) = study_sentences.outcomes(study)
    assert "1 of 1 differences cannot be measured" in trust_line(study)
    assert sentence.endswith(": what one side lacks is perhaps not like the rest.")


def test_sentences_count_what_they_speak_of() -> None:
    """Metrics tested alone are not adjusted, three systems are no two runs, a name of one's own is no word of ours."""
    rows = [
        {"id": i, "condition": name, "metric": metric, "value": (i * k) % 7 / 7}
        for i in range(30)
        for k, name in enumerate("abc", 2)
        for metric in ("acc", "score")
    ]
    two = et.study([row for row in rows if row["condition"] != "c"], suite="table")
    assert (
        "both sides have. 95% intervals cover new samples for these two runs"
        in study_sentences.how(two)
    )
    three = study_sentences.how(et.study(rows, suite="table"))
    assert "new samples for these runs" in three and "two runs" not in three
    with speaking("ko", "table"):
        assert two.title("score") == "score" and "score" in two.table("score").html
