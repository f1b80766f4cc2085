"""What is read of a Conflict Review file: typed models of only the fields that are used.

Sources: seed cr_metrics_spec sections 1, 2 and 7. Unknown keys are ignored. Of a key that stands twice in
one object of a scorecard the last value counts; in other files it is an error.
"""

from typing import Annotated, Any

from msgspec import Meta as Limits
from msgspec import json
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    Field,
    model_validator,
)

# what the bundled stand-in calls itself where a model's name stands
STAND_IN = "stand-in (rules, no model)"


# A text that a file may leave out, or give as null
Text = str | None


class Row(BaseModel, strict=True, allow_inf_nan=False):
    """An object of a file; its values have the types that they must have."""


class Span(Row):
    start: int
    end: int


class Term(Row):
    term: Text = None


class TupleRow(Row):
    """One tuple of gold, stage 1 or the final result, in any of the spellings found in real files."""

    aspect_ref: Text = None
    aspect_term: Text | Term = None
    opinion_term: Text | Term = None
    polarity: Text = None
    label: Text = None
    term: Text = None
    is_implicit: bool | None = None
    span: Span | None = None
    grounding: Text = None
    confidence: float | None = None
    drop_reason: Text = None


# only the first bad tuple of a list is reported: a list may hold millions
Tuples = Annotated[list[TupleRow], Field(fail_fast=True)] | None


# A value of any kind, as the bytes of its JSON
Unread = Annotated[Any, AfterValidator(json.encode)]


class Aspect(Row):
    """One aspect of the extraction stage, before or after filtering."""

    term: Text = None
    span: Span | None = None
    action: Text = None
    drop_reason: Text = None


class TraceOutput(Row):
    aspect_sentiments: Tuples = None


class TraceEntry(Row):
    stage: Text = None
    agent: Text = None
    # other agents write other shapes here; only ATSA's is read
    output: TraceOutput | Any = Field(None, union_mode="left_to_right")
    notes: Unread = None


class Meta(Row):
    text_id: str | int | None = None
    input_text: Text = None
    protocol_mode: Text = None
    run_id: Text = None
    model: Text = None
    profile: Text = None
    split: Text = None
    latency_ms: Annotated[float, Field(gt=-1e15, lt=1e15), Limits(gt=-1e15, lt=1e15)] | None = None


class ReviewAction(Row):
    action_type: Text = None
    target_tuple_ids: list[str] | None = None
    reason_code: Text = None
    actor: Text = None


class AnalysisFlags(Row):
    review_actions: list[ReviewAction] | None = None
    arb_actions: list[ReviewAction] | None = None


class FinalResult(Row):
    label: Text = None
    stage1_tuples: Tuples = None
    final_tuples: Tuples = None
    final_aspects: Tuples = None


class StageAte(Row):
    label: Text = None
    aspects: list[Aspect] | None = None


class Flags(Row):
    parse_failed: bool | None = None
    generate_failed: bool | None = None


class Risk(Row):
    risk_id: Text = None


class ValidatorStage(Row):
    stage: Text = None
    structural_risks: list[Risk] | None = None


class AteDebug(Row):
    filtered: list[Aspect] | None = None


class WithGold(Row):
    gold_tuples: Tuples = None
    gold_triplets: Tuples = None


class Inputs(WithGold):
    ate_debug: AteDebug | None = None
    aspect_sentiments: Tuples = None


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
    error: Text = None


class Output(ParsedOutput):
    """One line of outputs.jsonl; `content` is all that it holds."""

    meta: Meta
    content: Any = Field(None, exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _keep(cls, value: Any) -> Any:
        return {**value, "content": value} if isinstance(value, dict) else value


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
    error: Text = None


class Scorecard(WithGold):
    """One line of scorecards.jsonl."""

    run_id: Text = None
    profile: Text = None
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

    uid: str = Field(
        validation_alias=AliasChoices("uid", "text_id", "id"),
        min_length=1,
        strict=False,
        coerce_numbers_to_str=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        """An id that is null or empty gives way to the next."""
        if not isinstance(value, dict):
            return value
        return {key: v for key, v in value.items() if v not in (None, "")}
