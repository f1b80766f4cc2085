"""Shared fixtures: where the reference runs and the browser are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


def reference_folder() -> Path:
    return Path(os.environ.get("EVALTOOLS_REFERENCE", ROOT.parent / "shared" / "reference"))


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of reference runs; the test is skipped where it is absent."""
    folder = reference_folder()
    if not folder.is_dir():
        pytest.skip(f"reference runs not found at {folder} (set EVALTOOLS_REFERENCE)")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium; the test is skipped where there is none."""
    path = os.environ.get("EVALTOOLS_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not path:
        pytest.skip("no Chromium found (set EVALTOOLS_CHROMIUM)")
    return path


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """A headless Chromium for the tests of one file; they are skipped where playwright is absent."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()
