"""The options of the Conflict Review suite: all that decides its numbers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from ..core.suite import SuiteOptions
from .scorecard import ALLOWLIST, STOP_TERMS
from .tuples import POLICIES, Key, MatchPolicy


class CrOptions(SuiteOptions):
    """`protocol` decides what the short metric names mean: refpol for cr_v2, otepol for cr_v1.

    `match` names a MatchPolicy. `gold` is a gold file that replaces the run's own gold.
    `stop_terms` and `allowlist` decide which aspects are valid targets.
    """

    protocol: Literal["cr_v2", "cr_v1"] = "cr_v2"
    match: Literal["spec", "reference"] = "spec"
    stop_terms: tuple[str, ...] = STOP_TERMS
    allowlist: tuple[str, ...] = ALLOWLIST
    gold: Path | None = None

    @property
    def key(self) -> Key:
        return "refpol" if self.protocol == "cr_v2" else "otepol"

    @property
    def match_policy(self) -> MatchPolicy:
        return POLICIES[self.match]

    def policy(self) -> dict[str, Any]:
        return {**self.model_dump(mode="json", exclude={"gold"}), "match_policy": asdict(self.match_policy)}

    def signature(self) -> dict[str, str]:
        return {"protocol": self.protocol, "key": self.key, "match": self.match}
