"""Mutated and generated inputs: a few thousands here, 200,000 and more by benchmarks/fuzz.py.

Below them, one test for each thing that mutated inputs have found.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

import evaltools
from benchmarks import fuzz
from evaltools.app.cli import main
from evaltools.core import errors
from evaltools.core.errors import InputError, Problem, Problems
from evaltools.core.json_files import read_json
from evaltools.core.metric import Metric
from evaltools.core.plugins import get_suite
from evaltools.core.resampling import Resampling
from evaltools.core.workers import Workers
from evaltools.stats.compare import compare
from evaltools.stats.intervals import estimate
from evaltools.stats.seeds import aggregate
from evaltools.suites.summary.rules import load_rules
from evaltools.suites.summary.scoring import score_case

QUICK = Resampling(n_resamples=100)
BOUNDS = ["value", "std", "ci_low", "ci_high", "value_baseline", "value_candidate", "delta"]


@pytest.fixture(autouse=True)
def _kept_per_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "KEPT_PER_CODE", errors.KEPT_PER_CODE)  # fuzz raises it


@pytest.mark.parametrize("kind", list(fuzz.BY_NAME))
def test_mutated_inputs_are_read_or_named(kind: str) -> None:
    share = {"rules": 20, "card": 30, "cases.xlsx": 100}.get(
        kind, 30 if fuzz.BY_NAME[kind].rows == 1 else 420
    )
    report = fuzz.run(share, seed=20, kinds=[kind])
    assert not report.failures, [text for _, _, text in report.failures.values()]
    assert report.inputs.total() >= share


def test_the_same_seed_makes_the_same_files() -> None:
    for kind in fuzz.KINDS:
        first, second = (fuzz.make(kind, fuzz.random.Random("s")) for _ in range(2))
        assert first == second


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=15,
)
CR_KEYS = st.sampled_from(
    [
        "meta",
        "text_id",
        "final_result",
        "final_tuples",
        "aspect_term",
        "aspect_ref",
        "polarity",
        "gold_tuples",
        "span",
    ]
)
MEMFIN_KEYS = st.sampled_from(
    ["dialog_id", "valid_dialog", "turns", "turn_pair_id", "turn_status", "recall", "items"]
)
SUMMARY_KEYS = st.sampled_from(["id", "answer", "contexts", "metadata", "summary_tags", "question"])


def shaped(keys: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.lists(
        st.dictionaries(
            keys,
            st.recursive(
                JSON, lambda i: st.lists(i, max_size=3) | st.dictionaries(keys, i, max_size=4)
            ),
            max_size=6,
        ),
        min_size=1,
        max_size=5,
    )


@pytest.mark.parametrize(
    ("suite", "file", "keys"),
    [
        ("cr", "outputs.jsonl", CR_KEYS),
        ("cr", "scorecards.jsonl", CR_KEYS),
        ("memfin", "dialog_trace.jsonl", MEMFIN_KEYS),
        ("summary", "cases.jsonl", SUMMARY_KEYS),
        ("summary", "cases.json", SUMMARY_KEYS),
    ],
)
def test_any_json_is_scored_or_rejected(
    tmp_path_factory: pytest.TempPathFactory, suite: str, file: str, keys: st.SearchStrategy[str]
) -> None:
    path = tmp_path_factory.mktemp("any") / file
    s = get_suite(suite)
    options = s.options()

    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(shaped(keys))
    def check(rows: list[Any]) -> None:
        lines = [json.dumps(r) for r in rows]
        path.write_text(
            "[" + ",".join(lines) + "]" if path.suffix == ".json" else "\n".join(lines) + "\n"
        )
        problems = Problems("skip")
        try:
            units = s.score(
                s.locate(path, "run", options, problems), options, problems, Workers(), None
            )
        except InputError as e:
            assert e.problems and all(p.file for p in e.problems)
            return
        for row in estimate(units, s.metrics(options), s.unit, QUICK).to_dict("records"):
            assert not any(
                math.isinf(row[k])
                for k in ("value", "ci_low", "ci_high", "numerator", "denominator")
            )
        for p in problems.kept:
            assert p.file and (
                p.severity == "warning" or p.line is not None or p.code in fuzz.NO_LINE
            )

    check()


# --- what mutated inputs have found ------------------------------------------------------------------------

DEEP = "[" * 3000 + "]" * 3000
DIGITS = "9" * 5000


@pytest.mark.parametrize(
    ("raw", "code", "line"),
    [
        (b'{"a": ' + DEEP.encode() + b"}", "bad-json", 1),
        (b'{\n"a": ' + DIGITS.encode() + b"}", "bad-json", 2),
        (b'{\n\n"a": "\xff"}', "not-utf8", 3),
        (b"", "bad-json", 1),
        (b'{"a": 1}\n}', "bad-json", 2),
    ],
)
def test_a_json_file_that_is_none(tmp_path: Path, raw: bytes, code: str, line: int) -> None:
    (tmp_path / "a.json").write_bytes(raw)
    with pytest.raises(InputError) as e:
        read_json(tmp_path / "a.json", Problems())
    assert [(p.code, p.line, p.file) for p in e.value.problems] == [
        (code, line, str(tmp_path / "a.json"))
    ]


def test_a_doubled_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": {"b": 1, "b": 2}}')
    assert read_json(tmp_path / "a.json", Problems()) == {"a": {"b": 2}}
    with pytest.raises(InputError) as e:
        read_json(tmp_path / "a.json", Problems(), unique_keys=True)
    assert e.value.problems[0].field == "b"


@pytest.mark.parametrize("value", ["NaN", "Infinity", DIGITS[:4000], "true", '"1"', "[1]"])
def test_a_gate_takes_finite_numbers_only(tmp_path: Path, value: str) -> None:
    path = tmp_path / "metrics.json"
    path.write_text('{"metrics": [{"name": "a", "value": ' + value + "}]}")
    done = CliRunner().invoke(main, ["gate", str(path), "--min", "a=0"])
    assert (
        done.exit_code == 3 and "metrics.json: metrics.0.value: Input should be a " in done.output
    )


def test_a_gate_refuses_two_metrics_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "metrics.json"
    path.write_text('{"metrics": [{"name": "a", "value": 1}, {"name": "a", "value": 0}]}')
    assert CliRunner().invoke(main, ["gate", str(path), "--min", "a=1"]).exit_code == 3


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ('{"applied_rate": NaN}', "applied_rate"),
        ('{"n": 1e309}', "n"),
        ("[", ""),
        ("[1]", ""),
        ("{", ""),
    ],
)
def test_an_override_summary_that_cannot_be_used(tmp_path: Path, raw: str, field: str) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "outputs.jsonl").write_text('{"meta": {"text_id": "a"}}\n')
    (run / "override_gate_debug_summary.json").write_text(raw)
    with pytest.raises(InputError) as e:
        evaltools.evaluate("cr", run, resampling=QUICK)
    assert e.value.problems[0].file.endswith("summary.json") and e.value.problems[0].field == field
    result = evaltools.evaluate("cr", run, resampling=QUICK, on_error="skip", out=tmp_path / "out")
    assert result.manifest.problems


def test_numbers_of_thousands_of_digits_in_a_dialogue(tmp_path: Path) -> None:
    """int() refuses more than 4,300 digits; a reply, a constraint and a memory key may hold them."""
    turn = {"turn_pair_id": 1, "turn_status": "ok", "pred_assistant_text": f"回撤 {DIGITS}%"}
    keys = [f"history_turn_index:{DIGITS}", f"profile_gt.constraints_gt[{DIGITS}]"]
    turn["gt_turn_tags"] = {"memory_required_keys_gt": keys}
    profile = {"constraints_gt": ["最大回撤<10%", f"最大回撤<{DIGITS}%"]}
    path = tmp_path / "dialog_trace.jsonl"
    path.write_text(
        json.dumps({"dialog_id": "d", "valid_dialog": True, "profile_gt": profile, "turns": [turn]})
    )
    units = evaltools.evaluate("memfin", path, resampling=QUICK).units
    assert units["contradicted_constraints"][0] == ["最大回撤<10%"]
    assert [k["resolver"] for k in units["resolved_keys"][0]] == ["not_a_key"] * 2


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**30])
def test_a_turn_number_beyond_64_bits(tmp_path: Path, number: int) -> None:
    path = tmp_path / "dialog_trace.jsonl"
    turn = {"turn_pair_id": number, "turn_status": "ok"}
    path.write_text(json.dumps({"dialog_id": "d", "valid_dialog": True, "turns": [turn]}))
    with pytest.raises(InputError, match=r"dialog_trace.jsonl:1: d: turns.0.turn_pair_id"):
        evaltools.evaluate("memfin", path)


@pytest.mark.parametrize("latency", ["1e308", "-1e308", "1e16"])
def test_a_latency_whose_sums_would_not_be_finite(tmp_path: Path, latency: str) -> None:
    path = tmp_path / "outputs.jsonl"
    path.write_text(f'{{"meta": {{"text_id": "a", "latency_ms": {latency}}}}}\n')
    with pytest.raises(InputError, match=r"outputs.jsonl:1: .*meta.latency_ms"):
        evaltools.evaluate("cr", path)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["auto", "bca", "percentile"])
def test_numbers_of_seventy_digits_have_the_intervals_of_small_ones(method: Any) -> None:
    """A power of two as a factor changes no digit; whatever overflowed would."""
    import numpy as np
    import pandas as pd

    def found(scale: float) -> tuple[list[float], list[str]]:
        drawn = np.random.default_rng(1).lognormal(0, 3, (4, 60))
        units = [pd.DataFrame({"id": range(60), "x": x * scale, "n": 1.0}) for x in drawn]
        table = (Metric(name="x", numerator="x", denominator="n", better="higher"),)
        how, sides = (
            Resampling(method=method, n_resamples=100),
            ({1: units[0], 2: units[1]}, {1: units[2], 2: units[3]}),
        )
        one, several = (
            estimate(units[0], table, "id", how),
            aggregate({"": sides[0]}, table, "id", how)[""],
        )
        delta = compare(*sides, table, "id", how, ["x"], n_permutations=100).table
        frames = (one, several, delta)
        bounds = [
            frame[[c for c in BOUNDS if c in frame]].to_numpy(dtype=float)[0] / scale
            for frame in frames
        ]
        return [*np.concatenate(bounds)], [
            one["ci_method"][0],
            several["ci_method"][0],
            delta["verdict"][0],
        ]

    (large, kinds), (small, expected) = found(2.0**200), found(1.0)
    assert large == pytest.approx(small, rel=1e-12) and kinds == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3 business-day", "3 business day"),
        ("3 business\tday", "3 business day"),
        ("5 years-old", "5 year"),
        ("5 per-cent", "5 %"),
        ("5 us-dollars", "5 USD"),
    ],
)
def test_unit_words_joined_by_other_signs(text: str, value: str) -> None:
    found = score_case(text, [text], [], load_rules("ko-insurance")).scores["summary_accuracy"]
    assert [e["value"] for e in found.evidence["supported"]] == [value]


def test_a_blank_phrase_in_a_rule_file(tmp_path: Path) -> None:
    raw = json.loads((fuzz.RULES / "seed.json").read_text(encoding="utf-8"))
    raw["units"][0]["words"] = ["\t \n"]
    (tmp_path / "r.json").write_text(json.dumps(raw))
    with pytest.raises(InputError, match=r"units\.words"):
        load_rules(tmp_path / "r.json")


def test_a_rule_name_longer_than_a_file_name_can_be() -> None:
    with pytest.raises(evaltools.UsageError, match="no rules"):
        load_rules("x" * 5000)


def _book(path: Path) -> bytes:
    book = Workbook()
    book.active.append(["id", "answer", "contexts", "metadata"])
    book.active.append(["a", "100만원", "100만원", DEEP])
    book.save(path)
    return path.read_bytes()


def test_deep_json_in_a_cell(tmp_path: Path) -> None:
    _book(tmp_path / "cases.xlsx")
    with pytest.raises(InputError, match=r"cases.xlsx:2: a: metadata"):
        evaltools.evaluate("summary", tmp_path / "cases.xlsx")


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.95])
def test_a_damaged_workbook(tmp_path: Path, cut: float) -> None:
    raw = _book(tmp_path / "cases.xlsx")
    (tmp_path / "cases.xlsx").write_bytes(raw[: int(len(raw) * cut)])
    with pytest.raises(InputError, match="bad-xlsx"):
        evaltools.evaluate("summary", tmp_path / "cases.xlsx")


def test_a_workbook_whose_xml_is_broken(tmp_path: Path) -> None:
    import zipfile

    _book(tmp_path / "a.xlsx")
    with (
        zipfile.ZipFile(tmp_path / "a.xlsx") as old,
        zipfile.ZipFile(tmp_path / "cases.xlsx", "w") as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name) + (b"<" if "sheet1" in name else b""))
    with pytest.raises(InputError, match="bad-xlsx"):
        evaltools.evaluate("summary", tmp_path / "cases.xlsx")


@pytest.mark.parametrize(
    ("raw", "found"),
    [(b"\xef\xbb\xbf", "no column id"), (b"id,answer\na,b\nc,\xff\n", ":3: byte 16")],
)
def test_a_table_that_is_none(tmp_path: Path, raw: bytes, found: str) -> None:
    (tmp_path / "cases.csv").write_bytes(raw)
    with pytest.raises(InputError, match=found):
        evaltools.evaluate("summary", tmp_path / "cases.csv")


def test_a_problem_is_one_printable_line() -> None:
    text = str(
        Problem("error", "c", "m\n\x1b[31m", file="f\r", line=1, field="\ud800", id="a\u202e\x00")
    )
    assert text.isprintable() and "\\x1b" in text and "\\u202e" in text and "\\ud800" in text
    text.encode()


def test_an_unknown_key_that_is_empty_is_named(tmp_path: Path) -> None:
    raw = json.loads((fuzz.RULES / "seed.json").read_text(encoding="utf-8"))
    (tmp_path / "r.json").write_text(json.dumps({**raw, "": 1}))
    with pytest.raises(InputError) as e:
        load_rules(tmp_path / "r.json")
    assert e.value.problems[0].field == '""'
