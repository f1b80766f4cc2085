"""What is declared for a study is said alike by the terminal, the page, the files for a paper and the CSV."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pandas as pd
import pytest

from .calling import QUICK, call

DECLARED = ("--primary", "fix_rate_refpol", "--margin", "tuple_f1_s2_refpol=0.15")
PRIMARY = "is better than no_memory on “Fix rate (ref-pol)”: 0.467 against 0.167"
ALONE = "“Fix rate (ref-pol)” is tested alone"
EQUIVALENT = r"Tuple F1 after review \(ref-pol\)\s↑[^\n]*equivalent"


def _text(path: Path) -> str:
    """The words of a file, without markup and escapes."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        text = html.unescape(re.sub(r"<[^>]+>", "", text))
    return text.replace("\\_", "_")


def test_a_declared_metric_and_margin_decide_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sides = ("example:cr/no_memory", "example:cr/with_memory")
    terminal = call("report", "seeds", *sides, *DECLARED, *QUICK).stdout
    assert f"with_memory {PRIMARY}" in terminal
    report = tmp_path / "outputs" / "reports" / "no_memory_vs_with_memory"
    for file in ("metric_report.html", "paper.md", "paper.tex"):
        text = _text(report / file)
        for sentence in (f"with_memory {PRIMARY}", ALONE):
            assert sentence in text, (file, sentence)
        assert "tested alone" not in text.replace(ALONE, "").replace(
            "The primary metric is tested alone", ""
        ).replace("# metric that is tested alone", ""), file
    assert re.search(EQUIVALENT, _text(report / "metric_report.html"))
    for file in ("paper.md", "paper.tex"):
        assert "lies within the declared margin" in _text(report / file)
    result = tmp_path / "outputs" / "results" / "no_memory_aggregated"
    table = pd.read_csv(result / "comparison.csv").set_index("metric")
    assert table.index[table["primary"]].tolist() == ["fix_rate_refpol", "fix_rate"]  # its alias
    assert table.loc["fix_rate_refpol", "verdict"] == "better"
    assert table.loc["tuple_f1_s2_refpol", ["verdict", "margin"]].tolist() == ["equivalent", 0.15]
