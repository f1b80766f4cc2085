"""Mutated inputs against every reader and scorer: what is accepted must give numbers, the rest a named place.

    python benchmarks/fuzz.py                        200,000 mutated inputs, two processes
    python benchmarks/fuzz.py --seconds 60 --seed 7 --kinds outputs,trace

The rows that are mutated are those of the bundled examples and of the reference runs, where these
are (EVALTOOLS_REFERENCE); the tests use the examples alone, so that they are the same everywhere.
A file holds many mutated rows; the same `--seed` makes the same files. A failure is one of
  traceback    anything raised but InputError or UsageError
  hang         a file that takes longer than --limit seconds
  not a number an estimate or a stored value that is neither finite nor null
  no place     a rejection without its file, its line (where the format has lines) or its field
and is narrowed down to the one row that causes it, which is kept under --keep. Exit status 1 if there is any.
"""

from __future__ import annotations

import argparse
import copy
import csv
import io
import json
import math
import os
import random
import re
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from evaltools.app.commands import gate
from evaltools.core import errors
from evaltools.core.errors import InputError, Problem, Problems, UsageError
from evaltools.core.estimates import metrics_rows
from evaltools.core.files import EXAMPLES, dumps
from evaltools.core.plugins import get_suite
from evaltools.core.results import metrics_json
from evaltools.core.workers import Workers
from evaltools.report.evaluate import evaluate
from evaltools.report.gallery import NotComplete, read_card
from evaltools.stats.intervals import Resampling, estimate
from evaltools.suites.cr.read import read_override
from evaltools.suites.memfin.lexicon import BUNDLED as LEXICON
from evaltools.suites.memfin.options import MemfinOptions
from evaltools.suites.summary.rules import FOLDER as RULES
from evaltools.suites.summary.rules import load_rules
from evaltools.suites.summary.scoring import score_case

REFERENCE = Path(
    os.environ.get("EVALTOOLS_REFERENCE", Path(__file__).parents[2] / "shared" / "reference")
)
ROOTS = [EXAMPLES]
"""The folders whose rows are mutated; as a program also the reference runs."""
QUICK = Resampling(n_resamples=100)
ROW_LIMIT = 60_000
"""Rows longer than this are no seeds: mutating them costs more than it finds."""

DIGITS = "9" * 5000
RAW = (
    "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e308", "1.7976931348623157e308", "-0", "1e-400", "0.1e1",
    str(10**30), str(2**63), str(-(2**63) - 1), str(2**31), DIGITS, "-" + DIGITS, "1_000", "0x10", "01", "+1", ".5",
    "true", "null", "nul", "'a'", "{}", "[]", "[[]]", '{"":{}}', '"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"',
    "[" * 60 + "]" * 60, "[" * 3000 + "]" * 3000, '{"a":' * 3000 + "1" + "}" * 3000, "[" * 200_000, "",
)  # fmt: skip
"""What may stand in the place of a JSON value, letter by letter."""

TEXTS = (
    "", " ", "\t\r\n", "\x00", "a\x00b", "\x1b[31m", "\u202eabc", "\ufeff", "\ufffe", "\u2028", "🙂", "e\u0301" * 50,
    "NaN", "nan", "inf", "None", "null", "3", "3.0", "-1", "1e5", "=HYPERLINK(\"http://x\")", "+1", "@x",
    "<script>alert(1)</script>", "</script>", "{{7*7}}", "$x$", "../../etc/passwd", "/", "\\", "%s%n", "'; --",
    "x" * 40_000, " " * 20_000, "\n" * 5_000, "가" * 20_000, "(" * 5_000, "1," * 5_000, "1.1." * 3_000, "-" * 9_000,
    DIGITS + "%", "回撤 " + DIGITS + "%", "最大回撤<" + DIGITS + "%", "history_turn_index:" + DIGITS,
    "profile_gt.constraints_gt[" + DIGITS + "]", "history_turn_index:٣", "profile_gt.preferences_gt[²]",
    DIGITS + "원", DIGITS + "만 " + DIGITS + "원", "억" * 3_000, "일이삼사오육칠팔구십백천만억" * 300, "1e999원",
    "٣٣원", "²원", "1" * 400 + "." + "1" * 400 + "원", "9999-99-99", "0000-00-00", DIGITS + "년 1월 1일",
    "2026년 13월 45일", "99999년", "2주" * 3_000, "$" * 3_000, "무조건 " * 2_000, "아니 " * 3_000, "·" * 5_000,
    "지급되는 것은 " * 1_500 + "아닙니다", "면책" * 3_000, "한국" * 4_000 + "원", "１，５００，０００원" * 500,
    "90-day " * 2_000, "백만" * 2_000, "0." + "0" * 5_000 + "1원",
    "[\"a\", null", "[1, 2]", "[" * 5_000, "{" * 5_000, "a|b,c||,", ",".join("abcdefgh") * 500,
)  # fmt: skip

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 3.5, -2.5, 1e308, 10**18, [], {}, [None], [[]], {"": None}, ["a"], [1], {"a": 1},
    [[[[[[[[]]]]]]]], {"term": "a", "span": {"start": -5, "end": 10**12}}, {"start": 5, "end": 1}, [True], ["", None],
)  # fmt: skip


class Verbatim:
    """Text to stand in the JSON as it is, also where it is none."""

    def __init__(self, text: str):
        self.text = text


def _places(value: Any, holder: Any = None, key: Any = None) -> Iterator[tuple[Any, Any]]:
    """Every (holder, key) of a JSON value, the outer ones first."""
    if holder is not None:
        yield holder, key
    if isinstance(value, dict):
        for k in value:
            yield from _places(value[k], value, k)
    elif isinstance(value, list):
        for i in range(len(value)):
            yield from _places(value[i], value, i)


def _descend(value: Any, rng: random.Random) -> tuple[Any, Any] | None:
    """A place reached by a walk down from the top: a key near the top is as likely as a whole list below it."""
    holder, key = None, None
    while isinstance(value, dict | list) and value and (holder is None or rng.random() < 0.8):
        holder, key = (
            value,
            rng.choice(list(value) if isinstance(value, dict) else range(len(value))),
        )
        value = value[key]
    return None if holder is None else (holder, key)


def _drop(holder: Any, key: Any, rng: random.Random) -> None:
    del holder[key]


def _rename(holder: Any, key: Any, rng: random.Random) -> None:
    if isinstance(holder, dict):
        value = holder.pop(key)
        holder[
            rng.choice([key.upper(), key + " ", key[:-1], "id", "", "\x00", *list(holder)[:3]])
        ] = value


def _retype(holder: Any, key: Any, rng: random.Random) -> None:
    value = holder[key]
    holder[key] = rng.choice(
        [[value], {"a": value}, str(value)[:1000], dumps_loose(value)[:1000], value]
    )
    if isinstance(value, int | float) and not isinstance(value, bool):
        holder[key] = rng.choice([str(value), value * 10**9, -value, value + 0.5, [value]])


def _value(holder: Any, key: Any, rng: random.Random) -> None:
    holder[key] = copy.deepcopy(rng.choice(VALUES))


def _raw(holder: Any, key: Any, rng: random.Random) -> None:
    holder[key] = Verbatim(rng.choice(RAW))


@cache
def words() -> tuple[str, ...]:
    """Every short text of the rule files and the word lists: what the scorers look for."""
    found = {
        "",
        " ",
        "\t",
        "-",
        "·",
        ",",
        ".",
        "0",
        "1",
        "12",
        "1,500",
        "２",
        "%",
        "(",
        ")",
        "삼",
        "억",
        "만",
        "의",
        "은",
        "\n",
    }

    def walk(value: Any) -> None:
        if isinstance(value, str):
            found.add(value[:40])
        for v in (
            value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        ):
            walk(v)

    for path in (*RULES.glob("*.json"), LEXICON):
        walk(json.loads(path.read_text(encoding="utf-8")))
    return tuple(sorted(found))


def _sentence(rng: random.Random) -> str:
    return rng.choice(["", " ", "-", "\t"]).join(rng.choices(words(), k=rng.randrange(2, 30)))


def _text(holder: Any, key: Any, rng: random.Random) -> None:
    old, new = holder[key], _sentence(rng) if rng.random() < 0.5 else rng.choice(TEXTS)
    if isinstance(old, str) and rng.random() < 0.5:
        at = rng.randrange(len(old) + 1)
        new = old[:at] + new + old[at:]
    holder[key] = new


def _repeat(holder: Any, key: Any, rng: random.Random) -> None:
    value = holder[key]
    if isinstance(value, list) and len(dumps_loose(value)) < 20_000:
        times = rng.choice([2, 3, 20])
        holder[key] = [copy.deepcopy(item) for _ in range(times) for item in value]
    elif isinstance(holder, list) and isinstance(key, int):
        holder.insert(key, copy.deepcopy(value))


def _double(holder: Any, key: Any, rng: random.Random) -> None:
    if isinstance(holder, dict):
        value = dumps_loose(holder[key])
        other = rng.choice(["null", '"x"', "[]", "{}", "1", value])
        holder[key] = Verbatim(f"{value},{json.dumps(key)}:{other}")


MUTATIONS = (
    _drop,
    _rename,
    _retype,
    _value,
    _value,
    _raw,
    _raw,
    _text,
    _text,
    _text,
    _repeat,
    _double,
)


def dumps_loose(value: Any, ascii_only: bool = False) -> str:
    """JSON with the texts of Verbatim as they are."""
    kept: list[str] = []

    def keep(v: Verbatim) -> str:
        kept.append(v.text)
        return f"@@{len(kept) - 1}@@"

    text = json.dumps(value, ensure_ascii=ascii_only, default=keep)
    for i in reversed(range(len(kept))):
        text = text.replace(f'"@@{i}@@"', kept[i], 1)
    return text


def _bytes(row: bytes, rng: random.Random) -> bytes:
    """A damage of the file rather than of the data."""
    at = rng.randrange(len(row) + 1)
    kind = rng.randrange(9)
    if kind == 0:
        return row[:at]
    if kind == 1:
        return row[:at] + bytes([rng.randrange(256)]) + row[at + 1 :]
    if kind == 2:
        return (
            row[:at]
            + rng.choice([b"\x00", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"\r", b"\n"])
            + row[at:]
        )
    if kind == 3:
        return row[:at] + row[at + rng.randrange(1, 40) :]
    if kind == 4:
        return row + rng.choice([b"\r", b",", b"}", b" x", b"\x0c", b"\xe2\x80\xa8", row[:50]])
    if kind == 5:
        return b"\xef\xbb\xbf" + row
    if kind == 6:
        end = min(len(row), at + rng.randrange(1, 60))
        return row[:at] + row[at:end] * 3 + row[end:]
    if kind == 7:
        return row.decode("utf-8", "replace").encode(
            rng.choice(["utf-16", "cp949", "latin-1"]), "replace"
        )
    return rng.choice(
        [b"", b" ", b"null", b"[]", b"{}", b"3", b'"a"', b"[" * 100_000, b'{"a":' * 50_000, b"\x00"]
    )


def mutated(value: Any, rng: random.Random) -> bytes:
    """A JSON value with one to four mutations, as bytes. `value` is changed."""
    if not isinstance(value, dict | list) or rng.random() < 0.15:
        row = dumps_loose(value, rng.random() < 0.3).encode("utf-8", "surrogatepass")
        return _bytes(row, rng)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        place = (
            rng.choice([*_places(value)] or [None]) if rng.random() < 0.3 else _descend(value, rng)
        )
        if place is not None and not isinstance(place[0][place[1]], Verbatim):
            rng.choice(MUTATIONS)(*place, rng)
    return dumps_loose(value, rng.random() < 0.3).encode("utf-8", "surrogatepass")


# --- seeds -------------------------------------------------------------------------------------------------


def _lines(*patterns: str) -> tuple[bytes, ...]:
    files = [p for pattern in patterns for root in ROOTS for p in sorted(root.glob(pattern))]
    rows = [
        line for p in files for line in p.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines()
    ]
    return tuple(r for r in rows if r.strip() and len(r) <= ROW_LIMIT)


@cache
def seeds(kind: str) -> tuple[bytes, ...]:
    """Rows (or whole files) to mutate. Every example row is as likely as all its likes together are long."""
    match kind:
        case "outputs" | "gold":
            return _lines(f"cr/*/{kind}.jsonl")
        case "scorecards":
            return (*_lines("cr/*/scorecards.jsonl"), *_made_scorecards())
        case "trace":
            return _lines("memfin/*/dialog_trace.jsonl")
        case "cases.jsonl" | "cases.json" | "cases.csv" | "cases.xlsx":
            return _lines("summary/cases.jsonl")
        case "rules":
            own = {
                "schema_version": 1,
                "name": "own",
                "version": "1",
                "base": "seed",
                "let_offs": {},
            }
            small = json.loads((RULES / "seed.json").read_text(encoding="utf-8"))
            part = {
                k: v
                for k, v in small.items()
                if k in ("tags", "followup", "units", "thresholds", "match")
            }
            return (json.dumps(small).encode(), json.dumps({**own, **part}).encode())
        case "lexicon":
            return (LEXICON.read_bytes(),)
        case "metrics.json" | "card":
            files = ("metrics.json", "manifest.json")[: 1 + (kind == "card")]
            return tuple((_result_folder() / f).read_bytes() for f in files)
        case _:
            summary = {
                "n_total": 40,
                "override_applied_rate": 0.1,
                "skipped": {"low_signal": 3},
                "gate_open": True,
            }
            return (json.dumps(summary).encode(),)


def _made_scorecards() -> Iterator[bytes]:
    """The scorecards that the examples' runs get."""
    runs = sorted(path.parent for path in EXAMPLES.glob("cr/*/outputs.jsonl"))
    with tempfile.TemporaryDirectory(prefix="evaltools-fuzz-") as out:
        for run in runs:
            evaluate("cr", run, out=out, resampling=QUICK)
        for run in runs:
            yield from (
                (Path(out) / "results" / run.name / "scorecards.jsonl").read_bytes().splitlines()
            )


@cache
def _result_folder() -> Path:
    out = Path(tempfile.mkdtemp(prefix="evaltools-fuzz-"))
    evaluate("summary", EXAMPLES / "summary" / "cases.jsonl", out=out, resampling=QUICK)
    return out / "results" / "cases"


# --- checks ------------------------------------------------------------------------------------------------


class Failure(Exception):
    """An input that was neither read nor rejected as it should be."""


WHOLE_FILE = {
    "missing-file",
    "empty-file",
    "unreadable-file",
    "no-rows",
    "no-valid-dialogue",
    "no-cases",
}
NO_LINE = {
    "bad-xlsx",
    "wrong-encoding",
    "bad-structure",
    "bad-field",
    "bad-metrics",
    "not-an-object",
}
"""Codes of a file as a whole, and of one value of a file that is one JSON object or no text."""


def check_places(problems: Sequence[Problem], by_line: bool) -> None:
    for p in problems:
        if p.severity != "error":
            continue
        if not p.file:
            raise Failure(f"no place: no file: {p}")
        whole = WHOLE_FILE if by_line else WHOLE_FILE | NO_LINE
        if p.line is None and p.code not in whole and not str(p.message).startswith("doubled key"):
            raise Failure(f"no place: no line: {p}")
        if p.code == "bad-field" and not p.field and "_" not in str(p.message):
            raise Failure(f"no place: no field: {p}")
        if not str(p.message).strip():
            raise Failure(f"no place: no message: {p}")
        str(p).encode()  # every rejection can be printed and stored


def check_numbers(rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        numbers = [row[k] for k in ("value", "ci_low", "ci_high", "numerator", "denominator")]
        if any(isinstance(n, float) and math.isinf(n) for n in numbers):
            raise Failure(f"not a number: {row}")
        low, high = row["ci_low"], row["ci_high"]
        if (
            math.isnan(low) != math.isnan(high)
            or low > high
            or (math.isnan(row["value"]) and not math.isnan(low))
        ):
            raise Failure(f"not a number: interval of {row}")


def _suite(
    name: str, path: Path, options: dict[str, Any], rng: random.Random, by_line: bool
) -> Counter[str]:
    """Score a file of mutated rows leniently; now and then write all its artefacts, leniently and strictly."""
    suite = get_suite(name)
    opts = suite.options(**options)
    problems = Problems("skip")
    outcomes: Counter[str] = Counter()
    try:
        source = suite.locate(path, "run", opts, problems)
        units = suite.score(source, opts, problems, Workers(), None)
    except InputError as e:
        check_places(e.problems, by_line)
        outcomes["file rejected"] += 1
    else:
        outcomes["row accepted"] += len(units) if name != "memfin" else units["dialog_id"].nunique()
        table = estimate(units, suite.metrics(opts), suite.unit, QUICK)
        check_numbers(table.to_dict("records"))
    check_places(problems.kept, by_line)
    for (severity, code), n in problems.counts.items():
        outcomes[f"{severity} {code}"] += n
    if rng.random() < 0.1:
        strict = rng.random() < 0.3
        with tempfile.TemporaryDirectory(prefix="evaltools-fuzz-") as out:
            try:
                result = evaluate(
                    name,
                    path,
                    name="run",
                    out=out,
                    resampling=QUICK,
                    on_error="fail" if strict else "skip",
                    **options,
                )
                rows = metrics_rows(result.estimates)
                dumps(metrics_json(result.manifest, result.signature, rows, result.checks))
                outcomes["whole file evaluated"] += 1
                if strict and problems.count("error"):
                    raise Failure("accepted with --on-error fail, though it has errors")
            except InputError as e:
                check_places(e.problems, by_line)
                outcomes["whole file refused"] += 1
                if not problems.count("error"):
                    raise Failure(f"refused without an error: {e}") from e
    return outcomes


def _rejected(call: Callable[[], Any]) -> Counter[str]:
    try:
        call()
    except InputError as e:
        check_places(e.problems, by_line=False)
        return Counter({f"error {e.problems[0].code}": 1})
    except UsageError:
        return Counter({"usage error": 1})
    return Counter({"row accepted": 1})


def _rules(path: Path, rng: random.Random) -> Counter[str]:
    def use() -> None:
        rules = load_rules(path)
        for row in rng.sample(seeds("cases.jsonl"), 2):
            case = json.loads(row)
            scored = score_case(
                case.get("answer"), ["보험금 100만원, 면책기간 90일"], ["exclusion"], rules
            )
            if not all(math.isfinite(v.score) for v in scored.scores.values()):
                raise Failure("not a number: a score of mutated rules")

    return _rejected(use)


def _lexicon(path: Path, rng: random.Random) -> Counter[str]:
    suite, problems = get_suite("memfin"), Problems("skip")

    def use() -> None:
        options = MemfinOptions(lexicon=str(path))
        source = suite.locate(EXAMPLES / "memfin" / "plain_llm", "run", options, problems)
        suite.score(source, options, problems, Workers(), None)

    return _rejected(use)


def _gate(path: Path, rng: random.Random) -> Counter[str]:
    def use() -> None:
        for row in gate.read(path).metrics:
            for n in (row.value, row.ci_low, row.ci_high):
                if n is not None and not math.isfinite(n):
                    raise Failure(f"not a number: {n}")

    return _rejected(use)


def _override(path: Path, rng: random.Random) -> Counter[str]:
    return _rejected(lambda: dumps(read_override(path, Problems("skip"))))


def _card(path: Path, rng: random.Random) -> Counter[str]:
    folder = path.parent
    other = "manifest.json" if b'"metrics"' in path.read_bytes()[:20_000] else "metrics.json"
    mine = "metrics.json" if other == "manifest.json" else "manifest.json"
    path.replace(folder / mine)
    (folder / other).write_bytes((_result_folder() / other).read_bytes())
    try:
        str(read_card(folder.parents[1], folder)).encode()
    except NotComplete:
        return Counter({"named as not complete": 1})
    return Counter({"row accepted": 1})


# --- kinds -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """`share` of all inputs, `rows` mutated in one file, which key names a row, and what reads the file."""

    name: str
    share: int
    rows: int
    file: str
    read: Callable[[Path, random.Random], Counter[str]]
    id: tuple[str, ...] = ()


def _cr(path: Path, rng: random.Random) -> Counter[str]:
    return _suite("cr", path, {"protocol": rng.choice(["cr_v2", "cr_v1"])}, rng, by_line=True)


def _gold(path: Path, rng: random.Random) -> Counter[str]:
    run = EXAMPLES / "cr" / "with_memory__seed1_proposed" / "outputs.jsonl"
    return _suite("cr", run, {"gold": path}, rng, by_line=True)


def _memfin(path: Path, rng: random.Random) -> Counter[str]:
    return _suite("memfin", path, {"ignore_memory_keys": rng.random() < 0.1}, rng, by_line=True)


def _summary(path: Path, rng: random.Random) -> Counter[str]:
    rules = rng.choice(["ko-insurance", "ko-insurance", "seed"])
    return _suite("summary", path, {"rules": rules}, rng, by_line=path.suffix in {".jsonl", ".csv"})


KINDS = (
    Kind("outputs", 40, 60, "outputs.jsonl", _cr, ("meta", "text_id")),
    Kind("scorecards", 34, 60, "scorecards.jsonl", _cr, ("meta", "text_id")),
    Kind("gold", 20, 60, "gold.jsonl", _gold),
    Kind("trace", 34, 40, "dialog_trace.jsonl", _memfin, ("dialog_id",)),
    Kind("cases.jsonl", 30, 60, "cases.jsonl", _summary, ("id",)),
    Kind("cases.json", 12, 30, "cases.json", _summary, ("id",)),
    Kind("cases.csv", 12, 30, "cases.csv", _summary, ("id",)),
    Kind("cases.xlsx", 2, 20, "cases.xlsx", _summary, ("id",)),
    Kind("rules", 3, 1, "rules.json", _rules),
    Kind("lexicon", 5, 1, "lexicon.json", _lexicon),
    Kind("metrics.json", 4, 1, "metrics.json", _gate),
    Kind("card", 2, 1, "card.json", _card),
    Kind("override", 2, 1, "override_gate_debug_summary.json", _override),
)
BY_NAME = {k.name: k for k in KINDS}


def _row(kind: Kind, number: int, rng: random.Random) -> Any:
    """A seed, with an id of its own, so that few rows are turned away as doubled."""
    value = json.loads(rng.choice(seeds(kind.name)))
    if kind.id and rng.random() < 0.97:
        holder = value
        for key in kind.id[:-1]:
            holder = holder.setdefault(key, {})
        holder[kind.id[-1]] = f"row-{number}"
    return value


def make(kind: Kind, rng: random.Random) -> list[bytes]:
    """The mutated rows of one file."""
    if kind.name in ("cases.csv", "cases.xlsx"):
        return [
            json.dumps([_cell(v, rng) for v in _table_row(kind, n, rng)]).encode()
            for n in range(kind.rows)
        ]
    return [mutated(_row(kind, n, rng), rng) for n in range(kind.rows)]


HEADER = ("id", "question", "answer", "contexts", "ground_truth", "summary_tags", "metadata")


def _table_row(kind: Kind, number: int, rng: random.Random) -> list[Any]:
    case = _row(kind, number, rng)
    if rng.random() < 0.5:
        case["summary_tags"] = ",".join(
            map(str, (case.pop("metadata", None) or {}).get("summary_tags") or [])
        )
    return [
        json.dumps(v, ensure_ascii=False) if isinstance(v, dict | list) else v
        for v in map(case.get, HEADER)
    ]


def _cell(value: Any, rng: random.Random) -> Any:
    if rng.random() > 0.25:
        return value
    other = rng.choice([*TEXTS, *[r for r in RAW if len(r) < 50_000], None, 3, 2.5, True, 10**20])
    if isinstance(value, str) and rng.random() < 0.4:
        return mutated(value, rng).decode("utf-8", "replace")
    return other


def write(kind: Kind, rows: Sequence[bytes], path: Path, rng: random.Random) -> None:
    """The file that holds these rows; a table or a list may itself be damaged."""
    damaged = rng.random() < 0.15
    if kind.name == "cases.json":
        text = (
            b"[" + b",".join(rows) + b"]"
            if rng.random() < 0.5
            else b'{"test_cases":[' + b",".join(rows) + b"]}"
        )
        path.write_bytes(_bytes(text, rng) if damaged else text)
    elif kind.name == "cases.csv":
        out = io.StringIO()
        header = [mutated(h, rng).decode("utf-8", "replace") if damaged else h for h in HEADER]
        csv.writer(out).writerows([header, *map(json.loads, rows)])
        raw = out.getvalue().encode("utf-8", "surrogatepass")
        path.write_bytes(_bytes(raw, rng) if rng.random() < 0.3 else raw)
    elif kind.name == "cases.xlsx":
        from openpyxl import Workbook
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

        book = Workbook(write_only=True)
        sheet = book.create_sheet()
        sheet.append(HEADER)
        for row in rows:
            cells = json.loads(row)
            sheet.append(
                [
                    ILLEGAL_CHARACTERS_RE.sub("", c)[:32_767] if isinstance(c, str) else c
                    for c in cells
                ]
            )
        held = io.BytesIO()
        book.save(held)
        path.write_bytes(
            _damaged_workbook(held.getvalue(), rng) if rng.random() < 0.4 else held.getvalue()
        )
    else:
        end = rng.choice([b"\n", b"\n", b"\n", b"\r\n"])
        path.write_bytes(end.join(rows) + (b"" if damaged or kind.rows == 1 else end))


def _damaged_workbook(raw: bytes, rng: random.Random) -> bytes:
    """The zip file damaged, or one of the XML files in it."""
    if rng.random() < 0.4:
        return _bytes(raw, rng) if rng.random() < 0.7 else raw[: rng.randrange(len(raw))]
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(out, "w") as new:
        hit = rng.choice(old.namelist())
        for name in old.namelist():
            content = old.read(name)
            if name == hit:
                if rng.random() < 0.2:
                    continue
                content = _bytes(content, rng)
            new.writestr(name, content)
    return out.getvalue()


# --- the run -----------------------------------------------------------------------------------------------


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise Failure(f"hang: more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Report:
    inputs: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: dict[str, tuple[str, bytes, str]] = field(default_factory=dict)
    """Where it was raised and what -> kind, the file, and the whole traceback. One a place is kept."""
    failed: int = 0

    def add(self, other: Report) -> None:
        self.inputs.update(other.inputs)
        self.outcomes.update(other.outcomes)
        self.failures = {**other.failures, **self.failures}
        self.failed += other.failed


def _read(kind: Kind, rows: Sequence[bytes], seed: str, limit: float) -> Counter[str]:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="evaltools-fuzz-") as folder:
        place = Path(folder) / "results" / "run"
        place.mkdir(parents=True)
        path = place / kind.file
        write(kind, rows, path, rng)
        with time_limit(limit):
            return kind.read(path, rng)


def fuzz_file(kind_name: str, seed: str, limit: float) -> Report:
    """Make one file of mutated rows and read it; on a failure, find the row."""
    errors.KEPT_PER_CODE = 10**9  # every rejection is looked at
    kind = BY_NAME[kind_name]
    rows = make(kind, random.Random(seed))
    report = Report(Counter({kind.name: len(rows)}))
    try:
        found = _read(kind, rows, seed, limit)
        report.outcomes.update({(kind.name, k): n for k, n in found.items()})
    except Exception as e:  # noqa: BLE001 - whatever it is, it is what is looked for
        culprit, error = rows, e
        for row in rows if len(rows) > 1 else ():
            try:
                _read(kind, [row], seed, limit)
            except Exception as single:  # noqa: BLE001
                culprit, error = [row], single
                break
        last = traceback.extract_tb(error.__traceback__)[-1]
        own = [f for f in traceback.extract_tb(error.__traceback__) if "evaltools/" in f.filename]
        at = own[-1] if own else last
        what = f"{Path(at.filename).name}:{at.lineno}: {type(error).__name__}: {str(error)[:200]!r}"
        key = (
            what
            if not isinstance(error, Failure)
            else re.sub(r"/tmp/\S+|row-\d+|\d+", "*", f"{kind.name}: {error}")[:120]
        )
        report.failures[key] = (
            kind.name,
            b"\n".join(culprit),
            "".join(traceback.format_exception(error)),
        )
        report.failed += 1
        report.outcomes[kind.name, "FAILED"] += 1
    return report


def use_reference() -> None:
    """Mutate rows of the reference runs too, in this process."""
    ROOTS[:] = [REFERENCE, EXAMPLES]


def _batch(tasks: Sequence[tuple[str, str]], limit: float, deadline: float) -> Report:
    report = Report()
    for kind, seed in tasks:
        if time.monotonic() > deadline:
            break
        report.add(fuzz_file(kind, seed, limit))
    return report


def plan(n: int, seed: int, kinds: Sequence[str]) -> list[tuple[str, str]]:
    """(kind, seed) of the files that together hold at least `n` mutated inputs."""
    chosen = [BY_NAME[k] for k in kinds]
    total = sum(k.share for k in chosen)
    files = [
        (k.name, f"{seed}/{k.name}/{i}")
        for k in chosen
        for i in range(math.ceil(n * k.share / total / k.rows))
    ]
    random.Random(seed).shuffle(files)
    return files


def run(
    n: int, seed: int = 0, kinds: Sequence[str] = tuple(BY_NAME), jobs: int = 1, seconds: float = math.inf,
    limit: float = 30.0, progress: Callable[[int], None] = lambda done: None,
) -> Report:  # fmt: skip
    tasks, report, deadline = plan(n, seed, kinds), Report(), time.monotonic() + seconds
    parts = [tasks[i : i + 20] for i in range(0, len(tasks), 20)]
    if jobs <= 1:
        for part in parts:
            report.add(_batch(part, limit, deadline))
            progress(report.inputs.total())
        return report
    with ProcessPoolExecutor(jobs, initializer=use_reference) as pool:
        for done in as_completed([pool.submit(_batch, part, limit, deadline) for part in parts]):
            report.add(done.result())
            progress(report.inputs.total())
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-n", type=int, default=200_000, help="mutated inputs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="stop after about this time"
    )
    parser.add_argument("--limit", type=float, default=30.0, help="seconds that one file may take")
    parser.add_argument("--kinds", default=",".join(BY_NAME))
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="folder for the inputs that failed")
    args = parser.parse_args()
    use_reference()
    started = time.monotonic()

    def progress(done: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{done:,} inputs", end="", file=sys.stderr)

    report = run(
        args.n, args.seed, args.kinds.split(","), args.jobs, args.seconds, args.limit, progress
    )
    print(
        f"\n{report.inputs.total():,} mutated inputs, seed {args.seed}, {time.monotonic() - started:.0f} s"
    )
    for kind in report.inputs:
        print(f"\n{kind}: {report.inputs[kind]:,}")
        for (name, outcome), count in sorted(report.outcomes.items()):
            if name == kind:
                print(f"  {count:>9,}  {outcome}")
    print(f"\n{report.failed} files failed, in {len(report.failures)} ways")
    for i, (key, (kind, raw, text)) in enumerate(report.failures.items()):
        print(f"- [{kind}] {key}")
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
            (args.keep / f"{i:03d}-{BY_NAME[kind].file}").write_bytes(raw)
            (args.keep / f"{i:03d}.txt").write_text(
                f"{key}\n{text}", encoding="utf-8", errors="backslashreplace"
            )
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
