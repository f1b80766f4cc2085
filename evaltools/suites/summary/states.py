"""What is to become of a summary: fail, look or ok, and whether a file passes, by the options of the suite.

One definition for every page and gate. A metric's state follows from its score and its evidence, a case's is the worst
of its metrics:

    fail   a measured metric is below its threshold, or a source says the opposite
    look   a person must settle something: nothing is shown to be wrong, and not all could be compared
    ok     all else

Source: specification D22, D24, D35, D36.
"""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self

import pandas as pd
from pandas import DataFrame, Series
from pydantic import Field, model_validator

from ...core.estimates import Checks, Level, duplicate_texts, share_check
from ...core.files import Fields
from ...core.manifest import policy_hash
from ...core.messages import Problems, UsageError, first_ten, say
from ...core.suite import SuiteOptions
from ...llm.messages import BaseUrl
from ...report.run import Run
from .rules import DEFAULT_RULES, JUDGED, Rules, load_rules


class SummaryOptions(SuiteOptions):
    """The options of a run of the summary suite.

    `rules_identity` (name@hash) and `rules_version` follow from the rules' content. The judge's
    API key is no option: it is read from EVALTOOLS_JUDGE_API_KEY or
    OPENAI_API_KEY when the first request is sent, and kept nowhere. A server at a given
    `judge_base_url` may do without one.

    judge_max_calls: only the first so many distinct questions, in the order of the cases, may be
    sent to the server; each file of a command has this budget. A reply in the cache is used
    wherever it stands and costs nothing. A question already in the cache still takes up its place,
    so that a rerun under the same budget sends nothing and gives the same scores. Repeats that the
    client makes on 429, 5xx and the like are not counted apart.
    """

    derived: ClassVar = ("rules_identity", "rules_version")
    costly: ClassVar = (
        "judge",
        "judge_model",
        "judge_base_url",
        "judge_mode",
        "judge_confidence",
        "judge_max_calls",
        "judge_cache",
    )

    rules: str = Field(
        DEFAULT_RULES, description="Rules: ko-insurance, seed, or the path of a rule file."
    )
    rules_identity: str = ""
    rules_version: str = ""
    judge: Literal["off", "hybrid"] = Field(
        "off",
        description="off: rules alone; hybrid: a language model decides the cases of which the "
        "rules are unsure.",
    )
    judge_model: str = Field(
        "", description="Name of the judge's model; needed with the judge hybrid."
    )
    judge_base_url: BaseUrl = Field(
        None,
        description="Address of an OpenAI-compatible server, up to and with /v1; by default the "
        "client's own.",
    )
    judge_mode: Literal["override", "blend"] = Field(
        "override",
        description="override: a confident judge's score stands alone, one less so is blended; "
        "blend: always 0.7 x rule + 0.3 x judge, but a confident judge alone where the rules measured nothing.",
    )
    judge_confidence: float = Field(
        0.8,
        description="Confidence of the judge, from 0 to 1, from which on it overrides.",
        ge=0,
        le=1,
    )
    judge_max_calls: int | None = Field(
        None,
        description="Questions sent to the judge at the most, for each file; by default no limit.",
        ge=0,
    )
    judge_cache: str | None = Field(
        None,
        description="Folder of the judge's replies, so that a rerun costs nothing; by default "
        "OUT/judge-cache, and none where nothing is written.",
    )

    @model_validator(mode="before")
    @classmethod
    def _identify(cls, data: Any) -> Any:
        # kept with the options, so that a result can be read back when the file has gone or changed
        if not isinstance(data, dict) or data.get("rules_identity"):
            return data
        name = str(data.get("rules", DEFAULT_RULES))
        rules = load_rules(name)
        return {
            **data,
            "rules": name,
            "rules_identity": rules.identity,
            "rules_version": rules.version,
        }

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        if self.judge != "off" and not self.judge_model.strip():
            raise UsageError("the hybrid judge needs the name of a model (judge_model)")
        return self

    def policy(self) -> Fields:
        """What can change a number: the rules by content, and the judge only where it is asked."""
        policy: Fields = {
            "rules": self.rules_identity,
            "rules_version": self.rules_version,
            "judge": self.judge,
        }
        if self.judge == "off":
            return policy
        from .judge import prompts

        policy |= self.model_dump(mode="json", include={*self.costly} - {"judge_cache"})
        policy["judge_prompts"] = policy_hash(prompts())
        policy["judge_prompt_versions"] = {
            name: version for name, (version, _) in prompts().items()
        }
        return policy

    def signature(self) -> dict[str, str]:
        """The rules and the judge, for the signature line."""
        signature = {"rules": self.rules_identity}
        if self.judge == "hybrid":
            signature["judge"] = f"{self.judge_model}/{self.judge_mode}{self.judge_confidence:g}"
        return signature


def rules_in_force(options: SummaryOptions) -> Rules:
    """The rules that the options were made for; InputError where the file has changed since."""
    rules = load_rules(options.rules)
    if rules.identity != options.rules_identity:
        raise Problems().fatal(
            "rules-changed",
            f"the rules are {rules.identity} now, the options were made for {options.rules_identity}",
            file=options.rules,
        )
    return rules


State = Literal["fail", "look", "ok"]

# what readers see of a state, on pages and in the workbook
WORD_OF: dict[State, str] = {"fail": "Do not ship", "look": "Check", "ok": "OK"}

# the worst first
STATES = tuple(WORD_OF)

# kinds of entities of which a single one without support makes a summary wrong (D23)
FIGURES = frozenset({"amount", "percent", "duration", "date"})


# kinds of entities that are no figures: a person looks at any other that no source states, whatever the score
WORDS = ("condition", "document")


def worst(states: Iterable[State]) -> State:
    """The worst of some states; "ok" of none.

    >>> worst(["ok", "look"])
    'look'
    """
    return min(states, key=STATES.index, default="ok")


def metric_state(metric: str, evidence: Fields, measured: bool, passed: bool) -> State:
    """The state of one metric of one case.

    evidence: as the scores have it. `contradicted`: values of the summary of which a source says
    the opposite. `look`: what only a person can settle, each with `why` in words, and with `text`,
    `at`, `context` and `context_at` where it has a place. passed: the score reaches the threshold,
    or there is none.

    >>> metric_state("summary_accuracy", {}, measured=True, passed=False)
    'fail'
    >>> metric_state("summary_accuracy", {"unread": ["2월 30일"]}, measured=True, passed=True)
    'look'
    """
    if metric not in JUDGED:
        return "ok"
    if (measured and not passed) or evidence.get("contradicted"):
        return "fail"
    if metric == "summary_accuracy" and not measured:
        return "look"
    if any(entity["kind"] not in WORDS for entity in evidence.get("unsupported", [])):
        return "look"
    return "look" if any(map(evidence.get, ("look", "unread", "unknown_tags"))) else "ok"


# what the worst state of its cases makes of a metric
VERDICT: dict[State, str] = {"fail": "fail", "look": "look", "ok": "pass"}


def state_counts(states: Series) -> dict[str, int]:
    """How many cases are in each state, the worst first."""
    return {state: int((states == state).sum()) for state in STATES}


def verdicts(run: Run) -> DataFrame:
    """The verdict on the cases (`metric` is "state"), then those of the metrics."""
    states = run.data["state"]
    counts = state_counts(states)
    of_cases = {
        "metric": "state",
        "title": "Summaries",
        "verdict": VERDICT[worst(states)],
        "said": f"{counts['fail']} of {len(states)} must not ship, {counts['look']} to look at",
    }
    return pd.concat([DataFrame([of_cases]), metric_verdicts(run)], ignore_index=True)


def metric_verdicts(run: Run) -> DataFrame:
    """One row a judged metric: its verdict, and how many cases fail, are to be looked at, or could not be measured."""
    thresholds = rules_in_force(run.options).thresholds
    units = run.data
    rows = []
    for metric in JUDGED:
        states = units[f"{metric}_state"]
        counts = state_counts(states)
        n_measured = int(units[f"{metric}_measured"].sum())
        row = {
            "metric": metric,
            "title": run.metric(metric).title,
            "verdict": VERDICT[worst(states)] if n_measured else "not measured",
            "failing": counts["fail"],
            "look": counts["look"],
            "not_measured": len(units) - n_measured,
        }
        row["said"] = (
            f"{row['failing']} of {len(units)} fail, {row['look']} to look at, {row['not_measured']} not measured "
            f"(≥ {thresholds[metric]:g})"
        )
        rows.append(row)
    return DataFrame(rows)


def finding(run: Run) -> tuple[str, str]:
    """What a page says first: how many summaries must not ship, and how the others stand."""
    counts = state_counts(run.data["state"])
    first = say("{k} of {n} summaries must not ship", k=counts["fail"], n=len(run.data))
    return first, say("{look} more to look at, {ok} ok", look=counts["look"], ok=counts["ok"])


# --- what a reader must know before believing a number: what was not measured, or not read

# with so many cases left out, the mean of the rest can be 0.2 away from that of all
UNMEASURED = 0.2

# Imputed numbers move a mean by at most their share of the cases; 0.05 is about half an interval
# of 300 cases.
IMPUTED = 0.05

# One summary in twenty with a figure that nothing compares is what the default rules leave of
# fresh cases.
UNREAD = 0.05

# Stock answers for a few odd cases are common; from one case in twenty on the system answers many
# alike.
DUPLICATES = 0.05


def checks(run: Run) -> Checks:
    """The checks of a file of cases."""
    data = run.data
    yield from duplicate_texts(data[data["contexts"] != "[]"], "contexts", "case_id")
    yield from not_measured(run)
    yield from unread_figures(data)
    yield from duplicate_answers(data["answer"])
    yield from not_judged(data, run.options)


def not_measured(run: Run) -> Checks:
    """Metrics that many cases give nothing to measure for, and their means over all cases, which hold fixed numbers for
    these (D14). n is of the metric that lacks most.
    """
    verdicts = metric_verdicts(run)
    n, total = verdicts["not_measured"].max(), len(run.data)
    texts: list[tuple[str, float, Level, str]] = [
        (
            "unmeasured-share",
            UNMEASURED,
            "warning",
            "not measured, of {of} cases: {metrics}; their means over measured cases speak for those only",
        ),
        (
            "imputed-share",
            IMPUTED,
            "info",
            "means over all {of} cases hold fixed numbers for those not measured: {metrics}",
        ),
    ]
    for code, limit, level, text in texts:
        rows = verdicts[verdicts["not_measured"] > limit * total]
        metrics = [
            f"“{say(title)}” {count} ({count / total:.0%})"
            for title, count in zip(rows["title"], rows["not_measured"])
        ]
        yield from share_check(
            code,
            level,
            text,
            n,
            total,
            above=limit,
            metrics=metrics,
        )


def unread_figures(data: DataFrame) -> Checks:
    """Summaries with figures that no rule read: they are compared with nothing."""
    figures = data["unread_figures"].map(json.loads).explode().dropna()
    quoted = [f"“{figure}”" for figure in figures.unique()]
    n, of = figures.index.nunique(), len(data)
    level: Level = "warning" if n > UNREAD * of else "info"
    return share_check(
        "unread-figures",
        level,
        "{figures} figures in {n} of {of} summaries were not read as values, so nothing checks them: {quoted}",
        n,
        of,
        figures=len(figures),
        quoted=first_ten(quoted),
    )


def duplicate_answers(answers: Series) -> Checks:
    """One summary for several cases."""
    texts = answers.fillna("").str.split().str.join(" ")
    texts = texts[texts != ""]
    repeated = texts[texts.duplicated(keep=False)]
    return share_check(
        "duplicate-answers",
        "warning",
        "{n} of {of} cases have a summary that stands on other cases too ({count} texts)",
        len(repeated),
        len(answers),
        above=DUPLICATES,
        count=repeated.nunique(),
    )


def not_judged(
    data: DataFrame,
    options: SummaryOptions,
) -> Checks:
    """Questions to which the judge gave no usable reply, with the commonest reason."""
    if options.judge == "off":
        return
    evidence = (each for metric in JUDGED for each in map(json.loads, data[f"{metric}_evidence"]))
    asked = [each["judge"]["error"] for each in evidence if "judge" in each]
    errors = Counter(filter(None, asked))
    for reason, count in errors.most_common(1):
        yield from share_check(
            "not-judged",
            "warning",
            "the judge gave no usable reply to {n} of {of} questions; most often ({count}): {reason}",
            errors.total(),
            len(asked),
            count=count,
            reason=reason,
        )
