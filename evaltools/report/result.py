"""What a run and a study have in common: metrics that are asked for by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas import DataFrame, Series
from pandas.api.types import is_bool_dtype

from .. import __version__
from ..core.estimates import UNFAIR, Check, Resampling, check_lines
from ..core.files import Names, natural, nearest
from ..core.messages import UsageError
from ..core.metric import AnyMetric, MetricTable, metric_title
from ..stats.influence import Codes, Formula, formulas_of
from . import paper
from .first_screen import first_screen, metric_table, provenance, spoken_checks
from .samples import sample_view
from .study_sentences import outcomes, size
from .tables import HtmlTable, text_table
from .text import titled

if TYPE_CHECKING:
    from .figures import Plots
    from .run import Run


class Result:
    """Metrics by their names, with a value each: what `Study` is, and `Run`, a study of one condition without seeds."""

    # fields of the one are properties of the other
    name: Any
    suite: Any
    options: Any
    units: Any
    estimates: Any
    frame: Any
    checks: Any
    conditions: Any
    baseline: Any
    margin: Any
    declared: str | None = None

    def metric(self, name: str) -> AnyMetric:
        """The metric of that name. UsageError names the nearest for an unknown name.

        No name stands for the primary metric where none can be measured: UsageError.
        """
        known = self.formulas
        if name in known:
            return known[name].metric
        if name:
            raise UsageError(f"no metric {name!r} in {self.suite.name}; {nearest(name, [*known])}")
        raise UsageError(
            f"no headline metric of {self.suite.name} can be measured here; name a metric"
        )

    def title(self, name: str) -> str:
        """The title of a metric in the language in force."""
        metric = self.metric(name)
        return metric_title(metric.name, metric.title)

    def titled(self, name: str) -> str:
        """The title of a metric with the arrow of its better direction."""
        return titled(self.title(name), self.metric(name).better)

    def queried(self, query: str) -> DataFrame:
        """The units that a query finds, all for "". UsageError for a query that the units cannot answer."""
        if not query:
            return self.units
        try:
            return self.units.query(query)
        except Exception as e:  # pandas raises many kinds, and each means that the query is wrong
            raise UsageError(
                f"{query!r} is no query on the units ({type(e).__name__}: {e}); groups: "
                f"{', '.join(sample_view(self.results[0]).groups)}; columns: {', '.join(map(str, self.units))}"
            ) from e

    def rows_of_part(
        self,
        part: Any,
        own: list[str],
    ) -> tuple[DataFrame, str]:
        """The units that a query finds, or for which a Series is true, or rows of them as they are; and the query, or "".

        `own`: columns that tell whose they are. UsageError for anything else, and where there is none.
        """
        rows, units, query = part, self.units, ""
        if isinstance(part, str):
            rows, query = self.queried(part), part
        elif isinstance(part, Series) and is_bool_dtype(part) and part.index.equals(units.index):
            rows = units[part]
        is_frame = isinstance(rows, DataFrame)
        if is_frame and rows.empty:
            raise UsageError(f"{query or 'the part'!r}: no unit of {self.name} is so")
        is_own = is_frame and {*own} <= {*rows} and rows.index.is_unique
        if not is_own or not rows[own].equals(units[own].reindex(rows.index)):
            raise UsageError(f"expected rows of the units of {self.name}, with their index")
        return rows, query

    @cached_property
    def n_units(self) -> int:
        """Number of different resampling units."""
        return n_distinct(self.results, self.suite.unit)

    @cached_property
    def n_clustered(self) -> int:
        """Number of different samples (column `item`) where the resampling units are their clusters, else 0."""
        return n_distinct(self.results, "item")

    def estimates_of(self, *names: str) -> DataFrame:
        """The rows of `estimates` on these metrics; "" is none. UsageError for an unknown name."""
        return in_order(self.estimates, [self.metric(name).name for name in names if name])

    @property
    def plot(self) -> Plots:
        """The figures: forest(*metrics), paired(metric) and, of a run, spread(*metrics)."""
        from .figures import Plots  # loads matplotlib

        return Plots(self)

    @property
    def each(self) -> list[tuple[str, str, Run]]:
        """Condition, seed ("" for none) and run, of all runs."""
        return [
            (name, seed, run)
            for name, runs in self.conditions.items()
            for seed, run in runs.items()
        ]

    @property
    def results(self) -> list[Run]:
        """All runs."""
        return [run for _, _, run in self.each]

    @property
    def seeds(self) -> list[str]:
        """The seeds that tell the runs apart; none for systems of one run each."""
        return list(dict.fromkeys(seed for _, seed, _ in self.each if seed))

    @property
    def candidates(self) -> list[str]:
        """The conditions that are compared with the baseline."""
        return [condition for condition in self.conditions if condition != self.baseline]

    def rows_of(self, *names: str) -> DataFrame:
        """As shown of these metrics: every candidate against the baseline (where they have a direction), or estimates."""
        return in_order(self.frame, names) if self.candidates else self.estimates_of(*names)

    @cached_property
    def codes(self) -> Codes:
        """Condition -> metric that means nothing in one of its runs -> the code of the check that says so."""
        return {
            name: {
                metric: check.code
                for run in runs.values()
                for check in reversed(run.checks)
                for metric in check.blocks
            }
            for name, runs in self.conditions.items()
        }

    @cached_property
    def blocked(self) -> frozenset[str]:
        """The metrics that mean nothing in the baseline, or in every candidate."""
        of_candidates = [{*self.codes[name]} for name in self.candidates] or [set()]
        return frozenset(self.codes[self.baseline]).union(set.intersection(*of_candidates))

    @cached_property
    def metrics(self) -> MetricTable:
        """The metric table; a metric is a proportion only if it is one in every run."""
        tables = [{m.name: m for m in run.suite.table(run.options)} for run in self.results]
        same = ([table[name] for table in tables] for name in tables[0])
        # the smallest: the first run's metric that is no proportion, if there is one
        return [min(each, key=lambda m: getattr(m, "proportion", False)) for each in same]

    @cached_property
    def formulas(self) -> dict[str, Formula]:
        """Metric -> its formula."""
        return formulas_of(self.metrics)

    @cached_property
    def headline(self) -> Names:
        """The metrics that lead the page: the primary one, and those that no check blocks.

        The primary one is that which was declared, else the first of the suite's with a direction.
        """
        names = [
            self.metric(name).name
            for name in self.suite.headline(self.options, self.blocked)
            if name not in self.blocked
        ]
        directed = [name for name in names if self.formulas[name].is_directed]
        first = [self.declared] if self.declared else directed[:1]
        return tuple(dict.fromkeys(first + names))

    @property
    def primary(self) -> str:
        """The metric that the verdict is about, and that is tested alone; "" where none can be measured."""
        return next(iter(self.headline), "")

    @property
    def usual(self) -> Names:
        """The headline, and the metrics that would be in it if no check blocked them."""
        return tuple(
            dict.fromkeys([*self.headline, *self.suite.headline(self.options, frozenset())])
        )

    @property
    def resampling(self) -> Resampling:
        """How intervals are made."""
        return self.results[0].manifest.resampling

    def doubts(self) -> list[Check]:
        """The checks that failed and are more than notes."""
        return [check for check in spoken_checks(self) if check.level != "info"]

    def to_frame(self) -> DataFrame:
        """As `frame`."""
        return self.frame

    def to_dict(self) -> dict[str, float | None]:
        """Metric -> value; of several conditions the difference of the first candidate to the baseline. None for none.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> round(run.to_dict()["tuple_f1_s2_refpol"], 4)
        0.8133
        """
        rows = self._rows()
        values = rows["delta" if "delta" in rows else "value"]
        return values.astype(object).where(values.notna(), None).to_dict()

    @property
    def signature(self) -> str:
        """One line that says how a number was made (after sacreBLEU); of a study by its first run, with all seeds."""
        run = self.results[0]
        parts = {
            "suite": run.suite.name,
            **run.options.signature(),
            "metrics": run.policy.get("metrics"),
            "policy": run.policy["eval_policy_hash"],
            "primary": self.declared,
            "where": run.query or None,
            "n": self.n_units,
            "unit": "cluster" if self.n_clustered else run.suite.unit,
            "ci": f"{run.resampling.method}{100 * run.resampling.confidence:g}",
            "resamples": run.resampling.n_resamples,
            "seed": run.resampling.seed,
            "seeds": ",".join(sorted(self.seeds, key=natural)) or None,
            "version": __version__,
        }
        return "|".join(f"{key}:{value}" for key, value in parts.items() if value is not None)

    def table(self, *names: str) -> HtmlTable:
        """Metrics (by default the headline) as the report has them: of several conditions differences, else values.

        "all": every metric but other names of one, folded. UsageError for an unknown name.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> "Fix rate" in run.table("fix_rate_refpol").html
        True
        """
        return metric_table(self, *(names or self.usual))

    def provenance(self) -> HtmlTable:
        """Inputs with their hashes, policy, methods of intervals and signature."""
        return provenance(self)

    def to_latex(self) -> str:
        """The headline as a LaTeX table with intervals, differences (bold for better), a note, and methods in words."""
        return paper.latex(self)

    def _repr_html_(self) -> str:
        return first_screen(self)._repr_html_()

    def __repr__(self) -> str:
        """What came out, as plain text."""
        lines = [f"{self.name}: {self.suite.title}, {size(self)}", *outcomes(self)]
        lines += check_lines(spoken_checks(self))
        if self.headline and not self.candidates:
            lines.append(text_table(self.estimates_of(*self.headline)).to_string(index=False))
        return "\n".join([*lines, self.signature])

    def _rows(self) -> DataFrame:
        """The first row of `frame` on each metric, by its name."""
        frame = self.frame
        key = "metric" if "metric" in frame else "name"
        return frame.drop_duplicates(key).set_index(key, drop=False)

    def __getitem__(self, metric: str) -> Series:
        """The first row of `frame` on a metric: an estimate, or the difference of the first candidate to the baseline.

        KeyError that names the nearest for an unknown name, and one for a metric without a direction in a comparison.
        """
        rows = self._rows()
        if metric in rows.index:
            return rows.loc[metric]
        if metric in self.formulas:
            raise KeyError(
                f"{metric!r} has no direction and is not compared; its values are those of each run: run[{metric!r}]"
            )
        raise KeyError(
            f"no metric {metric!r} in {self.suite.name}; {nearest(metric, list(rows.index))}"
        )

    def __iter__(self) -> Iterator[str]:
        """The names of the metrics."""
        return iter(self._rows().index)

    def __len__(self) -> int:
        """Number of metrics."""
        return len(self._rows())


def n_distinct(
    runs: Iterable[Run],
    column: str,
) -> int:
    """Number of different values in a column of the units of some runs; 0 where none has it."""
    values = [run.data[column] for run in runs if column in run.data]
    # as they pair: 7 and "7" are one
    return int(pd.concat(values).map(str).nunique()) if values else 0


def in_order(
    rows: DataFrame,
    names: Sequence[str],
) -> DataFrame:
    """The rows on some metrics in the order of these, on each those of all conditions, or candidates.

    What a check blocks has no number there.
    """
    by_name = rows.set_index("metric", drop=False)
    found = by_name.loc[[n for n in names if n in by_name.index]].reset_index(drop=True)
    numbers = "value", "std", "value_baseline", "value_candidate", "delta"
    is_blocked = found["blocked"].fillna(UNFAIR) != UNFAIR
    found.loc[is_blocked, found.columns.intersection(numbers)] = np.nan
    return found


def require_comparable(runs: Iterable[Run]) -> None:
    """UsageError for runs of several suites, and for runs scored by different policies, confidences or judges."""
    first, *others = runs
    for run in others:
        if run.suite.name != first.suite.name:
            raise UsageError(
                f"{run.name} is a run of {run.suite.name}, {first.name} of {first.suite.name}"
            )
        mine, theirs = (
            {
                **side.policy,
                "confidence": side.resampling.confidence,
                "answered_by": sorted(side.manifest.answered_by),
            }
            for side in (first, run)
        )
        if different := [key for key in mine | theirs if mine.get(key) != theirs.get(key)]:
            raise UsageError(
                f"{run.name} and {first.name} were scored under different policies ({', '.join(different)}) and cannot "
                "be compared"
            )
