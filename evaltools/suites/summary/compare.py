"""Each fact of a summary against those of the sources: supported, contradicted, elsewhere or absent.

    value of the summary --nearest fact of the same value--> supported, contradicted, or at another item
                         --none of the same value----------> told roughly, or absent, with what the source says instead

The pair of facts is the evidence. A contradiction counts as no support. What only a person can settle is listed (`look`)
and changes no score: words that tell two items apart in a text do not always do so. Source: specification D34.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from operator import attrgetter

from ...core.files import Fields, grouped
from .entities import ReadText, Texts
from .facts import (
    ABSENT,
    CHANGE,
    CLAIM,
    DENIED,
    DOWN,
    EXCEPTION,
    HIGH,
    LOW,
    NEGATIVE,
    OPPOSITE_BOUND,
    OPPOSITE_PAYMENT,
    OPPOSITES,
    PAID,
    Fact,
    Words,
    clause_facts,
    closing,
    has_figure,
    value_facts,
)
from .text import TEN_THOUSAND, written

Evidence = Fields

# values of the sources that each value of a summary is held against; all others are compared by value only
MOST_SOURCES = 600

# places of one value whose words are compared with those of another value
MOST_PLACES = 20

# by so much less alike counts a passage that does not say the same
PREFERRED = 0.2

# share of the words of a fact that stand around one of a source about the same thing
ALIKE = 0.5

# What counts as much as values that are written the same (measured: a wrong digit is shown beside its original in 9 of
# 10 instead of 8 of 10, a date in 8 of 10 instead of 4).
WRITTEN_ALIKE = 0.1

# Weight of the words of a value's item that stand around another value of the sources alone, if it is of another item.
# Of two values that a summary states both, and may have swapped: of both together.
MISPLACED = 1.25

# kinds of values that texts say of several items
FIGURES = ("amount", "percent", "duration", "age", "count", "date")

BOUNDS = frozenset({LOW, HIGH})
CONDITIONS = {OPPOSITE_BOUND, EXCEPTION}

# of facts, what `grouped` goes by
BY_VALUE = attrgetter("key")

ITEM = "the source says it of another item"
ONE_STEP = "it follows from the source's figure by one step"

_ABOUT_BEFORE = re.compile(r"(?:약|대략|어림잡아|about|around|approximately|some)\s?$")
_ABOUT_AFTER = re.compile(r"\s?(?:정도|가량|내외|안팎|남짓|쯤|or so)")

# characters before a figure in which a word calls it an approximation
WITHIN = 12

# A day more or less than a month's is another figure: 1개월 is not 31일
DAYS = {"day": 1, "month": 30}


def compare(
    summary: ReadText,
    sources: Texts,
    in_other_words: Mapping[str, Evidence],
    relations: bool = True,
) -> dict[str, list[Evidence]]:
    """What the sources say to the facts of a summary, as JSON values.

    supported, unsupported: values, each once. contradicted: those of the unsupported, and clauses, of which a
    source says the opposite. look: what a person must settle, with `why`.

    in_other_words: key of a value that a source says in other words -> its place. relations: whether bounds, items
    and clauses count.
    """
    known = _known(tuple(sources))
    facts = [fact for fact in value_facts(summary) if not fact.support_only]
    if relations:
        facts += [c for c in clause_facts(summary) if closing(c.text) or not has_figure(c.text)]
    own = grouped(facts, BY_VALUE) if relations else {}
    supported: dict[str, Evidence] = {}
    unsupported: dict[str, Evidence] = {}
    contradicted: list[Evidence] = []
    look = []
    for fact in facts:
        kind, key = fact.kind, fact.key
        is_value = kind not in ("figure", CLAIM)
        shown = {
            "kind": kind,
            "text": fact.text,
            "value": f"{fact.value} {fact.base}".strip(),
            "at": [fact.start, fact.end],
        }
        nearest, why, is_sure, other = known.nearest(fact), "", False, None
        if nearest is None and is_value:
            nearest, why = known.restated(fact, summary.raw)
        elif nearest is not None and own:
            why, is_sure = known.contradiction(fact, nearest)
            other = None if why else known.elsewhere(fact, own)
        if nearest is not None:
            shown |= nearest.place
        if is_sure:
            if kind == CLAIM and any(fact.start <= c["at"][0] < fact.end for c in contradicted):
                continue  # a value of the clause says so already
            contradicted.append({**shown, "why": why})
            if kind != "figure":
                unsupported.setdefault(fact.text if kind == CLAIM else key, contradicted[-1])
        elif nearest is not None:
            if is_value:
                supported.setdefault(key, shown)
            if why:
                look.append({**shown, "why": why})
            if other is not None:
                look.append(shown | other.place | {"why": ITEM})
        elif key in in_other_words:
            supported[key] = in_other_words[key] | shown
        elif is_value:
            instead = known.instead(fact, own)
            if instead is not None:
                shown |= {"instead": instead.text, **instead.place}
            unsupported.setdefault(key, shown)
    return {
        "supported": [shown for key, shown in supported.items() if key not in unsupported],
        "unsupported": [*unsupported.values()],
        "contradicted": contradicted,
        "look": look,
    }


class Sources:
    """The facts of the sources, to find the one that a fact of a summary rests on.

    values: facts of values and bare figures. compared: those with a value. weights: of the words around these, one
    over the number of values that each stands around. of_kind: kind and unit -> the same among the values of that kind
    alone, which a word may tell apart though it stands around others too.
    """

    def __init__(self, sources: Texts):
        self.values: list[Fact] = []
        clauses: list[Fact] = []
        for number, source in enumerate(sources):
            self.values += value_facts(source, number)
            clauses += clause_facts(source, number)
        self.compared = [fact for fact in self.values if fact.kind != "figure"][:MOST_SOURCES]
        self.weights = _rarity(self.compared)
        self.of_kind = {kind: _rarity(of) for kind, of in grouped(self.compared, _kind).items()}
        # a clause without figures is held against all, one with figures against those with the same ones
        self.same = {**grouped(self.values + clauses, BY_VALUE), f"{CLAIM}::": clauses}

    @cached_property
    def without_unit(self) -> dict[str, Fact]:
        """What is written without a unit (1년 안에는 500, 집기 4천) -> its first place."""
        places: dict[str, Fact] = {}
        for fact in self.values:
            if fact.kind == "figure" and not fact.base and len(fact.value) > 1:
                places.setdefault(fact.value.replace(",", "").replace("천", "000"), fact)
        return places

    def restated(
        self,
        fact: Fact,
        text: str,
    ) -> tuple[Fact | None, str]:
        """The first fact of the sources that a value restates, and what a person must settle of it ("" for nothing).

        text: of the summary. It may stand without its unit, and one that its words call an approximation (약, 정도)
        may be rounded: 3천만원 is told to ten millions, so that 29,870,000원 rounds to it. Else one step leads to it:
        what is left of a whole (80% cover from 20% co-payment), months as days or days as months (D33).
        """
        forms = [fact.value]
        if fact.kind == "date":
            forms = [fact.value[-5:].lstrip("0").replace("-0", "-").replace("-", ".")]
        elif fact.kind == "amount":
            forms.append(written(Decimal(fact.value) / TEN_THOUSAND))
        original = next(filter(None, map(self.without_unit.get, forms)), None)
        # a number of something else, where the source states a value of the item
        if original and not original.words & fact.words:
            said = self.instead(fact, {})
            if said and self.alike(fact, said) >= ALIKE:
                original = None
        if original is not None or not fact.base:  # without one it is no number
            return original, ""
        number = Decimal(fact.value).normalize()
        step = Decimal(f"1e{number.as_tuple().exponent}")
        is_about = _ABOUT_BEFORE.search(
            text[max(fact.start - WITHIN, 0) : fact.start]
        ) or _ABOUT_AFTER.match(text, fact.end)
        days = number * DAYS.get(fact.base, 0)
        if number == 0:  # of an item of which a source says that there is none
            for clause in self.same[f"{CLAIM}::"]:
                if ABSENT in clause.says and self.alike(fact, clause) >= ALIKE:
                    return clause, ""
            return None, ""
        rests = None
        for source in self.values:
            if source.kind != fact.kind:
                continue
            value = Decimal(source.value)
            if is_about and source.base == fact.base and abs(value - number) <= step / 2:
                return source, ""
            is_rest = source.kind == "percent" and value + number == 100
            is_period = days and days == value * DAYS.get(source.base, 0)
            if is_rest or is_period:
                rests = rests or source
        return rests, ONE_STEP if rests else ""

    def alike(
        self,
        fact: Fact,
        source: Fact,
        unknown: float = 1.0,
    ) -> float:
        """The share of the words of a fact, by rarity, that stand around one of the sources too: 0..1.

        unknown: the weight of a word that stands around no value of the sources.
        """
        total = _total(self.weights, fact.words, unknown)
        return _total(self.weights, fact.words & source.words, unknown) / total if total else 0.0

    def nearest(self, fact: Fact) -> Fact | None:
        """The fact of the same value around which most of the same words stand; of equal ones the first.

        One that says the same of it, as a bound or that it is paid, is preferred: bounds come in pairs
        (3만원 이하, 3만원 초과).
        """

        def rank(source: Fact) -> float:
            confirms = fact.says & source.says and not any(_opposites(fact.says, source.says))
            return self.alike(fact, source) + PREFERRED * bool(confirms)

        return max(self.same.get(fact.key, [])[:MOST_SOURCES], key=rank, default=None)

    def contradiction(
        self,
        fact: Fact,
        nearest: Fact,
    ) -> tuple[str, bool]:
        """Why a source says the opposite of a fact ("" where it does not), and whether that is sure.

        Two opposites make a right sentence again: within 2 months it is paid, after 2 months it is not.
        A sum that the sources only state with a minus sign must be told as lost too.
        """
        kind = fact.kind
        if all(NEGATIVE in source.says for source in self.same[fact.key]):
            return (CHANGE, True) if DOWN not in fact.says else ("", False)
        why = next(_opposites(fact.says, nearest.says), "")
        alike = self.alike(fact, nearest, unknown=int(kind == CLAIM))
        opposed = {*_opposites(fact.says | fact.claims, nearest.says | nearest.claims)}
        turned_twice = 0 < len(opposed & CONDITIONS) < len(opposed)
        of_period = kind in ("duration", "date", "age") and (fact.says ^ nearest.says) & BOUNDS
        is_sure = alike >= ALIKE
        if (
            turned_twice
            or (why == OPPOSITE_PAYMENT and of_period)
            or (kind == CLAIM and not is_sure)
        ):
            why = ""
        return why, is_sure and why != ""

    def instead(
        self,
        fact: Fact,
        own: Mapping[str, Sequence[Fact]],
    ) -> Fact | None:
        """The sources' own value of the kind at the item of a value that none of them states, and that is not in `own`.

        Of those around which about as many of its words stand the one that is written most alike: 94.1% for 91.4%.
        """
        weight = WRITTEN_ALIKE if has_figure(fact.value) else 0

        def rank(source: Fact) -> float:
            return (
                self.alike(fact, source)
                + weight * SequenceMatcher(None, fact.value, source.value).ratio()
            )

        candidates = (s for s in self.compared if s.kind == fact.kind and s.key not in own)
        return max((s for s in candidates if fact.words & s.words), key=rank, default=None)

    def elsewhere(
        self,
        fact: Fact,
        own: Mapping[str, Sequence[Fact]],
    ) -> Fact | None:
        """Another value of the kind that the source says of the item, where it does not say this one of it.

        own: the facts of the summary by key. Where it states the other value too, it may have swapped
        the two: each must fit better in the place of the other.
        """
        if fact.kind not in FIGURES or fact.is_reckoned:
            return None
        found, most = None, 0.0
        for candidate in self.compared:
            same_bound = fact.says & BOUNDS == candidate.says & BOUNDS
            if _kind(fact) != _kind(candidate) or fact.key == candidate.key or not same_bound:
                continue
            if candidate.is_reckoned or candidate.support_only:
                continue
            excess, of_own = self._excess(fact, candidate)
            # what is said of a day stands on either side of it
            is_misplaced = fact.kind != "date" and of_own == 0 and excess >= MISPLACED
            if excess > 0 and candidate.key in own:
                others = own[candidate.key][:MOST_PLACES]
                places = self.same[fact.key][:MOST_PLACES]
                back = min(max(self._excess(o, place)[0] for place in places) for o in others)
                is_misplaced = back >= 0 and excess + back >= MISPLACED
            if is_misplaced and excess > most:
                found, most = candidate, excess
        return found

    def _excess(
        self,
        fact: Fact,
        other: Fact,
    ) -> tuple[float, float]:
        """How much more of the item of a fact stands around another value of the sources than around its own, and how
        much around its own alone; of the places of its own the one where these are most alike.
        """
        weights = self.of_kind[_kind(other)]
        pairs = []
        for own in self.same[fact.key][:MOST_PLACES]:
            of_other = _total(weights, fact.words & (other.words - own.words))
            of_own = _total(weights, fact.words & (own.words - other.words))
            pairs.append((of_other - of_own, of_own))
        return min(pairs)


# several summaries of the same texts often follow each other
_known = lru_cache(maxsize=64)(Sources)


def _kind(fact: Fact) -> tuple[str, str]:
    """Kind and unit of a value; days and months are told of one item (30일 후, 1년 후)."""
    kind, base = fact.kind, fact.base
    return kind, "" if base in ("day", "month") else base


def _rarity(facts: Iterable[Fact]) -> dict[str, float]:
    """The words of facts -> one over the number of those that each stands in."""
    counts = Counter(word for fact in facts for word in fact.words)
    return {word: 1 / count for word, count in counts.items()}


def _total(
    weights: Mapping[str, float],
    words: Iterable[str],
    unknown: float = 0.0,
) -> float:
    """The sum of the weights of words; exact, as a set has no order, and of equal passages the first counts."""
    return math.fsum(weights.get(word, unknown) for word in words)


def _opposites(one: Words, other: Words) -> Iterator[str]:
    """The names of what the one says of which the other says the opposite, in order."""
    of_one, of_other = one - other, other - one
    if ABSENT in one & other:  # paid without it, and that there is none of it
        of_one -= {PAID, DENIED}
    return (why for pair, why in OPPOSITES.items() if pair & of_one and pair & of_other)
