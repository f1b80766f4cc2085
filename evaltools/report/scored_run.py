"""The estimates and checks of a run, from its units."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from .. import BUILT_IN
from ..core.check import failed_checks, worst_first
from ..core.errors import UsageError
from ..core.language import Message
from ..stats.intervals import estimate_run
from .run import Run
from .run_checks import checks_of_estimates, checks_of_units


def with_estimates(run: Run) -> Run:
    """The run with its units estimated and checked, and its headline in its manifest."""
    run = replace(run, estimates=_estimates(run))
    # what these checks block leaves the headline, which the others look at
    run = replace(run, checks=tuple(failed_checks(checks_of_units(run))))
    checks = [*run.checks, *failed_checks(checks_of_estimates(run))]
    run = replace(run, checks=tuple(worst_first(checks)))
    leads = {"headline": list(run.headline), "leading": run.primary}
    return replace(run, manifest=run.manifest.model_copy(update=leads))


def _estimates(run: Run) -> pd.DataFrame:
    """A row a metric. UsageError where metrics that are not ours do not fit the units."""
    suite = run.suite
    try:
        estimates = estimate_run(
            run.data,
            run.metrics,
            suite.unit,
            run.resampling,
        )
    except (KeyError, ValueError) as e:
        if suite.name in BUILT_IN and suite.metrics_file is None:
            raise
        of_suite = Message("the suite {name}", {"name": repr(suite.name)})
        raise UsageError(
            "{where}: the metrics do not fit the units: {reason}",
            where=suite.metrics_file or of_suite,
            reason=e.args[0],
        ) from e
    if suite.intervals is None:
        return estimates
    return suite.intervals(
        estimates,
        run.data,
        run.options,
        run.resampling,
    )
