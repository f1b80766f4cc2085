"""What a notebook cell gets: runs and studies that show themselves, their tables, units, samples and figures."""

from pathlib import Path

import pandas as pd
import pytest

import evaltools as et

FAST = et.Resampling(n_resamples=100)
F1 = "tuple_f1_s2_refpol"
EXAMPLE = "example:cr/with_memory__seed1_proposed"


@pytest.fixture(scope="module")
def run() -> et.Run:
    return et.evaluate("cr", EXAMPLE, resampling=FAST)


@pytest.fixture(scope="module")
def other() -> et.Run:
    return et.evaluate("cr", "example:cr/no_memory__seed1_proposed", resampling=FAST)


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
    for sums, said in (
        ("f1_s2_refpoll", "did you mean f1_s2_refpol"),
        ("n == 1", "as a column first"),
    ):
        with pytest.raises(et.UsageError, match=said):
            run.estimate(et.Metric(name="x", numerator=sums, denominator="n", better="none"))


def test_units_that_differ_between_two_runs(run: et.Run, other: et.Run) -> None:
    found = other.diff(run)
    assert list(found.columns[:4]) == ["text_id", "baseline", "candidate", "change"]
    assert found["change"].abs().is_monotonic_decreasing
    mine, theirs = (r.units.set_index("text_id")["f1_s2_refpol"] for r in (other, run))
    row = found.iloc[0]
    assert row["change"] == pytest.approx(theirs[row["text_id"]] - mine[row["text_id"]])
    assert run.diff(run).empty
    with pytest.raises(et.UsageError, match="share no text_id: nothing to compare"):
        run.where("text_id == 'review-001'").diff(other.where("text_id != 'review-001'"))


def test_samples_by_group_and_by_query(run: et.Run) -> None:
    ids = run.units.query("outcome_refpol == 'still'")["text_id"]
    found = run.samples("outcome_refpol == 'still'")
    assert 0 < len(ids) < 100 and all(i in found.html for i in ids)
    assert "et-sample" in run.samples("broken").html
    assert (run.samples("broken").frame["outcome_refpol"] == "break").all()
    for wrong in ("nosuch > 1", "outcome_refpol ==", "'still'", "n +"):
        with pytest.raises(
            et.UsageError, match=r"is no query on the units .*groups: .*broken.*columns: "
        ):
            run.samples(wrong)


def test_a_run_beside_itself_has_two_names(run: et.Run) -> None:
    same = et.compare(run, run)
    assert (same.frame["delta"].dropna() == 0).all()
    assert same.baseline.endswith("(A)") and same.candidates[0].endswith("(B)")


def test_runs_that_cannot_be_put_together(run: et.Run) -> None:
    for runs, said in (
        ([], "no runs given"),
        ([""], "names no run"),
        ({"m": run}, "in memory, got dict"),
        ([run, "example:memfin/memory_agent"], r"is a run of memfin, .* of cr"),
    ):
        with pytest.raises(et.UsageError, match=said):
            et.study(runs, resampling=FAST)
    with pytest.raises(et.UsageError, match="no runs given"):
        et.compare(run, [[]])
    with pytest.raises(et.UsageError, match="no condition ''"):
        et.study([run], baseline="")


def test_where_takes_rows_of_the_units(run: et.Run, tmp_path: Path) -> None:
    """A notebook filters its units and adds columns; the numbers follow, also those of the files."""
    units = run.units.query("n_gold_tuples > 1").assign(long=lambda u: u["text"].str.len() > 20)
    part = run.where(units)
    same = run.where("n_gold_tuples > 1")
    pd.testing.assert_frame_equal(part.frame, same.frame)
    assert part.value(F1) == pytest.approx(units["f1_s2_refpol"].mean())
    assert "n_gold_tuples > 1" in same.signature
    assert {"few-units", "query"} <= {check.code for check in part.checks}
    assert part.n_units == len(units) and f"where:{len(units)} of" in part.signature
    assert set(part.by(units["long"], run.primary)["part"]) == {"True", "False"}
    assert run.where(run.units) is run
    asked = {"query": "n_gold_tuples > 1", "out": tmp_path, "resampling": FAST}
    assert et.evaluate("cr", EXAMPLE, **asked).manifest.n_units == len(units)
