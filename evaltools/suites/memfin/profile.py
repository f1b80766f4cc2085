"""M2, profile accuracy: how well the system's picture of its user agrees with the true profile, by dialogue.

Source: memfin_metrics 3.2.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from .lexicon import Profile, ProfileField
from .schema import Dialog, ProfileSnapshot, ProfileTruth


@dataclass(frozen=True)
class FieldScore:
    """The score of one field of the profile, 0 to 1; a null truth or prediction is unknown.

    metric: its name, without "m2_".
    origin: where the prediction comes from: snapshot, replies, both or none.
    """

    metric: str
    truth: str | list[str] | None
    predicted: str | list[str] | None
    origin: str
    score: float


def profile_columns(dialog: Dialog, lexicon: Profile) -> dict[str, Any]:
    """The M2 columns of a dialogue; without a true profile it is skipped and the scores are null."""
    truth = dialog.profile_gt
    if truth is None or not truth.available:
        return {"m2_dialog": 0, "m2_skipped": 1}
    snapshot = None
    replies = []
    for turn in dialog.turns or ():
        if turn.profile_snapshot is not None:
            snapshot = turn.profile_snapshot  # the last one counts
        if turn.pred_assistant_text:
            replies.append(turn.pred_assistant_text)
    fields = score_profile(truth, snapshot, "\n".join(replies), lexicon)
    columns: dict[str, Any] = {f"m2_{field.metric}": field.score for field in fields}
    scores = [field.score for field in fields]
    return {
        **columns,
        "m2_dialog": 1,
        "m2_skipped": 0,
        "m2_profile_score": sum(scores) / len(scores),
        "profile": [vars(field) for field in fields],
    }


def set_f1(predicted: Collection[str], truth: Collection[str]) -> float:
    """F1 of two sets: 1 where both are empty, 0 where one is.

    >>> round(set_f1({"a", "b"}, {"b", "c", "d"}), 2)  # precision 1/2, recall 1/3
    0.4
    """
    predicted, truth = set(predicted), set(truth)
    if not predicted and not truth:
        return 1.0
    return 2 * len(predicted & truth) / (len(predicted) + len(truth))


def score_profile(
    truth: ProfileTruth,
    snapshot: ProfileSnapshot | None,
    replies: str,
    lexicon: Profile,
) -> list[FieldScore]:
    """The five fields of one dialogue: accuracy (0 or 1) of three, set F1 of two.

    `snapshot` is the last one of the dialogue, `replies` all replies joined by newlines. A value
    that the snapshot leaves unknown is inferred from the replies. Constraints and preferences of
    the truth that stand in the replies word for word join the predicted sets. An unknown truth
    scores 0.

    >>> from evaltools.suites.memfin.lexicon import load_lexicon
    >>> truth = ProfileTruth(risk_level_gt="稳健", constraints_gt=["不使用杠杆", "最大回撤<10%"])
    >>> snapshot = ProfileSnapshot(forbidden_assets=["不使用杠杆"])
    >>> scores = score_profile(truth, snapshot, "适合稳健型的您", load_lexicon().profile)
    >>> [(field.metric, round(field.score, 2)) for field in scores if field.score < 1]
    [('horizon_acc', 0.0), ('liquidity_acc', 0.0), ('constraints_f1', 0.67)]
    """
    if snapshot is None:
        snapshot = ProfileSnapshot()
    return [
        _value_score(
            "risk_level_acc",
            truth.risk_level_gt,
            snapshot.risk_level,
            replies,
            lexicon.risk_level,
        ),
        _value_score(
            "horizon_acc",
            truth.horizon_gt,
            snapshot.investment_horizon,
            replies,
            lexicon.horizon,
        ),
        _value_score(
            "liquidity_acc",
            truth.liquidity_need_gt,
            snapshot.liquidity_need,
            replies,
            lexicon.liquidity,
        ),
        _set_score(
            "constraints_f1",
            truth.constraints_gt,
            snapshot.forbidden_assets,
            replies,
        ),
        _set_score(
            "preferences_f1",
            truth.preferences_gt,
            snapshot.preferred_topics,
            replies,
        ),
    ]


def _value_score(
    metric: str,
    truth: str | None,
    stated: str | None,
    replies: str,
    field: ProfileField,
) -> FieldScore:
    """Whether a field has its true value; `stated` is what the snapshot says."""
    true_value = field.value(truth)
    predicted = field.value(stated)
    origin = "snapshot"
    if predicted is None:
        predicted = field.value_in(replies)
        origin = "replies" if predicted is not None else "none"
    is_right = true_value is not None and predicted == true_value
    return FieldScore(metric, true_value, predicted, origin, float(is_right))


def _set_score(
    metric: str,
    truth: list[str] | None,
    stated: list[str] | None,
    replies: str,
) -> FieldScore:
    """F1 of a set; `stated` is what the snapshot says."""
    true_texts = _distinct(truth)
    in_snapshot = _distinct(stated)
    in_replies = [text for text in true_texts if text in replies]
    predicted = _distinct([*in_snapshot, *in_replies])
    if in_snapshot and in_replies:
        origin = "both"
    elif in_snapshot:
        origin = "snapshot"
    elif in_replies:
        origin = "replies"
    else:
        origin = "none"
    return FieldScore(metric, true_texts, predicted, origin, set_f1(predicted, true_texts))


def _distinct(texts: list[str] | None) -> list[str]:
    """The texts that are not empty, each once, in their order."""
    return list(dict.fromkeys(text for text in texts or () if text))
