"""The word lists that the five measures match by: one versioned data file, checked on loading.

The file can be replaced by one of your own. The order of the entries counts: where several could
match, the first wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ...core.files import bytes_hash, dumps
from ...core.json_files import read_model
from .schema import Text

BUNDLED = Path(__file__).with_name("lexicon.json")

Word = Annotated[Text, Field(min_length=1)]
Words = Annotated[list[Word], Field(min_length=1)]
WordLists = dict[Word, Words]


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
    """What a truth or a snapshot may say for each value, and the words of a reply that betray it."""

    values: WordLists
    in_replies: WordLists


class Profile(_Part):
    """The fields of the profile that have one value."""

    risk_level: ProfileField
    horizon: ProfileField
    liquidity: ProfileField


class RiskWords(_Part):
    """`required`: spellings of each tag in the truth; `in_replies`: words that disclose it.

    `any_disclosure` is the tag that any disclosure covers.
    """

    required: WordLists
    in_replies: WordLists
    any_disclosure: Word


class SevereViolations(_Part):
    """Which violations are severe."""

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
        """name@version/hash of the content: it goes into the policy and the signature."""
        content = dumps(self.model_dump(mode="json"))
        return f"{self.name}@{self.version}/{bytes_hash(content.encode())[:12]}"


def load_lexicon(path: str | Path | None = None) -> Lexicon:
    """The word lists of a JSON file, checked; None takes the bundled ones.

    InputError names the file and each field that does not fit.

    >>> load_lexicon().risk.any_disclosure
    'risk_disclosure_present'
    """
    return read_model(Path(path or BUNDLED), Lexicon)


LEXICON = load_lexicon()


def contains_any(words: Iterable[str], text: str) -> bool:
    """Whether one of the words stands in the text.

    >>> contains_any(["波动", "回撤"], "净值有波动")
    True
    """
    return any(word in text for word in words)


def first_match(lists: Mapping[str, Sequence[str]], text: str) -> str | None:
    """The first name of which a word stands in the text; None where there is none.

    >>> first_match({"low": ["保守"], "high": ["激进"]}, "我比较激进")
    'high'
    """
    for name, words in lists.items():
        if contains_any(words, text):
            return name
    return None
