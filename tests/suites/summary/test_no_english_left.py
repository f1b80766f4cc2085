"""On a Korean page of summaries no English is left but ids, names and what cases say; nor on a Chinese one
(tests/core/test_language.py)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evaltools as et
from tests.app.calling import QUICK, call

WORD = re.compile(r"[A-Za-z][A-Za-z_.-]{2,}")

VISIBLE = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    const inside = walker.currentNode.parentElement;
    if (!inside.closest("script, style, code, pre, kbd")) texts.push(walker.currentNode.textContent);
  }
  return texts.join("\\n");
}"""

NAMES = {
    *("wilson", "t-wilson", "score-t", "mid-p", "none", "auto"),  # methods of intervals
    *("seed", "judge", "hybrid", "off", "rules", "ko-insurance", "JupyterLab"),
    *("unknown-tag", "case_id", "cases", "cases.jsonl"),  # codes, columns and files
    *("bundled", "example"),  # these words stand on every page of the example
    *("suite", "summary", "policy", "unit", "resamples", "version", "sha"),
    *("eval_semver", "eval_policy_hash", "rules_version", "rules_identity"),
    *("TPR", "TNR", "CSV", "XLSX"),
}


@pytest.mark.browser
def test_no_english_is_left(open_page: Callable[..., Any], tmp_path: Path) -> None:
    cases = "example:summary/cases.jsonl"
    call("report", "summary", cases, "-o", tmp_path, "--lang", "ko", *QUICK)
    text = open_page(tmp_path / "reports/cases/metric_report.html").evaluate(VISIBLE)
    units = et.evaluate("summary", cases, n_resamples=100).units
    given = "\n".join(
        [
            *units["case_id"],
            *units["answer"].fillna(""),
            *units["contexts"].map("\n".join),
            *units["tags"].map("\n".join),
        ]
    )
    hashes = re.compile(r"[a-f]{3,}")  # letters of a hash
    left = {word for word in WORD.findall(text) if not hashes.fullmatch(word)}
    # a card may quote a part of a word
    assert sorted(word for word in left - NAMES if word not in given) == []
