"""The Conflict Review suite: its metrics, its headline, and where its parts stand."""

from dataclasses import replace
from functools import cache, partial

from msgspec import json

from ...core.files import Names
from ...core.metric import MetricTable, make_metric
from ...core.suite import Suite
from .cards import artifacts, checks, finding, sample_view
from .read import FILES, MAIN, RUNNER, TABLES, CrOptions, locate
from .sample import Action
from .score import score
from .tuples import EvalTuple


@cache
def metrics(options: CrOptions) -> MetricTable:
    """Every metric, then other names for some of them: the short ones stand for those under the protocol's key.

    >>> [metric.alias_of for metric in metrics(CrOptions()) if metric.name == "tuple_f1_s2"]
    ['tuple_f1_s2_refpol']
    """
    table = [make_metric(row) for row in TABLES["counts"]]
    for key, words in TABLES["key"].items():
        table += [make_metric(row, key=key, **words) for row in TABLES["by_key"]]
    table += [make_metric(row, protocol=options.key) for row in TABLES["metric"]]
    by_name = {metric.name: metric for metric in table}
    for alias, template in TABLES["aliases"].items():
        name = template.format(protocol=options.key)
        table.append(replace(by_name[name], name=alias, alias_of=name))
    return tuple(table)


def headline(
    options: CrOptions,
    blocked: frozenset[str],
) -> Names:
    """The names that lead every page; those by term where the protocol's key cannot be measured."""
    key = options.key
    if f"tuple_f1_s2_{key}" in blocked:
        key = "otepol"
    other = "otepol" if key == "refpol" else "refpol"
    return tuple(name.format(key=key, other=other) for name in TABLES["headline"])


SUITE = Suite(
    name="cr",
    title="Conflict Review",
    unit="text_id",
    options=CrOptions,
    locate=locate,
    recognised=tuple(FILES[role] for role in MAIN),
    score=score,
    metrics=metrics,
    headline=headline,
    checks=checks,
    artifacts=artifacts,
    notebook="cr_run.ipynb",
    study_notebook="cr_seeds.ipynb",
    sample_view=sample_view,
    finding=finding,
    runner=RUNNER,
    decode={
        **dict.fromkeys(("gold", "stage1", "final"), partial(json.decode, type=list[EvalTuple])),
        **dict.fromkeys(("reviews", "arbiter"), partial(json.decode, type=list[Action])),
    },
)
