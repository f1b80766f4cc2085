"""The word lists that the five measures match by: one versioned data file, checked on loading.

The file can be replaced by one of your own. Its content, not its path, goes into the policy. The
order of the entries counts: where several could match, the first wins.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ...core.errors import InputError, Problems
from ...core.files import dumps
from ...core.json_files import read_json
from ...core.records import fitted
from .schema import Text

BUNDLED = Path(__file__).with_name("lexicon.json")

Word = Annotated[Text, Field(min_length=1)]
Words = Annotated[list[Word], Field(min_length=1)]
WordLists = dict[Word, Words]


def contains_any(words: Iterable[str], text: str) -> bool:
    """Whether one of the words stands in the text."""
    # a loop: this is called some twenty times a turn, and any() of a generator takes twice as long
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False


def _one_list_a_word(lists: dict[str, list[str]]) -> dict[str, list[str]]:
    owner: dict[str, str] = {}
    for name, words in lists.items():
        for word in words:
            if owner.setdefault(word, name) != name:
                raise ValueError(f"{word!r} stands under both {owner[word]!r} and {name!r}")
    return lists


Unambiguous = Annotated[WordLists, AfterValidator(_one_list_a_word)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Contradiction(_Part):
    """When a reply speaks against a constraint of the user.

    `drawdown_constraint` begins a constraint such as 最大回撤<10%; `constraints` maps any other
    constraint to the words that break it, unless one of `warnings` stands in the reply.
    """

    drawdown_constraint: Word
    drawdown_word: Word
    constraints: WordLists
    warnings: list[Word]


class ProfileField(_Part):
    """One field of the profile.

    values: what a truth or a snapshot may say for each value. in_replies: words that betray it.
    """

    values: Unambiguous
    in_replies: WordLists

    @model_validator(mode="after")
    def _known(self) -> ProfileField:
        unknown = sorted(set(self.in_replies) - set(self.values))
        if unknown:
            raise ValueError(f"in_replies has values that `values` lacks: {unknown}")
        return self

    def value(self, text: str | None) -> str | None:
        """The value that a text names; None for one that is unknown."""
        for value, words in self.values.items():
            if text in words:
                return value
        return None

    def value_in(self, replies: str) -> str | None:
        """The first value of which a word stands in the replies; None where there is none."""
        for value, words in self.in_replies.items():
            if contains_any(words, replies):
                return value
        return None


class Profile(_Part):
    risk_level: ProfileField
    horizon: ProfileField
    liquidity: ProfileField


class RiskWords(_Part):
    """`required`: spellings of each tag in the truth; `in_replies`: words that disclose it.

    `any_disclosure` is the tag that any disclosure covers.
    """

    required: Unambiguous
    in_replies: WordLists
    any_disclosure: Word


class SevereViolations(_Part):
    severe_types: list[Word]
    severe_severities: list[Word]


class Lexicon(_Part):
    """All word lists of the suite; `explainability` maps a rubric element to its words."""

    name: Word
    version: Word
    contradiction: Contradiction
    profile: Profile
    risk: RiskWords
    compliance: SevereViolations
    explainability: WordLists

    @property
    def identity(self) -> str:
        """name@version/hash; the hash is 12 hex digits of the sha256 of the content."""
        content = dumps(self.model_dump(mode="json"))
        digest = hashlib.sha256(content.encode()).hexdigest()
        return f"{self.name}@{self.version}/{digest[:12]}"


def load_lexicon(path: str | Path | None = None) -> Lexicon:
    """The word lists of a JSON file, checked; None takes the bundled ones.

    InputError names the file and each field that does not fit.

    >>> load_lexicon().risk.any_disclosure
    'risk_disclosure_present'
    """
    path = BUNDLED if path is None else Path(path)
    problems = Problems()
    content = read_json(path, problems, unique_keys=True)
    lexicon = fitted(Lexicon, content, problems, file=path)
    if lexicon is None:
        raise InputError(problems.errors)
    return lexicon
