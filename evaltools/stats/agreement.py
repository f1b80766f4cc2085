"""Agreement: of seeds on the same sample, and of reviewers on the same subject.

References: Cohen, Educational and Psychological Measurement 20 (1960); Fleiss, Psychological Bulletin 76
(1971).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ..core.metric import Metric
from ..core.resampling import Resampling
from .design import Runs, in_order
from .intervals import estimate

TUPLE_KEYS: Mapping[str, tuple[int, ...]] = {"": (0, 1, 2), "_refpol": (0, 2), "_otepol": (1, 2)}
"""Suffix of a pairwise F1 -> places of [ref, term, polarity] that are compared."""


def sample_agreement(
    runs: Runs, unit: str, tuples: str = "final", label: str = "label_final"
) -> pd.DataFrame:
    """One row a sample: how far the seeds that have it agree.

    `tuples` is a column of lists of (ref, term, polarity), `label` a column of text; a null is "this
    seed says nothing of this sample". Columns: `unit`, n_seeds (seeds that have the sample), tuples_agree
    and labels_agree (0/1: the same set, the same label in all seeds that say one; nan for fewer than two
    such seeds), pairwise_f1 with each suffix of TUPLE_KEYS (mean over the pairs of seeds, in 0..1; two
    empty sets agree).
    """
    said: dict[Hashable, list[tuple[Any, Any]]] = {}
    for seed in in_order(set(runs)):
        for name, found, text in zip(*(runs[seed][column] for column in (unit, tuples, label))):
            said.setdefault(name, []).append((found, text))
    rows = []
    for name in in_order(set(said)):
        finals, labels = ([x for x in column if not _is_null(x)] for column in zip(*said[name]))
        sets = {
            s: [frozenset(tuple(t[i] for i in at) for t in f) for f in finals]
            for s, at in TUPLE_KEYS.items()
        }
        pairs = {s: [_f1(a, b) for a, b in combinations(found, 2)] for s, found in sets.items()}
        f1 = [float(np.mean(found)) if found else np.nan for found in pairs.values()]
        rows.append((name, len(said[name]), _all_equal(sets[""]), _all_equal(labels), *f1))
    columns = [
        unit,
        "n_seeds",
        "tuples_agree",
        "labels_agree",
        *(f"pairwise_f1{s}" for s in TUPLE_KEYS),
    ]
    return pd.DataFrame(rows, columns=columns)


COLUMNS = [
    "metric",
    "value",
    "ci_low",
    "ci_high",
    "ci_method",
    "n_samples",
    "n_incomplete",
    "title",
]
"""Of `seed_agreement`."""


def seed_agreement(
    runs: Runs,
    unit: str,
    resampling: Resampling,
    tuples: str = "final",
    label: str = "label_final",
) -> pd.DataFrame:
    """Agreement across seeds: metric, value, ci_low, ci_high, ci_method, n_samples, n_incomplete, title.

    `tuple_agreement_rate`: share of samples whose final tuple set is identical in all seeds;
    `self_consistency_exact`: the same of the label; `pairwise_f1` with each suffix of TUPLE_KEYS: mean over
    samples. All in 0..1, over the samples that two or more seeds speak of (`n_samples`); null where there
    is none. A sample that some seed lacks counts by the seeds that have it: `n_incomplete` of them. Claim of
    the intervals: new samples, these seeds.
    """
    frame = sample_agreement(runs, unit, tuples, label)
    titles = {
        "tuple_agreement_rate": ("tuples_agree", "Same final tuples in all seeds"),
        "self_consistency_exact": ("labels_agree", "Same label in all seeds"),
        **{
            f"pairwise_f1{s}": (
                f"pairwise_f1{s}",
                f"Mean F1 between two seeds{s and f' ({s[1:]})'}",
            )
            for s in TUPLE_KEYS
        },
    }
    counted = frame.assign(**{f"{c}_n": frame[c].notna() for c, _ in titles.values()})
    shared: Any = {"group": "agreement", "better": "higher"}
    table = [
        Metric(
            name=m,
            numerator=c,
            denominator=f"{c}_n",
            title=title,
            proportion=c.endswith("agree"),
            **shared,
        )
        for m, (c, title) in titles.items()
    ]
    there = counted[[f"{c}_n" for c, _ in titles.values()]]
    found = estimate(counted, table, unit, resampling).rename(columns={"name": "metric"})
    incomplete = there[frame["n_seeds"] < len(runs)]
    found = found.assign(
        n_samples=there.sum().to_numpy(int), n_incomplete=incomplete.sum().to_numpy(int)
    )
    return found[COLUMNS]


def flip_flops(
    runs: Runs, unit: str, outcomes: Sequence[str], keep: Sequence[str] = ()
) -> pd.DataFrame:
    """The samples whose outcome depends on the seed: one row a sample and outcome column.

    Columns: `unit`, those of `keep` (from the first seed that has the sample), outcome (name of the
    column), one column a seed (its outcome, None where it has none). Nulls are no outcome of their own.
    """
    seeds = in_order(set(runs))
    first: dict[Hashable, list[Any]] = {}
    for seed in reversed(seeds):
        first |= dict(zip(runs[seed][unit], runs[seed][list(keep)].to_numpy(dtype=object).tolist()))
    rows = []
    for outcome in outcomes:
        by_seed = {
            s: {u: v for u, v in zip(runs[s][unit], runs[s][outcome]) if not _is_null(v)}
            for s in seeds
        }
        for name in in_order(set(first)):
            said = [by_seed[s].get(name) for s in seeds]
            if len({v for v in said if v is not None}) > 1:
                rows.append([name, *first[name], outcome, *said])
    return pd.DataFrame(rows, columns=[unit, *keep, "outcome", *map(str, seeds)])


def review_votes(
    reviews: Iterable[tuple[Hashable, Sequence[Mapping[str, Any]]]],
) -> tuple[pd.DataFrame, int]:
    """Votes of reviewers from (sample, its review actions): (long frame, actions left out).

    Frame: sample, tuple, rater, category; a row for each tuple that an action names in
    `target_tuple_ids`, with its `actor` and `action_type`. Actions that lack one of the three are counted.
    """
    rows, left_out = [], 0
    for sample, actions in reviews:
        for action in actions:
            targets, actor, kind = (
                action.get(k) for k in ("target_tuple_ids", "actor", "action_type")
            )
            if not (targets and actor and kind):
                left_out += 1
                continue
            rows += [(sample, str(target), str(actor), str(kind)) for target in targets]
    return pd.DataFrame(rows, columns=["sample", "tuple", "rater", "category"]), left_out


def reviewer_agreement(
    votes: pd.DataFrame, subject: Sequence[str] = ("sample", "tuple")
) -> pd.DataFrame:
    """Agreement of raters inside a run: measure, raters, value, n_subjects, reason.

    `votes` is long: one row a subject, rater and category; several categories of one rater on one subject
    are one vote for their combination ("DROP+FLAG"). Fleiss' kappa, perfect_agreement (all the same) and
    majority_agreement (more than half the same) rest on the subjects that every rater voted on; Cohen's
    kappa of each pair on those that both did. Kappas are at most 1, 0 being chance; a null says why in
    `reason`: "one rater", "no subject in common", or "no variance" (one category only: chance agreement
    is certain and kappa is 0/0). No intervals: subjects of one sample are not independent.
    """
    ballot = (
        votes.groupby([*subject, "rater"], sort=True)["category"]
        .agg(lambda c: "+".join(sorted(set(c))))
        .unstack("rater")
        .sort_index(axis=1)
    )
    raters = list(ballot.columns)
    full = ballot.dropna()
    everyone = ", ".join(map(str, raters))
    rows: list[tuple[str, str, float, int, str]] = []
    reason = "one rater" if len(raters) < 2 else "no subject in common" if full.empty else ""
    if reason:
        rows = [(m, everyone, np.nan, len(full), reason) for m in ("fleiss_kappa", *_SHARES)]
    else:
        said = full.to_numpy(dtype=object).astype(str)
        counts = np.stack([(said == category).sum(axis=1) for category in np.unique(said)], axis=1)
        kappa = fleiss_kappa(counts)
        rows.append(
            ("fleiss_kappa", everyone, kappa, len(full), "no variance" if np.isnan(kappa) else "")
        )
        top = counts.max(axis=1)
        for measure, least in _SHARES.items():
            rows.append(
                (measure, everyone, float(np.mean(top >= least(len(raters)))), len(full), "")
            )
    for a, b in combinations(raters, 2):
        both = ballot[[a, b]].dropna()
        names = sorted(set(both[a]) | set(both[b]))
        value, reason = np.nan, "no subject in common" if both.empty else "no variance"
        if len(names) > 1:
            counts = pd.crosstab(both[a], both[b]).reindex(index=names, columns=names, fill_value=0)
            value, reason = cohen_kappa(counts.to_numpy(float)), ""
        rows.append(("cohen_kappa", f"{a}, {b}", value, len(both), reason))
    return pd.DataFrame(rows, columns=["measure", "raters", "value", "n_subjects", "reason"])


_SHARES: Mapping[str, Callable[[int], int]] = {
    "perfect_agreement": lambda raters: raters,
    "majority_agreement": lambda raters: raters // 2 + 1,
}


def fleiss_kappa(counts: np.ndarray) -> float:
    """Fleiss' kappa, at most 1, of how many raters chose a category: a row a subject, a column a category.

    All subjects have the same raters, two and more. nan where one category is all that was chosen.
    """
    raters, share = counts[0].sum(), counts.sum(axis=0) / counts.sum()
    agree = ((counts * counts).sum(axis=1) - raters) / (raters * (raters - 1.0))
    return _beyond_chance(agree.mean(), (share * share).sum())


def cohen_kappa(table: np.ndarray) -> float:
    """Cohen's kappa, at most 1, of two raters: subjects by the category that one chose (row) and the other (column).

    nan where one category is all that was chosen.
    """
    n = table.sum()
    return _beyond_chance(
        np.trace(table) / n, (table.sum(axis=0) / n * (table.sum(axis=1) / n)).sum()
    )


def _beyond_chance(agreed: float, by_chance: float) -> float:
    return float((agreed - by_chance) / (1 - by_chance)) if by_chance < 1 else np.nan


def _is_null(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))


def _all_equal(values: Sequence[Any]) -> float:
    return np.nan if len(values) < 2 else float(all(v == values[0] for v in values))


def _f1(a: frozenset[Any], b: frozenset[Any]) -> float:
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0
