"""The tables of a study as its pages show them; `study.table(name)` gives one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import headline, study_sentences, study_tables
from .estimate_tables import estimates_table
from .tables import HtmlTable, stack, table, words

if TYPE_CHECKING:
    from .study import Study


def comparison(study: Study) -> HtmlTable:
    """Every candidate against the baseline on the headline: values, difference, p, verdict."""
    return headline.comparison(study, study_tables.comparison(study))


def all_metrics(study: Study) -> HtmlTable:
    """As `comparison`, of every metric."""
    return headline.comparison(study, study_tables.comparison(study, headline=False))


def scores(study: Study) -> HtmlTable:
    """The headline of every condition with its intervals."""
    return estimates_table(
        study_tables.estimates(study),
        metrics=study.metrics,
        resampling=study.resampling,
        group=False,
    )


def ranks(study: Study) -> HtmlTable:
    """The ranks of the conditions on the primary metric, in words and as a table."""
    text = " ".join(study_sentences.ranking(study))
    return stack([words(text), table(study.rank())])


TABLES: Mapping[str, Callable[[Any], HtmlTable]] = {
    "comparison": comparison,
    "all metrics": all_metrics,
    "scores": scores,
    "ranks": ranks,
}
"""What `study.table` takes -> the function that makes it."""
