"""The options of the summary suite, with the identity of the rules in force."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from ..core.errors import InputError, Problem, UsageError
from ..core.suite import COSTLY, Derived, SuiteOptions
from .rules import Rules, load_rules

DEFAULT_RULES = "ko-insurance"


class SummaryOptions(SuiteOptions):
    """`rules_identity` (name@hash) and `rules_version` follow from the rules' content."""

    rules: str = Field(DEFAULT_RULES, description="Rules: ko-insurance, seed, or the path of a rule file.")
    rules_identity: str = Derived
    rules_version: str = Derived
    judge: Literal["off", "hybrid"] = Field(
        "off",
        description="off: rules alone; hybrid: a language model decides the cases of which the rules are unsure.",
        json_schema_extra=COSTLY,
    )
    judge_model: str = Field(
        "", description="Name of the judge's model; needed with the judge hybrid.", json_schema_extra=COSTLY
    )
    judge_base_url: str | None = Field(
        None,
        description="Address of an OpenAI-compatible server, up to and with /v1; by default the client's own.",
        json_schema_extra=COSTLY,
    )
    judge_mode: Literal["override", "blend"] = Field(
        "override",
        description="override: a confident judge's score stands alone, one less so is blended; "
        "blend: always 0.7 x rule + 0.3 x judge.",
        json_schema_extra=COSTLY,
    )
    judge_confidence: float = Field(
        0.8,
        ge=0,
        le=1,
        description="Confidence of the judge, from 0 to 1, from which on it overrides.",
        json_schema_extra=COSTLY,
    )
    judge_max_calls: int | None = Field(
        None,
        ge=0,
        description="Questions sent to the judge at the most; by default no limit.",
        json_schema_extra=COSTLY,
    )
    judge_cache: str | None = Field(
        None,
        description="Folder of the judge's replies, so that a rerun costs nothing; by default OUT/judge-cache on the "
        "command line, and none elsewhere.",
        json_schema_extra={**COSTLY, "below_out": "judge-cache"},
    )

    @model_validator(mode="before")
    @classmethod
    def _identify(cls, data: Any) -> Any:
        # kept with the options, so that a result can be read back when the file has gone or changed
        if not isinstance(data, dict) or data.get("rules_identity"):
            return data
        name = str(data.get("rules") or DEFAULT_RULES)
        rules = load_rules(name)
        return {**data, "rules": name, "rules_identity": rules.identity, "rules_version": rules.version}

    @model_validator(mode="after")
    def _needs_a_model(self) -> SummaryOptions:
        if self.judge == "hybrid" and not self.judge_model.strip():
            raise UsageError("the hybrid judge needs the name of a model (judge_model)")
        return self

    def policy(self) -> dict[str, Any]:
        """The rules by name and content; of the judge, what can change a number, and only where it is asked."""
        rules = {"rules": self.rules_identity, "rules_version": self.rules_version, "judge": self.judge}
        if self.judge == "off":
            return rules
        from .judge import prompts_hash

        asked = ("judge_model", "judge_base_url", "judge_mode", "judge_confidence", "judge_max_calls")
        return {**rules, **{name: getattr(self, name) for name in asked}, "judge_prompts": prompts_hash()}

    def signature(self) -> dict[str, str]:
        judge = f"{self.judge_model}/{self.judge_mode}{self.judge_confidence:g}"
        return {"rules": self.rules_identity, **({} if self.judge == "off" else {"judge": judge})}


def rules_in_force(options: SummaryOptions) -> Rules:
    """The rules that the options were made for; InputError where the file has changed since."""
    rules = load_rules(options.rules)
    if rules.identity != options.rules_identity:
        message = f"the rules are {rules.identity} now, the options were made for {options.rules_identity}"
        raise InputError([Problem("error", "rules-changed", message, file=options.rules)])
    return rules
