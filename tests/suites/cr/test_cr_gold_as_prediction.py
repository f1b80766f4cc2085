"""D26: the gold, fed as the prediction, scores 1 under every key; what has no pair under a key is not measured."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evaltools as et
from evaltools.suites.cr.read import CrOptions, gold_rows
from evaltools.suites.cr.sample import unit_row, units_frame
from evaltools.suites.cr.schema import Output, Scorecard
from evaltools.suites.cr.suite import scorecard
from evaltools.suites.cr.tuples import KEYS

from .cards import gold, output, run, tup

QUICK = et.Resampling(n_resamples=100)

rows = st.builds(
    tup,
    st.sampled_from(["본품#품질", "본품·구성품#일반", "본품", "본품#", "", "제품 # 품질"]),
    st.sampled_from(["향", "레몬 향", "레몬향", "", "...", "A"]),
    st.sampled_from(["positive", "neg", "neutral", "mixed", None]),
)
golds = st.lists(st.lists(rows, min_size=1, max_size=6), min_size=1, max_size=4)


def units_of(samples: list[list[dict[str, Any]]], options: CrOptions) -> pd.DataFrame:
    """The units of a run that predicts its gold, before review and after it."""
    made = []
    for i, tuples in enumerate(samples):
        parsed = Output.model_validate(
            output(str(i), stage1=tuples, final=tuples, gold_tuples=tuples)
        )
        card = Scorecard.model_validate(scorecard(parsed, gold_rows(parsed), options))
        made.append(unit_row(card, parsed.gold_tuples or [], i, options))
    return units_frame(pd.DataFrame(made))


@settings(max_examples=40)
@given(golds, st.sampled_from(["spec", "spacing=collapse", "implicit=set"]))
def test_any_gold_as_prediction_scores_1(samples: list[list[dict[str, Any]]], match: str) -> None:
    units = units_of(samples, CrOptions(match=match))
    for key in KEYS:
        for stage in ("s1", "s2"):
            assert set(units[f"f1_{stage}_{key}"].dropna()) <= {1.0}
        assert (units[f"f1_s2_{key}"].notna() == units[f"has_gold_{key}"]).all()
        assert (units[f"outcome_{key}"] == "keep").all()
        assert units[f"fp_{key}"].sum() == units[f"fn_{key}"].sum() == 0
    # under otepol every gold tuple is a pair
    assert units["has_gold_otepol"].all()


A, BARE, NO_ATTRIBUTE = tup("본품#품질", "향"), tup("", "색"), tup("브랜드", "이름")


def test_a_sample_without_a_pair_takes_no_part(tmp_path: Path) -> None:
    folder = run(
        tmp_path / "r",
        [output("a", final=[A]), output("b", final=[A])],
        [gold("a", A), gold("b", BARE)],
    )
    spec = et.evaluate("cr", folder, resampling=QUICK)
    assert spec.value("tuple_f1_s2_refpol") == 1.0  # a alone
    assert spec["tuple_f1_s2_refpol"]["denominator"] == 1
    assert spec.value("tuple_f1_s2_refpol_fp") == 0
    assert spec.value("tuple_f1_s2_otepol") == 1 / 2
    zero = et.evaluate("cr", folder, resampling=QUICK, match="pairless=zero")
    assert zero.value("tuple_f1_s2_refpol") == 1 / 2
    assert zero.value("tuple_f1_s2_refpol_fp") == 1


OF_A_KEY = (
    "tuple_f1_s1_{}",
    "tuple_f1_s2_{}",
    "delta_f1_{}",
    "fix_rate_{}",
    "break_rate_{}",
    "net_gain_{}",
    "tuple_f1_s2_{}_micro",
    "tuple_f1_s2_{}_tp",
    "tuple_f1_s2_{}_fp",
    "tuple_f1_s2_{}_fn",
)


@pytest.mark.parametrize(
    ("tuples", "keys", "level", "message"),
    [
        (
            [BARE],
            ["refpol", "attrpol"],
            "blocking",
            "none of the 12 gold tuples has a pair by (ref, polarity)",
        ),
        ([NO_ATTRIBUTE], ["attrpol"], "info", "none of the 12 gold tuples has a pair by (attr"),
    ],
)
def test_a_key_of_which_no_gold_tuple_has_a_pair_is_not_measured(
    tmp_path: Path, tuples: list, keys: list[str], level: str, message: str
) -> None:
    result = et.evaluate(
        "cr",
        run(
            tmp_path / "r",
            [output(str(i), final=[A, *tuples]) for i in range(12)],
            [gold(str(i), *tuples) for i in range(12)],
        ),
        resampling=QUICK,
    )
    for key in keys:
        names = [name.format(key) for name in OF_A_KEY]
        assert [n for n in names if not math.isnan(result.value(n))] == []
        assert set(names) <= result.blocked
    (check,) = [c for c in result.checks if c.code == "gold-without-pairs"]
    assert (check.level, check.of) == (level, 12) and check.message.startswith(message)
    assert result.primary == ("tuple_f1_s2_otepol" if level == "blocking" else "tuple_f1_s2_refpol")
