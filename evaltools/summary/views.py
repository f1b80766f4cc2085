"""What a report shows of summaries beside the numbers: tables, a figure and the browser of cases.

The tables are functions of a Result that return a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from ..core.files import dumps
from ..core.results import Result
from ..core.words import say
from ..report.view import SampleView, TableView
from .options import rules_in_force
from .rules import METRICS, rules_snapshot
from .verdicts import COLUMNS, fails, verdicts

Evidence = Mapping[str, Any]


def names(flags: pd.DataFrame) -> list[str]:
    """For each row, the names of the columns that are true."""
    return [", ".join(flags.columns[row]) for row in flags.to_numpy(dtype=bool)]


def worst_first(units: pd.DataFrame, called: Mapping[str, str] | None = None, /, **more: Any) -> pd.DataFrame:
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
            "not_measured": names(pd.DataFrame({called.get(m, m): ~units[f"{m}_measured"] for m in METRICS})),
            "answer": units["answer"],
            "contexts": units["contexts"].map("\n".join),
            "tags": units["tags"].map(", ".join),
            **more,
        }
    )
    order = failing.sum(axis=1).sort_values(ascending=False, kind="stable").index
    return out.loc[order]


def not_measured(result: Result) -> pd.DataFrame:
    """Why cases were not measured: metric, reason, score (the source document's number), cases."""
    rows = [
        (m, e["reason"], s)
        for m in METRICS
        for measured, e, s in zip(*(result.units[c] for c in (f"{m}_measured", f"{m}_evidence", m)))
        if not measured
    ]
    frame = pd.DataFrame(rows, columns=["metric", "reason", "score"])
    return frame.groupby(["metric", "reason", "score"], sort=False).size().rename("cases").reset_index()


def tags(result: Result) -> pd.DataFrame:
    """By tag: cases that expect it, cases that cover it, share covered."""
    found = [
        (tag, kind == "covered")
        for e in result.units["summary_risk_coverage_evidence"]
        for kind in ("covered", "missing")
        for tag in e.get(kind, {})
    ]
    frame = pd.DataFrame(found, columns=["tag", "covered"]).astype({"covered": int})
    frame = frame.groupby("tag")["covered"].agg(expected="size", covered="sum").reset_index()
    return frame.assign(share=frame["covered"] / frame["expected"])


def _phrases(kind: str, evidence: Evidence) -> list[tuple[Any, ...]]:
    return [(m["text"], *m["at"], m.get("let_off"), m.get("by")) for m in evidence.get(kind, [])]


def _unsupported(evidence: Evidence) -> list[tuple[Any, ...]]:
    return [(u["kind"], u["text"], u["value"], *u["at"]) for u in evidence.get("unsupported", [])]


def _missing(evidence: Evidence) -> list[tuple[Any, ...]]:
    return [(tag, "; ".join(m["text"] for m in found)) for tag, found in evidence.get("missing", {}).items()]


def _listed(
    metric: str, columns: Sequence[str], rows: Callable[[Evidence], list[tuple[Any, ...]]], result: Result
) -> pd.DataFrame:
    """What a metric's evidence lists, over all cases: case_id, `columns`, answer."""
    cases = zip(*(result.units[c] for c in ("case_id", f"{metric}_evidence", "answer")))
    out = [(case_id, *row, answer) for case_id, evidence, answer in cases for row in rows(evidence)]
    return pd.DataFrame(out, columns=["case_id", *columns, "answer"])


def judged(result: Result) -> pd.DataFrame:
    """What the judge was asked: case_id, metric, trigger, scores, who decided, what it said, and why not."""
    parts = []
    for m in METRICS:
        asked = result.units[result.units[f"{m}_trigger"].notna()].rename(columns={m: f"{m}_score"})
        said = [e.get("judge", {}) for e in asked[f"{m}_evidence"]]
        copied = {c: asked[f"{m}_{c}"] for c in ("trigger", "rule", "llm", "confidence", "score", "decided_by")}
        tags = [", ".join(s.get("virtual_tags") or []) for s in said]
        words = {"said": [s.get("reason") for s in said], "error": [s.get("error") for s in said]}
        parts.append(asked[["case_id"]].assign(metric=m, **copied, virtual_tags=tags, **words))
    return pd.concat(parts, ignore_index=True)


def rules_table(result: Result) -> pd.DataFrame:
    """The rules in force, a row a setting: setting, value."""
    snapshot = rules_snapshot(rules_in_force(result.options))
    return pd.DataFrame([(k, dumps(v)) for k, v in snapshot.items()], columns=["setting", "value"])


PHRASE = ("text", "start", "end", "reason", "by")

TABLES: Mapping[str, TableView] = {
    "verdicts": TableView(
        verdicts,
        "Verdicts",
        COLUMNS,
        {"title": say, "verdict": say, "mean": ".3f", "mean_measured": ".3f", "threshold": ".2f", "failing": ".0f"},
    ),
    "unsupported entities": TableView(
        partial(_listed, "summary_accuracy", ("kind", "text", "value", "start", "end"), _unsupported),
        "Entities of summaries that no context supports",
    ),
    "tags": TableView(tags, "Expected tags", formats={"share": ".2f"}),
    "missing tags": TableView(
        partial(_listed, "summary_risk_coverage", ("tag", "let_off"), _missing), "Tags that no phrase covers"
    ),
    "definitive phrases": TableView(
        partial(_listed, "summary_non_definitive", PHRASE, partial(_phrases, "definitive")), "Definitive phrases"
    ),
    "let off": TableView(
        partial(_listed, "summary_non_definitive", PHRASE, partial(_phrases, "let_off")),
        "Definitive phrases that were taken back",
    ),
    "not measured": TableView(
        not_measured, "Why cases were not measured, and the number that stands for them", formats={"score": ".1f"}
    ),
    "judged": TableView(judged, "Cases that the judge was asked about"),
    "rules": TableView(rules_table, "Rules"),
}


def spread(result: Result, **how: Any) -> Any:
    """How the scores of measured cases are spread, for metrics that are shares; options as of `distribution`."""
    from ..report import figures

    shares = ("summary_accuracy", "summary_risk_coverage", "entity_recall")
    scores = pd.DataFrame({m: result.data[f"{m}_if_measured"] for m in shares})
    how = {"title": "Scores of the measured cases", "xlabel": "score of a case", "unit": "cases", **how}
    return figures.distribution(scores, **how)


FIGURES = {"spread": spread}


def groups(result: Result) -> dict[str, tuple[str, str]]:
    """The cases that fail any threshold, those that fail none, and those that fail each metric."""
    found = fails(result.units)
    queries = {m: f"{m}_measured and not {m}_passed" for m in found.columns}
    any_of = " or ".join(f"({query})" for query in queries.values())
    return {
        "failing": (any_of, "Failing: cases that fail a threshold"),
        "passing": (f"not ({any_of})", "Passing: cases that fail none"),
        **{m: (query, f"Cases that fail {_named(m)}") for m, query in queries.items() if found[m].any()},
    }


def cards(result: Result, units: pd.DataFrame) -> pd.DataFrame:
    """Cases as `worst_first` has them, with what they fail as a chip (`failing`), and a column in words a metric."""
    words = {
        m: [f"{s:.2f}; {why}" if why else f"{s:.2f}" for s, why in zip(units[m], whys(units, m))] for m in METRICS
    }
    out = worst_first(units, **words)
    failing = [", ".join(say(_named(m)) for m in found.split(", ")) if found else "" for found in out["failed"]]
    return out.assign(failing=[say("fails {what}", what=found) if found else "" for found in failing])


def _named(metric: str) -> str:
    return metric.removeprefix("summary_").replace("_", " ")


def whys(units: pd.DataFrame, metric: str) -> list[str]:
    """What the score of each case rests on, in words."""
    return ["; ".join(_why(metric, *case)) for case in zip(units[f"{metric}_measured"], units[f"{metric}_evidence"])]


def _why(metric: str, measured: bool, evidence: Evidence) -> list[str]:
    if "reason" not in evidence:
        return _WORDING[metric](evidence)
    reason = say(evidence["reason"])
    return [reason if measured else say("not measured: {reason}", reason=reason)]


def _texts(items: Sequence[Evidence]) -> str:
    places = ({"text": i["text"], "at": (i["at"] or i["context_at"])[0]} for i in items)
    return ", ".join(say("“{text}” at {at}", **place) for place in places)


def _entities(*kinds: str) -> Callable[[Evidence], list[str]]:
    return lambda e: [f"{say(kind)}: {_texts(e[kind])}" for kind in kinds if e.get(kind)]


def _covered(e: Evidence) -> list[str]:
    missing = [
        say("{tag} (taken back: {texts})", tag=tag, texts=_texts(found)) if found else tag
        for tag, found in e["missing"].items()
    ]
    covered = [say("{tag} by {texts}", tag=tag, texts=_texts(found)) for tag, found in e["covered"].items()]
    both = ((say("missing"), missing), (say("covered"), covered))
    return [f"{word}: {'; '.join(found)}" for word, found in both if found]


def _wording(e: Evidence) -> list[str]:
    let_off = [
        say("“{text}” let off: {why} (“{by}”)", text=m["text"], why=say(m.get("let_off") or ""), by=m.get("by"))
        for m in e.get("let_off", [])
    ]
    found = e.get("definitive") or e.get("phrases") or []
    return [*([say("found: {texts}", texts=_texts(found))] if found else []), *let_off]


_WORDING: Mapping[str, Callable[[Evidence], list[str]]] = {
    "summary_accuracy": _entities("unsupported", "supported"),
    "summary_risk_coverage": _covered,
    "summary_non_definitive": _wording,
    "summary_needs_followup": _wording,
    "entity_recall": _entities("lost", "kept"),
}

VIEW = SampleView(
    groups,
    cards,
    compared=("answer", "failing"),
    browser={
        "id": "case_id",
        "text": {"answer": "summary", "contexts": "context"},
        "gold": None,
        "chips": ("failing", "tags"),
        "fields": {m: _named(m) for m in METRICS},
    },
)


def sample_views(result: Result) -> tuple[SampleView, ...]:
    """Cases are not marked."""
    return (VIEW,)
