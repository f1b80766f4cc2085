"""What the pages show of a run: the samples with their marks, and which key leads."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

import evaltools as et
from evaltools.report.samples import Line, Row
from evaltools.suites.cr import cards as sample_cards
from evaltools.suites.cr.cards import card_rows
from evaltools.suites.cr.sample import Action
from evaltools.suites.cr.tuples import KEYS, EvalTuple, Key, MatchPolicy
from tests.app.calling import FAST, call
from tests.suites.cr.cards import gold, output, run, tup

EXAMPLE = "example:cr/with_memory__seed1_proposed"
A, WRONG = tup("본품#품질", "향"), tup("본품#품질", "향", "negative")


def cell(rows: list[Row], column: str) -> list[str]:
    """What a column of a card says: aspect, mark, text and note of every line."""
    lines = []
    for row in rows:
        for line in row.cells.get(column, []):
            aspect = f"{row.label} {row.part}".strip()
            lines.append(f"{aspect}: {line.mark} {line.text} {line.note}".strip())
    return lines


@pytest.mark.parametrize("options", [{}, {"protocol": "cr_v1"}, {"match": "reference"}])
def test_marks_of_the_samples_are_the_scores(options: dict[str, str]) -> None:
    r = et.evaluate("cr", EXAMPLE, resampling=FAST, **options)
    for u, key in product(r.units[r.units["has_gold"]].to_dict("records"), KEYS):
        card = sample_cards.card(u, key=key, policy=r.options.match_policy)
        marks = [line.mark for row in card["rows"] for line in row.cells.get("final", ())]
        right = u[f"outcome_{key}"] in ("fix", "keep")
        assert (not {"bad", "missing"} & set(marks)) == right, u["text_id"]
        # several tuples may be one pair
        assert (marks.count("bad") >= u[f"fp_{key}"]) and ("bad" in marks) == (u[f"fp_{key}"] > 0)
        assert marks.count("missing") == u[f"fn_{key}"], u["text_id"]
        assert card["tags"][0].mark == ("good" if right else "bad")


POSITIVE, NEGATIVE = "positive", "negative"
REF, OTHER = "본품#품질", "본품#일반"


@pytest.mark.parametrize(
    ("gold", "final", "key", "shown"),
    [
        # the same aspect: right, of another polarity, and one too much beside a right one
        ([(REF, "향", POSITIVE)], [(REF, "향", POSITIVE)], "refpol", [f"{REF} 향: good positive"]),
        (
            [(REF, "향", POSITIVE)],
            [(REF, "향", NEGATIVE)],
            "refpol",
            [f"{REF} 향: bad negative", f"{REF} 향: missing positive"],
        ),
        (
            [(REF, "향", POSITIVE)],
            [(REF, "향", POSITIVE), (REF, "향", NEGATIVE)],
            "refpol",
            [f"{REF} 향: good positive", f"{REF} 향: bad negative"],
        ),
        # another term, which the key passes over, and another ref, which it does not
        (
            [(REF, "향", POSITIVE)],
            [(REF, "향기", POSITIVE)],
            "refpol",
            [f"{REF} 향: good positive {REF} · 향기"],
        ),
        (
            [(REF, "향", POSITIVE)],
            [(OTHER, "향", POSITIVE)],
            "refpol",
            [f"{REF} 향: missing positive", f"{OTHER} 향: bad positive"],
        ),
        # an implicit tuple takes any of its polarity by term
        (
            [(REF, "", POSITIVE)],
            [(OTHER, "제품", POSITIVE)],
            "otepol",
            [f"{OTHER} 제품: good positive"],
        ),
        # without gold nothing is right or wrong
        ([], [(REF, "향", POSITIVE)], "refpol", [f"{REF} 향:  positive"]),
    ],
)
def test_a_row_holds_the_gold_tuple_and_what_was_taken_for_it(
    gold: list[Any], final: list[Any], key: Key, shown: list[str]
) -> None:
    columns = {"gold": [EvalTuple(*t) for t in gold], "final": [EvalTuple(*t) for t in final]}
    assert cell([*card_rows(columns, key, MatchPolicy())], "final") == shown


def test_cards_say_what_was_done_and_come_worst_first(tmp_path: Path) -> None:
    did = {"action_type": "FLIP", "target_tuple_ids": ["t0"], "reason_code": "POLARITY"}
    acted = {
        "review_actions": [{"actor": "A", **did}, {"actor": "B", **did}],
        "arb_actions": [{"action_type": "KEEP"}],
    }
    rows = [
        output("better", "향도 좋다", stage1=[WRONG], final=[A]),
        output("worse", stage1=[A], final=[WRONG], analysis_flags=acted),
        output("none", final=[A]),
    ]
    r = et.evaluate(
        "cr", run(tmp_path / "r", rows, [gold("better", A), gold("worse", A)]), resampling=FAST
    )
    assert r.units.loc[1, "reviews"][0] == Action("A", "FLIP", ("t0",), "POLARITY")
    assert r.units.loc[1, "final"] == [EvalTuple("본품#품질", "향", "negative")]
    ordered = sample_cards.in_order(r, r.units, key="refpol")
    assert ordered["text_id"].tolist() == ["worse", "better", "none"]
    worse, better, none = map(sample_cards.sample_view(r).card, ordered.to_dict("records"))
    assert worse["tags"] == [Line("broken", "bad"), Line("F1 1.00 → 0.00")]
    assert worse["review"] == "Review: A, B flip (polarity) · arbiter keep."
    assert cell(worse["rows"], "gold") == ["본품#품질 향:  positive"]
    assert cell(worse["rows"], "stage1") == ["본품#품질 향: good positive"]
    # terms are marked where they stand in the text
    assert better["places"] == [("text", 0, 1, "good", 0, "")]
    # without gold there is nothing to mark
    assert none["tags"] == [Line("no gold")] and none["places"] == []


@pytest.mark.parametrize("foreign", [True, False])
def test_the_key_of_the_headline_leads_everywhere(foreign: bool, tmp_path: Path) -> None:
    """Twelve samples with the terms of the gold, six of them after review only; `foreign` refs stand in no gold."""
    right = tup("x#y" if foreign else "본품#품질", "향")
    rows = [
        output(f"s{i}", stage1=[right if i < 6 else tup("x#y", "값")], final=[right])
        for i in range(12)
    ]
    golds = [gold(f"s{i}", A) for i in range(12)]
    runs = [
        et.evaluate("cr", run(tmp_path / f"{c}__seed1_x", made, golds), resampling=FAST)
        for c, made in (("a", rows), ("b", [output("s0", final=[tup("x#y", "값")]), *rows[1:]]))
    ]
    r, study = runs[0], et.study(runs, resampling=FAST)
    key = "otepol" if foreign else "refpol"
    assert ("refpol" in "".join(r.blocked)) == foreign
    assert sample_cards.leading_key(r) == sample_cards.leading_key(study) == key
    assert sample_cards.sample_view(r).groups["fixed"][0] == f"outcome_{key} == 'fix'"
    name = "term" if foreign else "ref"
    for page in (r.samples().html, study.samples(f"tuple_f1_s2_{key}").html):
        assert f"against the gold by ({name}, polarity)" in page


def test_a_gate_asks_for_the_headline_that_the_runs_have(tmp_path: Path) -> None:
    """Refs stand in no gold, so the headline is by term: the same F1 after review, to which review adds nothing now."""
    right, wrong = tup("x#y", "향"), tup("x#y", "값")
    golds = [gold(f"s{i}", A) for i in range(12)]
    for name, before in (("old", wrong), ("new", right)):
        made = run(
            tmp_path / f"{name}__seed1_x",
            [output(f"s{i}", stage1=[before], final=[right]) for i in range(12)],
            golds,
        )
        et.evaluate("cr", made, out=tmp_path, resampling=FAST)
    old, new = (tmp_path / "results" / f"{name}__seed1_x" for name in ("old", "new"))
    assert "FAIL delta_f1_otepol" in call("gate", new, "--baseline", old, status=1).output
