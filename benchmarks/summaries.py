"""What the rules notice of a single item changed in right summaries, and what they say of the unchanged ones.

    python benchmarks/summaries.py [--show KIND] [FILE.jsonl...]

A line of a file is a case of the reference sets. Right summaries are those whose accuracy is expected to be 1. Every
kind of change is made once in every summary that it fits, at a place drawn by the hash of the case's id, so that a
table is the same each time. Cases are halved by a hash of their id: rules are written with the failures of "dev" in
view, never with those of "held out".
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from evaltools.suites.summary.entities import Entity, read_text
from evaltools.suites.summary.read import Case
from evaltools.suites.summary.rules import Rules, load_rules
from evaltools.suites.summary.scoring import score_case
from evaltools.suites.summary.states import metric_state

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "reference" / "summary"
DEFAULT = [FOLDER / f"{name}.jsonl" for name in ("cases", "fresh", "fresh2")]

METRIC = "summary_accuracy"
FIGURES = ("amount", "percent", "duration", "age", "count")

BOUND_PAIRS = (("이상", "미만"), ("이하", "초과"), ("최대", "최소"), ("최고", "최저"))
BOUNDS = {"이내": "초과"}
for _one, _other in BOUND_PAIRS:
    BOUNDS |= {_one: _other, _other: _one}

PAYMENT_PAIRS = (
    ("지급됩니다", "지급되지 않습니다"),
    ("지급합니다", "지급하지 않습니다"),
    ("지급됨", "지급되지 않음"),
    ("지급함", "지급하지 않음"),
    ("지급.", "부지급."),
    ("지급,", "부지급,"),
    ("보장됩니다", "보장되지 않습니다"),
    ("보장합니다", "보장하지 않습니다"),
    ("보장됨", "보장되지 않음"),
    ("보장함", "보장하지 않음"),
    ("보상됩니다", "보상되지 않습니다"),
    ("보상합니다", "보상하지 않습니다"),
    ("보상됨", "보상되지 않음"),
    ("보상함", "보상하지 않음"),
)
DENIALS = {"지급하지 않": "지급하", "보상되지 않": "보상되", "보장 제외": "보장", "부지급": "지급"}
for _one, _other in PAYMENT_PAIRS:
    DENIALS |= {_one: _other, _other: _one}

ITEMS = re.compile(
    r"((?:면책|대기|감액) ?기간|(?:자기|본인) ?부담금|공제 ?금액|한도)(?:은|는|이|:)? ?(\d[\d,만천억원일년개월%]*)"
)

Change = Callable[[str, list[Entity], list[Entity], random.Random], str | None]


def half(name: str) -> str:
    return "dev" if int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 else "held out"


def figures(entities: list[Entity]) -> list[Entity]:
    return [
        e for e in entities if e.kind in FIGURES and not e.support_only and e.text[:1].isdigit()
    ]


def replaced(text: str, entity: Entity, new: str) -> str:
    return text[: entity.start] + new + text[entity.end :]


def digits(text: str, own: list[Entity], source: list[Entity], draw: random.Random) -> str | None:
    """One digit of one figure is another."""
    known = figures(own)
    if not known:
        return None
    entity = draw.choice(known)
    first = entity.text[0]
    other = draw.choice([d for d in "123456789" if d != first])
    return replaced(text, entity, other + entity.text[1:])


def tenfold(text: str, own: list[Entity], source: list[Entity], draw: random.Random) -> str | None:
    """One figure has a zero more."""
    known = figures(own)
    if not known:
        return None
    entity = draw.choice(known)
    return replaced(text, entity, re.sub(r"^([\d,]*\d)", r"\g<1>0", entity.text))


def swap(text: str, own: list[Entity], source: list[Entity], draw: random.Random) -> str | None:
    """Two figures of one kind change places."""
    known = figures(own)
    pairs = []
    for i, one in enumerate(known):
        for other in known[i + 1 :]:
            if one.kind == other.kind and one.key != other.key and one.end <= other.start:
                pairs.append((one, other))
    if not pairs:
        return None
    one, other = draw.choice(pairs)
    middle = text[one.end : other.start]
    return text[: one.start] + other.text + middle + one.text + text[other.end :]


def other_figure(
    text: str, own: list[Entity], source: list[Entity], draw: random.Random
) -> str | None:
    """A figure is another one of the source, of the same kind and unit."""
    stated = {e.key for e in own}
    pairs = []
    for one in figures(own):
        for other in figures(source):
            if one.kind == other.kind and one.base == other.base and other.key not in stated:
                pairs.append((one, other))
    if not pairs:
        return None
    one, other = draw.choice(pairs)
    return replaced(text, one, other.text)


def _word(words: dict[str, str], text: str, draw: random.Random) -> str | None:
    matches = list(
        re.finditer("|".join(map(re.escape, sorted(words, key=len, reverse=True))), text)
    )
    if not matches:
        return None
    match = draw.choice(matches)
    return text[: match.start()] + words[match[0]] + text[match.end() :]


def bound(text: str, own: list[Entity], source: list[Entity], draw: random.Random) -> str | None:
    """A bound is the opposite one (이상: 미만)."""
    return _word(BOUNDS, text, draw)


def payment(text: str, own: list[Entity], source: list[Entity], draw: random.Random) -> str | None:
    """What is paid is not paid, or the other way round."""
    return _word(DENIALS, text, draw)


def denied_item(
    text: str, own: list[Entity], source: list[Entity], draw: random.Random
) -> str | None:
    """An item with a value is said not to be there (면책기간 90일: 면책기간 없음)."""
    matches = list(ITEMS.finditer(text))
    if not matches:
        return None
    match = draw.choice(matches)
    return text[: match.start()] + f"{match[1]} 없음" + text[match.end() :]


CHANGES: dict[str, Change | None] = {
    "unchanged": None,
    "a digit": digits,
    "ten times": tenfold,
    "two figures swapped": swap,
    "another figure of the source": other_figure,
    "the opposite bound": bound,
    "paid / not paid": payment,
    "an item denied": denied_item,
}


def right_cases(paths: list[Path]) -> list[Case]:
    cases = []
    for path in paths:
        for line in path.read_text(encoding="utf-8-sig").splitlines():
            record = json.loads(line)
            if record["metric"] != METRIC:
                continue
            expected = record["expected"] if "expected" in record else record["want_low"]
            low = expected[0] if isinstance(expected, list) else expected
            if low is not None and low >= 0.999 and record.get("kind") != "debatable":
                cases.append(Case.model_validate(record))
    return cases


def state(case: Case, answer: str, rules: Rules) -> tuple[str, dict]:
    score = score_case(answer, case.contexts, case.tags, rules)[METRIC]
    passed = score.score >= rules.thresholds[METRIC] - 1e-12
    found = metric_state(METRIC, score.evidence, measured=score.measured, passed=passed)
    return found, score.evidence


def results(cases: list[Case], rules: Rules, show: str = "") -> pd.DataFrame:
    """A row a case and change: change, half, state."""
    rows = []
    for case in cases:
        answer = case.answer or ""
        own = read_text(rules, answer).entities
        source = [entity for text in case.contexts for entity in read_text(rules, text).entities]
        for name, change in CHANGES.items():
            seed = int(hashlib.sha256(f"{case.id} {name}".encode()).hexdigest(), 16)
            text = answer
            if change is not None:
                changed = change(answer, own, source, random.Random(seed))
                if changed is None or changed == answer:
                    continue
                text = changed
            what, evidence = state(case, text, rules)
            rows.append((name, half(case.id), what))
            if name == show and (what == "ok") != (name == "unchanged") and half(case.id) == "dev":
                print("---", case.id, what, "\n", case.contexts, "\n >>", text, "\n", evidence)
    return pd.DataFrame(rows, columns=["change", "half", "state"])


def table(rows: pd.DataFrame) -> str:
    lines = ["| change | summaries | fail | look | noticed |", "|---|---|---|---|---|"]
    for name in CHANGES:
        states = rows.loc[rows["change"] == name, "state"]
        n = len(states)
        if n:
            fail = int((states == "fail").sum())
            look = int((states == "look").sum())
            noticed = (fail + look) / n
            lines.append(f"| {name} | {n} | {fail / n:.0%} | {look / n:.0%} | {noticed:.0%} |")
    return "\n".join(lines)


def main() -> None:
    arguments = sys.argv[1:]
    show = ""
    if arguments[:1] == ["--show"]:
        show = arguments[1]
        arguments = arguments[2:]
    paths = [Path(path) for path in arguments] or DEFAULT
    rows = results(right_cases(paths), load_rules("ko-insurance"), show)
    for name in ("dev", "held out"):
        print(f"{name}\n{table(rows[rows['half'] == name])}\n")
    print(f"all\n{table(rows)}")


if __name__ == "__main__":
    main()
