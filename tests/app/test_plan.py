"""`evaltools plan` and `evaltools rank`: what they print and write, and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evaltools as et
from evaltools.report.study_sentences import ALONE
from evaltools.stats import power, ranks
from tests.app.calling import QUICK, call, few_studies, written

PAIR = ("example:cr/no_memory", "example:cr/with_memory")
TWO_RUNS = tuple(f"{condition}__seed1_proposed" for condition in PAIR)
SYSTEMS = ("example:memfin/memory_agent", "example:memfin/plain_llm")
F1 = "tuple_f1_s2_refpol"
FAST = et.Resampling(n_resamples=100)


@pytest.fixture(scope="module", autouse=True)
def _few_studies() -> Iterator[None]:
    """How good plans are is tested where they are made."""
    with few_studies():
        yield


@pytest.fixture(scope="module")
def six() -> et.Study:
    runs = [
        et.evaluate(
            "cr", f"example:cr/{c}_memory__seed{s}_proposed", name=f"{c}-{s}", resampling=FAST
        )
        for c in ("no", "with")
        for s in (1, 2, 3)
    ]
    return et.study(runs)


# --- plan


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    file = tmp_path_factory.mktemp("plan") / "plan.csv"
    how = ("--metric", F1, "--difference", "0.04", "--seeds", "1,5", "--csv", file, *QUICK)
    return call("plan", *PAIR, *how).stdout, file


def test_a_plan_is_a_sentence_a_table_and_what_is_cheapest(planned: tuple[str, Path]) -> None:
    text, file = planned
    found = pd.read_csv(file)
    assert list(found) == list(power.CONTRACT)
    assert text.startswith(
        "To show with_memory better than no_memory by 0.04 on “Tuple F1 after review (ref-pol)” with 80% power, as "
        "the primary metric at level 0.05:"
    )
    for row in found.itertuples():
        assert any(
            line.split()[:2] == [str(row.seeds), str(row.samples)] for line in text.splitlines()
        )
    assert f"{found['calls'].min()} calls for each condition" in text
    assert "nan" not in text and "NA" not in text


def test_the_python_plan_is_the_same(planned: tuple[str, Path]) -> None:
    study = et.study([f"{p}__seed{s}_proposed" for p in PAIR for s in (1, 2, 3)], resampling=FAST)
    found = study.plan("tuple_f1_s2", 0.04, seeds=[1, 5])  # an alias is its metric
    assert found.to_csv(index=False, lineterminator="\n") == planned[1].read_text()


def test_a_plan_from_one_condition_says_what_it_assumes(planned: tuple[str, Path]) -> None:
    how = ("--metric", F1, "--difference", "0.1", "--seeds", "3")
    assert ALONE[:60] in call("plan", PAIR[0], *how, *QUICK).stdout
    assert ALONE[:60] not in planned[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((*TWO_RUNS, "--metric", "tuple_f1_s2_refpo", "--difference", "0.04"), "did you mean tuple_f1_s2_refpol"),
        ((*TWO_RUNS, "--metric", F1, "--difference", "0.5"), "cannot be planned from these runs"),
        ((*TWO_RUNS, "--metric", F1, "--difference", "-0.1"), "a plan needs a difference above 0"),
        ((*TWO_RUNS, "--metric", F1, "--difference", "0.1", "--power", "1"), "a power between"),
        ((*TWO_RUNS, "--metric", F1, "--difference", "0.1", "--seeds", "1,x"), "--seeds '1,x': expected whole numbers"),
        ((*TWO_RUNS, "--metric", "polarity_conflict_rate", "--difference", "0.1"), "nothing to plan from"),
        ((SYSTEMS[0], "--metric", "m2_profile_score", "--difference", "0.1"), "one run shows no difference"),
        ((*TWO_RUNS, "--metric", F1), "Missing option '--difference'"),
    ],
)  # fmt: skip
def test_plans_that_are_refused(tmp_path: Path, given: tuple[str, ...], said: str) -> None:
    done = call("plan", *given, "--csv", tmp_path / "plan.csv", *QUICK, status=2)
    assert said in done.output
    assert not written(tmp_path)


def test_a_pilot_that_lacks_the_metric_is_told_the_nearest(tmp_path: Path) -> None:
    rows = ["id,condition,metric,value"]
    for i in range(20):
        rows += [f"{i},a,acc,{i % 2}", f"{i},a,f1,{i % 3 == 0:d}"]
        rows += [f"{i},b,accuracy,{i % 3 == 0:d}", f"{i},b,f1,{i % 2}"]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(rows))
    how = ("--suite", "table", "--difference", "0.1", *QUICK)
    done = call("plan", path, "--metric", "acc", *how, status=2)
    assert "acc is not measured in b_x; did you mean accuracy?" in done.output


def test_a_plan_takes_no_third_condition(six: et.Study) -> None:
    with pytest.raises(
        et.UsageError,
        match="a plan takes the runs of one or two conditions; these are of no-1, no-2",
    ):
        six.plan(F1, 0.04)


def write_trials(path: Path) -> None:
    """Four trials of 30 questions under two systems."""
    rng = np.random.default_rng(0)
    ease = np.repeat(rng.random(30), 4)
    rows = []
    for condition, bonus in (("a", 0.0), ("b", 0.1)):
        right = (rng.random(120) < ease + bonus).astype(int)
        for row in range(120):
            rows.append((f"q{row // 4}", row % 4, "right", condition, right[row]))
    columns = ["id", "trial", "metric", "condition", "value"]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)


def test_a_plan_says_how_many_rows_a_unit_has(tmp_path: Path) -> None:
    write_trials(tmp_path / "t.csv")
    how = ("--suite", "table", "--metric", "right", "--difference", "0.1", "--seeds", "1", *QUICK)
    text = call("plan", tmp_path / "t.csv", *how, "--csv", tmp_path / "plan.csv").stdout
    assert pd.read_csv(tmp_path / "plan.csv")["rows_per_sample"].tolist() == [4.0]
    assert "samples: units (id), each of as many rows as these runs have" in " ".join(text.split())


# --- rank


def test_rank_writes_ranks_in_the_folder_of_the_baseline(tmp_path: Path) -> None:
    text = call("rank", *PAIR, "--metric", "fix_rate_refpol", "-o", tmp_path, *QUICK).stdout
    file = tmp_path / "results" / "no_memory_aggregated" / "ranks.csv"
    found = pd.read_csv(file)
    assert list(found) == list(ranks.CONTRACT)
    assert found["condition"].tolist() == ["with_memory", "no_memory"]
    assert text.splitlines()[-1] == str(file)
    assert "Fix rate (ref-pol)" in text.splitlines()[0]
    manifest = json.loads((file.parent / "manifest.json").read_text())
    assert manifest["primary"] == "fix_rate_refpol" and "ranks.csv" in manifest["files"]
    assert list((tmp_path / "results").glob("*/*.csv*")) and not list(
        tmp_path.rglob("with_memory*")
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((*TWO_RUNS, "--metric", "fix_rate_refpo"), "did you mean fix_rate_refpol"),
        ((TWO_RUNS[0], "--metric", F1), "one condition only (no_memory): nothing to rank"),
        ((*TWO_RUNS, "--metric", "n_samples"), "n_samples"),
        ((*TWO_RUNS,), "Missing option '--metric'"),
    ],
)
def test_rankings_that_are_refused_write_nothing(
    tmp_path: Path, given: tuple[str, ...], said: str
) -> None:
    assert said in call("rank", *given, "-o", tmp_path, *QUICK, status=2).output
    assert not written(tmp_path)


def test_ranks_of_six_systems(six: et.Study) -> None:
    found = six.rank()
    assert sorted(found["condition"]) == sorted(six.conditions)
    assert found["value"].is_monotonic_decreasing
    assert found.set_index("condition").loc["no-1", "value"] == pytest.approx(
        six.results[0].value(F1)
    )
    pd.testing.assert_frame_equal(found, six.rank(F1))
    other = six.rank("polarity_conflict_rate")  # all alike
    assert (
        set(other["group"]) == {"a"}
        and set(other["rank_low"]) == {1}
        and set(other["rank_high"]) == {6}
    )


def test_a_study_of_three_and_more_shows_and_writes_ranks(six: et.Study, tmp_path: Path) -> None:
    table = six.table("ranks")
    assert (
        "with-1" in table.text
        and "conditions that share a letter are not shown to differ" in table.text
    )
    et.study(six.results, out=tmp_path)
    assert [p.parent.name for p in tmp_path.rglob("ranks.csv")] == ["no-1_aggregated"]


def test_three_conditions_are_ranked_unasked_and_two_where_a_primary_metric_is_declared(
    six: et.Study,
) -> None:
    assert [et.study(six.results[:n]).is_ranked for n in (2, 3)] == [False, True]
    assert et.study(six.results[:2], primary=F1).is_ranked


def test_a_study_of_two_neither_shows_nor_writes_ranks(tmp_path: Path) -> None:
    study = et.study(SYSTEMS, out=tmp_path, resampling=FAST)
    assert not study.is_ranked
    assert not list(tmp_path.rglob("ranks.csv"))
