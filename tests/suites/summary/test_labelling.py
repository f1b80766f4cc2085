"""The page on which people label, in a real browser: keys, blindness, what is kept, the file, hostile texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import evaltools as et
from evaltools.core.errors import Problems
from evaltools.stats.labels import read_labels, read_scores
from evaltools.suites.summary.commands import QUESTIONS, label_page, to_label
from tests.app.calling import call
from tests.report.synthetic import HOSTILE

M = "summary_non_definitive"


def cases(folder: Path, n: int = 12) -> Path:
    texts = [*HOSTILE, *["무조건 지급됩니다"] * n][:n]
    rows = [
        {"id": f'c{i},"{i}', "answer": f"골절 30만원 {t}", "contexts": [t, "골절 30만원"]}
        for i, t in enumerate(texts)
    ]
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return folder / "cases.jsonl"


@pytest.fixture
def labelling(open_page: Callable[..., Any], tmp_path: Path) -> Any:
    call(
        "label",
        cases(tmp_path),
        "-o",
        tmp_path / "l.html",
        "--metric",
        M,
        "--metric",
        "summary_accuracy",
    )
    page = open_page(tmp_path / "l.html")
    page.fill("#rater", "Kim, A")
    page.keyboard.press("Enter")
    return page


@pytest.mark.browser
def test_labels_are_given_by_keys_blind_and_kept(labelling: Any, tmp_path: Path) -> None:
    page, shown = labelling, to_label(tmp_path / "cases.jsonl", (M, "summary_accuracy"), 100)
    assert len(shown) == 24
    assert page.locator("#summary").inner_text().strip() == shown[0]["summary"].strip()
    assert not page.locator("#evidence").is_visible() and page.locator("#seen").text_content() == ""
    page.keyboard.press("5")  # a promise is made or it is not
    assert not page.locator("#evidence").is_visible()
    page.keyboard.press("1")
    assert page.locator("#evidence").is_visible()
    page.keyboard.press("j")
    assert not page.locator("#evidence").is_visible()
    page.keyboard.press("0")
    page.keyboard.press("k")
    page.keyboard.press("u")  # the last one given, wherever the page stands
    assert page.locator("#status").inner_text() == "2 of 24, 1 labelled"
    page.keyboard.press("1")
    for _ in range(12):
        page.keyboard.press("j")
    page.keyboard.press("5")
    page.reload()
    assert page.locator("#status").inner_text() == "14 of 24, 3 labelled"
    assert page.locator("button[aria-pressed=true]").inner_text() == "5partly"
    with page.expect_download() as found:
        page.keyboard.press("d")
    found.value.save_as(tmp_path / "labels.csv")
    rows = pd.read_csv(tmp_path / "labels.csv")
    assert rows["case_id"].tolist() == [shown[i]["case_id"] for i in (0, 1, 13)]
    assert rows["label"].tolist() == [1, 1, 0.5] and set(rows["rater"]) == {"Kim, A"}
    assert rows["changed"].tolist() == [0, 1, 0]
    et.evaluate("summary", tmp_path / "cases.jsonl", out=tmp_path)
    problems = Problems()
    scores = read_scores(tmp_path / "results" / "cases" / "summary_scores.csv", problems)
    assert len(read_labels(tmp_path / "labels.csv", scores, problems)) == 3 and not problems.kept


@pytest.mark.browser
def test_hostile_texts_are_text(labelling: Any, tmp_path: Path) -> None:
    for item in to_label(tmp_path / "cases.jsonl", (M,), 100):
        assert labelling.locator("#summary").text_content() == item["summary"]
        assert labelling.locator("#contexts .text").all_text_contents() == item["contexts"]
        labelling.keyboard.press("j")


@pytest.mark.browser
def test_buttons_notes_and_a_hangul_keyboard(labelling: Any, tmp_path: Path) -> None:
    page = labelling
    page.set_viewport_size({"width": 375, "height": 700})
    page.get_by_role("button", name="does not apply").tap() if page.evaluate(
        "navigator.maxTouchPoints"
    ) else page.get_by_role("button", name="does not apply").click()
    page.fill("#note", 'no promise, "j" is text')
    page.locator("#note").press("j")  # in a note a key is a letter
    assert page.locator("#status").inner_text() == "1 of 24, 1 labelled"
    page.locator("#note").blur()
    for key, code in (("ㅓ", "KeyJ"), ("Process", "Digit1")):
        page.evaluate(
            "([key, code]) => document.body.dispatchEvent("
            "new KeyboardEvent('keydown', { key, code, bubbles: true }))",
            [key, code],
        )
    assert page.locator("#status").inner_text() == "2 of 24, 2 labelled"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown = to_label(tmp_path / "cases.jsonl", (M,), 100)
    assert page.locator("#case").inner_text() == shown[1]["case_id"]
    with page.expect_download() as found:
        page.get_by_role("button", name="download").click()
    found.value.save_as(tmp_path / "labels.csv")
    assert (tmp_path / "labels.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    rows = pd.read_csv(tmp_path / "labels.csv")
    assert rows["label"].isna().tolist() == [True, False]
    assert rows["note"].tolist()[0] == 'no promise, "j" is textj'
    assert len(read_labels(tmp_path / "labels.csv", None, Problems())) == 1


def test_a_bundled_example_can_be_labelled(tmp_path: Path) -> None:
    page = tmp_path / "l.html"
    call("label", "example:summary/cases.jsonl", "-n", "3", "-o", page, "--lang", "ko")
    found = re.search(r'id="items">(.*?)</script>', page.read_text(encoding="utf-8"))
    assert found
    items = json.loads(found[1])
    assert len(items) == 12
    assert {item["question"] for item in items} >= {"지급을 단정하는 표현을 삼갔습니까?"}


def test_the_draw_is_random_and_begins_with_the_cases_of_a_smaller_one(tmp_path: Path) -> None:
    path = cases(tmp_path)
    few, more = ([i["case_id"] for i in to_label(path, (M,), n)] for n in (5, 7))
    assert few == more[:5] != sorted(few) and len(set(more)) == 7
    assert {i["metric"] for i in to_label(path, tuple(QUESTIONS), 2)} == set(QUESTIONS)


def test_the_page_says_no_score(tmp_path: Path) -> None:
    items = to_label(cases(tmp_path), (M,), 100)
    assert not {"score", "passed", "rule_score", "llm_score"} & {
        key for item in items for key in item
    }
    assert (
        "</script><script>" not in label_page(items).split('id="items">')[1].split("</script>")[0]
    )


def test_a_metric_that_is_not_labelled_is_refused(tmp_path: Path) -> None:
    how = ("label", cases(tmp_path), "--metric", "accuracy", "-o", tmp_path / "l.html")
    assert "summary_accuracy" in call(*how, status=2).stderr


def test_the_page_speaks_the_language_that_is_asked_for(open_page: Any, tmp_path: Path) -> None:
    file = tmp_path / "labels.html"
    call(
        "label",
        cases(tmp_path),
        "-n",
        "1",
        "--metric",
        "summary_accuracy",
        "--lang",
        "ko",
        "-o",
        file,
    )
    page = open_page(file)
    assert page.get_attribute("html", "lang") == "ko"
    page.fill("#rater", "가")
    page.get_by_role("button", name="시작").click()
    assert (
        page.locator("#question").inner_text() == "요약의 모든 수치와 조건이 원문으로 뒷받침됩니까?"
    )
    assert page.locator("#answers button").all_inner_texts() == [
        "1예 (모두 근거 있음)",
        "0아니요 (틀리거나 근거 없음)",
        "5일부",
        "n해당 없음",
    ]
    assert page.locator("#moves button").all_inner_texts() == [
        "k이전",
        "j다음",
        "u되돌리기",
        "d내려받기",
    ]
    assert page.locator("#status").inner_text() == "1건 중 1번째, 0건 라벨 완료"
