"""The pairs of one metric, unit by unit."""

import numpy as np
import pandas as pd
import pytest

from evaltools.core.estimates import Resampling
from evaltools.stats.effects import differing, unit_changes
from tests.stats.comparing import TABLE, compare, labelled, ratio, two


def test_unit_changes_are_the_pairs() -> None:
    a, b = two()
    b[456] = b[456].iloc[1:]
    sides = labelled(TABLE, a, b)
    got = unit_changes(sides, "mean")
    assert got["id"].tolist() == sorted(a[42]["id"])
    assert got["baseline"].iloc[1] == pytest.approx(np.mean([a[s]["y"].iloc[1] for s in a]))
    assert got["baseline"].iloc[0] == pytest.approx(np.mean([a[s]["y"].iloc[0] for s in (42, 123)]))
    assert got["change"].tolist() == (got["candidate"] - got["baseline"]).tolist()


RATE = ratio("rate", "k")
BEFORE = pd.DataFrame({"id": range(40), "k": [1, 0] * 20, "n": [1, 2] * 20})
TIMES = np.where(BEFORE["id"] < 15, 3, 1)


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(BEFORE.assign(n=BEFORE["n"] + (BEFORE["id"] < 5)), id="denominators"),
        pytest.param(BEFORE.assign(k=BEFORE["k"] * TIMES, n=BEFORE["n"] * TIMES), id="weights"),
        pytest.param(BEFORE.assign(k=0, n=0).where(BEFORE["id"] < 7, BEFORE), id="no value after"),
    ],
)
def test_the_units_that_carry_a_difference_are_those_that_differ(after: pd.DataFrame) -> None:
    sides = {"": BEFORE}, {"": after}
    row = compare(*sides, [RATE], Resampling(), ["rate"]).iloc[0]
    changes = unit_changes(labelled([RATE], *sides), "rate")
    assert row["n_differ"] == len(differing(changes)) > 0
    assert changes["influence"].sum() == pytest.approx(row["delta"])


def test_a_unit_with_a_value_on_one_side_only_stays() -> None:
    empty = BEFORE.assign(k=0, n=0).where(BEFORE["id"] < 7, BEFORE)
    seeds = {1: empty, 2: empty}, {1: BEFORE, 2: BEFORE}
    for sides in (({"": empty}, {"": BEFORE}), seeds):
        changes = unit_changes(labelled([RATE], *sides), "rate").set_index("id")
        assert changes.loc[:6, ["baseline", "change"]].isna().all(axis=None)
        assert changes["candidate"].tolist() == (BEFORE["k"] / BEFORE["n"]).tolist()
    none = pd.DataFrame({"id": [0], "k": 0, "n": 0})
    assert unit_changes(labelled([RATE], {"": none}, {"": none}), "rate").empty
