"""What a larger study would show, in words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evaltools as et
from evaltools.report.study_sentences import plan_notes, settle
from evaltools.stats.power import CONTRACT

PILOT = et.compare([0.1, 0.4] * 10, [0.2, 0.5] * 10)


def test_sentences_of_a_plan() -> None:
    rows = [
        (1, 900, 0.8, 700, 1200, 900),
        (3, 200, 0.81, 150, 260, 600),
        (5, 130, 0.8, 90, pd.NA, 650),
    ]
    found = pd.DataFrame(rows, columns=list(CONTRACT[:6])).reindex(columns=list(CONTRACT))
    first, *rest = plan_notes(PILOT, found)
    assert first == "Cheapest (seeds: 3): 200 samples, 600 calls for each condition."
    assert len(rest) == 1 and rest[0].startswith("samples: units (id)")


ASKED = et.Resampling()

ROW = {
    "verdict": "tied", "mde": 0.1, "df": 20.0, "level": 0.05, "each": 0.0, "n_units": 100, "n_seeds": 5,
    "metric": "f1", "title": "F1", "var_seed": 0.0, "var_sample": 0.0004, "var_residual": 0.0,
    "pooled": False, "ci_method": "components", "p_value": 0.2,
}  # fmt: skip


def test_only_samples_help_where_samples_are_all_that_varies() -> None:
    """Half the variance, .1 / sqrt(2) = .071; the t quantile of 99 degrees of freedom hardly moves."""
    assert settle(ROW, ASKED) == (
        "What would settle it: on “F1” a true difference of 0.10 could be shown now (80% power); "
        "twice the samples would bring that to 0.070, two more seeds would bring that to 0.10."
    )


def test_a_small_p_beside_an_interval_that_holds_0_is_explained_there_alone() -> None:
    of_interval = "p is small, but the interval holds 0"
    mover = {**ROW, "n_seeds": 1, "ci_method": "mover"}
    assert settle({**mover, "p_value": 0.001}, ASKED).startswith(of_interval)
    assert of_interval not in settle(mover, ASKED)
    assert of_interval not in settle({**ROW, "p_value": 0.001}, ASKED)


def test_only_seeds_help_where_seeds_are_all_that_varies() -> None:
    """From 2 to 4 degrees of freedom, and variance 3/5: two more seeds do more than halve it."""
    said = settle({**ROW, "n_seeds": 3, "df": 2.0, "var_seed": 0.0004, "var_sample": 0.0}, ASKED)
    first, second = said.partition("; ")[2].split(", ")
    assert first == "two more seeds would bring that to 0.05"
    assert second == "twice the samples would bring that to 0.1."


def test_one_seed_speaks_of_samples_alone() -> None:
    said = settle({**ROW, "n_seeds": 1}, ASKED)
    assert "seeds" not in said and "twice the samples would bring that to 0.070." in said


def test_few_units_that_differ_are_helped_by_samples() -> None:
    """Where only the number of units that differ bounds what can be shown, twice the samples halve it."""
    said = settle({**ROW, "each": 0.1, "mde": 0.8}, ASKED)
    assert (
        "twice the samples would bring that to 0.40, two more seeds would bring that to 0.80"
        in said
    )


@pytest.mark.parametrize("verdict", ["better", "worse", "equivalent", "too few", "not measured"])
def test_what_is_decided_or_cannot_be_needs_nothing(verdict: str) -> None:
    assert settle({**ROW, "verdict": verdict}, ASKED) == ""


def test_without_a_smallest_difference_there_is_nothing_to_say() -> None:
    assert settle({**ROW, "mde": np.nan}, ASKED) == ""


def test_rows_of_a_plan_without_samples_are_named() -> None:
    none = pd.DataFrame(
        [(3, None, None, None, None, None), (5, None, None, None, None, None)],
        columns=list(CONTRACT[:6]),
    ).reindex(columns=list(CONTRACT))
    (said,) = plan_notes(PILOT, none)
    assert said.startswith("No number of samples for 3, 5 seeds: ")
