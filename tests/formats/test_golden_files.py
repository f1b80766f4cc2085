"""Files that other tools wrote in their current versions (`scripts/make_format_files.py`): their numbers, and ours."""

import ast
import json
import math
from pathlib import Path
from typing import Any

import pytest

import evaltools as et
from evaltools.formats import inspect_logs
from tests.files import read_json

from ..app.calling import call
from .tools import FILES


def run_of(folder: Path, form: str, file: Path) -> et.Run:
    call("convert", form, file, "-o", folder / "scores.jsonl")
    return et.evaluate("table", folder / "scores.jsonl")


def test_inspect(tmp_path: Path) -> None:
    """Two epochs of six samples, compressed with zstandard."""
    path = FILES / "inspect/sums.eval"
    run = run_of(tmp_path, "inspect", path)
    with inspect_logs.zipfile.ZipFile(path) as log:
        reported = json.loads(log.read("header.json"))["results"]["scores"]
    for score in reported:
        (name,) = score["metrics"].keys() & {"accuracy", "mean"}
        assert run[score["name"]]["value"] == pytest.approx(score["metrics"][name]["value"])
        is_of_words = score["name"] == "includes"  # f1 gives numbers
        assert run[score["name"]]["better"] == ("higher" if is_of_words else "none")
    assert 0 < run["includes"]["value"] < 1 and run.primary == "includes"
    assert run.n_units == 6 and sorted(run.units["trial"].unique()) == ["1", "2"]
    assert set(run.units["topic"]) == {"even", "odd"}
    assert list(run.units["output"]) == [str(i % 4 + 1) for i in range(12)]


@pytest.mark.parametrize("name", ["latest_run_full.json", "latest_test_run.json"])
def test_deepeval(name: str, tmp_path: Path) -> None:
    """Short is better below its threshold, Long above; the last case has an error."""
    path = FILES / "deepeval" / name
    content = read_json(path)
    content = content.get("testRunData", content)
    run = run_of(tmp_path, "deepeval", path)
    assert (run["Short"]["better"], run["Long"]["better"]) == ("lower", "higher")
    for reported in content["metricsScores"]:
        metric, scores = reported["metric"], reported["scores"]
        assert run[metric]["value"] == pytest.approx(sum(scores) / len(scores))
        assert run[metric]["denominator"] == len(scores) == 5
        n_measured = reported["passes"] + reported["fails"]
        assert run[f"{metric} passed"]["value"] == pytest.approx(reported["passes"] / n_measured)


def lm_eval(folder: Path, task: str) -> tuple[et.Run, dict[str, Any]]:
    (samples,) = FILES.glob(f"lm-eval/samples_{task}_*.jsonl")
    (results,) = FILES.glob("lm-eval/results_*.json")
    return run_of(folder, "lm-eval", samples), read_json(results)["results"][task]


def test_lm_eval(tmp_path: Path) -> None:
    run, reported = lm_eval(tmp_path, "choice")
    assert run["acc,none"]["value"] == pytest.approx(reported["acc,none"])
    assert run["acc,none"]["better"] == "higher"
    run, reported = lm_eval(tmp_path, "likelihood")
    perplexity = run["perplexity,none"]
    assert math.exp(-perplexity["value"]) == pytest.approx(reported["perplexity,none"])
    assert perplexity["better"] == "higher"
    assert set(run.units["topic"]) == {"sums"}


def test_promptfoo(tmp_path: Path) -> None:
    """Two prompts, three tests, two repeats of each."""
    path = FILES / "promptfoo/results.json"
    prompts = read_json(path)["results"]["prompts"]
    call("convert", "promptfoo", path, "-o", tmp_path / "scores.jsonl")
    study = et.study([tmp_path / "scores.jsonl"], suite="table")
    by_condition = {run.name.removesuffix("_scores"): run for run in study.results}
    assert set(by_condition) == {"echo Answer- {{q}}", "echo polite"}
    for prompt in prompts:
        run = by_condition[f"echo {prompt['label']}".replace(":", "-")]
        metrics = prompt["metrics"]
        n_tests = metrics["testPassCount"] + metrics["testFailCount"] + metrics["testErrorCount"]
        assert run["success"]["value"] == pytest.approx(metrics["testPassCount"] / n_tests)
        assert run["score"]["value"] == pytest.approx(metrics["score"] / n_tests)
        assert (run.n_units, len(run.units)) == (3, 6)


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_ragas(name: str, tmp_path: Path) -> None:
    """Six rows; `words`, a metric of one's own, gave nothing for the last."""
    run = run_of(tmp_path, "ragas", FILES / "ragas" / name)
    reported = ast.literal_eval((FILES / "ragas/reported.txt").read_text())
    assert len(reported) == 5
    for metric, value in reported.items():
        assert run[metric]["value"] == pytest.approx(value, abs=5e-5)  # it prints four digits
        assert run[metric]["better"] == ("none" if metric == "words" else "higher")
        assert run[metric]["denominator"] == (5 if metric == "words" else 6)
    assert 0 < run["exact_match"]["value"] < 1
    assert run.units["text"][4] == "4+1?"
    assert (run.units["output"][4], run.units["target"][4]) == (
        "the answer is 1",
        "the answer is 5",
    )
