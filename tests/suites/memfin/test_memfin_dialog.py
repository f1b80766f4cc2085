"""score_dialog: one dialogue as a dict, scored as the suite scores it."""

import json
from pathlib import Path

import pytest

import evaltools as et
from tests.files import read_lines
from tests.suites.memfin.memfin_traces import dialog, turn

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
    assert rows == read_lines(stored)
    assert len(rows) > 20


def test_what_does_not_fit_is_named() -> None:
    wrong = dialog(turns=[turn(status="lost")])
    with pytest.raises(et.InputError, match=r"turns\.0\.turn_status: .*'error', got 'lost'"):
        et.memfin.score_dialog(wrong)
    with pytest.raises(et.InputError, match="expected a JSON object"):
        et.memfin.score_dialog([wrong])
