"""What a gate writes for a CI job."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

import pandas as pd

from ..core.language import say
from ..report.markdown import markdown, markdown_table
from ..report.text import visible
from .gate import Checked


def as_junit(rows: Sequence[Checked], result: str) -> str:
    """The rows as JUnit XML: a testsuite with a testcase each, `failure` where it does not hold."""
    words = [row.word for row in rows]
    suite = ElementTree.Element(
        "testsuite",
        name="evaltools gate",
        tests=str(len(rows)),
        failures=str(words.count("FAIL")),
        skipped=str(words.count("SKIP")),
    )
    for row in rows:
        case = ElementTree.SubElement(
            suite, "testcase", classname=visible(result), name=visible(row.name)
        )
        if row.word != "PASS":
            tag = "skipped" if row.word == "SKIP" else "failure"
            ElementTree.SubElement(case, tag, message=visible(row.reason))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, "utf-8", xml_declaration=True).decode() + "\n"


def as_markdown(rows: Sequence[Checked], result: str) -> str:
    """The rows as Markdown, for the summary of a job: how it ended, and a table."""
    n_failed = [row.word for row in rows].count("FAIL")
    head = say("Gate met: {result}", result=markdown(result))
    if n_failed:
        text = "Gate {n} of {total} not met: {result}"
        head = say(text, n=n_failed, total=len(rows), result=markdown(result))
    cells = [(row.word, row.name, row.reason) for row in rows]
    table = markdown_table(pd.DataFrame(cells, columns=["", say("metric"), say("why")]))
    return f"### {head}\n\n{table}"
