"""M2, profile accuracy: how well the system's picture of its user agrees with the true profile, by dialogue.

Source: memfin_metrics 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...core.metric import set_f1
from .replies import LEXICON, first_match
from .schema import Dialog, ProfileSnapshot, ProfileTruth

# metric of a field with one value -> its names in the truth, and in a snapshot and the word lists
VALUES = {
    "risk_level_acc": ("risk_level_gt", "risk_level"),
    "horizon_acc": ("horizon_gt", "investment_horizon"),
    "liquidity_acc": ("liquidity_need_gt", "liquidity_need"),
}

# metric of a field with a set of texts -> its names in the truth and in a snapshot
SETS = {
    "constraints_f1": ("constraints_gt", "forbidden_assets"),
    "preferences_f1": ("preferences_gt", "preferred_topics"),
}

# a prediction is in the snapshot, in the replies -> where it comes from
ORIGINS = {
    (True, True): "both",
    (True, False): "snapshot",
    (False, True): "replies",
    (False, False): "none",
}


def profile_columns(dialog: Dialog) -> dict[str, Any]:
    """The M2 columns of a dialogue; without a true profile it is skipped and the scores are null."""
    if not dialog.profile_gt.model_fields_set:
        return {"m2_dialog": 0, "m2_skipped": 1}
    snapshot = ProfileSnapshot()
    for turn in dialog.turns:
        snapshot = turn.profile_snapshot or snapshot
    replies = [turn.pred_assistant_text for turn in dialog.turns if turn.pred_assistant_text]
    fields = score_profile(dialog.profile_gt, snapshot, "\n".join(replies))
    scores = {f"m2_{field['metric']}": field["score"] for field in fields}
    return {
        **scores,
        "m2_dialog": 1,
        "m2_skipped": 0,
        "m2_profile_score": sum(scores.values()) / len(scores),
        "profile": fields,
    }


def score_profile(
    truth: ProfileTruth,
    snapshot: ProfileSnapshot,
    replies: str,
) -> list[dict[str, Any]]:
    """The five fields of one dialogue: metric, truth, predicted, origin, score.

    `metric` is without "m2_": accuracy (0 or 1) of three, set F1 of two. `snapshot` is the last one of the dialogue,
    `replies` all replies joined by newlines. A value that the snapshot leaves unknown is inferred from the replies.
    Constraints and preferences of the truth that stand in the replies word for word join the predicted sets. An
    unknown truth scores 0. `origin` says where the prediction comes from: snapshot, replies, both or none.

    >>> truth = ProfileTruth(risk_level_gt="稳健", constraints_gt=["不使用杠杆", "最大回撤<10%"])
    >>> snapshot = ProfileSnapshot(forbidden_assets=["不使用杠杆"])
    >>> scores = score_profile(truth, snapshot, "适合稳健型的您")
    >>> [(field["metric"], round(field["score"], 2)) for field in scores if field["score"] < 1]
    [('horizon_acc', 0.0), ('liquidity_acc', 0.0), ('constraints_f1', 0.67)]
    """
    fields: list[tuple[Any, ...]] = []
    for metric, (true_name, name) in VALUES.items():
        words = LEXICON["profile"][name]
        true = _value(words, getattr(truth, true_name))
        stated = _value(words, getattr(snapshot, name))
        inferred = None if stated else first_match(words["in_replies"], replies)
        predicted = stated or inferred
        score = float(true is not None and predicted == true)
        fields.append((metric, true, predicted, ORIGINS[bool(stated), bool(inferred)], score))
    for metric, (true_name, name) in SETS.items():
        texts = _distinct(getattr(truth, true_name))
        listed = _distinct(getattr(snapshot, name))
        said = [text for text in texts if text in replies]
        found = _distinct([*listed, *said])
        origin = ORIGINS[bool(listed), bool(said)]
        fields.append((metric, texts, found, origin, set_f1(found, texts)))
    return [dict(zip(("metric", "truth", "predicted", "origin", "score"), f)) for f in fields]


def _value(words: dict[str, Any], text: str) -> str | None:
    """The value that a text names; None for one that is unknown."""
    return next((value for value, known in words["values"].items() if text in known), None)


def _distinct(texts: Iterable[str]) -> list[str]:
    """The texts that are not empty, each once, in their order."""
    return list(dict.fromkeys(filter(None, texts)))
