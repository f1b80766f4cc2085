"""Runs, comparisons and studies as ordinary objects: names, conversion, pickle, slices, help."""

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import BaseModel

import evaltools as et
from evaltools.core.estimates import Check

QUICK = et.Resampling(n_resamples=200)
F1 = "tuple_f1_s2_refpol"


@pytest.fixture(scope="module")
def run() -> et.Run:
    return et.evaluate("cr", "example:cr/with_memory__seed1_proposed", resampling=QUICK)


@pytest.fixture(scope="module")
def comparison() -> et.Study:
    return et.compare("example:cr/no_memory", "example:cr/with_memory", resampling=QUICK)


@pytest.fixture(params=["run", "comparison"])
def thing(request: pytest.FixtureRequest) -> Any:
    """A run, and a comparison of two conditions."""
    return request.getfixturevalue(request.param)


# --- a collection of metrics


def test_it_holds_metrics_by_name(thing: Any) -> None:
    names = list(thing)
    assert len(names) == len(thing) == len(set(names))
    assert F1 in thing and "nosuch" not in thing
    for name in names[:5]:
        assert isinstance(thing[name], pd.Series)
    with pytest.raises(KeyError, match="did you mean fix_rate"):
        thing["fixrate"]


def test_it_becomes_a_frame_a_dict_and_latex(thing: Any) -> None:
    frame = thing.to_frame()
    pd.testing.assert_frame_equal(frame, thing.frame)
    values = thing.to_dict()
    assert list(values) == list(thing)
    assert all(value is None or isinstance(value, float) for value in values.values())
    column = "delta" if "delta" in frame else "value"
    assert values[F1] == thing[F1][column]
    latex = thing.to_latex()
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 1
    assert "Tuple F1" in latex


def test_it_survives_pickle_and_reads_as_plain_text(thing: Any) -> None:
    again, text = pickle.loads(pickle.dumps(thing)), repr(thing)  # noqa: S301
    assert repr(again) == text
    assert "Conflict Review" in text.splitlines()[0] and "suite:cr|" in text
    assert "</" not in text and "\\" not in text
    assert again.to_dict() == thing.to_dict()
    pd.testing.assert_series_equal(again[F1], thing[F1])


# --- slices


def test_by_takes_a_column_a_series_an_array_a_list_and_a_function(run: et.Run) -> None:
    size = run.units["n_gold_tuples"].clip(upper=2)
    ways = [
        size,
        size.to_numpy(),
        size.tolist(),
        size.sample(frac=1, random_state=0),  # a Series goes by its index
        lambda units: units["n_gold_tuples"].clip(upper=2),
    ]
    frames = [run.by(way, F1) for way in ways]
    for frame in frames[1:]:
        pd.testing.assert_frame_equal(frame, frames[0])
    expected = run.units.groupby(size)["f1_s2_refpol"].mean()
    assert frames[0].set_index("part")["value"]["2"] == pytest.approx(expected[2])
    assert set(run.by("split")["name"]) == set(run.headline), "the headline by default"
    in_order = run.by(pd.cut(run.units["line"], [0, 5, 60]), F1)
    assert in_order["part"].tolist() == ["(0, 5]", "(5, 60]"], "an ordered category keeps its order"


def test_the_difference_in_every_part(comparison: et.Study) -> None:
    parts = comparison.by("split")
    assert set(parts["part"]) == {"dev", "valid"} and parts["n"].sum() == 60
    weighted = (parts["delta"] * parts["n"]).sum() / 60
    assert weighted == pytest.approx(comparison[F1]["delta"])
    assert (parts["p_adjusted"] >= parts["p_value"]).all()


def scores(name: str, values: Any, **columns: Any) -> et.Run:
    """A run of the suite `table` with a value a sample."""
    frame = pd.DataFrame({"id": range(len(values)), "metric": "m", "value": values, **columns})
    return et.evaluate("table", frame, name=name, resampling=QUICK)


def test_a_study_stands_for_its_runs(comparison: et.Study, run: et.Run) -> None:
    sides = [
        et.study(list(runs.values()), resampling=QUICK) for runs in comparison.conditions.values()
    ]
    pd.testing.assert_frame_equal(et.compare(*sides).frame, comparison.frame)
    assert len(et.study([sides[0], run]).results) == 4
    with pytest.raises(et.UsageError, match="holds several conditions: no_memory, with_memory"):
        et.compare(comparison, run)


class Record(BaseModel):
    id: str
    right: float


def own_suite(*metrics: et.Metric, headline: list[str], **more: Any) -> et.Suite:
    """A suite over the sums `right` and n."""
    return et.jsonl_suite(
        "own",
        title="Own",
        record=Record,
        unit="id",
        columns=lambda record: {"n": 1, "right": record.right},
        metrics=metrics,
        headline=headline,
        **more,
    )


def share(name: str, better: Any = "higher", denominator: str = "n") -> et.Metric:
    return et.Metric(name=name, numerator="right", denominator=denominator, better=better)


def void(name: str, gain: float, **more: Any) -> et.Run:
    """A run whose only headline metric a check blocks, unless its name begins with "free"."""
    suite = own_suite(
        share("m"),
        share("k"),
        share("size", "none"),
        headline=["m"],
        checks=lambda run: (
            []
            if name[:4] == "free"
            else [Check("void", "blocking", "nothing was asked", blocks=("m",))]
        ),
        verdicts=lambda run: pd.DataFrame(
            {"metric": ["m"], "verdict": name if gain < 0 else "pass"}
        ),
    )
    rows = [{"id": str(i), "right": i % 7 + gain * (i % 3)} for i in range(40)]
    return et.evaluate(suite, rows, name=name, resampling=QUICK, **more)


def test_a_word_that_is_no_verdict_is_refused(tmp_path: Path) -> None:
    with pytest.raises(et.UsageError, match=r"verdicts: expected pass, look, .* got 'good'"):
        void("good", -1, out=tmp_path)
    assert not list(tmp_path.glob("results/*"))


def test_a_count_is_never_the_metric_that_is_tested_alone() -> None:
    suite = own_suite(share("count", denominator=""), share("mean"), headline=["count", "mean"])
    sides = [[{"id": str(i), "right": max(i % 2, least)} for i in range(40)] for least in (0, 1)]
    cmp = et.compare(*(et.evaluate(suite, rows, name=name) for name, rows in zip("ab", sides)))
    assert (cmp.primary, cmp["mean"]["verdict"]) == ("mean", "better")


def test_where_no_headline_metric_can_be_measured_that_is_said() -> None:
    runs = [void("a", 0), void("b", 1), void("c", 2)]
    cmp, study = et.compare(*runs[:2]), et.study(runs)
    for shown in (cmp, study):
        assert "No headline metric can be judged: nothing was asked" in repr(shown)
        assert "nothing was asked" in shown._repr_html_()
        assert shown["m"]["verdict"] == "not measured"
    few = et.evaluate("memfin", "example:memfin/memory_agent", query="turn_pair_id > 1")
    assert "memory_agent, Risk coverage 0.778: 95% interval" in repr(et.study([few]))
    for ask in [
        lambda: cmp.by("right"), cmp.rank, cmp.plot.paired,
        lambda: runs[0].by("right"), runs[0].plot.spread, lambda: runs[0].diff(runs[1]),
    ]:  # fmt: skip
        with pytest.raises(et.UsageError, match="no headline metric of own can be measured here;"):
            ask()
    with pytest.raises(KeyError, match="'size' has no direction and is not compared"):
        cmp["size"]


def test_what_one_condition_blocks_is_compared_between_the_others(tmp_path: Path) -> None:
    a, b, c = void("free", 0), void("free b", 1), void("c", 2, out=tmp_path)
    study, columns = et.study([a, b, c]), ["delta", "ci_low", "p_adjusted", "verdict"]
    first, second = study.frame.query("metric == 'm'").iloc
    assert '"not measured"' in (c.folder / "metrics.json").read_text()
    assert [*first[columns]] == [*et.compare(a, b)["m"][columns]]
    assert second["delta"] > 0 and list(second[["verdict", "blocked"]]) == ["not measured", "void"]
    assert study.table().html.count("N/A") == 3, "no number of it is shown"
    assert study.rank()["rank_low"].isna().tolist() == [False, False, True]
    assert study.samples(candidate="c").frame.empty
    assert set(study.by("right", candidate="c")["verdict"]) == {"not measured"}
    assert et.study([c, a, b], primary="m").baseline == "free"
    with pytest.raises(et.UsageError, match="m means nothing here: nothing was asked"):
        et.study([c, a, b], primary="m", baseline="c")


def test_a_column_added_to_the_units_of_a_study_is_usable_everywhere() -> None:
    old = np.linspace(0, 1, 60)
    cmp = et.compare(scores("old", old), scores("new", old + 0.1))
    cmp.units["q"] = np.arange(120) % 2
    cmp.results[1].units["r"] = 1
    assert cmp.where("q == 1")["m"]["n_units"] == 30
    assert cmp.by("q")["n"].tolist() == [30, 30]
    assert "q" not in cmp.results[0].units
    with pytest.raises(et.UsageError, match="'nosuch' is not defined"):
        cmp.where("nosuch == 1")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run: run.where("nosuch > 1"), "'nosuch' is not defined.*columns: .*text_id"),
        (lambda run: run.by("nosuch"), "no column 'nosuch'; there are line, text_id"),
        (lambda run: run.by([1, 2, 3]), "3 values for 60 units: expected one a row"),
        (
            lambda run: run.by(pd.Series(range(60), index=range(100, 160))),
            "by the index of the units",
        ),
        (lambda run: run.by("split", "nosuch_metric"), "no metric 'nosuch_metric'"),
        (lambda run: run.plot.forest("fix_ratex"), "did you mean fix_rate"),
    ],
)
def test_what_cannot_be_sliced_says_what_is_there(run: et.Run, call: Any, message: str) -> None:
    with pytest.raises(et.UsageError, match=message):
        call(run)


# --- what people type


LOW = [0.1, 0.4, 0.3, 0.8, 0.2] * 8
HIGH = [0.2, 0.5, 0.4, 0.9, 0.1] * 8


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"margin": 0.1}, "margin: expected {metric: largest difference}, got 0.1"),
        ({"better": "Lower"}, "got 'Lower'"),
    ],
)
def test_settings_of_a_comparison_that_make_no_sense_are_named(settings: Any, said: str) -> None:
    with pytest.raises(et.UsageError, match=re.escape(said)):
        et.compare(LOW, HIGH, **settings)


def test_what_no_run_has_is_named(run: et.Run) -> None:
    none = et.Metric(name="none", numerator="nosuch", denominator="n", better="none")
    for metrics in ((none,), (et.Mean(name="mean", of=("nosuch",), better="none"),), (), (F1,)):
        with pytest.raises(et.UsageError, match=r"(lacks .|no metric )'nosuch'|name a metric"):
            run.estimate(*metrics)
    with pytest.raises(et.UsageError, match="nosuch"):
        et.estimate(run.units, run.metrics, unit="nosuch")
    for part in (run.units["line"], run.units["n"][1:], [1, 2]):
        with pytest.raises(et.UsageError, match="expected rows of the units"):
            run.where(part)  # type: ignore[arg-type]
