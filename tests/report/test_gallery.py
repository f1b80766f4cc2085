"""What the gallery reads from an output folder, and the page as a file."""

from __future__ import annotations

import base64
import html
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from fontTools.ttLib import TTFont
from hypothesis import given, settings
from hypothesis import strategies as st

import evaltools
from evaltools.core.errors import UsageError
from evaltools.core.language import Message, speaking
from evaltools.core.resampling import Resampling
from evaltools.core.results import StoredMetric
from evaltools.report.gallery import Card, build, collect, render, sections, title_of
from evaltools.report.templates import environment

from .gallery_results import (
    CONSTANT,
    FEW,
    HOSTILE_NAMES,
    OUTSIDE,
    REVIEW,
    SUMMARY,
    conflict_review,
    copies,
    first_edition,
    hostile,
    report,
    result,
    rows,
    summary,
)

QUICK = Resampling(n_resamples=200)


def shown_rows(page: str) -> list[str]:
    """The names of the results whose rows stand in a page."""
    return [
        html.unescape(name)
        for name in re.findall(r'<tr class="g-row[^>]* data-name="([^"]*)"', page)
    ]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("gallery")
    conflict_review(out)
    summary(out)
    report(out, "with_memory__seed1_proposed")
    return out


@pytest.fixture
def out(results: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(results, tmp_path / "out"))


def card(out: Path, name: str) -> Card:
    return next(card for card in collect(out)[0] if card.name == name)


def numbers(estimate: StoredMetric) -> list[float | None]:
    return [estimate.value, estimate.ci_low, estimate.ci_high, estimate.n_units]


def test_an_empty_folder_makes_a_page(tmp_path: Path) -> None:
    page = build(tmp_path).read_text(encoding="utf-8")
    assert shown_rows(page) == [] and "There are no results yet." in page


def test_every_word_of_trust_is_drawn_with_the_embedded_font(out: Path) -> None:
    with speaking("ko"):
        page = render(*collect(out))
    font = base64.b64decode(re.search(r"font/woff;base64,([^)]*)\)", page)[1])
    drawn = set(TTFont(io.BytesIO(font)).getBestCmap())
    words = "".join(re.findall(r'<span class="et-(?:tag|chip)[^>]*>(.*?)</span>', page, re.DOTALL))
    assert {ord(c) for c in words if "가" <= c <= "힣"} <= drawn


def test_a_folder_that_is_not_there_is_refused_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none: no such folder"):
        build(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_a_run_stands_with_its_headline_as_metrics_json_has_it(out: Path) -> None:
    found = card(out, "with_memory__seed1_proposed")
    assert not found.is_aggregate
    assert (found.manifest.suite, found.seeds) == ("cr", ["1"])
    assert not found.manifest.incomplete
    path = out / "results" / found.name / "metrics.json"
    stored = json.loads(path.read_text(encoding="utf-8"))["metrics"]
    by_name = {metric["name"]: metric for metric in stored}
    titles = [(row.name, (title_of(row.name, row.title), row.better)) for row in found.estimates]
    assert titles == list(REVIEW.items())
    for row in found.estimates:
        expected = [by_name[row.name][key] for key in ("value", "ci_low", "ci_high", "n_units")]
        assert numbers(row) == expected


@pytest.mark.parametrize(
    ("severity", "code", "notes", "status"),
    [
        (None, "", [], "not checked"),
        (None, "", ["said"], "not checked"),
        ("warning", "bad-key", [], "1 caution"),
        ("warning", "unknown-gold", [], "incomplete"),
        ("error", "bad-json", ["said"], "incomplete"),
    ],
)
def test_a_result_says_whether_anything_is_missing(
    tmp_path: Path, severity: str | None, code: str, notes: list[str], status: str
) -> None:
    problems = [{"severity": severity, "code": code, "count": 1}] if severity else []
    result(
        tmp_path,
        "r",
        rows(SUMMARY, 0.9, 24),
        "case_id",
        24,
        suite="summary",
        problems=problems,
        notes=[Message(note) for note in notes],
    )
    assert str(card(tmp_path, "r").trust[0].words) == status


def test_only_the_headline_is_shown_in_its_order_and_null_stays_null(tmp_path: Path) -> None:
    found = rows(SUMMARY, 0.9, 24)
    found[0] |= {"value": None, "ci_low": None, "ci_high": None}
    lead = ["entity_recall", "no metric of it", "summary_accuracy"]
    result(tmp_path, "few", found, "case_id", 24, suite="summary", headline=lead)
    shown = card(tmp_path, "few").estimates
    assert [row.name for row in shown] == ["entity_recall", "summary_accuracy"]
    assert numbers(shown[1]) == [None, None, None, 24]


def test_links_name_only_files_that_are_there(out: Path) -> None:
    found = {card.name: dict(card.links) for card in collect(out)[0]}
    assert (
        found["with_memory__seed1_proposed"]["Report"]
        == "reports/with_memory__seed1_proposed/metric_report.html"
    )
    assert "Report" not in found["with_memory__seed2_proposed"]
    assert {"summary_scores.csv", "summary_scores.xlsx"} <= set(found["cases"])
    for links in found.values():
        assert all((out / unquote(href)).is_file() for href in links.values())


def test_an_aggregate_shows_means_seeds_and_what_the_comparison_said(out: Path) -> None:
    found = card(out, "with_memory_aggregated")
    assert (found.is_aggregate, len(found.runs), found.seeds) == (True, 3, ["1", "2", "3"])
    first = found.estimates[0]
    assert title_of(first.name, first.title) == REVIEW["tuple_f1_s1_refpol"][0]
    assert numbers(first) == pytest.approx([0.81, 0.71, 0.8812345, 40], rel=1e-5)
    assert found.manifest.incomplete
    verdicts = ["better", "not shown to differ", "worse", "not measured"] * 2
    expected = {
        name: (verdict, "no_memory") for name, verdict in zip(REVIEW, verdicts, strict=True)
    }
    assert found.verdicts == expected
    assert card(out, "no_memory_aggregated").verdicts == {}


def test_results_of_the_first_edition_are_listed_without_a_headline(out: Path) -> None:
    result(out, "old", rows(REVIEW, 0.9, 24), "case_id", 24, suite="cr")
    for name in ("old", "no_memory_aggregated"):
        first_edition(out, name)
    assert card(out, "old").estimates == []
    why = "no metrics.json: the run is being written, or was stopped"
    assert collect(out)[1] == [("no_memory_aggregated", why)]
    assert "no headline metrics" in build(out).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "spoil, reason",
    [
        (lambda f: (f / "manifest.json").unlink(), "no manifest.json"),
        (
            lambda f: (f / "manifest.json").write_text('{"suite": "cr"'),
            "manifest.json is not as expected",
        ),
        (lambda f: (f / "manifest.json").write_text("[]"), "manifest.json is not as expected"),
        (
            lambda f: edit(f / "manifest.json", "kind", "poem"),
            "manifest.json is not as expected: kind",
        ),
        (lambda f: (f / "metrics.json").unlink(), "no metrics.json"),
        (
            lambda f: (f / "metrics.json").write_bytes(b"\xff\x00"),
            "metrics.json is not as expected",
        ),
        (
            lambda f: (f / "metrics.json").write_text(
                '{"metrics": [{"name": "x", "value": "high"}]}'
            ),
            "metrics.0",
        ),
        (
            lambda f: swap(f / "metrics.json", '"better": "higher"', '"better": "constructor"'),
            "metrics.0.better",
        ),
        (lambda f: swap(f / "metrics.json", '"value": 0.9', '"value": 1e999'), "metrics.0.value"),
    ],
)
def test_a_spoilt_folder_is_listed_with_the_reason(out: Path, spoil: Any, reason: str) -> None:
    spoil(out / "results" / "cases")
    found = collect(out)
    assert [name for name, _ in found[1]] == ["cases"]
    assert reason in found[1][0][1]
    assert len(found[0]) == 8
    build(out)


def swap(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def edit(path: Path, key: str, value: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, key: value}), encoding="utf-8")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda v: (
        st.lists(v, max_size=2)
        | st.dictionaries(st.sampled_from(["unit", "suite", "code"]), v, max_size=2)
    ),
    max_leaves=3,
)
KEYS = [
    "suite",
    "suite_title",
    "kind",
    "headline",
    "problems",
    "notes",
    "runs",
    "report",
    "condition",
    "started",
]


@settings(max_examples=30)
@given(
    st.sampled_from(["cases", "with_memory_aggregated", "with_memory__seed1_proposed"]),
    st.sampled_from(KEYS),
    VALUES,
)
def test_whatever_stands_in_a_manifest_the_others_are_shown(
    results: Path, name: str, key: str, value: Any
) -> None:
    manifest = results / "results" / name / "manifest.json"
    before = manifest.read_bytes()
    try:
        edit(manifest, key, value)
        found = collect(results)
        render(*found)
    finally:
        manifest.write_bytes(before)
    assert len(found[0]) + len(found[1]) == 9
    assert len(found[0]) >= 8


@pytest.mark.parametrize("content", [b"metric,mean\nx,high", b"\xff\xfe,\x00", b""])
def test_an_aggregate_with_a_spoilt_comparison_is_listed_with_the_reason(
    out: Path, content: bytes
) -> None:
    (out / "results" / "with_memory_aggregated" / "comparison.csv").write_bytes(content)
    [(name, reason)] = collect(out)[1]
    assert name == "with_memory_aggregated" and "comparison.csv is not as expected" in reason


def test_what_is_being_written_aside_is_passed_over(out: Path) -> None:
    before = collect(out)
    for hidden in (".run.x1.part", ".run.x1.old", ".ipynb_checkpoints"):
        shutil.copytree(out / "results" / "cases", out / "results" / hidden)
        (out / "reports" / hidden).mkdir()
    (out / "results" / ".run.lock").touch()
    assert collect(out) == before


def test_a_stray_file_or_a_report_outside_its_folder_is_no_matter(out: Path) -> None:
    (out / "results" / "notes.txt").write_text("mine", encoding="utf-8")
    for name in ("metric_report.html", "reports/metric_report.html"):
        (out / name).write_text("", encoding="utf-8")
    for away in ("..", ".", "../study", "with_memory__seed1_proposed/../..", ""):
        edit(out / "results" / "with_memory_aggregated" / "manifest.json", "report", away)
        assert "Report" not in dict(card(out, "with_memory_aggregated").links)


def test_the_same_files_give_the_same_bytes(out: Path, tmp_path: Path) -> None:
    first = build(out).read_bytes()
    assert build(out).read_bytes() == first
    other = Path(shutil.copytree(out, tmp_path / "elsewhere"))
    assert build(other).read_bytes() == first
    assert not list(out.glob(".index*"))


def test_hostile_names_are_links_that_lead_to_their_files(out: Path) -> None:
    copies(out, "with_memory__seed1_proposed", HOSTILE_NAMES)
    found = collect(out)
    assert len(found[0]) == 9 + len(HOSTILE_NAMES)
    ids = [card.id for card in found[0]]
    assert len(set(ids)) == len(ids)
    for each in found[0]:
        assert "\u202e" not in each.name
        for _, href in each.links:
            assert re.fullmatch(r"[\w.~/%-]+", href) and (out / unquote(href)).is_file()


def test_hostile_texts_are_rows(tmp_path: Path) -> None:
    hostile(tmp_path)
    page = build(tmp_path).read_text(encoding="utf-8")
    assert "g-incomplete" not in page.split("<body")[1]
    assert not set("\u202e\x1b") & set(page)


def test_long_texts_are_clipped(tmp_path: Path) -> None:
    long = "가" * 5000
    problem = {"severity": "warning", "code": long, "count": 1}
    result(
        tmp_path, "long", rows({long: (long, "none")}, 0.5, 9), long, 9, suite=long, suite_title=long,
        condition=long, started=long, notes=[Message(long)] * 30, problems=[problem],
    )  # fmt: skip
    page = build(tmp_path).read_text(encoding="utf-8")
    assert shown_rows(page) == ["long"]
    assert len(max(re.findall("가+", page), key=len)) <= 500
    assert page.count("가" * 500) == 20 + page.count("g-hidden")


@given(
    st.recursive(
        st.none() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v), max_leaves=5
    )
)
def test_the_json_of_a_page_reads_back_as_it_was(value: Any) -> None:
    text = environment().from_string("{{ value | tojson }}").render(value=value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


def test_weight_with_a_hundred_runs(out: Path) -> None:
    copies(
        out,
        "with_memory__seed2_proposed",
        [f"big_model_{i % 7}__seed{i}_proposed" for i in range(70)],
    )
    copies(out, "cases", [f"summary_{i}" for i in range(30)])
    assert build(out).stat().st_size < 1_000_000


def test_what_evaluate_and_a_study_write_has_cards_with_titles_and_intervals(
    tmp_path: Path,
) -> None:
    evaltools.evaluate("summary", "example:summary/cases.jsonl", out=tmp_path, resampling=QUICK)
    systems = [f"example:memfin/{name}" for name in NAMES]
    evaltools.study(systems, baseline="plain_llm", out=tmp_path, resampling=QUICK)
    found = collect(tmp_path)
    assert found[1] == []
    runs = [each for each in found[0] if not each.is_aggregate]
    assert [each.name for each in runs] == ["cases", *NAMES]
    for each in found[0]:
        assert each.manifest.suite_title and each.manifest.bootstrap.n_units > 0
        assert any(row.ci_low is not None for row in each.estimates)
        assert "few-units" in {check.code for check in each.checks}
        assert all(row.name != title_of(row.name, row.title) for row in each.estimates)
    agent, plain = (card(tmp_path, f"{name}_aggregated") for name in NAMES)
    assert agent.leading and agent.leading.name == "m2_profile_score"
    assert set(agent.verdicts) == {row.name for row in agent.estimates}
    assert {baseline for _, baseline in agent.verdicts.values()} == {"plain_llm"}
    assert plain.verdicts == {} and (agent.title, plain.title) == NAMES
    [(first, below), _] = sections([agent, plain, *runs])[-1].lines
    assert (first, [run.name for run in below]) == (agent, ["memory_agent"])


NAMES = ("memory_agent", "plain_llm")


def test_checks_stand_with_the_worst_first_and_are_null_where_nobody_looked(tmp_path: Path) -> None:
    for name, found in {"three": [CONSTANT, FEW, OUTSIDE], "none": [], "old": None}.items():
        result(tmp_path, name, rows(REVIEW, 0.8, 40), "text_id", 40, found, suite="cr")
    assert [(check.level, check.code) for check in card(tmp_path, "three").checks] == [
        ("blocking", "ref-outside-gold"),
        ("warning", "few-units"),
        ("info", "constant-metric"),
    ]
    assert (card(tmp_path, "none").metrics.checks, card(tmp_path, "old").metrics.checks) == (
        [],
        None,
    )


def test_a_blocked_metric_never_leads(tmp_path: Path) -> None:
    blocked = set(OUTSIDE["blocks"])
    for name, headline in {"kept": list(REVIEW), "moved": ["fix_rate_refpol"]}.items():
        result(
            tmp_path,
            name,
            rows(REVIEW, 0.8, 40),
            "text_id",
            40,
            [OUTSIDE],
            suite="cr",
            headline=headline,
        )
        found = card(tmp_path, name)
        usable = [metric for metric in headline if metric not in blocked]
        struck = [metric for metric in headline if metric in blocked]
        assert [row.name for row in found.estimates] == usable + struck
        assert found.metrics.blocked == blocked
        assert found.leading and found.leading.name == usable[0]


def test_verdicts_of_blocked_metrics_stand_nowhere(out: Path) -> None:
    metrics = out / "results" / "with_memory_aggregated" / "metrics.json"
    edit(metrics, "checks", [{**OUTSIDE, "blocks": ["tuple_f1_s1_refpol", "no_headline_metric"]}])
    assert "tuple_f1_s1_refpol" not in card(out, "with_memory_aggregated").verdicts


@pytest.mark.parametrize("other", [{}, {"runs": ["a__seed1_x", "gone"]}, {"runs": []}])
def test_an_aggregate_stands_above_its_runs_that_are_there(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    given = {"kind": "aggregate", "condition": "a", "runs": ["a__seed1_x"], "suite": "cr"}
    result(tmp_path, "a__seed1_x", rows(REVIEW, 0.8, 40), "text_id", 40, [FEW], suite="cr")
    result(tmp_path, "a_aggregated", rows(REVIEW, 0.8, 40), "text_id", 40, [FEW], **given | other)
    cards = collect(tmp_path)[0]
    [section] = sections(cards)
    below = {card.name: [run.name for run in runs] for card, runs in section.lines}
    is_above = "a__seed1_x" in (given | other)["runs"]
    assert below["a_aggregated"] == (["a__seed1_x"] if is_above else [])
    assert ("a__seed1_x" in below) != is_above


@pytest.mark.parametrize(
    "content", ["", "<html><title>Results</title>my own page", "evaltools gallery"]
)
def test_somebody_elses_page_is_left_as_it_is(out: Path, content: str) -> None:
    (out / "index.html").write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=r"index\.html was not made by evaltools"):
        build(out)
    assert (out / "index.html").read_text(encoding="utf-8") == content


def test_our_own_page_is_replaced(out: Path) -> None:
    build(out)
    assert shown_rows(build(out).read_text(encoding="utf-8"))


# --- verdicts of suites, digits


def test_verdicts_of_single_metrics_stand_on_the_card(tmp_path: Path) -> None:
    evaltools.evaluate("summary", "example:summary/cases.jsonl", out=tmp_path, resampling=QUICK)
    found = card(tmp_path, "cases")
    first, *_, last = found.metrics.verdicts
    assert (first.title, first.verdict) == ("Summaries", "fail")
    assert (last.title, last.verdict) == ("Entity recall", "no threshold")
    assert found.verdicts == {}
    page = build(tmp_path).read_text(encoding="utf-8")
    assert 'et-error" title="11 of 24 must not ship, 3 to look at"><bdi>fail</bdi>' in page


def test_intervals_have_the_digits_of_the_report(tmp_path: Path) -> None:
    run = evaltools.evaluate(
        "cr", "example:cr/with_memory__seed1_proposed", out=tmp_path, resampling=QUICK
    )
    page = build(tmp_path).read_text(encoding="utf-8")
    report = run._repr_html_()
    found = card(tmp_path, run.name)
    for estimate in found.estimates:
        row = found.texts(estimate)
        assert row["interval"] in report and row["value"] in report
        assert f"<b>{row['value']}</b>" in page and row["interval"] in page


def test_a_result_that_was_edited_is_marked_with_its_files(tmp_path: Path) -> None:
    run = evaltools.evaluate(
        "cr", "example:cr/with_memory__seed1_proposed", out=tmp_path, resampling=QUICK
    )
    assert card(tmp_path, run.name).spoilt == []
    swap(tmp_path / "results" / run.name / "metrics.json", '"value": 0.8', '"value": 0.9')
    state, reason = card(tmp_path, run.name).trust
    assert (str(state.words), state.kind, reason) == (
        "not as it was written",
        "error",
        "metrics.json",
    )
