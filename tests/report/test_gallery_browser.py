"""The gallery in a real Chromium: finding, comparing and reading results by mouse, keyboard and link."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaltools.core.language import speaking
from evaltools.report.gallery import build

from ..accessibility import findings
from .gallery_results import (
    CONSTANT,
    FEW,
    HOSTILE_NAMES,
    JS_NAMES,
    OUTSIDE,
    REVIEW,
    conflict_review,
    copies,
    data,
    first_edition,
    hostile,
    report,
    result,
    rows,
    summary,
)
from .synthetic import HOSTILE

pytestmark = pytest.mark.browser

ROWS = ".g-row:visible"
AGGREGATES = "#compare=run-no_memory_aggregated&compare=run-with_memory_aggregated"
OPEN = "#open=run-with_memory_aggregated"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs, two aggregates, a summary run, and a folder that is not complete."""
    out = tmp_path_factory.mktemp("gallery")
    conflict_review(out)
    summary(out)
    report(out, "with_memory__seed1_proposed")
    report(out, "study")
    (out / "results" / "being written").mkdir()
    return build(out)


@pytest.fixture(scope="module")
def hostile_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("hostile")
    conflict_review(out, ["with_memory"])
    copies(out, "with_memory__seed1_proposed", HOSTILE_NAMES)
    hostile(out)
    for name in HOSTILE_NAMES:
        (out / "results" / f"{name} unfinished").mkdir()
    return build(out)


@pytest.fixture
def allowed() -> Callable[[Path], tuple[str, ...]]:
    """A gallery links to the reports beside it."""
    return lambda file: ((file.parent / "reports").as_uri(),)


def names(page: Any) -> list[str]:
    """The names of the rows in sight."""
    return [row.get_attribute("data-name") for row in page.locator(ROWS).all()]


def row(page: Any, name: str) -> Any:
    return page.locator(f'.g-row[data-name="{name}"]')


def details(page: Any, name: str) -> Any:
    """The details of a result, unfolded."""
    fold = row(page, name).locator(".g-fold")
    if fold.get_attribute("aria-expanded") == "false":
        fold.click()
    return page.locator(f'.g-row[data-name="{name}"] + .g-details')


def overflow(page: Any) -> int:
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def test_the_page_fits_phone_and_screen_light_and_dark(
    open_page: Any, page_file: Path, hostile_file: Path
) -> None:
    for file in (page_file, hostile_file):
        page = open_page(file, f"{AGGREGATES}&open=run-with_memory_aggregated")
        for width in (400, 1400):
            page.set_viewport_size({"width": width, "height": 900})
            assert overflow(page) <= 0
            outside = page.evaluate(
                "Array.from(document.querySelectorAll('.g-suite, .g-filters, .g-tray'))"
                ".filter(e => e.getBoundingClientRect().right > innerWidth)"
                ".map(e => e.className + ': ' + e.textContent.slice(0, 80))"
            )
            assert outside == []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
        assert dark == (scheme == "dark")


def test_verdict_and_trust_are_seen_on_a_phone(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file, width=400)
    cells = row(page, "with_memory_aggregated").locator("td:visible")
    right = cells.last.evaluate("cell => cell.getBoundingClientRect().right")
    assert cells.last.inner_text() == "incomplete" and right <= 400


def test_rows_are_low(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file)
    heights = page.eval_on_selector_all(
        ROWS.removesuffix(":visible"), "r => r.map(e => e.offsetHeight)"
    )
    assert max(heights) < 40


def test_the_first_screen_has_a_row_for_each_condition_and_run_alone(
    open_page: Any, page_file: Path
) -> None:
    page = open_page(page_file)
    assert sorted(names(page)) == ["cases", "no_memory_aggregated", "with_memory_aggregated"]
    heads = page.locator(".g-suite h2").all_inner_texts()
    assert heads == [
        "Conflict Review · Tuple F1 before review (ref-pol) ↑",
        "Summaries · Summary accuracy (entity precision) ↑",
    ]
    cells = row(page, "with_memory_aggregated").locator("td").all_inner_texts()
    # 0.76 + 0.05 = 0.81; the interval from 0.1 below to 0.0712345 above
    assert [cell.strip() for cell in cells] == [
        "1, 2, 3",
        "40",
        "",
        "0.810",
        "[0.71, 0.88]",
        "better",
        "incomplete",
    ]
    strip = row(page, "with_memory_aggregated").get_by_role("img")
    assert strip.get_attribute("aria-label") == "0.810 [0.71, 0.88]"


def test_search_and_suite_narrow_the_rows_and_stand_in_the_address(
    open_page: Any, page_file: Path
) -> None:
    page = open_page(page_file)
    page.fill("#f-q", "seed2 WITH_")
    assert names(page) == ["with_memory__seed2_proposed"]
    again = open_page(page_file, page.evaluate("location.hash"))
    assert names(again) == ["with_memory__seed2_proposed"]
    assert again.locator(".g-count").inner_text() == "1 of 9 results"
    again.fill("#f-q", "")
    again.select_option("#f-suite", "summary")
    assert names(again) == ["cases"]
    again.select_option("#f-suite", "")
    for words, expected in {
        "incomplete": ["with_memory_aggregated"],
        "worse": ["with_memory_aggregated"],
        "text_id no_memory_aggregated": ["no_memory_aggregated"],
        "nothing like this": [],
    }.items():
        again.fill("#f-q", words)
        assert names(again) == expected, words
    assert again.get_by_text("No results fit these filters.").is_visible()


def test_rows_sort_by_name_date_value_and_size(open_page: Any, tmp_path: Path) -> None:
    for name, base, n, day in (("b10", 0.9, 20, 1), ("b9", 0.7, 40, 3), ("a", 0.8, 30, 2)):
        started = f"2026-03-0{day}T10:00:00+00:00"
        result(tmp_path, name, rows(REVIEW, base, n), "text_id", n, suite="cr", started=started)
    page = open_page(build(tmp_path))
    for order, expected in {
        "": ["b9", "a", "b10"],
        "best": ["b10", "a", "b9"],
        "name": ["a", "b9", "b10"],
        "n": ["b9", "a", "b10"],
    }.items():
        page.select_option("#f-sort", order)
        assert names(page) == expected, order


def test_all_headline_metrics_stand_in_columns_where_asked(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file)
    heads = "[data-suite=cr] thead th.g-more"
    assert page.locator(heads).count() == 0
    page.select_option("#f-columns", "all")
    titles = [title.replace("\xa0", " ") for title in page.locator(heads).all_inner_texts()]
    # the metric that leads has its column already
    lead = page.locator("[data-suite=cr] .g-metric").inner_text().removeprefix("·").strip()
    assert titles and lead not in titles and len(set(titles)) == len(titles)
    line = row(page, "with_memory_aggregated")
    assert line.locator("td.g-more").count() == len(titles)
    line.locator(".g-fold").click()
    details = page.locator(".g-details .g-metrics tr[data-metric]")
    values = details.locator("td:nth-child(3)").all_inner_texts()
    shown = line.locator("td.g-more").all_inner_texts()
    assert [value for value in shown if value] == values[1:]
    again = open_page(page_file, page.evaluate("location.hash"))
    assert again.locator(heads).count() == len(titles)
    again.select_option("#f-columns", "")
    assert again.locator(".g-more").count() == 0


def test_best_first_is_lowest_first_where_lower_is_better(open_page: Any, tmp_path: Path) -> None:
    lower = {"error_rate": ("Error rate", "lower")}
    for name, base in (("low", 0.2), ("high", 0.6)):
        result(tmp_path, name, rows(lower, base, 40), "id", 40, suite="own")
    result(tmp_path, "none", [], "id", 40, suite="own")
    page = open_page(build(tmp_path), "#sort=best")
    assert names(page) == ["low", "high", "none"]


def test_details_hold_numbers_links_and_what_is_missing(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file)
    more = details(page, "with_memory_aggregated")
    text = more.inner_text()
    assert "mean of 3 runs · n = 40 (text_id) · condition with_memory · seeds 1, 2, 3" in text
    assert "6 × unknown-gold (warning)" in text
    break_rate = more.locator('tr[data-metric="break_rate_refpol"]')
    assert break_rate.inner_text().startswith("Break rate (ref-pol) ↓")
    # a metric of half of the units says so
    assert "n = 20" in more.locator('tr[data-metric="change_rate"]').inner_text()
    run = row(page, "with_memory__seed1_proposed")
    assert run.is_visible(), "an open condition shows its runs"
    with page.expect_navigation():
        run.get_by_role("link").click()
    assert page.title() == "a report"
    page.go_back()
    summary_line = page.locator(".g-incomplete summary")
    assert summary_line.inner_text() == "Not complete, and without a row above: 1"
    summary_line.click()
    assert page.get_by_text("no manifest.json").is_visible()


def test_ticked_results_stand_side_by_side_and_in_the_address(
    open_page: Any, page_file: Path
) -> None:
    page = open_page(page_file)
    for name in ("no_memory_aggregated", "with_memory_aggregated", "cases"):
        page.get_by_label(f"Compare {name.removesuffix('_aggregated')}", exact=True).check()
    tables = page.locator(".g-compare")
    assert tables.count() == 2
    assert tables.first.locator("thead th").count() == 3
    line = tables.first.locator('tr[data-metric="tuple_f1_s2_refpol"]')
    own = details(page, "no_memory_aggregated").locator('tr[data-metric="tuple_f1_s2_refpol"] b')
    assert line.locator("td").first.locator("b").inner_text() == own.inner_text()
    assert "not shown to differ" in line.locator("td").nth(1).inner_text()
    assert "Open the paired study" not in page.locator(".g-tray").inner_text(), "of two suites"
    address = page.evaluate("location.hash")
    assert address.count("compare=") == 3
    again = open_page(page_file, address)
    assert again.locator(".g-tray b").inner_text() == "3 ticked"
    assert again.get_by_label("Compare cases", exact=True).is_checked()
    again.get_by_label("Compare cases", exact=True).uncheck()
    assert again.locator(".g-compare").count() == 1
    study = again.get_by_role("link", name="Open the paired study")
    assert study.get_attribute("href") == "reports/study/metric_report.html"
    again.get_by_role("button", name="Clear the comparison").click()
    assert again.locator(".g-compare:visible").count() == 0
    assert again.locator("input:checked").count() == 0


def test_a_link_opens_a_result_and_nonsense_opens_nothing(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file, "#open=run-no_memory__seed2_proposed")
    assert page.evaluate("document.activeElement.id") == "run-no_memory__seed2_proposed"
    assert row(page, "no_memory__seed2_proposed").is_visible()
    page.goto(f"{page_file.as_uri()}#open=run-of-nobody&compare=nothing&suite=unknown&%E0%A4%A=%")
    assert page.get_by_text("No results fit these filters.").is_visible()


def test_an_older_run_stands_beside_a_new_one(open_page: Any, tmp_path: Path) -> None:
    summary(tmp_path)
    summary(tmp_path, "old")
    first_edition(tmp_path, "old")
    page = open_page(build(tmp_path), "#compare=run-old&compare=run-cases")
    assert page.locator(".g-suite h2").count() == 1
    assert "no headline metrics" in details(page, "old").inner_text()
    assert "Risk coverage" in details(page, "cases").inner_text()
    assert "Risk coverage" in page.locator(".g-compare").inner_text()


def test_all_of_it_by_keyboard(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "f-q"
    page.keyboard.type("with_memory_aggregated")
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "g-fold":
            break
    page.keyboard.press("Enter")
    assert page.locator(".g-details").count() == 1
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.locator(".g-tray b").inner_text() == "1 ticked"
    # the focus stays where it was
    assert page.evaluate("document.activeElement.type") == "checkbox"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_hostile_names_and_texts_are_read_as_written(open_page: Any, hostile_file: Path) -> None:
    page = open_page(hostile_file, OPEN)
    shown = names(page)
    for name in HOSTILE_NAMES:
        assert name.replace("\u202e", "[U+202E]") in shown
    page.fill("#f-q", "hostile")
    for box in page.locator(f"{ROWS} input").all():
        box.check()
    assert page.get_by_text("The first 8 of").is_visible()
    assert page.locator(".g-compare").count() == 8
    for search in ("&lt;img", "&amp;", "<img", "{{", "$x^2$"):
        page.fill("#f-q", search)
    page.fill("#f-q", "hostile onerror alert(1)")
    text = '<img src=x onerror="window.hacked = 1; alert(1)">'
    name = page.locator(ROWS).first.get_attribute("data-name")
    assert text in details(page, name).inner_text()
    page.locator(".g-incomplete summary").click()
    assert page.locator("img, iframe, object, form[action]").count() == 0


def test_names_that_every_object_has_are_names(open_page: Any, hostile_file: Path) -> None:
    first = len(HOSTILE) + len(HOSTILE_NAMES)
    page = open_page(hostile_file)
    for i, name in enumerate(JS_NAMES, first):
        page.fill("#f-q", f"{name} {i}")
        assert names(page) == [f"hostile {i}"]
        assert (
            details(page, f"hostile {i}").locator("tr").first.inner_text().startswith(f"{name} ↑")
        )
        row(page, f"hostile {i}").locator("input").check()
    assert page.locator(".g-compare").count() == len(JS_NAMES)


@pytest.mark.parametrize(
    "lang, newest, gone", [("ko", "최신 순", "비교 지우기"), ("zh", "从新到旧", "清除比较")]
)
def test_the_gallery_speaks_the_language(
    open_page: Any, tmp_path: Path, lang: str, newest: str, gone: str
) -> None:
    conflict_review(tmp_path)
    with speaking(lang):
        page = open_page(build(tmp_path), f"{AGGREGATES}&open=run-with_memory_aggregated")
    assert newest in page.locator("#f-sort").inner_text()
    assert page.get_by_role("button", name=gone).is_visible()
    shown = page.locator("main").inner_text()
    for text in (
        "Compare",
        "nterval",
        "complete",
        "mean of",
        "Report",
        "better",
        "against",
        "Newest",
        "Clear",
        "Trust",
        "Verdict",
        "ticked",
        "Side by",
    ):
        assert text not in shown.replace("evaltools compare A B", ""), text


@pytest.fixture(scope="module")
def many_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 runs of one seed each, beside an aggregate and its three runs."""
    out = tmp_path_factory.mktemp("many")
    conflict_review(out, ["with_memory"])
    copies(
        out,
        "with_memory__seed2_proposed",
        [f"model_{i % 40}__seed{i}_proposed" for i in range(300)],
    )
    return build(out)


def test_hundreds_of_runs(open_page: Any, many_file: Path) -> None:
    page = open_page(many_file)
    assert page.locator(ROWS).count() == 200
    assert page.locator(".g-count").inner_text() == "304 results"
    page.get_by_role("button", name="Show all 301").click()
    assert page.locator(ROWS).count() == 301
    page.fill("#f-q", "model_7__seed87_ conflict")
    assert names(page) == ["model_7__seed87_proposed"]
    page.goto(page.url.split("#")[0] + "#open=run-model_3__seed283_proposed")
    page.locator("#run-model_3__seed283_proposed + .g-details").wait_for()


def test_axe_finds_nothing(open_page: Any, page_file: Path, hostile_file: Path) -> None:
    for file, scheme in itertools.product((page_file, hostile_file), ("light", "dark")):
        page = open_page(file, f"{AGGREGATES}&open=run-with_memory_aggregated")
        page.emulate_media(color_scheme=scheme)
        assert findings(page) == []


def test_print_leaves_the_tools_out(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file, AGGREGATES)
    page.emulate_media(media="print")
    assert not page.locator(".g-filters").is_visible()
    assert not page.locator(".g-tray").is_visible()
    assert page.locator(ROWS).count() == 3
    assert page.locator(".g-compare").first.is_visible()


def test_korean_is_drawn_with_the_embedded_font(open_page: Any, hostile_file: Path) -> None:
    page = open_page(hostile_file)
    assert page.evaluate(
        "document.fonts.ready.then(() => document.fonts.check('16px \"Evaltools Sans CJK\"', '제품风险'))"
    )


def test_the_theme_is_one_click_away(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file)
    page.get_by_label("Switch between light and dark").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"


@pytest.fixture(scope="module")
def checked_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run a kind of check, on gold files of which one differs."""
    out = tmp_path_factory.mktemp("checked")
    found = {"blocked": [OUTSIDE, FEW], "noted": [CONSTANT], "clean": [], "old": None}
    for name, checks in found.items():
        files = [data("outputs", name), data("gold", "other" if name == "noted" else "gold")]
        result(out, name, rows(REVIEW, 0.8, 40), "text_id", 40, checks, suite="cr", inputs=files)
    return build(out)


def test_a_row_says_in_a_word_whether_to_believe_it_and_details_say_why(
    open_page: Any, checked_file: Path
) -> None:
    page = open_page(checked_file)
    words = {name: row(page, name).locator("td").last.inner_text() for name in names(page)}
    assert words == {
        "blocked": "cannot be measured",
        "noted": "no caution",
        "clean": "no caution",
        "old": "not checked",
    }
    chip = row(page, "blocked").locator("td").last.locator(".et-chip")
    assert chip.get_attribute("title") == "no predicted ref occurs in the gold"
    checks = details(page, "blocked").locator(".et-check")
    said = "Cannot be measured no predicted ref occurs in the gold --protocol cr_v1"
    assert " ".join(checks.first.inner_text().split()).startswith(said)
    assert "only 24 units" in checks.nth(1).inner_text()
    assert details(page, "clean").locator(".et-check").count() == 0


def test_a_blocked_metric_is_struck_and_never_leads(open_page: Any, checked_file: Path) -> None:
    page = open_page(checked_file, "#compare=run-blocked&compare=run-clean&sort=best")
    cells = row(page, "blocked").locator("td")
    # ΔF1 is 0.8 - 2/20; the section is about another metric, so the row says which
    assert cells.nth(3).inner_text().split("\n") == ["0.700", "ΔF1 (ref-pol) ↑"]
    assert details(page, "blocked").locator("s").all_inner_texts() == ["0.800", "0.750"]
    assert details(page, "clean").locator("s").count() == 0
    line = page.locator('.g-compare tr[data-metric="tuple_f1_s2_refpol"]')
    assert line.locator("td").nth(0).locator("s").count() == 1
    assert line.locator("td").nth(1).locator("s").count() == 0
    assert line.locator("td").nth(0).locator(".et-strip").count() == 0


def test_search_finds_checks_and_metrics(open_page: Any, checked_file: Path) -> None:
    page = open_page(checked_file)
    for search, expected in (
        ("ref-outside", ["blocked"]),
        ("no predicted REF", ["blocked"]),
        ("constant-metric", ["noted"]),
        ("delta_f1_refpol", ["blocked", "clean", "noted", "old"]),
        ("Polarity conflict", ["blocked", "clean", "noted", "old"]),
    ):
        page.fill("#f-q", search)
        assert sorted(names(page)) == expected, search


def test_verdicts_have_their_words_and_colours(open_page: Any, tmp_path: Path) -> None:
    conflict_review(tmp_path)
    file = tmp_path / "results" / "with_memory_aggregated" / "comparison.csv"
    text = file.read_text().replace(",tied", ",equivalent").replace(",not measured", ",too few")
    file.write_text(text)
    page = open_page(build(tmp_path))
    assert row(page, "no_memory_aggregated").get_by_text("baseline").is_visible()
    chips = details(page, "with_memory_aggregated").locator(".g-metrics .et-chip")
    assert chips.all_inner_texts() == ["better", "equivalent", "worse", "too few"] * 2
    colours = [chip.get_attribute("class").split()[-1] for chip in chips.all()[:4]]
    assert colours == ["et-good", "et-good", "et-error", "et-info"]
    titles = [chip.get_attribute("title") for chip in chips.all()[:4]]
    assert titles == ["against no_memory"] * 4


def test_an_aggregate_goes_by_its_condition_and_is_found_by_its_name(
    open_page: Any, tmp_path: Path
) -> None:
    result(tmp_path, "agent", rows(REVIEW, 0.8, 40), "text_id", 40, suite="own")
    result(
        tmp_path, "agent_aggregated", rows(REVIEW, 0.8, 40), "text_id", 40, suite="own", kind="aggregate",
        condition="agent", runs=["agent"],
    )  # fmt: skip
    page = open_page(build(tmp_path), "#open=run-agent_aggregated&q=agent_aggregated")
    assert names(page) == ["agent_aggregated"]
    assert page.evaluate("document.activeElement.id") == "run-agent_aggregated"
    line = row(page, "agent_aggregated").locator("th")
    assert line.inner_text().split()[-1] == "agent"


def test_verdicts_of_single_metrics_stand_in_the_row_and_can_be_searched(
    open_page: Any, tmp_path: Path
) -> None:
    for name, verdict in (("good", "pass"), ("bad", "fail")):
        folder = summary(tmp_path, name)
        content = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        judged = {
            "metric": "summary_accuracy",
            "title": "Accuracy",
            "verdict": verdict,
            "said": "3 of 4 lie below 0.9",
        }
        content["verdicts"] = [judged]
        (folder / "metrics.json").write_text(json.dumps(content), encoding="utf-8")
    page = open_page(build(tmp_path))
    chip = row(page, "bad").locator(".et-chip").first
    assert (chip.inner_text(), chip.get_attribute("title")) == (
        "fail",
        "3 of 4 lie below 0.9",
    )
    assert "et-error" in chip.get_attribute("class")
    line = details(page, "bad").locator(".g-judged").inner_text()
    assert line == "fail Accuracy, 3 of 4 lie below 0.9"
    page.fill("#f-q", "pass accuracy")
    assert names(page) == ["good"]
