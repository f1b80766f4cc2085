"""What a report shows of summaries beside the numbers: tables, a figure and the browser of cases.

The tables are functions of a Run that return a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.files import dumps
from ...core.language import say
from ...report.view import TableView
from ...stats.score_intervals import wilson
from . import people
from .cards import NAMED, sample_views
from .options import rules_in_force
from .reasons import Evidence, source_sentence
from .rules import METRICS, Rules, rules_snapshot
from .text import normalise
from .units import by_metric
from .verdicts import WORDS, verdicts
from .wording import find_matches

if TYPE_CHECKING:
    from ...report.run import Run

__all__ = ["FIGURES", "TABLES", "sample_views"]

TOP = 3
"""Wordings of a missed tag that are shown."""

CONFUSED = ("exclusion", "waiting_period")
"""Tags that share the word 면책."""


def not_measured(run: Run) -> pd.DataFrame:
    """Why cases were not measured: metric, reason, score (the source document's number), cases."""
    cases = by_metric(run.units, score="", measured="_measured", evidence="_evidence")
    cases = cases[~cases["measured"]]
    cases["reason"] = [evidence["reason"] for evidence in cases["evidence"]]
    counts = cases.groupby(["metric", "reason", "score"], sort=False).size()
    return counts.rename("cases").reset_index()


def tags(run: Run) -> pd.DataFrame:
    """By tag: cases that expect it, cases that cover it, recall with its Wilson interval.

    `missed`: the words by which the contexts name the item in the cases that miss it, the commonest
    first.
    """
    rows = []
    for evidence in run.units["summary_risk_coverage_evidence"]:
        due = evidence.get("due", {})
        for tag in evidence.get("covered", {}):
            rows.append((tag, True, None))
        for tag in evidence.get("missing", {}):
            rows.append((tag, False, due.get(tag, {}).get("text")))
    expected = pd.DataFrame(rows, columns=["tag", "covered", "missed"])
    by_tag = []
    for tag, cases in expected.groupby("tag"):
        n = len(cases)
        covered = int(cases["covered"].sum())
        low, high = wilson(covered, n, run.resampling.confidence)
        words = cases["missed"].value_counts().head(TOP)
        missed = ", ".join(f"“{text}” {count}" for text, count in words.items())
        by_tag.append((tag, n, covered, covered / n, low, high, missed))
    return pd.DataFrame(
        by_tag,
        columns=["tag", "expected", "covered", "share", "ci_low", "ci_high", "missed"],
    )


def confused(run: Run) -> pd.DataFrame:
    """Cases that expect one of two items which share a word, and name the other.

    expected, named, cases, of. A summary that says 면책기간 names a waiting period, and with the same
    word an exclusion.
    """
    rules = rules_in_force(run.options)
    known = [tag for tag in CONFUSED if tag in rules.tags]
    rows = []
    for tag, other in permutations(known, 2):
        expecting = 0
        names_other_only = 0
        for answer, expected in zip(run.units["answer"], run.units["tags"]):
            if tag not in expected or other in expected:
                continue
            expecting += 1
            of_tag = _characters(tag, answer or "", rules)
            of_other = _characters(other, answer or "", rules)
            if of_other and not of_tag - of_other:
                names_other_only += 1
        rows.append((tag, other, names_other_only, expecting))
    return pd.DataFrame(rows, columns=["expected", "named", "cases", "of"])


def _characters(tag: str, answer: str, rules: Rules) -> set[int]:
    """The places of the characters of an answer that name a tag."""
    compiled = rules.compiled
    matches = find_matches(
        compiled.tags[tag],
        normalise(answer, rules.fold),
        answer,
        compiled,
    )
    places: set[int] = set()
    for match in matches.standing:
        places.update(range(*match["at"]))
    return places


def parts(run: Run) -> pd.DataFrame:
    """The metrics over measured cases by product, channel and intent, where cases name them."""
    tables = []
    for breakdown in run.suite.breakdowns:
        column = breakdown.column
        if column in run.data and run.data[column].notna().any():
            table = run.by(column, *breakdown.metrics)
            tables.append(table.assign(by=say(breakdown.title)))
    columns = ["by", "part", "n", "title", "value", "ci_low", "ci_high"]
    if not tables:
        return pd.DataFrame(columns=columns)
    return pd.concat(tables)[columns]


def missing(run: Run) -> pd.DataFrame:
    """Tags that no phrase covers, with the sentence of the contexts that names them (source)."""
    rows = []
    for case, evidence in _cases(run, "summary_risk_coverage"):
        due = evidence.get("due", {})
        for tag, let_off in evidence.get("missing", {}).items():
            row = {
                "case_id": case["case_id"],
                "tag": tag,
                "let_off": "; ".join(phrase["text"] for phrase in let_off),
                "source": source_sentence(due.get(tag), case["contexts"]),
                "answer": case["answer"],
            }
            rows.append(row)
    return pd.DataFrame(rows, columns=["case_id", "tag", "let_off", "source", "answer"])


def _cases(run: Run, metric: str) -> Iterator[tuple[dict[Any, Any], Evidence]]:
    """(columns, evidence) of each case."""
    columns = run.units[["case_id", "answer", "contexts", f"{metric}_evidence"]]
    for case in columns.to_dict("records"):
        yield case, case[f"{metric}_evidence"]


def unsupported(run: Run) -> pd.DataFrame:
    """Entities of summaries that no context supports, with their place in the answer."""
    rows = []
    for case, evidence in _cases(run, "summary_accuracy"):
        for entity in evidence.get("unsupported", []):
            start, end = entity["at"]
            place = {"start": start, "end": end}
            rows.append({**case, **entity, **place})
    columns = ["case_id", "kind", "text", "value", "start", "end", "answer"]
    return pd.DataFrame(rows, columns=columns)


def definitive(run: Run) -> pd.DataFrame:
    """Definitive phrases: case_id, text, start, end, reason, by, answer."""
    return _definitive_phrases(run, "definitive")


def let_off(run: Run) -> pd.DataFrame:
    """Definitive phrases that were taken back, with the reason and the words that do it (by)."""
    return _definitive_phrases(run, "let_off")


def _definitive_phrases(run: Run, kind: str) -> pd.DataFrame:
    rows = []
    for case, evidence in _cases(run, "summary_non_definitive"):
        for phrase in evidence.get(kind, []):
            start, end = phrase["at"]
            row = {
                "case_id": case["case_id"],
                "text": phrase["text"],
                "start": start,
                "end": end,
                "reason": phrase.get("let_off"),
                "by": phrase.get("by"),
                "answer": case["answer"],
            }
            rows.append(row)
    columns = ["case_id", "text", "start", "end", "reason", "by", "answer"]
    return pd.DataFrame(rows, columns=columns)


def judged(run: Run) -> pd.DataFrame:
    """What the judge was asked, a row a case and metric, with scores, who decided, and why.

    Null: what the rules (`rule`), or rules and judge (`score`), could not measure.
    """
    cases = by_metric(
        run.units,
        trigger="_trigger",
        rule="_rule",
        llm="_llm",
        confidence="_confidence",
        score="_if_measured",
        decided_by="_decided_by",
        evidence="_evidence",
    )
    asked = cases.dropna(subset="trigger")
    replies = [evidence.get("judge", {}) for evidence in asked["evidence"]]
    measured = ["reason" not in evidence for evidence in asked["evidence"]]
    asked = asked.assign(
        rule=asked["rule"].where(measured),
        virtual_tags=[", ".join(reply.get("virtual_tags") or []) for reply in replies],
        said=[reply.get("reason") for reply in replies],
        error=[reply.get("error") for reply in replies],
    )
    columns = ["case_id", "metric", "trigger", "rule", "llm", "confidence", "score"]
    columns += ["decided_by", "virtual_tags", "said", "error"]
    return asked[columns].reset_index(drop=True)


def rules_table(run: Run) -> pd.DataFrame:
    """The rules in force, a row a setting: setting, value."""
    snapshot = rules_snapshot(rules_in_force(run.options))
    rows = [(setting, dumps(value)) for setting, value in snapshot.items()]
    return pd.DataFrame(rows, columns=["setting", "value"])


MADE: Mapping[str, Callable[[Any], pd.DataFrame]] = {
    "verdicts": verdicts,
    "unsupported entities": unsupported,
    "tags": tags,
    "confused tags": confused,
    "parts": parts,
    "missing tags": missing,
    "definitive phrases": definitive,
    "let off": let_off,
    "not measured": not_measured,
    "people": people.corrected,
    "audit": people.audit,
    "reliability": people.reliability,
    "judged": judged,
    "rules": rules_table,
}


def _table_view(name: str, make: Callable[[Any], pd.DataFrame]) -> TableView:
    """A table with its words and formats from views.toml; "say" there is for words of ours."""
    words = WORDS["table"][name]
    formats = {}
    for column, spec in words.get("formats", {}).items():
        formats[column] = say if spec == "say" else spec
    return TableView(make, words["caption"], words.get("columns"), formats)


TABLES = {name: _table_view(name, make) for name, make in MADE.items()}


def spread(run: Run, **options: Any) -> Any:
    """How the scores of measured cases are spread, for metrics that are shares.

    options: those of `figures.distribution`.
    """
    from ...report import figures

    shares = {}
    for metric in METRICS:
        if metric in ("summary_accuracy", "summary_risk_coverage", "entity_recall"):
            shares[NAMED[metric]] = run.data[f"{metric}_if_measured"]
    return figures.distribution(
        pd.DataFrame(shares),
        **{**WORDS["figure"]["spread"], **options},
    )


FIGURES = {"spread": spread}
