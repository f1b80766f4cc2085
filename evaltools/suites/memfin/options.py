"""The options of the MemFin suite."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ...core.suite import SuiteOptions
from .lexicon import IDENTITY


class MemfinOptions(SuiteOptions):
    """What decides the numbers, with the identity of the word lists."""

    ignore_memory_keys: bool = Field(
        False, description="Score a system without memory: M1 is not measured."
    )

    def policy(self) -> dict[str, Any]:
        """The options, and the name, version and content hash of the word lists."""
        return {"ignore_memory_keys": self.ignore_memory_keys, "lexicon": IDENTITY}

    def signature(self) -> dict[str, str]:
        """What the signature of a run says of its options."""
        memory = "ignored" if self.ignore_memory_keys else "scored"
        return {"memory": memory, "lexicon": IDENTITY}
