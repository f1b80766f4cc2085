"""Write the pages that are made: docs/metrics.md from the metric tables, with worked examples of the bundled runs,
docs/glossary.md from the metric tables and the language files, docs/checks.md from the checks that the suites declare,
and docs/inputs.md from the models of the input files.

    python scripts/make_docs.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import input_page
import pandas as pd

from evaltools import BUILT_IN, Difference, Mean, Run, evaluate, get_suite
from evaltools.core.common_checks import DUPLICATE_TEXTS, PAGE_KINDS, RUN_KINDS, STUDY_KINDS
from evaltools.core.files import write_text
from evaltools.core.language import LANGUAGES, say, speaking
from evaltools.core.metric import AnyMetric
from evaltools.core.suite import Suite

DOCS = Path(__file__).resolve().parents[1] / "docs"

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
`evaltools/suites/`; the worked examples are the bundled ones (`evaltools demo`).
"""


def number(x: float) -> str:
    if pd.isna(x):
        return "N/A"
    return f"{x:,.0f}" if abs(x - round(x)) < 1e-9 else f"{x:.4f}"


def worked(result: Run, name: str) -> str:
    e = result[name]
    if pd.isna(e["value"]):
        return "not measured" + (
            "" if pd.isna(e["denominator"]) else f" ({number(e['numerator'])} / 0)"
        )
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
        formula += f"; {m.empty:g} where the denominator is 0" + (
            f" and sum(`{m.needs}`) is not" if m.needs else ""
        )
    return formula, worked(result, m.name)


def section(suite: str) -> str:
    result = evaluate(suite, EXAMPLES[suite])
    lines = [
        f"## {result.suite.title}",
        "",
        SOURCES[suite],
        "",
        f"Worked example: `{EXAMPLES[suite]}`.",
        "",
    ]
    group, there = None, list(dict.fromkeys(m.group for m in result.metrics))
    own = [m for m in result.metrics if not m.alias_of]
    for m in sorted(own, key=lambda m: there.index(m.group)):
        if m.group != group:
            group = m.group
            lines += [f"### {group}", ""]
        formula, example = definition(result, m)
        direction = {"higher": "higher is better", "lower": "lower is better", "none": "describes"}[
            m.better
        ]
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


def metrics() -> str:
    """docs/metrics.md. A suite without a table of its own, whose metrics follow from its input, is only named."""
    suites = [get_suite(name) for name in BUILT_IN]
    free = "".join(
        f"\n{FREE.format(title=s.title, name=s.name)}" for s in suites if s.name not in EXAMPLES
    )
    return "\n".join([HEAD + free, *(section(suite) for suite in EXAMPLES)])


FREE = (
    "The metrics of the suite `{name}` ({title}) follow from its input ([{name}.md]({name}.md)).\n"
)

TERMS = """# Terms in English, Korean and Chinese

How pages, tables and workbooks name things under `--lang ko` and `--lang zh`. CSV columns, JSON keys and ids are
English whatever the language. What each metric is stands in [metrics.md](metrics.md).
"""

WORDS = """
baseline; candidate; condition; seeds; samples; gold; before; after; raw; aggregate; signature; Provenance
Headline metrics; metric; value; interval; difference; score; rank; std; min; max; df; method; direction
Verdict; better; worse; equivalent; tied; too few; not measured; pass; fail; no threshold; small n
Checks; Note; Caution; Cannot be measured; matched; missing; spurious; improved; worsened
"""
"""The terms of the field that pages use, besides the titles of metrics."""

HEADER = "| English | 한국어 | 中文 |"


def spoken(text: str) -> list[str]:
    """The text in every language."""
    texts = []
    for lang in LANGUAGES:
        with speaking(lang):
            texts.append(say(text))
    return texts


def terms(suite: Suite) -> Iterator[str]:
    """A row a metric; those that differ by their key only (in brackets at the end) once."""
    seen = set()
    for metric in suite.metrics(suite.options()):
        titles = [re.sub(r" ?[(（][a-z]+-pol[)）]$", "", title) for title in spoken(metric.title)]
        if titles[0] in seen or metric.alias_of:
            continue
        seen.add(titles[0])
        yield f"| {' | '.join(titles)} | [`{metric.name}`](metrics.md#{metric.name}) |"


def glossary() -> str:
    """docs/glossary.md"""
    lines = [TERMS]
    for suite in (get_suite(name) for name in EXAMPLES):
        title = " · ".join(dict.fromkeys(spoken(suite.title)))
        lines += [f"## {title}\n", f"{HEADER} metric |", "| --- | --- | --- | --- |"]
        lines += [*terms(suite), ""]
    lines += ["## Words of the pages\n", HEADER, "| --- | --- | --- |"]
    words = [word for line in WORDS.strip().splitlines() for word in line.split("; ")]
    lines += [f"| {' | '.join(spoken(word))} |" for word in words]
    return "\n".join(lines) + "\n"


CHECKS = """# Checks

What a reader must know before believing a number. A run looks for all of these when it is scored; each applies always and
blocks nothing unless its section says otherwise. What was found stands at the top of every page, on the card of the
gallery, in the terminal, in `run.checks` and in `checks` of `metrics.json`. A page lists the others folded, passed or not
applicable with the reason; `run.check_states` is a frame of all. Codes are stable.

- **blocking** ("Cannot be measured"): the metrics that it names mean nothing here. They are shown small and struck, and
  what can be measured leads.
- **warning** ("Caution"): read the numbers with this in mind.
- **info** ("Note"): worth knowing.

Checks of your own: [extending.md](extending.md). This page is written by `scripts/make_docs.py`.
"""


def checks() -> str:
    """docs/checks.md"""
    suites = [get_suite(name) for name in BUILT_IN]
    groups = [("Every run", RUN_KINDS), ("Several runs", STUDY_KINDS), ("Pages", PAGE_KINDS)]
    groups.insert(1, ("Texts", (DUPLICATE_TEXTS,)))
    for s in suites:
        groups.append((s.title, tuple(k for k in s.check_kinds if k != DUPLICATE_TEXTS)))
    rows = ["| where | codes |", "|---|---|"]
    parts = []
    for title, kinds in groups:
        if kinds:
            parts.append(f"## {title}\n")
        links = []
        for kind in kinds:
            links.append(f"[`{kind.code}`](#{kind.code})")
            parts += [
                f'### <a id="{kind.code}"></a>`{kind.code}`\n',
                f"Looks for {kind.title}.\n",
            ]
            if kind.applies != "Always.":
                parts.append(f"- Applies: {kind.applies}")
            if kind.blocks != "Nothing.":
                parts.append(f"- Blocks: {kind.blocks}")
            parts.append(f"- What to do: {kind.advice}\n")
        if kinds:
            rows.append(f"| {title} | {', '.join(links)} |")
    return "\n".join([CHECKS, *rows, "", *parts])


PAGES = {
    "metrics.md": metrics,
    "glossary.md": glossary,
    "checks.md": checks,
    "inputs.md": input_page.page,
}

if __name__ == "__main__":
    for name, text in PAGES.items():
        write_text(DOCS / name, text())
