"""Agreement of the reviewers inside each run of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ...stats.agreement import reviewer_agreement
from .agreement import review_votes

if TYPE_CHECKING:
    from ...report.study import Study

COLUMNS = [
    "condition",
    "seed",
    "measure",
    "raters",
    "value",
    "n_subjects",
    "reason",
    "actions_left_out",
]


def reviewers(study: Study) -> pd.DataFrame:
    """How far the reviewers of each run agree, over the tuples that all of them acted on: COLUMNS.

    A kappa is null where there is no variance; `reason` says so.
    """
    frames = []
    for condition, of_seed in study.conditions.items():
        for seed, run in of_seed.items():
            votes, n_left_out = review_votes(zip(run.units["text_id"], run.units["reviews"]))
            if not votes.empty:
                agreement = reviewer_agreement(votes)
                frames.append(
                    agreement.assign(condition=condition, seed=seed, actions_left_out=n_left_out)
                )
    if not frames:
        return pd.DataFrame(columns=COLUMNS)
    return pd.concat(frames, ignore_index=True)[COLUMNS]
