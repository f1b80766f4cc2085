"""The gallery in a real Chromium: results are found and read by mouse, keyboard and link; and axe-core on all pages."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaltools.core.messages import speaking
from evaltools.report.notebook import build

from ..accessibility import findings
from .gallery_results import FEW, OUTSIDE, REVIEW, conflict_review, report, result, rows, summary

pytestmark = pytest.mark.browser

ROWS = "[data-name]:visible"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many runs, two aggregates, a summary run, one of which metrics are blocked, and a folder that is incomplete."""
    out = tmp_path_factory.mktemp("gallery")
    conflict_review(out)
    for number in range(10):  # from 12 rows on a table can be searched
        result(out, f"run {number}", rows(REVIEW, 0.3, 9), "text_id", 9, suite="cr")
    summary(out)
    result(out, "blocked", rows(REVIEW, 0.3, 9), "text_id", 9, [FEW, OUTSIDE], suite="cr")
    report(out, "with_memory__seed1_proposed")
    (out / "results" / "being written").mkdir()
    return build(out)


def names(page: Any) -> list[str]:
    return [row.get_attribute("data-name") for row in page.locator(ROWS).all()]


def test_results_are_read_and_searched(open_page: Callable[..., Any], page_file: Path) -> None:
    assert page_file.stat().st_size < 250_000
    page = open_page(page_file)
    for width in (400, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    reported = {"with_memory__seed1_proposed", "no_memory_aggregated", "with_memory_aggregated"}
    assert reported <= set(names(page)) and "no_memory__seed1_proposed" not in names(page)
    page.get_by_text("Not complete, and without a row above: 1").click()
    assert page.get_by_text("being written").is_visible()
    row = page.locator("[data-name=blocked]")
    assert "cannot be measured" in row.inner_text()
    link = row.get_by_role("link", name="Files")
    assert link.get_attribute("href") == "results/blocked/"
    link = page.get_by_role("link", name="with_memory__seed1_proposed")
    assert link.get_attribute("href") == "reports/with_memory__seed1_proposed/metric_report.html"
    n_rows = len(names(page))
    page.get_by_role("searchbox").first.fill("SEED1 review")
    assert (
        page.get_by_text(re.compile(r"1 of 1\d")).first.is_visible() and len(names(page)) < n_rows
    )
    page.emulate_media(media="print")
    assert len(names(page)) == n_rows, "printed, nothing is lost"


def test_the_gallery_speaks_korean_and_axe_finds_nothing(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    conflict_review(tmp_path)
    with speaking("ko"):
        file = build(tmp_path)
    page = open_page(file)
    assert page.locator("h1").inner_text() == "결과"
    assert findings(page) == []


def test_axe_finds_nothing_serious_on_the_reports_of_the_examples(browser: Any, demo: Path) -> None:
    pages = sorted(demo.glob("reports/*/metric_report.html"))
    serious = []
    for file in pages:
        # the page's own policy forbids any script but its own, axe's too
        page = browser.new_page(viewport={"width": 400, "height": 900}, bypass_csp=True)
        page.goto(file.as_uri())
        found = [f for f in findings(page) if f.startswith(("serious", "critical"))]
        serious += [f"{file.parent.name}: {f}" for f in found]
        page.close()
    assert len(pages) == 4 and serious == []
