"""One run: its numbers, how sure they are, and the samples behind them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pandas import DataFrame, Series

from ..core.estimates import Check, from_public, public_frame
from ..core.files import Fields
from ..core.manifest import Manifest
from ..core.messages import UsageError, language, speak, speaking
from ..core.metric import AnyMetric, Metric, subset
from ..core.results import suite_of_manifest
from ..core.suite import Suite, decoded
from ..stats.breakdown import breakdown
from ..stats.effects import differing, unit_changes, unit_values
from ..stats.influence import label
from ..stats.intervals import estimate
from .first_screen import run_checks
from .result import Result, require_comparable
from .samples import groups_of_run, sample_view, samples
from .tables import HtmlTable, no_rows


@dataclass(frozen=True, eq=False, repr=False)
class Run(Result):
    """The numbers of one run.

    `run["fix_rate_refpol"]` is one estimate, `run.frame` holds all of them; `run.table()` shows them as the report
    does, `run.plot` draws them; `run.units` are the units and `run.samples(...)` a browser of some; `run.where(query)`
    is a run over some of the units.

    `data`: the units as the files hold them, lists as text. `estimates`: a row a metric, in the form of
    `core.estimates`. `manifest`: where the numbers came from. `checks`: what a reader must know before believing them.
    `query`: which units these are, "" for all. `folder`: where the result stands, if it was written.

    >>> import evaltools as et
    >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
    >>> round(float(run["tuple_f1_s2_refpol"]["value"]), 4)
    0.8133
    >>> "fix_rate_refpol" in run
    True
    """

    suite: Suite
    options: Any
    data: DataFrame
    estimates: DataFrame
    manifest: Manifest
    checks: tuple[Check, ...] = ()
    query: str = ""
    folder: Path | None = None

    def __post_init__(self) -> None:
        # names that users gave are no words of another suite
        speak(language(), self.suite.name)

    # --- numbers

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.manifest.run

    baseline = name

    @property
    def conditions(self) -> dict[str, dict[str, Run]]:
        """The run itself, as a study of one has it."""
        return {self.name: {"": self}}

    @property
    def frame(self) -> DataFrame:
        """All estimates: name, title, value, ci_low, ci_high, ci_method, numerator, denominator, n_units, group, better,
        blocked.

        Null is "not measured", or "no interval". `blocked`: the code of the check that says that a metric means nothing
        here, else null; it has no interval then.
        """
        return public_frame(self.estimates)

    @property
    def policy(self) -> Fields:
        """All that decided the numbers."""
        return self.manifest.policy

    def value(self, metric: str) -> float:
        """The value of one metric; nan is not measured."""
        return float(self[metric]["value"])

    def estimate(self, *metrics: AnyMetric) -> Any:
        """A metric of one's own over the units, with its interval: a Series; a frame for several.

        A difference or mean may be made of the metrics of the run. UsageError where a metric does not fit the units.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> both = et.Metric(name="both", numerator="reviewed", denominator="n", better="none", proportion=True)
        >>> int(run.estimate(both)["n_units"])
        60
        """
        if not metrics or not all(isinstance(metric, AnyMetric) for metric in metrics):
            raise UsageError("name a metric: run.estimate(et.Metric(...))")
        names = [metric.name for metric in metrics]
        frame = estimate(
            self.units,
            subset((*self.metrics, *metrics), names),
            unit=self.suite.unit,
            resampling=self.resampling,
        )
        return frame.iloc[0].rename(names[0]) if len(names) == 1 else frame.head(len(names))

    # --- units

    @cached_property
    def units(self) -> DataFrame:
        """One row a unit: what the metrics sum, and what people filter by; lists hold named tuples.

        Columns that are added to it can be used in `where`, `by`, `estimate` and `samples`.
        """
        return decoded(self.data, self.suite)

    @property
    def sample_data(self) -> DataFrame:
        """The units as the files hold them, each a sample of its own where they are clusters of samples."""
        unit = self.suite.unit
        own = self.data.get("item", self.data[unit])
        return self.data.assign(**{unit: own}).drop(columns="item", errors="ignore")

    def unit_values(self, metric: str) -> Series:
        """The metric of each sample alone, by the name of the sample; nan where it has none."""
        return unit_values(
            self.sample_data,
            self.metrics,
            self.suite.unit,
            self.metric(metric).name,
        )

    def where(
        self,
        part: Any,
        query: str = "",
    ) -> Run:
        """A run over some of the units, with its own intervals.

        `part`: a query on the units, true or false for each, or rows of `units`, whose columns may be new or changed;
        `query`: what found them.
        UsageError for a query that the units cannot answer, for rows of something else, and for none.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> run.where("n_gold_tuples > 1").n_units < run.n_units
        True
        >>> run.where(run.units["n_gold_tuples"] > 1).n_units == len(run.units.query("n_gold_tuples > 1"))
        True
        """
        units, found_by = self.rows_of_part(part, [self.suite.unit])
        query = found_by or query or f"{len(units)} of {len(self.data)} units"
        plain = units.drop(columns=list(self.suite.decode), errors="ignore").rename(columns=str)
        data = self.data.loc[units.index].assign(**plain)
        if data.equals(self.data):
            return self
        if self.query:
            query = f"({self.query}) and ({query})"
        return make_run(
            self.suite,
            self.options,
            data,
            self.manifest,
            query,
        )

    def by(
        self,
        column: Any,
        *metrics: str,
    ) -> DataFrame:
        """Metrics (by default the headline) within each part of the units, with intervals.

        `column`: a column of the units, a Series or array with a value a row of them, or a function of the units that
        gives one. Columns: part, n (its units), name, title, value, ci_low, ci_high, ..., n_units (those of them in
        which the metric is measured); the largest part first, those of an ordered category (`pd.cut`) in its order.

        >>> import evaltools as et
        >>> run = et.evaluate("summary", "example:summary/cases.jsonl")
        >>> list(run.by("intent", "summary_accuracy").columns[:4])
        ['part', 'n', 'name', 'title']
        """
        names = [self.metric(name).name for name in metrics or self.headline or [self.primary]]
        return breakdown(
            self.units,
            self.metrics,
            self.suite.unit,
            column,
            names,
            self.resampling,
            {"": self.codes[self.name]},
        )

    def diff(
        self,
        other: Run,
        metric: str | None = None,
    ) -> DataFrame:
        """The samples that carry the difference of a metric (default: the primary one) between two runs.

        Columns: those of `unit_changes` (baseline is this run, candidate the other). The largest influence first.
        UsageError for runs that cannot be compared.
        """
        require_comparable([self, other])
        frames = [(run.name, {"": run.sample_data}) for run in (self, other)]
        sides = label(frames, self.metrics, self.suite.unit)
        return differing(unit_changes(sides, self.metric(metric or self.primary).name))

    # --- what it shows

    def samples(
        self,
        which: str | None = None,
        caption: str = "",
    ) -> HtmlTable:
        """A browser of units: all groups of the suite, one of them ("broken"), or a query on `units`.

        A query is what pandas takes: "outcome_refpol == 'still'". `.frame` of what it gives holds the units. UsageError
        for a query that the units cannot answer.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> run.samples("outcome_refpol == 'break'").frame["outcome_refpol"].unique().tolist()
        ['break']
        """
        view = sample_view(self)
        if which is None:  # the heading of the section says what these are
            groups, of_group = groups_of_run(self), ""
            query = " or ".join(f"({query})" for query, _ in view.groups.values())
        else:
            groups = {}
            query, of_group = view.groups.get(which, (which, which or "All units"))
        units = self.queried(query)
        if units.empty:
            return no_rows(caption or of_group or "Samples", units)
        return samples(
            view.order(self, units),
            view,
            groups,
            caption or of_group,
            units,
            caption or which or "",
        )

    # --- pickle: a suite holds functions, which cannot be pickled

    def __getstate__(self) -> Fields:
        return {name: value for name, value in vars(self).items() if name != "suite"}

    def __setstate__(self, state: Fields) -> None:
        vars(self).update(state, suite=suite_of_manifest(state["manifest"]))


def pass_at_k(
    run: Run,
    k: int,
    metric: str | None = None,
) -> Series:
    """How often at least one of k trials of a sample is right, with its interval for new samples and new draws.

    Of n trials of a sample of which c are right it is 1 - C(n - c, k) / C(n, k), the mean over all choices of k of them;
    samples with fewer than k trials take no part, and those of a cluster are resampled together. The Series has what
    one estimate of a run has. `metric`: one whose trials are 0 or 1, by default the first of the headline. UsageError
    for other values, k below 1, and a run without k trials of any sample.

    Reference: Chen and others, "Evaluating large language models trained on code" (2021), arXiv 2107.03374.

    >>> import evaltools as et
    >>> rows = [{"id": i, "trial": t, "metric": "right", "value": int(t > i % 3)} for i in range(12) for t in range(3)]
    >>> run = et.evaluate("table", rows)
    >>> round(float(et.pass_at_k(run, 2)["value"]), 3)
    0.556
    """
    from scipy.stats import hypergeom  # slow to import

    trials, unit = run.data, run.suite.unit
    right = run.metric(metric or run.headline[0])
    values = unit_values(trials.assign(row=range(len(trials))), run.metrics, "row", right.name)
    if not values.dropna().isin([0, 1]).all():
        raise UsageError("pass@k needs a metric whose trials are 0 or 1")
    sample = [unit, *{"item"} & {*trials} - {unit}]
    units = trials.assign(right=values.array).groupby(sample, sort=False)["right"]
    units = units.agg(n="count", right="sum").reset_index()
    if k not in range(1, units["n"].max() + 1):
        raise UsageError(
            f"pass@k: expected k from 1 to the number of trials of a sample, got {k!r}"
        )
    units = units[units["n"] >= k]
    units = units.assign(passed=1 - hypergeom.pmf(0, units["n"], units["right"], k), one=1)
    passed = Metric(
        name=f"pass@{k}",
        numerator="passed",
        denominator="one",
        better=right.better,
        bounds=(0, 1),
        proportion=k == 1 and bool((units["n"] == 1).all()),
    )
    return estimate(units, [passed], unit, run.resampling).iloc[0].rename(passed.name)


def make_run(
    suite: Suite,
    options: Any,
    data: DataFrame,
    manifest: Manifest,
    query: str = "",
) -> Run:
    """The run of some units, estimated and checked.

    UsageError where the metrics do not fit the units.
    """
    try:
        estimates = from_public(
            estimate(data, suite.table(options), suite.unit, manifest.resampling)
        )
    except UsageError as e:
        where = suite.metrics_file or f"the suite {suite.name!r}"
        raise UsageError(f"{where}: the metrics do not fit the units: {e}") from e
    run = Run(
        suite,
        options,
        data,
        estimates,
        manifest,
        query=query,
    )
    with speaking("en"):  # as in metrics.json; pages find them anew in their language
        checks = tuple(run_checks(run))
    run = replace(run, checks=checks)
    blocked = Series(map(run.codes[run.name].get, estimates["metric"]), dtype=object)
    estimates.loc[blocked.notna(), ["ci_low", "ci_high", "ci_method"]] = None, None, "none"
    return replace(run, estimates=estimates.assign(blocked=blocked))
