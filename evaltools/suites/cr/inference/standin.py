"""A stand-in for a model, by rules: so that the example runs without a key and a network.

It is no model.
"""

import hashlib
import json
import re
from collections.abc import Iterator

from ....core.files import Fields, dumps, toml_of_package
from ....llm.client import Client
from ..schema import STAND_IN

WORDS = toml_of_package("suites/cr/inference/standin.toml")
CLAUSE = f".*?(?:{'|'.join(map(re.escape, WORDS['clause_ends']))}|$)"


class StandIn(Client):
    """Answers each request from its own text: the same request always gets the same answer."""

    async def _post(self, body: Fields) -> bytes:
        stage = body["response_format"]["json_schema"]["name"]
        user = body["messages"][1]["content"]
        data = json.loads(user.split("\n")[1])
        if "candidates" in data:
            reply = dumps({"review_actions": list(_actions(stage, data))})
        else:
            # what varies from seed to seed, by the seed and the text: a number from 0 to 255
            draw = hashlib.sha256(f"{body['seed']}{user}".encode()).digest()[0]
            reply = dumps({"triplets": list(_triplets(stage, data["text"], draw))})
        choice = {"message": {"content": reply}, "finish_reason": "stop"}
        return dumps({"model": STAND_IN, "choices": [choice]}).encode()


def _holds(
    text: str,
    kind: str,
) -> bool:
    return any(word in text for word in WORDS[kind])


def _triplets(
    stage: str,
    text: str,
    draw: int,
) -> Iterator[Fields]:
    """Nouns of the list with the words of their clause.

    Negation is seen by P-NEG, what is implied by P-IMP, and by the others for some seeds.
    """
    sees_negation = stage in ("p_neg", "s0") or draw % 4 == 0
    sees_implied = stage in ("p_imp", "s0") or draw % 3 == 0
    for clause in re.findall(CLAUSE, text):
        good = _holds(clause, "good")
        if good == _holds(clause, "bad"):
            continue
        if sees_negation and _holds(clause, "negation"):
            good = not good
        polarity = "positive" if good else "negative"
        nouns = {noun: ref for noun, ref in WORDS["aspects"].items() if noun in clause}
        if not nouns and sees_implied:
            nouns = {"": "제품 전체#일반"}
        for noun, ref in nouns.items():
            yield {
                "aspect_term": noun,
                "aspect_ref": ref,
                "polarity": polarity,
                "confidence": 0.9 if noun else 0.5,
                "evidence": clause.strip(),
            }


def _actions(
    stage: str,
    data: Fields,
) -> Iterator[Fields]:
    """Of candidates that disagree those are dropped that overlook a negation."""
    for candidate in data["candidates"]:
        evidence = candidate["evidence"]
        is_positive = _holds(evidence, "good") != _holds(evidence, "negation")
        right = is_positive == (candidate["polarity"] == "positive")
        keep = right or (stage == "review_b" and len(candidate["origin"]) > 1)
        yield {
            "action_type": "KEEP" if keep else "DROP",
            "target_tuple_ids": [candidate["tuple_id"]],
            "reason_code": "KEEP_BEST_SUPPORTED" if keep else "NEGATION_SCOPE",
        }
