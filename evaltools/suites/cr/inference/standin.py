"""A stand-in for a model, by rules: so that the example runs without a key and a network. It is no model."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ....llm.client import Call, Client
from ..schema import STAND_IN
from .prompts import data_of

WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


class StandIn(Client):
    """Answers each request from its own text: the same request always gets the same answer."""

    async def _sent(self, form: Mapping[str, Any], call: Call) -> str:
        stage = form["response_format"]["json_schema"]["name"]
        data, drawn = data_of(form), _drawn(form)
        found = {"review_actions": list(_actions(stage, data))} if "candidates" in data else None
        reply = json.dumps(
            found or {"triplets": list(_triplets(stage, data["text"], drawn))}, ensure_ascii=False
        )
        call.attempts += 1
        call.model, call.finish_reason = STAND_IN, "stop"
        call.tokens_in, call.tokens_out = (
            len(s) // 2 for s in (form["messages"][1]["content"], reply)
        )
        self.spent.tokens += call.tokens_in + call.tokens_out
        self._reached = True
        return reply


def _drawn(form: Mapping[str, Any]) -> int:
    """A number from the request and its seed, for what varies from seed to seed."""
    said = form["messages"][1]["content"]
    return hashlib.sha256(f"{form['seed']}{said}".encode()).digest()[0]


def _holds(text: str, kind: str) -> bool:
    return any(word in text for word in WORDS[kind])


def _clauses(text: str) -> list[str]:
    for mark in WORDS["clause_ends"]:
        text = text.replace(mark, mark + "\n")
    return [clause for clause in text.split("\n") if clause.strip()]


def _triplets(stage: str, text: str, drawn: int) -> Iterator[dict[str, Any]]:
    """Nouns of the list with the words of their clause; only P-NEG sees negation, only P-IMP what is implied."""
    for clause in _clauses(text):
        good = _holds(clause, "good")
        if good == _holds(clause, "bad"):
            continue
        turned = _holds(clause, "negation") and (stage in ("p_neg", "s0") or drawn % 4 == 0)
        polarity = "positive" if good != turned else "negative"
        named = {noun: ref for noun, ref in WORDS["aspects"].items() if noun in clause}
        if not named and (stage in ("p_imp", "s0") or drawn % 3 == 0):
            named = {"": "제품 전체#일반"}
        for noun, ref in named.items():
            yield _triplet(noun, ref, polarity, clause, 0.9 if noun else 0.5)


def _triplet(term: str, ref: str, polarity: str, clause: str, confidence: float) -> dict[str, Any]:
    fields = {
        "aspect_term": term,
        "aspect_ref": ref,
        "polarity": polarity,
        "confidence": confidence,
    }
    return {**fields, "opinion_term": None, "evidence": clause.strip(), "span": None}


def _actions(stage: str, data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Of candidates that disagree those are dropped that overlook a negation; the others are kept."""
    flagged = {i for c in data["conflict_flags"] for i in c["tuple_ids"]}
    for c in data["candidates"]:
        if c["tuple_id"] not in flagged:
            continue
        positive = _holds(c["evidence"], "good") != _holds(c["evidence"], "negation")
        right = (c["polarity"] == "positive") == positive
        lenient = stage == "review_b" and len(c["origin"]) > 1
        action, reason = (
            ("KEEP", "KEEP_BEST_SUPPORTED") if right or lenient else ("DROP", "NEGATION_SCOPE")
        )
        yield {
            "action_type": action,
            "target_tuple_ids": [c["tuple_id"]],
            "new_value": None,
            "reason_code": reason,
        }
