"""One condition under several seeds: hand-worked variance components, equivalences, and every incomplete case."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaltools.core.estimates import COLUMNS, aggregated_frame
from evaltools.core.metric import Difference, Mean, Metric, MetricTable
from evaltools.core.metric_matrix import compile_table
from evaltools.core.resampling import Method, Resampling
from evaltools.stats import seeds
from evaltools.stats.claims import NEW_SEEDS, THIS_SYSTEM
from evaltools.stats.design import grid, in_order
from evaltools.stats.influence import cell_sums
from evaltools.stats.intervals import estimate, estimate_run
from evaltools.stats.seed_variance import seed_pool, seed_term
from evaltools.stats.seeds import aggregate
from tests.stats.comparing import MEAN, MICRO

RATE = Metric(
    name="rate",
    numerator="hit",
    denominator="n",
    group="g",
    better="higher",
    title="Rate",
    proportion=True,
)
COUNT = Metric(
    name="count", numerator="tp", denominator="", group="g", better="none", title="Count"
)
TABLE: MetricTable = [
    MEAN,
    RATE,
    MICRO,
    COUNT,
    Difference(name="d", minuend="mean", subtrahend="micro", group="g", better="higher", title="D"),
]
R = Resampling(n_resamples=500)


def run(y: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    n = len(y)
    return pd.DataFrame(
        {
            "id": [f"s{i:03d}" for i in range(n)],
            "y": y,
            "hit": y > 0.5,
            "n": 1,
            "tp": rng.integers(0, 4, n),
            "fp": rng.integers(0, 3, n),
        }
    )


def condition(
    n: int = 40, seeds: tuple[int, ...] = (42, 123, 456), spread: float = 0.05
) -> dict[int, pd.DataFrame]:
    rng = np.random.default_rng(3)
    sample = rng.normal(0.5, 0.2, n)
    return {s: run(sample + rng.normal(0, spread) + rng.normal(0, 0.1, n), rng) for s in seeds}


def of(
    runs: dict[int, pd.DataFrame], table: MetricTable = TABLE, method: Method = "auto"
) -> pd.DataFrame:
    resampling = R.model_copy(update={"method": method})
    return aggregate({"a": runs}, table, "id", resampling)["a"].set_index("metric")


def test_rows_are_estimates_from_which_the_csv_is_made() -> None:
    got = aggregate({"a": condition()}, TABLE, "id", R)["a"]
    assert tuple(got.columns[: len(COLUMNS)]) == COLUMNS
    assert set(got["condition"]) == {"a"}
    columns = ["metric", "mean", "std", "n_seeds", "ci_low", "ci_high", "min", "max"]
    assert list(aggregated_frame(got).columns) == columns


def test_means_are_over_seeds() -> None:
    runs = condition()
    got = of(runs)
    for name in got.index:
        values = [
            estimate(f, TABLE, "id", R).set_index("name").loc[name, "value"] for f in runs.values()
        ]
        assert got.loc[name, "value"] == pytest.approx(np.mean(values), abs=1e-12)
        assert got.loc[name, "std"] == pytest.approx(np.std(values, ddof=1), abs=1e-12)
        assert (got.loc[name, "min"], got.loc[name, "max"]) == pytest.approx(
            (min(values), max(values))
        )


def test_variance_components_by_hand() -> None:
    """y = [[0, 2, 4], [3, 3, 6]] (2 seeds, 3 samples).

    Seed means 2 and 4, sample means 1.5, 2.5, 5, grand mean 3.
    SS_seed = 3 * ((2-3)^2 + (4-3)^2) = 6, df 1
    SS_sample = 2 * (1.5^2 + 0.5^2 + 2^2) = 13, df 2, MS 6.5
    SS_total = 9 + 1 + 1 + 0 + 0 + 9 = 20, so SS_residual = 1, df 2, MS 0.5
    seed part of Var(mean) = (6 - 0.5) / 6 = 11/12; residual part 0.5 / 6 = 1/12
    """
    runs = {
        1: pd.DataFrame({"id": list("abc"), "y": [0.0, 2, 4], "n": 1}),
        2: pd.DataFrame({"id": list("abc"), "y": [3.0, 3, 6], "n": 1}),
    }
    compiled = compile_table([MEAN])
    c = cell_sums(grid(runs, "id"), compiled)
    term = seed_term(c)
    assert term.variance == pytest.approx([11 / 12])
    assert term.residual == pytest.approx([1 / 12])
    assert term.df.tolist() == [1]
    # the seeds' values 2 and 4 alone: variance of their mean 2 / 2 = 1
    assert term.plain == pytest.approx([1.0])
    row = of(runs, [MEAN]).loc["mean"]
    # sample term: 6.5 / 6 = 13/12, of which 1/12 is residual; total 24/12
    shares = [row[f"var_share_{k}"] for k in ("seed", "sample", "residual")]
    assert shares == pytest.approx([11 / 24, 12 / 24, 1 / 24])
    assert np.isnan(row["ci_low"])  # three samples carry no interval


def test_complete_interval_equals_the_textbook_formula() -> None:
    runs = condition(n=30, spread=0.02)
    y = np.stack([f["y"].to_numpy() for f in runs.values()])
    k, n = y.shape
    ms_seed = n * y.mean(axis=1).var(ddof=1)
    ms_sample = k * y.mean(axis=0).var(ddof=1)
    rest = y - y.mean(axis=1, keepdims=True) - y.mean(axis=0) + y.mean()
    ms_rest = (rest**2).sum() / ((k - 1) * (n - 1))
    assert ms_seed > ms_rest
    variance = (ms_sample + ms_seed - ms_rest) / (n * k)
    weights = [ms_sample**2 / (n - 1), ms_seed**2 / (k - 1), ms_rest**2 / ((k - 1) * (n - 1))]
    df = max((ms_sample + ms_seed - ms_rest) ** 2 / sum(weights), k - 1)
    half = max(
        stats.t.ppf(0.975, df) * np.sqrt(variance),
        stats.t.ppf(0.975, k - 1) * y.mean(axis=1).std(ddof=1) / np.sqrt(k),
    )
    row = of(runs).loc["mean"]
    assert row["df"] == pytest.approx(df)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((y.mean() - half, y.mean() + half))
    assert row["claim"] == NEW_SEEDS
    assert row["ci_method"] == "components"


def test_incomplete_components_equal_a_fit_by_least_squares() -> None:
    """Henderson III: the seed sum of squares is the drop in residuals when seeds join a fit of samples."""
    runs = condition(n=20)
    runs[456] = runs[456].iloc[:13]
    compiled = compile_table([MEAN])
    c = cell_sums(grid(runs, "id"), compiled)
    term = seed_term(c)
    k, i = np.nonzero(c.present)
    y = c.sums[k, i, 0]
    samples, seeds = np.eye(20)[i], np.eye(3)[k]

    def residual(design: np.ndarray) -> float:
        return float(((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum())

    full = residual(np.hstack([samples, seeds]))
    ms_seed, ms_rest = (residual(samples) - full) / 2, full / (53 - 20 - 2)
    # E[SS_seed] = 2 s_e + (53 - 20) s_seed; the mean over 3 seeds carries s_seed / 3
    assert term.variance == pytest.approx([max(0.0, (ms_seed - ms_rest) * 2 / 33 / 3)])
    assert term.residual == pytest.approx([ms_rest * (1 / 20 + 1 / 20 + 1 / 13) / 9])


def test_equal_seeds_say_nothing_of_seeds_and_all_of_samples() -> None:
    one = condition()[42]
    row = of({1: one, 2: one, 3: one}).loc["mean"]
    assert row["std"] == 0
    assert row["var_share_seed"] == pytest.approx(0, abs=1e-12)
    assert row["var_share_sample"] == pytest.approx(1)
    half = stats.t.ppf(0.975, 39) * one["y"].std() / np.sqrt(40)
    assert row["ci_high"] - row["ci_low"] == pytest.approx(2 * half)


def test_one_event_in_one_seed_shows_no_component_of_the_seeds() -> None:
    """Both mean squares are 1 / 3n then, and rounding must not decide which one is larger."""
    compiled = compile_table([RATE])
    rng = np.random.default_rng(0)
    for n in range(10, 60):
        event = np.zeros(n)
        event[n // 2] = 1.0
        runs = {1: run(event, rng), 2: run(0 * event, rng), 3: run(0 * event, rng)}
        c = cell_sums(grid(runs, "id"), compiled)
        assert seed_term(c).variance.tolist() == [0.0], n


def test_no_sample_shared_falls_back_to_the_seeds() -> None:
    runs = {s: f.assign(id=f["id"] + str(s)) for s, f in condition().items()}
    row = of(runs).loc["mean"]
    half = stats.t.ppf(0.975, 2) * row["std"] / np.sqrt(3)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(
        (row["value"] - half, row["value"] + half)
    )
    assert row[["var_share_seed", "var_share_sample", "var_share_residual"]].isna().all()
    assert row["df"] == 2


def test_one_seed_is_that_run() -> None:
    runs = {None: condition()[42]}
    got, alone = of(runs), estimate(runs[None], TABLE, "id", R).set_index("name")  # type: ignore[arg-type]
    for column, of_run in (
        ("value", "value"),
        ("ci_low", "ci_low"),
        ("ci_high", "ci_high"),
        ("ci_method",) * 2,
    ):
        assert got[column].tolist() == pytest.approx(alone[of_run].tolist(), nan_ok=True)
    assert got["std"].isna().all()
    assert got.loc["mean", "claim"] == THIS_SYSTEM


def test_a_count_has_no_interval() -> None:
    row = of(condition()).loc["count"]
    assert row["ci_method"] == "none"
    assert np.isnan(row["ci_low"])
    assert row["std"] > 0


def test_a_rate_of_zero_in_every_seed_gets_wilson_at_the_number_of_samples() -> None:
    runs = {s: f.assign(hit=0) for s, f in condition().items()}
    row = of(runs).loc["rate"]
    expected = stats.binomtest(0, 40).proportion_ci(0.95, method="wilson").high
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((0, expected))
    assert row["ci_method"] == "wilson"


def test_a_rate_of_nothing_has_no_interval() -> None:
    cleared = Metric(
        name="cleared", numerator="c", denominator="r", better="higher", proportion=True, empty=0.0
    )
    run = pd.DataFrame({"id": range(40), "c": 0, "r": 0})
    (row,) = aggregate({"x": {1: run, 2: run}}, [cleared], "id", Resampling())["x"].to_dict(
        "records"
    )
    assert (row["value"], row["n_units"], row["ci_method"]) == (0.0, 0, "none")
    assert np.isnan(row["ci_low"]) and np.isnan(row["ci_high"])


def test_a_rate_stays_inside_its_limits() -> None:
    runs = {
        s: f.assign(hit=[1] * 39 + [0]) if s == 42 else f.assign(hit=1)
        for s, f in condition().items()
    }
    row = of(runs).loc["rate"]
    assert 0 < row["ci_low"] < row["value"] < row["ci_high"] <= 1
    assert row["ci_method"] == "score-t"
    assert of(runs, method="bca").loc["rate", "ci_method"] == "wilson"


def test_wilson_over_seeds_by_hand() -> None:
    """Rates .2, .5, .8: the mean .5 has an error of .3 / √3, so .25 / .03 trials, and t of 2 degrees of freedom."""
    units = np.arange(40)
    hits = (units % 5 == 0, units % 2 == 0, units % 5 != 0)
    runs = {s: f.assign(hit=hit.astype(int)) for (s, f), hit in zip(condition().items(), hits)}
    row = of(runs, method="bca").loc["rate"]
    t, trials = stats.t.ppf(0.975, 2), 0.25 / 0.03
    half = t * np.sqrt(0.25 / trials + t**2 / (4 * trials**2)) / (1 + t**2 / trials)
    assert row["ci_method"] == "wilson"
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((0.5 - half, 0.5 + half))


def test_one_sample() -> None:
    runs = {s: f.iloc[:1] for s, f in condition().items()}
    got = of(runs)
    assert got.loc["mean", "value"] == pytest.approx(
        np.mean([f["y"].iloc[0] for f in runs.values()])
    )
    assert got.loc["mean", "ci_method"] == "none"


def test_a_metric_not_measured_in_some_seeds_rests_on_the_others() -> None:
    runs = condition()
    runs[42] = runs[42].assign(n=0, y=0.0, hit=0)
    row = of(runs).loc["mean"]
    two = of({s: runs[s] for s in (123, 456)}).loc["mean"]
    assert row["n_seeds"] == 2
    for column in ("value", "std", "ci_low", "ci_high", "df"):
        assert row[column] == pytest.approx(two[column])
    runs[123] = runs[123].assign(n=0, y=0.0, hit=0)
    row, alone = (
        of(runs).loc["mean"],
        estimate(runs[456], TABLE, "id", R).set_index("name").loc["mean"],
    )
    assert (row["n_seeds"], row["claim"]) == (1, THIS_SYSTEM)
    assert (row["ci_low"], row["ci_high"]) == (alone["ci_low"], alone["ci_high"])


def test_measured_in_no_seed_and_no_rows() -> None:
    runs = {s: f.assign(n=0) for s, f in condition().items()}
    row = of(runs).loc["mean"]
    assert (row["n_seeds"], row["ci_method"]) == (0, "none")
    assert np.isnan(row["value"])
    empty = of({1: condition()[42].iloc[:0], 2: condition()[42].iloc[:0]})
    assert empty.loc["mean", "n_seeds"] == 0
    assert empty.loc["count", "value"] == 0


def test_dialogue_turns_are_summed_first() -> None:
    rng = np.random.default_rng(2)
    turns = {
        s: pd.DataFrame(
            {"id": np.repeat(np.arange(15), 4), "y": rng.random(60), "n": 1, "turn": range(60)}
        )
        for s in (1, 2, 3)
    }
    summed = {s: f.groupby("id", as_index=False)[["y", "n"]].sum() for s, f in turns.items()}
    a, b = of(turns, [MEAN]).loc["mean"], of(summed, [MEAN]).loc["mean"]
    assert a["n_units"] == 15
    assert (a["value"], a["ci_low"], a["ci_high"]) == pytest.approx(
        (b["value"], b["ci_low"], b["ci_high"])
    )


def test_order_of_rows_and_seeds_changes_no_bit() -> None:
    runs = condition()
    turns = {s: pd.concat([f, f.assign(y=f["y"] / 3)]) for s, f in runs.items()}
    shuffled = {s: turns[s].sample(frac=1, random_state=s) for s in (456, 42, 123)}
    pd.testing.assert_frame_equal(of(turns), of(shuffled), check_exact=True)


@settings(max_examples=25)
@given(st.integers(2, 4), st.integers(1, 14), st.integers(0, 10_000))
def test_anything_incomplete_is_defined(k: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    runs = {}
    for s in range(k):
        frame = run(rng.integers(0, 3, n) / 2, rng).assign(n=rng.integers(0, 2, n))
        runs[s] = frame.assign(y=frame["y"] * frame["n"], hit=frame["hit"] * frame["n"])[
            rng.random(n) < 0.7
        ]
    got = of(runs)
    known = got[got["ci_low"].notna()]
    assert (known["ci_low"] <= known["value"] + 1e-9).all()
    assert (known["value"] <= known["ci_high"] + 1e-9).all()
    assert got["ci_low"].isna().equals(got["ci_high"].isna())
    assert ((got["ci_method"] == "none") == got["ci_low"].isna()).all()
    shares = got[["var_share_seed", "var_share_sample", "var_share_residual"]].dropna()
    assert np.allclose(shares.sum(axis=1), 1)


def test_labels_sort_by_value_whatever_their_type() -> None:
    assert in_order({10, 9, None, "b", "a"}) == [None, 9, 10, "a", "b"]


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        aggregate({"a": {}}, TABLE, "id", R)
    with pytest.raises(ValueError, match=r"null in the unit column 'id' \(seed 7\)"):
        aggregate({"a": {7: condition()[42].assign(id=None)}}, TABLE, "id", R)
    with pytest.raises(KeyError, match="lacks"):
        aggregate({"a": {1: condition()[42].drop(columns="y")}}, TABLE, "id", R)


@pytest.mark.reference
def test_reference_runs_give_the_independent_means(reference: Path) -> None:
    """Means and standard deviations of the six runs against those of their expected per-seed metrics."""
    from evaltools import evaluate
    from evaltools.core.plugins import get_suite

    suite = get_suite("cr")
    for run_id in ("cr_n50_m0", "cr_n50_m1"):
        runs, expected = {}, []
        for seed in (42, 123, 456):
            folder = reference / "cr" / f"{run_id}__seed{seed}_proposed"
            runs[seed] = evaluate("cr", folder, resampling=Resampling(n_resamples=100)).units
            expected.append(
                json.loads((folder / "expected_metrics.json").read_text(encoding="utf-8"))["spec"]
            )
        table = suite.metrics(suite.options())
        got = aggregate({"a": runs}, table, suite.unit, R)["a"].set_index("metric")
        checked = 0
        for name in set(expected[0]) & set(got.index):
            values = [e[name] for e in expected if e[name] is not None]
            if values:
                assert got.loc[name, "value"] == pytest.approx(np.mean(values), abs=1e-9), name
            if len(values) > 1:
                assert got.loc[name, "std"] == pytest.approx(np.std(values, ddof=1), abs=1e-9), name
            checked += 1
        assert checked > 30


@pytest.mark.parametrize("apart", [None, 0.03])
def test_two_seeds_that_share_one_sample_have_the_degrees_of_freedom_of_their_own_spread(
    apart: float | None,
) -> None:
    """The residual cannot be told apart: V of 23 samples with df 22, and the seeds' values, P with df 1.

    Where the seeds are `apart` by little, both together are wider than t(1) of P.
    """
    runs = condition(n=12, seeds=(1, 2))
    runs[2] = runs[2].assign(id=[runs[1]["id"][0], *(f"t{i}" for i in range(11))])
    if apart is not None:
        runs[2]["y"] += runs[1]["y"].mean() + apart * runs[1]["y"].std() - runs[2]["y"].mean()
    y = [f["y"].to_numpy() for f in runs.values()]
    e = [(v - v.mean()) / 12 for v in y]
    u = np.concatenate([[e[0][0] + e[1][0]], e[0][1:], e[1][1:]]) / 2
    v = 23 / 22 * np.sum(u**2)
    p = (y[0].mean() - y[1].mean()) ** 2 / 4
    row = of(runs, method="bca").loc["mean"]
    assert row["n_units"] == 23
    joint = (v + p) ** 2 / (v**2 / 22 + p**2)
    assert joint > 5
    half, df = max(
        (stats.t.ppf(0.975, joint) * np.sqrt(v + p), joint),
        (stats.t.ppf(0.975, 1) * np.sqrt(p), 1.0),
    )
    assert (df == joint) == (apart is not None)
    assert row["df"] == pytest.approx(df)
    assert row["ci_high"] - row["ci_low"] == pytest.approx(2 * half)


def test_a_mean_of_metrics_has_the_components_of_the_mean_of_its_units() -> None:
    """Over the same denominator, the mean of two means is the mean of (y + hit) / 2."""
    table: MetricTable = [MEAN, RATE, Mean(name="both", of=("mean", "rate"), better="higher")]
    runs = condition()
    got = of(runs, table).loc["both"]
    whole = {s: f.assign(y=(f["y"] + f["hit"]) / 2) for s, f in runs.items()}
    expected = of(whole, [MEAN]).loc["mean"]
    columns = [
        "value",
        "std",
        "ci_low",
        "ci_high",
        "df",
        "var_share_seed",
        "n_units",
    ]
    assert got[columns].tolist() == pytest.approx(expected[columns].tolist())
    assert got["ci_method"] == "components"
    alone = of({1: runs[42]}, table).loc["both"]
    assert (alone["ci_method"], alone["n_seeds"]) == ("bca-t", 1)


# --- score intervals and pooled seeds


def test_no_event_reaches_no_further_than_one() -> None:
    """120 cells of 40 samples under 3 seeds: from no event to three, in one sample or in three."""
    empty = {s: f.assign(hit=0) for s, f in condition().items()}
    upper = []
    for cells in ([], [(42, 0)], [(42, 0), (123, 0)], [(42, 0), (123, 1), (456, 2)]):
        runs = {s: f.assign(hit=[(s, i) in cells for i in range(40)]) for s, f in empty.items()}
        upper.append(of(runs).loc["rate", "ci_high"])
    assert (
        min(upper)
        == upper[0]
        == pytest.approx(stats.binomtest(0, 40).proportion_ci(0.95, method="wilson").high)
    )
    assert of({s: f.assign(hit=1 - f["hit"]) for s, f in empty.items()}).loc[
        "rate", "ci_low"
    ] == pytest.approx(1 - upper[0])


def test_a_metric_within_limits_has_t_wilson_over_seeds() -> None:
    """The trials are p (1 - p) / V of the components; of two seeds, whose t(1) would reach everywhere, V alone."""
    bounded = [replace(MEAN, bounds=(0, 1))]
    runs = {s: f.assign(y=f["y"].clip(0, 1)) for s, f in condition().items()}
    auto, plain = of(runs, bounded).loc["mean"], of(runs, bounded, "bca").loc["mean"]
    assert (auto["ci_method"], plain["ci_method"]) == ("score-t", "components")
    t, p = stats.t.ppf(0.975, auto["df"]), auto["value"]
    v = ((plain["ci_high"] - plain["ci_low"]) / (2 * t)) ** 2
    trials = min(p * (1 - p) / v, 40 * (40 * p * (1 - p) + 0.1) / (1600 * v + 0.1))
    half = t * np.sqrt(p * (1 - p) / trials + t**2 / (4 * trials**2)) / (1 + t**2 / trials)
    assert auto["ci_high"] - auto["ci_low"] == pytest.approx(2 * half)
    two = {s: runs[s] for s in (42, 123)}
    auto, plain = of(two, bounded).loc["mean"], of(two, bounded, "bca").loc["mean"]
    assert auto[["ci_low", "ci_high"]].tolist() == pytest.approx(
        plain[["ci_low", "ci_high"]].tolist()
    )


def test_seeds_of_two_conditions_count_together_where_they_are_alike() -> None:
    """Values .5 .5 .6 and .3 .4 .4: variances .01/3 each, so that the pool has as much with 4 degrees of freedom."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.01, 30)
    noise -= noise.mean()

    def runs(*means: float) -> dict[int, pd.DataFrame]:
        return {s: run(m + noise, rng) for s, m in enumerate(means)}

    a, b, far = runs(0.5, 0.5, 0.6), runs(0.3, 0.4, 0.4), runs(0.1, 0.5, 0.9)

    def row(**others: dict[int, pd.DataFrame]) -> pd.Series:
        return aggregate({"a": a, **others}, [MEAN], "id", R)["a"].iloc[0]

    alone, pooled = row(), row(b=b)
    assert (alone["df"], pooled["df"]) == pytest.approx((2, 4), abs=0.1)
    assert (alone["pooled"], pooled["pooled"]) == (False, True)
    assert stats.bartlett([0.5, 0.5, 0.6], [0.1, 0.5, 0.9]).pvalue < 0.1
    for others in ({"far": far}, {"one_seed": runs(0.7)}, {"b": b, "c": b}):
        assert row(**others).equals(alone)


@pytest.mark.parametrize("scale", [0.03, 0.05, 0.2])
def test_bartlett_is_that_of_scipy(scale: float) -> None:
    rng = np.random.default_rng(4)
    values = [rng.normal(0.5, s, 4) for s in (0.05, scale, 0.06)]
    noise = np.tile([-0.01, 0.01], 10)
    compiled = compile_table([MEAN])
    conditions = [{s: run(m + noise, rng) for s, m in enumerate(v)} for v in values]
    terms = [seed_term(cell_sums(grid(runs, "id"), compiled)) for runs in conditions]
    pool = seed_pool(terms)
    assert pool.alike[0] == (stats.bartlett(*values).pvalue > 0.1)


def test_the_estimates_of_a_run_are_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition of one seed has the intervals of its run, as they are known."""
    run = pd.DataFrame({"id": range(40), "right": [1, 0, 1, 1] * 10, "n": 1})
    accuracy = Metric(name="accuracy", numerator="right", denominator="n", better="higher")
    resampling = Resampling(n_resamples=200)
    of_run = estimate_run(run, [accuracy], "id", resampling)
    made = aggregate({"a": {7: run}}, [accuracy], "id", resampling)["a"]
    monkeypatch.setattr(seeds, "estimate_run", None)
    known = aggregate({"a": {7: run}}, [accuracy], "id", resampling, {"a": {7: of_run}})["a"]
    pd.testing.assert_frame_equal(known, made)
