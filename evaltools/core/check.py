"""Checks: what a reader must know before believing a number, found in the units and shown at the top of every page.

Codes are stable. A blocking check says that some metrics mean nothing here, however they were computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pandas as pd

from .language import Message, say
from .resampling import CONSTANT

Level = Literal["info", "warning", "blocking"]

LEVELS = ("blocking", "warning", "info")
"""The levels, the worst first."""

LEVEL_WORDS = {"blocking": "Cannot be measured", "warning": "Caution", "info": "Note"}
"""The word that stands before a check of each level."""

ALL_PASSED = "No check failed"

MIN_CONSTANT_UNITS = 10
"""Fewest units for which a constant metric raises a check."""

MIN_UNITS = 30
"""Fewer resampling units than this raise a check."""


@dataclass(frozen=True)
class Check:
    """One thing that was found, in `n` of `of` units (0 of 0 where it is no count).

    `template` is the sentence that says what it means, and `values` fill its {places}; {n} and {of} stand for the
    counts, so that the checks of several runs can be added. `blocks` names the metrics that mean nothing because of
    it. `help` is the command or option that helps, or "".

    >>> Check("few-units", "warning", "only {n} units ({unit})", {"unit": "case_id"}, n=3).message
    'only 3 units (case_id)'
    """

    code: str
    level: Level
    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    n: int = 0
    of: int = 0
    blocks: tuple[str, ...] = ()
    help: str = ""

    @property
    def sentence(self) -> Message:
        """The sentence with its counts, to be told in any language."""
        counts = {"n": f"{self.n:,}", "of": f"{self.of:,}"}
        return Message(self.template, {**counts, **self.values})

    @property
    def message(self) -> str:
        """The sentence in English, as it stands in metrics.json."""
        return str(self.sentence)

    def text(self) -> str:
        """The sentence in the language in force."""
        return say(self.sentence)

    def as_json(self) -> dict[str, Any]:
        """The check as it stands in metrics.json. `said` is the template."""
        return {
            "code": self.code,
            "level": self.level,
            "message": self.message,
            "n": self.n,
            "of": self.of,
            "said": self.template,
            "values": Message("", self.values).as_json()["values"],
            "blocks": list(self.blocks),
            "help": self.help,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Check:
        """The check that `as_json` wrote; of one without a template the message stands for it."""
        values = Message.from_json({"template": "", "values": content.get("values", {})}).values
        return cls(
            code=content["code"],
            level=content["level"],
            template=content.get("said", content["message"]),
            values=values,
            n=content.get("n", 0),
            of=content.get("of", 0),
            blocks=tuple(content.get("blocks", ())),
            help=content.get("help", ""),
        )


def check_lines(checks: Iterable[Check]) -> list[str]:
    """The checks as lines of text in the language in force; the last one says so where none failed."""
    checks = list(checks)
    lines = []
    for check in checks:
        help_text = f" ({check.help})" if check.help else ""
        lines.append(f"{say(LEVEL_WORDS[check.level])}: {check.text()}{help_text}")
    if all(check.level == "info" for check in checks):
        lines.append(say(ALL_PASSED))
    return lines


def worst_first(checks: Iterable[Check]) -> list[Check]:
    """The checks in the order of their levels."""
    return sorted(checks, key=lambda check: LEVELS.index(check.level))


def few_units(n: int, unit: str) -> Iterator[Check]:
    """Intervals from few units are wide, and their coverage is not that of many."""
    if n < MIN_UNITS:
        template = "only {n} units ({unit}): intervals are wide, and single units decide"
        yield Check("few-units", "warning", template, {"unit": unit}, n, n)


def constant_metrics(estimates: pd.DataFrame, headline: Sequence[str]) -> Iterator[Check]:
    """Metrics of the headline that no unit moves, so that they tell no two systems apart."""
    rows = estimates[estimates["metric"].isin(headline) & estimates["value"].notna()]
    rows = rows[rows["n_units"] >= MIN_CONSTANT_UNITS]
    at_a_limit = rows["ci_method"].eq("wilson") & rows["value"].isin([0.0, 1.0])
    rows = rows[rows["ci_method"].isin(["none", CONSTANT]) | at_a_limit]
    if rows.empty:
        return
    metrics = tuple(
        Message("“{title}” = {value:g}", {"title": Message(title), "value": value})
        for title, value in zip(rows["title"], rows["value"])
    )
    template = "the same for every unit: {metrics}"
    yield Check("constant-metric", "info", template, {"metrics": metrics}, len(rows), len(headline))


def duplicate_texts(units: pd.DataFrame, column: str, unit: str) -> Iterator[Check]:
    """Units that have the same text are no independent samples."""
    if column not in units:
        return
    texts = units.drop_duplicates(unit)[column].dropna()
    texts = texts[texts.astype(str).str.strip() != ""]
    doubled = texts[texts.duplicated(keep=False)]
    if doubled.empty:
        return
    template = "{n} units share {texts}: they are not independent, and intervals are too narrow"
    n_texts = doubled.nunique()
    shared = Message("a text") if n_texts == 1 else Message("{count} texts", {"count": n_texts})
    yield Check("duplicate-texts", "warning", template, {"texts": shared}, len(doubled), len(texts))


def checks_of_runs(runs: Sequence[Sequence[Check]]) -> list[Check]:
    """The checks of several runs, one a code: counts are added, and it is said how many of the runs have it."""
    by_code: dict[str, list[Check]] = {}
    for checks in runs:
        for check in checks:
            by_code.setdefault(check.code, []).append(check)
    combined = []
    for checks in by_code.values():
        first = checks[0]
        blocks = dict.fromkeys(name for check in checks for name in check.blocks)
        check = replace(
            first,
            n=sum(check.n for check in checks),
            of=sum(check.of for check in checks),
            blocks=tuple(blocks),
        )
        if len(runs) > 1:
            values = {"sentence": check.sentence, "runs": len(checks), "total": len(runs)}
            template = "{sentence} (in {runs} of {total} runs)"
            check = replace(check, template=template, values=values)
        combined.append(check)
    return worst_first(combined)


def missing_units(units: Mapping[str, int], total: int) -> Iterator[Check]:
    """Runs of a study that lack units which others have. `units`: run -> number of its units, of `total`."""
    lacking = {run: total - n for run, n in units.items() if n < total}
    if not lacking:
        return
    runs = tuple(
        Message("{run} lacks {count}", {"run": run, "count": count})
        for run, count in lacking.items()
    )
    template = (
        "not all runs have all of the {total} units: {runs}; values of a run rest on its own units"
    )
    values = {"total": total, "runs": runs}
    yield Check(
        "missing-units", "warning", template, values, sum(lacking.values()), total * len(units)
    )


def one_sided_missing(differences: pd.DataFrame) -> Iterator[Check]:
    """Cells that only one side of a comparison has: they take no part, and could change the difference.

    `differences`: rows of a comparison, those of the metrics that lead. One check a candidate, on the first metric
    that lacks cells; it says in how many others cells are lacking too.
    """
    n_missing = differences["missing_baseline"] + differences["missing_candidate"]
    for candidate, rows in differences[n_missing > 0].groupby("candidate", sort=False):
        first = rows.iloc[0]
        values: dict[str, Any] = {
            "title": Message(first["title"]),
            "baseline": first["baseline"],
            "candidate": candidate,
            "of_baseline": int(first["missing_baseline"]),
            "of_candidate": int(first["missing_candidate"]),
        }
        template = (
            "“{title}”: {n} of {of} values are on one side only ({baseline} lacks {of_baseline}, {candidate} lacks "
            "{of_candidate}) and take no part; {ends}"
        )
        if pd.isna(first["delta_worst"]):
            values["ends"] = Message(
                "without limits of the metric nobody can say what they would change"
            )
        else:
            values["ends"] = Message(
                "if all of them were the worst or the best for {candidate}, the difference would be {worst:+.3f} or "
                "{best:+.3f}",
                {
                    "candidate": candidate,
                    "worst": first["delta_worst"],
                    "best": first["delta_best"],
                },
            )
        if len(rows) > 1:
            template += " (so in {more} more metrics)"
            values["more"] = len(rows) - 1
        n = int(first["missing_baseline"] + first["missing_candidate"])
        yield Check("one-sided-missing", "warning", template, values, n, n + int(first["n_units"]))


def missing_seeds(conditions: Mapping[str, Sequence[str]]) -> Iterator[Check]:
    """Conditions of a study that lack seeds which others have: comparisons rest on the seeds of both sides."""
    seeds = list(dict.fromkeys(seed for own in conditions.values() for seed in own))
    lacking = {}
    for condition, own in conditions.items():
        missing = [seed for seed in seeds if seed not in own]
        if missing:
            lacking[condition] = missing
    if not lacking:
        return
    listed = tuple(
        Message("{condition} lacks {seeds}", {"condition": condition, "seeds": tuple(missing)})
        for condition, missing in lacking.items()
    )
    template = "not all conditions have all of the {total} seeds: {conditions}"
    n = sum(len(missing) for missing in lacking.values())
    values = {"total": len(seeds), "conditions": listed}
    yield Check("missing-seeds", "warning", template, values, n, len(seeds) * len(conditions))
