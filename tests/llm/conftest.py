"""A planted key, and short waits."""

import pytest

from evaltools.llm import client as llm

from .calls import KEY


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(llm, "FIRST_WAIT", 0.01)
