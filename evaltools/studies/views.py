"""Tables and words of a study for its report. Each function takes a Study and returns a frame or text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from ..core.metric import Metric
from ..stats.compare import POWER, power_statement
from ..stats.coverage import coverage_note, grouped_notes, kind
from ..stats.seeds import seed_values
from .study import Study

ESTIMATED = {"metric": "name", "mean": "value", "n_samples": "n_units"}
"""Columns of aggregates -> those of estimates: the value is the mean over seeds."""

ESTIMATES = (
    "name", "title", "condition", "value", "std", "n_seeds", "ci_low", "ci_high", "ci_method", "n_units", "group",
    "better",
)  # fmt: skip


def _by_condition(frames: Mapping[str, pd.DataFrame], names: Sequence[str], key: str = "metric") -> pd.DataFrame:
    """The rows of these metrics, in this order, under each condition, which stands in a column of its own."""
    found = [f.set_index(key, drop=False).loc[list(names)].assign(condition=c) for c, f in frames.items()]
    return pd.concat(found, ignore_index=True)


def runs(study: Study) -> pd.DataFrame:
    """What was given: condition, seed, run, samples, problems of its input."""
    rows = [
        (condition, seed, r.name, r.n_units, "; ".join(f"{p.count} x {p.code}" for p in r.manifest.problems))
        for condition, found in study.conditions.items()
        for seed, r in found.items()
    ]
    return pd.DataFrame(rows, columns=["condition", "seed", "run", "samples", "problems"])


def estimates(study: Study, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Aggregates (of the headline) as estimates: name, title, condition, value (mean), std, n_seeds, ci, n_units.

    Of systems without seeds the estimates of their runs, with the condition.
    """
    names = study.headline if names is None else names
    if not study.seeded:
        alone = {c: next(iter(found.values())).frame for c, found in study.conditions.items()}
        return _by_condition(alone, names, "name")
    return _by_condition(study.aggregates, names).rename(columns=ESTIMATED)[list(ESTIMATES)]


def mean_std(study: Study, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Mean ± standard deviation over seeds, a row a metric and a column a condition; "N/A" is not measured."""
    found = estimates(study, names)

    def cell(row: pd.Series) -> str:
        if pd.isna(row["value"]):
            return "N/A"
        spread = "" if pd.isna(row.get("std")) else f" ± {row['std']:.3f}"
        return f"{row['value']:.3f}{spread}"

    found["cell"] = found.apply(cell, axis=1)
    table = found.pivot(index="name", columns="condition", values="cell")
    order = list(dict.fromkeys(found["name"]))
    return table.loc[order, list(study.conditions)].rename_axis(index="metric", columns=None).reset_index()


def per_seed(study: Study) -> pd.DataFrame:
    """The headline of every run: metric, seed, value, n_units, condition, title."""
    titles = pd.Series({m.name: m.title for m in study.metrics if m.name in study.headline}, name="title")
    frames = [
        seed_values(study.frames(c), study.metrics, study.suite.unit).assign(condition=c) for c in study.conditions
    ]
    return pd.concat(frames, ignore_index=True).join(titles, on="metric", how="inner")


def comparison(study: Study, *, headline: bool = True) -> pd.DataFrame:
    """Every candidate against the baseline; `headline` keeps the headline metrics only."""
    found = [c.table.set_index("metric", drop=False) for c in study.comparisons.values()]
    if headline:
        found = [f.loc[[n for n in study.headline if n in f.index]] for f in found]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def deltas(study: Study) -> pd.DataFrame:
    """Headline differences as estimates for a forest plot: name, title, condition, value, ci, n_units."""
    found = comparison(study)
    return found.rename(columns={"metric": "name", "delta": "value", "candidate": "condition"})


def variance_shares(study: Study) -> pd.DataFrame:
    """Where the uncertainty of each mean comes from: shares of seeds, samples and their interaction (sum 1)."""
    found = _by_condition(study.aggregates, study.headline)
    return found[["condition", "metric", "var_share_seed", "var_share_sample", "var_share_residual", "df"]]


def coverage(study: Study) -> pd.DataFrame:
    """What simulation says of the headline intervals over seeds where it is not 95%: note, metrics (joined)."""
    proportion = {m.name: isinstance(m, Metric) and m.proportion for m in study.metrics}
    return grouped_notes(
        (coverage_note(kind(proportion[e["name"]], e["value"], int(e["n_seeds"])), int(e["n_units"])), e["title"])
        for e in estimates(study).to_dict("records")
        if e["n_seeds"] > 1 and not pd.isna(e["ci_low"])
    )


def narrative(study: Study) -> str:
    """The verdicts in plain words, ready to be adapted for a paper."""
    seeds = {c: len(r) for c, r in study.conditions.items()}
    level = f"{study.resampling.confidence:.0%}"
    lines = []
    for condition, found in study.aggregates.items():
        row = found.set_index("metric").loc[study.headline[:2][-1]]
        if pd.isna(row["mean"]):
            continue
        spread = "" if pd.isna(row.get("std")) else f" (± {row['std']:.3f} over {seeds[condition]} seeds)"
        interval = "" if pd.isna(row["ci_low"]) else f", {level} interval [{row['ci_low']:.3f}, {row['ci_high']:.3f}]"
        claim = f" for {row['claim']}" if interval else ""
        lines.append(f"{condition} reaches {row['mean']:.3f}{spread} on “{row['title']}”{interval}{claim}.")
    for candidate, c in study.comparisons.items():
        by = c.paired_by if study.seeded else study.suite.unit
        said = ", ".join(_verdicts(c.table[c.table["headline"]], level))
        lines.append(
            f"Against {study.baseline}, paired by {by}, {candidate} {said}. p values are of paired sign-flip tests, "
            "Holm-adjusted over these metrics."
        )
    return "\n\n".join(lines)


def _verdicts(rows: pd.DataFrame, level: str) -> Iterator[str]:
    """What a comparison says of the headline metrics, a part of a sentence for each verdict."""
    by_verdict = dict(list(rows.groupby("verdict")))
    for verdict in ("better", "worse"):
        if verdict in by_verdict:
            listed = "; ".join(
                f"“{r['title']}” ({r['delta']:+.3f}, {level} interval [{r['ci_low']:+.3f}, {r['ci_high']:+.3f}], "
                f"{_p(r['p_adjusted'])})"
                for r in by_verdict[verdict].to_dict("records")
            )
            yield f"is {verdict} on {listed}"
    if (tied := by_verdict.get("tied")) is not None:
        reach = tied["mde"].dropna()
        seen = (
            f" (tied does not mean equal: differences below {reach.min():.3f} to {reach.max():.3f}, by metric, could "
            f"not have been relied on to show, {POWER:.0%} power)"
        )
        yield f"shows no difference on {len(tied)} of {len(rows)} headline metrics{seen if len(reach) else ''}"
    if (missing := by_verdict.get("not measured")) is not None:
        yield "is not measured on " + ", ".join(f"“{t}”" for t in missing["title"])


def _p(p: float) -> str:
    if pd.isna(p):
        return "p not adjusted"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def power_statements(study: Study) -> pd.DataFrame:
    """For every tied headline metric, the smallest difference that these data could have shown."""
    found = [r for _, r in comparison(study).iterrows() if r["verdict"] == "tied"]
    rows = [(r["candidate"], r["metric"], r["mde"], power_statement(r)) for r in found]
    return pd.DataFrame(rows, columns=["candidate", "metric", "smallest difference", "statement"])


def agreement_estimates(study: Study) -> pd.DataFrame:
    """Agreement of the seeds as estimates for a table or forest plot."""
    return study.agreement.rename(columns=ESTIMATED).assign(group="Agreement", better="none")
