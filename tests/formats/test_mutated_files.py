"""Damaged, cut and renamed files: read, or refused with the file and where in it; never anything else."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaltools.core.messages import InputError, Problems
from evaltools.formats.convert import FORMATS, convert

from ..test_fuzz import mutated
from .datasets import ACOS, ASQP, ASTE, NIKL, SEMEVAL14, SEMEVAL16
from .tools import FILES

WRITTEN_BY_TOOLS = {
    "inspect": "inspect/sums.eval",
    "deepeval": "deepeval/latest_run_full.json",
    "lm-eval": "lm-eval/samples_choice_*.jsonl",
    "promptfoo": "promptfoo/results.json",
    "ragas": "ragas/rows.jsonl",
}

TEXTS = {
    "nikl": NIKL,
    "semeval14": SEMEVAL14,
    "semeval16": SEMEVAL16,
    "aste": ASTE,
    "asqp": ASQP,
    "acos": ACOS,
}

VALUES = (None, True, -1, 1e308, float("nan"), 10**400, "", "x", "\ud800", [], [[1]], {"": []})


def mutated_value(value: Any, source: random.Random) -> Any:
    """A JSON value of which one part is another."""
    if isinstance(value, dict) and value and source.random() < 0.9:
        key = source.choice(list(value))
        return {**value, key: mutated_value(value[key], source)}
    if isinstance(value, list) and value and source.random() < 0.9:
        index = source.randrange(len(value))
        return [*value[:index], mutated_value(value[index], source), *value[index + 1 :]]
    return source.choice(VALUES)


def mutated_files(form: str, suffix: str, content: bytes, n: int) -> Iterator[bytes]:
    """`n` damaged copies, the same each time."""
    source = random.Random(form)
    for _ in range(n):
        if suffix == ".json" and source.random() < 0.5:
            yield json.dumps(mutated_value(json.loads(content), source)).encode()
        elif suffix == ".jsonl" and source.random() < 0.5:
            lines = content.decode().splitlines()
            index = source.randrange(len(lines))
            lines[index] = json.dumps(mutated_value(json.loads(lines[index]), source))
            yield "\n".join(lines).encode()
        else:
            yield mutated(content, source)


def is_read(form: str, path: Path) -> bool:
    """Whether a file is read; what is refused names it, and leaves nothing behind."""
    target = path.with_name("out.jsonl")
    try:
        convert(form, [path], target, Problems())
    except InputError as error:
        assert all(p.file or p.message.endswith(" more") for p in error.problems)
        assert [file.name for file in path.parent.iterdir()] == [path.name]
        return False
    target.unlink()
    return True


@pytest.mark.parametrize("form", [*WRITTEN_BY_TOOLS, *TEXTS])
def test_a_mutated_file_is_read_or_refused(form: str, tmp_path: Path) -> None:
    if form in WRITTEN_BY_TOOLS:
        (original,) = FILES.glob(WRITTEN_BY_TOOLS[form])
        name, content = original.name, original.read_bytes()
    else:
        content = TEXTS[form].encode()
        name = "in.jsonl" if content.startswith(b"{") else "in.txt"
    path = tmp_path / name
    n_read = 0
    for damaged in mutated_files(form, path.suffix, content, 40):
        path.write_bytes(damaged)
        n_read += is_read(form, path)
    assert n_read < 40


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_of_another_tool_is_refused(form: str, tmp_path: Path) -> None:
    for other, pattern in WRITTEN_BY_TOOLS.items():
        if other == form:
            continue
        (original,) = FILES.glob(pattern)
        path = tmp_path / original.name
        path.write_bytes(original.read_bytes())
        assert not is_read(form, path), other
        path.unlink()
