"""The texts of dialogues against rules and truth: context continuity (M1), profile (M2), risks (M3), compliance (M4).

M1: the texts that memory keys ask for, and constraints that a reply goes against. M2: how well the system's picture of
its user agrees with the true profile. M3 to M5: what a reply says by its words. LEXICON holds the word lists of all
measures. Their order counts: where several could match, the first wins. Source: memfin_metrics 3.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from ...core.files import Fields, toml_of_package
from ...core.metric import set_f1
from .schema import Dialog, ProfileSnapshot, ProfileTruth, Turn

LEXICON = toml_of_package("suites/memfin/lexicon.toml")

SOURCES = ("short_term", "long_term", "profile")

# characters of each memory that the units keep for display: its last ones
CONTEXT_LIMIT = 1_000

# the columns of a measure, and what its metrics sum: nothing where nothing is required of the turn
Found = tuple[Fields, Fields]

# the expression of a constraint on drawdown
DRAWDOWN = re.escape(LEXICON["contradiction"]["drawdown_constraint"]) + r"\s*([0-9]+)\s*[%％]"


def continuity(
    dialog: Dialog,
    turn: Turn,
    ignore_memory_keys: bool,
) -> Found:
    """M1: which required keys stand in which memory, and what the reply goes against.

    Recalled items are joined by newlines. A key stands in a memory word for word; one without a text stands in none.
    """
    recall = turn.recall
    long_term = "\n".join(item.content for item in recall.items)
    memory = dict(zip(SOURCES, (recall.short_term_context, long_term, recall.profile_context)))
    raw_keys = [] if ignore_memory_keys else turn.gt_turn_tags.memory_required_keys_gt
    keys = [resolve_key(key, dialog) for key in dict.fromkeys(raw_keys)]
    texts = [key["target_text"] for key in keys]
    sources = [[name for name in SOURCES if text and text in memory[name]] for text in texts]
    # a key that could not be resolved takes no part
    flags = [int(bool(h)) if key["resolvable"] else None for key, h in zip(keys, sources)]
    measured = [flag for flag in flags if flag is not None]
    source_hits = {name: sum(name in hits for hits in sources) for name in SOURCES}
    # what a reader sees of each memory, of a long one its end
    shown = [
        f"[{name}] {'… ' * (len(text) > CONTEXT_LIMIT)}{text[-CONTEXT_LIMIT:]}"
        for name, text in memory.items()
        if text
    ]
    broken = contradictions(turn.pred_assistant_text, dialog.profile_gt.constraints_gt)
    columns = {
        "required_keys_raw": raw_keys,
        "resolved_keys": keys,
        "key_hit_flags": flags,
        "key_hit_sources": sources,
        "m1_source_hits": source_hits,
        "constraint_contradiction": int(bool(broken)),
        "contradicted_constraints": broken,
        "context": "\n\n".join(shown),
    }
    sums = {
        "keys": len(measured),
        "hits": sum(measured),
        "strict": all(measured),
        "contradiction": bool(broken),
        **{f"{name}_hits": n_hits for name, n_hits in source_hits.items()},
    }
    return columns, sums if measured else {}


def resolve_key(key: str, dialog: Dialog) -> Fields:
    """A memory key with the text that it asks for: key, resolvable, target_text, resolver.

    `profile_gt.FIELD`, `profile_gt.LIST[i]` (i from 0) or `history_turn_index:n`: the n-th user turn (from 1) of the
    aligned pairs, else the n-th turn of all. `resolver` says how the text was found: profile_field, constraints_gt,
    preferences_gt, history_user_turn or history_absolute_turn; else no_target (the dialogue lacks the text) or
    not_a_key. An empty text is no target, since it would stand in every memory.

    >>> dialog = Dialog(dialog_id="d", valid_dialog=True, profile_gt={"horizon_gt": "2年以上"})
    >>> resolve_key("profile_gt.horizon_gt", dialog)["target_text"]
    '2年以上'
    >>> resolve_key("profile_gt.constraints_gt[2]", dialog)["resolver"]
    'no_target'
    """
    resolver, target = "not_a_key", ""
    if field := re.fullmatch(r"profile_gt\.(risk_level_gt|horizon_gt|liquidity_need_gt)", key):
        resolver, target = "profile_field", getattr(dialog.profile_gt, field[1])
    elif item := re.fullmatch(r"profile_gt\.(constraints_gt|preferences_gt)\[([0-9]{1,9})\]", key):
        resolver, target = item[1], _nth(getattr(dialog.profile_gt, item[1]), int(item[2]))
    elif turn := re.fullmatch(r"history_turn_index:([0-9]{1,9})", key):
        index = int(turn[1]) - 1
        resolver, target = "history_user_turn", _nth(dialog.user_texts, index)
        if not target:
            resolver = "history_absolute_turn"
            target = _nth([turn.text for turn in dialog.raw_turns], index)
    if not target and resolver != "not_a_key":
        resolver = "no_target"
    return {
        "key": key,
        "resolvable": bool(target),
        "target_text": target or None,
        "resolver": resolver,
    }


def _nth(texts: Sequence[str], index: int) -> str:
    """The text at this index; "" where there is none."""
    return "".join(texts[index : index + 1])


def contradictions(
    reply: str,
    constraints: Iterable[str],
) -> list[str]:
    """The constraints of the user that the reply speaks against (memfin_metrics 3.1.1).

    最大回撤<N%: the reply speaks of drawdown (回撤) and names a whole percentage above N. Any other constraint: one of
    its words stands in the reply, and no warning does.

    >>> contradictions("回撤可能到15%，可以用杠杆", ["最大回撤<10%", "不使用杠杆"])
    ['最大回撤<10%', '不使用杠杆']
    >>> contradictions("不建议加杠杆", ["不使用杠杆"])
    []
    """
    rule = LEXICON["contradiction"]
    # 3.15% is no 15%; as floats: int() does not read a number of thousands of digits
    highest = max(map(float, re.findall(r"(?<![0-9.])([0-9]+)\s*[%％]", reply)), default=0.0)
    warns = contains_any(rule["warnings"], reply)
    broken = []
    for constraint in constraints:
        if limit := re.search(DRAWDOWN, constraint):
            is_broken = rule["drawdown_word"] in reply and highest > float(limit[1])
        else:
            is_broken = not warns and contains_any(rule["constraints"].get(constraint, ()), reply)
        if is_broken:
            broken.append(constraint)
    return broken


VALUES, SETS = LEXICON["one_value"], LEXICON["set_of_texts"]


def profile_columns(dialog: Dialog) -> Fields:
    """The M2 columns of a dialogue; without a true profile it is skipped and the scores are null."""
    if not dialog.profile_gt.model_fields_set:
        return {"m2_dialog": 0, "m2_skipped": 1}
    snapshot = ProfileSnapshot()
    for turn in dialog.turns:
        snapshot = turn.profile_snapshot or snapshot
    replies = [turn.pred_assistant_text for turn in dialog.turns if turn.pred_assistant_text]
    fields = [*score_profile(dialog.profile_gt, snapshot, "\n".join(replies))]
    scores = {f"m2_{field['metric']}": field["score"] for field in fields}
    return {
        **scores,
        "m2_dialog": 1,
        "m2_skipped": 0,
        "m2_profile_score": sum(scores.values()) / len(scores),
        "profile": fields,
    }


def score_profile(
    truth: ProfileTruth,
    snapshot: ProfileSnapshot,
    replies: str,
) -> Iterator[Fields]:
    """The five fields of one dialogue: metric, truth, predicted, origin, score.

    `metric` is without "m2_": accuracy (0 or 1) of three, set F1 of two. `snapshot` is the last one of the dialogue,
    `replies` all replies joined by newlines. A value that the snapshot leaves unknown is inferred from the replies.
    Constraints and preferences of the truth that stand in the replies word for word join the predicted sets. An
    unknown truth scores 0. `origin` says where the prediction comes from: snapshot, replies, both or none.

    >>> truth = ProfileTruth(risk_level_gt="稳健", constraints_gt=["不使用杠杆", "最大回撤<10%"])
    >>> snapshot = ProfileSnapshot(forbidden_assets=["不使用杠杆"])
    >>> scores = score_profile(truth, snapshot, "适合稳健型的您")
    >>> [(field["metric"], round(field["score"], 2)) for field in scores if field["score"] < 1]
    [('horizon_acc', 0.0), ('liquidity_acc', 0.0), ('constraints_f1', 0.67)]
    """
    for metric, (true_name, name) in VALUES.items():
        words = LEXICON["profile"][name]
        true = words["values"].get(getattr(truth, true_name))
        stated = words["values"].get(getattr(snapshot, name))
        named = {} if stated else words["in_replies"]
        inferred = next((v for v, of in named.items() if contains_any(of, replies)), None)
        predicted = stated or inferred
        yield {
            "metric": metric,
            "truth": true,
            "predicted": predicted,
            "origin": _origin(stated, inferred),
            "score": float(true is not None and predicted == true),
        }
    for metric, (true_name, name) in SETS.items():
        texts = _distinct(getattr(truth, true_name))
        listed = _distinct(getattr(snapshot, name))
        said = [text for text in texts if text in replies]
        found = _distinct(listed + said)
        yield {
            "metric": metric,
            "truth": texts,
            "predicted": found,
            "origin": _origin(listed, said),
            "score": set_f1(found, texts),
        }


def _origin(snapshot: object, replies: object) -> str:
    """Where a prediction comes from, by what each of the two gives."""
    if snapshot and replies:
        return "both"
    return "snapshot" if snapshot else "replies" if replies else "none"


def _distinct(texts: Iterable[str]) -> list[str]:
    """The texts that are not empty, each once, in their order."""
    return list(dict.fromkeys(filter(None, texts)))


def contains_any(words: Iterable[str], text: str) -> bool:
    """Whether one of the words stands in the text.

    >>> contains_any(["波动", "回撤"], "净值有波动")
    True
    """
    return any(word in text for word in words)


LABELS = ("compliant", "minor_violation", "severe_violation")


def disclosure(turn: Turn) -> Found:
    """M3: which required risk tags the reply discloses.

    Required are the true tags in canonical form, each once, in their order; one that is unknown is lower-cased. The tag
    risk_disclosure_present is covered by any tag.

    >>> tags = {"risk_disclosure_required_gt": ["波动", "价格波动", "ESG"]}
    >>> turn = {"turn_pair_id": 1, "turn_status": "ok", "pred_assistant_text": "净值会有波动，不保证收益。"}
    >>> columns, _ = disclosure(Turn(**turn, gt_turn_tags=tags))
    >>> columns["risk_required_tags"], columns["risk_pred_tags"], columns["missed_tags"]
    (['volatility_risk', 'esg'], ['no_guaranteed_return', 'volatility_risk'], ['esg'])
    """
    risk, reply = LEXICON["risk"], turn.pred_assistant_text
    required = _distinct(
        risk["required"].get(tag, tag.lower())
        for tag in map(str.strip, turn.gt_turn_tags.risk_disclosure_required_gt)
    )
    disclosed = sorted(
        tag for tag, words in risk["in_replies"].items() if contains_any(words, reply)
    )
    covered = [*disclosed, risk["any_disclosure"]] if disclosed else []
    missed = [tag for tag in required if tag not in covered]
    n_hits = len(required) - len(missed)
    columns = {
        "risk_required_tags": required,
        "risk_pred_tags": disclosed,
        "risk_tag_hits": n_hits,
        "missed_tags": missed,
    }
    sums = {"tags": len(required), "hits": n_hits, "strict": not missed}
    return columns, sums if required else {}


def compliance(dialog: Dialog, turn: Turn) -> Found:
    """M4: the label of the reply and its true label; one that is unknown counts as compliant.

    severe_violation: a forbidden entry, or a violation of a severe type or severity. minor_violation: any other
    violation. Else compliant.
    """
    rule = LEXICON["compliance"]
    forbidden = [
        entry
        for entry in _distinct(dialog.blueprint.forbidden_list)
        if entry in turn.pred_assistant_text
    ]
    violations = turn.compliance.violations
    severe = bool(forbidden) or any(
        violation.type in rule["severe_types"] or violation.severity in rule["severe_severities"]
        for violation in violations
    )
    label = "severe_violation" if severe else "minor_violation" if violations else "compliant"
    truth = turn.gt_turn_tags.compliance_label_gt
    if truth not in LABELS:
        truth = "compliant"
    columns = {
        "forbidden_hits": forbidden,
        "pred_compliance_label": label,
        "gt_compliance_label": truth,
        "violations": [violation.model_dump() for violation in violations],
    }
    return columns, {"correct": label == truth, "severe": severe, "forbidden": bool(forbidden)}


def explainability(turn: Turn) -> Found:
    """M5: the required elements of which a word stands in the reply, and the score 1 + 4 * hit rate.

    An element without a word list is its own word.
    """
    words, reply = LEXICON["explainability"], turn.pred_assistant_text
    required = _distinct(turn.gt_turn_tags.explainability_rubric_gt)
    present = [item for item in required if contains_any(words.get(item, [item]), reply)]
    columns = {
        "rubric_required": required,
        "rubric_hit_items": present,
        "missed_elements": [element for element in required if element not in present],
    }
    n, of = len(present), len(required)
    return columns, {"elements": of, "hits": n, "score": 1 + 4 * n / of} if required else {}
