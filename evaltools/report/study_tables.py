"""Tables and words of a study for its report. Each function takes a Study and returns a frame or text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from ..core.language import say
from ..stats.compare import verdict_sentence
from ..stats.intervals import MIN_UNITS
from ..stats.power import ALONE, LIKELY, cheapest, settle, unreached
from ..stats.seeds import seed_values

if TYPE_CHECKING:
    from .study import Study


def _by_condition(frames: Mapping[str, pd.DataFrame], names: Sequence[str]) -> pd.DataFrame:
    """The rows of these metrics, in this order, under each condition, which stands in a column of its own."""
    parts = []
    for condition, frame in frames.items():
        rows = frame.set_index("metric", drop=False).loc[list(names)]
        parts.append(rows.assign(condition=condition))
    return pd.concat(parts, ignore_index=True)


def runs(study: Study) -> pd.DataFrame:
    """What was given: condition, seed, run, samples, problems of its input."""
    rows = []
    for condition, of_seed in study.conditions.items():
        for seed, run in of_seed.items():
            problems = [f"{problem.count} x {problem.code}" for problem in run.manifest.problems]
            rows.append((condition, seed, run.name, run.n_units, "; ".join(problems)))
    return pd.DataFrame(rows, columns=["condition", "seed", "run", "samples", "problems"])


def estimates(study: Study, names: Sequence[str] | None = None) -> pd.DataFrame:
    """The conditions' estimates of these metrics (default: the headline), in the form of `core.estimates`.

    A value is the mean over seeds; of systems without seeds it is that of their one run.
    """
    names = study.headline if names is None else names
    if study.seeded:
        return _by_condition(study.aggregates, names)
    alone = {}
    for condition, of_seed in study.conditions.items():
        run = next(iter(of_seed.values()))
        alone[condition] = run.estimates
    return _by_condition(alone, names)


def mean_std(study: Study, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Mean ± standard deviation over seeds: metric (its title), a column a condition, id; "N/A" is not measured.

    Counts are whole; their mean has a decimal where it is not.
    """
    rows = estimates(study, names)
    counts = {metric.name for metric in study.metrics if not getattr(metric, "denominator", True)}

    def cell(row: pd.Series) -> str:
        numbers = [x for x in (row["value"], row["std"]) if not pd.isna(x)]
        digits = 3
        if row["metric"] in counts:
            digits = 1 if any(x != round(x) for x in numbers) else 0
        return " ± ".join(f"{x:,.{digits}f}" for x in numbers) or "N/A"

    rows["cell"] = rows.apply(cell, axis=1)
    cells = rows.pivot(index="metric", columns="condition", values="cell")
    order = list(dict.fromkeys(rows["metric"]))
    cells = cells.loc[order, list(study.conditions)].rename_axis(columns=None)
    titles = dict(zip(rows["metric"], rows["title"]))
    cells.insert(0, "metric", [titles[name] for name in order])
    return cells.assign(id=order).reset_index(drop=True)


def per_seed(study: Study) -> pd.DataFrame:
    """The headline of every run: metric, seed, value, n_units, condition, title."""
    titles = {m.name: m.title for m in study.metrics if m.name in study.headline}
    frames = []
    for condition in study.conditions:
        values = seed_values(study.frames(condition), study.metrics, study.suite.unit)
        frames.append(values.assign(condition=condition))
    values = pd.concat(frames, ignore_index=True)
    values = values[values["metric"].isin(list(titles))].reset_index(drop=True)
    return values.assign(title=values["metric"].map(titles))


def comparison(study: Study, *, headline: bool = True) -> pd.DataFrame:
    """Every candidate against the baseline; `headline` keeps the headline metrics only."""
    tables = []
    for compared in study.comparisons.values():
        rows = compared.table.set_index("metric", drop=False)
        if headline:
            rows = rows.loc[[name for name in study.headline if name in rows.index]]
        tables.append(rows)
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def deltas(study: Study) -> pd.DataFrame:
    """Headline differences as estimates for a forest plot: metric, title, condition, value, ci, n_units."""
    rows = comparison(study)
    return rows.rename(columns={"delta": "value", "candidate": "condition"})


def variance_shares(study: Study) -> pd.DataFrame:
    """Where the uncertainty of each mean comes from: shares of seeds, samples and their interaction (sum 1)."""
    rows = _by_condition(study.aggregates, study.headline)
    shares = ["var_share_seed", "var_share_sample", "var_share_residual"]
    return rows[["condition", "title", "metric", *shares, "df"]]


def verdicts(study: Study) -> list[str]:
    """What came out: for every candidate the verdict on the metric that leads, a sentence.

    Of sides that are identical that alone; none for a lead without a direction, which has no verdict.
    """
    return [s for candidate in study.candidates for s in _verdict(study, candidate)]


def _verdict(study: Study, candidate: str) -> Iterator[str]:
    found = study.comparisons[candidate]
    if found.identical:
        yield say(
            "{b} and {a} are identical: there is nothing to compare.", a=study.baseline, b=candidate
        )
        return
    for row in found.table[found.table["metric"] == study.primary].to_dict("records"):
        yield verdict_sentence(row, study.resampling.confidence)


def settling(study: Study) -> list[str]:
    """What would settle the primary metric of every candidate that is not shown to differ, a sentence each."""
    rows = comparison(study, headline=False)
    rows = rows[rows["metric"] == study.primary] if len(rows) else rows
    said = [
        (row["candidate"], settle(row, study.resampling.confidence))
        for row in rows.to_dict("records")
    ]
    several = len(study.candidates) > 1
    return [f"{candidate}: {text}" if several else text for candidate, text in said if text]


def how(study: Study) -> str:
    """By which rules the verdicts of a study were reached, a sentence; "" where nothing differs or is compared."""
    found = comparison(study)
    if all(c.identical for c in study.comparisons.values()):
        return ""
    by = say(next(iter(study.comparisons.values())).paired_by) if study.seeded else study.suite.unit
    tests = family(found)
    claims = sorted(set(found.loc[found["ci_low"].notna(), "claim"]))
    level, claim = f"{study.resampling.confidence:.0%}", say(" or ").join(map(say, claims))
    spoken = (
        say(" {level} intervals speak for {claim}.", level=level, claim=claim) if claims else ""
    )
    tested = say("; p of sign-flip tests: {tests}", tests=tests) if tests else ""
    said = say(
        "Paired by {by}, over what both sides have{tested}.{spoken}",
        by=by,
        tested=tested,
        spoken=spoken,
    )
    return said + margins(found, study.resampling.confidence)


def family(found: pd.DataFrame) -> str:
    """How the p of the rows of a comparison stand to each other, part of a sentence; "" where none counts."""
    if found.empty:
        return ""
    own = found[
        found["p_adjusted"].notna() & (found["n_units"] >= MIN_UNITS) & (found["alias_of"] == "")
    ]
    primary, others = own[own["primary"]]["title"], own[~own["primary"]].groupby("candidate").size()
    alone = say("“{title}” is tested alone", title=say(primary.iloc[0])) if len(primary) else ""
    n = int(others.max()) if len(others) else 0
    what = say("1 other headline metric") if n == 1 else say("{n} other headline metrics", n=n)
    rest = (
        say("p of {what} adjusted by Westfall and Young's step-down min-P", what=what) if n else ""
    )
    said = say(", ").join(filter(None, (alone, rest)))
    return say("{said}; all else is exploratory", said=said) if said else ""


def margins(found: pd.DataFrame, confidence: float) -> str:
    """What equivalence means in the rows of a comparison, a sentence after others; "" where no margin is declared."""
    own = (
        found[(found["alias_of"] == "") & found["margin"].notna()].drop_duplicates("metric")
        if len(found)
        else found
    )
    if own.empty:
        return ""
    each = (
        say("±{margin:g} for “{title}”", margin=r["margin"], title=say(r["title"]))
        for r in own.to_dict("records")
    )
    return say(
        " Equivalent: the {level} interval lies within the declared margin ({named}; two one-sided tests).",
        level=f"{2 * confidence - 1:.0%}",
        named=say(", ").join(each),
    )


def narrative(study: Study) -> str:
    """What came out in plain words, ready to be adapted for a paper: the verdicts, or one condition's lead metric."""
    if not study.comparisons:
        return "\n\n".join(_alone(study))
    lines = []
    for candidate, found in study.comparisons.items():
        rows = found.table[found.table["headline"] & (found.table["metric"] != study.primary)]
        others = "; ".join(() if found.identical else _others(rows))
        rest = [say("Other headline metrics: {others}.", others=others)] if others else []
        lines.append(" ".join([*_verdict(study, candidate), *rest]))
    return "\n\n".join(filter(None, [*lines, how(study)]))


def _alone(study: Study) -> Iterator[str]:
    """What the lead metric of each condition is, a sentence; none where it is not measured."""
    level = f"{study.resampling.confidence:.0%}"
    for condition, found in study.aggregates.items():
        for row in found[(found["metric"] == study.primary) & found["value"].notna()].to_dict(
            "records"
        ):
            words = {
                "std": row["std"],
                "n": int(row["n_seeds"]),
                "level": level,
                "claim": say(str(row["claim"])),
            }
            words |= {
                "low": row["ci_low"],
                "high": row["ci_high"],
                "title": say(row["title"]),
                "mean": row["value"],
            }
            spread = "" if pd.isna(row["std"]) else say(" (± {std:.3f} over {n} seeds)", **words)
            interval = say(", {level} interval [{low:.3f}, {high:.3f}] for {claim}", **words)
            words |= {
                "condition": condition,
                "spread": spread,
                "interval": "" if pd.isna(row["ci_low"]) else interval,
            }
            yield say("{condition} reaches {mean:.3f}{spread} on “{title}”{interval}.", **words)


SAID = {
    "better": "better on",
    "worse": "worse on",
    "equivalent": "equivalent within the margin on",
    "tied": "not shown to differ on",
    "too few": "too few units to judge",
    "not measured": "not measured on both sides:",
}
"""Verdict -> what is said before the metrics that have it."""


def _others(rows: pd.DataFrame) -> Iterator[str]:
    """What a comparison says of more metrics, a part of a sentence for each verdict."""
    for verdict, said in SAID.items():
        found = rows[rows["verdict"] == verdict].to_dict("records")
        shown = verdict in ("better", "worse")
        titles = (
            f"“{say(r['title'])}”" + (f" ({r['delta']:+.3f})" if shown else "") for r in found
        )
        if found:
            yield f"{say(said)} {', '.join(titles)}"


def agreement_estimates(study: Study) -> pd.DataFrame:
    """Agreement of the seeds as estimates for a table or forest plot."""
    return study.agreement.rename(columns={"n_samples": "n_units"}).assign(
        group="Agreement", better="none"
    )


RANK_NOTE = (
    "With {level:.0%} confidence every rank lies from rank_low to rank_high, all of them at once; conditions that "
    "share a letter are not shown to differ."
)


def ranking(study: Study) -> list[str]:
    """How the conditions stand to each other on the primary metric, in sentences."""
    found = study.rank()
    measured = found.dropna(subset=["group"])
    first = measured[measured["rank_low"] == 1]["condition"].tolist()
    title = next(m.title or m.name for m in study.metrics if m.name == study.primary)
    words = {"n": len(measured), "first": ", ".join(first), "title": say(title)}
    if len(first) == 1:
        lead = say("{first} is the best of {n} conditions on “{title}”.", **words)
    elif len(first) == len(measured):
        lead = say(
            "No condition is shown to be the best on “{title}”: each of {n} may be.", **words
        )
    else:
        lead = say("The best of {n} conditions on “{title}” is one of these: {first}.", **words)
    return [lead, say(RANK_NOTE, level=study.resampling.confidence)]


def plan_title(study: Study, metric: str, difference: float, power: float) -> str:
    """What a plan is for, a sentence."""
    title = next(m.title or m.name for m in study.metrics if m.name == metric)
    return say(
        "To show {candidate} better than {baseline} by {difference} on “{metric}” with {power} power, as the primary "
        "metric at level {level}:",
        candidate=study.candidates[0] if study.comparisons else say("another condition"),
        baseline=study.baseline,
        difference=f"{difference:g}",
        metric=say(title),
        power=f"{power:.0%}",
        level=f"{1 - study.resampling.confidence:.2g}",
    )


def plan_notes(study: Study, found: pd.DataFrame) -> list[str]:
    """What a reader must know of a plan, in sentences."""
    notes = [cheapest(found), *unreached(found), "" if study.comparisons else say(ALONE)]
    if found["samples"].notna().any():
        notes.append(
            say(
                "calls: seeds x samples, for one condition. samples_low to samples_high: what these runs leave open, "
                "in {share} of the cases; no samples_high: they do not rule out that no number is enough.",
                share=f"{LIKELY:.0%}",
            )
        )
    return list(filter(None, notes))
