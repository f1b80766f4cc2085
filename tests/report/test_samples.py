"""The sample browser: what it carries, and each of its sentences where it must and must not stand."""

from __future__ import annotations

import json
import re
from typing import Any

import pandas as pd
import pytest

from evaltools.report import samples as module
from evaltools.report.samples import CLIP, Marked, samples
from evaltools.report.text import LONG
from tests.report.synthetic import HOSTILE, sample_frame

MANY = pd.DataFrame(
    {"text_id": [f"s{i:02d}" for i in range(30)], "text": [f"text {i}" for i in range(30)]}
)
MORE, LEFT_OUT = "shown here", "samples are in this page"


def carried(html: str) -> dict[str, Any]:
    (data,) = re.findall(
        r'<script type="application/json" class="et-data">(.*?)</script>', html, re.DOTALL
    )
    found: dict[str, Any] = json.loads(data)
    return found


def test_all_samples_are_carried_once_in_their_order_and_the_first_stand_there_without_scripts() -> (
    None
):
    html = samples(MANY.iloc[::-1]).html
    assert [c["name"] for c in carried(html)["cards"]] == list(MANY["text_id"][::-1])
    assert re.findall(r'<article class="et-sample" id="([^"]+)"', html) == [
        f"sample-s{i:02d}" for i in range(29, 19, -1)
    ]
    assert carried(html)["page"] == 10


@pytest.mark.parametrize(
    ("rows", "limits", "more"),
    [
        (10, {}, None),
        (11, {}, "10 of 11 shown here"),
        (30, {"page": 30}, None),
        (0, {}, None),
    ],
)
def test_what_is_not_there_is_said_and_nothing_else(
    rows: int, limits: dict[str, Any], more: str | None
) -> None:
    html = samples(MANY.head(rows), **limits).html
    assert (more or MORE) in html if more else MORE not in html
    assert LEFT_OUT not in html
    assert ("no samples" in html) is (rows == 0)


def test_a_page_takes_no_more_than_it_can_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CARRIED", 3_000)
    html = samples(MANY).html
    n = len(carried(html)["cards"])
    assert 10 < n < 30 and f"{n} of 30 samples are in this page" in html
    # what stands there without scripts is carried at any size
    assert len(carried(samples(MANY.assign(text="x" * 500)).html)["cards"]) == 10


def test_groups_have_the_counts_of_what_they_show() -> None:
    groups = {"broken": ["s01", "s00"], "both <b>": ["s01", "s29"], "empty": [], "other": ["s99"]}
    html = samples([Marked(MANY, groups)]).html
    assert carried(html)["groups"] == [[[*range(30)]], [[0, 1]], [[1, 29]]]
    assert re.findall(r'aria-pressed="\w+">(.*?) <b>([\d,]+)</b>', html) == [
        ("All", "30"),
        ("broken", "2"),
        ("both &lt;b&gt;", "2"),
    ]
    assert 'id="group-broken"' in html
    assert "data-group" not in samples(MANY).html


def test_samples_of_one_id_are_all_in_its_group() -> None:
    twice = pd.concat([MANY.head(2), MANY.head(2)])
    twice.index = pd.RangeIndex(4)
    assert carried(samples([Marked(twice, {"g": ["s01"]})]).html)["groups"][1] == [[1, 3]]
    numbers = MANY.assign(text_id=range(30))
    assert carried(samples([Marked(numbers, {"g": ["3"]})]).html)["groups"][1] == [[3]]


def test_what_the_marks_mean_is_said_where_it_is_given() -> None:
    legend = "✓ ref & polarity are those of the gold"
    said = '<p class="et-sub et-legend">✓ ref &amp; polarity are those of the gold</p>'
    assert said in samples([Marked(MANY, legend=legend)]).html
    assert "et-legend" not in samples(MANY).html


@pytest.mark.parametrize("length", [LONG, LONG + 1, CLIP, CLIP + 1])
def test_long_texts_fold_and_what_is_cut_is_said(length: int) -> None:
    html = samples(pd.DataFrame({"text_id": ["a"], "text": ["x" * length]})).html
    ((_, text),) = carried(html)["cards"][0]["texts"]
    assert ("<details" in html) is (length > LONG) is isinstance(text, list)
    if length > LONG:
        assert len(text[2]) == min(length, CLIP) and text[1].startswith(f"{length:,} characters")
    assert ("the first 4,000 shown; the files beside the report hold all" in html) is (
        length > CLIP
    )


def test_no_text_ends_the_data_or_hides_in_it() -> None:
    html = samples(
        sample_frame(), sides={"after": "Final"}, chips=["group"], fields={"actions": "Review"}
    ).html
    cards = carried(html)["cards"]
    assert len(cards) == len(HOSTILE) and html.count("<script") == 1
    assert "\u202e" not in html and "\x00" not in html and "[U+202E]" in html
    assert {t for t in HOSTILE if t.isprintable() and len(t) < LONG} <= {
        str(c["texts"][0][1]) for c in cards
    }


def test_a_list_of_texts_and_a_text_of_lines_read_as_lines() -> None:
    frame = pd.DataFrame(
        {"text_id": ["a"], "contexts": [["one", "two"]], "why": ["M1: no\nM2: no"]}
    )
    (card,) = carried(samples(frame, text={"contexts": "context"}, fields={"why": "why"}).html)[
        "cards"
    ]
    assert card["texts"] == [["context", "one\ntwo"]] and card["fields"] == [
        ["why", ["M1: no", "M2: no"]]
    ]
