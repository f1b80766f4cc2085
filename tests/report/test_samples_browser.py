"""The sample browser in a real browser: paging, groups, search, links, keyboard, and hostile texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from nbformat.v4 import new_notebook

from evaltools.report import page as html
from evaltools.report.samples import Layout, samples
from tests.report.synthetic import HOSTILE, SAMPLE_COLUMNS, browser, sample_frame, shown

pytestmark = pytest.mark.browser

SHOWN = ".et-samples >> nth=0 >> .et-sample"
STATUS = "[role=status] >> nth=0"


def frame() -> pd.DataFrame:
    """The hostile texts three times over, 36 samples."""
    rows = pd.concat([sample_frame()] * 3, ignore_index=True)
    rows["text_id"] = [f"s{i:03d}" for i in range(len(rows))]
    return rows


def browser_of(rows: pd.DataFrame, groups: dict[str, list[str]] | None = None, **how: Any) -> Any:
    layout = Layout(columns=SAMPLE_COLUMNS, fields={"actions": "Review"}, page=10)
    members = {}
    for label, ids in (groups or {}).items():
        members[label] = rows.index[rows["text_id"].isin(ids)]
    return shown(
        samples(rows, layout, members, how.get("caption", "Samples"), rows), "samples(frame)"
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("samples") / "report.html"
    groups = {"Broken": [f"s{i:03d}" for i in range(0, 36, 3)], HOSTILE[2]: ["s001", "s035"]}
    cells = [
        browser_of(frame(), caption="Samples", groups=groups),
        browser_of(frame().head(2), caption="Few"),
    ]
    file.write_text(html.render(new_notebook(cells=cells), title="t"), encoding="utf-8")
    return file


def names(page: Any) -> list[str]:
    found: list[str] = page.locator(f"{SHOWN}:visible >> header > a:visible").all_inner_texts()
    return found


def press(page: Any, button: str, at: int = 0) -> None:
    page.get_by_role("button", name=button).nth(at).click()


def status(page: Any) -> str:
    text: str = page.locator(STATUS).inner_text()
    return text


def test_without_scripts_all_samples_stand_in_a_box(
    open_page: Callable[..., Any], report: Path
) -> None:
    page = open_page(report, java_script_enabled=False)
    assert names(page) == list(frame()["text_id"])
    box = page.locator(".et-cards").first.bounding_box()
    assert box["height"] < 900
    for what in ("button", "input"):
        assert page.locator(f".et-samples {what}:visible").count() == 0


def test_some_samples_are_shown_and_more_on_demand(
    open_page: Callable[..., Any], report: Path
) -> None:
    page = open_page(report)
    seen = [(len(names(page)), status(page))]
    for _ in range(2):
        press(page, "Show more")
        seen.append((len(names(page)), status(page)))
    assert seen == [(10, "10 of 36"), (20, "20 of 36"), (36, "36 of 36")]
    assert not page.locator(STATUS).is_visible(), "nothing is left to say"
    assert names(page) == list(frame()["text_id"])
    assert page.get_by_role("button", name="Show more").count() == 0
    # the first of the new ones has the focus
    assert page.evaluate("document.activeElement.id") == "sample-s020"


def test_what_is_not_shown_is_found_by_the_search_of_the_browser(
    open_page: Callable[..., Any], report: Path
) -> None:
    page = open_page(report)
    card = page.locator("#sample-s033")
    assert (
        card.get_attribute("hidden") == "until-found" and not card.locator("a").first.is_visible()
    )
    card.dispatch_event("beforematch", {"bubbles": True})
    assert card.get_attribute("hidden") is None and len(names(page)) == 36
    press(page, "Broken 12")
    assert page.locator("#sample-s035").get_attribute("hidden") == "", "the filter holds"


def test_groups_and_search_work_together(open_page: Callable[..., Any], report: Path) -> None:
    page = open_page(report)
    press(page, "Broken 12")
    assert names(page) == [f"s{i:03d}" for i in range(0, 30, 3)]
    assert status(page) == "10 of 36"
    assert page.locator("[data-group][aria-pressed=true]").inner_text() == "Broken 12"
    search = page.get_by_label("Filter Samples")
    search.fill("PASSWD s009")
    assert names(page) == ["s009"] and status(page) == "1 of 36"
    assert page.get_by_role("button", name="Show more").count() == 0
    search.fill("nothing like this")
    assert names(page) == [] and page.get_by_text("no samples").first.is_visible()
    press(page, "All 36")
    search.fill("제품 전체#일반 s01")
    assert names(page) == [f"s{i:03d}" for i in range(10, 20)]
    search.fill("")
    assert status(page) == "10 of 36"
    press(page, HOSTILE[2])
    assert names(page) == ["s001", "s035"]


def test_each_sample_has_a_link_of_its_own(open_page: Callable[..., Any], report: Path) -> None:
    page = open_page(report, "#sample-s035")
    card = page.locator("#sample-s035")
    assert 0 <= card.bounding_box()["y"] < 900 and "et-target" in card.get_attribute("class")
    press(page, "Broken 12")
    page.get_by_label("Filter Samples").fill("s003")
    page.evaluate("location.hash = '#sample-s014'")
    card = page.locator("#sample-s014")
    card.locator("a").first.wait_for()
    assert status(page) == "20 of 36"
    assert page.get_by_label("Filter Samples").input_value() == ""
    # the same link once more, after another group was chosen
    page.evaluate(
        "document.querySelector('main').append(Object.assign(document.createElement('a'),"
        " { href: '#sample-s014', textContent: 'again' }))"
    )
    press(page, "Broken 12")
    assert not card.locator("a").first.is_visible()
    page.get_by_text("again").click()
    assert card.locator("a").first.is_visible() and page.locator(".et-target").count() == 1


def test_the_keyboard_is_enough(open_page: Callable[..., Any], report: Path) -> None:
    page = open_page(report)
    page.keyboard.press("/")
    page.keyboard.type("s00")
    assert status(page) == "10 of 36"
    page.keyboard.type("1/j")  # letters of the search, no keys
    assert page.get_by_label("Filter Samples").input_value() == "s001/j"
    page.keyboard.press("Escape")  # ends the search, and leaves its box
    assert page.get_by_label("Filter Samples").input_value() == "" and status(page) == "10 of 36"
    seen = []
    for key in "jjkjjjjjjjjjj":
        page.keyboard.press(key)
        seen.append(page.evaluate("document.activeElement.id")[-2:])
    assert seen == [f"{i:02d}" for i in (0, 1, 0, *range(1, 11))], "j opens what is not yet shown"
    assert page.locator("#sample-s010").is_visible() and status(page) == "20 of 36"
    card = page.locator("#sample-s010").bounding_box()
    assert page.locator(".bar").bounding_box()["height"] <= card["y"] < 900
    page.get_by_role("button", name="Broken").focus()
    page.keyboard.press("Enter")
    assert names(page)[:2] == ["s000", "s003"]


@pytest.mark.parametrize("width", [400, 1400])
def test_hostile_texts_are_text_on_every_card(
    open_page: Callable[..., Any], report: Path, width: int
) -> None:
    page = open_page(report, width=width)
    press(page, "Show more")
    press(page, "Show more")
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    seen = page.locator("main").inner_text()
    inert = ":is(main [onerror], main [onload], main img, main a[href^=javascript])"
    assert page.locator(inert).count() == 0
    for text in HOSTILE:
        assert text[:100] in seen or not text.isprintable(), text
    assert "U+202E" in seen and "\u202e" not in seen


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two texts with a place of one number in each, behind an astral character, and one that has no other."""
    file = tmp_path_factory.mktemp("linked") / "report.html"
    rows = pd.DataFrame(
        {
            "text_id": ["a", "b"],
            "said": ["😀 pays 30 <b>", "nothing"],
            "source": ["x\n" * 90 + "30 won", ""],
        }
    )
    rows["places"] = [[("said", 7, 9, "good", 1, "pays"), ("source", 180, 182, "good", 1, "won"),
                   ("said", 10, 13, "bad", 2, "<i>")], []]  # fmt: skip
    made = browser(rows, texts={"said": "Said", "source": "Source"}, caption="Linked")
    file.write_text(
        html.render(new_notebook(cells=[shown(made, "samples(rows)")]), title="t"), encoding="utf-8"
    )
    return file


@pytest.mark.parametrize("scripts", [True, False])
def test_a_place_leads_to_the_place_of_its_number_beside_it(
    linked: Path, open_page: Callable[..., Any], scripts: bool
) -> None:
    page = open_page(linked, java_script_enabled=scripts)
    said, source = (page.locator(f".et-texts >> nth=0 >> .et-text >> nth={i}") for i in (0, 1))
    places = page.locator(".et-place")
    assert places.all_inner_texts() == ["301", "<b>2", "301"]
    assert [places.nth(i).get_attribute("title") for i in range(3)] == ["pays", "<i>", "won"]
    assert places.nth(1).get_attribute("href") is None
    a, b = said.bounding_box(), source.bounding_box()
    assert a["y"] == b["y"] and a["x"] + a["width"] <= b["x"]
    places.first.click()
    assert page.url.endswith(f"#{places.nth(2).get_attribute('id')}")
    box, window = places.nth(2).bounding_box(), source.bounding_box()
    assert (
        window["y"] <= box["y"] <= window["y"] + window["height"]
    )  # scrolled to, in the long text
    page.set_viewport_size({"width": 400, "height": 800})
    a, b = said.bounding_box(), source.bounding_box()
    assert a["x"] == b["x"] and a["y"] + a["height"] <= b["y"]
