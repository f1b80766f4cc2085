"""What the gallery reads from an output folder, and the page as a file."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evaltools
from evaltools.core.errors import UsageError
from evaltools.core.language import Message
from evaltools.core.resampling import Resampling
from evaltools.report.gallery import build, collect, render
from evaltools.report.text import script_json

from .gallery_results import (
    CONSTANT,
    FEW,
    HOSTILE_NAMES,
    OUTSIDE,
    REVIEW,
    SUMMARY,
    conflict_review,
    copies,
    data,
    first_edition,
    hostile,
    ranked,
    report,
    result,
    rows,
    summary,
)

QUICK = Resampling(n_resamples=200)


def embedded(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


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


def card(out: Path, name: str) -> dict[str, Any]:
    """A card with the metrics of its rows in their place."""
    data = collect(out)
    found = next(c for c in data["cards"] if c["name"] == name)
    return {**found, "rows": [[*data["metrics"][i], *numbers] for i, *numbers in found["rows"]]}


def test_an_empty_folder_makes_a_page(tmp_path: Path) -> None:
    page = build(tmp_path).read_text(encoding="utf-8")
    assert embedded(page)["cards"] == []


def test_a_folder_that_is_not_there_is_refused_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none: no such folder"):
        build(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_a_run_stands_with_its_headline_as_metrics_json_has_it(out: Path) -> None:
    found = card(out, "with_memory__seed1_proposed")
    assert (found["kind"], found["suite"], found["condition"], found["seeds"]) == (
        "run",
        "cr",
        "with_memory",
        ["1"],
    )
    assert (found["suiteTitle"], found["n"], found["unit"]) == ("Conflict Review", 40, "text_id")
    assert found["status"] == "complete"
    stored = json.loads(
        (out / "results" / found["name"] / "metrics.json").read_text(encoding="utf-8")
    )["metrics"]
    by_name = {m["name"]: m for m in stored}
    assert [row[:3] for row in found["rows"]] == [[name, *rest] for name, rest in REVIEW.items()]
    for name, _, _, *numbers in found["rows"]:
        assert numbers == pytest.approx(
            [by_name[name][k] for k in ("value", "ci_low", "ci_high", "n_units")], rel=1e-5
        )


@pytest.mark.parametrize(
    ("severity", "code", "notes", "status"),
    [
        (None, "", [], "complete"),
        (None, "", ["said"], "with warnings"),
        ("warning", "bad-key", [], "with warnings"),
        ("warning", "unknown-gold", [], "incomplete"),
        ("error", "bad-json", ["said"], "incomplete"),
    ],
)
def test_a_card_says_whether_anything_is_missing(
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
    assert card(tmp_path, "r")["status"] == status


def test_a_rank_is_that_of_the_same_study(out: Path) -> None:
    names = ("with_memory_aggregated", "no_memory_aggregated", "with_memory__seed1_proposed")
    ranked(out)
    assert [card(out, name)["rank"] for name in names] == [
        {"rank": "1", "group": "a"},
        {"rank": "1–2", "group": "ab"},
        None,
    ]
    member = {"suite": "cr", "run": "with_memory__seed1_proposed", "inputs": [], "options": {}}
    edit(out / "results" / "no_memory_aggregated" / "manifest.json", "members", [member])
    assert card(out, "with_memory_aggregated")["rank"] is None


def test_only_the_headline_is_shown_in_its_order_and_null_stays_null(tmp_path: Path) -> None:
    found = rows(SUMMARY, 0.9, 24)
    found[0] |= {"value": None, "ci_low": None, "ci_high": None}
    lead = ["entity_recall", "no metric of it", "summary_accuracy"]
    result(tmp_path, "few", found, "case_id", 24, suite="summary", headline=lead)
    shown = card(tmp_path, "few")["rows"]
    assert [row[0] for row in shown] == ["entity_recall", "summary_accuracy"]
    assert shown[1][3:] == [None, None, None, 24]


def test_links_name_only_files_that_are_there(out: Path) -> None:
    found = {c["name"]: dict(c["links"]) for c in collect(out)["cards"]}
    assert (
        found["with_memory__seed1_proposed"]["Report"]
        == "reports/with_memory__seed1_proposed/metric_report.html"
    )
    assert "Report" not in found["with_memory__seed2_proposed"]
    assert {"CSV", "XLSX"} <= set(found["cases"])
    for links in found.values():
        assert all((out / unquote(href)).is_file() for href in links.values())


def test_an_aggregate_shows_means_seeds_and_what_the_comparison_said(out: Path) -> None:
    found = card(out, "with_memory_aggregated")
    assert (found["kind"], found["runs"], found["seeds"]) == ("aggregate", 3, ["1", "2", "3"])
    name, title, better, *numbers = found["rows"][0]
    assert (name, title, better) == ("tuple_f1_s1_refpol", *REVIEW["tuple_f1_s1_refpol"])
    assert numbers == pytest.approx([0.81, 0.71, 0.8812345, 40], rel=1e-5)
    assert found["status"] == "incomplete"
    verdicts = ["better", "not shown to differ", "worse", "not measured"] * 2
    assert found["verdicts"] == [[m, v, "no_memory"] for m, v in zip(REVIEW, verdicts, strict=True)]
    assert card(out, "no_memory_aggregated")["verdicts"] == []


def test_a_run_of_the_first_edition_shows_its_first_ten_intervals_under_their_names(
    out: Path,
) -> None:
    many = {f"m{i}": (f"Metric {i}", "higher") for i in range(14)}
    found = rows(many, 0.9, 24)
    found[1]["ci_low"] = found[1]["ci_high"] = None
    result(out, "old", found, "case_id", 24, suite="a suite that nobody knows", suite_title="S")
    first_edition(out, "old")
    old = card(out, "old")
    assert [row[:3] for row in old["rows"]] == [
        [f"m{i}", f"m{i}", "higher"] for i in (0, *range(2, 11))
    ]
    assert (old["suite"], old["suiteTitle"]) == ("a suite that nobody knows", "")


def test_an_aggregate_of_the_first_edition_is_listed_with_what_helps(out: Path) -> None:
    first_edition(out, "no_memory_aggregated")
    found = collect(out)
    why = "made by an older version: run the report again"
    assert found["incomplete"] == [["no_memory_aggregated", why]]
    assert len(found["cards"]) == 8


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
    assert [name for name, _ in found["incomplete"]] == ["cases"]
    assert reason in found["incomplete"][0][1]
    assert len(found["cards"]) == 8
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
        render(found)
    finally:
        manifest.write_bytes(before)
    assert len(found["cards"]) + found["incompleteTotal"] == 9
    assert len(found["cards"]) >= 8


@pytest.mark.parametrize("content", [b"metric,mean\nx,high", b"\xff\xfe,\x00", b""])
def test_an_aggregate_with_a_spoilt_comparison_is_listed_with_the_reason(
    out: Path, content: bytes
) -> None:
    (out / "results" / "with_memory_aggregated" / "comparison.csv").write_bytes(content)
    assert [n for n, _ in collect(out)["incomplete"]] == ["with_memory_aggregated"]
    assert "comparison.csv is not as expected" in collect(out)["incomplete"][0][1]


def test_the_list_of_what_is_not_complete_is_bounded_and_counted(tmp_path: Path) -> None:
    for i in range(130):
        (tmp_path / "results" / f"run{i}").mkdir(parents=True)
    found = collect(tmp_path)
    assert (len(found["incomplete"]), found["incompleteTotal"]) == (100, 130)


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


def test_hostile_texts_cannot_leave_their_script_element(tmp_path: Path) -> None:
    hostile(tmp_path)
    page = build(tmp_path).read_text(encoding="utf-8")
    assert embedded(page)["incomplete"] == []
    between = page.split('id="data">')[1].split("</script>")[0]
    assert not set("<>&\u2028\u2029\u202e\x1b") & set(between)


def test_long_texts_are_clipped(tmp_path: Path) -> None:
    long = "가" * 5000
    problem = {"severity": "warning", "code": long, "count": 1}
    result(
        tmp_path, "long", rows({long: (long, "none")}, 0.5, 9), long, 9, suite=long, suite_title=long,
        condition=long, started=long, notes=[Message(long)] * 30, problems=[problem],
    )  # fmt: skip
    data = collect(tmp_path)
    assert all(len(text) <= 501 for text in strings(data))
    assert len(data["cards"][0]["notes"]) == 20


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list | tuple)
        else []
    )
    return [text for part in parts for text in strings(part)]


@given(
    st.recursive(
        st.none() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v), max_leaves=5
    )
)
def test_script_json_reads_back_as_it_was(value: Any) -> None:
    text = script_json(value)
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
    assert found["incomplete"] == []
    assert [(c["name"], c["kind"]) for c in found["cards"]] == [
        (n, "run") for n in ("cases", *NAMES)
    ]
    for c in found["cards"]:
        assert c["suiteTitle"] and c["n"] > 0 and c["unit"]
        assert any(low is not None for _, _, low, *_ in c["rows"])
        assert c["samples"] and c["inputs"] and "few-units" in {code for _, code, *_ in c["checks"]}
    assert all(name != title for name, title, _ in found["metrics"])
    agent, plain = (card(tmp_path, name) for name in NAMES)
    assert {(metric, baseline) for metric, _, baseline in agent["verdicts"]} == {
        (row[0], "plain_llm") for row in agent["rows"]
    }
    assert plain["verdicts"] == [] and agent["also"] == "run-memory_agent_aggregated"
    assert (
        dict(agent["links"])["Study: Comparison CSV"]
        == "results/memory_agent_aggregated/comparison.csv"
    )


NAMES = ("memory_agent", "plain_llm")


def test_checks_stand_with_the_worst_first_and_are_null_where_nobody_looked(tmp_path: Path) -> None:
    for name, found in {"three": [CONSTANT, FEW, OUTSIDE], "none": [], "old": None}.items():
        result(tmp_path, name, rows(REVIEW, 0.8, 40), "text_id", 40, found, suite="cr")
    assert [c[:2] for c in card(tmp_path, "three")["checks"]] == [
        ["blocking", "ref-outside-gold"],
        ["warning", "few-units"],
        ["info", "constant-metric"],
    ]
    assert (card(tmp_path, "none")["checks"], card(tmp_path, "old")["checks"]) == ([], None)


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
        names = [row[0] for row in card(tmp_path, name)["rows"]]
        assert names == [m for m in headline if m not in blocked] + [
            m for m in REVIEW if m in blocked
        ]
        assert {row[0] for row in card(tmp_path, name)["rows"] if row[7:] == [True]} == blocked


def test_verdicts_outside_the_headline_are_counted_apart_and_blocked_ones_nowhere(
    out: Path,
) -> None:
    assert card(out, "with_memory_aggregated")["explored"] == [["better", 1]]
    metrics = out / "results" / "with_memory_aggregated" / "metrics.json"
    edit(metrics, "checks", [{**OUTSIDE, "blocks": ["tuple_f1_s1_refpol", "no_headline_metric"]}])
    found = card(out, "with_memory_aggregated")
    assert found["explored"] == [] and "tuple_f1_s1_refpol" not in {v[0] for v in found["verdicts"]}


def one_run(out: Path, **other: Any) -> None:
    """A run, and an aggregate of it alone with the same numbers unless `other` says."""
    given: dict[str, Any] = {
        "kind": "aggregate",
        "condition": "no_memory",
        "runs": ["a__seed1_x"],
        "suite": "cr",
    }
    result(out, "a__seed1_x", rows(REVIEW, 0.8, 40), "text_id", 40, [FEW], suite="cr")
    found = rows(REVIEW, other.pop("base", 0.8), 40)
    result(out, "a_aggregated", found, "text_id", 40, [FEW, CONSTANT], **given | other)


def test_an_aggregate_that_repeats_its_one_run_is_folded_into_it(tmp_path: Path) -> None:
    one_run(tmp_path)
    [found] = collect(tmp_path)["cards"]
    assert (found["name"], found["also"]) == ("a__seed1_x", "run-a_aggregated")
    assert [code for _, code, *_ in found["checks"]] == ["few-units", "constant-metric"]
    assert found["links"][-1] == ["Study: Metrics JSON", "results/a_aggregated/metrics.json"]


@pytest.mark.parametrize(
    "other", [{"base": 0.7}, {"suite": "memfin"}, {"runs": ["a__seed1_x", "gone"]}, {"runs": []}]
)
def test_an_aggregate_with_anything_of_its_own_has_a_card(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    one_run(tmp_path, **other)
    assert len(collect(tmp_path)["cards"]) == 2


def test_inputs_are_told_apart_by_their_contents_and_no_path_is_shown(tmp_path: Path) -> None:
    for name, gold in {"a": "0f", "b": "0f", "c": "aa"}.items():
        files = [data("outputs", name), data("gold", gold)]
        result(tmp_path, name, rows(REVIEW, 0.8, 40), "text_id", 40, suite="cr", inputs=files)
    a, b, c = ({role: digits for role, _, digits in card(tmp_path, n)["inputs"]} for n in "abc")
    assert a["gold"] == b["gold"] != c["gold"] and a["outputs"] != b["outputs"]
    assert "/home/" not in build(tmp_path).read_text(encoding="utf-8")


def test_samples_are_the_same_in_any_order_and_others_with_another_unit(tmp_path: Path) -> None:
    units = {"a": ["s1", "s2"], "b": ["s2", "s1", "s1"], "c": ["s1", "s3"]}
    for name, ids in units.items():
        folder = result(tmp_path, name, rows(REVIEW, 0.8, 40), "text_id", 40, suite="unknown")
        pd.DataFrame({"text_id": ids}).to_parquet(folder / "units.parquet")
    folder = result(tmp_path, "spoilt", rows(REVIEW, 0.8, 40), "text_id", 40, suite="unknown")
    (folder / "units.parquet").write_bytes(b"no parquet")
    a, b, c, spoilt = (card(tmp_path, n)["samples"] for n in (*units, "spoilt"))
    assert a == b != c and a and c and spoilt == ""


@pytest.mark.parametrize(
    "content", ["", "<html><title>Results</title>my own page", "evaltools gallery"]
)
def test_somebody_elses_page_is_left_as_it_is(out: Path, content: str) -> None:
    (out / "index.html").write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=r"index\.html was not made by evaltools"):
        build(out)
    assert (out / "index.html").read_text(encoding="utf-8") == content


def test_our_own_page_is_replaced_also_that_of_the_first_edition(out: Path) -> None:
    build(out)
    for content in (
        build(out).read_text(encoding="utf-8"),
        '<title>Results</title>\n<body class="gallery">',
    ):
        (out / "index.html").write_text(content, encoding="utf-8")
        assert embedded(build(out).read_text(encoding="utf-8"))["cards"]


# --- verdicts of suites, digits, texts of samples


def units(folder: Path, texts: dict[str, str], **columns: list[str]) -> None:
    pd.DataFrame({"text_id": list(texts), "text": list(texts.values()), **columns}).to_parquet(
        folder / "units.parquet"
    )


def test_verdicts_of_single_metrics_stand_on_the_card(tmp_path: Path) -> None:
    evaltools.evaluate("summary", "example:summary/cases.jsonl", out=tmp_path, resampling=QUICK)
    found = card(tmp_path, "cases")["judged"]
    said = "6 of 21 measured cases lie below 0.9"
    assert found[0] == ["Summary accuracy (entity precision)", "fail", said]
    assert found[-1] == ["Entity recall", "no threshold", ""]
    assert card(tmp_path, "cases")["verdicts"] == []


def test_intervals_have_the_digits_of_the_report(tmp_path: Path) -> None:
    run = evaltools.evaluate(
        "cr", "example:cr/with_memory__seed1_proposed", out=tmp_path, resampling=QUICK
    )
    digits = card(tmp_path, run.name)["digits"]
    page = run.cards().html
    for name in run.headline:
        row = run[name]
        n = digits.get(name, 3)
        assert (
            f"[{row['ci_low']:.{n}f}, {row['ci_high']:.{n}f}]".replace("[-0.00,", "[0.00,") in page
        ), name


def test_texts_of_samples_stand_once_whatever_the_number_of_runs(tmp_path: Path) -> None:
    for name, texts in (
        ("a", {"s1": "레몬  향", "s2": "x"}),
        ("b", {"s1": "레몬  향", "s2": "x"}),
        ("c", {"s1": "다른 글"}),
    ):
        units(result(tmp_path, name, rows(REVIEW, 0.9, 2), "text_id", 2, suite="cr"), texts)
    result(tmp_path, "without units", rows(REVIEW, 0.9, 2), "text_id", 2, suite="cr")
    found = collect(tmp_path)
    places = {c["name"]: c["texts"] for c in found["cards"]}
    assert places["a"] == places["b"] and places["without units"] == []
    assert found["texts"][places["a"][0]] == "s1 레몬 향\ns2 x"
    assert found["texts"][places["c"][0]] == "s1 다른 글"
    assert found["searched"] is None, "nothing was cut"


def test_what_systems_wrote_is_found_and_tells_no_samples_apart(tmp_path: Path) -> None:
    for name, answer in (("a", "한 답"), ("b", "다른 답")):
        path = tmp_path / f"{name}.jsonl"
        path.write_text(
            json.dumps({"id": "1", "answer": answer, "contexts": ["약관 30만원"]}), encoding="utf-8"
        )
        evaltools.evaluate("summary", path, out=tmp_path, resampling=QUICK)
    a, b = (card(tmp_path, name) for name in "ab")
    texts = collect(tmp_path)["texts"]
    assert a["samples"] == b["samples"] and a["texts"][0] == b["texts"][0]
    assert [texts[c["texts"][1]] for c in (a, b)] == ["1 한 답", "1 다른 답"]


def test_many_texts_are_cut_and_the_page_says_how_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = result(tmp_path, "a", rows(REVIEW, 0.9, 2), "text_id", 2, suite="cr")
    units(folder, {f"s{i}": "가" * 1000 for i in range(20)})
    found = collect(tmp_path)
    # 400 of 1,000 characters: "s0 " and 397 of three bytes each
    assert found["searched"] == 400 and found["texts"][0].splitlines()[0] == "s0 " + "가" * 397
    monkeypatch.setattr("evaltools.report.gallery.TEXTS", 7000)
    # 400, 300, 225, 168, 126, 94: 20 lines of 94 characters, three of them of one byte, are 5,520 bytes
    assert collect(tmp_path)["searched"] == 94
    monkeypatch.setattr("evaltools.report.gallery.TEXTS", 5)
    assert collect(tmp_path)["searched"] == 0 and collect(tmp_path)["texts"] == [""]


def test_fifty_runs_of_six_hundred_samples_stay_small(tmp_path: Path) -> None:
    for i in range(50):
        folder = result(tmp_path, f"run{i}", rows(REVIEW, 0.9, 600), "text_id", 600, suite="cr")
        units(folder, {f"s{k}": f"{'리뷰 ' * 40}{i if i % 2 else ''} {k}" for k in range(600)})
    page = build(tmp_path).read_bytes()
    # the even ones share their texts; the others' are cut, for 26 sets of texts have 5 MB
    assert len(page) < 5 << 20
    assert 50 < embedded(page.decode())["searched"] < 120


def test_the_texts_of_an_aggregate_are_those_of_its_runs(tmp_path: Path) -> None:
    found = [tmp_path / "results" / f"a__seed{s}_x" for s in (1, 2)]
    for folder in found:
        units(
            result(tmp_path, folder.name, rows(REVIEW, 0.9, 1), "text_id", 1, suite="cr"),
            {"s1": "하나"},
        )
    result(
        tmp_path, "a_aggregated", rows(REVIEW, 0.8, 1), "text_id", 1, suite="cr", kind="aggregate", condition="a",
        runs=[f.name for f in found],
    )  # fmt: skip
    assert card(tmp_path, "a_aggregated")["texts"][0] == card(tmp_path, "a__seed1_x")["texts"][0]
