"""Tables, cards and plain-text tables: what stands in them, and that data stays data."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from evaltools.core.metric import Metric
from evaltools.report import plain, tables, text
from evaltools.report.samples import samples
from evaltools.stats.intervals import Resampling
from tests.report.synthetic import HOSTILE, estimates, sample_frame


class Parsed(HTMLParser):
    """Tags with their attributes, and the text, of a piece of HTML; every tag opened is closed."""

    VOID = frozenset({"br", "img", "input", "meta", "link", "hr"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
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
OURS |= {"section", "article", "header", "a", "ul", "li", "i", "strong", "h3"}


def check_inert(html: str) -> Parsed:
    parsed = Parsed(html)
    assert {tag for tag, _ in parsed.tags} <= OURS
    for _, attributes in parsed.tags:
        assert not [a for a in attributes if a.startswith("on") or a in {"src", "style"}]
        assert (attributes.get("href") or "#").startswith("#")
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\ud800-\udfff]", html)
    return parsed


@UNHURRIED
@given(st.text() | st.sampled_from(HOSTILE))
def test_any_text_stays_text(value: str) -> None:
    frame = pd.DataFrame({value or "c": [value], "id": [value]})
    check_inert(tables.table(frame, caption=value, anchors="row").html)
    check_inert(
        samples(
            pd.DataFrame({"text_id": [value], "text": [value], "gold": [value], "f": [value]}),
            sides={"gold": value},
            chips=["f"],
            fields={"f": value},
            caption=value,
        ).html
    )
    check_inert(tables.kpis(estimates(1).head(1).assign(name=value, title=value, verdict=value)).html)
    check_inert(
        tables.estimates_table(estimates(1).head(1).assign(name=value, condition=value, ci_method=value)).html
    )
    check_inert(tables.notice(value).html)
    check_inert(tables.signature_block(value).html)


def test_text_is_shown_as_written() -> None:
    for value in HOSTILE[:6]:
        assert value in check_inert(str(text.safe(value))).text
    assert text.safe("abc\u202egnp.exe") == '<bdi>abc<span class="et-ctl">U+202E</span>gnp.exe</bdi>'
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
    frame = pd.DataFrame({"name": ["b", None], "f1": [0.12345, np.nan], "n": [12345, 2], "ok": [True, False]})
    html = tables.table(frame, columns={"name": "Name", "f1": "F1", "n": "n", "ok": "OK"}, formats={"f1": ".2f"}).html
    assert '<td class="et-num" data-sort="0.12345">0.12</td>' in html
    assert '<td class="et-num" data-sort="">N/A</td>' in html
    assert '<td class="et-num" data-sort="12345.0">12,345</td>' in html
    assert '<td class="et-id"><bdi>yes</bdi></td>' in html and "<bdi></bdi></td>" in html
    assert '<th class="et-num">F1</th>' in html and 'class="et-table sortable n-last"' in html


def test_table_takes_markup_as_it_is_and_counts_what_it_leaves_out() -> None:
    frame = pd.DataFrame({"link": ["x"] * 5})
    html = tables.table(
        frame, formats={"link": lambda v: Markup('<a href="#{0}">{0}</a>').format(v)}, max_rows=2
    ).html
    assert html.count('<td><a href="#x">x</a></td>') == 2
    assert "2 of 5 rows shown" in html


def test_table_without_rows_and_with_an_unknown_column() -> None:
    assert "no rows" in tables.table(pd.DataFrame({"a": []})).html
    with pytest.raises(KeyError, match="lacks the columns \\['b'\\]"):
        tables.table(pd.DataFrame({"a": [1]}), columns={"b": "B"})


def test_text_fallback_is_markdown() -> None:
    assert repr(tables.table(pd.DataFrame({"a": [1.5], "b": ["x|y"]}), caption="C")) == (
        "C\n\n| a | b |\n| ---: | --- |\n| 1.500 | x\\|y |\n"
    )


METRIC = Metric("metric_0", "a", "b", "quality", "higher", "Share <right>", "spec 1.4")


def test_estimates_table() -> None:
    frame = estimates().drop(columns="title")
    html = tables.estimates_table(frame, metrics=[METRIC]).html
    parsed = check_inert(html)
    assert "Share <right>" in parsed.text and "spec 1.4" in parsed.text
    # value 0.1, interval [0.02, 0.17]: width 0.15, whose Monte-Carlo error 0.001 supports two decimals
    assert "0.100" in parsed.text and "[0.02, 0.17]" in parsed.text and "4 / 40" in parsed.text
    assert parsed.text.count("N/A") == 1 and parsed.text.count("small n") == 1
    ids = [a["id"] for _, a in parsed.tags if "id" in a]
    assert ids == [f"metric-metric_{i}" for i in range(12)]
    assert "higher is better" in parsed.text and "lower is better" in parsed.text


def test_digits_follow_the_number_of_resamples() -> None:
    row = estimates().iloc[0]
    # the error of a bound falls with the square root of the number of resamples
    assert tables.row_decimals(row, resampling=Resampling(n_resamples=100)) == 1
    assert tables.row_decimals(row, resampling=Resampling(n_resamples=10_000)) == 2
    assert tables.row_decimals(row, resampling=Resampling(n_resamples=1_000_000)) == 3
    assert tables.row_decimals(row, decimals=4) == 4


def test_counts_and_large_numbers_print_whole() -> None:
    count = {"name": "N", "value": 12.0, "numerator": 12.0, "denominator": np.nan, "n_units": 40, "better": "none"}
    latency = {
        "name": "ms",
        "value": 1234.567,
        "ci_low": 1100.2,
        "ci_high": 1300.7,
        "numerator": 9.0,
        "denominator": 2.0,
    }
    frame = tables.plain_estimates(pd.DataFrame([count, latency]))
    assert list(frame["value"]) == ["12", "1,235"]
    assert list(frame["interval"]) == ["", "[1,100, 1,301]"]


def test_no_negative_zero() -> None:
    assert plain.number(-0.0001) == "0.000"
    assert plain.number(-0.0006) == "-0.001"


def test_kpis_link_to_their_metric() -> None:
    html = tables.kpis(estimates().head(2).assign(verdict=["better", None])).html
    assert 'href="#metric-metric_0"' in html and "et-good" in html
    assert "N/A" in html
    assert "no headline metrics" in tables.kpis([]).html


def test_result_html() -> None:
    result = SimpleNamespace(
        name="run <1>",
        suite=SimpleNamespace(title="Conflict Review", unit="text_id", metrics=lambda options: [METRIC]),
        options=None,
        n_units=40,
        resampling=Resampling(),
        signature="suite:cr|n:40",
        headline=estimates().head(2),
        manifest={"problems": [{"severity": "warning", "code": "unknown-uid", "count": 3}]},
    )
    parsed = check_inert(tables.result_html(result))
    for expected in ("run <1>", "Conflict Review", "n = 40", "3 x unknown-uid (warning)", "suite:cr|n:40"):
        assert expected in parsed.text


GOLD = [["p#q", "향", "positive"], ["p#r", "", "negative"], ["p#s", "값", "neutral"]]


def marks(html: str) -> list[str]:
    return re.findall(r'<li class="et-tuple et-(\w+)">', html)


def test_samples_mark_tuples_by_the_key() -> None:
    final = [["p#q", "다른", "positive"], ["p#r", "거품", "negative"], ["x#y", "z", "positive"]]
    frame = pd.DataFrame({"text_id": ["1"], "text": ["t"], "gold": [json.dumps(GOLD)], "after": [json.dumps(final)]})
    by_ref = marks(samples(frame, sides={"after": "Final"}, on=(0, 2)).html)
    # refs and polarities: the first two agree; gold p#s is missing, x#y is spurious
    assert by_ref == ["matched", "matched", "missing", "matched", "matched", "spurious"]
    # terms and polarities: 향 differs from 다른; the implicit gold is matched by polarity alone
    by_term = marks(samples(frame, sides={"after": "Final"}, on=(1, 2)).html)
    assert by_term == ["missing", "matched", "missing", "spurious", "matched", "spurious"]


def test_samples_keep_marks_that_are_given() -> None:
    frame = pd.DataFrame(
        {
            "text_id": ["1"],
            "text": ["t"],
            "gold": [json.dumps(GOLD[:1])],
            "after": [json.dumps([[*GOLD[0], "spurious"]])],
        }
    )
    assert marks(samples(frame, sides={"after": "Final"}).html) == ["matched", "spurious"]


def test_samples_show_text_chips_fields_and_how_many() -> None:
    parsed = check_inert(
        samples(
            sample_frame(),
            sides={"before": "Stage 1", "after": "Final"},
            chips=["fixed"],
            fields={"actions": "Review"},
            caption="Fixed",
            max_rows=3,
        ).html
    )
    assert "Fixed (12)" in parsed.text and "3 of 12 shown" in parsed.text
    assert "action: flip, target: 거품" in parsed.text
    assert [a["id"] for t, a in parsed.tags if t == "article"] == ["sample-s000", "sample-s001", "sample-s002"]
    assert "no samples" in samples(sample_frame().head(0)).html


@UNHURRIED
@given(st.text(max_size=40) | st.sampled_from(HOSTILE[:-1]))
def test_markdown_cells_stay_cells(value: str) -> None:
    lines = plain.markdown_table(pd.DataFrame({"a": [value], "b": [1]})).split("\n")
    assert len(lines) == 4
    assert len(re.findall(r"(?<!\\)\|", re.sub(r"\\\\", "", lines[2]))) == 3
    assert "<" not in lines[2]


def test_markdown_keeps_names_and_numbers() -> None:
    frame = pd.DataFrame({"tuple_f1_s2": [0.5], "x": [None]}, dtype=object)
    assert plain.markdown_table(frame) == "| tuple_f1_s2 | x |\n| --- | --- |\n| 0.500 |  |\n"
    assert "\\[link\\](javascript" in plain.markdown_table(pd.DataFrame({"a": [HOSTILE[3]]}))


def test_latex_table() -> None:
    frame = pd.DataFrame({"name": ["a_b & 50% {x} #1 $2 ~^\\", "[1]"], "f1": [0.5, np.nan]})
    assert plain.latex_table(frame, columns={"name": "Metric", "f1": "F1"}, caption="A_1", label="tab:a b") == (
        "\\begin{table}\n\\centering\n\\caption{A\\_1}\n\\label{tab:a-b}\n\\begin{tabular}{lr}\n\\toprule\n"
        "Metric & F1 \\\\\n\\midrule\n"
        "a\\_b \\& 50\\% \\{x\\} \\#1 \\$2 \\textasciitilde{}\\textasciicircum{}\\textbackslash{} & 0.500 \\\\\n"
        "{[1]} & N/A \\\\\n\\bottomrule\n\\end{tabular}\n\\end{table}\n"
    )


def test_formats_go_by_column_in_plain_tables() -> None:
    frame = pd.DataFrame({"a": [0.123456], "b": [0.123456]})
    assert plain.markdown_table(frame, formats={"a": ".1f", "b": ".4f"}).endswith("| 0.1 | 0.1235 |\n")
