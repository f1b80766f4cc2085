"""What a report shows of summaries beside the numbers: tables, a figure and the browser of cases.

The tables are functions of a Run that return a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, permutations
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.files import dumps
from ...core.language import say
from ...report.samples import Place
from ...report.view import SampleView, TableView
from ...stats.score_intervals import wilson
from . import people
from .compiled import CompiledPhrases, CompiledRules
from .options import rules_in_force
from .passages import around, item
from .rules import METRICS, rules_snapshot
from .text import normalise
from .units import by_metric
from .verdicts import WORDS, fails, verdicts
from .wording import find_matches

if TYPE_CHECKING:
    from ...report.run import Run

Evidence = Mapping[str, Any]
Words = Callable[[Evidence, str, Sequence[str]], list[str]]
"""What a score rests on, in words, from its evidence, the summary and the contexts."""

TOP = 3
"""Wordings of a missed tag that are shown."""

NAMED: Mapping[str, str] = WORDS["browser"]["fields"]
"""The metrics, as chips and groups name them."""

CONFUSED = ("exclusion", "waiting_period")
"""Tags that share the word 면책."""


def names(flags: pd.DataFrame) -> list[str]:
    """For each row, the names of the columns that are true."""
    return [", ".join(flags.columns[row]) for row in flags.to_numpy(dtype=bool)]


def worst_first(
    units: pd.DataFrame, called: Mapping[str, str] | None = None, /, **more: Any
) -> pd.DataFrame:
    """The cases, those that fail most metrics first, then in the file's order.

    case_id, failed and not_measured (the metrics, by name or as they are `called`), answer, contexts, tags, and the
    columns `more`.
    """
    failing = fails(units)
    called = called or {}
    out = pd.DataFrame(
        {
            "case_id": units["case_id"],
            "failed": names(failing.rename(columns=called)),
            "not_measured": names(
                pd.DataFrame({called.get(m, m): ~units[f"{m}_measured"] for m in METRICS})
            ),
            "answer": units["answer"],
            "contexts": units["contexts"].map("\n".join),
            "tags": units["tags"].map(", ".join),
            **more,
        }
    )
    order = failing.sum(axis=1).sort_values(ascending=False, kind="stable").index
    return out.loc[order]


def not_measured(result: Run) -> pd.DataFrame:
    """Why cases were not measured: metric, reason, score (the source document's number), cases."""
    found = by_metric(result.units, score="", measured="_measured", evidence="_evidence")
    found = found[~found["measured"]]
    found["reason"] = [e["reason"] for e in found["evidence"]]
    return (
        found.groupby(["metric", "reason", "score"], sort=False)
        .size()
        .rename("cases")
        .reset_index()
    )


def tags(result: Run) -> pd.DataFrame:
    """By tag: cases that expect it, cases that cover it, recall with its Wilson interval, and what was not kept.

    `missed`: the words by which the contexts name the item in the cases that miss it, the commonest first.
    """
    rows = [
        (tag, kind == "covered", e.get("due", {}).get(tag, {}).get("text"))
        for e in result.units["summary_risk_coverage_evidence"]
        for kind in ("covered", "missing")
        for tag in e.get(kind, {})
    ]
    out = []
    for tag, found in pd.DataFrame(rows, columns=["tag", "covered", "missed"]).groupby("tag"):
        n, covered = len(found), int(found["covered"].sum())
        low, high = wilson(covered, n, result.resampling.confidence)
        words = found["missed"].value_counts().head(TOP)
        missed = ", ".join(f"“{text}” {count}" for text, count in words.items())
        out.append((tag, n, covered, covered / n, low, high, missed))
    return pd.DataFrame(
        out, columns=["tag", "expected", "covered", "share", "ci_low", "ci_high", "missed"]
    )


def confused(result: Run) -> pd.DataFrame:
    """Cases that expect one of two items which share a word, and name the other: expected, named, cases, of.

    A summary that says 면책기간 names a waiting period, and with the same word an exclusion.
    """
    rules, units = rules_in_force(result.options), result.units
    sets = {tag: rules.compiled.tags[tag] for tag in CONFUSED if tag in rules.tags}
    out = []
    for tag, other in permutations(sets, 2):
        expected = units[[tag in known and other not in known for known in units["tags"]]]
        named = [_spans(sets, answer or "", rules.compiled) for answer in expected["answer"]]
        only = sum(bool(spans[other]) and not spans[tag] - spans[other] for spans in named)
        out.append((tag, other, only, len(expected)))
    return pd.DataFrame(out, columns=["expected", "named", "cases", "of"])


def _spans(
    sets: Mapping[str, CompiledPhrases], answer: str, rules: CompiledRules
) -> dict[str, set[int]]:
    """The places of an answer that the words of each tag take up."""
    text = normalise(answer, rules.fold)
    found = {
        tag: find_matches(phrases, text, answer, rules).standing for tag, phrases in sets.items()
    }
    return {tag: {i for m in holds for i in range(*m["at"])} for tag, holds in found.items()}


def parts(result: Run) -> pd.DataFrame:
    """The metrics over measured cases within each product and channel that the cases name, and each intent."""
    by = [
        b
        for b in result.suite.breakdowns
        if b.column in result.data and result.data[b.column].notna().any()
    ]
    found = [result.by(b.column, *b.metrics).assign(by=say(b.title)) for b in by]
    columns = ["by", "part", "n", "title", "value", "ci_low", "ci_high"]
    return pd.concat(found)[columns] if found else pd.DataFrame(columns=columns)


def missing(result: Run) -> pd.DataFrame:
    """Tags that no phrase covers: case_id, tag, let_off, source (the sentence that names it), answer."""
    out = [
        (
            case_id,
            tag,
            "; ".join(m["text"] for m in found),
            _source(e.get("due", {}).get(tag), contexts),
            answer,
        )
        for case_id, e, contexts, answer in zip(*(result.units[c] for c in MISSING))
        for tag, found in e.get("missing", {}).items()
    ]
    return pd.DataFrame(out, columns=["case_id", "tag", "let_off", "source", "answer"])


MISSING = ("case_id", "summary_risk_coverage_evidence", "contexts", "answer")


def _source(place: Evidence | None, contexts: Sequence[str]) -> str:
    """The sentence around a place of the contexts; "" without one."""
    return around(contexts[place["context"]], place["context_at"]) if place else ""


def _listed(metric: str, kind: str, columns: Sequence[str], result: Run) -> pd.DataFrame:
    """What a metric's evidence lists as `kind`, over all cases: case_id, `columns`, answer."""
    rows = [
        {
            **m,
            "case_id": case_id,
            "start": m["at"][0],
            "end": m["at"][1],
            "reason": m.get("let_off"),
            "by": m.get("by"),
            "answer": answer,
        }
        for case_id, e, answer in zip(
            *(result.units[c] for c in ("case_id", f"{metric}_evidence", "answer"))
        )
        for m in e.get(kind, [])
    ]
    return pd.DataFrame(rows, columns=["case_id", *columns, "answer"])


def judged(result: Run) -> pd.DataFrame:
    """What the judge was asked: case_id, metric, trigger, scores, who decided, what it said, and why not.

    Null: what the rules (`rule`), or rules and judge (`score`), could not measure.
    """
    suffixes = {
        c: f"_{c}" for c in ("trigger", "rule", "llm", "confidence", "decided_by", "evidence")
    }
    asked = by_metric(result.units, **suffixes, score="_if_measured").dropna(subset="trigger")
    asked["rule"] = asked["rule"].where([("reason" not in e) for e in asked["evidence"]])
    replies = [e.get("judge", {}) for e in asked["evidence"]]
    asked["virtual_tags"] = [", ".join(r.get("virtual_tags") or []) for r in replies]
    asked = asked.assign(
        said=[r.get("reason") for r in replies], error=[r.get("error") for r in replies]
    )
    return asked[["case_id", "metric", *JUDGED]].reset_index(drop=True)


JUDGED = (
    "trigger", "rule", "llm", "confidence", "score", "decided_by", "virtual_tags", "said", "error",
)  # fmt: skip


def rules_table(result: Run) -> pd.DataFrame:
    """The rules in force, a row a setting: setting, value."""
    snapshot = rules_snapshot(rules_in_force(result.options))
    return pd.DataFrame([(k, dumps(v)) for k, v in snapshot.items()], columns=["setting", "value"])


PHRASE = ("text", "start", "end", "reason", "by")

MADE: Mapping[str, Callable[[Any], pd.DataFrame]] = {
    "verdicts": verdicts,
    "unsupported entities": partial(
        _listed, "summary_accuracy", "unsupported", ("kind", "text", "value", "start", "end")
    ),
    "tags": tags,
    "confused tags": confused,
    "parts": parts,
    "missing tags": missing,
    "definitive phrases": partial(_listed, "summary_non_definitive", "definitive", PHRASE),
    "let off": partial(_listed, "summary_non_definitive", "let_off", PHRASE),
    "not measured": not_measured,
    "people": people.corrected,
    "audit": people.audit,
    "reliability": people.reliability,
    "judged": judged,
    "rules": rules_table,
}


def _table(make: Callable[[Any], pd.DataFrame], caption: str, **how: Any) -> TableView:
    formats = {c: say if form == "say" else form for c, form in how.get("formats", {}).items()}
    return TableView(make, caption, how.get("columns"), formats)


TABLES = {name: _table(make, **WORDS["table"][name]) for name, make in MADE.items()}


def spread(result: Run, **how: Any) -> Any:
    """How the scores of measured cases are spread, for metrics that are shares; options as of `distribution`."""
    from ...report import figures

    shares = ("summary_accuracy", "summary_risk_coverage", "entity_recall")
    scores = pd.DataFrame({NAMED[m]: result.data[f"{m}_if_measured"] for m in shares})
    return figures.distribution(scores, **{**WORDS["figure"]["spread"], **how})


FIGURES = {"spread": spread}


def groups(result: Run) -> dict[str, tuple[str, str]]:
    """The cases that fail any threshold, those that fail none, and those that fail each metric."""
    found = fails(result.units)
    queries = {m: f"{m}_measured and not {m}_passed" for m in found.columns}
    any_of = " or ".join(f"({query})" for query in queries.values())
    return {
        "failing": (any_of, "Failing: cases that fail a threshold"),
        "passing": (f"not ({any_of})", "Passing: cases that fail none"),
        **{
            m: (query, f"Cases that fail {NAMED[m]}")
            for m, query in queries.items()
            if found[m].any()
        },
    }


def cards(result: Run, units: pd.DataFrame) -> pd.DataFrame:
    """Cases as `worst_first` has them, with what they fail as a chip (`failing`), and a column in words a metric."""
    called = {m: say(name) for m, name in NAMED.items()}
    out = worst_first(units, called, **{m: said(units, m) for m in METRICS})
    kinds = ("summary_accuracy", "summary_risk_coverage", "summary_non_definitive")
    texts = zip(*(units[c] for c in ("answer", "contexts", *(f"{m}_evidence" for m in kinds))))
    places = pd.Series([_places(*case) for case in texts], units.index, dtype=object)
    return out.assign(
        failing=[say("fails {what}", what=f) if f else "" for f in out["failed"]], places=places
    )


def _places(
    answer: str | None,
    contexts: Sequence[str],
    accuracy: Evidence,
    covered: Evidence,
    definitive: Evidence,
) -> list[Place]:
    """Where the two texts of a card say what the scores rest on: figures with their passage, and what is wrong."""
    begins = [0, *accumulate(len(c) + 1 for c in contexts)]
    out: list[Place] = []
    stated = [("matched", e) for e in accuracy.get("supported", [])]
    stated += [("spurious", e) for e in accuracy.get("unsupported", [])]
    for n, (kind, e) in enumerate(sorted(stated, key=lambda found: found[1]["at"]), 1):
        texts = [("answer", answer or "", 0, e["at"])]
        if "context" in e:
            texts.append(
                ("contexts", contexts[e["context"]], begins[e["context"]], e["context_at"])
            )
        told = " ⇄ ".join(f"{text[slice(*at)]} · {item(text, at)}" for _, text, _, at in texts)
        out += [
            (column, begin + at[0], begin + at[1], kind, n, told) for column, _, begin, at in texts
        ]
    rest = [
        ("answer", 0, m["at"], "spurious", say("Definitive phrases"))
        for m in definitive.get("definitive", [])
    ]
    due = covered.get("due", {}).items()
    rest += [
        ("contexts", begins[d["context"]], d["context_at"], "missing", f"{say('missing')}: {t}")
        for t, d in due
    ]
    numbered = enumerate(rest, len(stated) + 1)
    return out + [
        (column, begin + at[0], begin + at[1], kind, n, tip)
        for n, (column, begin, at, kind, tip) in numbered
    ]


def said(units: pd.DataFrame, metric: str) -> list[str]:
    """The score of each case with what it rests on; one that was not measured leads with that."""
    cases = zip(units[metric], units[f"{metric}_measured"], whys(units, metric))
    return [
        "; ".join(filter(None, (measured and f"{score:.2f}", why)))
        for score, measured, why in cases
    ]


def whys(units: pd.DataFrame, metric: str) -> list[str]:
    """What the score of each case rests on, in words; of one that was not measured, what stands for it, and why."""
    columns = (metric, f"{metric}_measured", f"{metric}_evidence", "answer", "contexts")
    return ["; ".join(_why(metric, *case)) for case in zip(*(units[c] for c in columns))]


def unmeasured(score: float, reason: str) -> str:
    """The number that stands for what was not measured, as every page and file words it."""
    return say("not measured (counts as {score:.2f}): {reason}", score=score, reason=say(reason))


def _why(
    metric: str,
    score: float,
    measured: bool,
    evidence: Evidence,
    answer: str | None,
    contexts: Sequence[str],
) -> list[str]:
    if "reason" not in evidence:
        words = _WORDING[metric](evidence, answer or "", contexts)
    else:
        words = [say(evidence["reason"]) if measured else unmeasured(score, evidence["reason"])]
    unread = ", ".join(f"“{figure}”" for figure in evidence.get("unread", []))
    return (
        [*words, say("not read, compared with nothing: {figures}", figures=unread)]
        if unread
        else words
    )


def _texts(items: Sequence[Evidence]) -> str:
    places = ({"text": i["text"], "at": (i["at"] or i["context_at"])[0]} for i in items)
    return ", ".join(say("“{text}” at {at}", **place) for place in places)


def _entities(*kinds: str) -> Words:
    """The entities of each kind, each in what it is said of, with the passage that holds the same value."""

    def words(e: Evidence, answer: str, contexts: Sequence[str]) -> list[str]:
        linked = {
            kind: ", ".join(_linked(item, answer, contexts) for item in e.get(kind, []))
            for kind in kinds
        }
        return [f"{say(kind)}: {said}" for kind, said in linked.items() if said]

    return words


def _linked(item: Evidence, answer: str, contexts: Sequence[str]) -> str:
    stated = (
        say("“{text}” in “{said}”", text=item["text"], said=around(answer, item["at"]))
        if item["at"]
        else ""
    )
    source = _source(item, contexts) if "context" in item else ""
    if not source:
        return stated
    named = say("“{text}” in “{said}”", text=item["text"], said=source)
    return say("{stated}, from “{source}”", stated=stated, source=source) if stated else named


def _covered(e: Evidence, answer: str, contexts: Sequence[str]) -> list[str]:
    missing = []
    for tag, found in e["missing"].items():
        said = say("{tag} (taken back: {texts})", tag=tag, texts=_texts(found)) if found else tag
        source = _source(e.get("due", {}).get(tag), contexts)
        missing.append(say("{tag}, from “{source}”", tag=said, source=source) if source else said)
    covered = [
        say("{tag} by {texts}", tag=tag, texts=_texts(found)) for tag, found in e["covered"].items()
    ]
    both = ((say("missing"), missing), (say("covered"), covered))
    return [f"{word}: {'; '.join(found)}" for word, found in both if found]


def _wording(e: Evidence, answer: str, contexts: Sequence[str]) -> list[str]:
    let_off = [
        say(
            "“{text}” let off: {why} (“{by}”)",
            text=m["text"],
            why=say(m.get("let_off") or ""),
            by=m.get("by"),
        )
        for m in e.get("let_off", [])
    ]
    found = e.get("definitive") or e.get("phrases") or []
    return [*([say("found: {texts}", texts=_texts(found))] if found else []), *let_off]


_WORDING: Mapping[str, Words] = {
    "summary_accuracy": _entities("unsupported", "supported"),
    "summary_risk_coverage": _covered,
    "summary_non_definitive": _wording,
    "summary_needs_followup": _wording,
    "entity_recall": _entities("lost", "kept"),
}


VIEW = SampleView(groups, cards, {"gold": None, **WORDS["browser"]}, compared=("answer", "failing"))


def sample_views(result: Run) -> tuple[SampleView, ...]:
    """Cases are not marked; the legend says what comparing values cannot see, where it has found any supported."""
    found = any(e.get("supported") for e in result.units["summary_accuracy_evidence"])
    return (replace(VIEW, legend=WORDS["legend"] if found else ""),)
