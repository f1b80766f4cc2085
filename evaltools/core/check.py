"""What a reader must know before believing a number: found in the units, shown at the top of every page.

Codes are stable. A blocking check says that some metrics mean nothing here, however they were computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pandas as pd

from .language import say
from .resampling import CONSTANT

Level = Literal["info", "warning", "blocking"]

LEVELS = ("blocking", "warning", "info")

MANY = 10
"""From so many units on a metric that does not vary is worth a word."""

FEW = 30
"""Fewer resampling units than this are few."""


@dataclass(frozen=True)
class Check:
    """One thing that was found: `n` of `of` units (0 of 0 where it is no count) and what it means, in a sentence.

    In `said`, the sentence, {n} and {of} stand for the counts, so that checks of several runs can be added.
    `blocks` names the metrics that mean nothing for it; `help` is the command or option that helps, or "".
    """

    code: str
    level: Level
    said: str
    n: int = 0
    of: int = 0
    blocks: tuple[str, ...] = ()
    help: str = ""

    @property
    def message(self) -> str:
        """The sentence, with its counts."""
        return self.said.replace("{n}", f"{self.n:,}").replace("{of}", f"{self.of:,}")

    def as_json(self) -> dict[str, Any]:
        """As in metrics.json: code, level, message, n, of, and what else there is."""
        first = {
            "code": self.code,
            "level": self.level,
            "message": self.message,
            "n": self.n,
            "of": self.of,
        }
        return {**first, "said": self.said, "blocks": list(self.blocks), "help": self.help}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Check:
        fields = {k: v for k, v in value.items() if k != "message"}
        return cls(**{"said": value["message"], **fields, "blocks": tuple(value.get("blocks", ()))})


WORDS = {"blocking": "Cannot be measured", "warning": "Mind", "info": "Note"}
"""What leads a check of each level."""


def in_words(checks: Iterable[Check]) -> list[str]:
    """The checks as lines of text; one that says so where none failed."""
    found = list(checks)
    lines = [
        f"{say(WORDS[c.level])}: {say(c.message)}" + (f" ({c.help})" if c.help else "")
        for c in found
    ]
    return [*lines, say(FINE)] if all(c.level == "info" for c in found) else lines


FINE = "No check failed"


def few_units(n: int, unit: str) -> Iterator[Check]:
    """Intervals from few units are wide, and their coverage is not that of many."""
    if n < FEW:
        said = f"only {n} units ({unit}): intervals are wide, and single units decide"
        yield Check("few-units", "warning", said, n, n)


def constant_metrics(frame: pd.DataFrame, names: Sequence[str]) -> Iterator[Check]:
    """Metrics of the headline that no unit moves, so that they tell no two systems apart."""
    rows = frame[frame["name"].isin(names) & frame["value"].notna() & (frame["n_units"] >= MANY)]
    plain = rows["ci_method"].eq("wilson") & rows["value"].isin([0.0, 1.0])
    rows = rows[rows["ci_method"].isin(["none", CONSTANT]) | plain]
    if len(rows):
        listed = ", ".join(f"“{t}” = {v:g}" for t, v in zip(rows["title"], rows["value"]))
        yield Check(
            "constant-metric", "info", f"the same for every unit: {listed}", len(rows), len(names)
        )


def duplicate_texts(units: pd.DataFrame, column: str, unit: str) -> Iterator[Check]:
    """Units with one text count twice: they are no independent samples."""
    if column not in units:
        return
    texts = units.drop_duplicates(unit)[column].dropna()
    texts = texts[texts.astype(str).str.strip() != ""]
    n = int(texts.duplicated(keep=False).sum())
    if n:
        distinct = texts[texts.duplicated(keep=False)].nunique()
        shared = "a text" if distinct == 1 else f"{distinct} texts"
        said = f"{{n}} units share {shared}: they are not independent, and intervals are too narrow"
        yield Check("duplicate-texts", "warning", said, n, len(texts))


def together(runs: Sequence[Sequence[Check]]) -> list[Check]:
    """The checks of several runs, one a code: counts are added, and how many of the runs have it is said."""
    found: dict[str, list[Check]] = {}
    for check in (c for checks in runs for c in checks):
        found.setdefault(check.code, []).append(check)
    out = []
    for checks in found.values():
        first, n, of = checks[0], sum(c.n for c in checks), sum(c.of for c in checks)
        where = "" if len(runs) == 1 else f" (in {len(checks)} of {len(runs)} runs)"
        blocks = tuple(dict.fromkeys(b for c in checks for b in c.blocks))
        out.append(replace(first, said=first.said + where, n=n, of=of, blocks=blocks))
    return sorted(out, key=lambda c: LEVELS.index(c.level))


def missing_units(units: Mapping[str, int], most: int) -> Iterator[Check]:
    """Runs of a study that lack units which others have: `units` (run -> how many it has) of `most`."""
    lacking = {run: most - n for run, n in units.items() if n < most}
    if lacking:
        listed = ", ".join(f"{run} lacks {n}" for run, n in lacking.items())
        total = most * len(units)
        message = f"not all runs have all of the {most} units: {listed}; values of a run rest on its own units"
        yield Check("missing-units", "warning", message, sum(lacking.values()), total)


def missing_seeds(conditions: Mapping[str, Sequence[str]]) -> Iterator[Check]:
    """Conditions of a study that lack seeds which others have: comparisons rest on the seeds of both sides."""
    every = list(dict.fromkeys(seed for seeds in conditions.values() for seed in seeds))
    lacking = {c: [s for s in every if s not in seeds] for c, seeds in conditions.items()}
    listed = ", ".join(f"{c} lacks {', '.join(gone)}" for c, gone in lacking.items() if gone)
    if listed:
        message = f"not all conditions have all of the {len(every)} seeds: {listed}"
        yield Check(
            "missing-seeds",
            "warning",
            message,
            sum(map(len, lacking.values())),
            len(every) * len(lacking),
        )
