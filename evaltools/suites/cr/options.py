"""The options of the Conflict Review suite: all that decides its numbers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ...core.suite import SuiteOptions
from .tuples import POLICIES, Key, MatchPolicy

STOP_TERMS = ("ㅋㅋ", "ㅎㅎ", "ㅠㅠ", "아", "야", "언제", "하지만", "그러나")
ALLOWLIST = ("뷰", "AS", "as", "ui", "UI", "앱", "app")


class CrOptions(SuiteOptions):
    """What decides the numbers of a Conflict Review run; the gold file's content counts as an input."""

    protocol: Literal["cr_v2", "cr_v1"] = Field(
        "cr_v2",
        description="What the short metric names mean: cr_v2 (ref, polarity) or cr_v1 (term, polarity).",
    )
    match: Literal["spec", "reference"] = Field(
        "spec",
        description="How terms and implicit gold are matched: spec, or reference (docs/decisions.md, D5, D6).",
    )
    stop_terms: tuple[str, ...] = Field(STOP_TERMS, description="Terms that are no valid aspect.")
    allowlist: tuple[str, ...] = Field(
        ALLOWLIST, description="Valid aspects even if of one character or stop terms."
    )
    gold: Path | None = Field(
        None,
        description="Gold file that replaces the run's own gold; without it the run's own counts.",
    )

    @property
    def key(self) -> Key:
        return "refpol" if self.protocol == "cr_v2" else "otepol"

    @property
    def match_policy(self) -> MatchPolicy:
        return POLICIES[self.match]

    def policy(self) -> dict[str, Any]:
        return {
            **self.model_dump(mode="json", exclude={"gold"}),
            "match_policy": asdict(self.match_policy),
        }

    def signature(self) -> dict[str, str]:
        return {"protocol": self.protocol, "key": self.key, "match": self.match}
