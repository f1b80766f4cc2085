"""The options of the Conflict Review suite: all that decides its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from ...core.suite import SuiteOptions
from .tuples import Key, MatchPolicy, match_policy

STOP_TERMS = ("ㅋㅋ", "ㅎㅎ", "ㅠㅠ", "아", "야", "언제", "하지만", "그러나")
ALLOWLIST = ("뷰", "AS", "as", "ui", "UI", "앱", "app")


class CrOptions(SuiteOptions):
    """What decides the numbers of a Conflict Review run; the gold file's content counts as an input."""

    protocol: Literal["cr_v2", "cr_v1"] = Field(
        "cr_v2",
        description="What the short metric names mean: cr_v2 (ref, polarity) or cr_v1 (term, polarity).",
    )
    match: str = Field(
        "spec",
        description="How tuples are matched: spec, reference, or switches as in spacing=collapse,implicit=set,"
        "pairless=zero (docs/decisions.md, D5, D6, D26).",
    )
    stop_terms: tuple[str, ...] = Field(
        STOP_TERMS,
        description="Terms that are no valid aspect (repeatable; they replace the default list).",
    )
    allowlist: tuple[str, ...] = Field(
        ALLOWLIST, description="Valid aspects even if of one character or stop terms (repeatable)."
    )
    gold: Path | None = Field(
        None,
        description="Gold file that replaces the run's own gold; without it the run's own counts.",
    )

    profile: tuple[str, ...] = Field(
        (), description="Only the rows of this profile (repeatable); without it all rows."
    )

    @field_validator("match")
    @classmethod
    def _known_policy(cls, text: str) -> str:
        match_policy(text)
        return text

    @property
    def key(self) -> Key:
        """The key of the protocol, for which the short metric names stand."""
        return "refpol" if self.protocol == "cr_v2" else "otepol"

    @property
    def match_policy(self) -> MatchPolicy:
        """How tuples are matched."""
        return match_policy(self.match)

    def policy(self) -> dict[str, Any]:
        """All that decides the numbers. The gold file is an input, hashed by its content."""
        policy = {
            **self.model_dump(mode="json", exclude={"gold", "profile"}),
            "match_policy": self.match_policy._asdict(),
        }
        if self.profile:
            policy["profile"] = list(self.profile)
        return policy

    def signature(self) -> dict[str, str]:
        """The parts of the signature line that are of this suite."""
        parts = {"protocol": self.protocol, "key": self.key, "match": self.match}
        if self.profile:
            parts["profile"] = ",".join(self.profile)
        return parts
