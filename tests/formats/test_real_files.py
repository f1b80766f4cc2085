"""Files that the tools themselves wrote: their own mean, and ours."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import evaltools as et

from ..app.calling import call

pytestmark = pytest.mark.reference


@pytest.fixture
def real(reference: Path) -> Path:
    folder = reference / "formats"
    if not folder.is_dir():
        pytest.skip(f"no files of other tools at {folder}")
    return folder


def runs(folder: Path, form: str, *files: Path) -> dict[str, et.Run]:
    """Condition -> run of what a file converts to."""
    target = folder / "scores.jsonl"
    call("convert", form, *files, "-o", target)
    study = et.study([target], suite="table")
    return {run.name.removesuffix("_scores"): run for run in study.results}


def lm_eval(real: Path, task: str) -> tuple[Path, dict[str, Any]]:
    (samples,) = real.glob(f"lm-eval/samples_{task}_*.jsonl")
    (results,) = real.glob("lm-eval/results_*.json")
    return samples, json.loads(results.read_bytes())["results"][task]


def test_lm_eval(real: Path, tmp_path: Path) -> None:
    samples, reported = lm_eval(real, "my_mc")
    run = runs(tmp_path, "lm-eval", samples)["dummy"]
    for metric in ("acc,none", "acc_norm,none"):
        assert run[metric]["value"] == pytest.approx(reported[metric])
        assert run[metric]["better"] == "higher"
    assert set(run.units["cat"]) == {"x", "y"} and run.units["text"].str.startswith("Q").all()


def test_lm_eval_perplexities(real: Path, tmp_path: Path) -> None:
    """lm-eval's numbers follow from ours: exp(-x), and -x / log 2 for the bits."""
    samples, reported = lm_eval(real, "my_ll")
    run = runs(tmp_path, "lm-eval", samples)["dummy"]
    assert math.exp(-run["perplexity,none"]["value"]) == pytest.approx(reported["perplexity,none"])
    assert run["perplexity,none"]["better"] == "higher"
    samples, reported = lm_eval(real, "my_ppl")
    run = runs(tmp_path, "lm-eval", samples)["dummy"]
    for metric in ("word_perplexity,none", "byte_perplexity,none"):
        assert math.exp(-run[metric]["value"]) == pytest.approx(reported[metric])
    bits = run["bits_per_byte,none"]
    assert -bits["value"] / math.log(2) == pytest.approx(reported["bits_per_byte,none"])
    assert set(run.frame["better"]) == {"higher"}


def test_promptfoo(real: Path, tmp_path: Path) -> None:
    content = json.loads((real / "promptfoo/out1.json").read_bytes())
    by_condition = runs(tmp_path, "promptfoo", real / "promptfoo/out1.json")
    assert len(by_condition) == 4
    for prompt in content["results"]["prompts"]:
        name = f"{prompt['provider']} {prompt['label']}".replace(":", "-")  # as a folder
        run = by_condition[name]
        metrics = prompt["metrics"]
        n_tests = metrics["testPassCount"] + metrics["testFailCount"] + metrics["testErrorCount"]
        assert run["success"]["value"] == pytest.approx(metrics["testPassCount"] / n_tests)
        assert run["score"]["value"] == pytest.approx(metrics["score"] / n_tests)


@pytest.mark.parametrize("name", ["out3.json", "out3.jsonl"])
def test_promptfoo_with_repeats_and_errors(name: str, real: Path, tmp_path: Path) -> None:
    by_condition = runs(tmp_path, "promptfoo", real / "promptfoo" / name)
    echo, bad = by_condition["echo"], by_condition["bad-js"]
    assert (echo.n_units, len(echo.units)) == (bad.n_units, len(bad.units)) == (3, 9)
    assert echo["success"]["value"] == 1
    assert bad["success"]["value"] == pytest.approx(3 / 6)  # the 3 errors are not measured
    assert bad["score"]["denominator"] == 2  # of the 3 samples; trials are averaged within theirs


@pytest.mark.parametrize("name", ["basic", "epochs", "flaky", "multi"])
def test_inspect(name: str, real: Path, tmp_path: Path) -> None:
    zipfile = pytest.importorskip("backports.zstd.zipfile")
    path = real / f"inspect/{name}.eval"
    with zipfile.ZipFile(path) as log:
        reported = json.loads(log.read("header.json"))["results"]["scores"]
    (run,) = runs(tmp_path, "inspect", path).values()
    n_compared = 0
    for score in reported:
        keyed = f"{score['scorer']}/{score['name']}"
        metric = keyed if keyed in run else score["name"]
        for own in ("accuracy", "mean", "all"):
            if own in score["metrics"]:
                n_compared += 1
                assert run[metric]["value"] == pytest.approx(score["metrics"][own]["value"])
                assert run[metric]["denominator"] >= score["scored_samples"]
    assert n_compared == len(reported)
    assert run.n_units == 30 and len(run.units) == (90 if name == "epochs" else 30)


@pytest.mark.parametrize("name", [".latest_run_full.json", ".latest_test_run.json"])
def test_deepeval(name: str, real: Path, tmp_path: Path) -> None:
    content = json.loads((real / "deepeval" / name).read_bytes())
    content = content.get("testRunData", content)
    (run,) = runs(tmp_path, "deepeval", real / "deepeval" / name).values()
    for reported in content["metricsScores"]:
        metric, scores = reported["metric"], reported["scores"]
        assert run[metric]["value"] == pytest.approx(sum(scores) / len(scores))
        assert run[metric]["better"] == "higher"
        n_measured = reported["passes"] + reported["fails"]
        assert run[f"{metric} passed"]["value"] == pytest.approx(reported["passes"] / n_measured)
