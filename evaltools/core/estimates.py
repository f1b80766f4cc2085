"""Settings of the intervals, the one form of an estimate, and what a reader must know before believing one.

A run, a condition over its seeds and a part of a run all hold rows of COLUMNS. Every public frame, metrics.json and
every CSV of estimates is made here, so that their column names are decided in one place.

Codes of checks are stable. A blocking check says that some metrics mean nothing here, however they were computed.
Checks of this module are those that any suite may need: few units, what never varies, texts that come twice, units
and seeds that lack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import Any, Literal

import pandas as pd
from pandas import DataFrame
from pydantic import BaseModel, Field

from .files import Fields, Names, grouped
from .messages import UsageError, first_ten, say
from .metric import metric_title

# A row of estimates, or of a comparison
Row = Mapping[Any, Any]

# A row a metric: its name and title; the condition ("" for a single run); the value (over several seeds their mean)
# and the standard deviation between seeds; its interval and how that was made; the sums that it is a ratio of; how many
# units and seeds it rests on; its group, the direction in which it improves, and the code of the check that says that it
# means nothing here. Null: not measured, no interval, or not blocked.
COLUMNS = (
    "metric",
    "title",
    "condition",
    "value",
    "std",
    "ci_low",
    "ci_high",
    "ci_method",
    "numerator",
    "denominator",
    "n_units",
    "n_seeds",
    "group",
    "better",
    "blocked",
)

# the columns of `run.frame`, of `et.estimate` and of metrics.json
PUBLIC = (
    "name",
    "title",
    "value",
    "ci_low",
    "ci_high",
    "ci_method",
    "numerator",
    "denominator",
    "n_units",
    "group",
    "better",
    "blocked",
)

# why a difference is blocked whose missing values are not missing at random
UNFAIR = "missing-not-random"

NUMBERS = ("value", "ci_low", "ci_high", "numerator", "denominator")


def complete(
    estimates: DataFrame,
    condition: str = "",
) -> DataFrame:
    """The estimates with all of COLUMNS first; what they lack is null, or that of one run of this condition."""
    of_one_run = {**dict.fromkeys(COLUMNS), "condition": condition, "n_seeds": 1}
    return DataFrame({**of_one_run, **estimates}, estimates.index)


def public_frame(estimates: DataFrame) -> DataFrame:
    """The estimates as users see them: PUBLIC, the column `metric` being called `name`."""
    return estimates.rename(columns={"metric": "name"})[list(PUBLIC)]


def from_public(frame: DataFrame) -> DataFrame:
    """The estimates of a public frame, as read back from metrics.json."""
    return complete(frame.rename(columns={"name": "metric"}).astype(dict.fromkeys(NUMBERS, float)))


def plain_rows(frame: DataFrame) -> list[Fields]:
    """The rows of a frame as JSON can hold them: a null is None, numbers are Python's own."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def is_null(value: Any) -> bool:
    """Whether a cell of a frame holds nothing: None, NaN, NA or NaT. A list is something, also where it is empty."""
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


Method = Literal["auto", "bca", "percentile"]


class Resampling(BaseModel, frozen=True, allow_inf_nan=False):
    """How intervals are made.

    `method`: "bca" or "percentile" is that bootstrap wherever there are enough units; "auto" is BCa where the data
    carry it, and a score interval for bounded metrics where they do not (docs/statistics.md).
    `n_resamples`: number of bootstrap resamples, 100 to 10 million. `confidence`: level of the intervals, between 0 and 1.
    `seed`: seed of the generator of random numbers.

    Raises ValueError for a setting out of its range.

    >>> Resampling(n_resamples=2_000).confidence
    0.95
    """

    method: Method = "auto"
    n_resamples: int = Field(default=10_000, ge=100, le=10_000_000)
    confidence: float = Field(default=0.95, gt=0, lt=1)
    seed: int = Field(default=0, ge=0)

    @property
    def level(self) -> float:
        """The level of the tests: 0.05 for intervals of 95%."""
        return round(1 - self.confidence, 12)

    @property
    def percent(self) -> str:
        """The confidence as it is shown: "95%"."""
        return f"{100 * self.confidence:.4g}%"


Level = Literal["info", "warning", "blocking"]

# the word that stands before a check of each level; the worst first
LEVEL_WORDS = {
    "blocking": "Cannot be measured",
    "warning": "Caution",
    "info": "Note",
}

LEVELS = tuple(LEVEL_WORDS)


@dataclass(frozen=True)
class Check:
    """One thing that was found, in `n` of `of` units (0 of 0 where it is no count).

    `message` is a finished sentence. `blocks` names the metrics that mean nothing because of it. UsageError for
    another level.

    >>> Check("few-units", "warning", "only 3 units (case_id)", n=3, of=3).message
    'only 3 units (case_id)'
    """

    code: str
    level: Level
    message: str
    n: int = 0
    of: int = 0
    blocks: Names = ()

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise UsageError(f"check {self.code}: expected a level of {LEVELS}, got {self.level!r}")


# the checks of a run, as they are found
Checks = Iterator[Check]


def share_check(
    code: str,
    level: Level,
    text: str,
    n: int,
    of: int,
    blocks: Names = (),
    /,
    above: float = 0,
    **values: Any,
) -> Checks:
    """The check of what was found in more than a share of the units (`above`; by default in any), else none.

    The text says in how many, {n} of {of}; further values fill its other places.

    >>> [check.message for check in share_check("empty", "warning", "{n} of {of} replies are empty", 2, 1200)]
    ['2 of 1,200 replies are empty']
    >>> [*share_check("empty", "warning", "{n} of {of} replies are empty", 2, 1200, above=0.05)]
    []
    """
    if n > above * of:
        message = say(text, n=f"{n:,.0f}", of=f"{of:,.0f}", **values)
        yield Check(code, level, message, int(n), int(of), blocks)


def check_lines(checks: Iterable[Check]) -> list[str]:
    """The checks as lines of text, each with the word of its level."""
    return [f"{say(LEVEL_WORDS[check.level])}: {check.message}" for check in checks]


def worst_first(checks: Iterable[Check]) -> list[Check]:
    """The checks in the order of their levels."""
    return sorted(checks, key=lambda check: LEVELS.index(check.level))


def checks_of_runs(runs: Sequence[Sequence[Check]]) -> list[Check]:
    """The checks of several runs, one a code and level: counts are added, metrics that any blocks are blocked.

    Behind a sentence stands in how many of the runs it holds. Where they differ it is that of the worst run, and says so.
    """
    combined = []
    for checks in grouped(chain(*runs), attrgetter("code", "level")).values():
        worst = min(
            checks,
            key=lambda check: (-check.n / (check.of or 1), check.n),
        )
        message = worst.message
        if len(runs) > 1:
            text = "{message} (in {runs} of {total} runs)"
            if any(check.message != message for check in checks):
                text = "{message} (in {runs} of {total} runs; this in the worst)"
            found = {*map(id, checks)}
            message = say(
                text,
                message=message,
                runs=sum(not found.isdisjoint(map(id, run)) for run in runs),
                total=len(runs),
            )
        combined.append(
            replace(
                worst,
                message=message,
                n=sum(check.n for check in checks),
                of=sum(check.of for check in checks),
                blocks=tuple(dict.fromkeys(chain(*(check.blocks for check in checks)))),
            )
        )
    return worst_first(combined)


def duplicate_texts(
    units: DataFrame,
    column: str,
    unit: str,
) -> Checks:
    """Units that have the same text are no independent samples."""
    if column not in units:
        return
    texts = units.drop_duplicates(unit)[column].dropna()
    texts = texts[texts.astype(str).str.strip() != ""]
    yield from share_check(
        "duplicate-texts",
        "warning",
        "{n} samples share a text, so they are not independent: the true intervals are wider.",
        texts.duplicated(keep=False).sum(),
        len(texts),
    )


# code -> what is said of runs that lack units which others have, and of conditions that lack seeds
LACKING = {
    "missing-units": "Not all runs have all {total} samples: {who}. A run rests on its own, a comparison on shared ones.",
    "missing-seeds": "not all conditions have all of the {total} seeds: {who}",
}


def lacking(
    code: str,
    missing: Mapping[str, Sequence[str] | int],
    total: int,
) -> Checks:
    """Runs, or conditions, that lack what others have. `missing`: name -> what it lacks of `total`, or how much."""
    n, sentences = 0, []
    for name, what in missing.items():
        if what:
            n += what if isinstance(what, int) else len(what)
            count = what if isinstance(what, int) else first_ten(what)
            sentences.append(say("{run} lacks {count}", run=name, count=count))
    return share_check(
        code,
        "warning",
        LACKING[code],
        n,
        total * len(missing),
        total=total,
        who=first_ten(sentences),
    )


def _titles(rows: DataFrame) -> list[str]:
    """The titles of rows of estimates or of a comparison, in quotation marks."""
    return [f"“{metric_title(*names)}”" for names in zip(rows["metric"], rows["title"])]


def one_sided_missing(
    differences: DataFrame,
    signed: Callable[[Any], str],
) -> Checks:
    """Cells that only one side of a comparison has: they take no part, and could change the difference.

    `differences`: rows of a comparison, those of the metrics that lead. One check a candidate, on the primary metric
    if it lacks cells, else that which lacks most. `signed`: a difference as it is shown.
    """
    # a cell may lack a trial on either side
    n_missing = differences[["missing_baseline", "missing_candidate"]].max(axis=1)
    n_missing *= differences["blocked"].fillna(UNFAIR) == UNFAIR
    rows = differences.assign(n_missing=n_missing, shown=_titles(differences))[n_missing > 0]
    rows = rows.sort_values(["primary", "n_missing"], ascending=False)
    for row in rows.drop_duplicates("candidate").to_dict("records"):
        text = (
            "of {of} values of {shown} {baseline} lacks {missing_baseline} and {candidate} {missing_candidate}, wholly or "
            "partly"
        )
        if pd.notna(row["delta_worst"]):
            text += (
                "; at the worst for {candidate} the difference over all {of} would be {delta_worst}, at the best "
                "{delta_best}"
            )
            row |= {end: signed(row[end]) for end in ("delta_worst", "delta_best")}
        yield from share_check(
            "one-sided-missing", "warning", text, row["n_missing"], row["n_cells"], **row
        )


def not_random(differences: DataFrame) -> Checks:
    """Metrics of which one side lacks other samples than it has: its values are no fair part of all.

    `differences`: rows of a comparison, those of the metrics that lead.
    """
    unfair = differences[differences["blocked"] == UNFAIR]
    for _, rows in unfair.groupby("candidate", sort=False):
        row = rows.iloc[0]
        yield from share_check(
            UNFAIR,
            "blocking",
            "What is missing between {baseline} and {candidate} is perhaps not missing at random: on {metrics} the "
            "samples that one side lacks have other values on the other side (a test at 5%). No verdict.",
            max(row["missing_baseline"], row["missing_candidate"]),
            row["n_cells"],
            **row,
            metrics=first_ten(_titles(rows)),
        )
