"""M3, risk disclosure: the risk tags that a reply must disclose, and those that it does, by its words.

Source: memfin_metrics 3.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .lexicon import RiskWords, contains_any
from .schema import Turn


def disclosure_columns(turn: Turn, rule: RiskWords) -> dict[str, Any]:
    """The M3 columns of a turn: which required risk tags the reply discloses."""
    required = required_tags(turn.tags.risk_disclosure_required_gt or (), rule)
    predicted = predicted_tags(turn.reply, rule)
    covered = covered_tags(required, predicted, rule)
    is_eligible = turn.is_answered and bool(required)
    columns = {
        "eligible_m3": is_eligible,
        "risk_required_tags": required,
        "risk_pred_tags": predicted,
        "risk_tag_hits": len(covered),
        "missed_tags": [tag for tag in required if tag not in covered],
    }
    if is_eligible:
        columns["m3_tags"] = len(required)
        columns["m3_hits"] = len(covered)
        columns["m3_strict"] = len(covered) == len(required)
    return columns


def required_tags(tags: Iterable[str], rule: RiskWords) -> list[str]:
    """The true risk tags in canonical form, each once, in their order.

    A tag that the lexicon does not know is lower-cased.

    >>> from evaltools.suites.memfin.lexicon import load_lexicon
    >>> required_tags(["波动", "价格波动", "ESG"], load_lexicon().risk)
    ['volatility_risk', 'esg']
    """
    canonical = {}
    for tag, spellings in rule.required.items():
        for spelling in spellings:
            canonical[spelling] = tag
    required: dict[str, None] = {}
    for tag in tags:
        tag = tag.strip()
        if tag:
            required[canonical.get(tag, tag.lower())] = None
    return list(required)


def predicted_tags(reply: str, rule: RiskWords) -> list[str]:
    """The risk tags that the reply discloses, sorted.

    >>> from evaltools.suites.memfin.lexicon import load_lexicon
    >>> predicted_tags("净值会有波动，不保证收益。", load_lexicon().risk)
    ['no_guaranteed_return', 'volatility_risk']
    """
    return sorted(tag for tag, words in rule.in_replies.items() if contains_any(words, reply))


def covered_tags(
    required: Sequence[str],
    predicted: Sequence[str],
    rule: RiskWords,
) -> list[str]:
    """The required tags that are disclosed; the tag `any_disclosure` is covered by any tag."""
    covered = []
    for tag in required:
        if tag in predicted or (tag == rule.any_disclosure and predicted):
            covered.append(tag)
    return covered
