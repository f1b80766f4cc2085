"""First screens, tables and cards: what a page says of a result, and that text from data stays text."""

import re
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from markupsafe import Markup

import evaltools as et
from evaltools.core.messages import speaking
from evaltools.report import paper, study_sentences
from evaltools.report.first_screen import first_screen, trust_line
from evaltools.report.tables import frame_table, table
from evaltools.report.text import interval, number

FAST = et.Resampling(n_resamples=100)
HOSTILE = "<script>alert(1)</script>\u202e$x$"
SEEDS = ["example:cr/no_memory", "example:cr/with_memory"]


def words(html: str) -> str:
    """What a reader reads of a piece."""
    return " ".join(Markup(str(html).replace("<", " <")).striptags().split())


def scores(name: str, values: list[float | None], **columns: Any) -> et.Run:
    rows = [{"id": f"u{i}", "metric": "score", "value": v, **columns} for i, v in enumerate(values)]
    return et.evaluate("table", rows, name=name, bounds=("score=0,1",), resampling=FAST)


@pytest.fixture(scope="module")
def run() -> et.Run:
    return et.evaluate("cr", "example:cr/with_memory__seed1_proposed", resampling=FAST)


@pytest.fixture(scope="module")
def study() -> et.Study:
    return et.study(SEEDS, resampling=FAST)


def test_the_title_of_a_run_is_what_review_did(run: et.Run) -> None:
    few_fixed = run.where("outcome_refpol != 'fix' or n_gold_tuples > 1")
    for shown, said in (
        (run, "helps"),
        (few_fixed, "is not shown to fix more than it breaks, or less"),
    ):
        html = first_screen(shown).html
        assert "cover new samples from the same source" in words(html)
        title = words(re.findall(r"<h1.*?</h1>", html, re.DOTALL)[0])
        fixed, broken = shown["fix_rate_refpol"], shown["break_rate_refpol"]
        counts = [f"{row['numerator']:.0f} of {row['denominator']:.0f}" for row in (fixed, broken)]
        assert title.startswith(f"Review {said}: fixed {counts[0]}, broke {counts[1]}")
        assert "bundled example" in words(html) and shown.signature not in html
        assert shown.signature in words(shown.provenance().html)


def test_the_title_of_a_study_is_its_verdict_and_stands_once(study: et.Study) -> None:
    html = first_screen(study).html
    row = study["tuple_f1_s2_refpol"]
    verdict = "not shown to differ from" if row["verdict"] == "tied" else f"{row['verdict']} than"
    assert words(html).count(f"is {verdict} no_memory") == 1
    for value in (row["value_baseline"], row["value_candidate"]):
        assert number(value) in words(html), "means beside a difference are those of its pairs"
    assert interval(row, signed=True) in words(html)


def test_links_of_the_first_screen_open_what_they_name() -> None:
    """The candidate that the finding names stands first; no id stands twice; above several there are no links."""
    runs = [scores(name, [x, 0.5, 1.0, x] * 5) for name, x in (("a", 0.2), ("b", 0.2), ("c", 0.9))]
    runs[1].data.loc[0, "score"] = 0.1
    study, pair = et.study(runs), et.study(runs[::2])
    (target,) = re.findall(r'href="#(group-[^"]*)"', first_screen(pair).html)
    assert f'id="{target}"' in pair.samples().html and not study_sentences.settling(study)
    shown = study.samples().html
    assert "a → c" in words(shown).split("a → b")[0], "the candidate that the finding names first"
    assert study.table().html.count('class="et-axis"') == 1, "over all conditions"
    rows = [{"id": i, "metric": "stars", "value": i % 4 + 1} for i in range(20)]
    table = et.evaluate("table", rows, bounds={"stars": (1, 5)}).table()
    assert "<span>1</span><span>3</span><span>5</span>" in table.html, "an axis ends at the limits"
    ids = re.findall(r' id="([^"]*)"', shown)
    assert len(ids) == len(set(ids)) > 10 and "#group" not in first_screen(study).html
    dialogues = et.study(["example:memfin/memory_agent", "example:memfin/plain_llm"])
    assert "4 Lower under plain_llm" in words(first_screen(dialogues).html)
    of_paper = paper.markdown(dialogues)
    assert "| Failed turns | 3 | 1 |" in of_paper and "adjusted" not in of_paper
    assert ">Failed turns<" in dialogues.table("all").html
    assert re.findall(r"memfin-ex-02 / \d", words(dialogues.samples().html))[:4:2] == [
        "memfin-ex-02 / 1",
        "memfin-ex-02 / 2",
    ]


def test_blocked_metrics_are_one_line_and_no_number(run: et.Run) -> None:
    name = run.primary
    check = et.Check("ref-outside-gold", "blocking", "no ref is in the gold", blocks=(name,))
    others = [other for other in run.headline if other != name]
    void = replace(run, checks=(check,))
    assert f"Cannot be measured here: {void.title(name)}" in words(first_screen(void).html)
    assert name not in void.headline
    assert void.title(name) not in words(void.table().html).split("Cannot be measured here")[0]
    # a table of other metrics does not speak of it
    assert "Cannot be measured here" not in words(void.table(others[0]).html)


def test_the_trust_line_counts_and_gives_the_gist() -> None:
    line = words(trust_line(scores("few", [0.5, 0.7, 1.0])))
    assert re.match(r"1 caution ?(· 1 note )?: Only 3 samples", line, re.I), line


def test_what_seeds_agree_on_stands_once(study: et.Study) -> None:
    assert "no_memory 1, 2, 3 review-023" in words(study.samples().html)


def test_changes_that_cancel_over_seeds_are_listed() -> None:
    rows = [
        {"id": str(i), "metric": "m", "value": float(condition * seed * (i == 0))}
        | {"condition": condition, "seed": seed}
        for condition in (0, 1)
        for seed in (-1, 1)
        for i in range(12)
    ]
    shown = et.study(rows, suite="table", resampling=FAST).samples()
    assert shown.frame["id"].tolist() == ["0"]


def test_a_suite_without_views_has_cards_with_texts() -> None:
    rows = [
        {"id": f"q{i}", "metric": "right", "value": i % 2, "text": f"Question {i}"}
        for i in range(12)
    ]
    html = et.evaluate("table", rows, resampling=FAST).samples().html
    assert html.count("<article") == 12 and "Question 3" in html
    assert html.index("Question 0") < html.index("Question 1"), "the lowest value first"
    clustered = [{**row, "cluster": f"c{i // 4}"} for i, row in enumerate(rows)]
    html = et.evaluate("table", clustered, resampling=FAST).samples().html
    assert html.count("<article") == 12 and words(html).count("c2") == 4, "each names its cluster"
    sides = {"a": clustered[1:], "b": clustered[:-1]}
    rows = [{**row, "condition": name} for name in sides for row in sides[name]]
    assert "n = 3 clusters of 12 samples" in et.study(rows, suite="table").paragraph()


def test_cards_and_counts_of_clusters_are_of_samples() -> None:
    sides = {"old": ([0.2, 0.5, 0.4], [0.4, 0.7, 0.4]), "new": ([0.9, 0.1, 0.4], [0.9, 0.1, 0.4])}
    rows = [
        {"id": f"q{i}", "cluster": f"c{i // 3}", "metric": "score", "value": values[i % 3]}
        | {"condition": condition, "seed": seed}
        for condition, of_seeds in sides.items()
        for seed, values in enumerate(of_seeds)
        for i in range(12)
    ]
    study = et.study(rows, suite="table", baseline="old", resampling=FAST)
    shown = study.samples()
    assert len(shown.frame) == 8
    said, first = words(shown.html), words(first_screen(study).html)
    assert said.count("old 0 q") == said.count("new 0, 1 q") == 8 and "old 0, 1" not in said
    for group in ("Higher under new", "Lower under new"):
        assert f"{group} 4" in said and f"4 {group}" in first


@pytest.mark.parametrize("values", [[0.5], [None, None], [1.0] * 12])
def test_one_unit_nothing_measured_and_no_interval_make_pages_without_a_hole(values: Any) -> None:
    run = scores("n" * 200 if len(values) == 1 else "run", values)
    for html in (first_screen(run).html, run.samples().html, run.table().html):
        assert "nan" not in words(html).lower().split() and "None" not in words(html)


def test_text_from_data_stays_text() -> None:
    rows = [{"id": HOSTILE, "metric": "score", "value": 1.0, "text": HOSTILE}]
    run = et.evaluate("table", rows, name="run", resampling=FAST)
    frame = pd.DataFrame({HOSTILE: [HOSTILE], "title": [HOSTILE]})
    for html in (run.samples().html, table(frame).html, frame_table(frame).html):
        assert "<script>alert" not in html and "\u202e" not in html
        assert "U+202E" in html


def test_frames_without_rows_say_that_there_is_nothing() -> None:
    assert words(table(pd.DataFrame(columns=["a"])).html) == "Table: none"
    assert words(frame_table(pd.DataFrame({"label": ["a", None]})).html) == "label a"
    ends = pd.DataFrame({"g": ["a", "a"], "v": [1, 2]}).groupby("g").agg(["min", "max"])
    assert words(frame_table(ends).html) == "g v min v max a 1 2"


def test_memfin_marks_the_words_that_made_a_turn_fail() -> None:
    run = et.evaluate("memfin", "example:memfin/plain_llm", resampling=FAST)
    assert (
        '<mark class="et-bad" title="forbidden 稳赚不赔">稳赚不赔</mark>' in run.samples("m4").html
    )


# ids, names of runs, terms of the field and of products, which stand as they are in every language
NAMES = re.compile(
    r"bundled example|step-down|max-T|Conflict|Review|MemFin|(ref|ote|attr)-?pol|[\w.-]*_[\w.-]*|sha256|un[\w]+-[\w]+"
    r"|dialog|memory|agent|plain|llm|with|proposed|seed\d?|text|term|polarity|implicit|explicit|ref"
)


@pytest.mark.parametrize(
    "lang, suite, runs",
    [
        ("ko", "cr", SEEDS),
        ("zh", "memfin", ["example:memfin/memory_agent", "example:memfin/plain_llm"]),
    ],
)
def test_a_page_mixes_no_languages(lang: str, suite: str, runs: list[str]) -> None:
    study = et.study(runs, suite=suite, resampling=FAST)
    with speaking(lang):
        pieces = [first_screen(study).html, first_screen(study.results[0]).html]
        pieces += [study.table("all").html, study.samples().html]
    for html in pieces:
        text = re.sub(
            r"<article.*?</article>|<code>.*?</code>|<script.*?</script>", "", html, flags=re.S
        )
        left = re.findall(r"[A-Za-z][a-z]{2,}", NAMES.sub("", words(text)))
        assert not set(left) - {"attribute", "span"}, sorted(set(left))
