"""score_dialog: one dialogue as a dict, scored as the suite scores it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import evaltools as et
from tests.suites.memfin.memfin_traces import dialog, turn, write

QUICK = et.Resampling(n_resamples=100)


@pytest.mark.parametrize("ignore", [False, True])
@pytest.mark.parametrize("name", ["memory_agent", "plain_llm"])
def test_the_rows_are_those_of_turn_eval(name: str, ignore: bool, tmp_path: Path) -> None:
    trace = et.example(f"memfin/{name}/dialog_trace.jsonl")
    et.evaluate("memfin", trace, out=tmp_path, resampling=QUICK, ignore_memory_keys=ignore)
    (stored,) = tmp_path.rglob("turn_eval.jsonl")
    rows = []
    for line in trace.read_text(encoding="utf-8").splitlines():
        rows += et.memfin.score_dialog(json.loads(line), ignore_memory_keys=ignore)
    assert rows == [json.loads(line) for line in stored.read_text(encoding="utf-8").splitlines()]
    assert len(rows) > 20


def test_a_dialogue_that_is_not_valid_has_no_rows() -> None:
    assert et.memfin.score_dialog(dialog(valid_dialog=False)) == []
    assert et.memfin.score_dialog(dialog(turns=[])) == []


def test_a_lexicon_of_ones_own(tmp_path: Path) -> None:
    from evaltools.suites.memfin.lexicon import BUNDLED

    words = json.loads(BUNDLED.read_text(encoding="utf-8"))
    words["explainability"] = {"举例": ["比如"]}
    path = tmp_path / "words.json"
    path.write_text(json.dumps(words), encoding="utf-8")
    example = dialog(turns=[turn(reply="比如国债。", rubric=["举例"])])
    (bundled,) = et.memfin.score_dialog(example)
    (other,) = et.memfin.score_dialog(example, lexicon=path)
    assert (bundled["judge_score_1_5"], other["judge_score_1_5"]) == (1, 5)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"dialog_id": 7}, "dialog_id"),
        (
            {"turns": [turn(status="lost")]},
            "turns.0.turn_status: .*'ok', 'timeout' or 'error', got 'lost'",
        ),
        ({"turns": [turn(1), turn(1)]}, "turn_pair_id is not unique in this dialogue"),
    ],
)
def test_what_does_not_fit_is_named(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(et.InputError, match=message):
        et.memfin.score_dialog(dialog(**wrong))


def test_the_suite_scores_by_the_same_function(tmp_path: Path) -> None:
    example = dialog(turns=[turn(1, "净值有波动。", risk=["波动"]), turn(2, status="error")])
    run = et.evaluate("memfin", write(tmp_path, example), resampling=QUICK)
    rows = et.memfin.score_dialog(example)
    assert run.units["risk_tag_hits"].tolist() == [row["risk_tag_hits"] for row in rows]
    assert run.units["eligible_m3"].tolist() == [row["eligible_m3"] for row in rows]
