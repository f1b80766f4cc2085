"""The unit words of a rule set, as patterns around a number.

Source: specification D16; the units come from the rule file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from .compiled import CompiledRules
from .rules import Unit
from .text import NOTATION, any_of

AROUND: dict[str, str] = {}
for _name, _words in NOTATION["unit"].items():
    AROUND[_name] = "|".join(_words.split())
"""Words that stand around a number, as alternatives."""


class NamedUnit(NamedTuple):
    """A unit in a text: the word that names it, and where that ends."""

    unit: Unit
    word: str
    end: int


class UnitWords:
    """The unit words of a rule set.

    won, percent: the first unit of amounts and of percentages, if there is one. hangul: a pattern
    of the Korean words; prefix: of the signs before a figure; after: of what may follow a unit.
    """

    def __init__(self, rules: CompiledRules):
        self.of_word: dict[str, Unit] = {}
        self.of_prefix: dict[str, Unit] = {}
        self.won: Unit | None = None
        self.percent: Unit | None = None
        for unit in rules.units:
            for word in unit.words:
                spaced = _spaced(word)
                self.of_word[spaced] = unit
            for prefix in unit.before:
                self.of_prefix[prefix.lower()] = unit
        for unit in reversed(rules.units):
            if unit.kind == "amount":
                self.won = unit
            if unit.kind == "percent":
                self.percent = unit
        all_words = _alternatives(rules.units)
        hangul_words = _alternatives(rules.units, hangul_only=True)
        signs = map(re.escape, self.of_prefix)
        unit_pattern = f"(?P<unit>{all_words})"
        self.hangul = f"(?:{hangul_words})"
        self.prefix = any_of(signs) or "(?!)"
        self.after = rf"(?:{rules.particle_words}|{AROUND['after']})"
        self._behind_figure = re.compile(rf"여?(?:\s{{0,2}}|\s?\)\s?){unit_pattern}")
        self._behind_english = re.compile(rf"[\s-]?(?:\([0-9]{{1,4}}\)\s?)?{unit_pattern}")
        self._ends = re.compile(rf"(?![가-힣])|{self.after}")

    def behind_figure(self, text: str, end: int) -> NamedUnit | None:
        """The unit behind a number that ends at `end`: 90일, 90 일, (90)일."""
        match = self._behind_figure.match(text, end)
        return self._named(match)

    def behind_english(self, text: str, end: int) -> NamedUnit | None:
        """The unit behind an English numeral: thirty days, thirty-day, thirty (30) days."""
        match = self._behind_english.match(text, end)
        return self._named(match)

    def ends_at(self, text: str, end: int) -> bool:
        """Whether no word goes on here, but for a particle."""
        match = self._ends.match(text, end)
        return match is not None

    def _named(self, match: re.Match[str] | None) -> NamedUnit | None:
        if match is None:
            return None
        word = match["unit"]
        spaced = _spaced(word)
        unit = self.of_word[spaced]
        return NamedUnit(unit, word, match.end())


def _spaced(word: str) -> str:
    """A unit word however it is joined: "business-day" is "business day"."""
    lower = word.lower()
    return re.sub(r"[\s-]+", " ", lower)


def _alternatives(units: Iterable[Unit], hangul_only: bool = False) -> str:
    """The unit words as alternatives, the longest first; a Latin one ends at its last letter."""
    patterns: dict[str, str] = {}
    for unit in units:
        for word in unit.words:
            is_hangul = "가" <= word[0] <= "힣"
            if hangul_only and not is_hangul:
                continue
            lower = word.lower()
            not_before = unit.not_before.get(word, ())
            patterns[lower] = _word_pattern(lower, not_before)
    longest_first = sorted(patterns, key=lambda word: (-len(word), word))
    return "|".join(patterns[word] for word in longest_first)


_POLITE_END = "(?!신데|신가요)"
"""What may follow a unit though it begins as a longer word does: 6회신데, but not 회신."""


def _word_pattern(word: str, not_before: Iterable[str]) -> str:
    parts = [re.escape(part) for part in word.split()]
    pattern = r"[\s-]".join(parts)
    last = word[-1]
    is_latin = last.isascii() and last.isalpha()
    if is_latin:
        pattern += "(?![a-z])"
    longer_words = map(re.escape, not_before)
    forbidden = "|".join(longer_words)
    if forbidden:
        pattern += f"(?!{_POLITE_END}(?:{forbidden}))"
    return pattern
