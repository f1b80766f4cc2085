"""What a dialogue trace holds, as far as the metrics and the evidence for them need it.

One dialogue a line of `dialog_trace*.jsonl`. Unknown keys are ignored, and null is read as a key that is absent. Texts
are NFC-normalised on reading, so that every later comparison is one of normalised text.
"""

import unicodedata
from functools import cached_property, partial
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    Field,
    field_validator,
    model_validator,
)

from ...core.files import dumps

Text = Annotated[str, AfterValidator(partial(unicodedata.normalize, "NFC"))]

Texts = list[Text]

# a note that is only shown: a text, or any JSON value as its text
Remark = Annotated[
    Text, BeforeValidator(lambda value: value if isinstance(value, str) else dumps(value))
]


class _Record(BaseModel, strict=True, frozen=True, allow_inf_nan=False):
    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if value is not None}


class TurnTags(_Record):
    """What a turn's reply is measured against."""

    memory_required_keys_gt: Texts = []
    risk_disclosure_required_gt: Texts = []
    compliance_label_gt: Text | None = None
    explainability_rubric_gt: Texts = []


class RecallItem(_Record):
    content: Text = ""


class Recall(_Record):
    """What the system remembered when it answered: short-term context, items, user profile."""

    short_term_context: Text = ""
    profile_context: Text = ""
    items: list[RecallItem] = []


class Violation(_Record):
    type: Text = ""
    severity: Text = ""
    phrase: Text = Field("", validation_alias=AliasChoices("phrase", "match"))


class Compliance(_Record):
    violations: list[Violation] = []


class ProfileSnapshot(_Record):
    """The system's own picture of the user after a turn."""

    risk_level: Text = ""
    investment_horizon: Text = ""
    liquidity_need: Text = ""
    preferred_topics: Texts = []
    forbidden_assets: Texts = []


class Turn(_Record):
    """One user turn with the system's reply."""

    turn_pair_id: Annotated[int, Field(ge=-(2**63), lt=2**63)]
    turn_status: Literal["ok", "timeout", "error"]
    user_text: Text = ""
    pred_assistant_text: Text = ""
    error: Remark | None = None
    gt_turn_tags: TurnTags = TurnTags()
    recall: Recall = Recall()
    compliance: Compliance = Compliance()
    profile_snapshot: ProfileSnapshot | None = None


class ProfileTruth(_Record):
    """The true profile of the user; one without any field is none."""

    risk_level_gt: Text = ""
    horizon_gt: Text = ""
    liquidity_need_gt: Text = ""
    constraints_gt: Texts = []
    preferences_gt: Texts = []


class Blueprint(_Record):
    forbidden_list: Texts = []


class RawTurn(_Record):
    role: Text
    text: Text = ""


class Dialog(_Record):
    """One dialogue. An invalid one (`valid_dialog` false) is counted and yields no turns."""

    dialog_id: Annotated[Text, Field(min_length=1)]
    valid_dialog: bool
    dialog_status: Text = ""
    trace_version: Text | None = None
    run_id: Text | None = None
    scenario_type: Text | None = None
    difficulty: Text | None = None
    profile_gt: ProfileTruth = ProfileTruth()
    blueprint: Blueprint = Blueprint()
    raw_turns: list[RawTurn] = []
    turns: list[Turn] = []

    @field_validator("turns")
    @classmethod
    def _unique(cls, turns: list[Turn]) -> list[Turn]:
        if len({turn.turn_pair_id for turn in turns}) < len(turns):
            raise ValueError("turn_pair_id is not unique in this dialogue")
        return turns

    @cached_property
    def user_texts(self) -> list[str]:
        """The user's texts of the aligned pairs of `raw_turns`.

        A user turn pairs with the next assistant turn. Turns between the two are skipped, a trailing user turn is
        dropped.
        """
        paired = []
        waiting = None
        for turn in self.raw_turns:
            if turn.role == "user" and waiting is None:
                waiting = turn.text
            elif turn.role == "assistant" and waiting is not None:
                paired.append(waiting)
                waiting = None
        return paired
