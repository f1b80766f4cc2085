"""The protocol itself, without any model: merging, conflict flags, the arbiter's rule, the label, and memory.

Each function is of plain values, so that an arbiter can be replayed from stored votes. Memory is what was corrected in
other samples, shown to the reviewers of later ones; it holds no text and no gold.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, WithJsonSchema

from ....core.files import Fields, Names, dumps, grouped, toml_of_package

Polarity = Literal["positive", "negative", "neutral", "mixed"]
# the reasons, and what the arbiter and the flags go by
RULES = toml_of_package("suites/cr/inference/protocol.toml")

REASONS: list[str] = RULES["reasons"]


class Triplet(BaseModel):
    """One opinion as a model gives it; an empty term is an implied aspect. Fields that nobody asked for are ignored."""

    aspect_term: str
    aspect_ref: str | None = None
    polarity: Polarity
    opinion_term: str | None = None
    evidence: str | None = None
    span: Annotated[Any, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]})] = None
    confidence: float = Field(ge=0, le=1, allow_inf_nan=False)


class Triplets(BaseModel):
    """The reply of a lens, and of the single call."""

    triplets: list[Triplet]


class NewValue(BaseModel):
    polarity: Polarity | None = None


class Action(BaseModel):
    """What a reviewer asks for.

    Any reason parses: those that are none of REASONS are refused with the votes.
    """

    action_type: Literal["KEEP", "DROP", "FLIP", "MERGE", "FLAG"]
    target_tuple_ids: list[str]
    new_value: NewValue | None = None
    reason_code: Annotated[str, WithJsonSchema({"type": "string", "enum": REASONS})]

    @property
    def polarity(self) -> str:
        """The polarity of the new value, which a FLIP sets; "" where none is given."""
        return (self.new_value and self.new_value.polarity) or ""


class Actions(BaseModel):
    """The reply of a reviewer, and of the recheck."""

    review_actions: list[Action]


# where a term stands in the text: its `start` and `end`
Span = dict[str, int]


# A tuple under review, as outputs and prompts show it: tuple_id, aspect_ref, aspect_term, polarity, evidence, confidence,
# origin (the lenses that gave it), span (of the term in the text, None where it is implied), flags.
Candidate = Fields

# candidates that do not go together, shown to reviewers: conflict_type, aspect_ref, aspect_term, tuple_ids
Conflict = Fields


class Vote(Action):
    """An action on one candidate, as outputs.jsonl holds it; only a FLIP has a new value.

    `settled` is False for the arbiter's word where the votes did not decide.
    """

    actor: str
    settled: bool = Field(True, exclude=True)


# what a model gave that is not used: the actor, what, and why
Refused = list[dict[str, str]]

# the conflict of one opinion about the whole product and about a part of it
GRANULARITY = "granularity_overlap_candidate"


def merge(
    replies: Mapping[str, Triplets], text: str, refs: Names, refused: Refused
) -> list[Candidate]:
    """The candidates of the lenses' replies (lens -> reply, in order), t0, t1, ...

    A term stands in the text, as the text writes it; one that does not counts as implied where the
    tuple has a ref, and is refused where it has none. Candidates with one ref, term and polarity
    become one that keeps its origins and the highest confidence. What is refused is added to
    `refused`.
    """
    merged: dict[Any, Candidate] = {}
    for lens, reply in replies.items():
        for triplet in reply.triplets:
            ref, term = (triplet.aspect_ref or "").strip(), triplet.aspect_term.strip()
            span = find_term(term, text) if term else None
            if not ref and not span:
                why = "neither a ref nor a term of the text"
                refused.append({"actor": lens, "what": triplet.aspect_term, "why": why})
                continue
            flags = {
                "invalid_ref": ref and ref not in refs,
                "invalid_language": re.search("[A-Za-z]", term),
                "invalid_target": term and term == (triplet.opinion_term or "").strip(),
            }
            found = text[span["start"] : span["end"]] if span else ""
            candidate: Candidate = {
                "tuple_id": f"t{len(merged)}",
                "aspect_ref": ref,
                "aspect_term": found,
                "polarity": triplet.polarity,
                "evidence": triplet.evidence or "",
                "confidence": triplet.confidence,
                "origin": [lens],
                "span": span,
                "flags": [flag for flag, holds in flags.items() if holds],
            }
            first = merged.setdefault((ref, found, triplet.polarity), candidate)
            first["confidence"] = max(first["confidence"], triplet.confidence)
            for name in ("origin", "flags"):
                first[name] = list(dict.fromkeys([*first[name], *candidate[name]]))
    return list(merged.values())


def find_term(term: str, text: str) -> Span | None:
    """Where a term stands in a text, whatever its case and spacing; as it is written, if it does.

    >>> find_term("spf", "The SPF is low.")
    {'start': 4, 'end': 7}
    """
    match = re.search(re.escape(term), text) or re.search(
        r"\s*".join(re.escape(letter) for letter in "".join(term.split())), text, re.IGNORECASE
    )
    return {"start": match.start(), "end": match.end()} if match else None


def conflicts(candidates: Sequence[Candidate]) -> list[Conflict]:
    """What the reviewers are asked about."""
    flagged = []
    refs_first = sorted(candidates, key=lambda c: not c["aspect_ref"])
    same_aspect = grouped(
        refs_first, lambda c: (c["aspect_ref"], "" if c["aspect_ref"] else c["aspect_term"])
    )
    for (ref, term), group in same_aspect.items():
        if len({c["polarity"] for c in group}) > 1:
            kind = "ref_polarity_mismatch" if ref else "term_polarity_mismatch"
            flagged.append((kind, ref, term, group))
    with_attribute = [c for c in candidates if "#" in c["aspect_ref"]]
    same_attribute = grouped(
        with_attribute, lambda c: (c["aspect_ref"].partition("#")[2], c["polarity"])
    )
    for group in same_attribute.values():
        whole = [c for c in group if c["aspect_ref"].startswith(RULES["upper"] + "#")]
        if whole and len(whole) < len(group):
            flagged.append((GRANULARITY, whole[0]["aspect_ref"], "", group))
    return [
        {
            "conflict_type": kind,
            "aspect_ref": ref,
            "aspect_term": term,
            "tuple_ids": [c["tuple_id"] for c in group],
        }
        for kind, ref, term, group in flagged
    ]


def votes(
    replies: Mapping[str, Actions],
    candidates: Sequence[Candidate],
    flagged: Sequence[Conflict],
    refused: Refused,
) -> dict[str, list[Vote]]:
    """Candidate -> the votes on it, one a reviewer, whose first word on it counts.

    An action on an unknown or unflagged candidate, of another reason than REASONS, or a FLIP to
    nowhere is refused; silence abstains. MERGE counts as KEEP.
    """
    ballots: dict[str, list[Vote]] = {candidate["tuple_id"]: [] for candidate in candidates}
    for actor, reply in replies.items():
        silent = {name for conflict in flagged for name in conflict["tuple_ids"]}
        for action in reply.review_actions:
            kind = "KEEP" if action.action_type == "MERGE" else action.action_type
            is_whole = action.reason_code in REASONS and (kind != "FLIP" or action.polarity)
            for target in action.target_tuple_ids:
                if is_whole and target in silent:
                    silent.remove(target)
                    ballots[target].append(
                        Vote(
                            action_type=kind,
                            target_tuple_ids=[target],
                            new_value=action.new_value if kind == "FLIP" else None,
                            reason_code=action.reason_code,
                            actor=actor,
                        )
                    )
                else:
                    what = f"{action.action_type} {target} {action.reason_code}"[:80]
                    why = "no flagged candidate, a second word on one, a reason of no list, or a FLIP to nowhere"
                    refused.append({"actor": actor, "what": what, "why": why})
    return ballots


def arbitrate(
    ballots: Mapping[str, Sequence[Vote]], flagged: Sequence[Conflict]
) -> dict[str, Vote]:
    """Candidate -> the arbiter's word, for each that has votes, by rule.

    Two equal votes win, but for a granularity conflict with C against, which is flagged. FLIP, DROP
    and KEEP once each: FLIP or DROP for reasons that are strong enough, else FLAG. All other
    splits: FLAG.
    """
    granular = {
        name for c in flagged if c["conflict_type"] == GRANULARITY for name in c["tuple_ids"]
    }
    return {name: _decision(cast, name in granular) for name, cast in ballots.items() if cast}


def _decision(cast: Sequence[Vote], granular: bool) -> Vote:
    most = max(grouped(cast, lambda v: (v.action_type, v.polarity)).values(), key=len)
    settled = len(most) > 1
    reason = "REDUNDANT_REF_UNCERTAIN" if granular else "POLARITY_UNCERTAIN"
    if settled:
        if not (granular and any(v.actor == "C" and v not in most for v in cast)):
            return most[0]
        reason = "FACET_MINORITY_SIGNAL"
    by_action = {v.action_type: v for v in cast}
    if set(by_action) == {"FLIP", "DROP", "KEEP"}:
        for action, reasons in RULES["strong"].items():
            if by_action[action].reason_code in reasons:
                return by_action[action]
    return cast[0].model_copy(
        update={
            "action_type": "FLAG",
            "new_value": None,
            "reason_code": reason,
            "settled": settled,
        }
    )


def applied(candidates: Sequence[Candidate], decisions: Mapping[str, Vote]) -> Iterator[Candidate]:
    """The candidates after the decisions: DROP removes, FLIP sets the polarity, the order stays."""
    for candidate in candidates:
        decision = decisions.get(candidate["tuple_id"])
        if not decision or decision.action_type in ("KEEP", "FLAG"):
            yield candidate
        elif decision.action_type == "FLIP":
            yield {**candidate, "polarity": decision.polarity}


def label(candidates: Sequence[Candidate]) -> str:
    """The sentence's label: neutral without tuples, the one polarity of all, else mixed."""
    polarities = {candidate["polarity"] for candidate in candidates}
    if len(polarities) > 1:
        return "mixed"
    return next(iter(polarities), "neutral")


# --- memory

# episodes and characters of memory that a prompt holds at most
SHOWN, LETTERS = 3, 800

# characters up to which a text is short, and from which on it is long
SHORT, LONG = 30, 80


class Episode(BaseModel, frozen=True, extra="forbid"):
    """What a review taught. `stage1`, `final`: the polarities of each term; `corrected`: (action, reason) of what
    changed one.

    `source`: the hash of the sample, by which learning from what is evaluated is found out.
    """

    source: str
    language: str
    negation: bool
    contrast: bool
    length: str
    conflicts: Names = ()
    stage1: dict[str, list[str]] = {}
    final: dict[str, list[str]] = {}
    corrected: tuple[tuple[str, str], ...] = ()


def shape(text: str) -> Fields:
    """Language and structure of a text, by which episodes are kept and found.

    >>> shape("The smell is not good.")
    {'language': 'en', 'length': 'short', 'negation': True, 'contrast': False}
    """
    scripts = {"ko": "[가-힣]", "zh": "[一-鿿]"}
    found = (name for name, letters in scripts.items() if re.search(letters, text))
    length = "medium"
    if len(text) <= SHORT:
        length = "short"
    elif len(text) >= LONG:
        length = "long"
    return {
        "language": next(found, "en"),
        "length": length,
        "negation": bool(re.search(r"(?:^|\s)(?:안|못)\s|않|없|아니|\bnot\b|n't|不|没", text)),
        "contrast": bool(re.search(r"지만|는데|그러나|하지만|반면|다만|\bbut\b|但|可是", text)),
    }


def retrieved(episodes: Sequence[Episode], text: str) -> list[Episode]:
    """The episodes of a text's language that share most of its structure.

    At most SHOWN, latest first.
    """
    text_shape = shape(text)

    def n_shared(episode: Episode) -> int:
        compared = ("negation", "contrast", "length")
        return sum(getattr(episode, name) == text_shape[name] for name in compared)

    similar = [
        e for e in reversed(episodes) if e.language == text_shape["language"] and n_shared(e)
    ]
    return sorted(similar, key=n_shared, reverse=True)[:SHOWN]


def as_text(episodes: Iterable[Episode]) -> str:
    """What reviewers are shown: an episode a line, LETTERS at most, whole lines only."""
    text = ""
    for episode in episodes:
        line = dumps(episode.model_dump(exclude={"source"}))
        longer = f"{text}\n{line}" if text else line
        if len(longer) > LETTERS:
            break
        text = longer
    return text
