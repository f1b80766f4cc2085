"""axe-core on the reports of the bundled examples: no serious or critical finding.

The gallery is looked at in tests/report/test_gallery_browser.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .accessibility import findings

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def pages(demo: Path) -> dict[str, Path]:
    found = {f.parent.name: f for f in sorted(demo.glob("reports/*/metric_report.html"))}
    assert len(found) == 4
    return found


def test_no_serious_finding(browser: Any, pages: dict[str, Path]) -> None:
    serious = []
    for name, file in pages.items():
        # the page's own policy forbids any script but its own, axe's too
        context = browser.new_context(viewport={"width": 400, "height": 900}, bypass_csp=True)
        page = context.new_page()
        page.goto(file.as_uri())
        serious += [f"{name}: {f}" for f in findings(page) if f.startswith(("serious", "critical"))]
        context.close()
    assert serious == []
