"""The gallery: which results are listed with what, and what no folder can do to the page."""

import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import evaltools as et
from evaltools.core.files import Fields
from evaltools.core.messages import UsageError
from evaltools.report.notebook import build, collect
from tests.files import read_json

from .gallery_results import (
    FEW,
    HOSTILE,
    HOSTILE_NAMES,
    OUTSIDE,
    REVIEW,
    SUMMARY,
    check,
    conflict_review,
    copies,
    hostile,
    problem,
    report,
    result,
    rows,
    summary,
    vouch,
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("results")
    conflict_review(out)
    summary(out)
    report(out, "with_memory__seed1_proposed")
    return out


@pytest.fixture
def out(results: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(results, tmp_path / "out"))


def card(out: Path, name: str) -> Fields:
    return next(card for card in collect(out)[0] if card["name"] == name)


def test_what_is_no_gallery_is_left_as_it_is(tmp_path: Path) -> None:
    page = build(tmp_path)
    assert "There are no results yet." in page.read_text(encoding="utf-8")
    page.write_text(page.read_text().replace("results", "words"))
    build(build(tmp_path).parent)
    assert [path.name for path in tmp_path.glob("*.yours*")] == ["index.html.yours"]
    page.write_text("mine")
    with pytest.raises(UsageError, match="was not made by evaltools and is left as it is"):
        build(tmp_path)
    assert page.read_text() == "mine"


def test_a_run_leads_with_a_metric_as_metrics_json_has_it(out: Path) -> None:
    found = card(out, "with_memory__seed1_proposed")
    assert found["report"] == "reports/with_memory__seed1_proposed/metric_report.html"
    assert card(out, "with_memory__seed2_proposed")["report"] == ""
    stored = read_json(out / "results" / found["name"] / "metrics.json")["metrics"]
    lead = found["lead"]
    assert lead["metric"] == stored[0]["name"] == "tuple_f1_s1_refpol"
    assert lead["value"] == f"{stored[0]['value']:.3f}"
    assert lead["title"] == "Tuple F1 before review (ref-pol)\u00a0↑"
    assert found["trust"] == ("no caution", "good")
    assert found["files"] == f"results/{found['name']}/"


def test_an_aggregate_has_the_verdict_of_its_comparison_and_stands_for_its_runs(out: Path) -> None:
    found = card(out, "with_memory_aggregated")
    assert found["title"] == "with_memory" and found["verdict"] == ("better", "better")
    assert found["trust"] == ("incomplete", "error")
    assert card(out, "no_memory_aggregated")["verdict"] == ("baseline", "baseline")
    page = build(out).read_text(encoding="utf-8")
    assert page.index(">Conflict Review<") < page.index(">Summaries<")
    assert set(re.findall('data-name="([^"]*)"', page)) == {
        "no_memory_aggregated",
        "with_memory_aggregated",
        "with_memory__seed1_proposed",
        "cases",
    }


def test_a_study_of_names_that_begin_as_formulas_has_its_verdicts(tmp_path: Path) -> None:
    rows = [
        {"id": i, "condition": name, "metric": "=m", "value": (i % 7 + better) / 8}
        for better, name in enumerate(("=a", "'+b"))
        for i in range(40)
    ]
    et.study([rows], suite="table", n_resamples=100, out=tmp_path)
    aggregates = [card for card in collect(tmp_path)[0] if card["manifest"].kind == "aggregate"]
    assert [card["verdict"][0] for card in aggregates] == ["better", "baseline"]


@pytest.mark.parametrize(
    ("checks", "problems", "trust"),
    [
        ([check("x", "info", "note")], [], ("no caution", "good")),
        ([FEW], [], ("cautions: 1", "warning")),
        ([check("missing-not-random", "blocking", "lacks")], [], ("cautions: 1", "warning")),
        ([FEW, OUTSIDE], [], ("cannot be measured", "error")),
        ([], [problem("error", "bad-json")], ("incomplete", "error")),
    ],
)
def test_trust_is_the_worst_that_was_found(
    tmp_path: Path, checks: list[Any], problems: list[Any], trust: tuple[str, str]
) -> None:
    result(tmp_path, "r", rows(REVIEW, 0.9, 24), "id", 24, checks, suite="cr", problems=problems)
    assert card(tmp_path, "r")["trust"] == trust


def test_blocked_metrics_do_not_lead(tmp_path: Path) -> None:
    blocking = check("x", "blocking", "no", "entity_recall")
    lead = ["entity_recall", "no metric of it", "summary_accuracy"]
    found = rows(SUMMARY, 0.9, 24)
    result(tmp_path, "few", found, "id", 24, [blocking], suite="summary", headline=lead)
    assert card(tmp_path, "few")["lead"]["metric"] == "summary_accuracy"


# --- folders that are not as they should be


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("manifest.json", None, "no such file"),
        ("manifest.json", b'{"suite": "cr"', "not JSON"),
        ("manifest.json", b"[" * 20_000, ""),
        ("manifest.json", b'{"suite": 3, "headline": {"code": []}, "runs": "x"}', ""),
        ("metrics.json", None, "no such file"),
        ("metrics.json", b"\xff\x00", ""),
        ("metrics.json", b'{"metrics": [{"name": "a", "better": "constructor"}]}', "metrics.0."),
    ],
)
def test_a_spoilt_folder_is_incomplete_with_the_reason_and_alone(
    out: Path, file: str, content: bytes | None, reason: str
) -> None:
    path = out / "results" / "cases" / file
    path.unlink() if content is None else path.write_bytes(content)
    cards, incomplete = collect(out)
    assert [name for name, _ in incomplete] == ["cases"] and len(cards) == 8
    why = incomplete[0][1]
    assert file in why and reason in why and str(out) not in why
    assert "Not complete, and without a row above: 1" in build(out).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["metrics.json", "gone.csv", "x" * 300, "../../secret", ""])
def test_a_result_that_nothing_vouches_for_is_marked(out: Path, name: str) -> None:
    for run in ("cases", "no_memory__seed2_proposed"):
        vouch(out / "results" / run, files={name: "0" * 64} if name else {})
        assert card(out, run)["trust"] == ("not as it was written", "error")
    assert "no_memory__seed2_proposed" in build(out).read_text(encoding="utf-8")


def test_what_is_no_result_is_passed_over_and_links_stay_inside(out: Path) -> None:
    shutil.copytree(out / "results" / "cases", out / "results" / ".run.x1.part")
    (out / "results" / "notes.txt").write_text("mine", encoding="utf-8")
    assert len(collect(out)[0]) == 9
    for name in ("metric_report.html", "reports/metric_report.html"):
        (out / name).write_text("", encoding="utf-8")
    for away in ("..", ".", "../study", "with_memory__seed1_proposed/../.."):
        vouch(out / "results" / "with_memory_aggregated", report=away)
        assert card(out, "with_memory_aggregated")["report"] == ""


def test_hostile_names_are_links_that_lead_to_their_files(out: Path, tmp_path: Path) -> None:
    copies(out, "with_memory__seed1_proposed", HOSTILE_NAMES)
    hostile(out)
    cards, _ = collect(out)
    assert len(cards) == 9 + 2 * len(HOSTILE_NAMES) + len(HOSTILE)
    for href in [each["files"] for each in cards]:
        assert re.fullmatch(r"[\w.~/%-]+", href) and (out / unquote(href)).is_dir()
    first = build(out).read_bytes()
    assert "\u202e".encode() not in first
    assert not re.search(rb'<script>window|<img src=x|<svg onload|" onmouseover="', first)
    assert build(Path(shutil.copytree(out, tmp_path / "elsewhere"))).read_bytes() == first
