"""Tables, cards and plain-text tables: what stands in them, and that data stays data."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markupsafe import Markup

import evaltools as et
from evaltools.core.estimates import complete, from_public
from evaltools.report import markdown as plain
from evaltools.report import tables, text
from evaltools.report.first_screen import title
from evaltools.report.samples import Line, Row
from evaltools.stats.intervals import Resampling
from tests.report.synthetic import (
    HOSTILE,
    SAMPLE_COLUMNS,
    browser,
    estimates,
    sample_frame,
    sample_rows,
)


class Parsed(HTMLParser):
    """Tags with their attributes, and the text, of a piece of HTML; every tag opened is closed."""

    VOID = frozenset({"br", "img", "input", "meta", "link", "hr", "wbr"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(str(html))
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


# a loaded machine is no fault of the code
UNHURRIED = settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)

OURS = {
    "wbr",
    "div",
    "table",
    "caption",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "bdi",
    "span",
    "details",
    "summary",
    "p",
    "code",
}
OURS |= {
    "section",
    "article",
    "header",
    "a",
    "ul",
    "li",
    "i",
    "strong",
    "h1",
    "h3",
    "button",
    "input",
    "script",
    "kbd",
    "mark",
}


ATTRIBUTES = {
    "class",
    "id",
    "href",
    "title",
    "tabindex",
    "role",
    "aria-label",
    "data-sort",
    "colspan",
}
ATTRIBUTES |= {"type", "hidden", "placeholder", "scope", "data-way"}


def check_inert(html: str) -> Parsed:
    parsed = Parsed(html)
    assert {tag for tag, _ in parsed.tags} <= OURS
    assert all(a.get("type") == "application/json" for tag, a in parsed.tags if tag == "script"), (
        "data, never code"
    )
    for _, attributes in parsed.tags:
        assert not [a for a in attributes if a.startswith("on") or a in {"src", "style"}]
        assert (attributes.get("href") or "#").startswith("#")
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\ud800-\udfff]", html)
    return parsed


@UNHURRIED
@given(st.text() | st.sampled_from(HOSTILE))
def test_any_text_stays_text(value: str) -> None:
    frame = pd.DataFrame({value or "c": [value], "id": [value]})
    check_inert(tables.table(frame, caption=value).html)
    check_inert(
        browser(
            pd.DataFrame({"text_id": [value], "text": [value], "rows": [sample_rows(value)]}),
            head=value,
            columns={"gold": value, "after": value},
            fields={"text": value},
            caption=value,
        ).html
    )
    check_inert(
        estimates_table(
            estimates(1).head(1).assign(metric=value, condition=value, ci_method=value)
        ).html
    )
    check_inert(tables.notice(value).html)
    check_inert(tables.signature_block(value).html)
    check_inert(title([value], value, value, value).html)
    check_inert(tables.stack([tables.words(value), tables.notice(value)]).html)


@pytest.mark.parametrize("value", [*HOSTILE, "\" onclick='x' <script>\u202e\u2066 & {{ 1 }}"])
def test_every_place_of_every_piece_shows_text_as_text(value: str) -> None:
    seen = text.visible(value, "{}".format)[:120]
    entry = SimpleNamespace(name=value, title=value, description=value, source=value, alias_of="")
    plain_entry = SimpleNamespace(name=value, description=value, source=value, alias_of="")
    row = (
        estimates()
        .head(1)
        .drop(columns="title")
        .assign(metric=value, group=value, condition=value, ci_method=value)
    )
    sample = {"text_id": value, "text": value, "tags": [Line(value, "bad"), Line(value)]}
    sample["rows"] = [Row(value, {"after": [Line(value, "bad", value)]}, value, "bad")]
    frame = pd.DataFrame([sample | {"words": value, "lines": f"{value}\n{value}"}])
    fields = {"words": value, "lines": value}
    # the least number of places in which the text must stand
    pieces = {
        tables.table(pd.DataFrame({value: [value]}), caption=value).html: 3,
        estimates_table(row, metrics=[entry]).html: 5,
        estimates_table(row, metrics=[plain_entry]).html: 5,
        tables.notice(value).html: 1,
        tables.signature_block(value).html: 1,
        title([value], value, value, value).html: 4,
        tables.words(value).html: 1,
        browser(
            frame,
            texts={"text": value},
            head=value,
            columns={"after": value},
            fields=fields,
            caption=value,
        ).html: 17,
    }
    for html, least in pieces.items():
        parsed = check_inert(html)
        assert re.sub(r"\[(U\+\w+)\]", r"\1", parsed.text).count(seen) >= least
        assert {a for _, attributes in parsed.tags for a in attributes} <= ATTRIBUTES


def test_text_is_shown_as_written() -> None:
    for value in HOSTILE[:6]:
        assert value in check_inert(str(text.safe(value))).text
    assert (
        text.safe("abc\u202egnp.exe") == '<bdi>abc<span class="et-ctl">U+202E</span>gnp.exe</bdi>'
    )
    assert "{{ 7 * 7 }}" in text.safe("{{ 7 * 7 }}")


def test_long_text_is_folded_and_beyond_the_limit_cut_with_a_count() -> None:
    folded = text.safe("y" * 5_000)
    assert folded.startswith('<details class="et-long">') and folded.count("y") >= 5_000 + 100
    assert "(5,000 characters)" in folded
    cut = text.safe("z" * 150_000)
    assert "(150,000 characters, the first 100,000 shown)" in cut
    assert 100_000 < cut.count("z") < 101_000


def test_anchors_are_safe_stable_and_apart() -> None:
    assert text.anchor("metric", "tuple_f1_s2") == "metric-tuple_f1_s2"
    assert text.anchor("sample", "한글-1") == "sample-한글-1"
    names = ["a/b", "a b", "a-b", "../a-b", '"><x', "\u202e", "x" * 500, "x" * 501, "\ud800"]
    ids = [text.anchor("sample", n) for n in names]
    assert len(set(ids)) == len(names)
    assert all(re.fullmatch(r"sample-[\w.-]+", i) for i in ids)


def test_table_sorts_by_number_and_prints_null() -> None:
    frame = pd.DataFrame(
        {"name": ["b", None], "f1": [0.12345, np.nan], "n": [12345, 2], "ok": [True, False]}
    )
    html = tables.table(frame.rename(columns={"f1": "F1"})).html
    assert '<td class="et-num" data-sort="0.12345">0.123</td>' in html
    assert '<td class="et-num" data-sort="">N/A</td>' in html
    assert '<td class="et-num" data-sort="12345.0">12,345</td>' in html
    assert '<td class="et-id"><bdi>yes</bdi></td>' in html and "<bdi></bdi></td>" in html
    assert '<th class="et-num">F1</th>' in html and 'class="et-table sortable n-last"' in html


def test_table_takes_markup_as_it_is_and_counts_what_it_leaves_out() -> None:
    frame = pd.DataFrame({"link": [Markup('<a href="#x">x</a>')] * 205}, dtype=object)
    html = tables.table(frame).html
    assert html.count('<td><a href="#x">x</a></td>') == 200
    assert "200 of 205 rows shown" in html


def test_table_without_rows_says_so() -> None:
    assert "no rows" in tables.table(pd.DataFrame({"a": []})).html


def test_text_fallback_has_every_text_as_it_is() -> None:
    assert repr(tables.table(pd.DataFrame({"a": [1.5], "b": ["x|y"]}), caption="C")) == (
        "C\n\n| a | b |\n| ---: | --- |\n| 1.500 | x|y |\n"
    )


METRIC = SimpleNamespace(name="metric_0", description="", source="spec 1.4", alias_of="")
RESAMPLING = Resampling()


def words_of(html: str) -> str:
    """The text of a piece of HTML, each element apart."""
    return str(Markup(html.replace("<", " <")).striptags())


def estimates_table(
    frame: pd.DataFrame, metrics: Any = (), resampling: Any = RESAMPLING, **options: Any
) -> tables.HtmlTable:
    """The table of estimates, what the frame lacks being empty."""
    return tables.estimates_table(
        complete(frame), metrics=metrics, resampling=resampling, **options
    )


def cells_of(html: str) -> list[dict[str, str]]:
    """The rows of a table as header -> text of the cell."""
    heads, *rows = (
        [words_of(c) for c in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.DOTALL)]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", html, flags=re.DOTALL)
    )
    return [dict(zip(heads, row, strict=True)) for row in rows]


def test_estimates_table() -> None:
    frame = estimates().assign(title=["Share <right>"] * 12)
    html = estimates_table(frame, metrics=[METRIC]).html
    parsed = check_inert(html)
    assert "Share <right>" in parsed.text and "spec 1.4" in parsed.text
    # value 0.1, interval [0.02, 0.17]: width 0.15, whose Monte-Carlo error 0.001 supports two decimals
    assert "0.100" in parsed.text and "[0.02, 0.17]" in parsed.text and "4 / 40" in parsed.text
    assert parsed.text.count("N/A") == 1 and parsed.text.count("small n") == 1
    ids = [a["id"] for _, a in parsed.tags if "id" in a]
    assert ids == [f"metric-metric_{i}" for i in range(12)]
    assert "higher is better" in parsed.text and "lower is better" in parsed.text


def test_estimates_table_has_every_column() -> None:
    rows = cells_of(estimates_table(estimates()).html)
    assert len(rows) == 12
    assert rows[0] == {
        "Metric": "Metric 0, as a reader calls it metric_0",
        "Group": "quality",
        "direction": "↑ higher is better",
        "Value": "0.100",
        "Interval": "[0.02, 0.17]",
        "From": "4 / 40",
        "n": "40",
        "Method": "bca",
    }
    assert [rows[2][c] for c in ("direction", "Value", "Interval", "From")] == [
        "",
        "0.245",
        "",
        "9.82 / 40",
    ]
    assert rows[1]["Value"] == "N/A" and rows[1]["From"] == "" and rows[3]["n"] == "6"
    assert rows[3]["Metric"] == "Metric 3, as a reader calls it small n metric_3"


def test_estimates_table_without_groups() -> None:
    assert "Group" in cells_of(estimates_table(estimates()).html)[0]
    of_one_group = estimates().assign(group="quality")
    assert "Group" not in cells_of(estimates_table(of_one_group).html)[0]
    assert "no rows" in estimates_table(estimates().head(0)).html


def test_estimates_sort_by_the_numbers_behind_the_texts() -> None:
    html = estimates_table(estimates().head(2).assign(value=[1234.5, np.nan])).html
    keys = [re.findall(r'data-sort="([^"]*)"', row) for row in html.split("<tr")[2:]]
    assert keys[0][:4] == ["metric_0", "higher is better", "1234.5", "0.02"]
    assert keys[0][4:] == ["40.0", "40.0"]
    assert keys[1] == ["metric_1", "lower is better", "", "", "", "40.0"]


def test_title_comes_first_then_the_description_then_id_and_source() -> None:
    entry = SimpleNamespace(
        name="metric_0", title="ignored", description="One sentence.", source="spec 1", alias_of=""
    )
    html = estimates_table(estimates().head(1), metrics=[entry]).html
    cell = re.search(r'<td data-sort="metric_0">(.*?)</td>', html, flags=re.DOTALL)
    assert cell and re.sub(r">\s+<", "><", cell[1]) == (
        '<details class="et-about"><summary><bdi>Metric 0, as a reader calls it</bdi></summary>'
        '<span class="et-sub"><bdi>One sentence.</bdi></span>'
        '<span class="et-sub"><code>metric_0</code> spec 1</span></details>'
    )


def test_aliases_are_left_out() -> None:
    target = SimpleNamespace(
        name="metric_0", title="ignored", description="", source="", alias_of=""
    )
    alias = SimpleNamespace(
        name="metric_1", title="Other F1", description="", source="", alias_of="metric_0"
    )
    frame = estimates().head(2).assign(title="F1")
    found = estimates_table(frame, metrics=[target, alias])
    assert [r["Metric"] for r in cells_of(found.html)] == [
        "F1 metric_0"
    ] and "metric_1" not in found.text


def test_intervals_as_text() -> None:
    row = {"ci_low": -0.0101, "ci_high": 0.0749}
    assert tables.interval(row) == "[−0.010, 0.075]" and tables.interval(row, 2) == "[−0.01, 0.07]"
    assert tables.interval(row, 2, signed=True) == "[−0.01, +0.07]"
    assert tables.interval({"ci_low": 1100, "ci_high": 2e6}, 0) == "[1,100, 2,000,000]"
    # never 0, or without a width, by rounding only
    assert tables.interval({"ci_low": 1.1e-5, "ci_high": 3.4e-5}) == "[0.000011, 0.000034]"
    assert tables.interval({"ci_low": 0.50001, "ci_high": 0.50012}) == "[0.50001, 0.50012]"
    assert tables.interval({"ci_low": -0.0001, "ci_high": 0.4}) == "[0.000, 0.400]"
    assert tables.interval({"ci_low": 0.5, "ci_high": 0.5 + 1e-16}) == "[0.500, 0.500]"
    assert [plain.number(x) for x in (2.34e-5, -0.0004, 1e-17, 0.0)] == [
        "0.000023", "−0.00040", "0.000", "0.000",
    ]  # fmt: skip
    assert tables.interval({"ci_low": 0.1, "ci_high": None}) == tables.interval({}) == ""


def test_digits_follow_the_number_of_resamples() -> None:
    row = estimates().iloc[0]
    # the error of a bound falls with the square root of the number of resamples
    assert tables.row_decimals(row, resampling=Resampling(n_resamples=100)) == 1
    assert tables.row_decimals(row, resampling=Resampling(n_resamples=10_000)) == 2
    assert tables.row_decimals(row, resampling=Resampling(n_resamples=1_000_000)) == 3


def test_counts_and_large_numbers_print_whole() -> None:
    count = {
        "metric": "N",
        "value": 12.0,
        "numerator": 12.0,
        "denominator": np.nan,
        "n_units": 40,
        "better": "none",
    }
    latency = {
        "metric": "ms",
        "value": 1234.567,
        "ci_low": 1100.2,
        "ci_high": 1300.7,
        "numerator": 9.0,
        "denominator": 2.0,
    }
    frame = tables.plain_estimates(complete(pd.DataFrame([count, latency])), RESAMPLING)
    assert list(frame["value"]) == ["12", "1,235"]
    assert list(frame["interval"]) == ["", "[1,100, 1,301]"]


def test_no_negative_zero() -> None:
    assert plain.number(-1e-12) == "0.000"
    assert plain.number(-0.0006) == "−0.001"


def test_samples_without_tags_rows_or_fields_have_none() -> None:
    frame = pd.DataFrame([{"text_id": "1", "text": "t", "b": np.nan, "c": "", "d": None}])
    html = browser(frame, fields={"b": "B", "c": "C", "d": "D", "not there": "E"}).html
    assert "et-tag" not in html and "et-field" not in html and "et-rows" not in html


@pytest.mark.parametrize(("rows", "tall"), [(25, False), (26, True)])
def test_long_tables_scroll_in_a_box_of_their_own(rows: int, tall: bool) -> None:
    html = tables.table(pd.DataFrame({"a": range(rows)})).html
    assert ("et-tall" in html) == tall and 'aria-label="table"' in html


def test_pieces_stack_and_bring_their_style_in_a_notebook() -> None:
    found = tables.stack(
        [
            title(["Conflict Review", "run <1>"], "n = 1,040 (text_id)", "F1 0.8"),
            tables.notice("3 x unknown-uid (warning)", "warning"),
            tables.signature_block("suite:cr|n:40"),
        ]
    )
    parsed = check_inert(found.html)
    for expected in (
        "run <1>",
        "Conflict Review",
        "n = 1,040 (text_id)",
        "3 x unknown-uid (warning)",
        "suite:cr|n:40",
    ):
        assert expected in parsed.text and expected in found.text
    assert len(found.text.split("\n\n")) == 3
    shown = found._repr_html_()
    assert shown.startswith('<style class="et-style">') and shown.endswith(
        f'</style><div class="mathjax_ignore">{found.html}</div>'
    )
    assert (
        shown.count("<style") == 1 and ".et-kind" in shown and len(shown) < len(found.html) + 14_000
    )


def test_a_piece_of_html_has_the_text_of_it_and_stands_as_it_is_among_others() -> None:
    piece = tables.HtmlTable("<p>one &amp; <b>two</b></p>")  # type: ignore[arg-type]
    assert piece.text == "one & two"
    assert tables.stack([piece, tables.words("")]).html == piece.html


def test_words_are_paragraphs() -> None:
    found = tables.words("one\nline\n\ntwo <b>")
    assert (
        found.html
        == '<div class="et-words"><p><bdi>one\nline</bdi></p><p><bdi>two &lt;b&gt;</bdi></p></div>'
    )
    assert str(found) == "one\nline\n\ntwo <b>"


def rows_of_cards(html: str) -> list[list[str]]:
    """The cells of every row of the cards, as text."""
    rows = []
    for row in re.findall(r"<tr>(.*?)</tr>", html, flags=re.DOTALL):
        cells = re.findall(r"<(?:th|td)[^>]*>(.*?)</(?:th|td)>", row, flags=re.DOTALL)
        rows.append(
            [Markup(cell.replace("</div><div", "</div> | <div")).striptags() for cell in cells]
        )
    return rows


def test_rows_of_samples_have_a_sign_and_words_in_each_column() -> None:
    frame = pd.DataFrame([{"text_id": "1", "text": "t", "rows": sample_rows()}])
    html = browser(frame, head="Aspect", columns=SAMPLE_COLUMNS).html
    assert rows_of_cards(html) == [
        ["Aspect", "Gold", "Stage 1", "Final"],
        ["제품 전체#일반 · 향", "positive", "✓ positive", "✓ positive"],
        ["본품#품질 · implicit", "negative", "− missing", "✓ positive"],
        ["본품#가격 · 값", "", "", "✗ neutral | ? odd"],
    ]
    assert '<mark class="et-good">향</mark>' in html and '<mark class="et-bad">값</mark>' in html


def test_samples_show_text_tags_fields_and_how_many() -> None:
    html = browser(sample_frame(), fields={"actions": "Review"}, caption="Fixed").html
    parsed = check_inert(html)
    assert "Fixed (12)" in parsed.text
    assert "flip: 거품" in parsed.text and "F1 0.50" in parsed.text
    assert [a["id"] for t, a in parsed.tags if t == "article"] == [
        f"sample-s{i:03d}" for i in range(12)
    ]
    assert "no samples" in browser(sample_frame().head(0)).html


@UNHURRIED
@given(st.text(max_size=40) | st.sampled_from(HOSTILE[:-1]))
def test_markdown_cells_stay_cells(value: str) -> None:
    lines = plain.markdown_table(pd.DataFrame({"a": [value], "b": [1]})).split("\n")
    assert len(lines) == 4
    assert len(re.findall(r"(?<!\\)\|", re.sub(r"\\\\", "", lines[2]))) == 3
    assert "<" not in lines[2]


def test_markdown_keeps_names_and_numbers() -> None:
    frame = pd.DataFrame({"tuple_f1_s2": [0.5], "x": [None]}, dtype=object)
    assert plain.markdown_table(frame) == "| tuple_f1_s2 | x |\n| ---: | --- |\n| 0.500 |  |\n"
    assert "\\[link\\](javascript" in plain.markdown_table(pd.DataFrame({"a": [HOSTILE[3]]}))


def test_latex_table() -> None:
    frame = pd.DataFrame({"Metric": ["a_b & 50% {x} #1 $2 ~^\\", "[1]"], "F1": [0.5, np.nan]})
    assert plain.latex_table(frame, caption="A_1", label="tab:a b") == (
        "\\begin{table}\n\\centering\\small\\setlength{\\tabcolsep}{4pt}\n\\caption{A\\_1}\n\\label{tab:a-b}\n\\begin{tabular}{lr}\n\\toprule\n"
        "Metric & F1 \\\\\n\\midrule\n"
        "a\\_b \\& 50\\% \\{x\\} \\#1 \\$2 \\textasciitilde{}\\textasciicircum{}\\textbackslash{} & 0.500 \\\\\n"
        "{[1]} & N/A \\\\\n\\bottomrule\n\\end{tabular}\n\\end{table}\n"
    )


@pytest.mark.parametrize(("text", "tex"), [("*a", "{*a}"), ("[a]", "{[a]}"), ("a*[b]", "a*[b]")])
def test_a_cell_does_not_belong_to_the_end_of_the_row_before(text: str, tex: str) -> None:
    r"""After `\\` LaTeX takes a star, or what stands in brackets, for a part of it."""
    assert plain.latex(text) == tex


def test_a_table_as_text_names_metrics_by_title_and_id() -> None:
    made = et.estimate(
        pd.DataFrame({"id": ["a", "b"], "right": [1, 0], "n": [1, 1]}),
        [
            et.Metric(
                name="acc", numerator="right", denominator="n", better="higher", title="Accuracy"
            ),
            et.Metric(name="untitled", numerator="right", denominator="n", better="lower"),
        ],
        unit="id",
        resampling=Resampling(),
    )
    lines = str(estimates_table(from_public(made))).splitlines()
    assert lines[0] == "| metric | value | interval | n | method | id |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| Accuracy ↑", "| untitled ↓"]
    assert [line.split(" | ")[-1] for line in lines[2:]] == ["acc |", "untitled |"]
