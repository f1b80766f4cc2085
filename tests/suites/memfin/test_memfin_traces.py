"""Traces compared for a paper, and what stands beside a trace."""

from pathlib import Path

import pandas as pd
import pytest

import evaltools as et
from tests.suites.memfin.memfin_traces import dialog, turn, write


def test_the_table_of_a_paper_holds_what_the_document_asks() -> None:
    runs = ["example:memfin/memory_agent", "example:memfin/plain_llm"]
    study = et.study(runs, n_resamples=100)
    latex = study.to_latex()
    titles = {metric.name: metric.title for metric in study.metrics}
    measured = {name for name, value in study.results[0].to_dict().items() if value is not None}
    for name in study.suite.paper:
        shown = titles[name].replace("%", "\\%").replace("_", "\\_") in latex
        assert shown == (name in measured), name
    assert len(set(study.suite.paper) & measured) > 15
    row = next(line for line in latex.splitlines() if line.startswith(titles["m2_profile_score"]))
    assert "0.680" in row  # the mean over the dialogues that both systems have


def test_a_manifest_beside_the_trace_says_that_memory_was_ignored(tmp_path: Path) -> None:
    """D44: M1 is not measured, as with the option, and a note says why."""
    path = write(tmp_path, dialog("d", [turn(1, keys=["profile_gt.horizon_gt"])]))
    assert et.evaluate("memfin", path, n_resamples=100)["m1_key_coverage"]["value"] == 0
    manifest = tmp_path / "run_manifest.json"
    manifest.write_text('{"m1_handling": "ignored_memory_required_keys"}')
    run = et.evaluate("memfin", path, n_resamples=100)
    assert pd.isna(run["m1_key_coverage"]["value"]) and run.options.ignore_memory_keys
    assert "memory-ignored" in {check.code for check in run.checks}
    manifest.write_text("{")
    with pytest.raises(et.InputError, match=r"run_manifest\.json"):
        et.evaluate("memfin", path, n_resamples=100)
