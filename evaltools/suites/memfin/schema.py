"""What a dialogue trace holds, as far as the metrics and the evidence for them need it.

One dialogue a line of `dialog_trace*.jsonl`. Unknown keys are ignored. Texts are NFC-normalised on
reading, so that every later comparison is one of normalised text.
"""

from __future__ import annotations

import unicodedata
from functools import cached_property, partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from ...core.files import dumps

Text = Annotated[str, AfterValidator(partial(unicodedata.normalize, "NFC"))]
OptionalText = Text | None
Texts = list[Text] | None


def _as_text(value: Any) -> Any:
    return value if value is None or isinstance(value, str) else dumps(value)


Remark = Annotated[OptionalText, BeforeValidator(_as_text)]
"""A note that is only shown: a text, or any JSON value as its text."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, allow_inf_nan=False)


class TurnTags(_Record):
    """What a turn's reply is measured against; null and absent lists are empty."""

    memory_required_keys_gt: Texts = None
    risk_disclosure_required_gt: Texts = None
    compliance_label_gt: OptionalText = None
    explainability_rubric_gt: Texts = None


class RecallItem(_Record):
    content: OptionalText = None


class Recall(_Record):
    """What the system remembered when it answered: short-term context, items, user profile."""

    short_term_context: OptionalText = None
    profile_context: OptionalText = None
    items: list[RecallItem] | None = None


class Violation(_Record):
    type: OptionalText = None
    severity: OptionalText = None


class Compliance(_Record):
    violations: list[Violation] | None = None


class ProfileSnapshot(_Record):
    """The system's own picture of the user after a turn."""

    risk_level: OptionalText = None
    investment_horizon: OptionalText = None
    liquidity_need: OptionalText = None
    preferred_topics: Texts = None
    forbidden_assets: Texts = None


class Turn(_Record):
    """One user turn with the system's reply."""

    turn_pair_id: Annotated[int, Field(ge=-(2**63), lt=2**63)]
    turn_status: Literal["ok", "timeout", "error"]
    user_text: OptionalText = None
    pred_assistant_text: OptionalText = None
    error: Remark = None
    gt_turn_tags: TurnTags | None = None
    recall: Recall | None = None
    compliance: Compliance | None = None
    profile_snapshot: ProfileSnapshot | None = None

    @property
    def is_answered(self) -> bool:
        return self.turn_status == "ok"

    @property
    def reply(self) -> str:
        return self.pred_assistant_text or ""

    @property
    def tags(self) -> TurnTags:
        """What the reply is measured against; without any tag nothing."""
        return self.gt_turn_tags or TurnTags()


class ProfileTruth(_Record):
    risk_level_gt: OptionalText = None
    horizon_gt: OptionalText = None
    liquidity_need_gt: OptionalText = None
    constraints_gt: Texts = None
    preferences_gt: Texts = None

    @property
    def available(self) -> bool:
        """Whether there is anything to compare with: a profile without any field is none."""
        return any(value is not None for _, value in self)


class Blueprint(_Record):
    forbidden_list: Texts = None


class RawTurn(_Record):
    role: Text
    text: OptionalText = None


class Dialog(_Record):
    """One dialogue. An invalid one (`valid_dialog` false) is counted and yields no turns."""

    dialog_id: Annotated[Text, Field(min_length=1)]
    valid_dialog: bool
    dialog_status: OptionalText = None
    skip_reason: Remark = None
    trace_version: OptionalText = None
    run_id: OptionalText = None
    scenario_type: OptionalText = None
    difficulty: OptionalText = None
    profile_gt: ProfileTruth | None = None
    blueprint: Blueprint | None = None
    raw_turns: list[RawTurn] | None = None
    turns: list[Turn] | None = None

    @field_validator("turns")
    @classmethod
    def _unique(cls, turns: list[Turn] | None) -> list[Turn] | None:
        ids = [turn.turn_pair_id for turn in turns or ()]
        if len(set(ids)) < len(ids):
            raise ValueError("turn_pair_id is not unique in this dialogue")
        return turns

    @cached_property
    def user_texts(self) -> list[str]:
        """The user's texts of the aligned pairs of `raw_turns`.

        A user turn pairs with the next assistant turn. Turns between the two are skipped, a
        trailing user turn is dropped.
        """
        paired = []
        waiting: str | None = None
        for turn in self.raw_turns or ():
            if turn.role == "user" and waiting is None:
                waiting = turn.text or ""
            elif turn.role == "assistant" and waiting is not None:
                paired.append(waiting)
                waiting = None
        return paired
