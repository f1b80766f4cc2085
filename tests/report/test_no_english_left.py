"""On a Korean page no English is left but ids, codes, names and what samples say.

Nor on a Chinese one: tests/core/test_language.py sees that the two languages have the same entries, and that a Chinese
one keeps no word of English that the Korean one does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.app.calling import QUICK, call

WORD = re.compile(r"[A-Za-z][A-Za-z_.-]{2,}")

HEADS = """() => {
  const pieces = "h1, h2, h3, p, .prose li, summary, th, caption, button, label, .et-tag, .et-trust li, .et-look a, "
    + ".et-table td";
  const texts = [];
  for (const piece of document.querySelectorAll(pieces)) {
    if (piece.closest(".et-texts, pre, .et-id") || piece.querySelector("table")) continue;
    const copy = piece.cloneNode(true);
    copy.querySelectorAll("code, pre, script, kbd").forEach((part) => part.remove());
    texts.push(copy.textContent);
  }
  for (const piece of document.querySelectorAll("[aria-label], [title], [placeholder]")) {
    for (const name of ["aria-label", "title", "placeholder"]) texts.push(piece.getAttribute(name) || "");
  }
  return texts.join("\\n");
}"""

IDS = {
    *("wilson", "t-wilson", "score-t", "score-n", "mid-p", "mover", "bca", "bca-t", "components"),
    *("none", "auto", "seed", "suite", "policy", "unit", "resamples", "version", "sha"),
    *(
        "bundled",
        "example",
        "JupyterLab",
        "run_id",
        "run_id.",
        "CSV",
        "XLSX",
        "SVG",
        "PDF",
        "TEX",
        "MD",
    ),
    *("eval_semver", "eval_policy_hash", "Westfall-Young", "Bartlett", "min-P", "ddof", "std"),
    *("Conflict", "Review", "MemFin"),  # the products
}
CR = {
    *(
        "ref",
        "pol",
        "ref-pol",
        "ote-pol",
        "attr-pol",
        "refpol",
        "otepol",
        "attrpol",
        "term",
        "attribute",
        "polarity",
    ),
    *(
        "text_id",
        "aspect_ref",
        "span",
        "stand-in",
        "override",
        "spec",
        "multiset",
        "protocol",
        "match",
        "key",
        "cr_v",
    ),
    *(
        "positive",
        "negative",
        "neutral",
        "DROP",
        "FLIP",
        "KEEP",
        "fix",
        "keep",
        "still",
        "break",
        "dev",
        "valid",
    ),
    *(
        "proposed",
        "package",
        "this",
        "gold",
        "outputs",
        "gold.jsonl",
        "outputs.jsonl",
        "unknown-gold",
    ),
    *(
        "alert",
        "img",
        "javascript",
        "onerror",
        "script",
        "src",
        "Egnp.exe",
        "gnp.exe",
        "memory",
        "no_",
        "with_",
        "Kappa",
    ),
    *("fleiss_kappa", "cohen_kappa", "perfect_agreement", "majority_agreement"),
    *(
        "final_aspects",
        "final_tuples",
        "aspect_sentiments",
        "inputs.aspect_sentiments",
        "stage_delta",
    ),
    *("override_gate_debug_summary.json", "match_policy", "allowlist", "stop_terms"),
    *(
        "spacing",
        "remove",
        "implicit",
        "pairless",
        "out",
        "no_memory",
        "with_memory",
        "app",
        "tuple_agreement_rate",
    ),
}
OTHERS = {
    *("dialog_id", "turn_pair_id", "dialog_trace.jsonl", "ignore_memory_keys", "lexicon"),
    *("trace", "memory", "scored", "bad-key", "unresolvable-key", "max-T", "evaltools", "compare"),
    # settings and columns of a table
    *(
        "bounds",
        "lower",
        "higher",
        "found",
        "false",
        "null",
        "num_",
        "den_",
        "scores",
        "table",
        "csv",
    ),
    # errors that the traces quote
    *("model", "endpoint", "closed", "the", "connection", "before", "first", "turn", "timed"),
    *("out", "after", "tool", "failed", "quote", "service", "returned"),
}


@pytest.mark.browser
def test_no_english_is_left_on_pages_of_conflict_review(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    conditions = ["example:cr/no_memory", "example:cr/with_memory"]
    ours = ["-o", tmp_path, "--lang", "ko", *QUICK]
    call("report", "seeds", *conditions, *ours)
    call("report", "cr", "example:cr/with_memory__seed1_proposed", *ours)
    pages = sorted(tmp_path.glob("reports/*/metric_report.html"))
    assert len(pages) == 2
    for path in pages:
        left = english(open_page(path).evaluate(HEADS), CR)
        assert not left, f"{path.parent.name}: {left}"


@pytest.mark.browser
def test_no_english_is_left_on_pages_of_memfin_tables_and_the_gallery(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    scores = tmp_path / "점수.csv"
    rows = ["id,metric,value,condition,part"]
    for index in range(30):
        for condition in ("하나", "둘", "셋"):
            value = (index * 7 + len(condition)) % 10 / 10
            rows.append(f"{index},정확도,{value},{condition},부분{index % 2}")
    scores.write_text("\n".join(rows), encoding="utf-8")
    ours = ["-o", tmp_path, "--lang", "ko", *QUICK]
    call("report", "memfin", "example:memfin/memory_agent", "example:memfin/plain_llm", *ours)
    call("report", "table", scores, *ours)
    call("report", "table", scores, "--name", "하나_점수", *ours)
    pages = sorted(tmp_path.glob("reports/*/metric_report.html"))
    assert len(pages) >= 3
    for path in [*pages, tmp_path / "index.html"]:
        left = english(open_page(path).evaluate(HEADS), OTHERS)
        assert not left, f"{path.parent.name}: {left}"


def english(text: str, allowed: set[str]) -> list[str]:
    """The Latin words that are no ids: a hash, a name of a run and a sample's id are."""
    names = re.compile(
        r"[a-f]{3,}|review-|(no|with)_memory\w*|memory_agent\w*|plain_llm\w*|memfin\S*"
    )
    words = set(WORD.findall(text))
    return sorted(word for word in words - IDS - allowed if not names.fullmatch(word))
