"""Putting runs together: the public `study` and `compare`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray
from pydantic import Field, create_model

from ..core.errors import UsageError
from ..core.files import bytes_hash
from ..core.jsonl_suite import jsonl_suite
from ..core.metric import Metric
from ..core.names import LONGEST_NAME, safe_name
from ..core.suite import Suite
from ..stats.compare import require_declared
from .evaluate import evaluate
from .result import require_comparable
from .run import Run
from .run_groups import as_inputs, group, read_inputs
from .run_set import Conditions
from .study import Study
from .study_files import save_study


def make_study(
    conditions: Conditions,
    *,
    name: str | None = None,
    baseline: str | None = None,
    primary: str | None = None,
    margin: Mapping[str, float] | None = None,
) -> Study:
    """Aggregate every condition and compare the others with `baseline` (default: the first by name).

    UsageError for a baseline that is none of the conditions, for runs scored under different policies, and for a
    primary metric or margin that cannot be tested.
    """
    if not conditions:
        raise UsageError("no runs given")
    first, *others = (run for of_seed in conditions.values() for run in of_seed.values())
    require_comparable(first, others)
    if margin is not None and not isinstance(margin, Mapping):
        raise UsageError(f"margin: expected {{metric: largest difference}}, got {margin!r}")
    require_declared(
        first.metrics,
        primary,
        margin or {},
        first.resampling.confidence,
    )
    baseline = _condition(baseline, conditions) if baseline else next(iter(conditions))
    candidates = [condition for condition in conditions if condition != baseline]
    study = Study(
        name=safe_name(name or default_name(baseline, candidates)),
        conditions=conditions,
        baseline=baseline,
        declared=primary,
        margin=margin or {},
    )
    if primary is not None:
        study.directed(primary)
    _ = study.comparisons  # what cannot be compared is said here
    return study


def _condition(
    name: str,
    conditions: Conditions,
) -> str:
    """The condition of this name, or the only one named <name>_<file>, as those of a long table are."""
    found = [c for c in conditions if c == name] or [
        c for c in conditions if c.startswith(f"{name}_")
    ]
    if len(found) != 1:
        raise UsageError(f"no condition {name!r} among {', '.join(conditions)}")
    return found[0]


def default_name(
    baseline: str,
    candidates: Sequence[str],
) -> str:
    """The name of a study that was given none; of long names of conditions the beginnings and a hash of them all."""
    if not candidates:
        return f"{baseline}_aggregated"
    more = f"_and_{len(candidates) - 1}_more" if len(candidates) > 1 else ""
    name = f"{baseline}_vs_{candidates[0]}{more}"
    if len(name.encode()) <= LONGEST_NAME:
        return name
    return f"{baseline[:20]}_vs_{candidates[0][:20]}{more}_{bytes_hash(name.encode())[:8]}"


def study(
    runs: str | Path | Run | Iterable[Any],
    *,
    suite: str | Suite | None = None,
    baseline: str | None = None,
    name: str | None = None,
    out: str | Path | None = None,
    primary: str | None = None,
    margin: Mapping[str, float] | None = None,
    **settings: Any,
) -> Study:
    """Several runs together: means over seeds, and every condition compared with the baseline.

    runs: a list of results, results folders or what `evaluate` takes, or the common prefix <run_id> of
        folders named <run_id>__seed<N>_<mode>, which are the seeds of the condition run_id. A file or
        data that hold several runs stand for all of them. Other runs are conditions of one run each.
    baseline: the condition that the others are compared with. Default: the first by name, or without
        seeds the first given.
    primary: the metric that is tested alone (default: the suite's).
    margin: metric -> the largest difference that does not matter, in the metric's own unit; equivalence
        within it is tested.
    name: of the study. suite: default is what the inputs look like.
    out: the folder under which results/<run>/ and results/<condition>_aggregated/ are written.
    settings: query, n_resamples, confidence, ci, seed, resampling, metrics, on_error, workers, fresh and
        the options of the suite, as in `evaluate`.

    Raises InputError and UsageError as `evaluate` does, and UsageError for runs that cannot be put together.

    >>> import evaltools as et
    >>> study = et.study(["example:memfin/memory_agent", "example:memfin/plain_llm"])
    >>> study.baseline, study.candidates
    ('memory_agent', ['plain_llm'])
    """
    started = datetime.now(UTC)
    inputs = as_inputs(runs)
    if name is not None and len(inputs) == 1:
        settings["name"] = name
    results, folders = read_inputs(
        inputs,
        suite,
        out,
        out=out,
        **settings,
    )
    conditions, seeded = group(results)
    if name is None and len(results) == 1 and not seeded:
        name = results[0].name
    result = make_study(conditions, name=name, baseline=baseline, primary=primary, margin=margin)
    if out is not None and (seeded or len(results) > 1):
        save_study(result, Path(out), started, folders, list(conditions))
    return result


def ranked_study(
    runs: Sequence[str | Path],
    metric: str,
    out: Path,
    suite: str | Suite | None = None,
    **settings: Any,
) -> Study:
    """The study of one metric alone, which ranks all conditions; only the folder of the baseline is written.

    UsageError for one condition that has the metric, an unknown metric, and one that has no direction or that a check
    blocks.
    """
    started = datetime.now(UTC)
    results, folders = read_inputs(
        as_inputs(runs),
        suite,
        out,
        **settings,
    )
    conditions, _ = group([_only(run, metric) for run in results])
    result = make_study(conditions, primary=metric)
    ranks = result.rank()  # says what is wrong before anything is written
    if ranks["rank_low"].count() < 2:
        raise UsageError(
            f"{result.primary} is measured in fewer than two conditions: nothing to rank"
        )
    save_study(
        result,
        out,
        started,
        folders,
        [result.baseline],
    )
    return result


def _only(run: Run, metric: str) -> Run:
    """The run with one of its metrics, and what that is made of."""
    suite = run.suite.only(metric)
    names = [entry.name for entry in suite.metrics(run.options)]
    return replace(run, suite=suite, estimates=run.estimates[run.estimates["metric"].isin(names)])


def compare(
    baseline: Any,
    candidate: Any,
    *,
    suite: str | Suite | None = None,
    primary: str | None = None,
    margin: Mapping[str, float] | None = None,
    bounds: Any = None,
    better: str = "higher",
    **settings: Any,
) -> Study:
    """Paired comparison of two runs, of two sets of seeds, or of two lists of numbers.

    baseline, candidate: a result, a list of results (seeds of one condition), or a text as on the command
        line: a run, a results folder, a run_id (the common prefix of folders <run_id>__seed<N>_<mode>), or
        several joined by commas. Or two Series, paired by their index, or two lists of numbers, paired by
        position; their metric is called "value".
    bounds, better: of two lists: the least and the greatest value, and "higher" or "lower". Of runs of the
        suite `table`, `bounds` is its option.
    margin, suite, primary, settings: as in `study`.

    The result is a `Study` of two conditions: its differences are candidate less baseline, null where a
    side was not measured. UsageError where a side holds several conditions or nothing is found.

    >>> import evaltools as et
    >>> cmp = et.compare("example:cr/no_memory", "example:cr/with_memory")
    >>> int(cmp["tuple_f1_s2_refpol"]["n_seeds"])
    3
    >>> cmp = et.compare([0.1, 0.4, 0.35, 0.8] * 5, [0.2, 0.5, 0.3, 0.9] * 5)
    >>> round(float(cmp["value"]["delta"]), 4), cmp["value"]["verdict"]
    (0.0625, 'better')
    """
    if _is_values(baseline) != _is_values(candidate):
        raise UsageError("a list of numbers compares with a list of numbers only")
    if _is_values(baseline):
        sides = _values_as_runs(
            baseline,
            candidate,
            bounds,
            better,
            settings,
        )
    else:
        if bounds is not None:
            settings["bounds"] = bounds
        name_a, runs_a = _side(baseline, suite, settings)
        name_b, runs_b = _side(candidate, suite, settings)
        if name_a == name_b:
            name_a, name_b = f"{name_a} (A)", f"{name_b} (B)"
        sides = {name_a: runs_a, name_b: runs_b}
    if all(len(runs) == 1 for runs in sides.values()):
        # one run each: they pair by sample, whatever their seeds are called
        sides = {name: {"": run} for name, runs in sides.items() for run in runs.values()}
    return make_study(
        sides,
        name="comparison",
        primary=primary,
        margin=margin,
    )


def _side(
    side: Any,
    suite: str | Suite | None,
    settings: Mapping[str, Any],
) -> tuple[str, dict[str, Run]]:
    """(name of the condition, seed -> run) of one side of a comparison."""
    inputs = as_inputs(side)
    runs, _ = read_inputs(inputs, suite, **settings)
    conditions, _ = group(runs)
    if len(conditions) > 1:
        raise UsageError(
            ""
            f"{', '.join(run.name if isinstance(run, Run) else str(run) for run in inputs)} "
            f"holds several conditions: {', '.join(conditions)}"
        )
    return next(iter(conditions.items()))


# --- two lists of numbers


def _is_values(side: Any) -> bool:
    """Whether a side of a comparison is a Series, an array or a list of numbers."""
    if isinstance(side, list | tuple):
        return all(value is None or isinstance(value, Real | np.bool_ | Decimal) for value in side)
    return isinstance(side, pd.Series | pd.Index | ExtensionArray | np.ndarray | range)


def _values_as_runs(
    baseline: Any,
    candidate: Any,
    bounds: tuple[float, float] | None,
    better: Any,
    settings: Mapping[str, Any],
) -> Conditions:
    """The two sides as runs with the one metric "value". Series pair by their index, all else by position.

    `settings`: those of `evaluate`. A null takes no part.

    UsageError for lists of different lengths; InputError for a list that is empty, a
    doubled index, what is no number, and a value outside of `bounds`.
    """
    by_index = isinstance(baseline, pd.Series) and isinstance(candidate, pd.Series)
    if not by_index and len(baseline) != len(candidate):
        raise UsageError(
            f"lists of different lengths pair by no position: {len(baseline)} and "
            f"{len(candidate)} numbers"
        )
    if "name" in settings:
        raise UsageError("two lists of numbers have no name")
    sides = {}
    for name, side in (("baseline", baseline), ("candidate", candidate)):
        values = pd.Series(side if by_index else list(side))
        sides[name] = pd.DataFrame({"id": map(str, values.index), "value": values.tolist()})
    numbers = pd.concat(sides.values())["value"].dropna()
    metric = Metric(
        name="value",
        title="value",
        numerator="value",
        denominator="n",
        better=better,
        bounds=bounds,
        proportion=bounds is None and bool(numbers.isin([0, 1]).all()),
    )
    low, high = bounds or (None, None)
    suite = jsonl_suite(
        "values",
        title="Values",
        record=create_model("Value", id=str, value=(float | None, Field(None, ge=low, le=high))),
        unit="id",
        columns=lambda record: {"n": None if record.value is None else 1, "value": record.value},
        metrics=[metric],
        headline=["value"],
    )
    return {
        name: {"": evaluate(suite, frame, name=name, **settings)} for name, frame in sides.items()
    }
