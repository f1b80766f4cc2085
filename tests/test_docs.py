"""The written pages say what the code does."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_metrics_page_is_current() -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import make_docs
    finally:
        sys.path.pop(0)
    assert (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8") == make_docs.text()


def test_links_between_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
