"""The sample browser: what it carries, and each of its sentences where it must and must not stand."""

from __future__ import annotations

import json
import re
from typing import Any

import pandas as pd
import pytest

import evaltools as et
from evaltools.report import browse
from evaltools.report import samples as module
from evaltools.report.samples import CLIP, Layout, Line, Row, samples
from evaltools.report.text import LONG
from tests.report.synthetic import HOSTILE, SAMPLE_COLUMNS, browser, sample_frame

MANY = pd.DataFrame(
    {"text_id": [f"s{i:02d}" for i in range(30)], "text": [f"text {i}" for i in range(30)]}
)
LEFT_OUT = "samples are in this page"


def data_of(html: str) -> dict[str, Any]:
    """What the script of the page reads."""
    pattern = r'<script type="application/json" class="et-data">(.*?)</script>'
    (data,) = re.findall(pattern, html, re.DOTALL)
    found: dict[str, Any] = json.loads(data)
    return found


def ids(html: str) -> list[str]:
    """The ids of the cards."""
    return re.findall(r'<article class="et-sample" id="([^"]+)"', html)


def test_every_sample_has_one_card_in_its_order() -> None:
    html = browser(MANY.iloc[::-1]).html
    assert ids(html) == [f"sample-s{i:02d}" for i in range(29, -1, -1)]
    assert data_of(html) == {"page": 5, "groups": [[*range(30)]]}
    assert html.count("text 29") == 1
    assert LEFT_OUT not in html and "no samples" not in html
    assert "no samples" in browser(MANY.head(0)).html


def test_a_page_takes_no_more_than_it_can_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CARRIED", 5_000)
    html = browser(MANY).html
    n = len(ids(html))
    assert 10 < n < 30 and f"{n} of 30 samples are in this page" in html
    assert data_of(html)["groups"] == [[*range(n)]]
    assert len(ids(browser(MANY, share=2).html)) < n
    # one card is there at any size
    assert len(ids(browser(MANY.assign(text="x" * 5_500)).html)) == 1


def test_a_large_run_has_cards_for_as_many_as_a_page_may_carry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(browse, "MOST", 3)
    run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed", n_resamples=100)
    html = run.samples("has_gold").html
    assert len(ids(html)) == 3 and "3 of 40 samples are in this page" in html
    cmp = et.compare("example:cr/no_memory", "example:cr/with_memory", n_resamples=100)
    html = cmp.samples().html
    assert len(ids(html)) == 3 and LEFT_OUT in html


def test_groups_count_what_they_hold_and_small_ones_are_carried_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    groups = {"most": pd.Index(range(28)), "rare": pd.Index([3, 25])}
    monkeypatch.setattr(module, "CARRIED", 3_000)
    html = samples(MANY, Layout(), groups, total=40).html
    carried = ids(html)
    n = len(carried)
    assert n < 20 and carried == sorted(carried) and carried[-1] == "sample-s25"
    assert re.findall(r'aria-pressed="\w+">(.*?) <b>(.*?)</b>', html) == [
        ("most", f"{n} of 28"),
        ("rare", "2"),
        ("All", f"{n} of 40"),
    ]


def test_groups_have_the_counts_of_what_they_show() -> None:
    rows = {"broken": [1, 0], "both <b>": [1, 29], "empty": []}
    groups = {label: pd.Index(members) for label, members in rows.items()}
    html = samples(MANY, Layout(), groups).html
    assert data_of(html)["groups"] == [[*range(30)], [0, 1], [1, 29]]
    assert re.findall(r'aria-pressed="\w+">(.*?) <b>([\d,]+)</b>', html) == [
        ("broken", "2"),
        ("both &lt;b&gt;", "2"),
        ("All", "30"),
    ]
    assert 'id="group-broken"' in html
    assert "data-group" not in browser(MANY).html


def test_what_the_marks_mean_is_said_where_it_is_given() -> None:
    legend = "✓ ref & polarity are those of the gold"
    said = '<p class="et-sub et-legend">✓ ref &amp; polarity are those of the gold</p>'
    assert said in browser(MANY, legend=legend).html
    assert "et-legend" not in browser(MANY).html


@pytest.mark.parametrize("length", [LONG, LONG + 1, CLIP, CLIP + 1])
def test_long_texts_fold_and_what_is_cut_is_said(length: int) -> None:
    rows = [[Row("a", {"after": [Line("y" * length, note="z" * length)]})]]
    frame = pd.DataFrame({"text_id": ["a"], "text": ["x" * length], "rows": rows})
    html = browser(frame, columns={"after": ""}).html
    assert html.count("<details") == (3 if length > LONG else 0)
    for letter in "xyz":
        assert max(map(len, re.findall(f"{letter}+", html))) == min(length, CLIP)
    assert (f"{length:,} characters" in html) is (length > LONG)
    cut = "the first 4,000 shown"
    assert (cut in html) is (length > CLIP)


def test_no_text_ends_the_data_or_hides_in_it() -> None:
    html = browser(sample_frame(), columns=SAMPLE_COLUMNS, fields={"actions": "Review"}).html
    assert len(ids(html)) == len(HOSTILE) and html.count("<script") == 1
    assert (
        "\u202e" not in html and "\x00" not in html and '<span class="et-ctl">U+202E</span>' in html
    )


def test_a_text_of_lines_reads_as_lines() -> None:
    frame = pd.DataFrame({"text_id": ["a"], "contexts": ["one\ntwo"], "why": ["M1: no\nM2: no"]})
    html = browser(frame, texts={"contexts": "context"}, fields={"why": "why"}).html
    assert '<span class="et-sub">context</span><bdi>one\ntwo</bdi>' in html
    assert "<div><bdi>M1: no</bdi></div><div><bdi>M2: no</bdi></div>" in html


def test_a_place_without_a_number_is_marked_and_one_with_a_number_is_linked() -> None:
    text = "스킨 향 좋다"
    places = [
        ("text", 3, 4, "bad", 0, ""),
        ("text", 5, 7, "good", 1, "tip"),
        ("text", 3, 6, "", 0, ""),
    ]
    frame = pd.DataFrame({"text_id": ["a"], "text": [text], "places": [places]})
    html = browser(frame).html
    assert '스킨 <mark class="et-bad">향</mark> <a class="et-place et-good"' in html
    assert 'title="tip">좋다<sup>1</sup></a>' in html
    assert html.count("<mark") == 1, "a place that overlaps an earlier one is left out"
