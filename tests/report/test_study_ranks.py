"""What may change in a study without changing a verdict or a rank: hopeless conditions, nulls, names, order."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evaltools as et
from tests.app.calling import FAST, call

N = 50
METRIC = "judge"
SHIFTS = {"base": 0.0, "near": 0.0, "better": 0.25, "best": 0.4}


def rows(condition: str, seed: int, shift: float) -> pd.DataFrame:
    sample = np.random.default_rng(0).normal(0.4, 0.15, N)
    noise = np.random.default_rng([seed, *condition.encode()]).normal(0, 0.12, N)
    return pd.DataFrame(
        {
            "id": [f"q{i:02d}" for i in range(N)],
            "metric": METRIC,
            "value": np.clip(sample + shift + noise, 0, 1).round(4),
            "low": 0.0,
            "high": 1.0,
        }
    )


def frames(shifts: dict[str, float], seeds: int) -> dict[str, pd.DataFrame]:
    """Name of a run -> its rows."""
    return {
        condition if seeds == 1 else f"{condition}__seed{seed}_x": rows(condition, seed, shift)
        for condition, shift in shifts.items()
        for seed in range(1, seeds + 1)
    }


def study(runs: dict[str, pd.DataFrame], baseline: str = "base") -> et.Study:
    scored = [et.evaluate("table", runs[name], name=name, resampling=FAST) for name in runs]
    return et.study(scored, baseline=baseline)


@pytest.mark.parametrize(("seeds", "shift"), [(1, -0.4), (3, 0.6)])
def test_a_hopeless_condition_changes_nobody_elses_verdict_or_rank(
    seeds: int, shift: float
) -> None:
    before = study(frames(SHIFTS, seeds))
    after = study(frames({**SHIFTS, "hopeless": shift}, seeds))
    verdicts = after.frame.set_index("candidate")["verdict"].drop("hopeless")
    assert verdicts.to_dict() == before.frame.set_index("candidate")["verdict"].to_dict()
    assert set(verdicts) == {"better", "tied"}
    earlier, ranks = (
        of.rank().set_index("condition")[["rank_low", "rank_high"]] for of in (before, after)
    )
    assert ranks.loc["hopeless"].tolist() == ([1, 1] if shift > 0 else [5, 5])
    assert (ranks.loc[earlier.index] - int(shift > 0)).equals(earlier)


def test_the_best_is_named_alone_only_where_no_other_may_be_it(tmp_path: Path) -> None:
    for best, said in ((0.4, "Best of 3 conditions on “judge”: best_t."), (0.0, " or ")):
        runs = frames({"base": 0.0, "near": 0.0, "best": best}, 1).items()
        table = pd.concat([frame.assign(condition=name) for name, frame in runs])
        table.to_csv(tmp_path / "t.csv", index=False)
        rank = ("rank", tmp_path / "t.csv", "--metric", METRIC, "-o", tmp_path)
        assert said in call(*rank, "--suite", "table").stdout
