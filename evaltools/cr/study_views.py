"""What depends on the seed, and how far reviewers agree, in a study of Conflict Review runs."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from ..stats.agreement import flip_flops, review_votes, reviewer_agreement
from ..studies.study import Study


def seed_dependent(study: Study, condition: str) -> pd.DataFrame:
    """Samples whose outcome under the protocol's key differs between seeds: text_id, text, a column a seed."""
    runs = study.frames(condition)
    outcome = f"outcome_{study.options.key}"
    return flip_flops(runs, study.suite.unit, [outcome], keep=["text"]).drop(columns="outcome")


def _actions(cell: str) -> list[dict[str, Any]]:
    names = ("actor", "action_type", "target_tuple_ids", "reason_code")
    return [dict(zip(names, action)) for action in json.loads(cell)]


def reviewers(study: Study) -> pd.DataFrame:
    """Agreement of the reviewers inside each run: condition, seed, and the columns of `reviewer_agreement`.

    Raises UsageError where the extra "agreement" is not installed.
    """
    frames = []
    for condition, runs in study.conditions.items():
        for seed, r in runs.items():
            votes, left_out = review_votes(zip(r.units["text_id"], map(_actions, r.units["reviews"])))
            if votes.empty:
                continue
            found = reviewer_agreement(votes)
            found.insert(0, "condition", condition)
            found.insert(1, "seed", seed)
            frames.append(found.assign(actions_left_out=left_out))
    if not frames:
        return pd.DataFrame(columns=["condition", "seed", "measure", "raters", "value", "n_subjects", "reason"])
    return pd.concat(frames, ignore_index=True)
