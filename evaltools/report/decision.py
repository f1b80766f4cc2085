"""A decision that is written before the data: what is tested, on how many samples, and at what level.

`plan --register` writes it, `compare --decision` and `gate --decision` test exactly that, and list every departure.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from string import Template
from typing import Any, Literal, Self

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator
from scipy.special import ndtri

from ..core.errors import InputError, Problems, UsageError
from ..core.files import refuse_input, write_text
from ..core.language import Message, say
from ..core.metric import metric_title
from ..core.records import fitted
from ..core.text_files import require_file
from ..stats.compare import compare
from ..stats.equivalence import least_gain
from ..stats.intervals import MIN_UNITS
from ..stats.spending import look_levels
from .estimate_tables import interval
from .markdown import number
from .sentences import p_equation
from .study import Study

MET = (
    "Decision met: {asked}. Difference {delta}, {level} interval {interval}, {p}, tested at {alpha} after {n} of "
    "{planned} samples."
)
NOT_MET = (
    "Decision not met: it is not shown that {asked}. Difference {delta}, {level} interval {interval}, {p}, tested at "
    "{alpha} after {n} of {planned} samples."
)
DEPARTURES = "Departures from what was declared: {listed}."
NO_DEPARTURE = "Nothing departs from what was declared."


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Planned(_Part):
    """What the number of samples rests on; nothing of it is tested.

    `difference`: the true difference that was planned for, found with `power`. `written`: when. `pilot`: sha256 of the
    main files of the pilot's runs.
    """

    difference: float
    power: float
    written: datetime
    pilot: list[str]


class Decision(_Part):
    """What is tested.

    `direction`: which values of the metric are better. `margin`: how much worse the candidate may be (0: it must be
    better). `n`: samples on both sides. `level`: of the two-sided test, over all looks. `looks`: the numbers of samples
    at which the data may be tested, the last of which is `n`.
    """

    suite: str
    metric: str
    direction: Literal["higher", "lower"]
    margin: float = Field(ge=0)
    n: int = Field(ge=MIN_UNITS)
    seeds: int = Field(ge=1)
    level: float = Field(gt=0, lt=0.5)
    looks: list[int]
    plan: Planned

    @model_validator(mode="after")
    def _looks_lead_to_n(self) -> Self:
        ascending = sorted(set(self.looks)) == self.looks
        if not self.looks or not ascending or self.looks[0] < 1 or self.looks[-1] != self.n:
            raise ValueError(
                f"looks: expected numbers in ascending order that end with n = {self.n}"
            )
        return self


FILE = Template("""\
# A decision, written before the data. These commands test exactly this, and list every departure from it:
#   evaltools compare A B --decision FILE
#   evaltools gate B --baseline A --decision FILE

suite = $suite
metric = $metric
direction = "$direction"  # which values are better
margin = $margin  # how much worse the candidate may be; 0: it must be better
n = $n  # samples on both sides
seeds = $seeds  # of each side
level = $level  # of the two-sided test, over all looks
looks = $looks  # numbers of samples at which the data may be tested

[plan]  # what n rests on
difference = $difference
power = $power
written = $written
pilot = $pilot
""")


def write_decision(path: Path, decision: Decision) -> None:
    """Write a decision as TOML, which a person reads. UsageError for a file that is there: it may have been agreed on."""
    if path.exists():
        raise UsageError("{file} is there already; a decision is not replaced", file=path)
    refuse_input(path)
    values = {**decision.model_dump(), **decision.plan.model_dump()}
    for name in ("suite", "metric", "pilot", "looks"):
        values[name] = _toml(values[name])
    values["written"] = decision.plan.written.isoformat(timespec="seconds")
    write_text(path, FILE.substitute(values))


def _toml(value: Any) -> str:
    """A text, a whole number or a list of them as TOML, whose basic strings are those of JSON."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def read_decision(path: Path) -> Decision:
    """The decision in a file. InputError that names file and field where it is none."""
    problems = Problems()
    require_file(path, problems)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = Message("not TOML: {reason}", {"reason": str(error)})
        raise problems.fatal("bad-toml", message, file=str(path)) from error
    decision = fitted(Decision, content, problems, file=str(path))
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
    n = round(int(planned["samples"]) * _more_for_looks(looks, study.resampling.level, power))
    if not 1 <= looks <= n // MIN_UNITS:
        raise UsageError(
            "--looks {looks}: expected 1 to {most}, each after {least} samples or more",
            looks=looks,
            most=n // MIN_UNITS,
            least=MIN_UNITS,
        )
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
        plan=Planned(
            difference=difference,
            power=power,
            written=datetime.now(UTC).replace(microsecond=0),
            pilot=[run.manifest.inputs[0].sha256 for run in study.results],
        ),
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
    text: Message
    departures: list[Message]

    @property
    def sentences(self) -> list[str]:
        """All of it in the language in force."""
        listed = "; ".join(str(say(departure)) for departure in self.departures)
        departures = say(DEPARTURES, listed=listed) if listed else say(NO_DEPARTURE)
        return [say(self.text), departures]


def judge(decision: Decision, study: Study) -> Outcome:
    """Test what a decision declares on a study of two conditions, at the level of this look.

    Met: the difference is shown to be an improvement (with a margin: the harmful end of the interval stays within it),
    also if all values that one side lacks were the worst. UsageError for another suite, and a metric that means
    nothing here.
    """
    if decision.suite != study.suite.name:
        raise UsageError(
            "the decision is on runs of {suite}, these are of {other}",
            suite=decision.suite,
            other=study.suite.name,
        )
    candidate = study.candidate()
    metric = study.directed(decision.metric).name
    compared = study.comparisons[candidate].table.set_index("metric")
    level = _level_of_look(decision, int(compared.loc[metric, "n_units"]))
    row = _tested(study, metric, candidate, level)
    met = _is_met(decision, row)
    return Outcome(met, _said(decision, row, level, met), _departures(decision, study, row))


def _is_met(decision: Decision, row: pd.Series) -> bool:
    """Whether a row shows what is declared, also if all values that one side lacks were the worst."""
    harmful_end = "ci_high" if decision.direction == "lower" else "ci_low"
    gain = least_gain(row, row[harmful_end], decision.direction)
    if decision.margin:
        return gain >= -decision.margin
    return gain > 0 and row["verdict"] in ("better", "worse")


def _level_of_look(
    decision: Decision,
    n: int,
) -> float:
    """The level of a look at n samples, after all declared looks at fewer."""
    looks = [look for look in decision.looks if look < n and look < decision.n]
    fractions = [look / decision.n for look in looks]
    now = max(min(n / decision.n, 1.0), 1 / decision.n)
    return look_levels([*fractions, now], decision.level)[-1]


def _tested(
    study: Study,
    metric: str,
    candidate: str,
    level: float,
) -> pd.Series:
    """The row of the metric, tested alone at a level."""
    compared = compare(
        study.frames(study.baseline),
        study.frames(candidate),
        study.metrics,
        study.suite.unit,
        study.resampling.model_copy(update={"confidence": 1 - level}),
        [metric],
        primary=metric,
        names=(study.baseline, candidate),
    )
    return compared.table.set_index("metric", drop=False).loc[metric]


def _said(
    decision: Decision,
    row: pd.Series,
    level: float,
    met: bool,
) -> Message:
    """Whether a decision is met, and by which numbers."""
    template = "{candidate} is better than {baseline} on “{title}”"
    if decision.margin:
        template = "{candidate} is not worse than {baseline} on “{title}” by more than {margin}"
    asked = Message(
        template,
        {
            "candidate": row["candidate"],
            "baseline": row["baseline"],
            "title": metric_title(row["metric"], row["title"]),
            "margin": f"{decision.margin:g}",
        },
    )
    template = MET if met else NOT_MET
    return Message(
        template,
        {
            "asked": asked,
            "delta": number(row["delta"], signed=True),
            "level": f"{100 * (1 - level):.4g}%",
            "interval": interval(row, signed=True) or "-",
            "p": p_equation(row["p_value"]),
            "alpha": f"{level:.3g}",
            "n": int(row["n_units"]),
            "planned": decision.n,
        },
    )


def _departures(
    decision: Decision,
    study: Study,
    row: pd.Series,
) -> list[Message]:
    """What is not as it was declared, a sentence each."""
    departures = []
    n = int(row["n_units"])
    if n not in decision.looks:
        looks = ", ".join(map(str, decision.looks))
        text = "{n} samples, where looks at {looks} were declared"
        departures.append(Message(text, {"n": n, "looks": looks}))
    for condition in (row["baseline"], row["candidate"]):
        seeds = len(study.conditions[condition])
        if seeds != decision.seeds:
            text = "{seeds} seeds of {condition}, where {declared} were declared"
            values = {"seeds": seeds, "condition": condition, "declared": decision.seeds}
            departures.append(Message(text, values))
    if row["better"] != decision.direction:
        text = "the metric is better when {better}, where {declared} was declared"
        departures.append(Message(text, {"better": row["better"], "declared": decision.direction}))
    lacking = int(row["missing_baseline"] + row["missing_candidate"])
    if lacking:
        text = "{n} values stand on one side only and count as the worst that they could be"
        departures.append(Message(text, {"n": lacking}))
    for run in study.results:
        if run.manifest.inputs[0].sha256 in decision.plan.pilot:
            departures.append(Message("{run} is a run of the pilot", {"run": run.name}))
        elif datetime.fromisoformat(run.manifest.started) < decision.plan.written:
            text = "{run} was scored before the decision was written"
            departures.append(Message(text, {"run": run.name}))
    return departures
