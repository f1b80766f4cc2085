"""Small Conflict Review records for the tests."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evaltools.core.messages import Problems
from evaltools.suites.cr.schema import TupleRow
from evaltools.suites.cr.suite import write_scorecards
from evaltools.suites.cr.tuples import EvalTuple, read_tuple
from tests.files import read_json, write_lines


def t(ref: str = "", term: str = "", polarity: str = "positive") -> EvalTuple:
    return read_tuple(TupleRow(aspect_ref=ref, aspect_term=term, polarity=polarity))


def tup(ref: str, term: str, polarity: str | None = "positive", **more: Any) -> dict[str, Any]:
    return {"aspect_ref": ref, "aspect_term": term, "polarity": polarity, **more}


def output(
    text_id: str = "a",
    text: str = "향이 좋고 색이 예쁘다",
    stage1: list | None = None,
    final: list | None = None,
    **more: Any,
) -> dict:
    row: dict[str, Any] = {
        "meta": {"text_id": text_id, "input_text": text, "run_id": "r"},
        "final_result": {
            "label": "positive",
            "stage1_tuples": stage1 or [],
            "final_tuples": final or [],
        },
        "analysis_flags": {"review_actions": [], "arb_actions": []},
    }
    for key, value in more.items():
        row[key] = {**row[key], **value} if isinstance(value, dict) and key in row else value
    return row


def gold(uid: str, *tuples: dict[str, Any]) -> dict[str, Any]:
    return {"uid": uid, "gold_tuples": list(tuples)}


def run(folder: Path, outputs: list[dict], golds: list[dict] | None = None) -> Path:
    write_lines(folder / "outputs.jsonl", outputs)
    if golds is not None:
        write_lines(folder / "gold.jsonl", golds)
    return folder


def scorecard(made: dict, *tuples: dict[str, Any]) -> dict[str, Any]:
    """The scorecard of an output, as JSON, with these gold tuples."""
    with TemporaryDirectory() as folder:
        inside = run(Path(folder), [made], [gold(made["meta"]["text_id"], *tuples)])
        write_scorecards(inside, inside / "gold.jsonl", inside / "cards.jsonl", Problems())
        return read_json(inside / "cards.jsonl")
