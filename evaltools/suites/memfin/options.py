"""The options of the MemFin suite."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, model_validator

from ...core.suite import SuiteOptions
from .lexicon import load_lexicon


class MemfinOptions(SuiteOptions):
    """What decides the numbers. `lexicon_identity` follows from the lexicon's content."""

    derived: ClassVar = ("lexicon_identity",)

    ignore_memory_keys: bool = Field(
        False, description="Score a system without memory: M1 is not measured."
    )
    lexicon: str | None = Field(
        None, description="Word lists to use (JSON file); null takes the bundled ones."
    )
    lexicon_identity: str = ""

    @model_validator(mode="before")
    @classmethod
    def _identify(cls, data: Any) -> Any:
        # the identity is kept with the options, so that a result can be read back when the file
        # of the lexicon has gone or changed
        if not isinstance(data, dict) or data.get("lexicon_identity"):
            return data
        path = data.get("lexicon")
        identity = load_lexicon(path).identity
        return {**data, "lexicon": path and str(path), "lexicon_identity": identity}

    def policy(self) -> dict[str, Any]:
        """The options with the lexicon's name, version and content hash in place of its path."""
        return {"ignore_memory_keys": self.ignore_memory_keys, "lexicon": self.lexicon_identity}

    def signature(self) -> dict[str, str]:
        """What the signature of a run says of its options."""
        memory = "ignored" if self.ignore_memory_keys else "scored"
        return {"memory": memory, "lexicon": self.lexicon_identity}
