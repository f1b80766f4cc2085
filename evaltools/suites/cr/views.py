"""What the pages of Conflict Review show beside the metrics: tables, figures, and the samples behind the numbers."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.language import say
from ...core.metric import Metric
from ...report import figures
from ...report.markdown import titled
from ...report.view import SampleView, TableView
from ...stats.agreement import reviewer_agreement
from ...stats.breakdown import breakdown
from .agreement import flip_flops, review_votes
from .matching import Mark, marks, match_tuples
from .tuples import KEYS, POLARITIES, EvalTuple, Key, term_key
from .units import Action

if TYPE_CHECKING:
    from ...report.run import Run
    from ...report.study import Study

NOT_FOUND = "(not found)"

VIEWS = Path(__file__).with_name("views.toml")
WORDS = tomllib.loads(VIEWS.read_text(encoding="utf-8"))
MICRO = (
    Metric(
        name="f1",
        title="Micro F1",
        group="Within a part",
        numerator="2*tp",
        denominator="2*tp + fp + fn",
        better="higher",
    ),
    Metric(
        name="precision",
        title="Precision",
        group="Within a part",
        numerator="tp",
        denominator="tp + fp",
        better="higher",
    ),
    Metric(
        name="recall",
        title="Recall",
        group="Within a part",
        numerator="tp",
        denominator="tp + fn",
        better="higher",
    ),
)
"""What is measured within a part of the tuples."""

LOOK: Mapping[str, Mapping[str, Any]] = WORDS["figure"]


def completeness(result: Run) -> pd.DataFrame:
    """One row a thing that a reader must know before the numbers: what, count, detail."""
    gold = next((i.rows for i in result.manifest.inputs if i.role == "gold"), None)
    rows = [(say("samples"), len(result.data), say("rows scored"))]
    incomplete = say("the gold file names {n} samples: the run is incomplete", n=gold)
    unknown = [p.count for p in result.manifest.problems if p.code == "unknown-gold"]
    rows += [(say("missing samples"), n, incomplete) for n in unknown]
    rows += [
        (say(k["what"]), len(result.data.query(k["query"])), say(k["detail"]))
        for k in WORDS["known_before"]
    ]
    others = [p for p in result.manifest.problems if p.code != "unknown-gold"]
    rows += [(f"{say(p.severity)}: {p.code}", p.count, next(iter(p.examples), "")) for p in others]
    return pd.DataFrame([row for row in rows if row[1]], columns=["what", "count", "detail"])


def leading_key(of: Run | Study) -> Key:
    """The key that a page speaks of: the headline's, which is the protocol's unless that cannot be measured."""
    return next(key for name in of.headline for key in KEYS if name.endswith(key))


def _title(result: Run, metric: str) -> str:
    found = result.suite.metric(metric, result.options)
    return titled(found.title, found.better)


def transitions(result: Run) -> pd.DataFrame:
    """Samples by what review did to them, for each key that can be measured: key, fix, keep, still, break."""
    keys = [key for key in KEYS if f"fix_rate_{key}" not in result.blocked]
    found = {key: result.data[f"outcome_{key}"].value_counts() for key in keys}
    rows = [
        {"key": key, **{o: int(n.get(o, 0)) for o in figures.OUTCOMES}} for key, n in found.items()
    ]
    return pd.DataFrame(rows, columns=["key", *figures.OUTCOMES])


def outcomes(result: Run) -> figures.Chart:
    """How many samples review fixed, broke, kept right and left wrong, by key."""
    found = transitions(result)
    return figures.stacked(
        found.assign(key=found["key"].map(_shown)), kinds=figures.OUTCOMES, **LOOK["outcomes"]
    )


def _shown(key: str) -> str:
    return key.replace("pol", "-pol")


def _before_after(result: Run, key: Key) -> pd.DataFrame:
    """F1 of each sample with gold before and after review: before, after."""
    units = result.data[result.data["has_gold"]]
    found = pd.DataFrame({"before": units[f"f1_s1_{key}"], "after": units[f"f1_s2_{key}"]})
    return found.dropna(axis="columns", how="all")


def paired(result: Run, *, key: Key | None = None) -> figures.Chart:
    """F1 of each sample before against after review, under a key (None: the headline's)."""
    key = key or leading_key(result)
    x, y = (_title(result, f"tuple_f1_{stage}_{key}") for stage in ("s1", "s2"))
    found = _before_after(result, key).reindex(columns=["before", "after"]).dropna()
    return figures.paired(found, xlabel=x, ylabel=y, **LOOK["paired"])


def spread(result: Run, *, key: Key | None = None) -> figures.Chart:
    """How the F1 of the samples is spread before and after review, under a key (None: the headline's)."""
    key = key or leading_key(result)
    xlabel = say("F1 of a sample ({key})", key=_shown(key))
    return figures.distribution(_before_after(result, key), xlabel=xlabel, **LOOK["spread"])


def _within(result: Run, key: Key, part_of: Callable[[EvalTuple], str]) -> pd.DataFrame:
    """Counts a sample and part of its tuples: text_id, part, tp, fp, fn; matched within the part."""
    rows = []
    units = result.units[result.units["has_gold"]]
    for text_id, gold, final in zip(units["text_id"], units["gold"], units["final"]):
        for part in sorted({part_of(t) for t in (*gold, *final)} - {""}):
            match = match_tuples(
                [t for t in gold if part_of(t) == part],
                [t for t in final if part_of(t) == part],
                key,
                result.options.match_policy,
            )
            rows.append((text_id, part, match.tp, match.fp, match.fn))
    return pd.DataFrame(rows, columns=["text_id", "part", "tp", "fp", "fn"])


def polarities(result: Run, *, key: Key = "otepol") -> figures.Chart:
    """Micro F1, precision and recall after review within each polarity, under a key, with intervals."""
    parts = _within(result, key, lambda t: t.polarity)
    found = breakdown(parts, MICRO, "text_id", "part", [m.name for m in MICRO], result.resampling)
    return figures.dots(
        found, xlabel=say("value after review ({key})", key=_shown(key)), **LOOK["polarities"]
    )


def aspects(result: Run, *, most: int = 15) -> figures.Chart:
    """Micro F1 after review within each aspect_ref of the gold, most frequent first; the rest stands as one.

    Nothing is drawn where refs cannot be measured.
    """
    metric = "tuple_f1_s2_refpol_micro"
    parts = _within(result, "refpol", lambda t: t.ref)
    in_gold = parts[parts["part"].isin(parts.loc[parts["tp"] + parts["fn"] > 0, "part"])]
    found = breakdown(in_gold, MICRO, "text_id", "part", ["f1"], result.resampling, most)
    shown = found.head(0 if metric in result.blocked else len(found))
    return figures.dots(shown, xlabel=_title(result, metric), **LOOK["aspects"])


def confusion_counts(result: Run) -> pd.DataFrame:
    """Counts of gold terms: polarity in gold (rows) by polarity given to the same term after review (columns)."""
    policy = result.options.match_policy
    pairs = []
    for gold, final in zip(result.units["gold"], result.units["final"]):
        predicted: dict[str, set[str]] = {}
        for t in final:
            predicted.setdefault(term_key(t.term, policy), set()).add(t.polarity)
        terms = [(term_key(t.term, policy), t.polarity) for t in gold if t.term]
        pairs += [
            (wanted, given) for term, wanted in terms for given in predicted.get(term, {NOT_FOUND})
        ]
    polarity = pd.CategoricalDtype([*POLARITIES, "mixed", NOT_FOUND])
    found = pd.DataFrame(pairs, columns=["gold", "given"], dtype=polarity)
    return pd.crosstab(found["gold"], found["given"])


def confusion(result: Run) -> figures.Chart:
    """Which polarity the terms of the gold were given after review."""
    return figures.confusion(confusion_counts(result).rename(columns=say), **LOOK["confusion"])


def splits(result: Run) -> figures.Chart:
    """Tuple F1 by split of the data set, under the keys that can be measured."""
    b = result.suite.breakdowns[0]
    names = [name for name in b.metrics if name not in result.blocked]
    found = breakdown(
        result.data, result.metrics, result.suite.unit, b.column, names, result.resampling
    )
    return figures.dots(found, **LOOK["splits"])


def sample_groups(result: Run, *, key: Key | None = None) -> Mapping[str, tuple[str, str]]:
    """Group -> the query on the units that makes it under a key (None: the headline's), and its caption."""
    key = key or leading_key(result)
    return {
        name: (query.format(key=key), caption)
        for name, (query, caption) in WORDS["samples"].items()
    }


def cards(result: Run, units: pd.DataFrame, *, key: Key | None = None) -> pd.DataFrame:
    """Samples, the worst change first: text_id, text, gold, stage1, final, change, reviewers, arbiter.

    The tuples carry their marks under a key (None: the headline's) and the policy, those of the gold against `final`.
    """
    key, policy = key or leading_key(result), result.options.match_policy
    before, after = units[f"f1_s1_{key}"], units[f"f1_s2_{key}"]
    rows = []
    for gold, stage1, final in zip(units["gold"], units["stage1"], units["final"]):
        of_gold, of_final = marks(gold, final, key, policy)
        _, of_stage1 = marks(gold, stage1, key, policy)
        sides = ((gold, of_gold), (stage1, of_stage1), (final, of_final))
        rows.append([_marked(side, found if gold else []) for side, found in sides])
    marked = pd.DataFrame(rows, columns=["gold", "stage1", "final"], index=units.index)
    out = units[["text_id", "text"]].assign(
        **marked,
        change=[_change(*of_sample) for of_sample in zip(before, after)],
        reviewers=units["reviews"].map(_in_words),
        arbiter=units["arbiter"].map(_in_words),
        gain=after - before.fillna(0),
    )
    return out.sort_values(["gain", "text_id"], kind="stable", na_position="last").drop(
        columns="gain"
    )


def _change(before: float, after: float) -> str:
    """F1 before and after review, or of predictions that no review has seen."""
    if pd.isna(after):
        return say("no gold")
    return f"F1 {after:.2f}" if pd.isna(before) else f"F1 {before:.2f} → {after:.2f}"


def _marked(tuples: Iterable[EvalTuple], found: list[Mark]) -> list[list[str]]:
    """[ref, term, polarity, mark] of each tuple; without gold there is nothing to mark."""
    return [[*t, found[i] if found else ""] for i, t in enumerate(tuples)]


def _in_words(actions: Iterable[Action]) -> str:
    """Review actions in words: "A: FLIP t0 (POLARITY_MISMATCH)"."""
    return "; ".join(
        f"{a.actor or '?'}: {' '.join([a.action_type or '?', *a.target_tuple_ids])}"
        + (f" ({a.reason_code})" if a.reason_code else "")
        for a in actions
    )


def seed_dependent(study: Study) -> pd.DataFrame:
    """Samples whose outcome under the headline's key differs between seeds: condition, text_id, text, a seed each."""
    outcome = f"outcome_{leading_key(study)}"
    found = {c: flip_flops(study.frames(c), [outcome], keep=["text"]) for c in study.conditions}
    return (
        pd.concat(found, names=["condition"])
        .drop(columns="outcome")
        .reset_index(0)
        .reset_index(drop=True)
    )


def reviewers(study: Study) -> pd.DataFrame:
    """Agreement of the reviewers inside each run: condition, seed, and the columns of `reviewer_agreement`."""
    frames = []
    for condition, runs in study.conditions.items():
        for seed, run in runs.items():
            actions = ([a._asdict() for a in actions] for actions in run.units["reviews"])
            votes, left_out = review_votes(zip(run.units["text_id"], actions))
            if not votes.empty:
                found = reviewer_agreement(votes)
                frames.append(
                    found.assign(condition=condition, seed=seed, actions_left_out=left_out)
                )
    columns = ["measure", "raters", "value", "n_subjects", "reason", "actions_left_out"]
    whole = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    return whole.reindex(columns=["condition", "seed", *columns])


TABLES = {"completeness": TableView(completeness, "What was scored")}

FIGURES: dict[str, Callable[..., figures.Chart]] = {
    draw.__name__: draw
    for draw in (outcomes, paired, spread, polarities, confusion, aspects, splits)
}


def sample_views(of: Run | Study) -> tuple[SampleView, ...]:
    """A view for each key, the headline's first."""
    keys = sorted(KEYS, key=lambda key: key != leading_key(of))
    return tuple(
        SampleView(
            partial(sample_groups, key=key),
            partial(cards, key=key),
            WORDS["browser"],
            compared=("final",),
            name=key,
            label=WORDS["key"][key],
            legend=WORDS["legend"].format(key=WORDS["key"][key]),
        )
        for key in keys
    )


STUDY_TABLES = {
    "seed-dependent samples": TableView(
        seed_dependent, "Samples whose outcome depends on the seed"
    ),
    "reviewers": TableView(reviewers, "Agreement of the reviewers in each run"),
}
