"""M2: how well the profile that a system has formed of its user agrees with the truth, a dialogue at a time.

Source: memfin_metrics 3.2.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from .lexicon import Profile
from .rules import first_match
from .schema import ProfileSnapshot, ProfileTruth

# name in the lexicon, field of the truth, field of the snapshot, metric
VALUE_FIELDS = (
    ("risk_level", "risk_level_gt", "risk_level", "risk_level_acc"),
    ("horizon", "horizon_gt", "investment_horizon", "horizon_acc"),
    ("liquidity", "liquidity_need_gt", "liquidity_need", "liquidity_acc"),
)
# field of the truth, field of the snapshot, metric
SET_FIELDS = (
    ("constraints_gt", "forbidden_assets", "constraints_f1"),
    ("preferences_gt", "preferred_topics", "preferences_f1"),
)


@dataclass(frozen=True)
class FieldScore:
    """One field of the profile: `metric` names it, `origin` says where the prediction comes from
    (snapshot, replies, both, or none); null is "unknown".
    """

    metric: str
    truth: str | list[str] | None
    predicted: str | list[str] | None
    origin: str
    score: float


def set_f1(predicted: Collection[str], truth: Collection[str]) -> float:
    """F1 of two sets: 1 where both are empty, 0 where one is.

    >>> round(set_f1({"a", "b"}, {"b", "c", "d"}), 2)  # P 1/2, R 1/3
    0.4
    """
    p, t = set(predicted), set(truth)
    return 1.0 if not p and not t else 2 * len(p & t) / (len(p) + len(t))


def score_profile(
    truth: ProfileTruth, snapshot: ProfileSnapshot | None, replies: str, lexicon: Profile
) -> list[FieldScore]:
    """The five fields of one dialogue: accuracy (0 or 1) of three, set F1 of two.

    `replies` holds all replies, joined by newlines. A field that the snapshot leaves unknown is
    inferred from them; constraints and preferences of the truth that stand there verbatim join the
    predicted sets. An unknown truth scores 0.
    """
    scores = []
    for name, truth_field, snapshot_field, metric in VALUE_FIELDS:
        field = getattr(lexicon, name)
        wanted = field.value(getattr(truth, truth_field))
        predicted, origin = field.value(getattr(snapshot, snapshot_field, None)), "snapshot"
        if predicted is None:
            predicted, origin = first_match(field.in_replies, replies), "replies"
        origin = origin if predicted is not None else "none"
        right = wanted is not None and predicted == wanted
        scores.append(FieldScore(metric, wanted, predicted, origin, float(right)))
    for truth_field, snapshot_field, metric in SET_FIELDS:
        wanted_set = _distinct(getattr(truth, truth_field))
        stated = _distinct(getattr(snapshot, snapshot_field, None))
        said = [text for text in wanted_set if text in replies]
        union = list(dict.fromkeys([*stated, *said]))
        origin = (
            "both" if stated and said else "snapshot" if stated else "replies" if said else "none"
        )
        scores.append(FieldScore(metric, wanted_set, union, origin, set_f1(union, wanted_set)))
    return scores


def _distinct(texts: Collection[str] | None) -> list[str]:
    return list(dict.fromkeys(text for text in texts or () if text))
