"""Verdicts: p and interval decide together. What was once hidden or invented has the right answer here."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import evaltools as et
from evaltools.core.estimates import Resampling
from evaltools.core.metric import Mean, Metric
from evaltools.stats.intervals import estimate
from tests.stats.comparing import (
    MEAN,
    SCORE,
    compare,
    compared,
    differing,
    frame,
    minus,
    ratio,
    two,
)

RIGHT = ratio("right", "y", proportion=True)
R = Resampling()


def pair(a: object, b: object, metric: Metric = SCORE, **options: object) -> pd.Series:
    sides = {"": frame(a)}, {"": frame(b)}
    return compare(*sides, [metric], R, [metric.name], **options).iloc[0]  # type: ignore[arg-type]


def test_thirteen_rises_and_no_fall_of_fifty_are_shown() -> None:
    """Between two runs, and within one: paired t of the differences, which sign flips agree with."""
    rng = np.random.default_rng(0)
    before = rng.choice([0.0, 0.4, 0.5], 50)
    after = before + np.where(np.arange(50) < 13, rng.choice([0.1, 0.2, 0.4], 50), 0.0)
    row = pair(before, after)
    t = stats.ttest_rel(after, before).confidence_interval()
    assert (row["verdict"], row["ci_method"], row["n_differ"]) == ("better", "t", 13)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((t.low, t.high))
    assert row["p_value"] == pytest.approx(2**-12)
    stages = [ratio(name, name, bounds=(0, 1)) for name in ("before", "after")]
    change = minus("change", "after", "before")
    one_run = frame(before).assign(before=before, after=after)
    within = estimate(one_run, [*stages, change], "id", R).set_index("name").loc["change"]
    assert (within["ci_low"], within["ci_high"]) == pytest.approx((t.low, t.high))


def test_limits_take_nothing_from_a_small_dense_result() -> None:
    """20 pairs, +.03 +- .04: better, with limits as without."""
    rng = np.random.default_rng(1)
    a = rng.uniform(0.3, 0.6, 20)
    d = rng.normal(size=20)
    b = a + 0.03 + 0.04 * (d - d.mean()) / d.std(ddof=1)
    for bounds in ((0, 1), None):
        row = et.compare(a.tolist(), b.tolist(), bounds=bounds)["value"]
        assert row["verdict"] == "better" and row["ci_low"] > 0 and row["p_value"] < 0.01


def test_more_trials_where_samples_are_hard_make_no_difference() -> None:
    """Base has 3 trials a sample, the candidate more of them where it fails: all samples weigh alike."""
    rng = np.random.default_rng(0)
    chance = rng.uniform(0, 1, 60)
    sides = []
    for trials in (np.full(60, 3), 1 + rng.binomial(8, 1 - chance)):
        ids = np.repeat(np.arange(60), trials)
        number = np.concatenate([np.arange(n) for n in trials])
        sides.append(
            {"": frame((rng.random(len(ids)) < chance[ids]).astype(int), id=ids, trial=number)}
        )
    row = compare(sides[0], sides[1], [RIGHT], R, ["right"]).iloc[0]
    means = [side[""].groupby("id")["y"].mean() for side in sides]
    assert row["delta"] == pytest.approx((means[1] - means[0]).mean())


def test_identical_sides_are_equivalent_where_they_are_many() -> None:
    """1 - .05^(1/300) = .0099 of the units could differ, also for the one-sided tests of equivalence; 12 are too few."""
    y = np.arange(300) % 2
    row = pair(y, y, RIGHT, margin={"right": 0.05})
    assert (row["verdict"], row["ci_method"]) == ("equivalent", "mover")
    assert row["ci_high"] == pytest.approx(1 - 0.05 ** (1 / 300))
    assert row["equivalence_low"] == pytest.approx(-(1 - 0.05 ** (1 / 300)))
    assert pair(y[:12], y[:12], RIGHT, margin={"right": 0.05})["verdict"] == "too few"
    # the sums of trials .1, .2, .3 and .3, .2, .1 differ by rounding
    ids, trials = np.divmod(np.arange(36), 3)
    same = frame((trials + 1) / 10, id=ids, trial=trials)
    row = compare({"": same}, {"": same[::-1]}, [SCORE], R, ["score"]).iloc[0]
    assert (row["n_differ"], row["p_value"]) == (0, 1)
    # over seeds too: one of 60 that differs is not surer than none
    a = {seed: frame(y[:60]) for seed in (1, 2, 3)}
    b = {seed: frame(np.append(y[:59], 0)) for seed in (1, 2, 3)}
    b[3] = a[3]
    margin = {"right": 0.02}
    row = compare(a, b, [RIGHT], R, ["right"], margin=margin).iloc[0]
    assert (row["n_differ"], row["verdict"], row["ci_method"]) == (1, "too few", "mover")
    assert row["ci_high"] - row["delta"] > 1 - 0.05 ** (1 / 60)
    # of one label that turns from one wrong class to the other the 90% interval of macro F1 is no wider than the 95% one
    texts = "210111000012101002100100100000", "010110002012121002102110110210"
    true, old = (np.array([*map(int, labels)]) for labels in texts)
    sides = []
    for said in (old, np.where(np.arange(30) == 13, 1, old)):
        side = frame(old)
        for c in range(3):
            side[f"tp{c}"] = (true == c) & (said == c)
            side[f"wrong{c}"] = (true == c) != (said == c)
        sides.append({"": side})
    f1 = [
        replace(SCORE, name=c, numerator=f"2*tp{c}", denominator=f"2*tp{c} + wrong{c}")
        for c in "012"
    ]
    table = [*f1, Mean(name="f", of=tuple("012"), better="higher")]
    row = compare(*sides, table, R, ["f"], margin={"f": 0.1}).iloc[-1]
    assert row["ci_low"] <= row["equivalence_low"] and row["verdict"] == "equivalent"


def test_a_difference_of_macro_means_knows_how_few_a_rare_class_has() -> None:
    """95 of one class, 5 of the other: no unit is in both, so that their intervals add by their squares.

    Of a class that no unit is in the difference can be anything.
    """
    rng = np.random.default_rng(1)
    is_rare = np.arange(100) < 5
    columns = {"rare": is_rare.astype(int), "common": (~is_rare).astype(int), "absent": 0}
    a, b = (
        {"": frame(y * 1, **columns, hit_rare=y * is_rare, hit_common=y * ~is_rare, hit_absent=0)}
        for y in (rng.random(100) < 0.7, rng.random(100) < 0.8)
    )
    recalls = [
        replace(SCORE, name=name, numerator=f"hit_{name}", denominator=name, empty=0.0)
        for name in ("rare", "common", "absent")
    ]
    means = [
        Mean(name=f"macro_{other}", of=(other, "common"), better="higher")
        for other in ("rare", "absent")
    ]
    table = [*recalls, *means]
    found = compare(a, b, table, R, ["macro_rare"])
    reach = (found["delta"] - found["ci_low"]) / 2
    reach["absent"] = 0.5
    for mean in means:
        macro = found.loc[mean.name]
        assert macro["ci_method"] == "mover"
        assert macro["delta"] - macro["ci_low"] == pytest.approx(np.hypot(*reach[[*mean.of]]))


def test_a_difference_near_its_limit_is_no_surer_than_the_candidate() -> None:
    """39 of 40 alone are no lower than .883, by mid-p; 0 of 40 of its own no higher than .072."""
    assert pair([0] * 40, [0] + [1] * 39, RIGHT)["ci_low"] < 0.883
    rows = np.arange(100)
    a, b = (
        {"": frame(0 * rows, n=((rows >= first) & (rows < last)) * 1)}
        for first, last in ((0, 60), (36, 76))
    )
    found = compare(a, b, [RIGHT], R, ["right"]).iloc[0]
    assert found["ci_high"] == pytest.approx(1 - 0.05 ** (1 / 40))


def test_units_that_all_differ_alike_have_no_interval_of_no_width() -> None:
    shown = repr(et.compare(list(range(10)), list(range(1, 11))))
    assert "a difference of +1.000; p = 0.002." in shown


def test_no_verdict_contradicts_the_interval_beside_it() -> None:
    """Tied rows say which of p and interval is short of it."""
    seen = set()
    for key in range(40):
        rng = np.random.default_rng(key)
        a = rng.choice([0.0, 0.5, 1.0], 30)
        b = np.where(rng.random(30) < 0.25, np.minimum(a + rng.choice([0.5, 1.0], 30), 1), a)
        row = pair(a, b)
        excludes = row["ci_low"] > 0 or row["ci_high"] < 0
        by_p = row["p_value"] <= 0.05
        assert (row["verdict"] in ("better", "worse")) == (by_p and excludes)
        if row["verdict"] == "tied":
            assert row["short"] == {(True, False): "interval", (False, True): "p"}.get(
                (by_p, excludes), ""
            )
        seen.add(row["verdict"])
    assert {"better", "tied"} <= seen


def test_clusters_have_the_standard_error_of_statsmodels() -> None:
    """The union with BCa is at least as wide as t."""
    api = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(4)
    ids = rng.integers(0, 25, 120)
    a, b = rng.normal(size=120), rng.normal(0.2, 1, 120)
    old, new = ({"": frame(y, id=ids, item=range(120))} for y in (a, b))
    free = replace(SCORE, bounds=None)
    row = compare(old, new, [free], Resampling(n_resamples=100)).iloc[0]
    clusters = {"groups": ids, "use_correction": False}
    fit = api.OLS(b - a, np.ones(120)).fit(cov_type="cluster", cov_kwds=clusters)
    weights = np.bincount(ids)
    n = weights.sum() ** 2 / (weights**2).sum()
    half = stats.t.ppf(0.975, n - 1) * fit.bse[0] * np.sqrt(n / (n - 1))
    assert row["delta"] == pytest.approx(fit.params[0])
    assert row["ci_high"] - row["delta"] >= half - 1e-9
    assert row["n_units"] == np.count_nonzero(weights)


def test_families() -> None:
    """The primary metric alone, the others of the headline together, all else exploratory; aliases follow."""
    a, b = two(shift=0.02, seeds=(1,))
    table = compared(a, b, headline=("mean", "errors", "micro"))
    assert table.loc["mean", "p_adjusted"] == table.loc["mean", "p_value"]
    assert (
        table.loc[["errors", "micro"], "p_adjusted"] >= table.loc[["errors", "micro"], "p_value"]
    ).all()
    assert table.loc[["errors", "micro"], "level"].max() < 0.05
    assert np.isnan(table.loc["d", "p_adjusted"]) and table.loc["d", "level"] == 0.05
    alias = replace(MEAN, name="other", alias_of="mean")
    both = compare(a, b, [MEAN, alias], R, ["mean"])
    same = ["delta", "ci_low", "p_value", "p_adjusted", "verdict", "primary"]
    assert both[same].iloc[0].tolist() == both[same].iloc[1].tolist()


@pytest.mark.parametrize(("m", "verdict"), [(5, "too few"), (6, "better")])
def test_too_few_units_that_differ_for_any_p(m: int, verdict: str) -> None:
    """2^(1-5) = .0625 is above the level, 2^(1-6) = .031 within it; the mean has no limits."""
    assert compared(*differing(m)).loc["mean", "verdict"] == verdict


def test_the_mde_has_one_digit_below_twenty_units() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.random(200), rng.random(200)
    row = pair(a[:19], b[:19])
    assert float(f"{row['mde']:.0e}") == row["mde"]
    # to either side where nothing differs on the whole
    a[:30] = 0.5
    b[:30] = np.repeat([0.625, 0, 0.5], [4, 1, 25])
    assert pair(a[:30], b[:30])["mde"] == pair(b[:30], a[:30])["mde"]
    large = pair(a, b)
    t = stats.t.ppf(0.975, 199) + stats.t.ppf(0.8, 199)
    assert large["mde"] == pytest.approx(t * (b - a).std(ddof=1) / np.sqrt(200), rel=0.05)
