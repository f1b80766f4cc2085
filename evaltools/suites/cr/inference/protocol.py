"""The protocol itself, without any model: merging, conflict flags, the arbiter's rule, the label.

Each function is of plain values, so that an arbiter can be replayed from stored votes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

T = TypeVar("T")

Polarity = Literal["positive", "negative", "neutral", "mixed"]
Policy = Literal["strict", "original"]

RULES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""The reasons, and what the arbiter and the flags go by."""

REASONS: list[str] = RULES["reasons"]


class Reply(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Triplet(Reply):
    """One opinion as a model gives it; an empty term is an implied aspect."""

    aspect_term: str
    aspect_ref: str | None = None
    polarity: Polarity
    opinion_term: str | None = None
    evidence: str | None = None
    span: Annotated[Any, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]})] = None
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Triplets(Reply):
    """The reply of a lens, and of the single call."""

    triplets: list[Triplet]


class NewValue(Reply):
    polarity: Polarity | None = None


class Action(Reply):
    """What a reviewer asks for. Any reason parses: the strict policy refuses those that are none of REASONS."""

    action_type: Literal["KEEP", "DROP", "FLIP", "MERGE", "FLAG"]
    target_tuple_ids: list[str]
    new_value: NewValue | None = None
    reason_code: Annotated[str, WithJsonSchema({"type": "string", "enum": REASONS})]


class Actions(Reply):
    """The reply of a reviewer, and of the recheck."""

    review_actions: list[Action]


COLUMNS = {
    "id": "tuple_id",
    "ids": "tuple_ids",
    "ref": "aspect_ref",
    "term": "aspect_term",
    "kind": "conflict_type",
}


@dataclass(frozen=True)
class Named:
    """What outputs and prompts have a row of."""

    @property
    def row(self) -> dict[str, Any]:
        """The fields under the names that they have there; a span as an object, null where the term is implied."""
        row = {COLUMNS.get(k, k): v for k, v in asdict(self).items()}
        return row | {"span": dict(zip(("start", "end"), row["span"]))} if row.get("span") else row


@dataclass(frozen=True)
class Candidate(Named):
    """A tuple under review. `span`: of the term in the text, (start, end); `origin`: the lenses that gave it."""

    id: str
    ref: str
    term: str
    polarity: str
    evidence: str
    confidence: float
    origin: tuple[str, ...]
    span: tuple[int, int] | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Conflict(Named):
    kind: str
    ref: str
    term: str
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Vote:
    """What a reviewer, or the arbiter, wants of one candidate; `polarity` of a FLIP.

    `settled` is False for the arbiter's word where the votes did not decide.
    """

    actor: str
    action: str
    reason: str
    polarity: str = ""
    settled: bool = True


ARBITER = "ARB"

Refused = list[tuple[str, str, str]]
"""What was given and not used, and why: (who, what, why)."""


_LATIN = re.compile(r"[A-Za-z]")


def merge(
    replies: Mapping[str, Sequence[Triplet]],
    text: str,
    refs: Iterable[str],
    policy: Policy,
    refused: Refused,
) -> list[Candidate]:
    """The candidates of the lenses' replies (lens -> triplets, in order), t0, t1, ...

    A term stands in the text, as the text writes it; one that does not counts as implied where the tuple has a ref,
    and is refused where it has none. strict: candidates with one ref, term and polarity become one that keeps its
    origins and the highest confidence. original: nothing is merged, each flag halves the confidence.
    """
    known = set(refs)
    given = [
        _candidate(lens, one, text, known, refused)
        for lens, triplets in replies.items()
        for one in triplets
    ]
    usable = [one for one in given if one is not None]
    groups = grouped(usable, (lambda c: (c.ref, c.term, c.polarity)) if policy == "strict" else id)
    found = []
    for number, group in enumerate(groups.values()):
        flags = tuple(dict.fromkeys(flag for c in group for flag in c.flags))
        origin = tuple(dict.fromkeys(lens for c in group for lens in c.origin))
        confidence = max(c.confidence for c in group) / (
            2 ** len(flags) if policy == "original" else 1
        )
        found.append(
            replace(group[0], id=f"t{number}", origin=origin, flags=flags, confidence=confidence)
        )
    return found


def _candidate(
    lens: str, given: Triplet, text: str, refs: set[str], refused: Refused
) -> Candidate | None:
    ref, term = (given.aspect_ref or "").strip(), given.aspect_term.strip()
    span = _place(term, text) if term else None
    flags = {
        "invalid_ref": bool(ref) and ref not in refs,
        "invalid_language": bool(_LATIN.search(term)),
        "invalid_target": bool(term) and term == (given.opinion_term or "").strip(),
        "term_not_in_text": bool(term) and span is None,
    }
    if not ref and span is None:
        why = "the term is not in the text, and there is no ref" if term else "neither term nor ref"
        refused.append((lens, term, why))
        return None
    return Candidate(
        id="",
        ref=ref,
        term=text[slice(*span)] if span else "",
        polarity=given.polarity,
        evidence=given.evidence or "",
        confidence=given.confidence,
        origin=(lens,),
        span=span,
        flags=tuple(name for name, holds in flags.items() if holds),
    )


def _place(term: str, text: str) -> tuple[int, int] | None:
    """Where a term stands in a text, letter by letter; failing that, whatever its case and spacing."""
    start = text.find(term)
    if start >= 0:
        return start, start + len(term)
    loose = re.search(r"\s*".join(map(re.escape, "".join(term.split()))), text, re.IGNORECASE)
    return loose.span() if loose else None


def conflicts(candidates: Sequence[Candidate]) -> list[Conflict]:
    """What the reviewers are asked about."""
    found = []
    for kind, ref, term, key in (
        ("ref_polarity_mismatch", True, False, lambda c: c.ref),
        ("term_polarity_mismatch", False, True, lambda c: "" if c.ref else c.term),
    ):
        for name, group in grouped(candidates, key).items():
            if name and len({c.polarity for c in group}) > 1:
                found.append(Conflict(kind, name * ref, name * term, tuple(c.id for c in group)))
    by_facet = grouped(
        candidates, lambda c: (c.ref.partition("#")[2], c.polarity) if "#" in c.ref else None
    )
    for facet, group in by_facet.items():
        upper = [c for c in group if c.ref.partition("#")[0] == RULES["upper"]]
        if facet and upper and len(upper) < len(group):
            found.append(
                Conflict(
                    "granularity_overlap_candidate", upper[0].ref, "", tuple(c.id for c in group)
                )
            )
    return found


def grouped(items: Iterable[T], key: Callable[[T], Any]) -> dict[Any, list[T]]:
    """The items by their key, in the order in which they come."""
    groups: dict[Any, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def votes(
    replies: Mapping[str, Sequence[Action]],
    candidates: Sequence[Candidate],
    found: Sequence[Conflict],
    policy: Policy,
    refused: Refused,
) -> dict[str, list[Vote]]:
    """Candidate -> the votes on it, one a reviewer, who acts by the first word on it.

    strict: an action on an unknown or unflagged candidate, of another reason than REASONS, or a FLIP to nowhere is
    refused; silence abstains. original: silence is KEEP. MERGE counts as KEEP.
    """
    flagged = (
        set(chain.from_iterable(c.ids for c in found))
        if policy == "strict"
        else {c.id for c in candidates}
    )
    out: dict[str, list[Vote]] = {c.id: [] for c in candidates}
    for actor, actions in replies.items():
        voted: set[str] = set()
        for action in actions:
            polarity = (action.new_value.polarity if action.new_value else None) or ""
            for target in action.target_tuple_ids:
                why = {
                    "no such candidate": target not in out,
                    "the candidate is not flagged": target not in flagged,
                    "a second word on the candidate": target in voted,
                    "a FLIP without a polarity": action.action_type == "FLIP" and not polarity,
                    "the reason is none of the list": policy == "strict"
                    and action.reason_code not in REASONS,
                }
                if wrong := next((said for said, holds in why.items() if holds), ""):
                    refused.append((actor, f"{action.action_type} {target}"[:80], wrong))
                    continue
                voted.add(target)
                kind = "KEEP" if action.action_type == "MERGE" else action.action_type
                out[target].append(
                    Vote(actor, kind, action.reason_code, polarity if kind == "FLIP" else "")
                )
        if policy == "original":
            for silent in out.keys() - voted:
                out[silent].append(Vote(actor, "KEEP", "KEEP_BEST_SUPPORTED"))
    return out


def arbitrate(ballots: Mapping[str, Sequence[Vote]], found: Sequence[Conflict]) -> dict[str, Vote]:
    """Candidate -> the arbiter's word, for each that has votes, by rule.

    Two equal votes win, but for a granularity conflict with C against, which is flagged. FLIP, DROP and KEEP once
    each: FLIP or DROP for reasons that are strong enough, else FLAG. All other splits: FLAG.
    """
    granular = set(
        chain.from_iterable(c.ids for c in found if c.kind == "granularity_overlap_candidate")
    )
    return {name: _decision(cast, name in granular) for name, cast in ballots.items() if cast}


def _decision(cast: Sequence[Vote], granular: bool) -> Vote:
    equal = grouped(cast, lambda v: (v.action, v.polarity))
    (action, polarity), most = max(equal.items(), key=lambda item: len(item[1]))
    if len(most) > 1:
        against = [v.actor for v in cast if v not in most]
        if granular and "C" in against:
            return Vote(ARBITER, "FLAG", "FACET_MINORITY_SIGNAL")
        return Vote(ARBITER, action, most[0].reason, polarity)
    by_action = {v.action: v for v in cast}
    if set(by_action) == {"FLIP", "DROP", "KEEP"}:
        flip, drop = by_action["FLIP"], by_action["DROP"]
        if flip.reason in RULES["flips"]:
            return replace(flip, actor=ARBITER)
        if drop.reason in RULES["drops"]:
            return replace(drop, actor=ARBITER)
    return Vote(
        ARBITER,
        "FLAG",
        "REDUNDANT_REF_UNCERTAIN" if granular else "POLARITY_UNCERTAIN",
        settled=False,
    )


def applied(candidates: Sequence[Candidate], decisions: Mapping[str, Vote]) -> list[Candidate]:
    """The candidates after the decisions: DROP removes, FLIP sets the polarity; order and refs stay."""
    dropped = {name for name, d in decisions.items() if d.action == "DROP"}
    flipped = {name: d.polarity for name, d in decisions.items() if d.action == "FLIP"}
    return [
        replace(c, polarity=flipped.get(c.id, c.polarity))
        for c in candidates
        if c.id not in dropped
    ]


def label(candidates: Sequence[Candidate]) -> str:
    """The sentence's label: neutral without tuples, the one polarity of all, else mixed."""
    found = {c.polarity for c in candidates} or {"neutral"}
    return found.pop() if len(found) == 1 else "mixed"
