"""The options of the summary suite, with the identity of the rules in force."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from ...core.errors import Problems, UsageError
from ...core.files import Fields
from ...core.manifest import policy_hash
from ...core.suite import SuiteOptions
from ...llm.messages import BaseUrl
from .rules import DEFAULT_RULES, Rules, load_rules

Mode = Literal["override", "blend"]


class SummaryOptions(SuiteOptions):
    """The options of a run of the summary suite.

    `rules_identity` (name@hash) and `rules_version` follow from the rules' content. The judge's
    API key is no option: it is read from EVALTOOLS_JUDGE_API_KEY or
    OPENAI_API_KEY when the first request is sent, and kept nowhere. A server at a given
    `judge_base_url` may do without one.

    judge_max_calls: only the first so many distinct questions, in the order of the cases, may be
    sent to the server; each file of a command has this budget. A reply in the cache is used
    wherever it stands and costs nothing. A question already in the cache still takes up its place,
    so that a rerun under the same budget sends nothing and gives the same scores. Repeats that the
    client makes on 429, 5xx and the like are not counted apart.
    """

    derived: ClassVar = ("rules_identity", "rules_version")
    costly: ClassVar = (
        "judge",
        "judge_model",
        "judge_base_url",
        "judge_mode",
        "judge_confidence",
        "judge_max_calls",
        "judge_cache",
    )

    rules: str = Field(
        DEFAULT_RULES, description="Rules: ko-insurance, seed, or the path of a rule file."
    )
    rules_identity: str = ""
    rules_version: str = ""
    judge: Literal["off", "hybrid"] = Field(
        "off",
        description="off: rules alone; hybrid: a language model decides the cases of which the "
        "rules are unsure.",
    )
    judge_model: str = Field(
        "", description="Name of the judge's model; needed with the judge hybrid."
    )
    judge_base_url: BaseUrl = Field(
        None,
        description="Address of an OpenAI-compatible server, up to and with /v1; by default the "
        "client's own.",
    )
    judge_mode: Mode = Field(
        "override",
        description="override: a confident judge's score stands alone, one less so is blended; "
        "blend: always 0.7 x rule + 0.3 x judge.",
    )
    judge_confidence: float = Field(
        0.8,
        description="Confidence of the judge, from 0 to 1, from which on it overrides.",
        ge=0,
        le=1,
    )
    judge_max_calls: int | None = Field(
        None,
        description="Questions sent to the judge at the most, for each file; by default no limit.",
        ge=0,
    )
    judge_cache: str | None = Field(
        None,
        description="Folder of the judge's replies, so that a rerun costs nothing; by default "
        "OUT/judge-cache, and none where nothing is written.",
    )

    @model_validator(mode="before")
    @classmethod
    def _identify(cls, data: Any) -> Any:
        # kept with the options, so that a result can be read back when the file has gone or changed
        if not isinstance(data, dict) or data.get("rules_identity"):
            return data
        name = str(data.get("rules") or DEFAULT_RULES)
        rules = load_rules(name)
        return {
            **data,
            "rules": name,
            "rules_identity": rules.identity,
            "rules_version": rules.version,
        }

    @model_validator(mode="after")
    def _can_be_asked(self) -> SummaryOptions:
        if self.judge != "off" and not self.judge_model.strip():
            raise UsageError("the hybrid judge needs the name of a model (judge_model)")
        return self

    def policy(self) -> Fields:
        """What can change a number: the rules by content, and the judge only where it is asked."""
        policy: Fields = {
            "rules": self.rules_identity,
            "rules_version": self.rules_version,
            "judge": self.judge,
        }
        if self.judge == "off":
            return policy
        from .judge import prompts

        policy |= self.model_dump(mode="json", include={*self.costly} - {"judge_cache"})
        policy["judge_prompts"] = policy_hash(prompts())
        policy["judge_prompt_versions"] = {
            name: version for name, (version, _) in prompts().items()
        }
        return policy

    def signature(self) -> dict[str, str]:
        """The rules and the judge, for the signature line."""
        signature = {"rules": self.rules_identity}
        if self.judge == "hybrid":
            signature["judge"] = f"{self.judge_model}/{self.judge_mode}{self.judge_confidence:g}"
        return signature


def rules_in_force(options: SummaryOptions) -> Rules:
    """The rules that the options were made for; InputError where the file has changed since."""
    rules = load_rules(options.rules)
    if rules.identity != options.rules_identity:
        raise Problems().fatal(
            "rules-changed",
            f"the rules are {rules.identity} now, the options were made for {options.rules_identity}",
            file=options.rules,
        )
    return rules
