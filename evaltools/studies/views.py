"""Tables and words of a study for its report. Each function takes a Study and returns a frame or text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from ..core.metric import Metric
from ..stats.compare import POWER, power_statement, unit_changes
from ..stats.coverage import coverage_note, grouped_notes, kind
from .study import Study, seed_table


def names_or_headline(study: Study, names: Sequence[str] | None) -> list[str]:
    return list(names) if names is not None else list(study.headline)


def _aggregates(study: Study, names: Sequence[str] | None) -> Iterator[tuple[str, pd.DataFrame]]:
    """(condition, the rows of its aggregates for these metrics, in this order)."""
    for condition, found in study.aggregates.items():
        yield condition, found.set_index("metric", drop=False).loc[names_or_headline(study, names)]


def runs(study: Study) -> pd.DataFrame:
    """What was given: condition, seed, run, samples, problems of its input."""
    rows = [
        {
            "condition": condition,
            "seed": seed,
            "run": r.name,
            "samples": r.n_units,
            "problems": "; ".join(f"{p.count} x {p.code}" for p in r.manifest.problems),
        }
        for condition, found in study.conditions.items()
        for seed, r in found.items()
    ]
    return pd.DataFrame(rows)


def estimates(study: Study, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Aggregates as estimates: name, title, condition, value (mean over seeds), std, n_seeds, ci, n_units.

    Of systems without seeds the estimates of their runs, with the condition.
    """
    if not study.seeded:
        runs = [
            (c, next(iter(found.values())).frame.set_index("name", drop=False))
            for c, found in study.conditions.items()
        ]
        wanted = names_or_headline(study, names)
        return pd.concat([f.loc[wanted].assign(condition=c) for c, f in runs], ignore_index=True)
    frames = []
    for condition, rows in _aggregates(study, names):
        frames.append(
            pd.DataFrame(
                {
                    "name": rows["metric"],
                    "title": rows["title"],
                    "condition": condition,
                    "value": rows["mean"],
                    "std": rows["std"],
                    "n_seeds": rows["n_seeds"],
                    "ci_low": rows["ci_low"],
                    "ci_high": rows["ci_high"],
                    "ci_method": rows["ci_method"],
                    "n_units": rows["n_samples"],
                    "group": rows["group"],
                    "better": rows["better"],
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def mean_std(study: Study, names: Sequence[str] | None = None, decimals: int = 3) -> pd.DataFrame:
    """Mean ± standard deviation over seeds, a row a metric and a column a condition; "N/A" is not measured."""
    found = estimates(study, names)

    def cell(row: pd.Series) -> str:
        if pd.isna(row["value"]):
            return "N/A"
        spread = "" if pd.isna(row["std"]) else f" ± {row['std']:.{decimals}f}"
        return f"{row['value']:.{decimals}f}{spread}"

    found["cell"] = found.apply(cell, axis=1)
    table = found.pivot(index="name", columns="condition", values="cell")
    order = list(dict.fromkeys(found["name"]))
    return table.loc[order, list(study.conditions)].rename_axis(index="metric", columns=None).reset_index()


def per_seed(study: Study, names: Sequence[str] | None = None) -> pd.DataFrame:
    """The value of every run: condition, metric, seed, value, title."""
    wanted = names_or_headline(study, names)
    titles = {m.name: m.title for m in study.metrics}
    found = seed_table(study)
    found = found[found["metric"].isin(wanted)]
    return found.assign(title=found["metric"].map(titles))


def comparison(study: Study, *, headline: bool = True) -> pd.DataFrame:
    """Every candidate against the baseline; `headline` keeps the headline metrics only."""
    lead = names_or_headline(study, None)
    frames = []
    for c in study.comparisons.values():
        named = c.table.set_index("metric", drop=False)
        frames.append(named.loc[[n for n in lead if n in named.index]] if headline else named)
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def deltas(study: Study) -> pd.DataFrame:
    """Headline differences as estimates for a forest plot: name, title, condition, value, ci, n_units."""
    found = comparison(study)
    return found.rename(columns={"metric": "name", "delta": "value", "candidate": "condition"})


def variance_shares(study: Study, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Where the uncertainty of each mean comes from: shares of seeds, samples and their interaction (sum 1)."""
    shares = ["var_share_seed", "var_share_sample", "var_share_residual", "df"]
    frames = [rows.assign(condition=condition) for condition, rows in _aggregates(study, names)]
    return pd.concat(frames, ignore_index=True)[["condition", "metric", *shares]]


def coverage(study: Study) -> pd.DataFrame:
    """What simulation says of the headline intervals over seeds where it is not 95%: note, metrics (joined)."""
    proportion = {m.name: isinstance(m, Metric) and m.proportion for m in study.metrics}
    return grouped_notes(
        (coverage_note(kind(proportion[e["name"]], e["value"], int(e["n_seeds"])), int(e["n_units"])), e["title"])
        for e in estimates(study).to_dict("records")
        if e["n_seeds"] > 1 and not pd.isna(e["ci_low"])
    )


def changes(study: Study, candidate: str, metric: str) -> pd.DataFrame:
    """The metric of every paired sample under both conditions, averaged over paired seeds."""
    a, b = study.frames(study.baseline), study.frames(candidate)
    return unit_changes(a, b, study.metrics, study.suite.unit, metric)


def narrative(study: Study) -> str:
    """The verdicts in plain words, ready to be adapted for a paper."""
    seeds = {c: len(r) for c, r in study.conditions.items()}
    level = f"{study.resampling.confidence:.0%}"
    lines = []
    lead = names_or_headline(study, None)
    for condition, found in study.aggregates.items():
        row = found.set_index("metric").loc[lead[min(1, len(lead) - 1)]]
        if pd.isna(row["mean"]):
            continue
        spread = "" if pd.isna(row["std"]) else f" (± {row['std']:.3f} over {seeds[condition]} seeds)"
        interval = "" if pd.isna(row["ci_low"]) else f", {level} interval [{row['ci_low']:.3f}, {row['ci_high']:.3f}]"
        claim = f" for {row['claim']}" if interval else ""
        lines.append(f"{condition} reaches {row['mean']:.3f}{spread} on “{row['title']}”{interval}{claim}.")
    for candidate, c in study.comparisons.items():
        rows = c.table[c.table["headline"]]
        lines.append(_verdicts(rows, candidate, study.baseline, level, _paired_by(study, c.paired_by)))
    return "\n\n".join(lines)


def _paired_by(study: Study, paired_by: str) -> str:
    return paired_by if study.seeded else study.suite.unit


def _verdicts(rows: pd.DataFrame, candidate: str, baseline: str, level: str, paired_by: str) -> str:
    parts = [f"Against {baseline}, paired by {paired_by}, {candidate}"]
    said = []
    for verdict in ("better", "worse"):
        found = rows[rows["verdict"] == verdict]
        if len(found):
            listed = "; ".join(
                f"“{r['title']}” ({r['delta']:+.3f}, {level} interval [{r['ci_low']:+.3f}, {r['ci_high']:+.3f}], "
                f"{_p(r['p_adjusted'])})"
                for r in found.to_dict("records")
            )
            said.append(f"is {verdict} on {listed}")
    tied = rows[rows["verdict"] == "tied"]
    if len(tied):
        reach = tied["mde"].dropna()
        seen = (
            f" (tied does not mean equal: differences below {reach.min():.3f} to {reach.max():.3f}, by metric, could "
            f"not have been relied on to show, {POWER:.0%} power)"
            if len(reach)
            else ""
        )
        said.append(f"shows no difference on {len(tied)} of {len(rows)} headline metrics{seen}")
    missing = rows[rows["verdict"] == "not measured"]
    if len(missing):
        said.append("is not measured on " + ", ".join(f"“{t}”" for t in missing["title"]))
    return f"{parts[0]} {', '.join(said)}. p values are of paired sign-flip tests, Holm-adjusted over these metrics."


def _p(p: float) -> str:
    if pd.isna(p):
        return "p not adjusted"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def power_statements(study: Study) -> pd.DataFrame:
    """For every tied headline metric, the smallest difference that these data could have shown."""
    found = comparison(study)
    if found.empty:
        return pd.DataFrame(columns=["candidate", "metric", "statement"])
    tied = found[found["verdict"] == "tied"]
    return pd.DataFrame(
        {
            "candidate": tied["candidate"],
            "metric": tied["metric"],
            "smallest difference": tied["mde"],
            "statement": [power_statement(r) for _, r in tied.iterrows()],
        }
    ).reset_index(drop=True)


def agreement_estimates(study: Study) -> pd.DataFrame:
    """Agreement of the seeds as estimates for a table or forest plot."""
    return study.agreement.rename(columns={"metric": "name", "n_samples": "n_units"}).assign(
        group="Agreement", better="none"
    )
