"""What a tool's number means: its direction, its repeats, what it leads with, and what describes a sample."""

from pathlib import Path
from typing import Any

import pytest

import evaltools as et
from tests.files import read_lines, write_lines

from ..app.calling import call
from .tools import INSPECT, LM_EVAL, PROMPTFOO, changed, put, refused, sample

DATE = "2026-01-02T03-04-05.6"


def written(folder: Path, form: str, path: Path, *more: str) -> list[dict[str, Any]]:
    call("convert", form, path, "-o", folder / "scores.jsonl", *more)
    return read_lines(folder / "scores.jsonl")


def directions(converted: list[dict[str, Any]]) -> dict[str, bool | None]:
    return {row["metric"]: row["higher_is_better"] for row in converted}


# --- lm-eval


def lm_eval(folder: Path, values: dict[str, list[Any]]) -> Path:
    """Samples of a task with these values, beside the results."""
    lines = [
        {"doc_id": index, "filter": "none", "metrics": list(values), **dict(zip(values, of_sample))}
        for index, of_sample in enumerate(zip(*values.values()))
    ]
    results = {
        "model_name": "org/model",
        "higher_is_better": {"task": dict.fromkeys(values, False)},
    }
    write_lines(folder / f"results_{DATE}.json", [results])
    return put(folder, "lm-eval", lines, name=f"samples_task_{DATE}.jsonl")


def test_the_direction_of_a_perplexity_is_not_that_of_its_log_likelihoods(tmp_path: Path) -> None:
    """exp(-mean) is better the lower, so that its log-likelihoods are better the higher."""
    likelihoods = [-0.5, -1.5]  # mean -1
    pairs = [[-2.0, 1], [-4.0, 2]]  # -6 over 3 words
    values = {"perplexity": likelihoods, "word_perplexity": pairs, "error_rate": [1.0, 0.0]}
    converted = written(tmp_path, "lm-eval", lm_eval(tmp_path, values))
    assert directions(converted) == {
        "perplexity,none": True,
        "word_perplexity,none": True,
        "error_rate,none": False,
    }
    assert [(row["num"], row["den"]) for row in converted if "num" in row] == [
        (-2.0, 1.0),
        (-4.0, 2.0),
    ]
    assert {row["condition"] for row in converted} == {"org/model"}


def test_logs_of_2024_name_no_metrics_and_no_filter(tmp_path: Path) -> None:
    old = {"doc_id": 0, "doc": {"question": "2+2?", "topic": "sums"}, "target": "4", "acc": 1.0}
    old |= {"resps": [["4"]], "filtered_resps": ["4"], "arguments": [["Q: 2+2?", {}]]}
    (row,) = written(tmp_path, "lm-eval", put(tmp_path, "lm-eval", [old]))
    assert (row["metric"], row["value"], row["higher_is_better"]) == ("acc,none", 1.0, True)
    assert (row["text"], row["target"], row["output"], row["topic"]) == ("2+2?", "4", "4", "sums")


# --- deepeval


def deepeval(scores: list[tuple[float, bool]]) -> dict[str, Any]:
    measured = [
        {"name": "Toxicity", "threshold": 0.5, "score": score, "success": success}
        for score, success in scores
    ]
    cases = [{"input": "q", "actualOutput": "a", "metricsData": [metric]} for metric in measured]
    return {"testCases": cases}


@pytest.mark.parametrize(
    ("scores", "is_higher"),
    [
        ([(0.1, True), (0.9, False), (0.5, True)], False),  # passed below the threshold
        ([(0.1, False), (0.9, True)], True),
        ([(0.5, True)], None),  # at the threshold: both would pass
        ([(0.1, True), (0.2, False)], None),  # they contradict each other
    ],
)
def test_deepeval_passes_on_the_better_side_of_the_threshold(
    scores: list[tuple[float, bool]], is_higher: bool | None, tmp_path: Path
) -> None:
    converted = written(tmp_path, "deepeval", put(tmp_path, "deepeval", deepeval(scores)))
    assert directions(converted) == {"Toxicity": is_higher, "Toxicity passed": True}


def test_names_that_deepeval_gives_twice(tmp_path: Path) -> None:
    """Parametrized tests share the name of their function."""
    low = {"name": "Fit", "score": 0.2, "threshold": 0.5, "success": False}
    names = ("test_a", "test_a", "test_b")
    cases = [{"name": name, "input": "q", "metricsData": [low]} for name in names]
    path = put(tmp_path, "deepeval", {"testCases": [{"input": 1}, *cases]})
    converted = written(tmp_path, "deepeval", path, "--on-error", "skip")
    scores = {row["id"]: row["value"] for row in converted if row["metric"] == "Fit"}
    # what is left out keeps its number
    assert scores == {"2": 0.2, "3": 0.2, "test_b": 0.2}


# --- promptfoo


def test_errors_of_promptfoo_are_not_measured(tmp_path: Path) -> None:
    """A rate limit is no wrong answer: null with its text, in every metric."""
    failed = {**PROMPTFOO["results"]["results"][3], "error": "429 rate limit"}
    content = {"results": {"version": 3, "results": [PROMPTFOO["results"]["results"][0], failed]}}
    converted = written(tmp_path, "promptfoo", put(tmp_path, "promptfoo", content))
    errors = [row for row in converted if "error" in row]
    assert {(row["value"], row["error"]) for row in errors} == {(None, "429 rate limit")}
    assert [row["metric"] for row in errors] == ["success", "score", "tone"]
    # columns that share their names are two conditions, and its own success counts
    first = PROMPTFOO["results"]["results"][0] | {"prompt": {"label": "P"}}
    first["namedScores"] = {"success": 0.5}
    results = [first, first | {"promptIdx": 1, "success": False}]
    path = put(tmp_path, "promptfoo", {"results": {"version": 3, "results": results}})
    converted = written(tmp_path, "promptfoo", path)
    values = {r["condition"]: r["value"] for r in converted if r["metric"] == "success"}
    assert values == {"a P": 1.0, "a P (2)": 0.0}


def test_results_of_an_older_promptfoo_say_how_to_export_again(tmp_path: Path) -> None:
    path = put(tmp_path, "promptfoo", {"results": {"version": 2, "results": [], "table": {}}})
    done = refused("promptfoo", path)
    assert "got 2, which an older promptfoo wrote" in done
    assert "promptfoo export eval ID -o results.json" in done


# --- Inspect


def test_directions_of_inspect(tmp_path: Path) -> None:
    """Words and truth values are better the higher; of a number the log does not say it."""
    log = {**INSPECT, "version": 3, "samples": [sample(1, 1, "C", steps=3, solved=True)]}
    converted = written(tmp_path, "inspect", put(tmp_path, "inspect", log))
    assert directions(converted) == {"match": True, "steps": None, "solved": True}
    run = et.evaluate("table", tmp_path / "scores.jsonl")
    assert run.primary == "match" and run["steps"]["better"] == "none"


# epochs of two samples, and what Inspect's own reducer gives of each
EPOCHS = {1: ["I", "C", "C"], 2: ["I", "P", "I"]}


@pytest.mark.parametrize(
    ("reducer", "values"),
    [
        ("max", [1.0, 0.5]),
        ("mode", [1.0, 0.0]),
        ("median", [1.0, 0.0]),
        ("at_least_2", [1.0, 0.0]),
        ("at_least_3", [0.0, 0.0]),
        ("pass_at_2", [1.0, 0.0]),
        ("pass_at_1", [2 / 3, 0.0]),
    ],
)
def test_epochs_are_reduced_as_the_log_says(
    reducer: str, values: list[float], tmp_path: Path
) -> None:
    samples = [sample(1, 0, "C", error="of this epoch, and not of the sample")] + [
        sample(i, epoch, value)
        for i, of_sample in EPOCHS.items()
        for epoch, value in enumerate(of_sample, 1)
    ]
    config = {"epochs": 3, "epochs_reducer": [reducer]}
    log = changed(INSPECT, "eval", "config", value=config) | {"samples": samples}
    converted = written(tmp_path, "inspect", put(tmp_path, "inspect", log))
    assert [row["value"] for row in converted] == pytest.approx(values)
    assert all(row.keys().isdisjoint({"trial", "error"}) for row in converted)
    if reducer == "mode":  # of a tie the first, as in Inspect
        tied = log | {"samples": [sample(1, 1, "C"), sample(1, 2, "I")]}
        assert written(tmp_path, "inspect", put(tmp_path, "inspect", tied))[0]["value"] == 1
    samples.append({**samples[-1], "id": str(samples[-1]["id"])})
    assert "a second sample of this id and epoch" in refused(
        "inspect", put(tmp_path, "inspect", log)
    )


def test_an_unknown_reducer_of_epochs_is_named(tmp_path: Path) -> None:
    for reducer in ("my_own", f"pass_at_{'9' * 5000}"):
        log = changed(INSPECT, "eval", "config", value={"epochs_reducer": [reducer]})
        path = put(tmp_path, "inspect", log)
        assert f"epochs are reduced by '{reducer[:20]}" in refused("inspect", path)


def test_scores_of_errors_count_where_the_log_counts_them(tmp_path: Path) -> None:
    """Of 16 samples 10 are right and 4 of the wrong ones failed: Inspect says 10 of 16."""
    samples = [sample(i, 1, "C" if i < 10 else "I") for i in range(16)]
    for failed in samples[12:]:
        failed["error"] = {"message": "RuntimeError('boom')\ntraceback"}
    log = changed(INSPECT, "eval", "config", value={"score_on_error": True})
    path = put(tmp_path, "inspect", log | {"samples": samples})
    done = call("convert", "inspect", path, "-o", tmp_path / "scores.jsonl")
    assert "4 samples have an error and were scored all the same" in done.output
    assert et.evaluate("table", tmp_path / "scores.jsonl")["match"]["value"] == 0.625
    path = put(tmp_path, "inspect", {**INSPECT, "samples": samples})
    errors = [row for row in written(tmp_path, "inspect", path) if "error" in row]
    assert len(errors) == 4
    assert {(row["value"], row["error"]) for row in errors} == {(None, "RuntimeError('boom')")}


# --- ragas


def test_names_of_ragas_before_0_2_are_read(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text(
        "question,answer,contexts,ground_truth,faithfulness\nq1,a,\"['c']\",t,1.0\nq2,b,[],t,\n"
    )
    converted = written(tmp_path, "ragas", path)
    assert [(row["text"], row["value"]) for row in converted] == [("q1", 1.0), ("q2", None)]
    assert converted[0]["target"] == "t" and converted[0]["retrieved_contexts"] == "c"


def test_separators_and_decimal_commas_are_named_and_read(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("user_input;code;faithfulness\nq1;20_1;0,71\nq2;20_2;1,00\n")
    done = refused("ragas", path)
    assert "--sep and --decimal" in done
    assert "the cells are separated by ';'" in done
    converted = written(tmp_path, "ragas", path, "--sep", ";", "--decimal", ",")
    assert [row["value"] for row in converted] == [0.71, 1.0]
    path.write_text("user_input;faithfulness\nq1;0,71\nq2;1.250\n")
    assert "3: faithfulness: expected a finite number" in refused(
        "ragas", path, "--sep", ";", "--decimal", ","
    )
    path.write_text('user_input,faithfulness\nq1,"0,71"\n')
    assert "no column holds a number; --sep and --decimal" in refused("ragas", path)
    # what is left out keeps its number; messages are a text too
    path = tmp_path / "in.jsonl"
    path.write_text('{\n{"user_input": ["q"], "faithfulness": 1}')
    (row,) = written(tmp_path, "ragas", path, "--on-error", "skip")
    assert (row["id"], row["text"]) == ("2", '["q"]')


def test_empty_cells_of_ragas_are_not_measured(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    header = "user_input,response,faithfulness,harmfulness,noise_sensitivity(mode=relevant)"
    path.write_text(f"{header}\nq1,a,,0,0.5\nq2,b,0.5,,\n")
    done = call("convert", "ragas", path, "-o", tmp_path / "scores.jsonl")
    converted = read_lines(tmp_path / "scores.jsonl")
    values = {(row["id"], row["metric"]): row["value"] for row in converted}
    assert values["1", "faithfulness"] is None and values["2", "harmfulness"] is None
    assert len(values) == 6
    assert directions(converted) == {
        "faithfulness": True,
        "harmfulness": None,
        "noise_sensitivity(mode=relevant)": False,
    }
    assert "not known of harmfulness: described, never judged" in done.output


# --- the table that is written


def test_further_columns_stand_once_a_sample(tmp_path: Path) -> None:
    path = put(tmp_path, "lm-eval", [{**LM_EVAL[3], "doc": {"topic": "law", "id": 7}}])
    converted = written(tmp_path, "lm-eval", path)
    assert [row.get("topic") for row in converted] == ["law", None]
    assert converted[0]["its_id"] == 7
    done = call("convert", "lm-eval", path, "-o", tmp_path / "scores.csv", status=2)
    assert "name a file *.jsonl" in done.output


def test_metrics_that_have_no_direction_are_described(tmp_path: Path) -> None:
    rows = [{"user_input": f"q{i}", "response": "", "own": i / 9} for i in range(10)]
    a, b = (put(tmp_path, "ragas", rows, name=name) for name in ("a.jsonl", "b.jsonl"))
    written(tmp_path, "ragas", a, str(b), "--condition", "a", "--condition", "b")
    study = et.study([tmp_path / "scores.jsonl"], suite="table")
    assert study.frame.empty and [check.code for check in study.checks] == ["few-units"]
