"""What is read of a Conflict Review file: typed models of only the fields that are used.

Sources: seed cr_metrics_spec sections 1, 2 and 7. Unknown keys are ignored. Of a key that stands twice in
one object of a scorecard the last value counts; in other files it is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta as Limits
from msgspec import json
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, model_validator

STAND_IN = "stand-in (rules, no model)"
"""What the bundled stand-in calls itself where a model's name stands."""


class Row(BaseModel):
    model_config = ConfigDict(
        strict=True, extra="ignore", allow_inf_nan=False, protected_namespaces=()
    )


def first_id(*values: str | int | None) -> str:
    """The first of several ids that is there, as text; "" where none is."""
    for value in values:
        if value is not None and value != "":
            return str(value)
    return ""


class Span(Row):
    start: int
    end: int


class Term(Row):
    term: str | None = None


class TupleRow(Row):
    """One tuple of gold, stage 1 or the final result, in any of the spellings found in real files."""

    aspect_ref: str | None = None
    aspect_term: str | Term | None = None
    opinion_term: str | Term | None = None
    polarity: str | None = None
    label: str | None = None
    term: str | None = None
    is_implicit: bool | None = None
    span: Span | None = None
    grounding: str | None = None
    confidence: float | None = None
    drop_reason: str | None = None


Tuples = Annotated[list[TupleRow], Field(fail_fast=True)]
"""Only the first bad tuple of a list is reported: a list may hold millions."""


Unread = Annotated[Any, AfterValidator(json.encode)]
"""A value of any kind, as the bytes of its JSON."""


class Aspect(Row):
    """One aspect of the extraction stage, before or after filtering."""

    term: str | None = None
    span: Span | None = None
    action: str | None = None
    drop_reason: str | None = None


class TraceOutput(Row):
    aspect_sentiments: Tuples | None = None


class TraceEntry(Row):
    stage: str | None = None
    agent: str | None = None
    # other agents write other shapes here; only ATSA's is read
    output: Annotated[TraceOutput | Any, Field(union_mode="left_to_right")] = None
    notes: Unread = None


class Meta(Row):
    text_id: str | int | None = None
    uid: str | int | None = None
    input_text: str | None = None
    protocol_mode: str | None = None
    run_id: str | None = None
    model: str | None = None
    profile: str | None = None
    split: str | None = None
    latency_ms: Annotated[float, Field(gt=-1e15, lt=1e15), Limits(gt=-1e15, lt=1e15)] | None = None


class ReviewAction(Row):
    action_type: str | None = None
    target_tuple_ids: list[str] | None = None
    reason_code: str | None = None
    actor: str | None = None


class AnalysisFlags(Row):
    review_actions: list[ReviewAction] | None = None
    arb_actions: list[ReviewAction] | None = None


class FinalResult(Row):
    label: str | None = None
    stage1_tuples: Tuples | None = None
    final_tuples: Tuples | None = None
    final_aspects: Tuples | None = None


class StageAte(Row):
    label: str | None = None
    aspects: list[Aspect] | None = None


class Flags(Row):
    parse_failed: bool | None = None
    generate_failed: bool | None = None


class Risk(Row):
    risk_id: str | None = None


class ValidatorStage(Row):
    stage: str | None = None
    structural_risks: list[Risk] | None = None


class AteDebug(Row):
    filtered: list[Aspect] | None = None


class WithGold(Row):
    gold_tuples: Tuples | None = None
    gold_triplets: Tuples | None = None


class Inputs(WithGold):
    ate_debug: AteDebug | None = None
    aspect_sentiments: Tuples | None = None


class ParsedOutput(WithGold):
    """A runner output as it stands inside a scorecard, whose `meta` stands at the scorecard's top."""

    final_result: FinalResult | None = None
    analysis_flags: AnalysisFlags | None = None
    process_trace: list[TraceEntry] | None = None
    stage1_ate: StageAte | None = None
    stage2_ate: StageAte | None = None
    stage1_validator: ValidatorStage | None = None
    stage2_validator: ValidatorStage | None = None
    flags: Flags | None = None
    inputs: Inputs | None = None
    error: str | None = None


class Output(ParsedOutput):
    """One line of outputs.jsonl; `content` is all that it holds."""

    meta: Meta
    _content: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def content(self) -> dict[str, Any]:
        """The whole line, for the scorecard that is made of it."""
        return self._content

    @model_validator(mode="wrap")
    @classmethod
    def _keep(
        cls,
        value: Any,
        validate: Callable[[Any], Any],
    ) -> Any:
        output = validate(value)
        output._content = value
        return output


class Ate(Row):
    hallucination_flag: bool | None = None


class SentimentJudgement(Row):
    opinion_grounded: bool | None = None


class Atsa(Row):
    sentiment_judgements: list[SentimentJudgement] | None = None


class StageDelta(Row):
    changed: bool | None = None


class Runtime(Row):
    parsed_output: ParsedOutput | None = None
    process_trace: list[TraceEntry] | None = None
    error: str | None = None


class Scorecard(WithGold):
    """One line of scorecards.jsonl."""

    run_id: str | None = None
    profile: str | None = None
    meta: Meta
    inputs: Inputs | None = None
    ate: Ate | None = None
    ate_score: Ate | None = None
    atsa: Atsa | None = None
    validator: list[ValidatorStage] | None = None
    stage_delta: StageDelta | None = None
    flags: Flags | None = None
    runtime: Runtime | None = None


class Gold(WithGold):
    """One line of gold.jsonl."""

    uid: str | int | None = None
    text_id: str | int | None = None
    id: str | int | None = None

    def name(self) -> str:
        return first_id(self.uid, self.text_id, self.id)

    @model_validator(mode="after")
    def _named(self) -> Gold:
        if not self.name():
            raise ValueError("expected uid, text_id or id")
        return self
