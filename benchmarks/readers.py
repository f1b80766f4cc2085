"""`evaltools convert` of large files of every format: seconds and memory.

    python benchmarks/readers.py                    100,000 samples of every format
    python benchmarks/readers.py lm-eval helm --samples 20000
    python benchmarks/readers.py --python OTHER/.venv/bin/python     with the package of another environment

The files are made of invented samples with the fields that the tools write, 300 letters of text each. Memory is the
peak of the process above that of converting one sample. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TEXT = "What is asked of the model here, and what it says to it. " * 5


def lines_of(path: Path, rows: Iterator[Any]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            text = row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)
            file.write(text + "\n")


def list_of(path: Path, rows: Iterator[Any], before: str = "[", after: str = "]") -> None:
    """A JSON document with the rows in a list, written row by row."""
    with path.open("w", encoding="utf-8") as file:
        file.write(before)
        for i, row in enumerate(rows):
            file.write((", " if i else "") + json.dumps(row, ensure_ascii=False))
        file.write(after)


def lm_eval(folder: Path, n: int) -> Path:
    def row(i: int) -> dict[str, Any]:
        return {
            "doc_id": i,
            "doc": {"question": f"{TEXT}{i}", "choices": ["1", "2"], "subject": "sums"},
            "target": "1",
            "arguments": {"gen_args_0": {"arg_0": f"{TEXT}{i}"}},
            "resps": [["1"]],
            "filtered_resps": ["1"],
            "filter": "none",
            "metrics": ["exact_match", "f1"],
            "doc_hash": f"{i:064x}",
            "prompt_hash": f"{i:064x}",
            "exact_match": i % 2,
            "f1": i % 10 / 10,
        }

    path = folder / "samples.jsonl"
    lines_of(path, (row(i) for i in range(n)))
    return path


def helm(folder: Path, n: int) -> Path:
    def row(i: int) -> dict[str, Any]:
        stats = []
        for name in ("exact_match", "quasi_exact_match", "num_references", "inference_runtime"):
            value = float(i % 2)
            spread = {"sum_squared": value, "min": value, "max": value, "mean": value}
            stats.append(
                {"name": {"name": name, "split": "test"}, "count": 1, "sum": value, **spread}
            )
        return {"instance_id": f"id{i}", "train_trial_index": 0, "stats": stats}

    path = folder / "per_instance_stats.json"
    list_of(path, (row(i) for i in range(n)))
    return path


def promptfoo(folder: Path, n: int) -> Path:
    def row(i: int) -> dict[str, Any]:
        return {
            "promptIdx": 0,
            "testIdx": i,
            "promptId": "p",
            "prompt": {"raw": f"Answer: {TEXT}{i}", "label": "Answer: {{q}}"},
            "provider": {"id": "echo", "label": ""},
            "vars": {"q": f"{TEXT}{i}"},
            "testCase": {"assert": [{"type": "contains", "value": "a", "metric": "has"}]},
            "response": {"output": TEXT},
            "success": i % 2 == 0,
            "score": i % 2,
            "namedScores": {"has": i % 2},
            "failureReason": i % 2,
        }

    path = folder / "results.json"
    before = '{"results": {"version": 3, "results": ['
    list_of(path, (row(i) for i in range(n)), before, "]}}")
    return path


def deepeval(folder: Path, n: int) -> Path:
    def row(i: int) -> dict[str, Any]:
        measured = []
        for name in ("Faithfulness", "Bias"):
            score = i % 10 / 10
            success = (score >= 0.5) == (name == "Faithfulness")
            measured.append({"name": name, "threshold": 0.5, "success": success, "score": score})
        texts = {"input": f"{TEXT}{i}", "actualOutput": TEXT, "expectedOutput": TEXT}
        return {"name": f"test_case_{i}", **texts, "metricsData": measured}

    path = folder / "run.json"
    list_of(path, (row(i) for i in range(n)), '{"testCases": [', "]}")
    return path


def ragas(folder: Path, n: int) -> Path:
    def row(i: int) -> dict[str, Any]:
        texts = {"user_input": f"{TEXT}{i}", "response": TEXT, "retrieved_contexts": [TEXT]}
        return {**texts, "faithfulness": i % 10 / 10, "answer_relevancy": None}

    path = folder / "ragas.jsonl"
    lines_of(path, (row(i) for i in range(n)))
    return path


def inspect(folder: Path, n: int) -> Path:
    header = {"version": 2, "status": "success", "eval": {"model": "m"}}
    path = folder / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as log:
        log.writestr("header.json", json.dumps(header))
        for i in range(n):
            sample = {
                "id": i,
                "epoch": 1,
                "input": f"{TEXT}{i}",
                "target": "a",
                "messages": [{"role": "user", "content": TEXT}],
                "output": {"completion": TEXT},
                "scores": {"match": {"value": "C"}},
                "events": [{"event": "model", "input": TEXT}] * 5,
            }
            log.writestr(f"samples/{i}_epoch_1.json", json.dumps(sample))
    return path


def every_eval_ever(folder: Path, n: int) -> Path:
    def row(i: int) -> dict[str, Any]:
        return {
            "model_id": "org/model",
            "evaluation_name": "sums",
            "sample_id": str(i),
            "input": {"raw": f"{TEXT}{i}", "reference": ["a"]},
            "output": {"raw": [TEXT]},
            "evaluation": {"score": i % 2, "is_correct": i % 2 == 1},
        }

    path = folder / "u_samples.jsonl"
    lines_of(path, (row(i) for i in range(n)))
    return path


def nikl(folder: Path, n: int) -> Path:
    def row(i: int) -> dict[str, Any]:
        annotation = [
            ["본품#품질", ["향", 0, 1], "positive"],
            ["본품#가격", [None, 0, 0], "negative"],
        ]
        return {"id": str(i), "sentence_form": f"향이 좋아요. {TEXT}{i}", "annotation": annotation}

    path = folder / "nikl.jsonl"
    lines_of(path, (row(i) for i in range(n)))
    return path


def semeval16(folder: Path, n: int) -> Path:
    def row(i: int) -> str:
        opinion = (
            '<Opinion target="food" category="FOOD#QUALITY" polarity="positive" from="0" to="4"/>'
        )
        text = f"<text>food {TEXT}{i}</text><Opinions>{opinion}</Opinions>"
        return f'<Review rid="{i}"><sentences><sentence id="{i}">{text}</sentence></sentences></Review>'

    path = folder / "semeval.xml"
    rows = (row(i) for i in range(n))
    with path.open("w", encoding="utf-8") as file:
        file.write("<Reviews>\n")
        file.writelines(f"{each}\n" for each in rows)
        file.write("</Reviews>\n")
    return path


def asqp(folder: Path, n: int) -> Path:
    path = folder / "asqp.txt"
    quads = "####[['food', 'food quality', 'positive', 'great']]"
    lines_of(path, (f"the food is great . {TEXT}{i}{quads}" for i in range(n)))
    return path


MAKERS: dict[str, tuple[Callable[[Path, int], Path], list[str]]] = {
    "inspect": (inspect, []),
    "lm-eval": (lm_eval, []),
    "promptfoo": (promptfoo, []),
    "deepeval": (deepeval, []),
    "ragas": (ragas, []),
    "helm": (helm, []),
    "every-eval-ever": (every_eval_ever, []),
    "nikl": (nikl, []),
    "semeval16": (semeval16, []),
    "asqp": (asqp, []),
}


def converted(python: str, name: str, file: Path, options: list[str]) -> tuple[float, float]:
    """Seconds of the processor, and MB of the peak of the process."""
    command = [str(Path(python).with_name("evaltools")), "convert", name, str(file)]
    command += ["-o", f"{file}.out.jsonl", *options]
    quiet = os.open(os.devnull, os.O_WRONLY)
    process = os.posix_spawn(
        command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, quiet, 1)]
    )
    _, status, usage = os.wait4(process, 0)
    os.close(quiet)
    if status:
        raise SystemExit(f"{name}: failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formats", nargs="*", default=list(MAKERS))
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    print("| format | file, MB | rows | CPU s | peak MB above one sample | peak / file |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in options.formats:
        make, further = MAKERS[name]
        with tempfile.TemporaryDirectory() as folder:
            _, least = converted(options.python, name, make(Path(folder), 1), further)
            file = make(Path(folder), options.samples)
            seconds, peak = converted(options.python, name, file, further)
            size = file.stat().st_size / 2**20
            with Path(f"{file}.out.jsonl").open("rb") as rows:
                n_rows = sum(1 for _ in rows)
        print(
            f"| {name} | {size:.0f} | {n_rows:,} | {seconds:.1f} | {peak - least:.0f} "
            f"| {(peak - least) / size:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
