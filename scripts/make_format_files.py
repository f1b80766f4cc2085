"""tests/data/formats: small files that other tools write, each by its current version.

python scripts/make_format_files.py [TOOL...]     all tools by default; needs network, and node for promptfoo

A tool is installed into an environment of its own in a temporary folder, runs on invented data without any model, and
leaves its files with its version in versions.json. `tests/formats/test_golden_files.py` holds them against ours.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

TARGET = Path(__file__).parents[1] / "tests" / "data" / "formats"

INSPECT = """
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import f1, includes

samples = []
for i in range(6):
    metadata = {"topic": "even" if i % 2 == 0 else "odd"}
    samples.append(Sample(id=f"q{i}", input=f"{i}+1?", target=str(i + 1), metadata=metadata))
answers = [ModelOutput.from_content("mockllm/model", str(i % 4 + 1)) for i in range(12)]
for answer in answers:
    answer.usage = ModelUsage(input_tokens=3, output_tokens=1, total_tokens=4)
task = Task(name="sums", dataset=samples, scorer=[includes(), f1()], epochs=2)
model = get_model("mockllm/model", custom_outputs=answers)
eval(task, model=model, log_dir="out", display="none", max_samples=1)
"""

DEEPEVAL = """
from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase


class Words(BaseMetric):
    def __init__(self, label, fewer_is_better):
        self.threshold = 0.5
        self.label = label
        self.fewer_is_better = fewer_is_better
        self.async_mode = False
        self.reason = ""

    def measure(self, case, *args, **kwargs):
        if case.input == "q5":
            raise ValueError("no answer")
        self.score = len(case.actual_output.split()) / 4
        below, above = self.score <= self.threshold, self.score >= self.threshold
        self.success = below if self.fewer_is_better else above
        return self.score

    async def a_measure(self, case, *args, **kwargs):
        return self.measure(case)

    def is_successful(self):
        return self.success

    @property
    def __name__(self):
        return self.label


cases = []
for i in range(6):
    cases.append(LLMTestCase(input=f"q{i}", actual_output="word " * (i % 5), expected_output="word"))
evaluate(
    cases,
    [Words("Short", True), Words("Long", False)],
    async_config=AsyncConfig(run_async=False),
    display_config=DisplayConfig(show_indicator=False, print_results=False),
    error_config=ErrorConfig(ignore_errors=True),
)
"""

LM_EVAL = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: questions.jsonl}}}}
test_split: test
output_type: {output_type}
doc_to_text: "{{{{question}}}}"
doc_to_choice: choices
doc_to_target: {target}
metric_list:
{metrics}
"""

QUESTIONS = "".join(
    json.dumps({"question": f"{i}+1?", "choices": ["1", "2", "3"], "gold": i % 3, "topic": "sums"})
    + "\n"
    for i in range(6)
)

RAGAS = """
import math

from ragas import EvaluationDataset, evaluate
from ragas.metrics import BleuScore, ExactMatch, NonLLMStringSimilarity, RougeScore
from ragas.metrics.base import MetricType, SingleTurnMetric


class Words(SingleTurnMetric):
    name = "words"
    _required_columns = {MetricType.SINGLE_TURN: {"response"}}

    def init(self, run_config):
        pass

    async def _single_turn_ascore(self, sample, callbacks):
        return math.nan if sample.user_input == "5+1?" else len(sample.user_input) / 8


rows = []
for i in range(6):
    response, reference = f"the answer is {i % 4 + 1}", f"the answer is {i + 1}"
    row = {"user_input": f"{i}+1?", "response": response, "reference": reference}
    rows.append({**row, "retrieved_contexts": ["sums"]})
metrics = [ExactMatch(), NonLLMStringSimilarity(), BleuScore(), RougeScore(), Words()]
result = evaluate(EvaluationDataset.from_list(rows), metrics=metrics, show_progress=False)
frame = result.to_pandas()
frame.to_csv("rows.csv", index=False)
frame.to_json("rows.jsonl", orient="records", lines=True)
with open("reported.txt", "w") as file:
    file.write(repr(result))
"""

PROMPTFOO = """
prompts:
  - "Answer: {{q}}"
  - label: polite
    raw: "Please answer {{q}}"
providers: [echo]
tests:
  - vars: {q: one}
    assert: [{type: contains, value: one, metric: has}]
  - vars: {q: two}
    assert: [{type: contains, value: Answer, metric: has}]
  - vars: {q: three}
    assert: [{type: javascript, value: "output.length / 40", metric: length}]
"""


@dataclass(frozen=True)
class Tool:
    """`package` is installed with `further_packages`, or `node_package` by npm. `files` are written into the working
    folder before `commands` run there; `{python}` is the interpreter of the environment, `{bin}` its folder of programs.
    `results`: pattern of a file that was written -> its name in the target.
    """

    commands: Sequence[str]
    results: dict[str, str]
    package: str = ""
    further_packages: str = ""
    node_package: str = ""
    files: dict[str, str] = field(default_factory=dict)


TOOLS = {
    "inspect": Tool(
        package="inspect_ai",
        files={"task.py": INSPECT},
        commands=["{python} task.py"],
        results={"out/*.eval": "sums.eval"},
    ),
    "deepeval": Tool(
        package="deepeval",
        files={"cases.py": DEEPEVAL},
        commands=["{python} cases.py"],
        results={
            ".deepeval/.latest_run_full.json": "latest_run_full.json",
            ".deepeval/.latest_test_run.json": "latest_test_run.json",
        },
    ),
    "lm-eval": Tool(
        package="lm_eval",
        files={
            "questions.jsonl": QUESTIONS,
            "choice.yaml": LM_EVAL.format(
                name="choice",
                output_type="multiple_choice",
                target="gold",
                metrics="  - {metric: acc, aggregation: mean, higher_is_better: true}",
            ),
            "likelihood.yaml": LM_EVAL.format(
                name="likelihood",
                output_type="loglikelihood",
                target='"{{choices[gold]}}"',
                metrics="  - {metric: perplexity, aggregation: perplexity, higher_is_better: false}",
            ).replace("doc_to_choice: choices\n", ""),
        },
        commands=[
            "{bin}/lm_eval --model dummy --tasks choice,likelihood --include_path . --log_samples"
            " --output_path out --seed 1"
        ],
        results={
            "out/**/samples_choice_*.jsonl": "",
            "out/**/samples_likelihood_*.jsonl": "",
            "out/**/results_*.json": "",
        },
    ),
    "ragas": Tool(
        package="ragas",
        # it imports a module that later versions of langchain-community do not have
        further_packages="rouge-score sacrebleu rapidfuzz 'langchain-community<0.4'",
        files={"rows.py": RAGAS},
        commands=["{python} rows.py"],
        results={name: name for name in ("rows.csv", "rows.jsonl", "reported.txt")},
    ),
    "promptfoo": Tool(
        node_package="promptfoo",
        files={"config.yaml": PROMPTFOO},
        commands=[
            "npx promptfoo eval -c config.yaml --no-cache --repeat 2 -o results.json -o results.csv"
            " || true"  # a test that fails is no failure of the run
        ],
        results={name: name for name in ("results.json", "results.csv")},
    ),
}

QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
}


def make(name: str, tool: Tool, folder: Path) -> str:
    """Install a tool, run it and keep its files; returns its version."""
    environment = folder / "environment"
    work = folder / "work"
    work.mkdir()
    if tool.package:
        run(f"{sys.executable} -m venv {environment}", work)
        run(f"{environment}/bin/python -m pip install --quiet uv", work)
        install = f"{environment}/bin/uv pip install --quiet --python {environment}/bin/python"
        run(f"{install} {tool.package} {tool.further_packages}", work)
        version = run(f"{environment}/bin/python -m pip show {tool.package}", work)
        version = version.partition("Version: ")[2].partition("\n")[0]
    else:
        run(f"npm install --silent --no-audit --no-fund {tool.node_package}", work)
        manifest = work / "node_modules" / tool.node_package / "package.json"
        version = json.loads(manifest.read_text())["version"]
    for file, text in tool.files.items():
        (work / file).write_text(text, encoding="utf-8")
    for command in tool.commands:
        run(command.format(python=f"{environment}/bin/python", bin=f"{environment}/bin"), work)
    target = TARGET / name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for pattern, kept in tool.results.items():
        (written,) = work.glob(pattern)
        text = written.read_bytes().replace(str(folder).encode(), b"...")
        if written.suffix == ".json":
            text = re.sub(rb"\n +", b"\n", text)  # indentation
        (target / (kept or written.name)).write_bytes(text)
    return version


def run(command: str, folder: Path) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, **QUIET},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def main() -> None:
    file = TARGET / "versions.json"
    for name in sys.argv[1:] or TOOLS:
        with tempfile.TemporaryDirectory() as folder:
            version = make(name, TOOLS[name], Path(folder))
        print(name, version)
        versions = json.loads(file.read_text()) if file.exists() else {}
        versions[name] = version
        file.write_text(json.dumps(versions, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
