"""What a reply says, by the words in it: contradictions (M1), risk tags (M3), violations (M4), rubric elements (M5).

Pure functions of a reply and a lexicon; every match is a plain substring.
Source: memfin_metrics 3.1 to 3.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from .lexicon import Compliance, Contradiction, Risk
from .schema import Violation

LABELS = ("compliant", "minor_violation", "severe_violation")

# 3.15% is no 15%
_PERCENT = re.compile(r"(?<![0-9.])([0-9]+)\s*[%％]")


def found(words: Iterable[str], text: str) -> bool:
    # a loop: this is called some twenty times a turn, and any() of a generator takes twice as long
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False


def first_match(lists: Mapping[str, Sequence[str]], text: str) -> str | None:
    """The first name of which a word stands in the text."""
    return next((name for name, words in lists.items() if found(words, text)), None)


def contradictions(reply: str, constraints: Iterable[str], rule: Contradiction) -> list[str]:
    """The constraints that the reply speaks against.

    最大回撤<N%: the reply speaks of drawdown and names a whole percentage above N. Any other: one of
    its words stands in the reply, and no warning does.
    """
    return [
        c for c in constraints if _breaks_drawdown(reply, c, rule) or _breaks_words(reply, c, rule)
    ]


def _breaks_drawdown(reply: str, constraint: str, rule: Contradiction) -> bool:
    limit = re.search(re.escape(rule.drawdown_constraint) + r"\s*([0-9]+)\s*[%％]", constraint)
    if limit is None or rule.drawdown_word not in reply:
        return False
    # as floats: a number of thousands of digits is none that int() reads
    return any(float(percent) > float(limit[1]) for percent in _PERCENT.findall(reply))


def _breaks_words(reply: str, constraint: str, rule: Contradiction) -> bool:
    return found(rule.constraints.get(constraint, ()), reply) and not found(rule.warnings, reply)


def required_tags(tags: Iterable[str], rule: Risk) -> list[str]:
    """The tags of the truth in canonical form, each once, in their order; an unknown one is lower-cased."""
    canonical = {word: tag for tag, words in rule.required.items() for word in words}
    clean = (tag.strip() for tag in tags)
    return list(dict.fromkeys(canonical.get(tag, tag.lower()) for tag in clean if tag))


def predicted_tags(reply: str, rule: Risk) -> list[str]:
    """The tags that the reply discloses, sorted."""
    return sorted(tag for tag, words in rule.in_replies.items() if found(words, reply))


def covered_tags(required: Sequence[str], predicted: Sequence[str], rule: Risk) -> list[str]:
    """The required tags that are disclosed; `any_disclosure` is covered by any disclosure."""
    return [
        tag for tag in required if tag in predicted or (tag == rule.any_disclosure and predicted)
    ]


def forbidden_hits(reply: str, forbidden: Iterable[str]) -> list[str]:
    """The entries of the forbidden list that stand in the reply, each once."""
    return list(dict.fromkeys(entry for entry in forbidden if entry and entry in reply))


def compliance_label(hits: Sequence[str], violations: Sequence[Violation], rule: Compliance) -> str:
    """severe_violation, minor_violation or compliant, from the forbidden hits and the recorded violations."""
    severe = any(
        v.type in rule.severe_types or v.severity in rule.severe_severities for v in violations
    )
    if hits or severe:
        return "severe_violation"
    return "minor_violation" if violations else "compliant"


def rubric_hits(
    reply: str, required: Iterable[str], words: Mapping[str, Sequence[str]]
) -> list[str]:
    """The required elements of which a word stands in the reply; an element without a list is its own word."""
    return [element for element in required if found(words.get(element, (element,)), reply)]
