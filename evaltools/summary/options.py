"""The options of the summary suite, with the identity of the rules in force."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import model_validator

from ..core.errors import InputError, Problem, UsageError
from ..core.suite import SuiteOptions
from .rules import Rules, load_rules


class SummaryOptions(SuiteOptions):
    """`rules`: a bundled name or the path of a rule file. `judge`: "hybrid" asks a language model where the rules
    are unsure; `judge_*` say which and how (see `judge.JudgeSettings`). `rules_identity` (name@hash) and
    `rules_version` follow from the rules' content and are not to be given.
    """

    rules: str = "ko-insurance"
    rules_identity: str = ""
    rules_version: str = ""
    judge: Literal["off", "hybrid"] = "off"
    judge_model: str = ""
    judge_base_url: str | None = None
    judge_mode: Literal["override", "blend"] = "override"
    judge_confidence: float = 0.8
    judge_max_calls: int | None = None
    judge_cache: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _identify(cls, data: Any) -> Any:
        # kept with the options, so that a result can be read back when the file has gone or changed
        if not isinstance(data, dict) or data.get("rules_identity"):
            return data
        name = str(data.get("rules") or "ko-insurance")
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

        return {
            **rules,
            "judge_model": self.judge_model,
            "judge_prompts": prompts_hash(),
            "judge_base_url": self.judge_base_url,
            "judge_mode": self.judge_mode,
            "judge_confidence": self.judge_confidence,
            "judge_max_calls": self.judge_max_calls,
        }

    def signature(self) -> dict[str, str]:
        judge = (
            {} if self.judge == "off" else {"judge": f"{self.judge_model}/{self.judge_mode}{self.judge_confidence:g}"}
        )
        return {"rules": self.rules_identity, **judge}


def rules_in_force(options: SummaryOptions) -> Rules:
    """The rules that the options were made for; InputError where the file has changed since."""
    rules = load_rules(options.rules)
    if rules.identity != options.rules_identity:
        message = f"the rules are {rules.identity} now, the options were made for {options.rules_identity}"
        raise InputError([Problem("error", "rules-changed", message, file=options.rules)])
    return rules
