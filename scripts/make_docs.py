"""Write docs/metrics.md from the metric tables: definition, source, and a worked example of every metric.

    python scripts/make_docs.py

The numbers of the examples come from the bundled examples.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from evaltools import Difference, evaluate
from evaltools.app.examples import DEMO
from evaltools.core.jsonl import write_text
from evaltools.core.suite import REGISTRY, Result

DOC = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"

SOURCES = {
    "cr": (
        "[M] is the seed document *cr_metrics_spec*, [F] *cr_f1_metrics_examples*, [H] *cr_hallucination_rate*, "
        "each with its section; D numbers are in [decisions.md](decisions.md)."
    ),
    "memfin": "Sections are of the seed document *memfin_metrics*.",
    "summary": (
        "Sections are of the seed document *insurance_summary_prd*; D numbers are in [decisions.md](decisions.md)."
    ),
}

HEAD = """# Metrics

Every metric is a ratio of sums over units, or the difference of two such ratios. The columns of a formula are
columns of `units.parquet`; "sum" is over its rows, a null adds nothing, and a denominator of 0 means *not
measured* (N/A) unless said otherwise. This page is written by `scripts/make_docs.py` from the metric tables
`evaltools/<suite>/metrics.py`; the worked examples are the bundled ones (`evaltools demo`).
"""


def number(x: float) -> str:
    if pd.isna(x):
        return "N/A"
    return f"{x:,.0f}" if abs(x - round(x)) < 1e-9 else f"{x:.4f}"


def worked(result: Result, name: str) -> str:
    e = result[name]
    if pd.isna(e["value"]):
        return "not measured" + ("" if pd.isna(e["denominator"]) else f" ({number(e['numerator'])} / 0)")
    if pd.isna(e["denominator"]):
        return number(e["value"])
    return f"{number(e['numerator'])} / {number(e['denominator'])} = {number(e['value'])}"


def section(suite: str) -> str:
    result = evaluate(suite, DEMO[suite][0])
    lines = [f"## {result.suite.title}", "", SOURCES[suite], "", f"Worked example: `{DEMO[suite][0]}`.", ""]
    group = None
    for m in result.suite.metrics(result.options):
        if m.group != group:
            group = m.group
            lines += [f"### {group}", ""]
        if isinstance(m, Difference):
            formula = f"`{m.minuend}` − `{m.subtrahend}`"
            a, b = result.value(m.minuend), result.value(m.subtrahend)
            example = f"{number(a)} − {number(b)} = {number(result.value(m.name))}"
        else:
            formula = f"sum(`{m.numerator}`)" + (f" / sum(`{m.denominator}`)" if m.denominator else "")
            if m.empty is not None:
                formula += f"; {m.empty:g} where the denominator is 0"
            example = worked(result, m.name)
        direction = {"higher": "higher is better", "lower": "lower is better", "none": "describes"}[m.better]
        lines += [
            f'- <a id="{m.name}"></a>**`{m.name}`** {m.title} ({direction}).',
            f"  {formula}. Source: {m.source}.",
        ]
        lines += [f"  Example: {example}.", ""]
    return "\n".join(lines)


def text() -> str:
    return "\n".join([HEAD, *(section(suite) for suite in REGISTRY)])


if __name__ == "__main__":
    write_text(DOC, text())
