"""Scores of other tools' files: each format read by hand, with the mean that the tool reports, and damaged."""

import json
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from evaltools.formats import inspect_logs
from tests.files import read_json, read_lines

from ..app.calling import call
from .tools import (
    DEEPEVAL,
    HEADER,
    INSPECT,
    LM_EVAL,
    PROMPTFOO,
    RAGAS,
    SAMPLES,
    changed,
    outcome,
    put,
    refused,
    sample,
)

# Inspect's own accuracy is the mean of the values: match, epoch 1: (1 + .5 + 0) / 3


Q0, Q1 = "d16ccdbd2f22", "f45b4955a731"
"""Hashes of the two tests."""


def converted(folder: Path, form: str, path: Path, *more: str) -> dict[Any, dict[str, Any]]:
    """(condition, seed, metric) -> id, or id/trial -> value, or (num, den)."""
    target = folder / "scores.jsonl"
    said = call("convert", form, path, "-o", target, *more).stdout
    assert f"{len(read_lines(target))} rows -> {target}" in said
    found: dict[Any, dict[str, Any]] = defaultdict(dict)
    for row in read_lines(target):
        value = (row["num"], row["den"]) if "den" in row else row["value"]
        sample = f"{row['id']}/{row['trial']}" if "trial" in row else row["id"]
        found[row.get("condition"), row.get("seed"), row["metric"]][sample] = value
    return dict(found)


GPT = "openai/gpt-4o"

# (condition, seed, metric) -> (id, or id/trial) -> value
EXPECTED: dict[str, dict[Any, dict[str, Any]]] = {
    "inspect": {
        (GPT, None, "match"): {"1/1": 1.0, "2/1": 0.5, "x/1": 0.0, "1/2": 0.0, "2/2": None},
        (GPT, None, "judge"): {"1/1": None, "2/1": 0.25, "1/2": None, "2/2": None},
        (GPT, None, "judge/form"): {"x/1": 1.0},
        (GPT, None, "judge/tone"): {"x/1": 3.0},
    },
    "lm-eval": {
        (None, None, "exact_match,strict"): {"aa": 1.0, "1": 0.0, "2": 1.0, "3": 0.0},
        (None, None, "exact_match,flexible"): {"aa": 1.0},
        (None, None, "word_perplexity,strict"): {"1": (-3.0, 4.0)},
        (None, None, "nll,strict"): {"2": None, "3": 2.5},
    },
    # repeats are trials; an error (failureReason 2) is not measured
    "promptfoo": {
        ("a", None, "success"): {f"{Q0}/1": 1.0, f"{Q1}/1": 0.0, f"{Q0}/2": 1.0, f"{Q1}/2": None},
        ("a", None, "score"): {f"{Q0}/1": 1.0, f"{Q1}/1": 0.25, f"{Q0}/2": 0.5, f"{Q1}/2": None},
        ("a", None, "tone"): {f"{Q0}/1": 0.5, f"{Q1}/1": 0.125, f"{Q0}/2": 0.25, f"{Q1}/2": None},
        **{("b prompt 1", None, m): {f"{Q0}/1": 0.0} for m in ("success", "score", "tone")},
        **{
            ("b prompt 2", None, m): {f"{Q0}/1": v}
            for m, v in (("success", 1.0), ("score", 1.0), ("tone", 0.5))
        },
    },
}


@pytest.mark.parametrize("form", EXPECTED)
def test_scores_of_each_format(form: str, tmp_path: Path) -> None:
    assert converted(tmp_path, form, put(tmp_path, form)) == EXPECTED[form]


def test_several_tasks_of_inspect_are_refused_but_not_one_of_two_models(tmp_path: Path) -> None:
    header = {**INSPECT["eval"], "task": "inspect_evals/gsm8k"}
    headers = {
        "a": header,
        "b": {**header, "task": "gsm8k", "model": "b"},
        "law": {**header, "task": "gsm8k", "task_args": {"subject": "law"}},
    }
    a, b, law = (
        put(tmp_path, "inspect", {**INSPECT, "eval": of_log}, name=f"{name}.json")
        for name, of_log in headers.items()
    )
    call("convert", "inspect", a, b, "-o", tmp_path / "x.jsonl")
    assert "match is of the task gsm8k {'subject': 'law'} here" in refused("inspect", a, law)


def test_several_tasks_of_lm_eval_are_refused_not_pooled(tmp_path: Path) -> None:
    """Two tasks have an exact_match each: their mean would be that of neither."""
    date = "2026-01-02T03-04-05.6"
    mmlu = put(tmp_path, "lm-eval", name=f"samples_mmlu_{date}.jsonl")
    assert (
        f"{mmlu}: exact_match,strict is of the task mmlu here, and of the task gsm8k: convert one task"
        in refused("lm-eval", put(tmp_path, "lm-eval", name=f"samples_gsm8k_{date}.jsonl"), mmlu)
    )


def test_tests_of_promptfoo_are_known_by_what_they_ask_and_assert(tmp_path: Path) -> None:
    def results(name: str, *asked: str, checks: str = "contains") -> set[str]:
        rows = [
            outcome(i, "a", 1.0)
            | {
                "vars": {"q": question, "sessionId": name},
                "testCase": {"assert": [{"type": checks, "value": "x"}]},
            }
            for i, question in enumerate(asked)
        ]
        path = put(
            tmp_path, "promptfoo", {"results": {"version": 3, "results": rows}}, name=f"{name}.json"
        )
        return set(converted(tmp_path, "promptfoo", path)["a", None, "success"])

    both = results("first", "capital", "river")
    assert len(both) == 2
    assert results("other order", "river", "capital") == both
    assert results("others", "sea", "lake").isdisjoint(both)
    assert results("other checks", "capital", "river", checks="equals").isdisjoint(both)


def test_samples_of_inspect_without_a_score_or_a_number_are_not_measured(tmp_path: Path) -> None:
    silent = {**sample("silent", 1, None), "scores": {}}
    listed = sample("listed", 1, None)
    listed["scores"]["match"]["value"] = ["C", "I"]
    content = {**INSPECT, "samples": [listed, silent, *SAMPLES[:2]]}
    done = call("convert", "inspect", put(tmp_path, "inspect", content), "-o", tmp_path / "x.jsonl")
    assert "match: 1 values are no numbers: not measured" in done.output
    unmeasured = [row["id"] for row in read_lines(tmp_path / "x.jsonl") if row["value"] is None]
    assert unmeasured == ["listed", "silent", "silent", "1"]
    assert "no metric holds a number" in refused(
        "inspect", put(tmp_path, "inspect", {**INSPECT, "samples": [listed]})
    )


def test_answers_that_look_like_numbers_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("user_input,response,reference,faithfulness\n2+2,007,2020,0.5\n")
    call("convert", "ragas", path, "-o", tmp_path / "x.jsonl")
    row = read_json(tmp_path / "x.jsonl")
    assert (row["output"], row["target"], row["value"]) == ("007", "2020", 0.5)


def test_names_of_several_files(tmp_path: Path) -> None:
    a, b = (put(tmp_path, "ragas", name=n) for n in ("a.jsonl", "b.jsonl"))
    more = ("--condition", "A", "--condition", "B", "--seed", "7")
    assert {key[:2] for key in converted(tmp_path, "ragas", a, str(b), *more)} == {
        ("A", "7"),
        ("B", "7"),
    }
    # the same to the byte, whatever order a set has
    assert all(
        [*row][-2:] == ["condition", "seed"] for row in read_lines(tmp_path / "scores.jsonl")
    )
    assert f"{b}:1: 1: a second exact_match of this id" in refused("ragas", a, b)


@pytest.mark.parametrize(
    ("form", "content", "said"),
    [
        ("inspect", changed(INSPECT, "version", value=9), "version: expected 1, 2 or 3, got 9"),
        ("inspect", changed(INSPECT, "eval", value=None), "eval: Field required"),
        (
            "inspect",
            changed(INSPECT, "eval", "config", value={"epochs_reducer": True}),
            "eval.config.epochs_reducer: expected a valid list, got True",
        ),
        ("inspect", changed(INSPECT, "samples", 1, "id", value=[1]), "samples.1.id.int: expected a valid"),
        (
            "inspect",
            changed(INSPECT, "samples", 1, "scores", "match", "value", value="1,000"),
            "samples.1.match: expected a finite number, got '1,000'",
        ),
        ("inspect", changed(INSPECT, "samples", 3, "epoch", value=1), "samples.3: a second match of this id"),
        ("lm-eval", changed(LM_EVAL, 0, "doc_id", value="0"), "in.json:1: doc_id: expected a valid integer"),
        ("lm-eval", changed(LM_EVAL, 0, "exact_match", value=10**400), "in.json:1: exact_match,strict: expected a"),
        ("promptfoo", changed(PROMPTFOO, "results", "results", value=None), "results.results: expected a list"),
        (
            "promptfoo",
            changed(PROMPTFOO, "results", "results", 4, "score", value="1"),
            "results.results.4.score: expected a valid number, got '1'",
        ),
        (
            "promptfoo",
            changed(PROMPTFOO, "results", "results", 0, "score", value=float("inf")),
            "results.results.0.score: expected a finite number",
        ),
        ("deepeval", PROMPTFOO, "testCases: expected a list"),
        (
            "deepeval",
            changed(DEEPEVAL, "testCases", 1, "metricsData", 0, "name", value=None),
            "testCases.1.metricsData.0.name: Field required",
        ),
        ("ragas", changed(RAGAS, 2, "exact_match", value="high"), "in.json:3: exact_match: expected a finite number"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_and_nothing_written(
    form: str, content: Any, said: str, tmp_path: Path
) -> None:
    path = put(tmp_path, form, content)
    assert said.replace("in.json", str(path)) in refused(form, path)


def test_a_bad_record_can_be_skipped(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        "deepeval",
        changed(DEEPEVAL, "testCases", 0, "metricsData", 0, "score", value="x"),
    )
    found = converted(tmp_path, "deepeval", path, "--on-error", "skip")
    assert len(found[None, None, "Long"]) == len(DEEPEVAL["testCases"]) - 1


def eval_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as log:
        for name, data in members.items():
            log.writestr(name, data)
    return path


def members() -> dict[str, bytes]:
    return {
        **{f"samples/{s['id']}_epoch_{s['epoch']}.json": json.dumps(s).encode() for s in SAMPLES},
        "summaries.json": b"[]",
        "header.json": json.dumps(HEADER).encode(),
    }


def test_eval_logs_are_the_same_as_json(tmp_path: Path) -> None:
    """One of zstandard is read in test_golden_files.py."""
    path = eval_zip(tmp_path / "log.eval", members())
    assert converted(tmp_path, "inspect", path) == EXPECTED["inspect"]


def test_a_log_that_is_not_finished_is_named(tmp_path: Path) -> None:
    for status, n_warnings in (("started", 1), ("success", 0)):
        path = put(tmp_path, "inspect", {**INSPECT, "status": status})
        done = call("convert", "inspect", path, "-o", tmp_path / "x.jsonl")
        assert done.output.count("the status of the log is 'started'") == n_warnings


def test_a_log_that_unpacks_to_too_much_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect_logs, "MEMBER_BYTES", 1 << 20)
    there = {**members(), "samples/9_epoch_1.json": b" " * (8 << 20)}
    assert "unpacks to more than 1 MB" in refused("inspect", eval_zip(tmp_path / "log.eval", there))


def test_damaged_zips(tmp_path: Path) -> None:
    path = eval_zip(tmp_path / "log.eval", members())
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    assert "is it whole?" in refused("inspect", path)
    spoilt = bytearray(whole)
    spoilt[100:120] = bytes(20)
    path.write_bytes(bytes(spoilt))
    assert "samples/1_epoch_1.json cannot be read" in refused("inspect", path)
    path = eval_zip(tmp_path / "other.eval", {"a.txt": b"x"})
    assert "header.json" in refused("inspect", path)
