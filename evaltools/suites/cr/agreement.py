"""Agreement of the seeds of Conflict Review on a sample."""

from __future__ import annotations

from itertools import combinations
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from ...core.metric import set_f1
from ...core.resampling import Resampling
from ...stats import agreement
from ...stats.agreement import Measure, all_equal
from ...stats.influence import Runs

UNIT = "text_id"

TUPLE_KEYS = {"": (0, 1, 2), "_refpol": (0, 2), "_otepol": (1, 2)}
"""Suffix of a pairwise F1 -> positions of (ref, term, polarity) that are compared."""

MEASURES = (
    Measure("tuple_agreement_rate", "tuples_agree", "Same final tuples in all seeds", exact=True),
    Measure("self_consistency_exact", "labels_agree", "Same label in all seeds", exact=True),
    Measure("pairwise_f1", "pairwise_f1", "Mean F1 between two seeds"),
    Measure("pairwise_f1_refpol", "pairwise_f1_refpol", "Mean F1 between two seeds (refpol)"),
    Measure("pairwise_f1_otepol", "pairwise_f1_otepol", "Mean F1 between two seeds (otepol)"),
)


def seed_agreement(runs: Runs, resampling: Resampling) -> pd.DataFrame:
    """How far the seeds (seed -> units, with tuples) of a condition agree:
    `stats.agreement.COLUMNS`, a row a measure.

    `tuple_agreement_rate` is the share of samples whose final tuple set is identical in all seeds,
    `self_consistency_exact` the same of the label, `pairwise_f1` with each suffix of TUPLE_KEYS a
    mean over samples.
    """
    samples = sample_agreement(runs)
    return agreement.seed_agreement(
        samples,
        MEASURES,
        UNIT,
        len(runs),
        resampling,
    )


def sample_agreement(runs: Runs) -> pd.DataFrame:
    """One row a sample: how far the seeds (seed -> units) that have it agree.

    Columns: text_id; n_seeds, the seeds that have the sample; tuples_agree and labels_agree, 0 or
    1: the same set of final tuples, the same final label in all seeds that say one (nan for fewer
    than two such seeds); pairwise_f1 with each suffix of TUPLE_KEYS: mean over the pairs of seeds,
    in 0..1, where two empty sets agree. A null is "this seed says nothing of this sample".
    """
    of_seeds = pd.concat([units[[UNIT, "final", "label_final"]] for units in runs.values()])
    rows = []
    for name, of_sample in of_seeds.groupby(UNIT):
        finals = of_sample["final"].dropna()
        row: dict[str, Any] = {
            UNIT: name,
            "n_seeds": len(of_sample),
            "tuples_agree": all_equal([set(tuples) for tuples in finals]),
            "labels_agree": all_equal(of_sample["label_final"].dropna().tolist()),
        }
        for suffix, positions in TUPLE_KEYS.items():
            sets = [set(map(itemgetter(*positions), tuples)) for tuples in finals]
            scores = [set_f1(a, b) for a, b in combinations(sets, 2)]
            row[f"pairwise_f1{suffix}"] = np.mean(scores) if scores else np.nan
        rows.append(row)
    return pd.DataFrame(rows)
