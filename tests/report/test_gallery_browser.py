"""The gallery in a real Chromium: finding, comparing and reading results by mouse, keyboard and link."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
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
    ranked,
    report,
    result,
    rows,
    summary,
)
from .synthetic import HOSTILE

pytestmark = pytest.mark.browser

CARDS = '[data-place="runs"] .g-card'
AGGREGATES = "#compare=run-no_memory_aggregated&compare=run-with_memory_aggregated"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs, two aggregates, a summary run, and a folder that is not complete."""
    out = tmp_path_factory.mktemp("gallery")
    conflict_review(out)
    summary(out)
    report(out, "with_memory__seed1_proposed")
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
    return [t.strip() for t in page.locator(f"{CARDS} h3").all_inner_texts()]


def overflow(page: Any) -> int:
    return page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


def test_nothing_overflows_and_the_scheme_is_followed(
    open_page: Any, page_file: Path, hostile_file: Path
) -> None:
    for file, view in itertools.product((page_file, hostile_file), ("", "&view=table")):
        page = open_page(file, AGGREGATES + view)
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        for width in (400, 1400):
            page.set_viewport_size({"width": width, "height": 900})
            assert overflow(page) == 0
            outside = page.evaluate(
                "Array.from(document.querySelectorAll('.g-card, .g-plots figure, .g-filters'))"
                ".filter(e => e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > innerWidth)"
                ".map(e => e.className + ': ' + e.textContent.slice(0, 80))"
            )
            assert outside == []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
        assert dark == (scheme == "dark")


def test_filters_narrow_the_cards_and_stand_in_the_address(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file)
    assert len(names(page)) == 9
    page.select_option("#f-condition", "with_memory")
    page.select_option("#f-kind", "run")
    assert sorted(names(page)) == [f"with_memory__seed{i}_proposed" for i in (1, 2, 3)]
    page.select_option("#f-seed", "2")
    assert names(page) == ["with_memory__seed2_proposed"]
    again = open_page(page_file, page.evaluate("location.hash"))
    assert names(again) == ["with_memory__seed2_proposed"]
    page.get_by_role("button", name="Clear filters").first.click()
    assert len(names(page)) == 9
    page.select_option("#f-suite", "summary")
    assert names(page) == ["cases"]
    page.select_option("#f-suite", "")
    page.select_option("#f-verdict", "worse")
    assert names(page) == ["with_memory_aggregated"]
    page.select_option("#f-verdict", "")
    page.select_option("#f-status", "incomplete")
    assert sorted(names(page)) == ["with_memory__seed3_proposed", "with_memory_aggregated"]
    page.fill("#f-q", "seed3 WITH_")
    assert names(page) == ["with_memory__seed3_proposed"]
    page.fill("#f-q", "nothing like this")
    assert page.get_by_text("No results fit these filters.").is_visible()


def test_sort_by_name_date_and_metric(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file)
    page.select_option("#f-kind", "run")
    page.select_option("#f-sort", "name")
    by_name = names(page)
    assert by_name == sorted(by_name)
    page.select_option("#f-suite", "cr")
    page.select_option("#f-sort", "cr.tuple_f1_s2_refpol")
    values = [
        page.locator(CARDS)
        .nth(i)
        .locator("tr", has_text="F1 after review")
        .locator(".g-value")
        .inner_text()
        for i in range(6)
    ]
    assert [float(v) for v in values] == sorted(map(float, values), reverse=True)


def test_a_card_holds_numbers_links_and_what_is_missing(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file)
    card = page.locator("#run-with_memory__seed1_proposed")
    assert card.locator(".g-value").first.inner_text() == "0.830"
    assert card.locator(".g-interval").first.inner_text() == "[0.73, 0.90]"
    assert (
        card.locator("tr", has_text="Break rate")
        .inner_text()
        .startswith("Break rate (ref-pol)\xa0↓")
    )
    # a metric of half of the units says so
    card.locator(".g-more summary").click()
    assert "n\xa0=\xa020" in card.locator("tr", has_text="Change rate").inner_text()
    assert "1 × unknown" not in card.inner_text()
    aggregate = page.locator("#run-with_memory_aggregated")
    assert (
        "against no_memory 2 better 2 not shown to differ 2 worse 2 not measured exploratory: 1 better"
        in aggregate.inner_text().replace("\n", " ")
    )
    assert "mean of 3 runs, n = 40 (text_id)" in aggregate.inner_text()
    with page.expect_navigation():
        card.get_by_role("link", name="Report").click()
    assert page.title() == "a report"
    page.go_back()
    assert (
        page.locator('[data-place="incomplete"] summary')
        .inner_text()
        .endswith("without a card above: 1")
    )
    page.locator('[data-place="incomplete"] summary').click()
    assert page.get_by_text("no manifest.json").is_visible()


def test_comparison_of_ticked_cards_and_its_link(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file)
    for name in ("no_memory_aggregated", "with_memory_aggregated", "cases"):
        page.get_by_label(f"Compare {name}", exact=True).check()
    section = page.locator('[data-place="comparison"]')
    assert section.locator(".g-compare").count() == 2
    first = section.locator(".g-compare").first
    assert first.locator("thead th").count() == 3
    row = first.locator("tbody tr", has_text="tuple_f1_s2_refpol")
    card = page.locator("#run-no_memory_aggregated tr", has_text="Tuple F1 after review")
    assert (
        row.locator("td").nth(1).locator("strong").inner_text()
        == card.locator(".g-value").inner_text()
    )
    plots = section.locator(".g-plots svg")
    assert plots.count() == first.locator("tbody tr").count() + 3
    assert "A 0." in plots.first.get_attribute("aria-label")
    assert "not shown to differ against A" in row.locator("td").nth(2).inner_text()
    address = page.evaluate("location.hash")
    assert address.count("compare=") == 3
    again = open_page(page_file, address)
    assert again.locator(".g-legend li").count() == 3
    assert again.get_by_label("Compare cases", exact=True).is_checked()
    again.get_by_label("Remove cases from the comparison").click()
    assert again.locator(".g-compare").count() == 1
    again.get_by_role("button", name="Clear the comparison").click()
    assert again.locator(".g-compare").count() == 0
    assert again.locator("input:checked").count() == 0


def test_comparison_sorts_by_a_result(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file, AGGREGATES)
    table = page.locator(".g-compare")
    header = table.locator("thead th").nth(1)
    header.get_by_role("button").focus()
    page.keyboard.press("Enter")
    for direction, reverse in (("ascending", False), ("descending", True)):
        table.locator(f"thead th:nth-child(2)[aria-sort={direction}]").wait_for()
        values = [
            float(v.replace("−", "-"))
            for v in table.locator("tbody td:nth-child(2) strong").all_inner_texts()
        ]
        assert values == sorted(values, reverse=reverse)
        page.keyboard.press("Enter")


def test_link_to_a_card(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file, "#card=run-no_memory__seed2_proposed")
    assert page.evaluate("document.activeElement.id") == "run-no_memory__seed2_proposed"
    assert "et-target" in page.locator("#run-no_memory__seed2_proposed").get_attribute("class")
    page.goto(page_file.as_uri() + "#card=run-of-nobody&compare=nothing&suite=unknown&%E0%A4%A=%")
    assert page.get_by_text("No results fit these filters.").is_visible()


def test_an_older_run_stands_beside_a_new_one(open_page: Any, tmp_path: Path) -> None:
    summary(tmp_path)
    summary(tmp_path, "old")
    first_edition(tmp_path, "old")
    page = open_page(build(tmp_path), "#compare=run-old&compare=run-cases")
    assert page.locator("#run-old .et-chip").first.inner_text() == "Summaries"
    assert "summary_accuracy" in page.locator("#run-old .g-numbers").inner_text()
    assert "Risk coverage" in page.locator("#run-cases .g-numbers").inner_text()
    assert "Risk coverage" in page.locator(".g-compare").inner_text()
    assert "Summaries: Risk coverage, best first" in page.locator("#f-sort").inner_text()


def test_all_of_it_by_keyboard(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "f-q"
    page.keyboard.type("with_memory_aggregated")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "checkbox":
            break
    page.keyboard.press("Space")
    assert page.locator(".g-legend li").count() == 1
    # the focus stays where it was
    assert page.evaluate("document.activeElement.type") == "checkbox"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_hostile_names_and_texts_are_read_as_written(open_page: Any, hostile_file: Path) -> None:
    page = open_page(hostile_file)
    shown = names(page)
    page.get_by_role("link", name="Next").or_(page.get_by_role("button", name="Next")).click()
    shown += names(page)
    for name in HOSTILE_NAMES:
        assert name.replace("\u202e", "[U+202E]") in shown
    page.fill("#f-q", "hostile")
    for box in page.locator(f"{CARDS} input").all():
        box.check()
    assert page.get_by_text("The first 8 of").is_visible()
    assert page.locator(".g-compare").count() == 8
    page.locator(".g-compare thead th").nth(1).get_by_role("button").first.click()
    for search in ("&lt;img", "&amp;", "<img", "{{", "$x^2$"):
        page.fill("#f-q", search)
    page.fill("#f-q", "hostile onerror alert(1)")
    text = '<img src=x onerror="window.hacked = 1; alert(1)">'
    card = page.locator(CARDS).first
    assert (
        text in card.locator(".g-chips").inner_text()
        and text in card.locator(".g-numbers").inner_text()
    )
    page.locator('[data-place="incomplete"] summary').click()
    assert page.locator("img, iframe, object, form[action]").count() == 0


def test_names_that_every_object_has_are_names(open_page: Any, hostile_file: Path) -> None:
    first = len(HOSTILE) + len(HOSTILE_NAMES)
    page = open_page(hostile_file)
    for i, name in enumerate(JS_NAMES, first):
        page.fill("#f-q", f"{name} {i}")
        card = page.locator(CARDS)
        assert card.count() == 1
        assert card.locator(".et-chip").first.inner_text() == name
        assert card.locator("tbody tr").first.inner_text().startswith(f"{name}\xa0↑")
        card.locator("input").check()
    assert page.locator(".g-compare").count() == len(JS_NAMES)


def test_ranks_stand_in_the_table_where_conditions_were_ranked(
    open_page: Any, page_file: Path, tmp_path: Path
) -> None:
    table = '[data-place="table"]'
    assert (
        "rank"
        not in open_page(page_file, "#view=table").locator(f"{table} thead").first.inner_text()
    )
    conflict_review(tmp_path)
    ranked(tmp_path)
    page = open_page(build(tmp_path), "#view=table")
    assert page.locator(f"{table} thead th").all_inner_texts()[2:5] == ["n", "rank", "group"]
    lines = page.locator(f"{table} tbody tr").all()
    found = {
        row.locator("th bdi").first.inner_text(): row.locator("td").all_inner_texts()[2:4]
        for row in lines
    }
    assert found == {"with_memory_aggregated": ["1", "a"], "no_memory_aggregated": ["1–2", "ab"]}


@pytest.mark.parametrize(
    "lang, newest, gone", [("ko", "최신 순", "필터 지우기"), ("zh", "从新到旧", "清除筛选")]
)
def test_the_gallery_speaks_the_language(
    open_page: Any, tmp_path: Path, lang: str, newest: str, gone: str
) -> None:
    conflict_review(tmp_path)
    with speaking(lang):
        page = open_page(build(tmp_path), AGGREGATES)
    assert newest in page.locator("#f-sort").inner_text()
    assert page.get_by_role("button", name=gone).is_visible()
    page.select_option("#f-verdict", "worse")  # the address knows the English word in any language
    assert names(page) == ["with_memory_aggregated"]
    shown = page.locator("main").inner_text()
    for text in (
        "Compare",
        "interval",
        "complete",
        "mean of",
        "Report",
        "better",
        "against",
        "Newest",
        "Clear",
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
    assert page.locator(CARDS).count() == 24
    assert "of 304 results" in page.locator(".dt-info").inner_text()
    page.fill("#f-q", "model_7__seed87_ conflict")
    assert names(page) == ["model_7__seed87_proposed"]
    page.fill("#f-q", "")
    page.get_by_role("link", name="Next").or_(page.get_by_role("button", name="Next")).click()
    assert "25 to 48" in page.locator(".dt-info").inner_text()
    page.goto(page.url.split("#")[0] + "#card=run-model_3__seed3_proposed")
    page.locator("#run-model_3__seed3_proposed").wait_for()


def test_axe_finds_nothing(open_page: Any, page_file: Path, hostile_file: Path) -> None:
    for file, view in itertools.product(
        (page_file, hostile_file), ("", "&view=table&open=run-no_memory_aggregated")
    ):
        assert findings(open_page(file, AGGREGATES + view)) == []


def test_print_leaves_the_tools_out(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file, AGGREGATES)
    page.emulate_media(media="print")
    assert not page.locator(".g-filters").first.is_visible()
    assert page.locator(CARDS).first.is_visible()
    assert page.locator(".g-plots svg").first.is_visible()


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


def test_a_card_says_in_one_strip_whether_to_believe_it(open_page: Any, checked_file: Path) -> None:
    page = open_page(checked_file)
    strip = {
        name: page.locator(f"#run-{name} .g-checks")
        for name in ("blocked", "noted", "clean", "old")
    }
    first = strip["blocked"].locator(".et-check").first
    said = "Cannot be measured no predicted ref occurs in the gold --protocol cr_v1"
    assert " ".join(first.inner_text().split()) == said
    assert "et-error" in first.get_attribute("class")
    assert strip["blocked"].locator("summary").inner_text() == "1 more"
    assert not strip["blocked"].get_by_text("only 24 units").is_visible()
    strip["blocked"].locator("summary").click()
    assert strip["blocked"].get_by_text("only 24 units").is_visible()
    assert "No check failed" not in strip["blocked"].inner_text()
    # a note is no failure, and where nobody looked nothing is said
    assert (
        strip["noted"].inner_text().split("\n")[0]
        == strip["clean"].inner_text()
        == "No check failed"
    )
    assert strip["noted"].locator("summary").inner_text() == "1 to note"
    assert strip["old"].count() == 0


def test_a_blocked_metric_is_struck_and_last_on_card_table_and_comparison(
    open_page: Any, checked_file: Path
) -> None:
    page = open_page(
        checked_file, "#compare=run-blocked&compare=run-clean&sort=cr.tuple_f1_s2_refpol"
    )
    assert names(page)[-1] == "blocked"
    card = page.locator("#run-blocked .g-numbers").first
    assert card.locator("tr").nth(1).inner_text().startswith("ΔF1")
    assert card.locator("s").all_inner_texts() == ["0.800", "0.750"]
    assert page.locator("#run-clean s").count() == 0
    row = page.locator(".g-compare tr", has_text="tuple_f1_s2_refpol")
    assert (
        row.locator("td").nth(1).locator("s").count(),
        row.locator("td").nth(2).locator("s").count(),
    ) == (1, 0)
    figure = page.locator(".g-plots figure", has_text="Tuple F1 after review").locator("svg")
    assert (
        "A N/A" in figure.get_attribute("aria-label")
        and "cannot be measured" in figure.inner_html()
    )
    page.get_by_role("button", name="Table", exact=True).click()
    assert page.locator(".g-dense tbody tr").last.locator("th").inner_text() == "blocked"
    assert page.locator(".g-dense tbody s").all_inner_texts() == ["0.800", "0.750"]


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


def test_runs_of_other_data_are_not_compared_without_a_word(
    open_page: Any, checked_file: Path
) -> None:
    page = open_page(checked_file, "#compare=run-clean&compare=run-noted&compare=run-old")
    warning = page.locator(".g-unlike")
    assert "These runs were scored on different files." in warning.inner_text()
    assert warning.locator("li").inner_text().startswith("gold differ (A, C: ")
    # every run has an output file of its own: no matter
    assert "outputs" not in warning.inner_text()
    page = open_page(checked_file, "#compare=run-clean&compare=run-old")
    assert page.locator(".g-compare").count() == 1 and page.locator(".g-unlike").count() == 0


def test_runs_of_other_samples_are_not_compared_without_a_word(
    open_page: Any, tmp_path: Path
) -> None:
    for name, ids in {"a": ["s1", "s2"], "b": ["s1", "s2"], "c": ["s1", "s3"]}.items():
        folder = result(tmp_path, name, rows(REVIEW, 0.8, 40), "text_id", 40, suite="own")
        pd.DataFrame({"text_id": ids}).to_parquet(folder / "units.parquet")
    page = open_page(build(tmp_path), "#compare=run-a&compare=run-b")
    assert page.locator(".g-compare").count() == 1 and page.locator(".g-unlike").count() == 0
    page.get_by_label("Compare c", exact=True).check()
    assert "not scored on the same samples" in page.locator(".g-unlike").inner_text()


def test_the_table_unfolds_sorts_and_stands_in_the_address(open_page: Any, page_file: Path) -> None:
    page = open_page(page_file)
    page.get_by_role("button", name="Table", exact=True).click()
    assert not page.locator(CARDS).first.is_visible()
    table = page.locator(".g-dense").first

    def shown() -> list[str]:
        return table.locator("tbody th bdi").all_inner_texts()

    assert sorted(shown()) == ["no_memory_aggregated", "with_memory_aggregated"]
    page.get_by_label("Runs of with_memory_aggregated").click()
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    assert len(shown()) == 5
    header = table.locator("thead th", has_text="Tuple F1 after review")
    for direction in ("descending", "ascending"):
        header.get_by_role("button").click()
        assert header.get_attribute("aria-sort") == direction
        values = [
            float(v) for v in table.locator(".g-child td:nth-child(5) strong").all_inner_texts()
        ]
        assert values == sorted(values, reverse=direction == "descending")
    again = open_page(page_file, page.evaluate("location.hash"))
    table = again.locator(".g-dense").first
    assert len(shown()) == 5 and shown()[-1] == "with_memory__seed1_proposed"
    table.get_by_label("Compare with_memory__seed1_proposed", exact=True).check()
    assert again.locator(".g-legend li").count() == 1
    # a run whose condition is filtered away stands by itself
    again.select_option("#f-kind", "run")
    assert len(shown()) == 6 and table.locator(".g-child").count() == 0
    again.locator("#f-q").fill("nothing like this")
    assert again.get_by_text("No results fit these filters.").is_visible()
    again.get_by_role("button", name="Cards", exact=True).click()
    again.get_by_role("button", name="Clear filters").click()
    assert len(names(again)) == 9


def test_the_first_column_and_the_head_stay_in_sight(open_page: Any, many_file: Path) -> None:
    page = open_page(many_file, "#view=table", width=700)
    assert page.locator(".g-dense tbody tr").count() == 200
    page.get_by_role("button", name="Show all 301").click()
    assert page.locator(".g-dense tbody tr").count() == 301
    box = page.locator(".g-dense-box")
    box.evaluate("e => { e.scrollLeft = 300; e.scrollTop = 2000; }")
    edges = box.evaluate(
        "e => { const [r, h, f] = [e, e.querySelector('th'), e.querySelectorAll('tbody th')[100]]"
        ".map(x => x.getBoundingClientRect()); return [h.top - r.top, h.left - r.left, f.left - r.left]; }"
    )
    assert all(0 <= edge <= 2 for edge in edges)
    assert overflow(page) == 0


def test_verdicts_have_their_words_and_colours(open_page: Any, tmp_path: Path) -> None:
    conflict_review(tmp_path)
    file = tmp_path / "results" / "with_memory_aggregated" / "comparison.csv"
    file.write_text(
        file.read_text().replace(",tied", ",equivalent").replace(",not measured", ",too few")
    )
    page = open_page(build(tmp_path), AGGREGATES)
    line = page.locator("#run-with_memory_aggregated .g-verdicts")
    words = "against no_memory 2 better 2 equivalent 2 worse 2 too few exploratory: 1 better"
    assert line.inner_text().split() == words.split()
    assert (
        line.get_by_text("2 too few").locator("..").get_attribute("title")
        == "too few units to judge"
    )
    kinds = {
        chip: line.get_by_text(chip).locator("..").get_attribute("class")
        for chip in ("2 equiv", "2 too", "2 worse")
    }
    assert [kind.split()[-1] for kind in kinds.values()] == ["et-good", "et-warning", "et-error"]
    assert "margin" in line.get_by_text("2 equivalent").locator("..").get_attribute("title")
    assert page.locator(".g-compare").get_by_text("equivalent against A").count() == 2
    assert page.locator("#run-no_memory_aggregated").get_by_text("exploratory").count() == 0


def test_a_folded_aggregate_is_found_by_its_name_and_its_link(
    open_page: Any, tmp_path: Path
) -> None:
    result(tmp_path, "agent", rows(REVIEW, 0.8, 40), "text_id", 40, suite="own")
    result(
        tmp_path, "agent_aggregated", rows(REVIEW, 0.8, 40), "text_id", 40, suite="own", kind="aggregate",
        condition="agent", runs=["agent"],
    )  # fmt: skip
    page = open_page(build(tmp_path), "#card=run-agent_aggregated&q=agent_aggregated")
    assert names(page) == ["agent"]
    assert page.evaluate("document.activeElement.id") == "run-agent"


def test_search_finds_runs_by_the_ids_and_texts_of_their_samples(
    open_page: Any, tmp_path: Path
) -> None:
    texts = {
        "a": {"s1": "레몬 향이 좋아요", "s2": "별로"},
        "b": {"s3": "다른 글 <b>x</b>", "s4": "레몬"},
    }
    for name, found in texts.items():
        folder = result(tmp_path, name, rows(REVIEW, 0.9, 2), "text_id", 2, suite="cr")
        pd.DataFrame({"text_id": list(found), "text": list(found.values())}).to_parquet(
            folder / "units.parquet"
        )
    page = open_page(build(tmp_path))
    for asked, names_, said in (
        ("레몬 향", ["a"], ["1 sample with these words: s1"]),
        ("s3", ["b"], ["1 sample with these words: s3"]),
        ("레몬", ["a", "b"], ["1 sample with these words: s1", "1 sample with these words: s4"]),
        ("<b>", ["b"], ["1 sample with these words: s3"]),
        ("fix_rate_refpol", ["a", "b"], ["", ""]),
        ("없는 말", [], []),
    ):
        page.fill("#f-q", asked)
        assert sorted(names(page)) == names_, asked
        assert sorted(t.strip() for t in page.locator(".g-found").all_inner_texts()) == said


def test_a_search_of_cut_texts_says_so(open_page: Any, tmp_path: Path) -> None:
    folder = result(tmp_path, "a", rows(REVIEW, 0.9, 2), "text_id", 2, suite="cr")
    pd.DataFrame({"text_id": ["s1"], "text": ["길게 " * 300]}).to_parquet(folder / "units.parquet")
    label = open_page(build(tmp_path)).locator(".g-search span")
    assert label.inner_text() == "Search (the first 400 characters of each sample)"


def test_verdicts_of_single_metrics_are_chips_and_can_be_filtered(
    open_page: Any, tmp_path: Path
) -> None:
    for name, verdict in (("good", "pass"), ("bad", "fail")):
        folder = summary(tmp_path, name)
        content = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        row = {
            "metric": "summary_accuracy",
            "title": "Accuracy",
            "verdict": verdict,
            "said": "3 of 4 lie below 0.9",
        }
        (folder / "metrics.json").write_text(
            json.dumps({**content, "verdicts": [row]}), encoding="utf-8"
        )
    page = open_page(build(tmp_path))
    chip = page.locator("#run-bad .g-verdicts .et-chip")
    assert (
        chip.inner_text() == "Accuracy: fail"
        and chip.get_attribute("title") == "3 of 4 lie below 0.9"
    )
    assert "et-error" in chip.get_attribute("class")
    page.select_option("#f-verdict", "pass")
    assert names(page) == ["good"]
