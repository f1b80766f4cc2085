"""The gallery in a real Chromium: finding, comparing and reading results by mouse, keyboard and link."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaltools.core.language import speaking
from evaltools.report.gallery import build

from ..accessibility import findings
from .gallery_results import (
    FEW,
    HOSTILE_NAMES,
    OUTSIDE,
    REVIEW,
    conflict_review,
    copies,
    hostile,
    report,
    result,
    rows,
    summary,
)

pytestmark = pytest.mark.browser

ROWS = ".g-row:visible"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs, two aggregates, a summary run, one of which metrics are blocked, and a folder that is incomplete."""
    out = tmp_path_factory.mktemp("gallery")
    conflict_review(out)
    summary(out)
    result(out, "blocked", rows(REVIEW, 0.3, 9), "text_id", 9, [FEW, OUTSIDE], suite="cr")
    report(out, "with_memory__seed1_proposed")
    (out / "results" / "being written").mkdir()
    return build(out)


@pytest.fixture(scope="module")
def hostile_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("hostile")
    conflict_review(out, ["with_memory"])
    copies(out, "with_memory__seed1_proposed", HOSTILE_NAMES)
    hostile(out)
    return build(out)


def names(page: Any) -> list[str]:
    return [row.get_attribute("data-name") for row in page.locator(ROWS).all()]


@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_fits_and_names_what_is_incomplete(
    open_page: Callable[..., Any], page_file: Path, width: int
) -> None:
    assert page_file.stat().st_size < 250_000
    page = open_page(page_file, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    folded = {"blocked", "cases", "no_memory_aggregated", "with_memory_aggregated"}
    assert set(names(page)) == folded
    page.get_by_text("Not complete, and without a row above: 1").click()
    assert page.get_by_text("being written").is_visible()


def test_search_suite_and_order_narrow_the_rows_and_stand_in_the_address(
    open_page: Callable[..., Any], page_file: Path
) -> None:
    page = open_page(page_file)
    page.fill("[name=q]", "SEED2 review")
    assert set(names(page)) == {f"{c}_memory__seed2_proposed" for c in ("no", "with")}
    page.fill("[name=q]", "no predicted ref occurs")
    assert names(page) == ["blocked"]
    page.fill("[name=q]", "")
    page.select_option("[name=suite]", "cr")
    page.select_option("[name=sort]", "best")
    assert names(page) == ["with_memory_aggregated", "no_memory_aggregated", "blocked"]
    assert page.evaluate("location.hash") == "#suite=cr&sort=best"
    again = open_page(page_file, fragment="#suite=cr&sort=best")
    assert names(again) == names(page)
    page.fill("[name=q]", "nothing has this")
    assert names(page) == [] and page.get_by_text("No results fit these filters.").is_visible()


@pytest.mark.parametrize("fragment", ["sort=__proto__", "q=%E0%A4%A", "columns=toString"])
def test_nonsense_in_the_address_does_nothing(
    open_page: Callable[..., Any], page_file: Path, fragment: str
) -> None:
    page = open_page(page_file, fragment=f"#{fragment}")  # which fails at an error of a script
    assert page.locator(".g-filters").is_visible()
    assert page.locator("[name=sort]").input_value() == ""


def test_runs_unfold_below_their_condition_and_a_link_finds_them(
    open_page: Callable[..., Any], page_file: Path
) -> None:
    page = open_page(page_file)
    page.get_by_role("button", name="Runs of with_memory").focus()
    page.keyboard.press("Enter")
    shown = names(page)
    place = shown.index("with_memory_aggregated")
    below = shown[place + 1 : place + 4]
    assert set(below) == {f"with_memory__seed{s}_proposed" for s in (1, 2, 3)}
    linked = open_page(page_file, fragment="#run-no_memory__seed2_proposed")
    assert linked.locator("#run-no_memory__seed2_proposed").is_visible()


def test_ticked_results_stand_side_by_side_with_all_metrics(
    open_page: Callable[..., Any], page_file: Path
) -> None:
    page = open_page(page_file)
    assert page.locator(".g-compare").is_disabled()
    for name in ("with_memory", "no_memory"):
        page.get_by_label(f"Compare {name}", exact=True).check()
    page.locator(".g-compare").click()
    assert set(names(page)) == {"with_memory_aggregated", "no_memory_aggregated"}
    heads = page.locator("thead .g-more:visible").all_inner_texts()
    assert [head.rstrip("\u00a0 ↑↓") for head in heads] == [title for title, _ in REVIEW.values()]
    page.locator(".g-compare").click()
    assert len(names(page)) == 4 and not page.locator(".g-more:visible").count()


def test_details_say_why_and_link_the_files(open_page: Callable[..., Any], page_file: Path) -> None:
    page = open_page(page_file)
    row = page.locator("#run-blocked")
    assert "cannot be measured" in row.inner_text() and not row.get_by_text("only 24").is_visible()
    row.locator("summary").click()
    assert row.get_by_text("only 24 units (case_id)").is_visible()
    assert row.get_by_role("link", name="metrics.json").get_attribute("href") == (
        "results/blocked/metrics.json"
    )
    page.get_by_role("button", name="Runs of with_memory").click()
    link = page.get_by_role("link", name="with_memory__seed1_proposed")
    href = "reports/with_memory__seed1_proposed/metric_report.html"
    assert link.get_attribute("href") == href


def test_hostile_names_and_texts_are_text(
    open_page: Callable[..., Any], hostile_file: Path
) -> None:
    page = open_page(hostile_file)  # which fails at a request, a dialog or an error
    page.select_option("[name=columns]", "all")
    page.fill("[name=q]", "hostile")
    assert len(names(page)) > 10
    page.locator("summary:visible").first.click()
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.locator("[onerror], [onmouseover], a[href^='javascript']").count() == 0


def test_the_gallery_speaks_korean_and_axe_finds_nothing(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    conflict_review(tmp_path)
    with speaking("ko"):
        file = build(tmp_path)
    page = open_page(file)
    assert page.locator("h1").inner_text() == "결과"
    page.locator("summary").first.click()
    assert findings(page) == []
