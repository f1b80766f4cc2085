"""The report page: as a file, and in a real browser."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from evaltools.core.messages import speaking
from evaltools.report import page as html
from evaltools.report import tables
from tests.report.synthetic import notebook, shown


@pytest.fixture(scope="module")
def page_text() -> str:
    return html.render(notebook(), title="A report of <run> 조건")


def test_page_is_one_file_of_modest_size(page_text: str) -> None:
    assert (
        len(page_text.encode()) < 1_200_000
    )  # six times the field of 100,000 characters, and three figures
    for reference in re.findall(r'<\w[^<>]*\s(?:src|href)=["\']?([^"\'> ]+)', page_text):
        assert reference.startswith(("#", "data:", "../../index.html")), reference
    assert not re.search(r"url\((?!data:)", page_text)


def test_noise_is_left_out_and_code_is_folded(page_text: str) -> None:
    assert "stderr noise" not in page_text
    assert "window.hacked = 1</script" not in page_text
    n_code = sum(c.cell_type == "code" for c in notebook().cells)
    assert page_text.count('<div class="source">') == n_code
    assert page_text.count(">Code<") == 1  # one switch for all of it
    assert page_text.count("Evaltools Sans CJK") >= 2 and page_text.count(".et-kind {") <= 1


def test_contents_list_and_title() -> None:
    cells = [new_markdown_cell("## One &\n\ntext\n\n### Sub"), new_markdown_cell("## 결과")]
    with speaking("ko"):
        text = html.render(new_notebook(cells=cells), title="T & <t>")
    entries = re.findall(r'<li><a href="#([^"]+)">(.*?)</a>', text)
    assert [title for _, title in entries] == ["One &amp;", "결과"]
    assert all(text.count(f'<h2 id="{name}"') == 1 for name, _ in entries)
    assert '<html lang="ko">' in text and "<title>T &amp; &lt;t&gt;</title>" in text
    assert text.count("<h1>") == 1


def test_data_cannot_take_the_rest_of_a_page_away_with_a_stylesheet() -> None:
    texts = ('<style class="et-style">', "</style>")
    open_style, end_style = (tables.table(pd.DataFrame({"text": [text]})) for text in texts)
    text = html.render(
        new_notebook(cells=[shown(open_style, "a"), shown(end_style, "b")]), title="t"
    )
    assert "&lt;style class=&#34;et-style&#34;&gt;" in text and "&lt;/style&gt;" in text


@pytest.fixture
def open_page(open_page: Callable[..., Any], page_text: str, tmp_path: Path) -> Callable[..., Any]:
    """Opens the report."""
    file = tmp_path / "report.html"
    file.write_text(page_text, encoding="utf-8")
    return partial(open_page, file)


@pytest.mark.browser
def test_nothing_overflows_and_the_scheme_is_followed(open_page: Any) -> None:
    page = open_page()
    assert page.evaluate("document.fonts.check('16px \"Evaltools Sans CJK\"', '제품风险')")
    assert page.evaluate("[...document.fonts].map((f) => f.status)") == ["loaded"]
    for width in (400, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        outside = page.evaluate(
            """(width) => [...document.querySelectorAll("main *")].filter((e) =>
                 e.getBoundingClientRect().right > width + 1
                 && !e.closest(".et-box, .et-scroll, .figure, pre, .et-hidden")).map((e) => e.outerHTML.slice(0, 80))""",
            width,
        )
        assert outside == []
    for scheme, colour in (("dark", "rgb(20, 24, 29)"), ("light", "rgb(255, 255, 255)")):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == colour
    page.get_by_label("Switch between light and dark").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
    code = page.get_by_text("table(estimates)")
    assert not code.is_visible()
    page.get_by_role("button", name="Code").click()
    assert code.is_visible()


@pytest.mark.browser
def test_tables_filter_and_are_printed_whole(open_page: Any) -> None:
    page = open_page()
    page.get_by_label("Filter table").last.fill("风险")
    rows = page.locator("table", has_text="passwd").first.locator("tbody tr")
    assert [row.is_visible() for row in rows.all()].count(True) == 1
    assert page.get_by_text("1 of 12").is_visible()
    samples = page.locator(".et-samples").first.locator(".et-sample")
    assert [card.is_visible() for card in samples.all()].count(True) == 2
    page.emulate_media(media="print")
    assert all(piece.is_visible() for piece in [*rows.all(), *samples.all()])
    assert not page.locator(".contents").is_visible()
    scrolling = page.locator(".et-box, .et-scroll, .et-cards, .et-placed")
    heights = scrolling.evaluate_all("of => of.map((e) => getComputedStyle(e).maxHeight)")
    assert set(heights) == {"none"} and page.locator(".et-scroll").count()
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.browser
def test_without_scripts_tables_and_contents_are_there(open_page: Any) -> None:
    page = open_page(java_script_enabled=False)
    assert page.locator("table", has_text="Metric 0, as").locator("tbody tr").count() == 12
    assert page.get_by_role("link", name="Provenance").is_visible()
    assert not page.get_by_role("button", name="Code").is_visible()
    assert not page.get_by_text("table(estimates)").is_visible()


def heads(*cells: Any) -> list[str]:
    text = html.render(new_notebook(cells=[new_markdown_cell("# Title"), *cells]), title="t")
    return re.findall(r'<li><a href="#[^"]+">(.*?)</a>', text)


def test_a_section_that_shows_nothing_is_left_out_of_page_and_contents() -> None:
    some = shown(tables.table(pd.DataFrame({"a": [1]})), "table")
    one, two = (new_markdown_cell(f"{h}\n\nwords") for h in ("## One", "## Two"))
    assert heads(one, new_code_cell("x = 1"), new_code_cell("y"), two, some) == ["Two"]
    assert heads(one, two) == ["One", "Two"], "words without code stay"
