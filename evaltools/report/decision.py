"""A decision that is written before the data: what is tested, on how many samples, and at what level.

`plan --register` writes it, `compare --decision` and `gate --decision` test exactly that, and list every departure.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator
from scipy.special import ndtri

from ..core.errors import InputError, Problems, UsageError
from ..core.files import refuse_input, write_text
from ..core.language import Message, listed, say
from ..core.records import fitted
from ..core.text_files import require_file
from ..stats.compare import compare
from ..stats.differences import least_gain
from ..stats.intervals import MIN_UNITS
from ..stats.multiplicity import look_levels
from .sentences import verdict_parts, whole_sentence
from .study import Study

MET = "Decision met (margin {margin}): {sentence} Tested at {alpha} after {n} of {planned} samples."
NOT_MET = "Decision not met (margin {margin}): {sentence} Tested at {alpha} after {n} of {planned} samples."
"""What is said of a decision."""


class Decision(BaseModel):
    """What is tested. `difference`, `power`, `written` and `pilot` say what `n` rests on, and are not tested."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
    )

    suite: str = Field(description="of the runs")
    metric: str = Field(description="the one that is tested")
    direction: Literal["higher", "lower"] = Field(description="which values are better")
    margin: float = Field(
        ge=0,
        description="how much worse the candidate may be; 0: it must be better",
    )
    n: int = Field(ge=MIN_UNITS, description="samples on both sides")
    seeds: int = Field(ge=1, description="of each side")
    level: float = Field(gt=0, lt=0.5, description="of the two-sided test, over all looks")
    looks: list[int] = Field(description="numbers of samples at which the data may be tested")
    difference: float = Field(description="the true difference that was planned for")
    power: float = Field(description="with which it is found")
    written: datetime = Field(strict=False, description="before the data")
    pilot: list[str] = Field(description="sha256 of the main files of the runs that n rests on")

    @model_validator(mode="after")
    def _looks_lead_to_n(self) -> Self:
        ascending = sorted(set(self.looks)) == self.looks
        if not self.looks or not ascending or self.looks[0] < 1 or self.looks[-1] != self.n:
            raise ValueError(
                f"looks: expected numbers in ascending order that end with n = {self.n}"
            )
        return self


HEAD = """\
# A decision, written before the data. These commands test exactly this, and list every departure from it:
#   evaltools compare A B --decision FILE
#   evaltools gate B --baseline A --decision FILE
"""


def write_decision(
    path: Path,
    decision: Decision,
) -> None:
    """Write a decision as TOML, which a person reads. UsageError for a file that is there: it may have been agreed on."""
    if path.exists():
        raise UsageError("{file} is there already; a decision is not replaced", file=path)
    refuse_input(path)
    values = decision.model_dump(mode="json")
    lines = [HEAD]
    for name, field in Decision.model_fields.items():
        # the numbers, texts and lists of JSON are those of TOML
        value = json.dumps(values[name], ensure_ascii=False)
        lines.append(f"{name} = {value}  # {field.description}")
    write_text(path, "\n".join(lines) + "\n")


def read_decision(path: Path) -> Decision:
    """The decision in a file. InputError that names file and field where it is none."""
    problems = Problems()
    require_file(path, problems)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = Message("not TOML: {reason}", {"reason": str(error)})
        raise problems.fatal("bad-toml", message, file=str(path)) from error
    decision = fitted(
        Decision,
        content,
        problems,
        file=str(path),
    )
    if decision is None:
        raise InputError(problems.errors)
    return decision


def decision_of(
    study: Study,
    planned: pd.Series,
    *,
    metric: str,
    difference: float,
    power: float,
    margin: float = 0.0,
    looks: int = 1,
) -> Decision:
    """The decision that a row of a plan leads to; `looks` at equal numbers of samples. UsageError without samples."""
    if pd.isna(planned["samples"]):
        raise UsageError("no number of samples finds this difference: there is nothing to register")
    most = int(planned["samples"]) // MIN_UNITS
    if not 1 <= looks <= most:
        raise UsageError(
            "--looks {looks}: expected 1 to {most}, each after {least} samples or more",
            looks=looks,
            most=most,
            least=MIN_UNITS,
        )
    n = round(int(planned["samples"]) * _more_for_looks(looks, study.resampling.level, power))
    directed = study.metric(metric)
    return Decision(
        suite=study.suite.name,
        metric=directed.name,
        direction="lower" if directed.better == "lower" else "higher",
        margin=margin,
        n=n,
        seeds=int(planned["seeds"]),
        level=round(study.resampling.level, 12),
        looks=[round(n * look / looks) for look in range(1, looks + 1)],
        difference=difference,
        power=power,
        written=datetime.now(UTC).replace(microsecond=0),
        pilot=[run.manifest.inputs[0].sha256 for run in study.results],
    )


def _more_for_looks(
    looks: int,
    level: float,
    power: float,
) -> float:
    """How many times the samples of one look several looks need: the last of them has a lower level.

    >>> round(_more_for_looks(5, 0.05, 0.8), 3)
    1.051
    """
    last = look_levels([look / looks for look in range(1, looks + 1)], level)[-1]
    distances = [ndtri(power) - ndtri(of_look / 2) for of_look in (last, level)]
    return float((distances[0] / distances[1]) ** 2)


@dataclass(frozen=True)
class Outcome:
    """What a study says to a decision: whether it is met, in words, and what departs from what was declared."""

    met: bool
    text: str
    departures: list[str]


def judge(
    decision: Decision,
    study: Study,
) -> Outcome:
    """Test what a decision declares on a study of two conditions, at the level of this look.

    Met: the difference is shown to be an improvement (with a margin: the harmful end of the interval stays within it),
    also if all values that one side lacks were the worst. Never met where the metric has another direction than the
    declared one. UsageError for another suite, and a metric that means nothing here.
    """
    if decision.suite != study.suite.name:
        raise UsageError(
            "the decision is on runs of {suite}, these are of {other}",
            suite=decision.suite,
            other=study.suite.name,
        )
    metric = study.directed(decision.metric).name
    candidate = study.candidate()
    level = _level_of_look(decision, int(study[metric]["n_units"]))
    resampling = study.resampling.model_copy(update={"confidence": 1 - level})
    compared = compare(
        study.frames(study.baseline),
        study.frames(candidate),
        study.metrics,
        study.suite.unit,
        resampling,
        [metric],
        primary=metric,
        names=(study.baseline, candidate),
    )
    row = compared.table.set_index("metric", drop=False).loc[metric]
    # met also if all values that one side lacks were the worst
    harmful_end = "ci_high" if decision.direction == "lower" else "ci_low"
    gain = least_gain(row, row[harmful_end], decision.direction)
    met = gain > 0 and row["verdict"] == "better"
    if decision.margin:
        met = gain >= -decision.margin
    met = met and row["better"] == decision.direction
    text = say(
        MET if met else NOT_MET,
        margin=f"{decision.margin:g}",
        sentence=whole_sentence(*verdict_parts(row, resampling)),
        alpha=f"{level:.3g}",
        n=int(row["n_units"]),
        planned=decision.n,
    )
    return Outcome(bool(met), text, _departures(decision, study, row))


def _level_of_look(
    decision: Decision,
    n: int,
) -> float:
    """The level of a look at n samples, after all declared looks at fewer."""
    looks = [look for look in decision.looks if look < n and look < decision.n]
    fractions = [look / decision.n for look in looks]
    now = max(min(n / decision.n, 1.0), 1 / decision.n)
    return look_levels([*fractions, now], decision.level)[-1]


def _departures(
    decision: Decision,
    study: Study,
    row: pd.Series,
) -> list[str]:
    """What is not as it was declared, a sentence each."""
    departures = []
    n = int(row["n_units"])
    if n not in decision.looks:
        text = "{n} samples, where looks at {looks} were declared"
        departures.append(say(text, n=n, looks=listed(decision.looks)))
    for condition, runs in study.conditions.items():
        if len(runs) != decision.seeds:
            text = "{seeds} seeds of {condition}, where {declared} were declared"
            values = {"condition": condition, "declared": decision.seeds}
            departures.append(say(text, seeds=len(runs), **values))
    if row["better"] != decision.direction:
        text = "the metric is better when {better}, where {declared} was declared"
        departures.append(say(text, better=row["better"], declared=decision.direction))
    lacking = int(row["missing_baseline"] + row["missing_candidate"])
    if lacking:
        text = "{n} values stand on one side only and count as the worst that they could be"
        departures.append(say(text, n=lacking))
    for run in study.results:
        if run.manifest.inputs[0].sha256 in decision.pilot:
            departures.append(say("{run} was read from a file of the pilot", run=run.name))
        elif datetime.fromisoformat(run.manifest.started) < decision.written:
            text = "{run} was scored before the decision was written"
            departures.append(say(text, run=run.name))
    return departures
