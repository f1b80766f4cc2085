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
    tags = {"SKIP": "skipped", "FAIL": "failure"}
    suite = ElementTree.Element(
        "testsuite",
        name="evaltools gate",
        tests=str(len(rows)),
        failures=str(words.count("FAIL")),
        skipped=str(words.count("SKIP")),
    )
    for row in rows:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=visible(result),
            name=visible(row.name),
        )
        if row.word in tags:
            reason = visible(row.reason)
            ElementTree.SubElement(case, tags[row.word], message=reason)
    ElementTree.indent(suite)
    content = ElementTree.tostring(suite, "utf-8", xml_declaration=True)
    return content.decode() + "\n"


def as_markdown(rows: Sequence[Checked], result: str) -> str:
    """The rows as Markdown, for the summary of a job: how it ended, and a table."""
    failed = [row for row in rows if row.word == "FAIL"]
    name = markdown(result)
    head = say("Gate met: {result}", result=name)
    if failed:
        head = say(
            "Gate {n} of {total} not met: {result}",
            n=len(failed),
            total=len(rows),
            result=name,
        )
    cells = [(row.word, row.name, row.reason) for row in rows]
    heads = ["", say("metric"), say("why")]
    table = markdown_table(pd.DataFrame(cells, columns=heads))
    return f"### {head}\n\n{table}"
