"""The figures of a run and of a study: `run.plot`, `study.plot`. Each method returns a matplotlib figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from ..core.errors import UsageError
from ..core.language import say
from ..core.metric import Difference, metric_title
from . import study_tables
from .numbers import titled
from .strip import axis_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .run import Run
    from .study import Study


def _title(shown: Run | Study, name: str) -> str:
    """The title of a metric with the arrow of its better direction."""
    metric = shown.metric(name)
    return titled(metric.shown_title, metric.better)


def _forest_rows(
    rows: pd.DataFrame,
    shown: Run | Study,
    xlabel: str,
) -> pd.DataFrame:
    """The rows for `figures.forest`: a metric without limits has an axis of its own."""
    by_name = {metric.name: metric for metric in shown.metrics}
    rows = rows[~rows["metric"].isin(shown.blocked)]
    labels = [
        titled(metric_title(name, title), better)
        for name, title, better in zip(rows["metric"], rows["title"], rows["better"])
    ]
    is_single = rows["metric"].nunique() == 1
    axes = []
    for name, label in zip(rows["metric"], labels):
        has_own = not is_single and axis_of(name, by_name) == name
        axes.append(label if has_own else xlabel)
    return rows.assign(label=labels, axis=axes, verdict=rows.get("verdict", ""))


@dataclass(frozen=True)
class RunPlots:
    """The figures of a run."""

    run: Run

    def forest(self, *metrics: str) -> Figure:
        """Values with their intervals, a line a metric (default: the headline); groups of metrics can be named too.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> ax = run.plot.forest("fix_rate_refpol").axes[0]
        """
        from .figures import forest  # loads matplotlib

        run = self.run
        estimates = run.estimates_of(*(metrics or run.headline))
        xlabel = say("value with {level} interval", level=run.resampling.percent)
        return forest(_forest_rows(estimates, run, xlabel))

    def paired(self, metric: str | None = None) -> Figure:
        """Each unit's value before against after: the two sides of a difference (default: the first of the headline).

        UsageError for a metric that is no difference.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> ax = run.plot.paired("delta_f1_refpol").axes[0]
        """
        from .figures import paired

        run = self.run
        differences = [name for name in run.headline if isinstance(run.metric(name), Difference)]
        difference = run.metric(metric or next(iter(differences), run.primary))
        if not isinstance(difference, Difference):
            raise UsageError(
                f"{difference.name} is no difference of two metrics, with a before and an after"
            )
        before, after = difference.subtrahend, difference.minuend
        return paired(
            run.unit_values(before),
            run.unit_values(after),
            labels=(_title(run, before), _title(run, after)),
            better=difference.better,
        )

    def spread(self, *metrics: str) -> Figure:
        """How the values of single units are spread, a histogram a metric (default: the primary one).

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> ax = run.plot.spread("tuple_f1_s1_refpol", "tuple_f1_s2_refpol").axes[0]
        """
        from .figures import spread

        run = self.run
        names = metrics or (run.primary,)
        values = {_title(run, name): run.unit_values(name) for name in names}
        return spread(values, say("value of a unit"))


@dataclass(frozen=True)
class StudyPlots:
    """The figures of a study."""

    study: Study

    def forest(self) -> Figure:
        """The differences of the headline metrics to the baseline, with their intervals; of one condition its values."""
        from .figures import forest

        study = self.study
        what = say("mean over seeds") if study.seeded else say("value")
        rows = study_tables.estimates(study)
        if study.candidates:
            rows = study_tables.comparison(study)
            rows = rows.rename(columns={"delta": "value", "candidate": "condition"})
            what = say("candidate − baseline")
        xlabel = say("{what}, {level} interval", what=what, level=study.resampling.percent)
        return forest(_forest_rows(rows, study, xlabel), zero=bool(study.candidates))

    def paired(
        self,
        metric: str | None = None,
        candidate: str | None = None,
    ) -> Figure:
        """Each unit's value under the baseline against that under a candidate, by default the first.

        `metric`: by default the primary one.
        """
        from .figures import paired

        study = self.study
        metric = metric or study.primary
        name = study.candidate(candidate)
        changes = study.changes(metric, name)
        title = _title(study, metric)
        return paired(
            changes["baseline"],
            changes["candidate"],
            labels=(f"{title}, {study.baseline}", f"{title}, {name}"),
            better=study.metric(metric).better,
        )
