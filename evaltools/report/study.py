"""Several runs seen together: conditions by seeds, their means, and their comparison with a baseline."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..core.check import Check, check_lines
from ..core.errors import UsageError
from ..core.estimates import marked_blocked, public_frame
from ..core.language import speaking
from ..core.metric import AnyMetric, Metric, MetricTable
from ..core.resampling import Resampling
from ..core.suite import Suite
from ..stats.breakdown import PART, by_parts, compare_parts
from ..stats.compare import Comparison, compare_all, ranks
from ..stats.differences import unit_changes
from ..stats.influence import Runs
from ..stats.intervals import aggregate
from ..stats.plan import plan
from . import paper, study_sentences
from .browse import samples_that_differ
from .first_screen import comparison_table, estimates_table, study_screen
from .run import Result, Run
from .tables import HtmlTable, fold, in_cell, no_rows, stack
from .trust import all_checks, provenance, signature, study_checks

if TYPE_CHECKING:
    from .figures import StudyPlots

# condition -> seed -> run; the seed of a system of one run is ""
Conditions = dict[str, dict[str, Run]]

# columns of the units of a study that tell of which run a unit is
OF_RUN = ["condition", "seed", "run"]

# columns of ranks.csv, in order
RANKS = ["condition", "value", "ci_low", "ci_high", "rank_low", "rank_high"]

# what a comparison of a metric that a check blocks does not have
TESTED = ["p_value", "p_adjusted", "mde", "equivalence_low", "equivalence_high"]

# the columns of `Study.scores`
SCORES = ["condition", "name", "title", "value", "std", "ci_low", "ci_high", "n_units", "n_seeds"]


@dataclass(frozen=True, eq=False, repr=False)
class Study(Result):
    """Conditions by seeds, or systems of one run each, and what follows from them.

    `study.table()` is the comparison with the baseline as the report has it and `study.frame` its frame (of one
    condition: the scores); `study.plot` the figures; `study.scores` the means over seeds. `cmp["metric"]` is
    one difference.

    `conditions`: name -> seed -> run, in natural order. `declared`: the primary metric that was named, if one was.
    `margin`: metric -> the largest difference that does not matter. All else is counted when it is asked for.

    >>> import evaltools as et
    >>> study = et.study([f"example:cr/with_memory__seed{s}_proposed" for s in (1, 2, 3)])
    >>> row = study.frame.set_index("name").loc["tuple_f1_s2_refpol"]
    >>> row["title"], int(row["n_seeds"])
    ('Tuple F1 after review (ref-pol)', 3)
    """

    name: str
    conditions: Conditions
    baseline: str
    declared: str | None = None
    margin: Mapping[str, float] = field(default_factory=dict)

    # --- its runs

    @cached_property
    def results(self) -> list[Run]:
        """All runs."""
        return [run for of_seed in self.conditions.values() for run in of_seed.values()]

    @property
    def suite(self) -> Suite:
        """The suite of all runs."""
        return self.results[0].suite

    @property
    def options(self) -> Any:
        """The options of the suite."""
        return self.results[0].options

    @property
    def resampling(self) -> Resampling:
        """How intervals are made."""
        return self.results[0].resampling

    @cached_property
    def metrics(self) -> MetricTable:
        """The metric table; a proportion is what is one in every run."""
        metrics: list[AnyMetric] = []
        for metric, *others in zip(*(run.metrics for run in self.results)):
            if isinstance(metric, Metric) and not all(other.proportion for other in others):
                metric = replace(metric, proportion=False)
            metrics.append(metric)
        return metrics

    @property
    def seeded(self) -> bool:
        """Whether the runs are told apart by seeds, and not systems of one run each."""
        return any(seed for of_seed in self.conditions.values() for seed in of_seed)

    @property
    def candidates(self) -> list[str]:
        """The conditions that are compared with the baseline."""
        return [condition for condition in self.conditions if condition != self.baseline]

    def candidate(self, name: str | None = None) -> str:
        """The candidate of that name, by default the first; UsageError for another name, and where there is none."""
        if not self.candidates:
            raise UsageError("one condition only: nothing to compare")
        if name is not None and name not in self.candidates:
            raise UsageError(f"no candidate {name!r}; there is {', '.join(self.candidates)}")
        return name or self.candidates[0]

    def frames(self, condition: str) -> Runs:
        """Seed -> units of one condition, as stored."""
        return {seed: run.data for seed, run in self.conditions[condition].items()}

    # --- units

    @cached_property
    def units(self) -> pd.DataFrame:
        """The units of all runs, one below the other, with the columns condition, seed and run."""
        frames = []
        for condition, of_seed in self.conditions.items():
            for seed, run in of_seed.items():
                frames.append(run.units.assign(condition=condition, seed=seed, run=run.name))
        return pd.concat(frames, ignore_index=True)

    def _of_runs(self, column: Any) -> list[Any]:
        """A column of `units`, or its index, in pieces: one a run."""
        ends = np.cumsum([len(run.data) for run in self.results])
        return [column[end - len(run.data) : end] for end, run in zip(ends, self.results)]

    @cached_property
    def n_units(self) -> int:
        """Number of units of all runs, each counted once."""
        return int(self.units[self.suite.unit].nunique(dropna=False))

    def where(self, part: str | pd.DataFrame) -> Study:
        """The study over some of the units of every run, with its own intervals.

        `part`: a query on the units, or rows of `units`, whose columns may be new or changed.
        UsageError where a run has none of them.

        >>> import evaltools as et
        >>> study = et.study([f"example:cr/with_memory__seed{s}_proposed" for s in (1, 2)])
        >>> [run.n_units for run in study.where("split == 'dev'").results]
        [30, 30]
        >>> units = study.units.query("seed == '1' or n_gold_tuples > 1")
        >>> [run.n_units for run in study.where(units).results]
        [60, 14]
        """
        if part is self.units:
            return self
        query, rows = "", part
        if isinstance(part, str):
            query, rows = part, self.queried(part)
        is_known = isinstance(rows, pd.DataFrame) and rows.index.isin(self.units.index).all()
        if not is_known or not self.units.loc[rows.index, "run"].equals(rows.get("run")):
            raise UsageError(f"expected rows of the units of {self.name}, with their index")
        runs = []
        for run, index in zip(self.results, self._of_runs(self.units.index)):
            own = rows[rows.index.isin(index)]
            own = own.set_axis(run.data.index[own.index - index[0]]).drop(columns=OF_RUN)
            # columns without a value are those of other runs
            runs.append(run.over(own.dropna(axis="columns", how="all"), query))
        left = iter(runs)
        conditions = {
            name: {seed: next(left) for seed in of_seed}
            for name, of_seed in self.conditions.items()
        }
        return replace(self, conditions=conditions)

    # --- what leads, checks and signature

    @cached_property
    def blocked(self) -> frozenset[str]:
        """The metrics that mean nothing in some run, as a check says."""
        return frozenset().union(*(run.blocked for run in self.results))

    @property
    def headline(self) -> tuple[str, ...]:
        """The metrics that lead the page: those that can be measured in every run, and the primary one."""
        names = self.suite.headline_names(self.options, self.blocked)
        if self.declared is None or self.declared in names:
            return names
        return (self.declared, *names)

    @property
    def primary(self) -> str:
        """The metric that is tested alone: the one declared, else the first of the suite's with a direction."""
        if self.declared is not None:
            return self.declared
        names = [self.suite.primary_name(self.options, self.blocked), *self.headline]
        directed = [name for name in names if name and self.metric(name).better != "none"]
        return directed[0] if directed else names[0]

    @property
    def _tested_alone(self) -> str | None:
        """The primary metric; None where it has no direction, and where there is none."""
        has_direction = self.primary and self.metric(self.primary).better != "none"
        return self.primary if has_direction else None

    @property
    def is_ranked(self) -> bool:
        """Whether the conditions are ranked without being asked: three or more, or two and a primary metric declared."""
        fewest = 2 if self.declared else 3
        return len(self.conditions) >= fewest and self._tested_alone is not None

    @property
    def _run_checks(self) -> list[Check]:
        """The checks of all runs."""
        return [check for run in self.results for check in run.checks]

    @cached_property
    def checks(self) -> list[Check]:
        """What the checks of its runs found, and what some runs lack, the worst first; in English."""
        with speaking("en"):
            return study_checks(self)

    @property
    def doubts(self) -> list[Check]:
        """The checks that failed and are more than notes, and what was wrong with the input of the runs."""
        return [check for check in all_checks(self) if check.level != "info"]

    @cached_property
    def signature(self) -> str:
        """The signature of the first run, with the samples and seeds of all of them."""
        return signature(self, {seed for runs in self.conditions.values() for seed in runs})

    # --- means over seeds, and comparisons

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """The estimates of every condition over its seeds, in the form of `core.estimates`."""
        frames = [
            aggregate(
                self.frames(name), self.metrics, self.suite.unit, self.resampling, condition=name
            )
            for name in self.conditions
        ]
        return marked_blocked(pd.concat(frames, ignore_index=True), self._run_checks)

    @cached_property
    def comparisons(self) -> dict[str, Comparison]:
        """Candidate -> its comparison with the baseline; what a check blocks has no p and no verdict."""
        if not self.candidates:
            return {}
        compared = compare_all(
            [(name, self.frames(name)) for name in (self.baseline, *self.candidates)],
            self.metrics,
            self.suite.unit,
            self.resampling,
            self.headline,
            primary=self._tested_alone,
            margin=self.margin,
        )
        return dict(zip(self.candidates, map(self._without_blocked, compared)))

    def _without_blocked(self, compared: Comparison) -> Comparison:
        table = marked_blocked(compared.table, self._run_checks)
        void = table["blocked"].notna()
        unfair = table["not_random"].astype(bool) & ~void
        table = table.assign(
            **{name: table[name].mask(void) for name in TESTED},
            verdict=table["verdict"].mask(void, "not measured"),
            short=table["short"].mask(void, ""),
            blocked=table["blocked"].mask(unfair, "missing-not-random"),
        )
        return replace(compared, table=table)

    @property
    def frame(self) -> pd.DataFrame:
        """Every metric of every candidate against the baseline (`stats.compare`); of one condition, its scores."""
        if self.candidates:
            tables = [compared.table for compared in self.comparisons.values()]
            return pd.concat(tables, ignore_index=True)
        return public_frame(self.estimates).join(self.estimates[["condition", "std", "n_seeds"]])

    @property
    def scores(self) -> pd.DataFrame:
        """The headline of every condition; values are means over seeds, or those of a system's one run."""
        return self.estimates_of(*self.headline).rename(columns={"metric": "name"})[SCORES]

    def estimates_of(self, *names: str) -> pd.DataFrame:
        """The rows of `estimates` on these metrics, condition by condition."""
        return _rows_of(self.estimates, "condition", names)

    def differences_of(self, *names: str) -> pd.DataFrame:
        """Every candidate against the baseline on these metrics, without those of no direction."""
        return _rows_of(self.frame, "candidate", names) if self.candidates else pd.DataFrame()

    def __getitem__(self, metric: str) -> pd.Series:
        """One difference as a Series: delta, ci_low, ci_high, p_value, verdict, ...; of one condition, one score.

        Of several candidates that of the first. KeyError for a metric without a direction, and one that names the
        nearest for an unknown name.
        """
        if metric not in self and any(entry.name == metric for entry in self.metrics):
            raise KeyError(
                f"{metric!r} has no direction and is not compared; its values are those of each run: run[{metric!r}]"
            )
        return super().__getitem__(metric)

    def rank(self, metric: str | None = None) -> pd.DataFrame:
        """The conditions from the best on, with rank intervals that hold together (`stats.compare.ranks`).

        `metric`: by default the primary one. Columns: condition, value, ci_low, ci_high, rank_low, rank_high.
        UsageError for one condition, an unknown metric, and one that has no direction or that a check blocks.

        >>> import evaltools as et
        >>> cmp = et.compare("example:cr/no_memory", "example:cr/with_memory")
        >>> list(cmp.rank("fix_rate_refpol")["condition"])
        ['with_memory', 'no_memory']
        """
        if len(self.conditions) == 1:
            raise UsageError(f"one condition only ({self.baseline}): nothing to rank")
        ranked = self.directed(self.primary if metric is None else metric)
        frames = {name: self.frames(name) for name in self.conditions}
        found = ranks(frames, self.metrics, self.suite.unit, ranked.name, self.resampling)
        rows = self.estimates_of(ranked.name).merge(found, on="condition")
        is_ascending = ranked.better == "lower"
        rows = rows.sort_values("value", ascending=is_ascending, kind="stable", ignore_index=True)
        return rows[RANKS]

    def plan(self, metric: str, difference: float, **settings: Any) -> pd.DataFrame:
        """How many samples under each number of seeds show a difference in a metric, these runs being the pilot.

        difference: how much better the candidate truly is, in the metric's own unit.
        settings: power (0 to 1, default 0.8), seeds (numbers of seeds to plan for, default (1, 3, 5)).

        Columns: seeds, samples (null: no number is enough), power, samples_low and samples_high (what the pilot
        leaves open), calls, ... UsageError for three conditions and more, an unknown metric, and one that has no
        direction or that a check blocks.

        >>> import evaltools as et
        >>> cmp = et.compare("example:cr/no_memory", "example:cr/with_memory")
        >>> int(cmp.plan("tuple_f1_s2_refpol", 0.1, seeds=[3])["seeds"].iloc[0])
        3
        """
        name = self.directed(metric).name
        conditions = [self.baseline, *self.candidates]
        if len(conditions) > 2:
            raise UsageError(
                "a plan takes the runs of one or two conditions; name two of "
                f"{', '.join(conditions)}"
            )
        rows = self.estimates_of(name)
        for condition in rows.loc[rows["value"].isna(), "condition"]:
            raise UsageError(f"{name} is not measured in {condition}")
        return plan(
            [self.frames(condition) for condition in conditions],
            self.metrics,
            self.suite.unit,
            name,
            difference,
            resampling=self.resampling,
            **settings,
        )

    def directed(self, name: str) -> AnyMetric:
        """The metric of that name; UsageError where it can be neither better nor worse, or means nothing here."""
        directed = self.metric(name)
        if directed.better == "none" or not getattr(directed, "denominator", True):
            raise UsageError(
                f"{directed.name} has no direction, so that no condition can be better in it"
            )
        for check in self._run_checks:
            if directed.name in check.blocks:
                raise UsageError(f"{directed.name} means nothing here: {check.message}")
        return directed

    def changes(self, metric: str, candidate: str | None = None) -> pd.DataFrame:
        """The metric of every paired unit under both conditions (`stats.differences`)."""
        name = self.candidate(candidate)
        return unit_changes(
            self.frames(self.baseline),
            self.frames(name),
            self.metrics,
            self.suite.unit,
            self.metric(metric).name,
            (self.baseline, name),
        )

    def by(self, column: Any, *metrics: str, candidate: str | None = None) -> pd.DataFrame:
        """The difference to the baseline within each part of the units that both sides have.

        `column`: a column of the units, or what `Run.by` takes; units in which the sides differ in it are the part
        "(differs)". `metrics`: by default the primary one. Columns: part, n, then those of `frame`, and turns: whether
        another part is better or worse with a difference of the other sign, of which a warning is given too. p is
        adjusted over the parts (Holm) in `p_adjusted`.

        >>> import evaltools as et
        >>> cmp = et.compare("example:cr/no_memory", "example:cr/with_memory")
        >>> sorted(cmp.by("split")["part"])
        ['dev', 'valid']
        """
        parts = iter(self._of_runs(by_parts(self.units, column)))
        in_parts = {
            name: {seed: data.assign(**{PART: next(parts).array}) for seed, data in frames.items()}
            for name, frames in zip(self.conditions, map(self.frames, self.conditions))
        }
        name = self.candidate(candidate)
        frame = compare_parts(
            in_parts[self.baseline],
            in_parts[name],
            self.metrics,
            self.suite.unit,
            self.resampling,
            [self.metric(metric).name for metric in metrics or [self.primary]],
            (self.baseline, name),
        )
        for sentence in study_sentences.turning(frame):
            warnings.warn(sentence, stacklevel=2)
        return frame

    # --- what it shows

    @property
    def plot(self) -> StudyPlots:
        """The figures: forest (differences), paired (a metric unit by unit)."""
        from .figures import StudyPlots  # loads matplotlib

        return StudyPlots(self)

    def table(self, *names: str) -> HtmlTable:
        """Metrics (by default the headline) of every candidate against the baseline; of one condition their values.

        "all": every metric, folded.
        """
        is_whole = names == ("all",)
        if is_whole:
            names = tuple(metric.name for metric in self.metrics)
        names = tuple(self.metric(name).name for name in names or self.headline)
        if self.candidates:
            return comparison_table(self, names, is_whole)
        if not is_whole:
            usual = self.suite.headline(self.options, frozenset())
            names += tuple(name for name in usual if name in self.blocked)
        return estimates_table(self, self.estimates_of(*names), is_whole)

    def samples(self, metric: str | None = None, candidate: str | None = None) -> HtmlTable:
        """The units that carry the difference of a metric (by default the primary) between baseline and candidate.

        A unit does where its own numerator or denominator differs in a seed. The largest influence comes first; of each
        unit the gold and what both conditions made of it, side by side, with how many of the seeds say so. Without
        `candidate`, a browser of each. `.frame` of what it gives holds the units of one candidate: their values on both
        sides, the change, and its influence. Of one condition, the samples of its first run.

        >>> import evaltools as et
        >>> cmp = et.compare("example:cr/no_memory", "example:cr/with_memory")
        >>> "no_memory" in cmp.samples("tuple_f1_s2_refpol").html
        True
        >>> cmp.samples("tuple_f1_s2_refpol").frame["text_id"].head(2).tolist()
        ['review-023', 'review-034']
        """
        metric = metric or self.primary
        names = [self.candidate(candidate)] if candidate else self.candidates
        if not names or not metric:
            return no_rows("Samples that differ")
        browsers = [samples_that_differ(self, metric, name) for name in names]
        folded = [fold(name, piece) for name, piece in zip(names[1:], browsers[1:])]
        return HtmlTable(stack([browsers[0], *folded]).html, browsers[0].frame)

    def provenance(self) -> HtmlTable:
        """Inputs with their hashes, policy, methods of intervals and signature."""
        compared = [comparison.table for comparison in self.comparisons.values()]
        return provenance(self, [self.estimates, *compared])

    def to_latex(self) -> str:
        """The headline as a LaTeX table: intervals, differences, bold for better, and a note (`report.paper`)."""
        return paper.latex(self)

    def paragraph(self) -> str:
        """Methods and results in words, for a paper."""
        return paper.paragraph(self)

    def _repr_html_(self) -> str:
        return in_cell(study_screen(self).html)

    def __repr__(self) -> str:
        """What came out, as plain text."""
        lines = [f"{self.name}: {self.suite.title}, {len(self.results)} runs"]
        lines += study_sentences.outcomes(self)
        lines += check_lines(all_checks(self))
        return "\n".join([*lines, self.signature])


def _rows_of(rows: pd.DataFrame, by: str, names: Sequence[str]) -> pd.DataFrame:
    """The rows on some metrics in the order of these, for each value of the column `by`."""
    keyed = rows.set_index([by, "metric"], drop=False)
    keys = [key for key in product(rows[by].unique(), names) if key in keyed.index]
    return keyed.loc[keys].reset_index(drop=True)
