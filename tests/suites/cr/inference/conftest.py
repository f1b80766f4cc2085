"""Every test of a run has a key, and waits for no server."""

import pytest

from evaltools.llm import client as llm


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(llm, "FIRST_WAIT", 0.01)
