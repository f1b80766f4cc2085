"""Hostile texts in every field of all three suites, through score, report and gallery, into a real Chromium.

Nothing runs, nothing is asked for, nothing overflows; what was written is what is shown, and what stands in
the CSV files and the workbook.
"""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaltools.core.messages import visible

from .hostile import CR_NAMES, TEXTS


@pytest.fixture
def made(hostile: Path) -> Path:
    return hostile / "out"


def pages(made: Path) -> list[Path]:
    found = [*sorted(made.glob("reports/*/metric_report.html")), made / "index.html"]
    assert len(found) == 5
    return found


@pytest.fixture
def allowed(made: Path) -> Callable[[Path], tuple[str, ...]]:
    """Pages of the outputs link to one another."""
    return lambda file: ("blob:", made.as_uri())


@pytest.mark.browser
def test_nothing_runs_nothing_overflows_and_texts_are_read_as_written(
    open_page: Callable[..., Any], made: Path
) -> None:
    unseen = set(TEXTS)
    for file in pages(made):
        page = open_page(file)
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        unseen -= texts_shown(page)
        for width in (400, 1400):
            page.set_viewport_size({"width": width, "height": 900})
            page.mouse.move(width / 2, 300)
            page.mouse.wheel(0, 2000)
            page.evaluate(
                "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
            )
            wide = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert wide <= 0, f"{file} overflows by {wide} px at {width}"
        planted = page.evaluate(
            'document.querySelectorAll(\'[onerror], [onload], [onmouseover], img[src="x"], a[href^="javascript"],'
            " svg[onload], mjx-container, .MathJax').length"
        )
        assert planted == 0, file
    assert not unseen


def test_ids_in_the_data_choose_no_path(made: Path) -> None:
    """Run ids, text ids, dialogue ids and case ids are values of files, never names of them."""
    assert not [*made.parent.rglob("*passwd*")] and len([*made.parent.iterdir()]) == 6


def texts_shown(page: Any) -> set[str]:
    """Which of the hostile texts stand in the page as they were written."""
    shown = " ".join(
        page.evaluate("(document.querySelector('main') ?? document.body).innerText").split()
    )
    # an unseen character is spelled out, in brackets or in a frame
    forms = {text: (visible(text), visible(text, "{}".format)) for text in TEXTS}
    found = {
        text for text, form in forms.items() if any(" ".join(f.split()) in shown for f in form)
    }
    assert "\x00" not in shown and "\u202e" not in shown
    assert "14" not in page.title() and "{{7+7}}" in page.title() + shown
    return found


def test_the_workbook_holds_texts_only(made: Path) -> None:
    from openpyxl import load_workbook

    (file,) = made.glob("results/*/summary_scores.xlsx")
    book = load_workbook(file)
    cells = [c for sheet in book for row in sheet.iter_rows() for c in row if c.value is not None]
    assert {c.data_type for c in cells} <= {"s", "n", "b"}
    assert not any(c.hyperlink for c in cells)
    values = {c.value for c in cells if c.data_type == "s"}
    for i, text in enumerate(TEXTS):
        if text.isprintable():
            assert f"{text} {i}" in values


def plain(text: str) -> str:
    """A text as it stands in a CSV file: an apostrophe keeps Excel from taking it for a formula; controls are visible."""
    return visible(f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text)


def test_csv_files_keep_every_value_and_hold_no_formula(made: Path) -> None:
    csv.field_size_limit(10**7)
    (file,) = made.glob("results/*/summary_scores.csv")
    with file.open(encoding="utf-8-sig", newline="") as f:
        found = list(csv.DictReader(f))
    assert [r["case_id"] for r in found if r["metric"] == "summary_accuracy"] == [
        plain(f"{text} {i}") for i, text in enumerate(TEXTS)
    ]
    names = set()
    for table in made.glob("results/*/derived/metrics/structural_metrics.csv"):
        with table.open(encoding="utf-8", newline="") as f:
            (row,) = csv.DictReader(f)
        names.add(row["run"])
    assert names == set(map(plain, CR_NAMES))
