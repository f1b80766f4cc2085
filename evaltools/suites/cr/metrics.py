"""The metric table of Conflict Review, from metrics.toml and metrics_by_key.toml."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ...core.metric import AnyMetric, MetricTable, make_metric
from .tuples import Key

FOLDER = Path(__file__).parent


@cache
def metric_table(protocol: Key) -> MetricTable:
    """Every metric, then other names for some of them: the short ones stand for those under the protocol's key.

    >>> [metric.alias_of for metric in metric_table("refpol") if metric.name == "tuple_f1_s2"]
    ['tuple_f1_s2_refpol']
    """
    content = _read("metrics.toml")
    table = [_metric(row) for row in content["counts"]]
    by_key = _read("metrics_by_key.toml")
    for key, words in by_key["key"].items():
        for row in by_key["metric"]:
            table.append(_metric(row, key=key, **words))
    table += [_metric(row, protocol=protocol) for row in content["metric"]]
    by_name = {metric.name: metric for metric in table}
    for alias, template in content["aliases"].items():
        name = template.format(protocol=protocol)
        table.append(replace(by_name[name], name=alias, alias_of=name))
    return tuple(table)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))


def _metric(row: dict[str, Any], **words: str) -> AnyMetric:
    """The metric of a row, with these words in the {places} of its texts.

    A row without a denominator is a plain count, unless it is a difference.
    """
    filled = {}
    for field, value in row.items():
        filled[field] = value.format(**words) if isinstance(value, str) else value
    if "minuend" not in filled:
        filled.setdefault("denominator", "")
    return make_metric(filled)
