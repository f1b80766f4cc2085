"""The Python of the written pages runs, from the top of a page to its end."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)

ELSEWHERE = {"extending.md", "decisions-worked.md"}
"""Pages whose blocks belong to their commands: tests/test_extending.py and tests/app/test_decision.py run both."""

PAGES = {
    page.name: BLOCK.findall(page.read_text(encoding="utf-8"))
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    if page.name not in ELSEWHERE
}


@pytest.mark.parametrize("name", [name for name, blocks in PAGES.items() if blocks])
def test_the_python_of_a_page_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    names: dict[str, object] = {}
    for block in PAGES[name]:
        exec(compile(block, name, "exec"), names)


def test_the_pages_that_show_python_are_found() -> None:
    assert PAGES["README.md"] != []
    assert "table.md" in PAGES
