"""Every test of a run has a key, and waits for no server."""

from tests.llm.conftest import environment

__all__ = ["environment"]
