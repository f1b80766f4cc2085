"""Write docs/metrics.md from the metric tables: definition, source, and a worked example of every metric.

    python scripts/make_docs.py

The numbers of the examples come from the bundled examples.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from evaltools import Difference, Mean, Run, evaluate
from evaltools.core.files import write_text
from evaltools.core.metric import AnyMetric

DOC = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"

EXAMPLES = {
    "cr": "example:cr/with_memory__seed1_proposed",
    "memfin": "example:memfin/memory_agent",
    "summary": "example:summary/cases.jsonl",
}

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

Every metric is a ratio of sums over units, or a weighted sum of such ratios (a difference, a mean). The columns of a
formula are columns of `units.parquet`; "sum" is over its rows, a null adds nothing, and a denominator of 0 means *not
measured* (N/A) unless said otherwise. This page is written by `scripts/make_docs.py` from the metric tables
`evaltools/<suite>/table.toml`; the worked examples are the bundled ones (`evaltools demo`).
"""


def number(x: float) -> str:
    if pd.isna(x):
        return "N/A"
    return f"{x:,.0f}" if abs(x - round(x)) < 1e-9 else f"{x:.4f}"


def worked(result: Run, name: str) -> str:
    e = result[name]
    if pd.isna(e["value"]):
        return "not measured" + ("" if pd.isna(e["denominator"]) else f" ({number(e['numerator'])} / 0)")
    if pd.isna(e["denominator"]):
        return number(e["value"])
    return f"{number(e['numerator'])} / {number(e['denominator'])} = {number(e['value'])}"


def definition(result: Run, m: AnyMetric) -> tuple[str, str]:
    """(formula, worked example)"""
    value = number(result.value(m.name))
    if isinstance(m, Difference):
        a, b = (number(result.value(n)) for n in (m.minuend, m.subtrahend))
        return f"`{m.minuend}` − `{m.subtrahend}`", f"{a} − {b} = {value}"
    if isinstance(m, Mean):
        parts = ", ".join(number(result.value(n)) for n in m.of)
        return f"mean of {', '.join(f'`{n}`' for n in m.of)}", f"mean of {parts} = {value}"
    formula = f"sum(`{m.numerator}`)" + (f" / sum(`{m.denominator}`)" if m.denominator else "")
    if m.empty is not None:
        formula += f"; {m.empty:g} where the denominator is 0" + (f" and sum(`{m.needs}`) is not" if m.needs else "")
    return formula, worked(result, m.name)


def section(suite: str) -> str:
    result = evaluate(suite, EXAMPLES[suite])
    lines = [f"## {result.suite.title}", "", SOURCES[suite], "", f"Worked example: `{EXAMPLES[suite]}`.", ""]
    group, there = None, list(dict.fromkeys(m.group for m in result.metrics))
    own = [m for m in result.metrics if not m.alias_of]
    for m in sorted(own, key=lambda m: there.index(m.group)):
        if m.group != group:
            group = m.group
            lines += [f"### {group}", ""]
        formula, example = definition(result, m)
        direction = {"higher": "higher is better", "lower": "lower is better", "none": "describes"}[m.better]
        lines += [
            f'- <a id="{m.name}"></a>**{m.title}** `{m.name}` ({direction}). {m.description}'.rstrip(),
            f"  {formula}. Source: {m.source}.",
            f"  Example: {example}.",
            "",
        ]
    aliases = [m for m in result.metrics if m.alias_of]
    if aliases:
        lines += ["### Other names", "", "Under the options of the example:", ""]
        lines += [f'- <a id="{m.name}"></a>`{m.name}` = `{m.alias_of}`' for m in aliases]
        lines.append("")
    return "\n".join(lines)


def text() -> str:
    return "\n".join([HEAD, *(section(suite) for suite in EXAMPLES)])


if __name__ == "__main__":
    write_text(DOC, text())
