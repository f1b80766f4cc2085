"""Labelled summaries as rates with a floor: a single case proves nothing, and rules fitted to it only grow.

`summary_variations`: one summary a line with the score expected. `summary_blind`: cases written before the rules.
`summary_pairs`: a right summary of a source, and the same with one thing wrong. `summary_language`: forms times words.
`summary_tag_sentences`: what tells a risk item, and what only names it. The others are of the reference folder.
"""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from evaltools.suites.summary.read import Case
from evaltools.suites.summary.rules import load_rules
from evaltools.suites.summary.scoring import score_case
from evaltools.suites.summary.states import JUDGED, metric_state
from tests.files import read_lines

DATA = Path(__file__).parents[2] / "data"
RULES = load_rules("ko-insurance")
ACCURACY, RISK, DEFINITIVE, FOLLOWUP = JUDGED


def of_file(name: str) -> list[dict[str, Any]]:
    return read_lines(DATA / f"summary_{name}.jsonl")


@cache
def scores(answer: str | None, contexts: tuple[str, ...], tags: tuple[str, ...] | None) -> Any:
    return score_case(answer, contexts, tags, RULES)


def scored(answer: str | None, contexts: list[str], tags: list[str] | None, metric: str) -> Any:
    return scores(answer, tuple(contexts), None if tags is None else tuple(tags))[metric]


def state(score: Any, metric: str) -> str:
    passed = score.score >= RULES.thresholds.get(metric, 0) - 1e-12
    return metric_state(metric, score.evidence, measured=score.measured, passed=passed)


def band(case: dict[str, Any]) -> tuple[float, float] | None:
    """The lowest and highest score that its author takes for right; None where opinions differ."""
    if "debatable" in (case.get("kind"), case.get("judgement")) or case.get("expected", 0) is None:
        return None
    if "want_low" in case:
        return case["want_low"], case["want_high"]
    expected = case["expected"]
    return tuple(expected) if isinstance(expected, list) else (expected, expected)


def in_band(case: dict[str, Any]) -> bool:
    own = {} if "metadata" in case else {"summary_tags": case.get("tags")}
    read = Case.model_validate({"id": "-", **case, **own})
    low, high = band(case) or (0, 1)
    metric = {"entity_preservation": "entity_recall"}.get(case["metric"], case["metric"])
    return low - 1e-3 <= scored(read.answer, read.contexts, read.tags, metric).score <= high + 1e-3


def share(flags: Iterator[bool] | list[bool]) -> float:
    flags = list(flags)
    assert len(flags) >= 5
    return sum(flags) / len(flags)


@pytest.mark.parametrize(
    ("name", "metric", "floor"),
    [
        ("variations", ACCURACY, 0.95),
        ("variations", RISK, 0.97),
        ("variations", DEFINITIVE, 0.97),
        ("variations", FOLLOWUP, 0.97),
        ("variations", "entity_recall", 0.97),
        ("blind", ACCURACY, 0.80),
        ("blind", RISK, 0.93),
        ("blind", DEFINITIVE, 0.96),
        ("blind", FOLLOWUP, 0.96),
    ],
)
def test_scores_in_the_band_of_their_author(name: str, metric: str, floor: float) -> None:
    assert share(in_band(case) for case in of_file(name) if case["metric"] == metric) >= floor


@pytest.mark.parametrize(
    ("metric", "right", "wrong"),
    [(ACCURACY, 0.94, 0.74), (RISK, 0.97, 0.85), (DEFINITIVE, 0.98, 0.90), (FOLLOWUP, 0.97, 0.87)],
)
def test_right_summaries_pass_and_wrong_ones_are_noticed(
    metric: str, right: float, wrong: float
) -> None:
    kept = []
    noticed = []
    for case in of_file("pairs"):
        texts = case["contexts"], case["summary_tags"], metric
        kept.append(state(scored(case["right"], *texts), metric) == "ok")
        for answer in (w["answer"] for w in case["wrong"] if w["metric"] == metric):
            noticed.append(state(scored(answer, *texts), metric) != "ok")
    assert share(kept) >= right
    assert share(noticed) >= wrong


def read_as(kind: str, answer: str) -> Any:
    """What the rules make of a sentence of the grids."""
    if kind == "follow_up":
        return bool(scored(answer, [], ["needs_followup"], FOLLOWUP).score)
    if kind == "promise":
        return not scored(answer, [], [], DEFINITIVE).score
    evidence = scored(answer, [answer], [], ACCURACY).evidence
    return [entity["value"] for entity in evidence.get("supported", [])]


@pytest.mark.parametrize("kind", ["follow_up", "promise", "values"])
def test_every_form_with_every_word(kind: str) -> None:
    right = []
    for grid in tomllib.loads((DATA / "summary_language.toml").read_text(encoding="utf-8"))[kind]:
        for form in grid["forms"]:
            right += [read_as(kind, form.format(w)) == grid["expected"] for w in grid["words"]]
    assert share(right) >= 0.97


def test_what_tells_an_item_covers_its_tag_and_what_only_names_it_does_not() -> None:
    right = []
    file = (DATA / "summary_tag_sentences.toml").read_text(encoding="utf-8")
    for tag, sentences in tomllib.loads(file).items():
        for kind, sources in (("told", []), ("named", sentences["told"])):
            for answer in sentences[kind]:
                found = state(scored(answer, sources, [tag], RISK), RISK)
                right.append((found == "ok") == (kind == "told"))
    assert share(right) >= 0.93


@pytest.mark.reference
@pytest.mark.parametrize("name", ["fresh", "fresh2", "fresh3"])
def test_reference_sets(reference: Path, name: str) -> None:
    """In range .94, wrong ones noticed .90 (.80 of the set that no rule was written for), right ones stopped .06."""
    in_range, kept, noticed = [], [], []
    for case in read_lines(reference / "summary" / f"{name}.jsonl"):
        limits = band(case)
        if limits is None or limits == (0.5, 0.5):
            continue
        read = Case.model_validate(case)
        metric = case["metric"]
        found = state(scored(read.answer, read.contexts, read.tags, metric), metric)
        is_binding = case.get("binding", False)
        if not is_binding:
            in_range.append(in_band(case))
        least = 0.85 if metric == ACCURACY else RULES.thresholds[metric]
        if limits[0] >= least and limits[1] >= 1 and not is_binding:
            kept.append(found == "ok")
        elif limits[1] < 1 or is_binding:
            noticed.append(found != "ok")
    assert share(in_range) >= 0.94
    assert share(noticed) >= (0.80 if name == "fresh3" else 0.90)
    assert share(kept) >= (0.90 if name == "fresh3" else 0.94)


@pytest.mark.reference
def test_right_scores_of_an_earlier_tool_are_kept_and_wrong_ones_mended(reference: Path) -> None:
    cases = read_lines(reference / "summary" / "cases.jsonl")
    for judgement, floor in (("right", 0.97), ("wrong", 0.90)):
        assert share(in_band(case) for case in cases if case["judgement"] == judgement) >= floor
