"""What the gallery reads from an output folder, and the page as a file."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evaltools
from evaltools.cr.metrics import SUITE as CR
from evaltools.report import cases
from evaltools.report.gallery import build, collect, render, script_json

from .gallery_results import (
    FALSE,
    GOOD,
    HOSTILE_CASES,
    HOSTILE_NAMES,
    PROMISE,
    QUICK,
    conflict_review,
    copies,
    report,
    summaries,
)
from .gallery_results import case as case_of


def embedded(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("gallery")
    conflict_review(out)
    summaries(out, [GOOD, FALSE, PROMISE])
    report(out, "with_memory__seed1_proposed")
    return out


@pytest.fixture
def out(results: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(results, tmp_path / "out"))


def card(out: Path, name: str) -> dict[str, Any]:
    return next(c for c in collect(out)["cards"] if c["name"] == name)


def test_an_empty_folder_makes_a_page(tmp_path: Path) -> None:
    page = build(tmp_path / "none").read_text(encoding="utf-8")
    assert embedded(page)["cards"] == []


def test_a_run_stands_with_its_headline_as_metrics_json_has_it(out: Path) -> None:
    found = card(out, "with_memory__seed1_proposed")
    assert (found["kind"], found["suite"], found["condition"], found["seeds"]) == ("run", "cr", "with_memory", ["1"])
    assert (found["n"], found["unit"], found["status"]) == (40, "text_id", "complete")
    stored = json.loads((out / "results" / found["name"] / "metrics.json").read_text(encoding="utf-8"))["metrics"]
    by_name = {m["name"]: m for m in stored}
    names = [row[0] for row in found["rows"]]
    assert names == list(CR.headline(CR.options()))
    for name, *numbers in found["rows"]:
        assert numbers == pytest.approx(
            [by_name[name][k] for k in ("value", "ci_low", "ci_high", "n_units")], rel=1e-5
        )


def test_links_name_only_files_that_are_there(out: Path) -> None:
    found = {c["name"]: dict(c["links"]) for c in collect(out)["cards"]}
    assert found["with_memory__seed1_proposed"]["Report"] == "reports/with_memory__seed1_proposed/metric_report.html"
    assert "Report" not in found["with_memory__seed2_proposed"]
    assert {"CSV", "XLSX"} <= set(found["cases"])
    for links in found.values():
        assert all((out / unquote(href)).is_file() for href in links.values())


def test_an_aggregate_shows_means_seeds_and_what_the_comparison_said(out: Path) -> None:
    found = card(out, "with_memory_aggregated")
    assert (found["kind"], found["n"], found["seeds"]) == ("aggregate", 3, ["1", "2", "3"])
    # seed 3 holds 34 of 40 samples
    assert found["status"] == "incomplete"
    verdicts = {v for _, v, _ in found["verdicts"]}
    assert verdicts and verdicts <= {"better", "worse", "tied", "not measured"}
    assert {b for *_, b in found["verdicts"]} == {"no_memory"}
    assert card(out, "no_memory_aggregated")["verdicts"] == []


def test_thresholds_and_cases_of_a_summary_run(out: Path) -> None:
    rows = {m: rest for m, *rest in card(out, "cases")["thresholds"]}
    threshold, value, _, _, verdict, passed, failed, unmeasured, total = rows["summary_accuracy"]
    # good 3/3 (100만원, 면책, 90일), false-figure 2/3 (not 300만원), promise 3/3: mean 8/9 < 0.9
    assert (threshold, value, verdict) == (0.9, pytest.approx(8 / 9, rel=1e-5), "missed")
    assert (passed, failed, unmeasured, total) == (2, 1, 0, 3)
    # promise: 무조건; 2 of 3 are free of promises, 0.667 < 0.8
    assert rows["summary_non_definitive"][4:] == ["missed", 2, 1, 0, 3]
    assert rows["entity_recall"][0] is None and rows["entity_recall"][4] == ""
    run = collect(out)["cases"][0]
    assert (run["total"], run["failing"]) == (3, 2)
    # promise fails in two metrics, false-figure in one, good in none
    assert [r["case"] for r in run["rows"]] == ["promise", "false-figure", "good"]
    assert run["rows"][1]["answer"] == FALSE["answer"]
    accuracy = run["rows"][1]["scores"][run["metrics"].index("summary_accuracy")]
    assert ["unsupported", "300만원"] in accuracy[5]


@pytest.mark.parametrize(
    "spoil, reason",
    [
        (lambda f: (f / "manifest.json").unlink(), "no manifest.json"),
        (lambda f: (f / "manifest.json").write_text('{"suite": "cr"'), "manifest.json is not as expected"),
        (lambda f: (f / "manifest.json").write_text("[]"), "manifest.json is not as expected"),
        (lambda f: (f / "metrics.json").unlink(), "no metrics.json"),
        (lambda f: (f / "metrics.json").write_bytes(b"\xff\x00"), "metrics.json is not as expected"),
        (lambda f: (f / "metrics.json").write_text('{"metrics": [{"name": "x", "value": "high"}]}'), "metrics.0"),
        (lambda f: swap(f / "manifest.json", '"suite": "summary"', '"suite": "poetry"'), "no suite 'poetry'"),
        (
            lambda f: edit(f / "manifest.json", "options", {"judge": "always"}),
            "its options are none of this version's",
        ),
        (lambda f: edit(f / "manifest.json", "options", {"rules": "/gone/rules.json"}), "rules.json"),
        (lambda f: (f / "summary_scores.csv").write_text("case_id,metric\n1"), "summary_scores.csv"),
        (lambda f: (f / "summary_scores.csv").write_bytes(b"\xff\xfe,\x00"), "summary_scores.csv"),
        (lambda f: (f / "summary_scores.csv").write_text(""), "summary_scores.csv"),
    ],
)
def test_a_spoilt_folder_is_listed_with_the_reason(out: Path, spoil: Any, reason: str) -> None:
    spoil(out / "results" / "cases")
    found = collect(out)
    assert [name for name, _ in found["incomplete"]] == ["cases"]
    assert reason in found["incomplete"][0][1]
    assert len(found["cards"]) == 8
    build(out)


def swap(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda v: st.lists(v, max_size=2) | st.dictionaries(st.sampled_from(["unit", "suite", "code"]), v, max_size=2),
    max_leaves=3,
)


@settings(max_examples=60)
@given(
    st.sampled_from(["cases", "with_memory_aggregated", "with_memory__seed1_proposed"]),
    st.sampled_from(["suite", "kind", "options", "problems", "notes", "runs", "report", "condition", "started"]),
    VALUES,
)
def test_whatever_stands_in_a_manifest_the_others_are_shown(results: Path, name: str, key: str, value: Any) -> None:
    manifest = results / "results" / name / "manifest.json"
    before = manifest.read_bytes()
    try:
        edit(manifest, key, value)
        found = collect(results)
        render(found)
    finally:
        manifest.write_bytes(before)
    assert len(found["cards"]) + found["incompleteTotal"] == 9
    assert len(found["cards"]) >= 8


def edit(path: Path, key: str, value: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, key: value}), encoding="utf-8")


def test_a_run_whose_rules_have_changed_since_keeps_its_numbers_under_bare_names(out: Path) -> None:
    before = card(out, "cases")
    options = {"rules": "ko-insurance", "rules_identity": "ko-insurance@0123456789ab"}
    edit(out / "results" / "cases" / "manifest.json", "options", options)
    found = collect(out)
    after = next(c for c in found["cards"] if c["name"] == "cases")
    assert (after["rows"], after["thresholds"]) == (before["rows"], before["thresholds"])
    assert found["suites"]["summary"]["titles"]["summary_accuracy"] == "summary_accuracy"


@pytest.mark.parametrize("name", ["aggregated_mean_std.csv", "comparison.csv"])
def test_a_spoilt_aggregate_is_listed_with_the_reason(out: Path, name: str) -> None:
    (out / "results" / "with_memory_aggregated" / name).write_text("metric,mean\nx,high", encoding="utf-8")
    assert [n for n, _ in collect(out)["incomplete"]] == ["with_memory_aggregated"]


def test_cases_without_their_texts_or_scores_are_still_shown(out: Path) -> None:
    folder = out / "results" / "cases"
    (folder / "units.parquet").write_bytes(b"PAR1 cut off")
    run = collect(out)["cases"][0]
    assert len(run["rows"]) == 3 and "answer" not in run["rows"][0]
    swap(folder / "summary_scores.csv", "evidence", "no_evidence")
    run = collect(out)["cases"][0]
    assert run["rows"] == [] and "evidence" in run["problem"]


def test_the_list_of_what_is_not_complete_is_bounded_and_counted(tmp_path: Path) -> None:
    for i in range(130):
        (tmp_path / "results" / f"run{i}").mkdir(parents=True)
    found = collect(tmp_path)
    assert (len(found["incomplete"]), found["incompleteTotal"]) == (100, 130)


def test_a_stray_file_or_a_report_outside_its_folder_is_no_matter(out: Path) -> None:
    (out / "results" / "notes.txt").write_text("mine", encoding="utf-8")
    swap(out / "results" / "with_memory_aggregated" / "manifest.json", '"report": "', '"report": "../')
    (out / "metric_report.html").write_text("", encoding="utf-8")
    assert "Report" not in dict(card(out, "with_memory_aggregated")["links"])


def test_the_same_files_give_the_same_bytes(out: Path, tmp_path: Path) -> None:
    first = build(out).read_bytes()
    assert build(out).read_bytes() == first
    other = Path(shutil.copytree(out, tmp_path / "elsewhere"))
    assert build(other).read_bytes() == first
    assert not list(out.glob(".index*"))


def test_hostile_names_are_links_that_lead_to_their_files(out: Path) -> None:
    copies(out, "with_memory__seed1_proposed", HOSTILE_NAMES)
    found = collect(out)
    assert len(found["cards"]) == 9 + len(HOSTILE_NAMES)
    ids = [c["id"] for c in found["cards"]]
    assert len(set(ids)) == len(ids)
    for c in found["cards"]:
        assert "\u202e" not in c["name"]
        for _, href in c["links"]:
            assert re.fullmatch(r"[\w.~/%-]+", href) and (out / unquote(href)).is_file()


def test_hostile_texts_cannot_leave_their_script_element(out: Path) -> None:
    summaries(out, HOSTILE_CASES, "hostile")
    page = build(out).read_text(encoding="utf-8")
    run = next(r for r in embedded(page)["cases"] if r["card"] == "run-hostile")
    assert run["total"] == len(HOSTILE_CASES)
    assert len(page) < 1_500_000
    between = page.split('id="data">')[1].split("</script>")[0]
    assert not set("<>&\u2028\u2029\u202e") & set(between)


@given(st.recursive(st.none() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v), max_leaves=5))
def test_script_json_reads_back_as_it_was(value: Any) -> None:
    text = script_json(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


def test_long_runs_and_many_runs_of_cases_stay_within_their_size(tmp_path: Path) -> None:
    text = "보험금은 100만원입니다. " * 40
    summaries(tmp_path, [case_of(f"c{i}", text, ["exclusion"], text) for i in range(400)], "long")
    found = collect(tmp_path)["cases"][0]
    assert found["total"] == 400 and 0 < len(found["rows"]) < 400
    assert len(json.dumps(found["rows"], ensure_ascii=False).encode()) <= cases.SIZE * 1.01
    copies(tmp_path, "long", [f"copy{i}" for i in range(cases.RUNS + 5)])
    found = collect(tmp_path)
    assert (len(found["cases"]), found["caseRuns"]) == (cases.RUNS, cases.RUNS + 6)
    assert all(run["rows"] for run in found["cases"])
    assert len(json.dumps(found["cases"], ensure_ascii=False).encode()) <= cases.SIZE * 1.1


def test_weight_with_a_hundred_runs(out: Path) -> None:
    copies(out, "with_memory__seed2_proposed", [f"big_model_{i % 7}__seed{i}_proposed" for i in range(70)])
    copies(out, "cases", [f"summary_{i}" for i in range(30)])
    assert build(out).stat().st_size < 1_500_000


def test_evidence_becomes_lines_and_what_is_no_json_stays_text() -> None:
    lines = cases.evidence_lines(
        '{"covered": {"limit": [{"text": "한도", "at": [1, 3]}]}, "missing": {}, "expected": true}'
    )
    assert lines == [("covered", "limit (한도)"), ("expected", "yes")]
    assert cases.evidence_lines("plain") == [("", "plain")]
    assert cases.evidence_lines("") == []


def test_evaluate_then_build(tmp_path: Path) -> None:
    for run in ("memory_agent", "plain_llm"):
        evaltools.evaluate("memfin", f"example:memfin/{run}", out=tmp_path, resampling=QUICK)
    assert [c["suite"] for c in collect(tmp_path)["cards"]] == ["memfin", "memfin"]
