"""Metrics of whole runs, worked by hand."""

import csv
import math
from pathlib import Path
from typing import Any

import pytest

from evaltools import evaluate
from evaltools.suites.cr.suite import metrics
from tests.files import write_lines
from tests.suites.cr.cards import gold, output, run, tup

A, B, C = tup("본품#품질", "향"), tup("본품#일반", "색"), tup("브랜드#품질", "이름", "negative")
WRONG = tup("본품#품질", "향", "negative")


FLIP = {"action_type": "FLIP", "actor": "A", "target_tuple_ids": ["t0"]}


@pytest.fixture
def four(tmp_path: Path) -> Path:
    """fixed, broken, kept, still wrong."""
    return run(
        tmp_path / "four",
        [
            output("fix", stage1=[WRONG], final=[A], analysis_flags={"review_actions": [FLIP]}),
            output("break", stage1=[A, B], final=[A]),
            output("keep", stage1=[A], final=[A]),
            output("still", stage1=[WRONG], final=[WRONG]),
        ],
        [gold("fix", A), gold("break", A, B), gold("keep", A), gold("still", A)],
    )


def test_f1_and_correction(four: Path) -> None:
    r = evaluate("cr", four)
    # before: 0, 1, 1, 0 -> 1/2; after: 1, 2/3 (P = 1, R = 1/2), 1, 0 -> 2/3
    assert r.value("tuple_f1_s1") == pytest.approx(0.5)
    assert r.value("tuple_f1_s2") == pytest.approx((1 + 2 / 3 + 1 + 0) / 4)
    assert r.value("delta_f1") == pytest.approx(2 / 3 - 1 / 2)
    assert r.value("fix_rate") == 1 / 2  # wrong before: fix, still; fixed 1
    assert r.value("break_rate") == 1 / 2  # right before: break, keep; broken 1
    assert r.value("net_gain") == 0  # (1 - 1) / 4
    # TP 1+1+1+0 = 3, FP 0+0+0+1 = 1, FN 0+1+0+1 = 2; micro F1 = 6 / (6 + 1 + 2)
    assert r.value("tuple_f1_s2_refpol_micro") == pytest.approx(6 / 9)
    assert [r.value(f"tuple_f1_s2_refpol_{c}") for c in ("tp", "fp", "fn")] == [3, 1, 2]


def test_a_tuple_too_many_is_wrong_and_so_is_one_too_few(tmp_path: Path) -> None:
    """Right is precision and recall of 1, before review and after it."""
    sides = {"right": [A, B], "too many": [A, B, C], "too few": [A]}
    outputs = [
        output(f"{before}, {after}", stage1=sides[before], final=sides[after])
        for before in sides
        for after in sides
    ]
    golds = [gold(row["meta"]["text_id"], A, B) for row in outputs]
    outputs.append(output("without gold", stage1=[A], final=[A]))
    outcomes = evaluate("cr", run(tmp_path / "r", outputs, golds)).units["outcome_refpol"]
    assert outcomes.dropna().tolist() == [
        *("keep", "break", "break"),
        *("fix", "still", "still"),
        *("fix", "still", "still"),
    ]
    assert outcomes.isna().tolist() == 9 * [False] + [True]


def test_process(four: Path) -> None:
    r = evaluate("cr", four)
    assert r.value("pre_to_post_change_rate") == 2 / 4  # fix, break
    assert r.value("changed_and_improved_rate") == 1 / 4  # over all samples (D8)
    assert r.value("changed_and_degraded_rate") == 1 / 4
    assert r.value("review_action_rate") == 1 / 4
    assert r.value("guided_by_review_rate") == 1 / 2  # of the two changes, one had a review action
    assert r.value("validator_clear_rate") == 0  # no validator ran (D9)
    assert r["risk_resolution_rate"]["blocked"] == "no-validator"
    assert r["outcome_residual_risk_rate"]["blocked"] is None


def test_explicit_and_implicit(tmp_path: Path) -> None:
    implicit = tup("브랜드#품질", "", "negative")
    r = evaluate(
        "cr",
        run(
            tmp_path / "r",
            [
                output("a", final=[A, tup("브랜드#품질", "브랜드", "negative")]),
                output("b", final=[]),
                output("c", final=[A]),
            ],
            [gold("a", A, implicit), gold("b", implicit), gold("c", A)],
        ),
    )
    # explicit gold in a and c: a has gold {향+} against {향+, 브랜드-}: P 1/2, R 1, F1 2/3; c 1
    assert r.value("tuple_f1_s2_explicit_only_otepol") == pytest.approx((2 / 3 + 1) / 2)
    # implicit gold in a and b: {negative} against {positive, negative} 2/3; b has none: 0
    assert r.value("tuple_f1_s2_implicit_only") == pytest.approx((2 / 3 + 0) / 2)
    assert r.value("implicit_gold_sample_n") == 2
    assert r.value("implicit_invalid_sample_n") == 1
    assert r.value("implicit_invalid_pred_rate") == 1 / 2


@pytest.mark.parametrize(
    ("row", "invalid"),
    [
        (output("a", final=[A]), False),
        (output("a", final=[]), True),
        (output("a", final=[tup("x#y", "향", "mixed")]), True),
        (output("a", final=[A, tup("x#y", "색", None)]), True),
        (output("a", final=[A], flags={"parse_failed": True}), True),
        (output("a", final=[A], flags={"generate_failed": True}), True),
        (output("a", final=[A], error="timeout"), True),
        (
            output("a", final=[A], process_trace=[{"stage": "x", "notes": "json_parse failed"}]),
            True,
        ),
        (
            output("a", final=[A], process_trace=[{"stage": "x", "notes": {"why": "atsa_parse"}}]),
            True,
        ),
    ],
)
def test_invalid_implicit_predictions(tmp_path: Path, row: dict, invalid: bool) -> None:
    r = evaluate("cr", run(tmp_path / "r", [row], [gold("a", tup("x#y", ""))]))
    assert r.units["implicit_invalid"].tolist() == [invalid]


def test_conflicts(tmp_path: Path) -> None:
    low, high = {"confidence": 0.2}, {"confidence": 0.9}
    outputs = [
        output("settled", final=[tup("x#y", "향", **high), tup("x#z", "향", "negative", **low)]),
        output("tied", final=[tup("x#y", "향", **high), tup("x#z", "향", "negative", **high)]),
        output("by ref", final=[tup("x#y", "향"), tup("x#y", "색", "negative")]),
        output("none", final=[A]),
    ]
    r = evaluate("cr", run(tmp_path / "r", outputs))
    assert r.value("polarity_conflict_rate_raw") == 2 / 4  # settled and tied
    assert r.value("polarity_conflict_rate") == 1 / 4  # the two of `tied` rank alike
    assert r.value("polarity_conflict_rate_raw_refpol") == 1 / 4
    assert r.value("polarity_conflict_rate_refpol") == 1 / 4
    assert r.value("outcome_residual_risk_rate") == 1 / 4


def test_dropped_and_ungrounded_tuples_rank_lower(tmp_path: Path) -> None:
    dropped = [tup("x#y", "향"), tup("x#y", "향", "negative", drop_reason="weak")]
    grounded = [
        tup("x#y", "향", grounding="explicit"),
        tup("x#y", "향", "negative", grounding="implicit"),
    ]
    r = evaluate(
        "cr", run(tmp_path / "r", [output("a", final=dropped), output("b", final=grounded)])
    )
    assert r.units["conflict_raw"].tolist() == [True, True]
    assert r.units["conflict"].tolist() == [False, False]


def test_representative_selection(tmp_path: Path) -> None:
    # per ref the most confident tuple stays: {본품#품질+} is right; raw {+, -} has P 1/2, R 1, F1 2/3
    final = [
        tup("본품#품질", "향", confidence=0.9),
        tup("본품#품질", "향", "negative", confidence=0.1),
    ]
    r = evaluate("cr", run(tmp_path / "r", [output("a", final=final)], [gold("a", A)]))
    assert r.value("tuple_f1_s2_raw") == pytest.approx(2 / 3)
    assert r.value("tuple_f1_s2_after_rep") == 1


def test_stored_stage_delta_that_disagrees_is_counted(tmp_path: Path) -> None:
    def card(i: str, changed: bool) -> dict[str, Any]:
        parsed = {"final_result": {"stage1_tuples": [A], "final_tuples": [WRONG]}}
        return {
            "meta": {"text_id": i},
            "stage_delta": {"changed": changed},
            "runtime": {"parsed_output": parsed},
        }

    r = evaluate(
        "cr", write_lines(tmp_path / "r" / "scorecards.jsonl", [card("a", True), card("b", False)])
    )
    assert r.value("stage_delta_mismatch_n") == 1


def test_sources_of_the_final_tuples(tmp_path: Path) -> None:
    aspects = output("aspects", final=[])
    aspects["final_result"]["final_aspects"] = [
        {"aspect_term": {"term": "향"}, "polarity": "positive"}
    ]
    sentiments = output("sentiments", inputs={"aspect_sentiments": [A, tup("x#y", "")]})
    trace = output("trace", final=[A])
    trace["process_trace"] = [
        {"stage": "stage1", "agent": "P-NEG", "output": "text"},
        {"stage": "stage1", "agent": "ATSA", "output": {"aspect_sentiments": [B, C]}},
    ]
    r = evaluate("cr", run(tmp_path / "r", [aspects, sentiments, trace, output("nothing")]))
    assert r.value("N_pred_final_tuples") == 1
    assert r.value("N_pred_final_aspects") == 1
    assert r.value("N_pred_inputs_aspect_sentiments") == 2
    assert r.value("N_agg_fallback_used") == 3
    assert r.value("N_pred_used") == 0  # no sample has gold (D27)
    assert r.units["outcome_refpol"].isna().all() and math.isnan(r.value("fix_rate_refpol"))
    rows = [aspects, sentiments, trace, output("nothing", final=[A, B])]
    with_gold = evaluate(
        "cr", run(tmp_path / "gold", rows, [gold(i, A) for i in ("aspects", "sentiments", "trace")])
    )
    assert with_gold.value("N_pred_used") == 3  # 향; 향; 향
    assert [len(s) for s in r.units["stage1"]] == [
        1,
        1,
        2,
        0,
    ]  # the final tuples, twice; the trace's two; none


def test_aliases_follow_the_protocol(four: Path) -> None:
    v1, v2 = (evaluate("cr", four, protocol=p) for p in ("cr_v1", "cr_v2"))
    for result, key in ((v1, "otepol"), (v2, "refpol")):
        aliases = {m.name: m.alias_of for m in metrics(result.options) if m.alias_of}
        assert aliases["fix_rate"] == f"fix_rate_{key}"
        for alias, name in aliases.items():
            a, b = result.value(alias), result.value(name)
            assert a == b or (math.isnan(a) and math.isnan(b)), alias


def test_risks_left_and_cleared(tmp_path: Path) -> None:
    def card(i: str, *verdicts: tuple[str, list[str]], grounded: list[bool]) -> dict[str, Any]:
        judged = [{"opinion_grounded": is_grounded} for is_grounded in grounded]
        return {
            "meta": {"text_id": i},
            "validator": [
                {"stage": stage, "structural_risks": [{"risk_id": name} for name in names]}
                for stage, names in verdicts
            ],
            "atsa": {"sentiment_judgements": judged},
        }

    cards = [
        card("cleared", ("stage1", ["SCOPE"]), ("stage2", []), grounded=[True]),
        card("left", ("stage1", ["NEGATION_SCOPE"]), ("stage2", ["SCOPE"]), grounded=[]),
        card("unsupported", ("stage1", []), grounded=[False]),
        card("none", grounded=[]),
    ]
    r = evaluate("cr", write_lines(tmp_path / "r" / "scorecards.jsonl", cards))
    assert r.value("validator_clear_rate") == r.value("risk_resolution_rate") == 1 / 2
    assert r.value("validator_residual_risk_rate") == 1 / 4
    assert r.value("negation_contrast_failure_rate") == 1 / 4
    assert r.value("outcome_residual_risk_rate") == 2 / 4  # left, and unsupported where judged


def test_files_hold_every_number_and_what_is_not_measured_is_empty(
    tmp_path: Path, four: Path
) -> None:
    r = evaluate("cr", four, out=tmp_path)
    folder = tmp_path / "results/four/derived/metrics"
    (row,) = csv.DictReader((folder / "structural_metrics.csv").open(encoding="utf-8"))
    assert (row["n"], row["N_gold_total_pairs"], row["tuple_f1_s2_refpol_tp"]) == ("4", "5", "3")
    assert row["fix_rate"] == "0.5"
    for name, value in r.to_dict().items():
        assert (row[name] == "") == (value is None), name
    # a rate without a case is null, but for the zeros of the seed
    assert row["latency_ms_mean"] == row["tuple_f1_s2_implicit_only"] == ""
    assert row["implicit_invalid_pred_rate"] == row["validator_clear_rate"] == "0.0"
    table = (folder / "structural_metrics_table.md").read_text(encoding="utf-8").replace("\\", "")
    assert all(f"| {name} |" in table for name in r.to_dict())
