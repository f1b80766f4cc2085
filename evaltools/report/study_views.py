"""The tables of a study as its pages show them; `study.table(name)` gives one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.check import LEVEL_WORDS
from ..core.language import say
from . import study_sentences, study_tables
from .markdown import plain, struck, titled
from .sentences import mde_text, p_text, verdict_text
from .tables import (
    HtmlTable,
    estimates_table,
    interval,
    no_rows,
    notice,
    stack,
    table,
    words,
)

if TYPE_CHECKING:
    from .study import Study

SHARES = {
    "var_share_seed": "seeds",
    "var_share_sample": "samples",
    "var_share_residual": "interaction",
}
"""Column of shares of the variance -> its header."""


def comparison(study: Study, *, headline: bool = True) -> HtmlTable:
    """Every candidate against the baseline: values, difference, p, what could be shown, verdict."""
    rows = study_tables.comparison(study, headline=headline)
    if rows.empty:
        return no_rows("Differences of one condition only")
    several = len(study.comparisons) > 1
    columns = {"metric": say("metric")}
    if several:
        columns["candidate"] = say("candidate")
    columns["value_baseline"] = study.baseline
    columns["value_candidate"] = say("candidate") if several else study.candidates[0]
    columns["difference"] = say("difference")
    columns["p"] = say("p adj.")
    columns["n_units"] = "n"
    columns["mde"] = say("could show")
    columns["verdict"] = say("verdict")
    blocked = rows["metric"].isin(study.blocked)
    records = rows.to_dict("records")
    shown = rows.assign(
        value_baseline=_struck(rows["value_baseline"], blocked),
        value_candidate=_struck(rows["value_candidate"], blocked),
        metric=[titled(row["title"], row["better"]) for row in records],
        difference=[_difference(row) for row in records],
        p=[_p(row) for row in records],
        mde=[mde_text(row) for row in records],
        verdict=[say(verdict_text(row)) for row in records],
    )
    shown.loc[blocked, ["difference", "p", "mde"]] = ""
    shown.loc[blocked, "verdict"] = say(LEVEL_WORDS["blocking"]).lower()
    caption = say("Differences to {baseline}, over what both sides have", baseline=study.baseline)
    return table(shown, columns=columns, caption=caption)


def all_metrics(study: Study) -> HtmlTable:
    """As `comparison`, of every metric."""
    return comparison(study, headline=False)


def scores(study: Study) -> HtmlTable:
    """The headline of every condition with its intervals."""
    return estimates_table(
        study_tables.estimates(study),
        metrics=study.metrics,
        resampling=study.resampling,
        group=False,
    )


def mean_and_std(study: Study) -> HtmlTable:
    """Mean ± standard deviation over seeds of the headline, a column a condition."""
    return _mean_std(study, list(study.headline))


def all_scores(study: Study) -> HtmlTable:
    """As `mean_and_std`, of every metric."""
    return _mean_std(study, [metric.name for metric in study.metrics if not metric.alias_of])


def _mean_std(study: Study, names: list[str]) -> HtmlTable:
    rows = study_tables.mean_std(study, names)
    blocked = rows["id"].isin(study.blocked)
    titles = {m.name: titled(m.title or m.name, m.better) for m in study.metrics}
    rows["metric"] = rows["id"].map(titles)
    for condition in study.conditions:
        rows[condition] = _struck(rows[condition], blocked)
    columns = {c: c if c in study.conditions else say(c) for c in rows}
    return table(rows, caption="Mean ± std over seeds", columns=columns)


def ranks(study: Study) -> HtmlTable:
    """The ranks of the conditions on the primary metric, in words and as a table."""
    text = " ".join(study_sentences.ranking(study))
    return stack([words(text), table(study.rank())])


def notes(study: Study) -> HtmlTable:
    """What came out, in words, and what must be known of it; of a single run its page has said all."""
    pieces = []
    if study.seeded or study.comparisons:
        pieces.append(words(study_sentences.narrative(study)))
    pieces += [notice(say(note)) for note in study.notes]
    return stack(pieces)


def agreement(study: Study) -> HtmlTable:
    """How far the seeds of each condition agree on the same samples."""
    return estimates_table(study_tables.agreement_estimates(study), group=False)


def runs(study: Study) -> HtmlTable:
    """What was given."""
    rows = study_tables.runs(study)
    return table(rows, caption="Runs") if len(rows) else no_rows("Runs")


def variance(study: Study) -> HtmlTable:
    """Where the uncertainty of each mean comes from."""
    rows = study_tables.variance_shares(study)
    if rows.empty:
        return no_rows("Shares of the variance")
    heads = {"title": "metric", "condition": "condition", **SHARES, "df": "df"}
    formats: dict[str, Any] = {"title": say, **dict.fromkeys(SHARES, ".2f"), "df": ".1f"}
    columns = {column: say(head) for column, head in heads.items()}
    return table(rows, caption="Shares of the variance", columns=columns, formats=formats)


TABLES: Mapping[str, Callable[[Any], HtmlTable]] = {
    "comparison": comparison,
    "all metrics": all_metrics,
    "scores": scores,
    "mean and std": mean_and_std,
    "all scores": all_scores,
    "ranks": ranks,
    "notes": notes,
    "agreement": agreement,
    "runs": runs,
    "variance": variance,
}
"""What `study.table` takes -> the function that makes it."""


def _struck(column: pd.Series, blocked: pd.Series) -> pd.Series:
    """The column, its blocked cells struck."""
    if not blocked.any():
        return column
    cells = []
    for value, is_blocked in zip(column, blocked):
        cells.append(struck(plain(value)) if is_blocked else value)
    return pd.Series(cells, column.index, dtype=object)


def _p(row: Mapping[Any, Any]) -> str:
    """p, adjusted where the metric is one of a family, else marked as raw."""
    is_raw = pd.isna(row["p_adjusted"])
    p = row["p_value"] if is_raw else row["p_adjusted"]
    if pd.isna(p):
        return ""
    text = p_text(p).removeprefix("= ")
    return f"{text} {say('raw')}" if is_raw else text


def _difference(row: Mapping[Any, Any]) -> str:
    if pd.isna(row["delta"]):
        return "N/A"
    return f"{row['delta']:+.3f} {interval(row, signed=True)}".rstrip()
