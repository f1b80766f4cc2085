"""The figures of a run and of a study: `run.plot`, `study.plot`. Each method returns a matplotlib figure.

This module loads matplotlib.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from ..core.errors import UsageError
from ..core.language import say
from ..core.metric import Difference
from . import figures, study_tables
from .markdown import titled
from .run import Run
from .strip import axis_of
from .study import Study


def _with_axes(
    rows: pd.DataFrame,
    shown: Run | Study,
    xlabel: str,
) -> pd.DataFrame:
    """The rows for `forest`: a metric without limits has an axis of its own, as characters and rates never share one."""
    if rows["metric"].nunique() == 1:
        return rows.assign(axis=xlabel)
    by_name = {metric.name: metric for metric in shown.metrics}
    own = {name: _title(shown, name) for name in by_name if axis_of(name, by_name) == name}
    return rows.assign(axis=[own.get(name, xlabel) for name in rows["metric"]])


def _title(
    shown: Run | Study,
    name: str,
) -> str:
    """The title of a metric with the arrow of its better direction."""
    metric = shown.metric(name)
    return titled(metric.shown_title, metric.better)


@dataclass(frozen=True)
class RunPlots:
    """The figures of a run."""

    run: Run

    def __dir__(self) -> list[str]:
        return ["forest", "spread", "paired"] if self._differences() else ["forest", "spread"]

    def forest(self, *metrics: str) -> Figure:
        """Values with their intervals, a line a metric (default: the headline); groups of metrics can be named too.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> ax = run.plot.forest("fix_rate_refpol").axes[0]
        """
        run = self.run
        estimates = run.estimates_of(*(metrics or run.headline))
        xlabel = say("value with {level} interval", level=run.resampling.percent)
        return figures.forest(_with_axes(estimates, run, xlabel), title="Headline metrics")

    def paired(self, metric: str | None = None) -> Figure:
        """Each unit's value before against after: the two sides of a difference (default: the first of the headline).

        UsageError for a metric that is no difference.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> ax = run.plot.paired("delta_f1_refpol").axes[0]
        """
        run = self.run
        difference = run.metric(metric or next(iter(self._differences()), run.primary))
        if not isinstance(difference, Difference):
            raise UsageError(
                f"{difference.name} is no difference of two metrics, with a before and an after"
            )
        before, after = difference.subtrahend, difference.minuend
        values = {"before": run.unit_values(before), "after": run.unit_values(after)}
        return figures.paired(
            pd.DataFrame(values),
            title=say("Each unit before and after"),
            xlabel=_title(run, before),
            ylabel=_title(run, after),
            better=difference.better,
        )

    def _differences(self) -> list[str]:
        """The metrics of the headline that are differences of two."""
        run = self.run
        return [name for name in run.headline if isinstance(run.metric(name), Difference)]

    def spread(self, *metrics: str) -> Figure:
        """How the values of single units are spread, a histogram a metric (default: the primary one).

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> ax = run.plot.spread("tuple_f1_s1_refpol", "tuple_f1_s2_refpol").axes[0]
        """
        run = self.run
        names = metrics or (run.primary,)
        values = {_title(run, name): run.unit_values(name) for name in names}
        return figures.distribution(
            pd.DataFrame(values),
            title=say("Values of single units"),
            xlabel=say("value of a unit"),
        )


@dataclass(frozen=True)
class StudyPlots:
    """The figures of a study."""

    study: Study

    def __dir__(self) -> list[str]:
        return ["forest", "paired"] if self.study.candidates else ["forest"]

    def forest(self) -> Figure:
        """The differences of the headline metrics to the baseline, with their intervals; of one condition its values."""
        study = self.study
        title = "Headline metrics"
        rows = study_tables.estimates(study)
        what = say("mean over seeds") if study.seeded else say("value")
        if study.candidates:
            title = "Differences to the baseline"
            rows = study_tables.comparison(study)
            rows = rows.rename(columns={"delta": "value", "candidate": "condition"})
            what = say("candidate less baseline")
        xlabel = say("{what}, {level} interval", what=what, level=study.resampling.percent)
        claim = "new seeds and new samples" if study.seeded else "new samples, these systems"
        return figures.forest(
            _with_axes(rows, study, xlabel),
            title=title,
            zero=bool(study.candidates),
            claim=say("claim: {claim}", claim=say(claim)),
        )

    def paired(
        self,
        metric: str | None = None,
        candidate: str | None = None,
    ) -> Figure:
        """Each unit's value under the baseline against that under a candidate, by default the first.

        `metric`: by default the primary one.
        """
        study = self.study
        metric = metric or study.primary
        name = study.candidate(candidate)
        over = say(", mean over seeds") if study.seeded else ""
        changes = study.changes(metric, name)
        sides = {"baseline": "before", "candidate": "after"}
        return figures.paired(
            changes.rename(columns=sides),
            title=say(
                "{metric} of each sample: {candidate} against {baseline}",
                metric=_title(study, metric),
                candidate=name,
                baseline=study.baseline,
            ),
            xlabel=say("under {condition}", condition=study.baseline) + over,
            ylabel=say("under {condition}", condition=name) + over,
            better=study.metric(metric).better,
        )
