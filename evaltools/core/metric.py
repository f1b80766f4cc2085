"""What a metric is: a ratio of sums over the units of a run, or a weighted sum of such ratios.

A metric exists if and only if it stands in the metric table of its suite: a list of Metric,
Difference and Mean. Files, reports, docs and tests are made from this table.
`stats.influence` computes its values.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from .files import Fields, Names, nearest
from .messages import UsageError, say

Better = Literal["higher", "lower", "none"]


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """The fields of every metric; `Metric` says what they are."""

    name: str
    group: str = ""
    better: Better
    title: str = ""
    description: str = ""
    source: str = ""
    alias_of: str = ""

    def __post_init__(self) -> None:
        if not self.title:
            object.__setattr__(self, "title", self.name)
        if not self.name or self.better not in get_args(Better):
            raise UsageError(
                f"metric {self.name!r}: expected a name, and better as one of {get_args(Better)}, "
                f"got {self.better!r}"
            )

    def weights(self) -> dict[str, float]:
        """The weights of the metrics that this one is a sum of, by name; {} for a ratio."""
        return {}


def metric_title(name: str, title: str) -> str:
    """What people read of a metric, in the language in force. A title that is only its name stands as it is in all.

    >>> metric_title("f1", "F1"), metric_title("value", "")
    ('F1', 'value')
    """
    return name if title in ("", name) else say(title)


@dataclass(frozen=True, kw_only=True)
class Metric(_Entry):
    """A ratio: sum(numerator) / sum(denominator) over the units.

    name: its id in files and calls. title: the field's own term, shown to people; the name without
        one.
    better: "higher", "lower", or "none" for one that only describes.
    group: the heading under which it stands. description: one plain sentence. source: the section or
        paper that defines it. alias_of: the metric that this one is another name of.
    numerator, denominator: a column of the units frame, or a sum of columns with whole factors, as
        "fix_refpol - break_refpol" or "2*tp + fp + fn". An empty denominator makes a plain count.
        A row whose denominator is 0 is left out, with its numerator.
    proportion: each unit of the denominator is one trial and the numerator counts its successes.
        Such a metric lies between 0 and 1 and can have a Wilson interval.
    empty: the value where the denominator sums to 0. None: the metric is then not measured.
    needs: a column. Where it sums to 0 the metric is not measured, a count and `empty` neither; a row where it is
        null is left out.
    bounds: the least and the greatest value, at which intervals end. (0, 1) for a proportion.
    macro: the mean of the ratios of the units, each its own ratio of sums, so that units weigh alike.

    >>> accuracy = Metric(
    ...     name="accuracy", numerator="right", denominator="n", better="higher", proportion=True
    ... )
    >>> accuracy.limits
    (0.0, 1.0)
    """

    numerator: str
    denominator: str
    proportion: bool = False
    empty: float | None = None
    needs: str = ""
    bounds: tuple[float, float] | None = None
    macro: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            low, high = map(float, self.limits)
            is_within = low <= float(high if self.empty is None else self.empty) <= high
        except (TypeError, ValueError):
            is_within = False
        if not (is_within and low < high and self.numerator):
            raise UsageError(
                f"metric {self.name!r}: expected bounds as (low, high), low below high, empty as a number within "
                f"them, and a numerator, got {self.bounds!r}, {self.empty!r} and {self.numerator!r}"
            )
        if self.bounds:
            object.__setattr__(self, "bounds", (low, high))
            object.__setattr__(self, "proportion", self.proportion and (low, high) == (0, 1))

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest value that the metric can take."""
        if self.bounds is not None:
            return self.bounds
        if self.proportion:
            return 0.0, 1.0
        return -math.inf, math.inf


@dataclass(frozen=True, kw_only=True)
class Difference(_Entry):
    """`minuend` - `subtrahend`: two metrics of the same table, over the same units.

    >>> gain = Difference(name="gain", minuend="after", subtrahend="before", better="higher")
    >>> gain.weights()
    {'after': 1.0, 'before': -1.0}
    """

    minuend: str
    subtrahend: str

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_each_once(self.name, (self.minuend, self.subtrahend))

    def weights(self) -> dict[str, float]:
        """The weights by metric: 1 for the minuend and -1 for the subtrahend."""
        return {self.minuend: 1.0, self.subtrahend: -1.0}


@dataclass(frozen=True, kw_only=True)
class Mean(_Entry):
    """The plain mean of other metrics of the same table, as macro F1 is the mean of class F1s.

    It is over the units in which all of its metrics are measured: where a unit does not belong to a
    class, give 0, not null, in the columns of that class. Give the metrics `empty=0.0` where an
    absent class counts as 0.

    >>> Mean(name="macro_f1", of=("f1_positive", "f1_negative"), better="higher").weights()
    {'f1_positive': 0.5, 'f1_negative': 0.5}
    """

    of: Names

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_each_once(self.name, self.of)

    def weights(self) -> dict[str, float]:
        """The weights by metric: the same for each."""
        return dict.fromkeys(self.of, 1 / len(self.of))


def _require_each_once(name: str, parts: Sequence[str]) -> None:
    """UsageError where a metric is made of no others, or of one of them twice."""
    if isinstance(parts, str) or not parts or len(set(parts)) < len(parts):
        raise UsageError(
            f"metric {name!r}: expected the names of other metrics, each once, got {parts!r}"
        )


AnyMetric = Metric | Difference | Mean
MetricTable = Sequence[AnyMetric]

# Numbers of this size are refused: intervals rest on fourth powers of errors, whose sums would be infinite.
LARGEST = 1e70

_TERM = re.compile(r"([+-]|^)\s*(?:(\d+)\s*\*\s*)?([^\W\d]\w*)\s*")


def linear(expression: str) -> dict[str, float]:
    """The factors of a sum of columns, by column. UsageError for another expression.

    >>> linear("2*tp + fp - fn")
    {'tp': 2.0, 'fp': 1.0, 'fn': -1.0}
    """
    text = expression.strip()
    if _TERM.sub("", text):
        raise UsageError(
            f"not a sum of columns: {expression!r}; add it to the units as a column first"
        )
    factors: dict[str, float] = {}
    for sign, factor, column in _TERM.findall(text):
        factors[column] = factors.get(column, 0.0) + float(sign + (factor or "1"))
    return factors


def subset(
    table: MetricTable,
    names: Sequence[str],
) -> tuple[AnyMetric, ...]:
    """The named metrics of a table, followed by those that they are made of.

    UsageError for a name that the table does not have.

    >>> table = [
    ...     Metric(name="before", numerator="x", denominator="n", better="higher"),
    ...     Metric(name="after", numerator="y", denominator="n", better="higher"),
    ...     Difference(name="gain", minuend="after", subtrahend="before", better="higher"),
    ... ]
    >>> [metric.name for metric in subset(table, ["gain"])]
    ['gain', 'after', 'before']
    """
    by_name = {metric.name: metric for metric in table}
    wanted = list(dict.fromkeys(names))
    for name in wanted:  # the list grows while it is read: parts may have parts
        if name not in by_name:
            raise UsageError(f"no metric {name!r}; {nearest(name, list(by_name))}")
        for part in by_name[name].weights():
            if part not in wanted:
                wanted.append(part)
    return tuple(by_name[name] for name in wanted)


def as_ratios(table: MetricTable) -> list[dict[Metric, float]]:
    """The ratios that each metric of a table is a weighted sum of, with their weights.

    UsageError for a name that is doubled or unknown.

    >>> rate = Metric(name="rate", numerator="right", denominator="n", better="higher")
    >>> twice = Mean(name="twice", of=("rate",), better="higher")
    >>> list(as_ratios([rate, twice])[1].values())
    [1.0]

    What cancels is none of them: (before + after - before) / 2.

    >>> from dataclasses import replace
    >>> before, after = (replace(rate, name=name) for name in ("before", "after"))
    >>> gain = Difference(name="gain", minuend="after", subtrahend="before", better="higher")
    >>> half = Mean(name="half", of=("before", "gain"), better="higher")
    >>> [(ratio.name, weight) for ratio, weight in as_ratios([before, after, gain, half])[3].items()]
    [('after', 0.5)]
    """
    by_name = {metric.name: metric for metric in table}
    if len(by_name) < len(table):
        names = [metric.name for metric in table]
        raise UsageError(f"doubled metric: {sorted({n for n in names if names.count(n) > 1})}")

    def ratios(metric: AnyMetric) -> dict[Metric, float]:
        if isinstance(metric, Metric):
            return {metric: 1.0}
        weights: dict[Metric, float] = {}
        for name, weight in metric.weights().items():
            for ratio, part in ratios(by_name[name]).items():
                weights[ratio] = weights.get(ratio, 0.0) + weight * part
        return weights

    try:
        # what cancels has no part in it, and no limits
        return [
            {r: w for r, w in ratios(metric).items() if w} or ratios(metric) for metric in table
        ]
    except KeyError as error:
        raise UsageError(
            f"a metric is made of {error}, which is no other metric of this table"
        ) from error
    except RecursionError:
        raise UsageError("metrics of this table are made of one another") from None


def columns_of(ratios: Iterable[Metric]) -> list[str]:
    """The columns of the units that ratios are made of.

    >>> columns_of([Metric(name="f1", numerator="2*tp", denominator="2*tp + fp", better="higher")])
    ['tp', 'fp']
    """
    return list(
        dict.fromkeys(
            name
            for ratio in ratios
            for text in (ratio.numerator, ratio.denominator, ratio.needs)
            for name in linear(text)
        )
    )


def make_metric(row: Fields, **words: str) -> AnyMetric:
    """The metric with these fields: a Difference if it has `minuend`, a Mean if it has `of`.

    `words` stand in the {places} of its texts. TypeError for a field that is unknown or missing.

    >>> make_metric({"name": "n", "numerator": "n", "denominator": "", "better": "none"}).name
    'n'
    """
    kind: Any = Metric
    if "minuend" in row:
        kind = Difference
    elif "of" in row:
        kind = Mean
    values = dict(row)
    for field, value in row.items():
        if isinstance(value, list):
            values[field] = tuple(value)
        elif words and isinstance(value, str):
            values[field] = value.format(**words)
    return kind(**values)


def set_f1(a: Iterable[Any], b: Iterable[Any]) -> float:
    """F1 of one set against another, in [0, 1]: 1 where both are empty, 0 where one is.

    >>> set_f1({"a", "b"}, {"b"})
    0.6666666666666666
    """
    a, b = set(a), set(b)
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0
