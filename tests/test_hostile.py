"""Hostile texts in every field of all three suites, through score, report and gallery, into a real Chromium.

Nothing runs, nothing is asked for, nothing overflows; what was written is what is shown, and what stands in
the CSV files and the workbook.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from evaltools.core.files import example
from evaltools.report.text import visible

from .app.calling import call

TEXTS = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1)) javascript:alert(1)",
    "{{7+7}} {% raw %} ${7*7}",
    "$x$ \\(y\\) $$z$$ `code` **bold**",
    "abc\u202egnp.exe",
    "nul\x00 bell\x07 esc\x1b[31mred",
    "../../etc/passwd",
    '=HYPERLINK("http://127.0.0.1:9/","x")',
    "+1+1",
    "-1-1",
    "@SUM(1)",
    '" onmouseover="alert(1)" x="',
    "--><svg onload=alert(1)>",
    "</style></textarea></title><svg/onload=alert(1)>",
)
LONG = "long " + "x" * 100_000

KEPT = {"polarity", "role", "turn_status", "dialog_status", "action_type", "stage", "agent", "resolver"}
"""Keys whose values decide what is scored; any other text gets a hostile one before it."""

CR_NAMES = ("{x}{{7+7}}__seed1_proposed", "$x$ 'q' abc__seed2_proposed", "=1+1 [x](y)__seed1_proposed")


def poisoned(value: Any, text: str, key: str = "") -> Any:
    if isinstance(value, dict):
        return {k: poisoned(v, text, k) for k, v in value.items()}
    if isinstance(value, list):
        return [poisoned(v, text, key) for v in value]
    return text + value if isinstance(value, str) and key not in KEPT else value


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return path


def conflict_review(folder: Path, name: str) -> Path:
    """A bundled run in which record i holds text i in all of its fields; one input text is very long."""
    source = example("cr/with_memory__seed1_proposed")
    outputs, gold = [], []
    by_id = {g.get("uid") or g.get("text_id") or g["id"]: g for g in rows(source / "gold.jsonl")}
    for i, row in enumerate(rows(source / "outputs.jsonl")):
        text = TEXTS[i % len(TEXTS)]
        uid = f"{text} {i}"
        bad = poisoned(row, text)
        bad["meta"] |= {"text_id": uid, "input_text": text + row["meta"]["input_text"] + (LONG if i == 3 else "")}
        outputs.append(bad)
        gold.append({**poisoned(by_id[row["meta"]["text_id"]], text), "uid": uid})
    write(folder / name / "outputs.jsonl", outputs)
    write(folder / name / "gold.jsonl", gold)
    return folder / name


def dialogues(folder: Path, system: str) -> Path:
    """The bundled trace of a system, each dialogue three times, with another text in all fields each time."""
    records = []
    for i, row in enumerate(rows(example(f"memfin/{system}") / "dialog_trace.jsonl") * 3):
        text = TEXTS[i % len(TEXTS)]
        bad = poisoned(row, text)
        bad["dialog_id"] = f"{text} {i}"
        if i == 1:
            bad["turns"][0]["pred_assistant_text"] += LONG
        records.append(bad)
    return write(folder / f"{{{{7+7}}}} $x$ {system}" / "dialog_trace.jsonl", records).parent


def cases(folder: Path) -> Path:
    """A case a text, in id, question, summary, contexts, tags and intent."""
    records = [
        {
            "id": f"{text} {i}",
            "question": text,
            "answer": f"{text} 무조건 100만원을 지급합니다. {LONG if i == 2 else ''}",
            "contexts": [f"{text} 보험금은 90만원입니다.", text],
            "ground_truth": text,
            "metadata": {"summary_tags": ["exclusion", text[:30]], "summary_intent": text},
        }
        for i, text in enumerate(TEXTS)
    ]
    return write(folder / "@x '{{7+7}}' $x$.jsonl", records)


def evaltools(*args: str | Path, cwd: Path) -> None:
    with chdir(cwd):
        done = call(*args)
    assert "\x1b" not in done.output and "\u202e" not in done.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The outputs folder after score, the four reports and the gallery."""
    folder = tmp_path_factory.mktemp("hostile")
    runs = [conflict_review(folder, name) for name in CR_NAMES]
    systems = [dialogues(folder, s) for s in ("memory_agent", "plain_llm")]
    quick = ("--n-resamples", "200", "-o", "out", "-q")
    evaltools("report", "cr", runs[0], *quick, cwd=folder)
    evaltools("report", "seeds", *runs, *quick, cwd=folder)
    evaltools("report", "memfin", *systems, *quick, cwd=folder)
    evaltools("report", "summary", cases(folder), *quick, cwd=folder)
    evaltools("gallery", "out", cwd=folder)
    return folder / "out"


def pages(made: Path) -> list[Path]:
    found = [*sorted(made.glob("reports/*/metric_report.html")), made / "index.html"]
    assert len(found) == 5
    return found


@pytest.fixture
def allowed(made: Path) -> Callable[[Path], tuple[str, ...]]:
    """Pages of the outputs link to one another."""
    return lambda file: ("blob:", made.as_uri())


@pytest.mark.browser
def test_nothing_runs_and_nothing_overflows(open_page: Callable[..., Any], made: Path) -> None:
    for file in pages(made):
        page = open_page(file)
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        for width in (400, 1400):
            page.set_viewport_size({"width": width, "height": 900})
            page.mouse.move(width / 2, 300)
            page.mouse.wheel(0, 2000)
            page.wait_for_timeout(200)
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{file} overflows by {wide} px at {width}"
        planted = page.evaluate(
            'document.querySelectorAll(\'[onerror], [onload], [onmouseover], img[src="x"], a[href^="javascript"],'
            " svg[onload], mjx-container, .MathJax').length"
        )
        assert planted == 0, file


@pytest.mark.browser
def test_texts_are_read_as_written(open_page: Callable[..., Any], made: Path) -> None:
    unseen = set(TEXTS)
    for file in pages(made):
        page = open_page(file)
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        shown = " ".join(page.evaluate("(document.querySelector('main') ?? document.body).innerText").split())
        # an unseen character is spelled out, in brackets or in a frame
        forms = {text: (visible(text), visible(text, "{}".format)) for text in TEXTS}
        found = {text for text, form in forms.items() if any(" ".join(f.split()) in shown for f in form)}
        if file.name == "metric_report.html" and "_vs_" not in file.parent.name and "agg" not in file.parent.name:
            assert len(found) >= len(TEXTS) // 2, file
        unseen -= found
        assert "\x00" not in shown and "\u202e" not in shown
        assert "14" not in page.title() and "{{7+7}}" in page.title() + shown
    assert not unseen


def test_notebooks_hold_no_live_markup(made: Path) -> None:
    files = sorted(made.glob("reports/*/metric_report.ipynb"))
    assert len(files) == 4
    for file in files:
        for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", []):
                html = "".join(output.get("data", {}).get("text/html", ""))
                for live in ("<script>alert", "<img src=x", "<svg onload", "<svg/onload", 'onmouseover="alert'):
                    assert live not in html, (file.parent.name, live)


def test_the_workbook_holds_texts_only(made: Path) -> None:
    from openpyxl import load_workbook

    (file,) = made.glob("results/*/summary_scores.xlsx")
    book = load_workbook(file)
    cells = [c for sheet in book for row in sheet.iter_rows() for c in row if c.value is not None]
    assert {c.data_type for c in cells} <= {"s", "n", "b"} and not any(c.hyperlink for c in cells)
    values = {c.value for c in cells if c.data_type == "s"}
    for i, text in enumerate(TEXTS):
        if text.isprintable():
            assert f"{text} {i}" in values


def test_csv_files_keep_every_value(made: Path) -> None:
    csv.field_size_limit(10**7)
    (file,) = made.glob("results/*/summary_scores.csv")
    with file.open(encoding="utf-8", newline="") as f:
        found = list(csv.DictReader(f))
    assert [r["case_id"] for r in found if r["metric"] == "summary_accuracy"] == [
        f"{text} {i}" for i, text in enumerate(TEXTS)
    ]
    names = set()
    for table in made.glob("results/*/derived/metrics/structural_metrics.csv"):
        with table.open(encoding="utf-8", newline="") as f:
            (row,) = csv.DictReader(f)
        names.add(row["run"])
    assert names == set(CR_NAMES)


def test_nothing_was_written_outside(made: Path) -> None:
    known = {"out", "@x '{{7+7}}' $x$.jsonl", *CR_NAMES}
    known |= {f"{{{{7+7}}}} $x$ {s}" for s in ("memory_agent", "plain_llm")}
    assert {p.name for p in made.parent.iterdir()} == known
    # judge-cache is made only where a judge is asked; hidden files would be leftovers
    assert {p.name for p in made.iterdir()} <= {"results", "reports", "index.html"}


@pytest.mark.parametrize("suite", ["cr", "memfin", "summary"])
def test_bundled_examples_hold_hostile_texts(suite: str) -> None:
    """The demo itself shows what becomes of them."""
    folder = example(suite)
    texts = "".join(json.dumps(r, ensure_ascii=False) for p in folder.rglob("*.jsonl") for r in rows(p))
    assert "<script>" in texts or "onerror" in texts
