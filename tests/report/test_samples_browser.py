"""The samples of a page in a real browser: groups, search, links, and hostile texts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from nbformat.v4 import new_notebook

from evaltools.report import page as html
from evaltools.report.samples import Place, samples
from tests.report.synthetic import HOSTILE, SAMPLE_COLUMNS, browser, sample_frame, shown, view

pytestmark = pytest.mark.browser

CARDS = ".et-samples >> nth=0 >> .et-sample:visible >> header > a"
IDS = [f"s{i:03d}" for i in range(3 * len(HOSTILE))]


def written(path: Path, made: Any) -> Path:
    nb = new_notebook(cells=[shown(made, "samples(frame)")])
    path.write_text(html.render(nb, title="t"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hostile texts three times over, in two groups."""
    rows = pd.concat([sample_frame()] * 3, ignore_index=True).assign(text_id=IDS)
    groups = {"Broken": rows.index[::3], HOSTILE[2]: rows.index[[1, 35]]}
    layout = view(columns=SAMPLE_COLUMNS, fields={"actions": "Review"})
    made = samples(rows, layout, groups, "Samples", rows)
    return written(tmp_path_factory.mktemp("samples") / "report.html", made)


def names(page: Any) -> list[str]:
    found: list[str] = page.locator(CARDS).all_inner_texts()
    return found


def press(page: Any, button: str) -> None:
    page.get_by_role("button", name=button).first.click()


def test_without_scripts_all_samples_stand_in_a_box(
    open_page: Callable[..., Any], report: Path
) -> None:
    page = open_page(report, java_script_enabled=False)
    assert names(page) == IDS
    assert page.locator(".et-cards").first.bounding_box()["height"] < 900
    assert not page.locator(".et-samples :is(button, input):visible").count()


def test_groups_search_and_links_narrow_and_open_the_samples(
    open_page: Callable[..., Any], report: Path
) -> None:
    page = open_page(report)
    assert names(page) == IDS[:2]
    found = page.locator("#sample-s033")  # by the search of the browser
    assert found.get_attribute("hidden") == "until-found"
    found.dispatch_event("beforematch", {"bubbles": True})
    assert names(page) == IDS, "all are shown, as by the button"
    page.reload()
    press(page, "Broken 12")
    assert names(page) == IDS[:6:3] and page.get_by_text("12 of 36").is_visible()
    assert page.locator("[data-group][aria-pressed=true]").inner_text() == "Broken 12"
    search = page.get_by_label("Filter Samples")
    search.fill("PASSWD s009")
    assert names(page) == ["s009"] and page.get_by_text("1 of 36").is_visible()
    search.fill("nothing like this")
    assert names(page) == [] and page.get_by_text("0 of 36").is_visible()
    press(page, "All 36")
    search.fill("제품 전체#일반 s01")
    assert names(page) == IDS[10:12]
    search.fill("")
    press(page, HOSTILE[2])
    assert names(page) == ["s001", "s035"]
    search.fill("s003")
    page.evaluate("location.hash = '#sample-s014'")
    card = page.locator("#sample-s014.et-target")
    card.wait_for()
    assert 0 <= card.bounding_box()["y"] < 900 and page.locator(".et-target").count() == 1
    assert search.input_value() == "" and names(page) == IDS
    assert not page.get_by_role("button", name="Show all").count()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_place_leads_to_the_place_of_its_number_beside_it(
    tmp_path: Path, open_page: Callable[..., Any], scripts: bool
) -> None:
    """Two texts with a place of one number in each, behind an astral character, and one that has no other."""
    row = {
        "text_id": "a",
        "said": "😀 pays 30 <b>",
        "source": "x\n" * 90 + "30 won",
        "places": [
            Place("said", 7, 9, "good", 1, "pays"),
            Place("source", 180, 182, "good", 1, "won"),
            Place("said", 10, 13, "bad", 2, "<i>"),
        ],
    }
    made = browser(pd.DataFrame([row]), texts={"said": "Said", "source": "Source"})
    page = open_page(written(tmp_path / "linked.html", made), java_script_enabled=scripts)
    links = page.locator(".et-place")
    assert links.all_inner_texts() == ["301", "<b>", "301"]
    assert [link.get_attribute("title") for link in links.all()] == ["pays", "<i>", "won"]
    assert links.nth(1).get_attribute("href") is None
    links.first.click()
    assert page.url.endswith(f"#{links.nth(2).get_attribute('id')}")
    window = page.locator(".et-text").nth(1).bounding_box()
    assert window["y"] <= links.nth(2).bounding_box()["y"] <= window["y"] + window["height"], (
        "scrolled to, in the long text"
    )
