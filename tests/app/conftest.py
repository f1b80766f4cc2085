"""Fixtures of the tests of commands."""

from pathlib import Path

import pytest

from tests.files import Shared

from .small_report import make_undisturbed


@pytest.fixture(scope="session")
def undisturbed(shared: Shared) -> Path:
    """A folder with small notebooks, and the outputs of a batch that nothing disturbed."""
    return shared("undisturbed", make_undisturbed)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
