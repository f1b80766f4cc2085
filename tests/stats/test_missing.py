"""What one side lacks: a null is a row left out, both ends, and what is not missing at random."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaltools.core.estimates import Resampling
from evaltools.core.messages import UsageError
from evaltools.core.metric import Mean, Metric, MetricTable
from evaltools.report.study_sentences import verdict_parts
from evaltools.stats.compare import ranks
from evaltools.stats.effects import unit_changes
from evaltools.stats.formulas import p_random
from evaltools.stats.intervals import aggregate, estimate
from evaltools.stats.plan import plan
from tests.stats.comparing import Runs, compare, labelled, minus, ratio

JUDGE = ratio("judge", "score", "scored", bounds=(0, 1))
RATE = ratio("rate", "hit", "tries", better="lower", proportion=True)
TABLE: MetricTable = [
    JUDGE,
    RATE,
    minus("gap", "judge", "rate"),
    Mean(name="both", of=("judge", "rate"), better="higher"),
]
R = Resampling(n_resamples=200)
ENDS = ["missing_baseline", "missing_candidate", "delta_worst", "delta_best"]


def units(n: int = 40, key: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng([n, key])
    ids = [f"u{i:03d}" for i in range(n)]
    score, hit = rng.random(n).round(3), (rng.random(n) < 0.4).astype(float)
    return pd.DataFrame({"id": ids, "score": score, "scored": 1.0, "hit": hit, "tries": 1.0})


def silent(frame: pd.DataFrame, where: Sequence[int]) -> pd.DataFrame:
    """The judge gives these units no score."""
    frame = frame.copy()
    frame.loc[list(where), ["score", "scored"]] = None
    return frame


def without(frame: pd.DataFrame, where: Sequence[int]) -> pd.DataFrame:
    return frame.drop(index=list(where))


def compared(a: Runs, b: Runs, table: MetricTable = TABLE, **options: object) -> pd.DataFrame:
    headline = [metric.name for metric in table if isinstance(metric, Metric)]
    return compare(a, b, table, R, headline, n_permutations=499, **options)  # type: ignore[arg-type]


def row(c: pd.DataFrame, metric: str = "judge") -> pd.Series:
    return c.loc[metric]


def pair(a: pd.DataFrame, b: pd.DataFrame, metric: str = "judge", **how: Any) -> pd.Series:
    """One run against another."""
    return row(compared({"": a}, {"": b}, **how), metric)


def runs(change: Callable[..., pd.DataFrame], key: int, n_seeds: int) -> Runs:
    """Another unit is lacking under each of the seeds."""
    lacking = [3, 8, 9, 20, 31]
    return {s: change(units(key=key + s), lacking[s:]) for s in range(n_seeds)}


@pytest.mark.parametrize("n_seeds", [1, 3])
def test_a_null_is_a_row_left_out_everywhere(n_seeds: int) -> None:
    results = []
    for change in (silent, without):
        a, b, c = (runs(change, 10 * k, n_seeds) for k in range(3))
        conditions = labelled([JUDGE], a, b, c)
        results.append(
            [
                compared(a, b, [JUDGE]),
                estimate(pd.concat(a.values()), [JUDGE], "id", R),
                aggregate(conditions, R),
                ranks(conditions, "judge", R, 499),
                unit_changes(conditions[:2], "judge"),
            ]
        )
    for with_nulls, left_out in zip(*results):
        pd.testing.assert_frame_equal(with_nulls, left_out, rtol=1e-9)


def test_a_further_seed_of_one_side_undoes_no_pairs() -> None:
    """Its texts, which are other ones, leave out nothing, and a plan takes the pairs too."""
    a, b = ({s: f.assign(text="one") for s, f in runs(silent, key, 3).items()} for key in (0, 10))
    more = b | {9: units().assign(text="another")}
    pd.testing.assert_frame_equal(compared(a, b), compared(a, more))
    plans = [plan(labelled([JUDGE], a, side), "judge", 0.1) for side in (b, more)]
    pd.testing.assert_frame_equal(*plans)


def test_a_macro_mean_takes_the_rows_that_both_sides_have() -> None:
    """Two rows a unit, wrong and right; the other side, all right, lacks one wrong row: of that unit 1 and 1 remain."""
    macro = replace(JUDGE, name="macro", macro=True)
    a = units(24).assign(item=range(24), id=np.repeat(range(12), 2), score=[0, 1] * 12)
    found = pair(a, silent(a.assign(score=1), [0]), "macro", table=[macro])
    assert found["value_baseline"] == pytest.approx((1 + 11 / 2) / 12)
    assert (found["value_candidate"], found["missing_candidate"]) == (1, 1)
    assert found["delta_best"] == pytest.approx(0.5)
    assert found["delta_worst"] == pytest.approx(11.5 / 12 - 0.5)


def test_a_metric_that_no_signs_can_show_costs_the_others_nothing() -> None:
    same = replace(RATE, name="same", numerator="tries", better="higher")
    found = pair(units(), units(key=1), "rate", table=[JUDGE, RATE, same])
    assert found["p_adjusted"] == found["p_value"]


def test_half_the_values_missing_where_they_are_low_buys_no_verdict() -> None:
    """Equal systems; the judge is silent on the candidate's own low half. The row keeps delta, n and both ends."""
    rng = np.random.default_rng(0)
    a = units(120)
    b = a.assign(score=np.clip(a["score"] + rng.normal(0, 0.15, 120), 0, 1))
    b = silent(b, b["score"].sort_values().index[:60].tolist())
    found = pair(a, b)
    assert found["p_value"] != found["p_value"]
    assert (found["verdict"], found["ci_method"]) == ("not measured", "none")
    assert found["delta_worst"] < 0 < found["delta_best"]
    # ranks do not tell such a pair apart either
    both = ranks(labelled([JUDGE], {"": a}, {"": b}), "judge", R)
    assert both[["rank_low", "rank_high"]].values.tolist() == [[1, 2], [1, 2]]
    # nor in another unit of measure
    a["score"], b["score"] = a["score"] * 1e-12, b["score"] * 1e-12
    assert pair(a, b)["verdict"] == "not measured"


def test_a_mean_of_metrics_is_tested_by_samples_that_count_in_one() -> None:
    a = units(120).assign(scored=[1, 0] * 60, tries=[0, 1] * 60)
    found = compared({"": a}, {"": silent(a, a["score"][::2].nsmallest(30).index)})
    assert row(found, "both")["blocked"] == "missing-not-random"


def test_what_is_missing_at_random_stays_usable() -> None:
    a = units(120)
    b = a.assign(score=a["score"] * 0.9)
    found = pair(a, silent(b, range(0, 120, 10)))
    assert (found["verdict"], found["n_units"], found["missing_candidate"]) == ("worse", 108, 12)
    # one value that the other side lacks could move it by 1/120, and not what was tested
    found = pair(silent(a, [1]), silent(b, range(0, 120, 10)))
    assert found["verdict"] == "worse"


def test_clusters_missing_whole_are_so_many_values() -> None:
    """Ten alike of each of three clusters that happen to be high are three values, not thirty."""
    level = np.repeat(np.linspace(0.1, 0.9, 12), 10)
    a = units(120).assign(item=range(120), id=np.repeat(range(12), 10), score=level)
    found = pair(a, without(a, [*range(40, 50), *range(80, 100)]))
    assert found["missing_candidate"] == 30 and found["verdict"] != "not measured"
    found = pair(a, without(a, range(90, 120)))
    assert found["blocked"] == "missing-not-random"
    # one of ten in each cluster, none a hit where one of the nine others is: what chance gives
    hits = a.assign(hit=a["item"] % 10 == 0)
    found = compared({"": hits}, {"": without(hits, range(1, 120, 10))})
    assert row(found, "rate")["verdict"] != "not measured"


def test_fewer_than_three_missing_must_hold_at_both_ends() -> None:
    a = units(20)
    b = a.assign(score=np.clip(a["score"] + 0.02 + 0.01 * (np.arange(20) % 3), 0, 1))
    a = a.assign(score=np.clip(a["score"], 0, 0.9))
    assert pair(a, b)["verdict"] == "better"
    lossy = silent(b, [int(a["score"].argmax())])
    one_less = pair(a, lossy)
    assert (one_less["verdict"], one_less["short"]) == ("tied", "missing")
    sides = labelled([JUDGE], {"": a}, {"": lossy})
    assert ranks(sides, "judge", R)["rank_high"].tolist() == [2, 2]
    assert verdict_parts(one_less.to_dict() | {"metric": "judge"}, R)[1].endswith(
        "no verdict: missing values could turn it."
    )
    # also where all differ alike, without limits, and have no interval
    a["score"] = range(20)
    alike = silent(a.assign(score=range(1, 21)), [19])
    found = pair(a, alike, table=[replace(JUDGE, bounds=None)])
    assert (found["ci_method"], found["short"]) == ("none", "missing")


def test_metrics_of_one_sample_may_have_trials_of_their_own() -> None:
    """Two trials of one metric, and one of the judge: nothing is missing."""
    trials = [units().assign(trial=1), silent(units(), range(40)).assign(trial=2)]
    a = pd.concat(trials, ignore_index=True)
    assert not compared({"": a}, {"": a})["missing_baseline"].any()


def test_an_equivalence_too_must_hold_at_both_ends() -> None:
    """Scores move by .001 up or down; two of 300 that are missing could move their mean by 2/300."""
    a = units(300)
    moved = a["score"] + np.where(np.arange(300) % 2, 0.001, -0.001)
    b = a.assign(score=moved.clip(0, 1))
    margin = {"judge": 0.004}
    assert pair(a, b, margin=margin)["verdict"] == "equivalent"
    two_less = pair(a, silent(b, [0, 1]), margin=margin)
    assert (two_less["verdict"], two_less["short"]) == ("tied", "missing")


def test_p_random_is_the_larger_of_student_and_welch() -> None:
    rng = np.random.default_rng(1)
    for shift in (0.0, 0.4, 1.0, 2.0):
        missing, present = rng.normal(shift, 1, 8), rng.normal(size=22)
        p = [stats.ttest_ind(missing, present, equal_var=e).pvalue for e in (True, False)]
        assert p_random(missing, present) == pytest.approx(max(p))
    # six of which all are right, of a system that is right in most: no sign of anything
    assert p_random(np.ones(6), np.repeat([1.0, 0.0], [40, 14])) > 0.05
    assert p_random(np.zeros(3), np.ones(3)) == 0


@given(st.lists(st.integers(0, 39), max_size=25), st.lists(st.integers(0, 39), max_size=25))
@settings(max_examples=10, deadline=None)
def test_the_ends_hold_whatever_was_not_measured(lack_a: list[int], lack_b: list[int]) -> None:
    """Of cells that one side alone lacks, no value within the limits leads out of the ends."""
    a, b = units(), units(key=1)
    both = sorted(set(lack_a) & set(lack_b))
    c = pair(silent(a, lack_a), silent(b, lack_b))
    kept = np.setdiff1d(np.arange(40), both)
    delta = b["score"][kept].mean() - a["score"][kept].mean()
    assert c["delta_worst"] - 1e-12 <= delta <= c["delta_best"] + 1e-12


def test_the_difference_of_the_pairs_may_lie_outside_the_ends() -> None:
    """Of 20 samples the candidate lacks 5 that the baseline has wrong: they cannot lower a difference of -1."""
    a = units(20).assign(score=np.repeat([1.0, 0.0], [15, 5]))
    b = silent(a.assign(score=0.0), range(15, 20))
    found = pair(a, b)
    ends = found[["delta", "delta_worst", "delta_best"]].tolist()
    assert ends == pytest.approx([-1, 0 - 15 / 20, 5 / 20 - 15 / 20])
    # which samples count is a run's own: 15 or 14 of 20, and the one that the candidate lacks may be a hit
    a = units(20).assign(hit=0, tries=[1] * 15 + [0] * 5)
    b = without(a.assign(tries=[1] * 14 + [0] * 6), [19])
    found = pair(a, b, "rate")
    assert found[["n_cells", "missing_candidate", "delta_worst"]].tolist() == pytest.approx(
        [16, 1, 1 / 15]
    )
    # one of two trials of the only right one of 10 samples: that sample is right in half or all of them
    a = units(20).assign(id=np.repeat(range(10), 2), trial=[0, 1] * 10, score=1.0)
    b = silent(a.assign(score=[1.0] * 2 + [0.0] * 18), [0])
    found = pair(a, b)
    assert found[["delta_worst", "delta_best"]].tolist() == pytest.approx([0.05 - 1, 0.1 - 1])
    # and where the other side lacks the whole sample: one trial of two is 0 or 1 at either end
    found = row(compared({"": silent(a, [0, 1])}, {"": b}))
    assert found[ENDS].tolist() == pytest.approx([1, 1, 0.05 - 1, 0.1 - 0.9])
    # what both sides lack is open under every other seed too
    c = row(compared({0: silent(a, [0])}, {1: a, 2: silent(a, [0])}))
    assert c[ENDS].tolist() == pytest.approx([1, 1, -0.025, 0.05])
    # of a mean only the part that lacks
    b = units(20).assign(hit=1, score=0.5, tries=[1, 0] * 10, scored=[0, 1] * 10)
    found = pair(b, without(b, [0]), "both")
    assert found[["delta_worst", "delta_best"]].tolist() == pytest.approx([-0.05, 0])
    # of a difference too: .5 less 1 there, less 9 or 10 of 10 here
    found = pair(b, without(b, [0]), "gap")
    assert found[["delta_worst", "delta_best"]].tolist() == pytest.approx([0, 0.1])
    # a seed in which it has no value at all is at the ends, and one without an upper limit at what was seen
    for limits in ((0, 1), (0, np.inf)):
        table = [replace(JUDGE, bounds=limits)]
        c = row(compared({1: a, 2: a}, {1: a, 2: silent(a, range(20))}, table))
        assert c[["delta_worst", "delta_best"]].tolist() == [-0.5, 0]


@pytest.mark.parametrize("label", ["item", "turn_pair_id"])
def test_rows_of_a_unit_that_one_side_lacks_take_no_part(label: str) -> None:
    a = units().assign(id=np.repeat([f"c{i}" for i in range(20)], 2), **{label: [1, 2] * 20})
    b = a.assign(score=a["score"] + 0.01)
    found = pair(a, b.iloc[1:])
    expected = pair(a.iloc[1:], b.iloc[1:])
    assert found["delta"] == expected["delta"] and found["missing_candidate"] == 1


@pytest.mark.parametrize("column", ["text", "compared_gold"])
def test_rows_that_pair_but_have_another_text_or_gold_are_other_questions(column: str) -> None:
    a = units(40).assign(text="alike")
    a[column] = [f"question {i}" for i in range(40)]
    b = a.assign(score=a["score"] * 0.9)
    few = b.assign(**{column: ["another"] * 3 + [None] * 2 + a[column].tolist()[5:]})
    found = compared({"": a}, {"": few})
    assert row(found)[["n_other_texts", "n_units"]].tolist() == [3, 37]
    shifted = b.assign(**{column: np.roll(a[column], 1)})
    # the other questions of one seed are no better
    for sides in (({"": a}, {"": shifted}), ({1: a, 2: a}, {1: b, 2: shifted})):
        with pytest.raises(UsageError, match="40 of 40 pairs have another text or gold"):
            compared(*sides)
    # each seed is held against its own, or both versions of a side against those of the other
    for first, second, n in ((few, a, 3), (a, few, 0)):
        found = compared({1: a, 2: few}, {1: first, 2: second})
        assert row(found)["n_other_texts"] == n


def test_what_is_missing_is_asked_of_each_pair_and_metric_alone() -> None:
    """p is .035: other conditions, and other metrics, give no leave to a pair."""
    a = units(60).assign(score=np.linspace(0, 0.8, 60))
    b = silent(a.assign(score=a["score"] + 0.1), [0, 4, 8, 12, 16, 20, 24, 44])
    others = [{"": a.assign(score=np.roll(a["score"], n))} for n in (7, 19)]
    ranked = ranks(labelled([JUDGE], {"": a}, {"": b}, *others), "judge", R)
    assert ranked["rank_low"].tolist()[:2] == [1, 1]
    assert pair(a, b)["verdict"] == "not measured"


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("score", 1.5, r"row 3 \(id u002\): judge is 1.5, which is not within 0 and 1"),
        ("id", "u001", r"row 3 \(id u001, item 0\): a second row of one sample"),
    ],
)
def test_bad_values_are_named_by_row_and_column(column: str, value: Any, message: str) -> None:
    frame = units().assign(item=0)
    frame.loc[2, column] = value
    for call in (
        lambda: compared({"": units()}, {"": frame}),
        lambda: estimate(frame, [JUDGE], "id", R),
    ):
        with pytest.raises(UsageError, match=message):
            call()


def test_trials_that_are_missing_are_no_good_news() -> None:
    """Equal systems, 2 of 4 trials right in 20 hard samples, all in 20 easy ones; one loses its wrong trials.

    Its mean is then 1, and would be .75 if a quarter of all were wrong, as it is. The other loses a right one of each
    hard sample: 2/3 where it has .75.
    """
    ids, trial = np.divmod(np.arange(160), 4)
    right = np.where((ids < 20) & (trial < 2), 0.0, 1.0)
    base = pd.DataFrame(
        {
            "id": ids,
            "trial": trial,
            "hit": right,
            "tries": np.where((ids < 20) & (trial == 2), np.nan, 1),
        }
    )
    lossy = base.assign(tries=np.where(right, 1, np.nan))
    row = compare({"": base}, {"": lossy}, [RATE], R, ["rate"]).iloc[0]
    assert row["delta"] > 0.3 and row["verdict"] == "not measured"
    assert row["missing_baseline"] == row["missing_candidate"] == 20
    assert row["delta_best"] == pytest.approx(0)
