"""Several runs seen together: conditions by seeds, their means, and their comparison with a baseline."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup
from pandas import DataFrame

from ..core.estimates import Check, public_frame
from ..core.files import Fields, first_names, safe_name, write_csv
from ..core.manifest import Manifest, require_replaceable, whole_folder
from ..core.messages import UsageError, echo, language, speaking
from ..core.metric import AnyMetric
from ..core.results import write_result
from ..core.suite import Suite
from ..stats.breakdown import PART, by_parts, compare_parts
from ..stats.compare import CONTRACT, compare_all, ranks
from ..stats.effects import differing, unit_changes
from ..stats.influence import Condition, label
from ..stats.intervals import aggregate
from ..stats.plan import plan
from . import paper, study_sentences
from .first_screen import study_checks
from .result import Result, n_distinct
from .run import Run
from .samples import samples_that_differ
from .tables import HtmlTable, fold, no_rows

Conditions = dict[str, dict[str, Run]]  # by seed; the seed of a system of one run is ""

# columns of `units` that name the run of a unit
RUN_COLUMNS = ["condition", "seed", "run"]
# columns of aggregated_mean_std.csv; the first where there are several conditions
AGGREGATED = [
    "condition", "metric", "mean", "std", "n_seeds", "ci_low", "ci_high", "min", "max", "blocked",
]  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Study(Result):
    """Conditions by seeds, or systems of one run each, and what follows from them.

    `study.table()` is the comparison with the baseline as the report has it and `study.frame` its frame (of one
    condition: the scores); `study.scores` the means over seeds; `cmp["metric"]` one difference.

    `declared`: the primary metric that was named, if one was. `margin`: metric -> the largest difference that does not
    matter.

    >>> import evaltools as et
    >>> study = et.study([f"example:cr/with_memory__seed{s}_proposed" for s in (1, 2, 3)])
    >>> int(study["tuple_f1_s2_refpol"]["n_seeds"])
    3
    """

    name: str
    conditions: Conditions
    baseline: str
    margin: Mapping[str, float]
    declared: str | None = None

    @property
    def suite(self) -> Suite:
        """The suite of all runs."""
        return self.results[0].suite

    @property
    def options(self) -> Any:
        return self.results[0].options

    def candidate(self, name: str | None = None) -> str:
        """The candidate of that name, by default the one that the finding names first; UsageError where there is none."""
        if not self.candidates or name not in (None, *self.candidates):
            raise UsageError(
                f"candidate: expected one of [{first_names(self.candidates)}], got {name!r}"
            )
        return name or study_sentences.by_finding(self)[0]

    def labelled(
        self,
        *names: str,
        by_sample: bool = False,
    ) -> list[Condition]:
        """These conditions, with the same labels for their units, or `by_sample` for the samples of clusters."""
        conditions = [
            (
                name,
                {
                    seed: run.sample_data if by_sample else run.data
                    for seed, run in self.conditions[name].items()
                },
            )
            for name in names
        ]
        return label(conditions, self.metrics, self.suite.unit, self.codes)

    def changes(
        self,
        metric: str,
        candidate: str,
    ) -> DataFrame:
        """The samples that carry the difference of a candidate in a metric (`stats.effects.unit_changes`).

        One with a value on one side only changes as it moves the whole. Samples of a cluster may differ where it does not.
        """
        sides = self.labelled(self.baseline, candidate, by_sample=True)
        return differing(unit_changes(sides, self.metric(metric).name))

    @cached_property
    def units(self) -> DataFrame:
        """The units of all runs, one below the other, with the columns condition, seed and run."""
        return pd.concat(
            [
                run.units.assign(condition=condition, seed=seed, run=run.name)
                for condition, seed, run in self.each
            ],
            ignore_index=True,
        )

    def _split_by_run(self, rows: Any) -> Iterator[tuple[str, str, Run, Any]]:
        """Every run with its condition, its seed and its part of some rows of `units`, indexed as the run's data."""
        start = 0
        for condition, seed, run in self.each:
            places = range(start, start := start + len(run.data))
            own = rows[rows.index.isin(places)]
            yield condition, seed, run, own.set_axis(run.data.index[own.index - places.start])

    def where(self, part: Any) -> Study:
        """The study over some of the units of every run, with its own intervals.

        `part`: a query on the units, true or false for each, or rows of `units`, whose columns may be new or changed.
        UsageError where a run has none of them.

        >>> import evaltools as et
        >>> study = et.study([f"example:cr/with_memory__seed{s}_proposed" for s in (1, 2)])
        >>> [run.n_units for run in study.where(study.units["split"] == "dev").results]
        [30, 30]
        """
        if part is self.units:
            return self
        rows, query = self.rows_of_part(part, RUN_COLUMNS)
        conditions: Conditions = {name: {} for name in self.conditions}
        for condition, seed, run, own in self._split_by_run(rows.drop(columns=RUN_COLUMNS)):
            # columns without a value are those of other runs
            conditions[condition][seed] = run.where(own.dropna(axis="columns", how="all"), query)
        return replace(self, conditions=conditions)

    @cached_property
    def checks(self) -> list[Check]:
        """The checks of all runs, and of what some runs lack, the worst first; in English."""
        with speaking("en"):
            return study_checks(self)

    @cached_property
    def estimates(self) -> DataFrame:
        """The estimates of every condition over its seeds, as `core.estimates` has them; only single runs have sums."""
        return aggregate(self.labelled(*self.conditions), self.resampling).assign(
            numerator=None, denominator=None
        )

    @cached_property
    def frame(self) -> DataFrame:
        """Every metric of every candidate against the baseline (`stats.compare`); of one condition, its scores.

        What a check blocks has no p and no verdict.
        """
        if not self.candidates:
            return public_frame(self.estimates).join(
                self.estimates[["condition", "std", "n_seeds"]]
            )
        return compare_all(
            self.labelled(self.baseline, *self.candidates),
            self.resampling,
            self.headline,
            self.margin,
        )

    @property
    def scores(self) -> DataFrame:
        """The headline of every condition, as `estimates`; values are means over seeds, or those of a system's one run."""
        return self.estimates_of(*self.headline).rename(columns={"metric": "name"})

    def rank(self, metric: str | None = None) -> DataFrame:
        """The conditions, best first, with simultaneous rank intervals (`stats.compare.ranks`).

        `metric`: by default the primary one. Columns: condition, value, ci_low, ci_high, rank_low, rank_high.
        UsageError for one condition, an unknown metric, and one that has no direction or that a check blocks.

        >>> import evaltools as et
        >>> cmp = et.compare("example:memfin/plain_llm", "example:memfin/memory_agent")
        >>> list(cmp.rank("m1_key_coverage")["condition"])
        ['memory_agent', 'plain_llm']
        """
        if len(self.conditions) == 1:
            raise UsageError(f"one condition only ({self.baseline}): nothing to rank")
        ranked = self.directed(metric or self.primary)
        rows = self.estimates_of(ranked.name).merge(
            ranks(self.labelled(*self.conditions), ranked.name, self.resampling), on="condition"
        )
        rows = rows.sort_values(
            "value", ascending=ranked.better == "lower", kind="stable", ignore_index=True
        )
        return rows[["condition", "value", "ci_low", "ci_high", "rank_low", "rank_high"]]

    def plan(
        self,
        metric: str,
        difference: float,
        **settings: Any,
    ) -> DataFrame:
        """The number of samples that shows a difference in a metric, for each number of seeds; these runs are the pilot.

        difference: how much better the candidate truly is, in the metric's own unit.
        settings: power (0 to 1, default 0.8), seeds (numbers of seeds to plan for, default (1, 3, 5)).

        Columns: seeds, samples (null: no number is enough), samples_low and samples_high (what the pilot leaves
        open). UsageError where these are not two conditions, and as `rank`.

        >>> import evaltools as et
        >>> cmp = et.compare("example:memfin/plain_llm", "example:memfin/memory_agent")
        >>> cmp.plan("m1_key_coverage", 0.3, seeds=[1])["samples"].tolist()
        [10.0]
        """
        return plan(
            self.labelled(self.baseline, *self.candidates),
            self.directed(metric).name,
            difference,
            resampling=self.resampling,
            **settings,
        )

    def directed(self, name: str) -> AnyMetric:
        """The metric that a name, or another name, stands for.

        UsageError where it can be neither better nor worse, or means nothing here.
        """
        metric = self.metric(name)
        if not self.formulas[name].is_directed:
            raise UsageError(
                f"{name} has no direction or is a count: no condition can be better in it"
            )
        if name in self.blocked:
            why = next(check.message for check in self.checks if name in check.blocks)
            raise UsageError(f"{name} means nothing here: {why}")
        return self.metric(metric.alias_of or name)

    def by(
        self,
        column: Any,
        *metrics: str,
        candidate: str | None = None,
    ) -> DataFrame:
        """The difference from the baseline within each part of the units that both sides have.

        `column`: as in `Run.by`; a sample is compared in a part that it is in on both sides. `metrics`: by default
        the primary one. Columns: part, n (pairs of the metric), then those of `frame`: p adjusted over the parts
        (Holm), and so the verdict; each interval is of its part alone. What is blocked in the whole is so in every
        part. UsageError as `rank`.

        >>> import evaltools as et
        >>> cmp = et.compare("example:memfin/plain_llm", "example:memfin/memory_agent")
        >>> sorted(cmp.by("difficulty")["part"])
        ['easy', 'hard', 'medium']
        """
        candidate = self.candidate(candidate)
        sides: Fields = {self.baseline: {}, candidate: {}}
        for condition, seed, run, parts in self._split_by_run(by_parts(self.units, column)):
            if condition in sides:
                sides[condition][seed] = run.data.assign(**{PART: parts})
        rows = self.frame[self.frame["candidate"] == candidate].set_index("metric")
        return compare_parts(
            sides,
            self.metrics,
            self.suite.unit,
            self.resampling,
            [self.directed(metric).name for metric in metrics or [self.primary]],
            {candidate: dict(rows["blocked"].dropna())},
        )

    def samples(
        self,
        metric: str | None = None,
        candidate: str | None = None,
    ) -> HtmlTable:
        """The samples that carry the difference of a metric (by default the primary) between baseline and candidate.

        The largest influence comes first; of each sample the cards of both conditions stand beside each other. Without
        `candidate`, a browser of each, the one that the finding names first. `.frame`: the samples of the first with
        their values on both sides, the change, and its influence.

        >>> import evaltools as et
        >>> cmp = et.compare("example:memfin/plain_llm", "example:memfin/memory_agent")
        >>> cmp.samples("m1_key_coverage").frame["dialog_id"].head(2).tolist()
        ['memfin-ex-01', 'memfin-ex-03']
        """
        metric = metric or self.primary
        if not self.candidates or not metric:
            return no_rows("Samples that differ", DataFrame())
        names = [self.candidate(candidate)] if candidate else study_sentences.by_finding(self)
        first, *others = [samples_that_differ(self, metric, name) for name in names]
        return HtmlTable(Markup("").join([first, *map(fold, names[1:], others)]), first.frame)

    def paragraph(self) -> str:
        """Methods and results in words, for a paper; paragraphs are split at empty lines."""
        return "\n\n".join(paper.paragraphs(self))

    # --- the files of results/<condition>_aggregated/

    @property
    def comparison(self) -> DataFrame:
        """The rows of comparison.csv: every candidate against the baseline."""
        return self.frame[[*CONTRACT]]

    def save(
        self,
        out: Path,
        conditions: Iterable[str],
    ) -> list[Path]:
        """Write results/<condition>_aggregated/ for these conditions, each whole; returns them.

        A line says where one of another study is replaced. UsageError, and nothing is written, where the result of a run
        or of another suite stands in the place of one.
        """
        targets = {name: out / "results" / f"{safe_name(name)}_aggregated" for name in conditions}
        earlier = {name: require_replaceable(target) for name, target in targets.items()}
        for name, stored in earlier.items():
            if stored and (stored.kind, stored.suite) != ("aggregate", self.suite.name):
                raise UsageError(
                    f"{targets[name]} holds {stored.run} ({stored.suite} {stored.kind}); give another --out"
                )
        for condition, target in targets.items():
            estimates = self.estimates[self.estimates["condition"] == condition]
            columns = AGGREGATED if self.candidates else AGGREGATED[1:]
            tables = {"aggregated_mean_std": estimates.rename(columns={"value": "mean"})[columns]}
            if self.candidates:
                tables["comparison"] = self.comparison
                if condition == self.baseline and len(self.rows_of(self.primary)):
                    tables["ranks"] = self.rank()
            stored, manifest = earlier[condition], self._manifest(condition, target)
            if stored and (stored.report, stored.headline) != (manifest.report, manifest.headline):
                echo(
                    f"note: {target} held another study, {stored.report} (primary {first_names(stored.headline[:1])}); "
                    "a page of it links the new numbers now, and its command makes the old ones again",
                    err=True,
                )
            with whole_folder(target) as folder:
                for name, table in tables.items():
                    write_csv(folder / f"{name}.csv", table)
                write_result(
                    folder,
                    manifest,
                    self.signature,
                    public_frame(estimates).join(estimates["n_seeds"]),
                    self.checks,
                )
        return list(targets.values())

    def _manifest(
        self,
        condition: str,
        target: Path,
    ) -> Manifest:
        """The manifest of one condition."""
        runs = list(self.conditions[condition].values())
        found = study_sentences.verdicts(self)
        if self.candidates:
            found[self.baseline] = "baseline"
        return self.results[0].manifest.model_copy(
            update={
                "kind": "aggregate",
                "headline": list(self.headline),
                "n_units": n_distinct(runs, self.suite.unit),
                "run": f"{condition}_aggregated",
                "report": self.name,
                "condition": condition,
                "verdict": found.get(condition, ""),
                "baseline": self.baseline,
                "primary": self.declared or "",
                "margin": dict(self.margin),
                "runs": [run.name for run in runs],
                "folders": [
                    os.path.relpath(run.folder or target.parent / run.name, target) for run in runs
                ],
                "inputs": [entry for run in runs for entry in run.manifest.inputs],
                "members": [run.manifest for run in self.results],
                "problems": [problem for run in runs for problem in run.manifest.problems],
                "answered_by": {},
                "lang": language(),
                "started": datetime.now(UTC).isoformat(timespec="seconds"),
            }
        )
