"""What is wrong with a file is said in the reader's language, by every suite."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import evaltools as et
from evaltools.core.errors import InputError, UsageError
from evaltools.core.language import say, speaking


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


CARD = {"meta": {"text_id": "a"}}
DIALOG = {"dialog_id": "d", "valid_dialog": True}
SCORE = {"id": "a", "metric": "acc", "value": 1}

CASES = {
    "no JSON": ("cr", "scorecards.jsonl", "{"),
    "cut off": ("cr", "scorecards.jsonl", '{"meta": '),
    "an empty file": ("cr", "scorecards.jsonl", ""),
    "no such file": ("cr", "scorecards.jsonl", None),
    "no object": ("cr", "scorecards.jsonl", "[]\n"),
    "a wrong type": ("cr", "scorecards.jsonl", lines({"meta": {"text_id": []}})),
    "a missing field": ("cr", "scorecards.jsonl", lines({"run_id": "r"})),
    "no id": ("cr", "scorecards.jsonl", lines({"meta": {}})),
    "a doubled id": ("cr", "scorecards.jsonl", lines(CARD, CARD)),
    "an empty name": ("memfin", "dialog_trace.jsonl", lines({**DIALOG, "dialog_id": ""})),
    "a doubled dialogue": ("memfin", "dialog_trace.jsonl", lines(DIALOG, DIALOG)),
    "no valid dialogue": (
        "memfin",
        "dialog_trace.jsonl",
        lines({**DIALOG, "valid_dialog": False}),
    ),
    "other columns": ("table", "s.csv", "a,b\n1,2\n"),
    "a column twice": ("table", "s.csv", "id,metric,value,value\n"),
    "no number": ("table", "s.csv", "id,metric,value\na,acc,high\n"),
    "no id in a row": ("table", "s.csv", "id,metric,value\n,acc,1\n"),
    "too few cells": ("table", "s.csv", "id,metric,value\na,acc\n"),
    "no parquet": ("table", "s.parquet", "id,metric,value\n"),
    "a second row": ("table", "s.jsonl", lines(SCORE, SCORE)),
    "a direction too much": (
        "table",
        "s.jsonl",
        lines({**SCORE, "higher_is_better": True}, {**SCORE, "higher_is_better": False}),
    ),
    "outside the limits": (
        "table",
        "s.jsonl",
        lines({**SCORE, "low": 0, "high": 1}, {**SCORE, "id": "b", "value": -3}),
    ),
}


@pytest.mark.parametrize("lang", ["ko", "zh"])
@pytest.mark.parametrize("case", CASES)
def test_a_problem_is_told_in_the_readers_language(case: str, lang: str, tmp_path: Path) -> None:
    suite, name, content = CASES[case]
    path = tmp_path / name
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        et.evaluate(suite, path)
    for problem in caught.value.problems:
        with speaking(lang):
            told = say(problem.message)
        assert told != str(problem.message), f"without a translation: {told}"
        assert name in problem.text()
        assert str(problem.message) in str(problem)  # files and logs stay English


def test_a_profile_that_no_row_has_is_told(tmp_path: Path) -> None:
    path = tmp_path / "scorecards.jsonl"
    path.write_text(lines({"meta": {"text_id": "a", "profile": "p"}}), encoding="utf-8")
    with pytest.raises(InputError, match="no row has the profile 'q'") as caught:
        et.evaluate("cr", path, profile=("q",))
    with speaking("ko"):
        assert "'q' 프로필을 가진 행이 없음" in caught.value.problems[-1].text()


RUN = "example:cr/no_memory__seed1_proposed"

CALLS = {
    "a misspelt suite": (("crr", RUN), {}, "no suite 'crr'; there are cr, memfin, "),
    "no such example": (("cr", "example:cr/nosuch"), {}, "no example 'cr/nosuch'; there are: "),
    "a folder of runs": (
        ("cr", "example:cr"),
        {},
        "cr is a folder of runs (6), not a run; name them: ",
    ),
    "another suite's input": (("memfin", RUN), {}, " looks like an input of cr, not of memfin"),
    "two wrong options": (
        ("cr", RUN),
        {"protocol": "zz", "nope": 3},
        "options of cr: protocol: Input should be 'cr_v2' or 'cr_v1', got 'zz'; "
        "nope: Extra inputs are not permitted, got 3",
    ),
    "a wrong setting": (
        ("cr", RUN),
        {"n_resamples": -4},
        "settings of the intervals: n_resamples: Input should be greater than or equal to 100",
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_call_that_makes_no_sense_is_told_in_the_readers_language(case: str) -> None:
    arguments, options, english = CALLS[case]
    with pytest.raises(UsageError) as caught:
        et.evaluate(*arguments, **options)
    assert english in str(caught.value)
    for lang, letters in (("ko", "[가-힣]"), ("zh", "[一-鿿]")):
        with speaking(lang):
            told = say(caught.value.args[0])
        assert re.search(letters, told)
        assert english not in told
