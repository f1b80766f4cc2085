"""Mutated and generated inputs are scored, or rejected with the file and the place: never a traceback."""

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

import evaltools
from evaltools.core.estimates import Resampling
from evaltools.core.messages import InputError, Problem, Problems
from evaltools.core.records import File, read_json
from evaltools.core.results import score_units
from evaltools.core.suite import get_suite
from evaltools.core.workers import Workers
from evaltools.stats.intervals import estimate

QUICK = Resampling(n_resamples=100)
FINITE = ("value", "ci_low", "ci_high", "numerator", "denominator")
DEEP = "[" * 3000 + "]" * 3000
DIGITS = "9" * 5000

# suite, a file of a bundled example
FILES = (
    ("cr", "cr/no_memory__seed1_proposed/outputs.jsonl"),
    ("memfin", "memfin/memory_agent/dialog_trace.jsonl"),
    ("summary", "summary/cases.jsonl"),
)


def score_or_reject(suite_name: str, path: Path) -> None:
    """Score a file as `--on-error skip` does; no number may be infinite, and what is rejected is named."""
    suite = get_suite(suite_name)
    options, problems = suite.options(), Problems("skip")
    try:
        source = suite.locate(path, "run", options, problems)
        units = score_units(suite, replace(source, options=options), problems, Workers()).units
    except InputError as error:
        assert error.problems and all(problem.file for problem in error.problems)
        return
    table = estimate(units, suite.table(options), suite.unit, QUICK)
    for row in table.to_dict("records"):
        assert not any(math.isinf(row[column]) for column in FINITE)


def mutated(raw: bytes, rng: random.Random) -> bytes:
    """The bytes with a few of them changed, a piece taken away or doubled, or a value replaced."""
    data = bytearray(raw)
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(data))
        end = min(len(data), start + rng.randint(1, 40))
        kind = rng.randrange(4)
        if kind == 0:
            data[start] = rng.randrange(256)
        elif kind == 1:
            del data[start:end]
        elif kind == 2:
            data[start:start] = data[start:end]
        else:
            values = (b"null", b"NaN", b"-1e309", b"{}", b'"\\ud800"', DIGITS.encode(), b"[[]]")
            colon = data.find(b": ", start)
            data[colon + 2 : colon + 3] = rng.choice(values)
    return bytes(data)


@pytest.mark.parametrize(("suite", "example"), FILES)
def test_mutated_examples_are_scored_or_rejected(suite: str, example: str, tmp_path: Path) -> None:
    source = evaltools.example(example)
    lines = source.read_bytes().splitlines(keepends=True)
    for seed in range(30):
        rng = random.Random(seed)
        path = tmp_path / source.name
        path.write_bytes(mutated(b"".join(rng.sample(lines, min(3, len(lines)))), rng))
        score_or_reject(suite, path)


@pytest.mark.parametrize(
    ("raw", "code", "line"),
    [
        (b'{"a": ' + DEEP.encode() + b"}", "bad-json", 1),
        (b'{\n"a": ' + DIGITS.encode() + b"}", "bad-json", 2),
        (b'{\n\n"a": "\xff"}', "not-utf8", 3),
        (b"", "empty-file", None),
        (b'{"a": 1}\n}', "bad-json", 2),
    ],
)
def test_a_json_file_that_is_none(tmp_path: Path, raw: bytes, code: str, line: int | None) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(raw)
    with pytest.raises(InputError) as e:
        read_json(File(path, Problems()))
    assert [(p.code, p.line, p.file) for p in e.value.problems] == [(code, line, str(path))]


def test_a_problem_is_one_printable_line() -> None:
    problem = Problem("error", "c", "m\n\x1b[31m", file="f\r", field="\ud800", id="a\u202e\x00")
    assert str(problem).isprintable() and "[U+001B]" in str(problem) and "[U+202E]" in str(problem)
