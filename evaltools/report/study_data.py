"""Several runs seen together: conditions by seeds, their aggregates and their comparison with a baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import pandas as pd

from ..core.check import LEVELS, Check, missing_seeds, missing_units, together
from ..core.errors import UsageError
from ..core.metric import AnyMetric, MetricTable
from ..core.names import condition_of, natural, safe_name
from ..core.resampling import Resampling
from ..core.results import Result
from ..core.suite import Suite
from ..stats.agreement import COLUMNS as AGREEMENT
from ..stats.agreement import seed_agreement
from ..stats.compare import Comparison, compare, require_declared
from ..stats.design import Runs
from ..stats.power import plan
from ..stats.ranks import CONTRACT as RANKS
from ..stats.ranks import pairs, ranks
from ..stats.seeds import aggregate, completeness, pool_notes, pooled_seeds


@dataclass(frozen=True)
class Study:
    """Runs by condition and seed, with what follows from them.

    `conditions`: name -> seed -> Result, in natural order. `aggregates`: name -> frame of
    `seeds.aggregate`. `comparisons`: candidate -> its comparison with `baseline`. `seeded`: whether the runs
    are told apart by seeds (False: systems of one run each). `notes`: what a reader must know (incomplete
    seeds, differing samples), by condition or candidate. `declared`: the primary metric that was named, if one was;
    `margin`: metric -> the largest difference that does not matter.
    """

    name: str
    suite: Suite
    options: Any
    resampling: Resampling
    baseline: str
    conditions: dict[str, dict[str, Result]] = field(repr=False)
    aggregates: dict[str, pd.DataFrame] = field(repr=False)
    comparisons: dict[str, Comparison] = field(repr=False)
    seeded: bool
    notes: list[str] = field(repr=False)
    declared: str | None = None
    margin: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def metrics(self) -> MetricTable:
        """The metric table."""
        return self.suite.metrics(self.options)

    @property
    def headline(self) -> tuple[str, ...]:
        """The metrics that lead the page: those that can be measured in every run, and the primary one."""
        return with_primary(headline_of(self.results), self.declared)

    @property
    def primary(self) -> str:
        """The metric that is tested alone: the one declared, or `primary_of`."""
        return self.declared or primary_of(self.results)

    @property
    def blocked(self) -> frozenset[str]:
        """The metrics that mean nothing in some run, as a check says."""
        return frozenset(name for r in self.results for name in r.blocked)

    @cached_property
    def checks(self) -> list[Check]:
        """What a reader must know before believing a number: the checks of the runs, and units that some lack."""
        names = [set(r.data[self.suite.unit]) for r in self.results]
        every = len(set().union(*names))
        sizes = {r.name: len(n) for r, n in zip(self.results, names)}
        found = [*together([r.checks for r in self.results]), *missing_units(sizes, every)]
        found += (
            missing_seeds({c: list(runs) for c, runs in self.conditions.items()})
            if self.seeded
            else ()
        )
        return sorted(found, key=lambda c: LEVELS.index(c.level))

    @property
    def results(self) -> list[Result]:
        return [r for runs in self.conditions.values() for r in runs.values()]

    @property
    def candidates(self) -> list[str]:
        return list(self.comparisons)

    def frames(self, condition: str) -> Runs:
        """Seed -> units of one condition, as stored."""
        return {seed: r.data for seed, r in self.conditions[condition].items()}

    def rank(self, metric: str | None = None) -> pd.DataFrame:
        """The conditions from the best on, with rank intervals and tie groups that hold together (`stats.ranks`).

        `metric`: by default the primary one. Columns: condition, value, ci_low, ci_high, rank_low, rank_high, group.
        UsageError for one condition, an unknown metric, and one that has no direction or that a check blocks.
        """
        if len(self.conditions) == 1:
            raise UsageError(f"one condition only ({self.baseline}): nothing to rank")
        m = self._directed(self.primary if metric is None else metric)
        frames = {c: self.frames(c) for c in self.conditions}
        rows = [
            (c, *found.set_index("metric").loc[m.name, _MEAN])
            for c, found in self.aggregates.items()
        ]
        estimates = pd.DataFrame(rows, columns=list(RANKS[:4]))
        found = pairs(frames, self.metrics, self.suite.unit, m.name, self.resampling)
        return ranks(estimates, found, m, 1 - self.resampling.confidence)

    def plan(
        self,
        metric: str,
        difference: float,
        *,
        power: float = 0.8,
        seeds: Sequence[int] = (1, 3, 5),
        done: Callable[..., None] = lambda name="": None,
    ) -> pd.DataFrame:
        """How many samples under each number of seeds show a difference in a metric, these runs being the pilot.

        Parameters, columns and errors: `stats.power.plan`. UsageError besides for three conditions and more, an
        unknown metric, and one that has no direction or that a check blocks.
        """
        m, names = self._directed(metric), [self.baseline, *self.candidates]
        if len(names) > 2:
            raise UsageError(
                f"a plan takes the runs of one or two conditions; these are of {', '.join(names)}"
            )
        how: dict[str, Any] = {
            "power": power,
            "seeds": seeds,
            "resampling": self.resampling,
            "done": done,
        }
        return plan(
            list(map(self.frames, names)), self.metrics, self.suite.unit, m.name, difference, **how
        )

    def _directed(self, metric: str) -> AnyMetric:
        """The metric of that name; UsageError where it can be neither better nor worse, or means nothing here."""
        m = self.suite.metric(metric, self.options)
        if m.better == "none" or not getattr(m, "denominator", True):
            raise UsageError(f"{m.name} has no direction, so that no condition can be better in it")
        for check in (check for r in self.results for check in r.checks if m.name in check.blocks):
            raise UsageError(f"{m.name} means nothing here: {check.message}")
        return m

    @cached_property
    def signature(self) -> str:
        """The signature of the first run, with the samples and seeds of all of them."""
        first = self.results[0]
        seeds = sorted({s for runs in self.conditions.values() for s in runs}, key=natural)
        samples = {u for r in self.results for u in r.data[self.suite.unit]}
        parts = [p for p in first.signature.split("|") if not p.startswith(("n:", "ci:"))]
        return "|".join(
            [
                *parts,
                f"n:{len(samples)}",
                f"seeds:{','.join(seeds)}",
                f"ci:{self.resampling.confidence:.0%}",
            ]
        )

    @cached_property
    def agreement(self) -> pd.DataFrame:
        """How far the seeds of each condition agree on the same samples: condition, then `seed_agreement`'s columns.

        Empty for suites without tuples and labels, and for conditions of one seed.
        """
        found = [pd.DataFrame(columns=["condition", *AGREEMENT])]
        for condition, runs in self.conditions.items():
            if self.suite.agreement is not None and len(runs) > 1:
                units: Runs = {seed: r.units for seed, r in runs.items()}
                found.append(
                    seed_agreement(units, self.suite.unit, self.resampling, *self.suite.agreement)
                )
                found[-1].insert(0, "condition", condition)
        return pd.concat(found[1:] or found, ignore_index=True)


_MEAN = ["mean", "ci_low", "ci_high"]

S = TypeVar("S", bound=Study)


def headline_of(results: Sequence[Result]) -> tuple[str, ...]:
    """The headline of runs seen together, without what a check blocks in any of them."""
    return results[0].suite.leading(
        results[0].options, frozenset(name for r in results for name in r.blocked)
    )


def with_primary(headline: tuple[str, ...], declared: str | None) -> tuple[str, ...]:
    """The headline, led by the declared primary metric if that is not in it."""
    return headline if declared is None or declared in headline else (declared, *headline)


def primary_of(results: Sequence[Result]) -> str:
    """The metric that leads the headline; the first of it that can be tested where that one cannot."""
    headline, first = headline_of(results), results[0]
    lead = first.suite.primary(first.options, headline)
    out = {m.name for m in first.metrics if m.better == "none"}
    return next((name for name in (lead, *headline) if name not in out), lead)


def group_by_seed(results: Iterable[Result]) -> dict[str, dict[str, Result]]:
    """condition -> seed -> result, in natural order whatever the order given.

    A condition is a run_id; runs of one run_id in several modes make a condition a mode. UsageError for
    two runs of one condition and seed, and for a name that is not <run_id>__seed<N>_<mode>.
    """
    named = [(condition_of(r.name), r) for r in results]
    modes: dict[str, set[str]] = {}
    for (run_id, _, mode), _ in named:
        modes.setdefault(run_id, set()).add(mode)
    out: dict[str, dict[str, Result]] = {}
    for (run_id, seed, mode), r in sorted(named, key=lambda x: [natural(p) for p in x[0]]):
        condition = run_id if len(modes[run_id]) == 1 else f"{run_id}_{mode}"
        runs = out.setdefault(condition, {})
        if seed in runs:
            raise UsageError(
                f"two runs of {condition} under seed {seed}: {runs[seed].name} and {r.name}"
            )
        runs[seed] = r
    return out


def group_by_name(results: Iterable[Result]) -> dict[str, dict[str, Result]]:
    """system -> {"": result}: systems that have one run each. UsageError for two runs of one name."""
    out: dict[str, dict[str, Result]] = {}
    for r in results:
        if r.name in out:
            raise UsageError(f"two runs are named {r.name!r}; give them names of their own")
        out[r.name] = {"": r}
    return out


def make_study(
    conditions: Mapping[str, dict[str, Result]],
    *,
    kind: type[S],
    name: str | None = None,
    baseline: str | None = None,
    primary: str | None = None,
    margin: Mapping[str, float] | None = None,
) -> S:
    """Aggregate every condition and compare the others with `baseline` (default: the first by name).

    UsageError for a baseline that is none of the conditions, for runs scored under different policies, and for a
    primary metric or margin that cannot be tested.
    """
    results = [r for runs in conditions.values() for r in runs.values()]
    if not results:
        raise UsageError("no runs given")
    first = results[0]
    for r in results:
        if r.suite.name != first.suite.name:
            raise UsageError(
                f"{r.name} is a run of {r.suite.name}, {first.name} of {first.suite.name}"
            )
        differs = [
            k for k in {**r.policy, **first.policy} if r.policy.get(k) != first.policy.get(k)
        ]
        if parts := first.suite.options.shared() & {
            *differs
        }:  # each run has its part, which the hash covers as well
            differs = [k for k in differs if k not in {*parts, "eval_policy_hash"}]
        if differs:
            both = f"{r.name} and {first.name} were scored under different policies ({', '.join(differs)})"
            raise UsageError(f"{both} and cannot be compared")
    baseline = baseline or next(iter(conditions))
    if baseline not in conditions:
        raise UsageError(f"no condition {baseline!r} among {', '.join(conditions)}")
    suite, resampling, table, unit = first.suite, first.resampling, first.metrics, first.suite.unit
    require_declared(table, primary, margin or {}, resampling.confidence)
    for check in (check for r in results for check in r.checks if primary in check.blocks):
        raise UsageError(f"primary: {primary} means nothing here: {check.message}")
    lead = with_primary(headline_of(results), primary)
    first_metric = primary or primary_of(results)
    testable = next(m.better != "none" for m in table if m.name == first_metric)
    tested = partial(compare, primary=first_metric if testable else None, margin=margin)
    frames: dict[str, Runs] = {
        c: {s: r.data for s, r in runs.items()} for c, runs in conditions.items()
    }
    several = sum(len(runs) > 1 for runs in frames.values()) > 1 and resampling.method == "auto"
    pool = pooled_seeds(frames.values(), table, unit) if several else None
    aggregates = {c: aggregate(runs, table, unit, resampling, pool) for c, runs in frames.items()}
    comparisons = {
        c: tested(
            frames[baseline],
            frames[c],
            table,
            unit,
            resampling,
            lead,
            names=(baseline, c),
            pool=pool,
        )
        for c in conditions
        if c != baseline
    }
    seeded = any(seed for runs in conditions.values() for seed in runs)
    notes = [
        f"{c}: {note}"
        for c, runs in frames.items()
        if seeded
        for note in completeness(runs, table, unit)
    ]
    notes += pool_notes(table, [pool] if pool else [])
    notes += [
        f"{baseline} and {c}: {note}" for c, found in comparisons.items() for note in found.notes
    ]
    return kind(
        safe_name(name or default_name(baseline, list(comparisons))),
        suite,
        first.options,
        resampling,
        baseline,
        dict(conditions),
        aggregates,
        comparisons,
        seeded,
        notes,
        primary,
        margin or {},
    )


def default_name(baseline: str, candidates: Sequence[str]) -> str:
    if not candidates:
        return f"{baseline}_aggregated"
    return f"{baseline}_vs_{candidates[0]}" + (
        f"_and_{len(candidates) - 1}_more" if len(candidates) > 1 else ""
    )
