"""Small files as other tools write them."""

import json
from pathlib import Path
from typing import Any

from tests.files import read_json, read_lines

from ..app.calling import call

NAN = float("nan")

FILES = Path(__file__).parents[1] / "data" / "formats"
"""What the tools themselves wrote in their current versions."""


def sample(
    i: int | str, epoch: int, value: Any, error: str | None = None, **scores: Any
) -> dict[str, Any]:
    return {
        "id": i,
        "epoch": epoch,
        "input": f"question {i}",
        "target": "A",
        "error": error,
        "scores": {
            "match": {"value": value, "answer": "A"},
            **{k: {"value": v} for k, v in scores.items()},
        },
    }


HEADER = {
    "version": 2,
    "status": "success",
    "eval": {"task": "t", "model": "openai/gpt-4o", "run_id": "r"},
}


SAMPLES = [
    sample(1, 1, "C", judge=NAN),
    sample(2, 1, "P", judge=0.25),
    sample("x", 1, "I", judge={"form": True, "tone": 3}),
    sample(1, 2, "N", judge=None),
    sample(2, 2, "C", error="timeout", judge=1.0),
]


INSPECT = {**HEADER, "samples": SAMPLES}


STRICT = {"filter": "strict", "metrics": ["exact_match"], "doc": {}}


LM_EVAL = [
    {**STRICT, "doc_id": 0, "doc_hash": "aa", "exact_match": 1.0},
    {**STRICT, "doc_id": 0, "doc_hash": "aa", "exact_match": 1.0, "filter": "flexible"},
    {
        **STRICT,
        "doc_id": 1,
        "doc_hash": "bb",
        "exact_match": 0,
        "metrics": ["exact_match", "word_perplexity", "bleu"],
        "word_perplexity": [-3, 4],
        "bleu": "a text",
    },
    {
        **STRICT,
        "doc_id": 2,
        "doc_hash": "bb",
        "exact_match": 1,
        "metrics": ["exact_match", "nll"],
        "nll": NAN,
    },
    {**STRICT, "doc_id": 3, "exact_match": False, "metrics": ["exact_match", "nll"], "nll": 2.5},
]


def outcome(
    test: int, provider: str, score: float, *, failure: int = 0, prompt: int = 0
) -> dict[str, Any]:
    return {
        "promptIdx": prompt,
        "testIdx": test,
        "provider": {"id": "openai:" + provider, "label": provider},
        "vars": {"q": f"question {test}"},
        "success": score >= 0.5,
        "score": score,
        "namedScores": {"tone": score / 2},
        "failureReason": failure,
    }


PROMPTFOO = {
    "evalId": "e",
    "results": {
        "version": 3,
        "results": [
            outcome(0, "a", 1.0),
            outcome(1, "a", 0.25, failure=1),
            outcome(0, "a", 0.5),
            outcome(1, "a", 0.0, failure=2),
            outcome(0, "b", 0.0, prompt=1),
            outcome(0, "b", 1.0, prompt=2),
        ],
    },
}


DEEPEVAL = read_json(FILES / "deepeval/latest_run_full.json")
RAGAS = read_lines(FILES / "ragas/rows.jsonl")


CONTENT: dict[str, Any] = {
    "inspect": INSPECT,
    "promptfoo": PROMPTFOO,
    "deepeval": DEEPEVAL,
    "lm-eval": LM_EVAL,
    "ragas": RAGAS,
}


LINES = ("lm-eval", "ragas")


def put(folder: Path, form: str, content: Any = None, name: str = "in.json") -> Path:
    path, content = folder / name, CONTENT[form] if content is None else content
    text = (
        "".join(json.dumps(row) + "\n" for row in content) if form in LINES else json.dumps(content)
    )
    path.write_text(text, encoding="utf-8")
    return path


def refused(form: str, path: Path, *more: str | Path) -> str:
    """What `convert` says of files that it refuses; nothing is written."""
    target = path.with_name("refused.jsonl")
    said = call("convert", form, path, *more, "-o", target, status=3).output
    assert not target.exists()
    return said


def changed(content: Any, *path: Any, value: Any) -> Any:
    """The content with another value at a path; None takes it away."""
    out = json.loads(json.dumps(content))
    at = out
    for part in path[:-1]:
        at = at[part]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return out
