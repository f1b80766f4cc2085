"""Inference runs against a server on this machine that answers by the name of the schema."""

import json
from pathlib import Path
from typing import Any

from evaltools.core.messages import Problems
from evaltools.suites.cr.inference.plan import Plan
from evaltools.suites.cr.inference.run import run
from tests.files import read_lines, write_lines
from tests.model_server import Answer, Seen, says

TEXTS = [
    (
        "a",
        "보습은 좋은데 향이 별로예요.",
        [("본품#품질", "보습", "positive"), ("본품#품질", "향", "negative")],
    ),
    ("b", "가격이 저렴해요.", [("제품 전체#가격", "가격", "positive")]),
    ("c", "그냥 샀어요.", []),
    ("d", "향이 좋지 않아요.", [("본품#품질", "향", "negative")]),
]


def write(folder: Path, url: str, texts: list[Any] = TEXTS, model: str = "", **top: Any) -> Path:
    """A config and its data in a folder."""
    tuples = lambda gold: [{"aspect_ref": r, "aspect_term": t, "polarity": p} for r, t, p in gold]  # noqa: E731
    write_lines(
        folder / "data.jsonl", [{"id": i, "text": t, "gold_tuples": tuples(g)} for i, t, g in texts]
    )
    fields = {"run_id": "exp", "conditions": ["m0"], "seeds": [1], **top}
    sections = {k: v for k, v in fields.items() if isinstance(v, dict)}
    lines = [f"{k} = {json.dumps(v)}" for k, v in fields.items() if k not in sections]
    for name, section in sections.items():
        lines += [f"[{name}]", *(f"{k} = {json.dumps(v)}" for k, v in section.items())]
    lines += [
        "[data]",
        'file = "data.jsonl"',
        "[model]",
        'name = "m"',
        f'base_url = "{url}"',
        model,
    ]
    path = folder / "run.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def stage_of(seen: Seen) -> str:
    return seen.body["response_format"]["json_schema"]["name"]


def triplet(term: str, ref: str, polarity: str) -> dict[str, Any]:
    return {"aspect_term": term, "aspect_ref": ref, "polarity": polarity, "confidence": 0.9}


def sensible(seen: Seen) -> Answer:
    """The lenses disagree on sample d, and two reviewers drop what overlooks its negation."""
    stage, text = stage_of(seen), seen.data["text"]
    if stage.startswith("re"):
        return reviewed(seen, "" if stage == "review_b" else "DROP")
    found = [triplet(t, r, p) for i, x, g in TEXTS if x == text for r, t, p in g]
    if "않아" in text and stage == "p_lit":
        found = [triplet("향", "본품#품질", "positive")]
    return whole({"triplets": found})


def reviewed(seen: Seen, kind: str) -> Answer:
    """A review that does this, if anything, to what overlooks the negation of sample d."""
    candidates = seen.data["candidates"] if "않아" in seen.data["text"] else []
    wrong = [c["tuple_id"] for c in candidates if c["polarity"] == "positive"]
    action = {
        "action_type": kind,
        "target_tuple_ids": wrong,
        "new_value": None,
        "reason_code": "NEGATION_SCOPE",
    }
    return whole({"review_actions": [action] if kind and wrong else []})


def whole(reply: Any) -> Answer:
    usage = {"prompt_tokens": 900, "completion_tokens": 20}
    return says(json.dumps(reply, ensure_ascii=False), usage=usage)


def work(config: Path, out: Path, **settings: Any) -> list[tuple[Path, int, int]]:
    problems = Problems()
    results = run(Plan(config, None, problems), out, problems, quiet=True, **settings)
    return [(f, reasons.total(), reasons.total() - reasons[""]) for f, reasons in results.items()]


def rows(folder: Path, name: str = "outputs.jsonl") -> list[dict[str, Any]]:
    return read_lines(folder / name)


def timeless(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without what the clock and the weather of the network decide."""
    out = json.loads(json.dumps(found))
    for row in out:
        row["meta"].pop("latency_ms")
        for entry in row["process_trace"]:
            for name in ("api_ms", "wait_ms", "attempts"):
                entry["call"].pop(name)
    return out
