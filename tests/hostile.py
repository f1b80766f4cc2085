"""Hostile texts in every field of inputs of all three suites, and what the commands make of them."""

from contextlib import chdir
from pathlib import Path
from typing import Any

from evaltools.core.files import example

from .app.calling import call
from .files import read_lines, write_lines

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
    "a row\r=1+1",
    '" onmouseover="alert(1)" x="',
    "--><svg onload=alert(1)>",
    "</style></textarea></title><svg/onload=alert(1)>",
)
LONG = "long " + "x" * 100_000

KEPT = {
    "polarity",
    "role",
    "turn_status",
    "dialog_status",
    "action_type",
    "stage",
    "agent",
    "resolver",
}
"""Keys whose values decide what is scored; any other text gets a hostile one before it."""

CR_NAMES = ("{x}{{7+7}} $x$ 'q'__seed1_proposed", "=1+1 [x](y)__seed1_proposed")


def poisoned(value: Any, text: str, key: str = "") -> Any:
    if isinstance(value, dict):
        return {k: poisoned(v, text, k) for k, v in value.items()}
    if isinstance(value, list):
        return [poisoned(v, text, key) for v in value]
    return text + value if isinstance(value, str) and key not in KEPT else value


def conflict_review(folder: Path, name: str) -> Path:
    """A bundled run in which record i holds text i in all of its fields; one input text is very long."""
    source = example("cr/with_memory__seed1_proposed")
    outputs, gold = [], []
    by_id = {
        g.get("uid") or g.get("text_id") or g["id"]: g for g in read_lines(source / "gold.jsonl")
    }
    for i, row in enumerate(read_lines(source / "outputs.jsonl")):
        text = TEXTS[i % len(TEXTS)]
        uid = f"{text} {i}"
        bad = poisoned(row, text)
        bad["meta"] |= {
            "text_id": uid,
            "input_text": text + row["meta"]["input_text"] + (LONG if i == 3 else ""),
        }
        outputs.append(bad)
        gold.append({**poisoned(by_id[row["meta"]["text_id"]], text), "uid": uid})
    write_lines(folder / name / "outputs.jsonl", outputs)
    write_lines(folder / name / "gold.jsonl", gold)
    return folder / name


def dialogues(folder: Path, system: str) -> Path:
    """The bundled trace of a system, each dialogue three times, with another text in all fields each time."""
    records = []
    for i, row in enumerate(read_lines(example(f"memfin/{system}") / "dialog_trace.jsonl") * 3):
        text = TEXTS[i % len(TEXTS)]
        bad = poisoned(row, text)
        bad["dialog_id"] = f"{text} {i}"
        if i == 1:
            bad["turns"][0]["pred_assistant_text"] += LONG
        records.append(bad)
    return write_lines(folder / f"{{{{7+7}}}} $x$ {system}" / "dialog_trace.jsonl", records).parent


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
    return write_lines(folder / "@x '{{7+7}}' $x$.jsonl", records)


def evaltools(*args: str | Path, cwd: Path) -> None:
    with chdir(cwd):
        done = call(*args)
    assert "\x1b" not in done.output and "\u202e" not in done.stderr


def make(folder: Path) -> None:
    """The outputs folder after the four reports, each of which makes the gallery."""
    runs = [conflict_review(folder, name) for name in CR_NAMES]
    systems = [dialogues(folder, s) for s in ("memory_agent", "plain_llm")]
    quick = ("--n-resamples", "200", "-o", "out", "-q")
    evaltools("report", "cr", runs[0], *quick, cwd=folder)
    evaltools("report", "seeds", *runs, *quick, cwd=folder)
    evaltools("report", "memfin", *systems, *quick, cwd=folder)
    evaltools("report", "summary", cases(folder), *quick, cwd=folder)
