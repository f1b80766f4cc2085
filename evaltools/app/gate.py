"""Release gates: bounds that the numbers of a metrics.json must keep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..core.errors import Problems, UsageError
from ..core.jsonl import read_json
from ..core.names import nearest


@dataclass(frozen=True)
class Bound:
    name: str
    kind: Literal["min", "max"]
    limit: float


@dataclass(frozen=True)
class Checked:
    """One bound and what the file says; `number` is None where the metric or its interval is not there."""

    bound: Bound
    use: str
    number: float | None

    @property
    def met(self) -> bool:
        if self.number is None:
            return False
        return self.number >= self.bound.limit if self.bound.kind == "min" else self.number <= self.bound.limit

    def __str__(self) -> str:
        sign = ">=" if self.bound.kind == "min" else "<="
        number = "not measured" if self.number is None else f"{self.number:.6g}"
        return f"{'PASS' if self.met else 'FAIL'} {self.bound.name} {self.use} {number} {sign} {self.bound.limit:g}"


def parse_bound(text: str, kind: Literal["min", "max"]) -> Bound:
    """A bound from "NAME=X"; UsageError for anything else."""
    name, sign, number = text.partition("=")
    try:
        limit = float(number)
    except ValueError:
        limit = math.nan
    if not name or not sign or not math.isfinite(limit):
        raise UsageError(f"--{kind} {text!r}: expected NAME=X with a finite number X")
    return Bound(name.strip(), kind, limit)


def check_gate(path: Path, bounds: Sequence[Bound], use: str) -> list[Checked]:
    """What each bound says. UsageError for a metric that the file does not have, InputError for another file."""
    numbers = read_numbers(path, use)
    unknown = [b.name for b in bounds if b.name not in numbers]
    if unknown:
        raise UsageError(f"{path} has no metric {unknown[0]!r}; {nearest(unknown[0], sorted(numbers))}")
    return [Checked(b, use, numbers[b.name]) for b in bounds]


def read_numbers(path: Path, use: str) -> dict[str, float | None]:
    """`use` (value, ci_low, ci_high) of every metric of a metrics.json; null is not measured."""
    problems = Problems()
    path = path / "metrics.json" if path.is_dir() else path
    where = {"file": str(path)}
    content = read_json(path, problems)
    rows = content.get("metrics") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not all(isinstance(r, dict) and isinstance(r.get("name"), str) for r in rows):
        message = "expected a metrics.json with a list `metrics` of objects with a `name`"
        raise problems.fatal("bad-metrics", message, field="metrics", **where)
    numbers: dict[str, float | None] = {}
    for i, row in enumerate(rows):
        name, value = row["name"], row.get(use)
        place = {**where, "field": f"metrics.{i}", "id": name}
        if name in numbers:
            raise problems.fatal("bad-metrics", "a second metric of this name", **place)
        numbers[name] = None if value is None else _finite(value)
        if value is not None and numbers[name] is None:
            message = f"{use} is {str(value)[:80]!r}; expected a finite number or null"
            raise problems.fatal("bad-metrics", message, **place)
    return numbers


def _finite(value: Any) -> float | None:
    """The value as a float, or None where it is no finite number."""
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
