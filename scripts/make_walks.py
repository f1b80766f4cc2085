"""docs/from-*.md: what a user of another tool types, with what it prints, on small synthetic files in that format.

python scripts/make_walks.py        all pages, in a temporary folder
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import evaltools

DOCS = Path(__file__).parents[1] / "docs"
N = 60
SYSTEMS = {"base": 0.5, "tuned": 0.75}
QUALITY = random.Random(7)
HARD = [QUALITY.random() for _ in range(N)]
DATE = "2026-03-02T10-00-00.000001"


def right(rng: random.Random, i: int, skill: float) -> float:
    return float(rng.random() < skill - 0.6 * (HARD[i] - 0.5))


def score(rng: random.Random, i: int, skill: float) -> float:
    return round(min(1.0, max(0.0, skill - 0.6 * (HARD[i] - 0.5) + rng.gauss(0, 0.15))), 3)


def put(path: str, value: Any, *, lines: bool = False) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in value) if lines else json.dumps(value)
    Path(path).write_text(text, encoding="utf-8")


def lm_eval(name: str, skill: float, rng: random.Random) -> float:
    line = {"filter": "strict-match", "metrics": ["exact_match"]}
    rows = [
        {"doc_id": i, "doc_hash": f"h{i}", **line, "exact_match": right(rng, i, skill)}
        for i in range(N)
    ]
    value = mean(row["exact_match"] for row in rows)
    put(f"{name}/samples_gsm8k_{DATE}.jsonl", rows, lines=True)
    results = {"results": {"gsm8k": {"exact_match,strict-match": value}}, "model_name": name}
    put(
        f"{name}/results_{DATE}.json",
        {**results, "higher_is_better": {"gsm8k": {"exact_match": True}}},
    )
    return value


def inspect(name: str, skill: float, rng: random.Random) -> float:
    header = {"version": 2, "status": "success", "eval": {"task": "t", "model": f"openai/{name}"}}
    values = {(i, e): right(rng, i, skill) for e in (1, 2, 3) for i in range(N)}
    with zipfile.ZipFile(f"{name}.eval", "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr("header.json", json.dumps(header))
        for (i, e), value in values.items():
            sample = {"id": i, "epoch": e, "scores": {"match": {"value": "C" if value else "I"}}}
            log.writestr(f"samples/{i}_epoch_{e}.json", json.dumps(sample))
    return mean(values.values())


def promptfoo(name: str, skill: float, rng: random.Random) -> float:
    path = Path("results.json")
    content = (
        json.loads(path.read_text())
        if path.exists()
        else {"results": {"version": 3, "results": []}}
    )
    values = [right(rng, i, skill) for i in range(N)]
    about = {
        "promptIdx": list(SYSTEMS).index(name),
        "provider": {"id": f"openai:{name}", "label": name},
    }
    content["results"]["results"] += [
        {
            **about,
            "testIdx": i,
            "vars": {"q": f"question {i}"},
            "success": v == 1,
            "score": v,
            "failureReason": 0,
        }
        for i, v in enumerate(values)
    ]
    put("results.json", content)
    return mean(values)


def deepeval(name: str, skill: float, rng: random.Random) -> float:
    values = [score(rng, i, skill) for i in range(N)]
    metric = {"name": "Faithfulness", "threshold": 0.5, "error": None}
    cases = [
        {
            "name": f"test_case_{i}",
            "input": f"q{i}",
            "metricsData": [{**metric, "score": v, "success": v >= 0.5}],
        }
        for i, v in enumerate(values)
    ]
    put(f"{name}/.latest_run_full.json", {"testCases": cases})
    return mean(v >= 0.5 for v in values)


def ragas(name: str, skill: float, rng: random.Random) -> float:
    rows = [
        {"user_input": f"q{i}", "response": "r", "faithfulness": score(rng, i, skill)}
        for i in range(N)
    ]
    put(f"{name}.jsonl", rows, lines=True)
    return mean(row["faithfulness"] for row in rows)


def helm(name: str, skill: float, rng: random.Random) -> float:
    values = {(i, t): right(rng, i, skill) for t in (0, 1, 2) for i in range(N)}
    stat = {"name": {"name": "exact_match", "split": "test"}, "count": 1}
    rows = [
        {"instance_id": f"id{i}", "train_trial_index": t, "stats": [{**stat, "sum": v}]}
        for (i, t), v in values.items()
    ]
    put(f"{name}/per_instance_stats.json", rows)
    return mean(values.values())


def absa(name: str, skill: float, rng: random.Random) -> float:
    words = [f"the food{i} was fine and the staff kind" for i in range(N)]
    both = [
        f"[['food{i}', 'food quality', 'positive', 'fine'], ['staff', 'service', 'positive', 'kind']]"
        for i in range(N)
    ]
    one = [f"[['food{i}', 'food quality', 'positive', 'fine']]" for i in range(N)]
    found = [a if right(rng, i, skill) else b for i, (a, b) in enumerate(zip(both, one))]
    Path("test.txt").write_text("".join(f"{w}####{g}\n" for w, g in zip(words, both)))
    Path(f"{name}.txt").write_text("".join(f"{w}####{g}\n" for w, g in zip(words, found)))
    tp, given = sum(1 + (f in both) for f in found), sum(1 + (f in both) for f in found)
    return 2 * tp / (given + 2 * N)


def micro_f1(name: str) -> float:
    return evaltools.evaluate("cr", name, gold=Path("gold.jsonl")).value("tuple_f1_s2_refpol_micro")


def aggregated() -> list[float]:
    files = Path("outputs/results").glob("*_aggregated/metrics.json")
    return [m["value"] for file in files for m in json.loads(file.read_text())["metrics"]]


@dataclass(frozen=True)
class Walk:
    """A page: its first words, what is typed, how the tool's own number compares (`values`), what to know."""

    title: str
    make: Callable[[str, float, random.Random], float]
    about: str
    commands: Sequence[str]
    reported: str
    know: Sequence[str]


COMMON = (
    "Numbers without a report: `evaltools score table FILE`. A check for CI: [gate.md](gate.md). What every format has in"
    " common: [formats.md](formats.md).",
)
CONDITION = "What the file does not say is asked for: `--condition NAME` and `--seed NAME`, once or for each file."

WALKS = {
    "lm-eval": Walk(
        "Coming from lm-eval",
        lm_eval,
        "You ran two models with `--log_samples` and have a `samples_TASK_DATE.jsonl` of each. Which is better?",
        (
            "evaltools convert lm-eval base/samples_gsm8k_*.jsonl tuned/samples_gsm8k_*.jsonl -o gsm8k.jsonl",
            "evaltools report table gsm8k.jsonl",
        ),
        "lm-eval's own `exact_match,strict-match` of these samples is their mean, {values}: the same numbers.",
        (
            "A metric keeps lm-eval's own key, `METRIC,FILTER`; samples are paired by `doc_hash`.",
            "The model's name and the direction of each metric come from `results_DATE.json` beside the samples; without it,"
            " name the models with `--condition`. A metric of several tasks is refused."
            " Convert one task at a time.",
            "The direction is that of the samples' own values. Of perplexities a sample holds a log-likelihood (of words and"
            " bytes with their number, so that ours is a ratio): more is better there, and lm-eval's number is exp(-mean). A metric"
            " of which lm-eval's number is not the mean of its samples has no direction, and is named.",
            "A file that was renamed names no task: of such files convert one at a time, or name each with `--condition`."
            " Values that are texts or lists (BLEU, Brier score) are not measured, and counted. Logs of 2024 are read, too.",
            'What was asked, output, target and the fields of the document are columns of the units: `run.by("topic")`.',
            *COMMON,
        ),
    ),
    "inspect": Walk(
        "Coming from Inspect",
        inspect,
        "You have the logs of two models, here of three epochs each. Which is better?",
        (
            "evaltools convert inspect base.eval tuned.eval -o logs.jsonl",
            "evaltools report table logs.jsonl",
        ),
        "Inspect's own `accuracy` of these logs is the mean over all samples and epochs, {values}: the same numbers.",
        (
            "Epochs are trials of a sample and are resampled with it: the interval speaks for new samples and new draws. The model"
            " is the condition. A folder of logs may be given.",
            "C, P, I and N count 1, 0.5, 0 and 0 as in Inspect; a value that is missing or NaN, or of a sample that ended in an"
            " error, is not measured.",
            "More is better of words, truth values, scores with an accuracy and Inspect's own scorers. Of other numbers a log does"
            " not say it: they are described and never judged, until `--higher NAME` or `--lower NAME` of `report table` says it.",
            "The score that the log leads with is first. Values that are lists are not measured, and samples without a score"
            " neither; the command counts both. A task with other arguments or another data set is another task. Output, target"
            " and metadata are columns of the units.",
            "Back again: `evaltools score SUITE RUN --inspect-scores FILE` writes rows that Inspect reads as precomputed scores.",
            *COMMON,
        ),
    ),
    "promptfoo": Walk(
        "Coming from promptfoo",
        promptfoo,
        "`promptfoo eval -o results.json` of two providers. Which is better?",
        (
            "evaltools convert promptfoo results.json -o results.jsonl",
            "evaltools report table results.jsonl",
        ),
        "promptfoo's own pass rate of these results is {values}: the same numbers.",
        (
            "Metrics are `success` (whose mean is the pass rate), `score` and the named scores; the provider is the condition, with"
            " its prompt where it has several.",
            "A prompt is called by its label. A test is named by a hash of its variables and assertions, so that the same test"
            " pairs over files whatever its place; repeats (`--repeat`) are trials of it, and are resampled with it.",
            "A call that ended in an error (`failureReason` 2) is no success, as in promptfoo's pass rate; its other scores are not"
            " measured. The command says how many there are.",
            "The results line by line (`-o results.jsonl`) are read, too; CSV, HTML and YAML do not hold all scores.",
            "Variables, output, error, description and metadata of a test are columns of the units.",
            *COMMON,
        ),
    ),
    "deepeval": Walk(
        "Coming from deepeval",
        deepeval,
        "You kept `.latest_run_full.json` of two systems. Which is better?",
        (
            "evaltools convert deepeval base/.latest_run_full.json tuned/.latest_run_full.json"
            " --condition base --condition tuned -o faith.jsonl",
            "evaltools report table faith.jsonl",
        ),
        "deepeval's own pass rate of `Faithfulness` in these runs is {values}: the means of `Faithfulness passed`.",
        (
            "Each metric gives two: its score, and `NAME passed`. One that ended in an error is not measured.",
            "The direction of a score is that in which its threshold is passed. Where no case tells (all at the threshold), it has"
            " none. `.latest_test_run.json` is read, too.",
            "Conversations are cases, too. Cases that share a name are numbered instead, and a second metric of one name on a case is"
            " `NAME (2)`.",
            CONDITION,
            *COMMON,
        ),
    ),
    "ragas": Walk(
        "Coming from ragas",
        ragas,
        "You saved the rows of two systems (`result.to_pandas().to_csv(...)`, or JSON lines). Which is better?",
        (
            "evaltools convert ragas base.jsonl tuned.jsonl --condition base --condition tuned -o rag.jsonl",
            "evaltools report table rag.jsonl",
        ),
        "ragas' own `faithfulness` of these rows is their mean, {values}: the same numbers.",
        (
            "Every column of numbers is a metric but those that describe the sample; an empty cell or NaN is not measured, and"
            " stands as such in the rows.",
            "More is better of ragas' own scores, less of `noise_sensitivity`. Of other columns (an aspect critic may ask for"
            " something bad) it is not known: `--higher NAME` or `--lower NAME` of `report table` says it.",
            "Rows are paired by their place in the file: keep both in the order of the data set.",
            CONDITION,
            *COMMON,
        ),
    ),
    "helm": Walk(
        "Coming from HELM",
        helm,
        "You have `per_instance_stats.json` of two models, here of three trials each. Which is better?",
        (
            "evaltools convert helm base/per_instance_stats.json tuned/per_instance_stats.json"
            " --condition base --condition tuned -o helm.jsonl",
            "evaltools report seeds --suite table helm.jsonl",
        ),
        "HELM's own `exact_match` of these instances is their mean over all trials, {values}: the same numbers.",
        (
            "`sum` and `count` of an instance are numerator and denominator; the trial is the seed. A perturbed instance has a"
            " metric of its own. Where the file holds several splits, give `--split`.",
            "A folder of a run, or of runs, may be given: `run_spec.json` beside the file names the model and the main metric,"
            " which leads; `scenario_state.json` holds the texts, the answers and the right ones. What HELM keeps books of (`num_...`, `..._runtime`) has no direction.",
            *COMMON,
        ),
    ),
    "absa": Walk(
        "Coming from an ABSA data set",
        absa,
        "You have the test file of a data set, and the predictions of two systems in the same format: `nikl`, `semeval14`,"
        " `semeval15`, `semeval16`, `aste`, `asqp`, `tasd` or `acos`. Which is better?",
        (
            "evaltools convert asqp test.txt -o gold.jsonl",
            "evaltools convert asqp base.txt -o base/outputs.jsonl --as predictions",
            "evaltools convert asqp tuned.txt -o tuned/outputs.jsonl --as predictions",
            "evaltools compare base tuned --gold gold.jsonl",
        ),
        "Micro F1 of (category, polarity) is {values}: `tuple_f1_s2_refpol_micro`, which `--all` shows. Papers count whole tuples, with their terms and opinions. The headline is the mean F1 of a sentence, which has an interval over sentences of equal weight.",
        (
            "`evaltools report cr base/outputs.jsonl --gold gold.jsonl` is the report on one; it leads with Tuple F1 and leaves out"
            " what only a run of Conflict Review has.",
            "Keys: ref-pol compares (category, polarity), ote-pol (term, polarity). `aste` and `semeval14 --level term` have no"
            " category: add `--protocol cr_v1`. `semeval14 --level category`, laptops of `semeval15` and predictions of `nikl` have"
            " no term: read ref-pol only.",
            "Words of opinions (ASTE, ASQP, ACOS) are no part of a tuple. `conflict` is our `mixed`. Sentences out of scope are"
            " left out. A review of `semeval16` whose opinions are of the whole text is one sample.",
            "A file without any tuple (the test files of SemEval without labels) is no gold and refused.",
            "Why rescore: [absa-scorers.md](absa-scorers.md).",
        ),
    ),
}


def page(name: str, walk: Walk) -> str:
    for old in Path().iterdir():
        subprocess.run(["rm", "-rf", str(old)], check=True)
    rng = random.Random(3)
    values = {system: walk.make(system, skill, rng) for system, skill in SYSTEMS.items()}
    shown = []
    for command in walk.commands:
        python = command.replace("evaltools", f"{sys.executable} -m evaltools.app.cli", 1)
        done = subprocess.run(["bash", "-c", python], capture_output=True, text=True, check=True)
        shown.append(f"$ {command}\n{done.stdout.strip()}")
    reported = " and ".join(f"{value:.4f} ({system})" for system, value in values.items())
    output = "\n\n".join(shown)
    ours = [micro_f1(system) for system in SYSTEMS] if name == "absa" else aggregated()
    if lacking := [v for v in values.values() if not any(abs(v - o) < 1e-9 for o in ours)]:
        raise SystemExit(f"{name}: {lacking} is not among our numbers")
    return "\n".join(
        [
            f"# {walk.title}",
            "",
            walk.about,
            "",
            f"```console\n{output}\n```",
            "",
            walk.reported.format(values=reported),
            "",
            *(f"- {line}" for line in walk.know),
            "",
            f"Made by `scripts/make_walks.py` on {N} synthetic samples.",
            "",
        ]
    )


def main() -> None:
    import os

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in sys.argv[1:] or WALKS:
            (DOCS / f"from-{name}.md").write_text(page(name, WALKS[name]), encoding="utf-8")
            print(name)


if __name__ == "__main__":
    main()
