"""Agreement of the seeds of Conflict Review on a sample."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import combinations
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from ...core.estimates import is_null
from ...core.resampling import Resampling
from ...stats import agreement
from ...stats.agreement import Measure, all_equal
from ...stats.influence import Runs

TUPLE_KEYS: Mapping[str, tuple[int, ...]] = {
    "": (0, 1, 2),
    "_refpol": (0, 2),
    "_otepol": (1, 2),
}
"""Suffix of a pairwise F1 -> positions of (ref, term, polarity) that are compared."""

MEASURES = (
    Measure(
        "tuple_agreement_rate",
        "tuples_agree",
        "Same final tuples in all seeds",
        exact=True,
    ),
    Measure(
        "self_consistency_exact",
        "labels_agree",
        "Same label in all seeds",
        exact=True,
    ),
    Measure("pairwise_f1", "pairwise_f1", "Mean F1 between two seeds"),
    Measure("pairwise_f1_refpol", "pairwise_f1_refpol", "Mean F1 between two seeds (refpol)"),
    Measure("pairwise_f1_otepol", "pairwise_f1_otepol", "Mean F1 between two seeds (otepol)"),
)

UNIT = "text_id"


def seed_agreement(
    runs: Runs,
    resampling: Resampling,
) -> pd.DataFrame:
    """How far the seeds (seed -> units, with tuples) of a condition agree:
    `stats.agreement.COLUMNS`, a row a measure.

    `tuple_agreement_rate` is the share of samples whose final tuple set is identical in all seeds,
    `self_consistency_exact` the same of the label, `pairwise_f1` with each suffix of TUPLE_KEYS a
    mean over samples.
    """
    samples = sample_agreement(runs)
    return agreement.seed_agreement(samples, MEASURES, UNIT, len(runs), resampling)


def sample_agreement(runs: Runs) -> pd.DataFrame:
    """One row a sample: how far the seeds (seed -> units) that have it agree.

    Columns: text_id; n_seeds, the seeds that have the sample; tuples_agree and labels_agree, 0 or
    1: the same set of final tuples, the same final label in all seeds that say one (nan for fewer
    than two such seeds); pairwise_f1 with each suffix of TUPLE_KEYS: mean over the pairs of seeds,
    in 0..1, where two empty sets agree. A null is "this seed says nothing of this sample".
    """
    finals: dict[Hashable, list[Any]] = {}
    labels: dict[Hashable, list[Any]] = {}
    for seed in sorted(runs, key=str):
        units = runs[seed]
        for name, final, label in zip(units[UNIT], units["final"], units["label_final"]):
            finals.setdefault(name, []).append(final)
            labels.setdefault(name, []).append(label)
    rows = []
    for name in sorted(finals, key=str):
        rows.append(_agreement_of(name, finals[name], labels[name]))
    measures = [measure.column for measure in MEASURES]
    return pd.DataFrame(rows, columns=[UNIT, "n_seeds", *measures])


def _agreement_of(
    name: Hashable,
    finals: list[Any],
    labels: list[Any],
) -> dict[str, Any]:
    """The row of one sample, from its final tuples and its label in each seed that has it."""
    said = [final for final in finals if not is_null(final)]
    row = {
        UNIT: name,
        "n_seeds": len(finals),
        "labels_agree": all_equal([label for label in labels if not is_null(label)]),
    }
    for suffix, positions in TUPLE_KEYS.items():
        part = itemgetter(*positions)
        sets = [frozenset(map(part, tuples)) for tuples in said]
        between_two = [_f1(a, b) for a, b in combinations(sets, 2)]
        row[f"pairwise_f1{suffix}"] = float(np.mean(between_two)) if between_two else np.nan
        if not suffix:
            row["tuples_agree"] = all_equal(sets)
    return row


def _f1(
    a: frozenset[Any],
    b: frozenset[Any],
) -> float:
    """F1 of one set against the other; 1 for two empty ones."""
    if not a and not b:
        return 1.0
    return 2 * len(a & b) / (len(a) + len(b))
