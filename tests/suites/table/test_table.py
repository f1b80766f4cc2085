"""The suite of long tables: numbers by hand, runs of a file, metrics from the data, bad input."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import evaltools as et
from tests.app.calling import QUICK, call, without_pages

from .tables import FEW, KINDS, ROW, ROWS, grid, put


@pytest.mark.parametrize("kind", [*KINDS, "tsv"])
def test_numbers_by_hand(kind: str, tmp_path: Path) -> None:
    run = et.evaluate("table", put(tmp_path, ROWS, kind))
    assert run.name == "scores"
    assert run.value("acc") == 2 / 3  # 1, 0, 1; d was not measured
    assert run.value("rouge l") == 0.5
    assert run.value("loss") == 1.5
    assert run.value("bits") == (3 + 1) / (2 + 6)
    assert run["acc"]["n_units"] == 3
    kinds = {m.name: (m.proportion, m.bounds, m.better) for m in run.metrics}
    assert kinds == {
        "acc": (True, None, "higher"),
        "rouge l": (False, None, "higher"),  # within 0 and 1, but nobody says that it has to be
        "loss": (False, None, "higher"),
        "bits": (False, None, "higher"),
    }
    assert run.headline == ("acc", "rouge l", "loss", "bits")
    assert run.units["text"].tolist() == ["one", "two", "three", "four"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_metric_without_direction_is_described_and_never_judged(
    kind: str, tmp_path: Path
) -> None:
    rows = []
    for row in grid(seeds=1):
        right = row["value"] if row["condition"] == "A" else 1
        rows.append({**row, "metric": "tokens", "value": 100 + 50 * right})
        rows.append({**row, "value": right, "higher_is_better": True})
    study = et.study([put(tmp_path, rows, kind)], suite="table", resampling=FEW)
    run = study.conditions["A"]["1"]
    assert [m.better for m in run.metrics] == ["none", "higher"]
    assert run.headline == ("acc", "tokens")  # what has a direction leads
    verdicts = study.frame.set_index("metric")["verdict"]
    assert verdicts["acc"] == "better"
    assert "tokens" not in verdicts
    assert run.value("tokens") > 100


def test_an_empty_column_of_directions_says_that_none_is_known(tmp_path: Path) -> None:
    rows = [{**row, "higher_is_better": None} for row in ROWS]
    for data in (put(tmp_path, rows, "csv"), put(tmp_path, rows, "xlsx"), pd.DataFrame(rows)):
        run = et.evaluate("table", data)
        assert {m.better for m in run.metrics} == {"none"}, type(data)


def test_limits_of_a_metric(tmp_path: Path) -> None:
    rows = [{**row, "low": -5, "high": 5.5} if row["metric"] == "loss" else row for row in ROWS]
    run = et.evaluate("table", put(tmp_path, rows, "csv"))
    limits = {m.name: (m.proportion, m.bounds) for m in run.metrics}
    assert limits["loss"] == (False, (-5.0, 5.5))
    assert limits["acc"] == (True, None)
    assert limits["rouge l"] == (False, None)
    assert run["loss"]["ci_low"] >= -5 and run["loss"]["ci_high"] <= 5.5
    for bounds in (("loss=-9,9",), {"loss": (-9, 9)}):
        other = et.study(put(tmp_path, rows), suite="table", bounds=bounds)
        assert other.metric("loss").bounds == (-9.0, 9.0)


def test_trials_are_repeated_draws_of_one_sample() -> None:
    rows = [
        {"id": i, "metric": "acc", "value": int(i % 2 or trial == 1), "trial": trial}
        for i in range(20)
        for trial in range(1, 4)
    ]
    rows.append({"id": 20, "metric": "acc", "value": 1, "trial": 1})
    run = et.evaluate("table", rows)
    assert run.n_units == 21  # samples are resampled, with all their trials
    # a sample weighs 1, with however many trials: its value is their mean
    assert run["acc"]["denominator"] == 21
    assert run.value("acc") == pytest.approx((10 + 10 / 3 + 1) / 21, abs=1e-12)
    assert run.units["trial"].tolist()[:4] == ["1", "2", "3", "1"]


FURTHER = [
    {"id": "a", "metric": "acc", "value": 1, "level": 2, "topic": "law", "hard": True},
    {"id": "a", "metric": "f1", "value": 0.5, "level": 2, "topic": "law", "hard": True},
    {"id": "b", "metric": "f1", "value": 0.7, "level": 3, "topic": None, "hard": False},
    {"id": "b", "metric": "acc", "value": 0, "level": 3, "topic": "art", "hard": False},
]


@pytest.mark.parametrize("kind", KINDS)
def test_further_columns_are_columns_of_the_units(kind: str, tmp_path: Path) -> None:
    run = et.evaluate("table", put(tmp_path, FURTHER, kind), out=tmp_path / "out")
    assert run.units["topic"].tolist() == ["law", "art"]
    assert run.units["level"].tolist() == [2, 3]
    assert run.units.query("level > 2")["id"].tolist() == ["b"]
    hard = run.units["hard"].map(str).tolist()  # CSV has words only
    assert hard == ["True", "False"]
    parts = run.by("topic", "f1").set_index("part")["value"]
    assert parts.to_dict() == {"law": 0.5, "art": 0.7}
    read_back = et.load(tmp_path / "out" / "results" / "scores")
    pd.testing.assert_frame_equal(read_back.units, run.units)


def test_a_further_column_of_many_kinds_is_text(tmp_path: Path) -> None:
    kinds: list[Any] = [1, "two", True, 2.5, None, [1], {"a": 1}]
    rows = [{"id": f"s{i}", "metric": "acc", "value": 1, "x": x} for i, x in enumerate(kinds)]
    run = et.evaluate("table", put(tmp_path, rows))
    texts = [None if pd.isna(x) else x for x in run.units["x"]]
    assert texts == ["1", "two", "True", "2.5", None, "[1]", "{'a': 1}"]
    # what a number would lose: digits, zeros at an end, and what it was ten thousand rows before
    zeros = ["007", "7"], ["1.1", "1.10"]
    for values in ([2**53 + 1, None], [10**400, 1], *zeros, [1, None] * 5_000 + [1, "x"]):
        rows = [{"id": f"s{i}", "metric": "acc", "value": 1, "x": x} for i, x in enumerate(values)]
        kept = et.evaluate("table", put(tmp_path, rows, "csv" if values in zeros else "jsonl"))
        assert set(kept.units["x"].dropna()) == {str(x) for x in values if x is not None}


def test_a_further_column_that_the_units_have_is_left_out(tmp_path: Path) -> None:
    rows = [{**row, "line": 7, "num_acc": 8} for row in FURTHER]
    for kind in KINDS:
        run = et.evaluate("table", put(tmp_path, rows, kind))
        assert run.value("acc") == 0.5, kind
        assert {p.code: p.count for p in run.manifest.problems} == {"column-taken": 2}, kind
    # metrics whose names differ by signs alone have columns of their own, the same in any order of the rows
    names = ["<1s", ">1s"]
    runs = []
    for order in (names, names[::-1]):
        rows = [
            {"id": i, "metric": m, "value": 0.5 * (m == "<1s")} for m in order for i in range(12)
        ]
        runs.append(et.evaluate("table", rows, name=f"r{len(runs)}"))
    assert et.compare(*runs).frame["delta"].tolist() == [0, 0]
    rows = [{**row, "Cluster": "c"} for row in rows]
    with pytest.raises(et.InputError, match="the column 'Cluster': write cluster, or another name"):
        et.evaluate("table", put(tmp_path, rows, "csv"))


def test_clusters_are_resampled() -> None:
    rows = [{"id": i, "metric": "acc", "value": i % 2, "cluster": f"c{i // 4}"} for i in range(80)]
    rows.append({"id": 80, "metric": "acc", "value": 1})
    run = et.evaluate("table", rows)
    assert run.n_units == 21  # 20 clusters of four, and a row that has none
    assert list(run.units.columns[:2]) == ["id", "item"]
    assert run.value("acc") == 41 / 81
    assert run.checks[0].message.startswith("Only 21 clusters of 81 samples: ")
    assert "n = 21 clusters of 81 samples" in et.study([run]).paragraph()
    # a cluster in some rows of a sample is that of all of them
    trials = [row | {"trial": t} for row in rows[:80] for t in "ab"]
    del trials[0]["cluster"]
    assert et.evaluate("table", trials).n_units == 20
    study = et.study(
        [row | {"condition": c} for c in "ab" for row in rows[c == "b" :]], suite="table"
    )
    assert "all 81 samples: b_data lacks 1. " in str([check.message for check in study.checks])
    with pytest.raises(
        et.InputError, match="81: c1: cluster: a cluster has the name of this sample"
    ):
        et.evaluate("table", [*rows[:-1], rows[-1] | {"id": "c1"}])


def test_a_file_of_several_runs(tmp_path: Path) -> None:
    study = et.study([put(tmp_path, grid())], suite="table", resampling=FEW)
    by_hand = pd.DataFrame(grid()).groupby(["condition", "seed"])["value"].mean()
    found = {
        (c, int(s)): r.value("acc") for c, of in study.conditions.items() for s, r in of.items()
    }
    assert found == by_hand.to_dict()
    ranked = ("rank", "--suite", "table", tmp_path / "scores.jsonl", "--metric", "acc")
    assert "condition" in call(*ranked, "-o", tmp_path).output


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ((), {"scores"}),
        (("condition",), {"A_scores", "B_scores"}),
        (("seed",), {"seed1_scores", "seed2_scores"}),
    ],
)
def test_names_of_runs(columns: tuple[str, ...], names: set[str], tmp_path: Path) -> None:
    rows = pd.DataFrame(grid(seeds=2)).drop_duplicates(["id", *columns])
    path = put(tmp_path, rows[["id", "metric", "value", *columns]], "csv")
    call("score", "table", path, "-o", tmp_path / "out", "-q", *QUICK)
    assert {p.name for p in tmp_path.glob("out/results/[!.]*")} == names


CONDITIONS = ("gpt-4o (2024-08)", "模型 A", "lr=1e-3", "Model_v2.1", "with  two blanks", "missed")


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_names_of_conditions_and_seeds_are_used_as_they_stand(kind: str, tmp_path: Path) -> None:
    rows = [
        {**ROW, "id": i, "condition": condition, "seed": seed}
        for condition in CONDITIONS
        for seed in ("007", "b-2")
        for i in range(3)
    ]
    study = et.study([put(tmp_path, rows, kind)], suite="table", resampling=FEW)
    assert set(study.conditions) == set(CONDITIONS)
    for condition, runs in study.conditions.items():
        assert list(runs) == ["007", "b-2"]
        assert runs["007"].name == f"{condition}__seed007_scores"


def test_report_of_a_declared_primary_metric(tmp_path: Path) -> None:
    out = tmp_path / "out"
    path = put(tmp_path, [{**row, "metric": metric} for row in grid() for metric in ("acc", "f1")])
    with without_pages():
        done = call(
            "report", "seeds", path, "--suite", "table", "--primary", "f1", "-o", out, *QUICK
        )
    assert "on “f1”" in done.output and "on “acc”" not in done.output
    assert done.output.index("f1 ↑") < done.output.index("acc ↑")


def test_conditions_without_seeds_are_compared_unless_one_is_lost(tmp_path: Path) -> None:
    path = put(tmp_path, pd.DataFrame(grid("abc", seeds=1)).drop(columns="seed"), "csv")
    asked = ("-o", tmp_path / "out", *QUICK)
    with without_pages():
        declared = ("--suite", "table", "--baseline", "b_scores")
        assert "A b_scores" in call("report", "seeds", path, *declared, *asked).output
        path.write_text(path.read_text() + path.read_text().splitlines()[1])
        done = call("report", "table", path, *asked, "--fresh", status=3)
    assert "2 done; 1 failed (a_scores)" in done.output and "A b_scores" not in done.output


def test_names_that_differ_in_signs_alone_are_metrics_of_their_own() -> None:
    names = ("a_b_2_", "a b", "a-b")
    rows = [
        {"id": str(i), "metric": name, "value": value}
        for value, name in enumerate(names)
        for i in range(3)
    ]
    run = et.evaluate("table", rows, resampling=FEW)
    assert [run.value(name) for name in names] == [0, 1, 2]


@pytest.mark.parametrize("value", [None, 0, 1])
def test_a_condition_without_graded_values_compares_with_one_that_has_them(value: Any) -> None:
    """All values null, or all 0: that is no other metric."""
    graded = [{"id": f"q{i}", "metric": "m", "value": i / 40} for i in range(40)]
    flat = [{**row, "value": value} for row in graded]
    for sides in ((graded, flat), (flat, graded)):
        cmp = et.compare(*sides, suite="table", n_resamples=100)
        if value is None:
            assert cmp["m"]["verdict"] == "not measured"
        else:
            assert abs(cmp["m"]["delta"]) == pytest.approx(abs(value - 0.4875))
            assert cmp["m"]["ci_method"] == "bca-t", "no limits, which a proportion would have"


def test_samples_without_a_value_or_with_an_error_are_counted() -> None:
    rows = [{"id": i, "metric": "acc", "value": 1, "cluster": i // 2} for i in range(40)]
    for row in rows[10:]:
        row |= {"value": None, "error": "429" if row["id"] < 14 else None}
    rows.append({**rows[0], "metric": "of one sample"})  # others have no row of it: none is missing
    run = et.evaluate("table", rows)
    few, check = run.checks[:2]
    assert (check.code, check.n, check.of) == ("errored-rows", 30, 40)
    assert "acc (30), 429 (4). 0 of them" in check.message
    assert few.message.startswith("Only 5 of 20 units have")
    assert run["acc"]["value"] == 1 and run["acc"]["denominator"] == 10


def test_a_system_without_a_row_of_a_metric_lacks_it() -> None:
    rows = [
        {"id": 1, "metric": metric, "value": 1, "condition": condition}
        for metric, condition in (("acc", "b"), ("tone", "a"))
    ]
    run = et.evaluate("table", rows, name="b_data", resampling=FEW)
    assert run["tone"]["n_units"] == 0 and run["acc"]["n_units"] == 1


def test_a_system_whose_calls_all_failed_has_a_page_and_no_verdict() -> None:
    """A rate limit is no wrong answer: nothing pairs, and the page says why."""
    a = [{"id": f"q{i}", "metric": "acc", "value": i % 2, "condition": "a"} for i in range(20)]
    b = [{**row, "condition": "b", "value": None, "error": "429"} for row in a]
    study = et.study([*a, *b], suite="table", resampling=FEW)
    assert study["acc"]["verdict"] == "not measured"
    page = study._repr_html_()
    assert "429 (20)" in page and "share no" not in page
