"""The table of docs/formats.md: what tools report of their own files, and what ours say of the same files.

    python scripts/make_format_table.py

Reads tests/data/formats, and the larger files of EVALTOOLS_REFERENCE where they are. Prints Markdown.
"""

from __future__ import annotations

import ast
import json
import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from difflib import SequenceMatcher
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

import evaltools as et
from evaltools.app.cli import main as evaltools
from evaltools.formats.inspect_logs import zipfile

FILES = Path(__file__).parents[1] / "tests" / "data" / "formats"
REFERENCE = Path(os.environ.get("EVALTOOLS_REFERENCE", "")) / "formats"


class Reported(NamedTuple):
    """A number of a tool: of which metric of ours in which condition ("" where there is one only)."""

    condition: str
    metric: str
    value: float


def inspect(file: Path) -> Iterator[Reported]:
    with zipfile.ZipFile(file) as log:
        scores = json.loads(log.read("header.json"))["results"]["scores"]
    for score in scores:
        for name in score["metrics"].keys() & {"accuracy", "mean"}:
            metric = score["name"]
            if score["scorer"] != metric:
                metric = f"{score['scorer']}/{metric}"
            yield Reported("", metric, score["metrics"][name]["value"])


def lm_eval(file: Path) -> Iterator[Reported]:
    task, _, date = file.stem.removeprefix("samples_").rpartition("_")
    results = json.loads(file.with_name(f"results_{date}.json").read_bytes())["results"][task]
    for name, value in results.items():
        if "," in name and "stderr" not in name and isinstance(value, float):
            yield Reported("", name, value)


def promptfoo(file: Path) -> Iterator[Reported]:
    for prompt in json.loads(file.read_bytes())["results"]["prompts"]:
        metrics = prompt["metrics"]
        counts = [metrics[f"test{outcome}Count"] for outcome in ("Pass", "Fail", "Error")]
        condition = f"{prompt['provider']} {prompt['label']}"
        yield Reported(condition, "success", counts[0] / sum(counts))


def deepeval(file: Path) -> Iterator[Reported]:
    content = json.loads(file.read_bytes())
    for reported in content.get("testRunData", content)["metricsScores"]:
        metric, scores = reported["metric"], reported["scores"]
        yield Reported("", metric, sum(scores) / len(scores))
        n_measured = reported["passes"] + reported["fails"]
        yield Reported("", f"{metric} passed", reported["passes"] / n_measured)


def helm(file: Path) -> Iterator[Reported]:
    """The metrics that the run asks for, over all trials."""
    (spec, *_) = json.loads(file.with_name("run_spec.json").read_bytes())["metric_specs"]
    for stat in json.loads(file.with_name("stats.json").read_bytes()):
        name = stat["name"]
        if name["name"] in spec["args"]["names"]:
            perturbation = name.get("perturbation", {"computed_on": ""})
            if perturbation["computed_on"] == "":
                yield Reported("", name["name"], stat["mean"])
            if perturbation["computed_on"] == "perturbed":
                metric = f"{name['name']} ({perturbation['name']})"
                yield Reported("", metric, stat["mean"])


def ragas(file: Path) -> Iterator[Reported]:
    """What it prints, in four digits."""
    for metric, value in ast.literal_eval(file.with_name("reported.txt").read_text()).items():
        yield Reported("", metric, value)


TOOLS = {
    "inspect": (inspect, "*.eval"),
    "lm-eval": (lm_eval, "samples_*.jsonl"),
    "promptfoo": (promptfoo, "*.json"),
    "deepeval": (deepeval, "*latest_run_full.json"),
    "helm": (helm, "per_instance_stats.json"),
    "ragas": (ragas, "rows.*"),
}


def runs_of(tool: str, file: Path, folder: Path) -> list[et.Run]:
    """What a file converts to, a run a condition."""
    target = folder / "scores.jsonl"
    command = ["convert", tool, str(file), "-o", str(target)]
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        evaltools(command, standalone_mode=False)
    return list(et.study([target], suite="table").results)


def run_of(condition: str, runs: list[et.Run]) -> et.Run:
    """The run whose name is nearest to a condition: names of runs lack what no file name can have."""
    return max(runs, key=lambda run: SequenceMatcher(None, condition, run.name).ratio())


def ours(reported: float, value: float) -> str:
    """Our number, or what makes lm-eval's number of it."""
    if math.isclose(reported, value, rel_tol=1e-6, abs_tol=1e-9) or reported == round(value, 4):
        return f"{value:.4f}"
    if math.isclose(reported, math.exp(-value), rel_tol=1e-6):
        return f"exp({-value:.4f})"
    if math.isclose(reported, -value / math.log(2), rel_tol=1e-6):
        return f"{-value:.4f} / log 2"
    return f"{value:.4f} (another)"


def row(tool: str, file: Path, reported: Reported, run: et.Run) -> str:
    estimate = run[reported.metric]
    units: pd.DataFrame = run.units
    n_rows = len(units)
    repeats = ""
    if "trial" in units and units["trial"].nunique() > 1:
        repeats = f"{units['trial'].nunique()} of {run.n_units}"
    n_missing = n_rows - int(estimate["denominator"] or 0)
    if reported.metric.startswith(("word_", "byte_", "bits_")):
        n_missing = 0  # its denominator counts words or bytes
    better = {"none": "not known"}.get(estimate["better"], estimate["better"])
    return (
        f"| {tool} | {file.stem.partition('_20')[0]} | {reported.metric} | {reported.value:.4f} "
        f"| {ours(reported.value, estimate['value'])} | {better} | {repeats} | {n_missing} of {n_rows} |"
    )


def main() -> None:
    versions: dict[str, Any] = json.loads((FILES / "versions.json").read_bytes())
    print("| tool | file | metric | the tool's | ours | better | repeats | not measured |")
    print("| --- | --- | --- | ---: | ---: | --- | --- | ---: |")
    for tool, (read, pattern) in TOOLS.items():
        for folder in (FILES / tool, REFERENCE / tool):
            for file in sorted(folder.glob(pattern)):
                with tempfile.TemporaryDirectory() as name:
                    runs = runs_of(tool, file, Path(name))
                for reported in read(file):
                    run = run_of(reported.condition, runs)
                    if reported.metric in run:
                        print(row(f"{tool} {versions[tool]}", file, reported, run))


if __name__ == "__main__":
    main()
