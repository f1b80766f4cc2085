"""What the pages show of a run: the samples with their marks, the tables and figures, and the own command."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import evaltools as et
from evaltools.suites.cr import cards as sample_cards
from evaltools.suites.cr import reviewers
from evaltools.suites.cr.commands import COMMANDS
from evaltools.suites.cr.tuples import EvalTuple
from evaltools.suites.cr.units import Action
from tests.suites.cr.cards import gold, output, run, tup

EXAMPLE = "example:cr/with_memory__seed1_proposed"
QUICK = et.Resampling(n_resamples=200)
A, WRONG = tup("본품#품질", "향"), tup("본품#품질", "향", "negative")


@pytest.mark.parametrize("options", [{}, {"protocol": "cr_v1"}, {"match": "reference"}])
def test_marks_of_the_samples_are_the_scores(options: dict[str, str]) -> None:
    r = et.evaluate("cr", EXAMPLE, resampling=QUICK, **options)
    key = r.options.key
    shown = sample_cards.cards(r, r.units, key=key).set_index("text_id")
    for u in r.units.to_dict("records"):
        of_gold, of_final, of_stage1 = (
            Counter(m for *_, m in shown.loc[u["text_id"], c]) for c in ("gold", "final", "stage1")
        )
        right = u[f"outcome_{key}"] in ("fix", "keep")
        assert (of_gold["missing"] + of_final["spurious"] == 0) == right, u["text_id"]
        assert (of_final["spurious"] == 0) == (u[f"fp_{key}"] == 0)
        assert (of_gold["missing"] == 0) == (u[f"fn_{key}"] == 0)
        if u[f"f1_s1_{key}"] == 1:
            assert set(of_stage1) <= {"matched", ""}


def test_groups_hold_the_samples_that_they_name() -> None:
    r = et.evaluate("cr", EXAMPLE, resampling=QUICK)
    groups = sample_cards.sample_groups(r, key="refpol")
    n = {name: len(r.units.query(query)) for name, (query, _) in groups.items()}
    units = r.units
    assert n["still"] == (units["outcome_refpol"] == "still").sum() > 0
    assert (
        n["broken"] + n["fixed"] + n["still"] + (units["outcome_refpol"] == "keep").sum()
        == units["has_gold"].sum()
    )
    for name, count in n.items():
        assert f"({count:,})" in r.samples(name).text


def test_cards_say_what_was_done_and_come_worst_first(tmp_path: Path) -> None:
    acted = {
        "review_actions": [
            {
                "actor": "A",
                "action_type": "FLIP",
                "target_tuple_ids": ["t0"],
                "reason_code": "POLARITY",
            }
        ],
        "arb_actions": [{"action_type": "KEEP"}],
    }
    rows = [
        output("better", stage1=[WRONG], final=[A]),
        output("worse", stage1=[A], final=[WRONG], analysis_flags=acted),
        output("none", final=[A]),
    ]
    r = et.evaluate(
        "cr", run(tmp_path / "r", rows, [gold("better", A), gold("worse", A)]), resampling=QUICK
    )
    assert r.units.loc[1, "reviews"] == [Action("A", "FLIP", ("t0",), "POLARITY")]
    assert r.units.loc[1, "final"] == [EvalTuple("본품#품질", "향", "negative")]
    shown = sample_cards.cards(r, r.units, key="refpol")
    assert shown["text_id"].tolist() == ["worse", "better", "none"]
    worse, _, none = shown.to_dict("records")
    assert worse["change"] == "F1 1.00 → 0.00"
    assert (worse["reviewers"], worse["arbiter"]) == ("A: FLIP t0 (POLARITY)", "?: KEEP")
    assert worse["gold"] == [["본품#품질", "향", "positive", "missing"]]
    assert worse["stage1"] == [["본품#품질", "향", "positive", "matched"]]
    assert worse["final"] == [["본품#품질", "향", "negative", "spurious"]]
    # without gold there is nothing to mark
    assert (none["change"], none["final"]) == ("no gold", [["본품#품질", "향", "positive", ""]])


def test_agreement_of_the_reviewers_in_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [f"example:cr/{c}_memory__seed{s}_proposed" for c in ("no", "with") for s in (1, 2)]
    study = et.study(runs, suite="cr", resampling=QUICK)
    table = reviewers.reviewers(study)
    assert list(table.columns) == reviewers.COLUMNS
    assert table.groupby(["condition", "seed"]).ngroups == 4
    monkeypatch.setattr(reviewers, "review_votes", lambda reviews: (pd.DataFrame(), 0))
    assert reviewers.reviewers(study).empty


def test_the_command_writes_scorecards(tmp_path: Path) -> None:
    folder = run(tmp_path / "r", [output("a", final=[A])], [gold("a", A), gold("b", A)])
    command = [str(folder), "--gold", str(folder / "gold.jsonl"), "-o", str(tmp_path / "s.jsonl")]
    done = CliRunner().invoke(COMMANDS["scorecards"], command)
    assert done.exit_code == 0, done.output
    assert "1 scorecards" in done.output
    assert "unknown-gold" in done.output
    assert json.loads((tmp_path / "s.jsonl").read_text(encoding="utf-8"))["meta"]["text_id"] == "a"
    assert CliRunner().invoke(COMMANDS["scorecards"], [*command, "-q"]).output == ""


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
        et.evaluate("cr", run(tmp_path / f"{c}__seed1_x", made, golds), resampling=QUICK)
        for c, made in (("a", rows), ("b", [output("s0", final=[tup("x#y", "값")]), *rows[1:]]))
    ]
    r, study = runs[0], et.study(runs, resampling=QUICK)
    key, other = ("otepol", "refpol") if foreign else ("refpol", "otepol")
    assert ("refpol" in "".join(r.blocked)) == foreign
    assert sample_cards.leading_key(r) == sample_cards.leading_key(study) == key
    assert [v.name for v in r.sample_views] == [key, other, "attrpol"]
    assert sample_cards.sample_groups(r, key=key)["fixed"][0] == f"outcome_{key} == 'fix'"
    assert "6 fixed" in repr(r) and "still wrong" not in repr(r)
    name = "term" if foreign else "ref"
    for page in (r.samples().html, study.samples(f"tuple_f1_s2_{key}").html):
        assert f"against the gold by ({name}, polarity)" in page
    assert sample_cards.cards(r, r.units, key=key).iloc[0]["final"][0][3] == "matched"
    assert sample_cards.cards(r, r.units, key=other).iloc[0]["final"][0][3] == (
        "spurious" if foreign else "matched"
    )
