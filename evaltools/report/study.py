"""Several runs as a reader sees them: `StudyView`, a study that shows itself, and `study` and `compare`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..core.check import WORDS
from ..core.errors import OnError, Problems, UsageError
from ..core.files import resolve
from ..core.language import say
from ..core.manifest import NAME
from ..core.names import RUN_NAME, find_runs
from ..core.resampling import Resampling
from ..core.results import CLAIM_ONE, Result, read_manifest, result_at, suite_of
from ..core.suite import Budget, Suite, Workers, get_suite, looks_like, refuse_parent
from ..stats.compare import mde_text, p_text, unit_changes, verdict_text
from ..stats.seeds import CONTRACT as AGGREGATE_COLUMNS
from . import paper
from . import study_tables as views
from .differences import carrying, differences
from .markdown import markdown_table, plain, struck, titled
from .run import Plots, Run, bundled, coverage_notice, dots, evaluate, load, problems_of
from .run import views as of_suite
from .study_data import Study, group_by_name, group_by_seed, make_study
from .study_files import save_study
from .tables import (
    HtmlTable,
    Shown,
    checks,
    estimates_table,
    folds,
    interval,
    no_rows,
    notice,
    run_line,
    signature_block,
    stack,
    table,
    verdict,
    where_to_look,
    words,
)
from .view import TableView


class Stack(list[Any]):
    """Several things, each shown below the other in a notebook."""

    def _ipython_display_(self) -> None:
        from IPython.display import display

        for item in self:
            display(item)


class StudyView(Shown, Study):
    """Conditions by seeds, or systems of one run each, which show themselves in a notebook.

    `study.table()` is the comparison with the baseline as the report has it and `study.frame` its frame (of one
    condition: the scores); `study.plot` the figures; `study.table("scores")` the means over seeds.

    >>> import evaltools as et
    >>> study = et.study([f"example:cr/with_memory__seed{s}_proposed" for s in (1, 2, 3)])
    >>> row = study.frame.set_index("name").loc["tuple_f1_s2_refpol"]
    >>> row["title"], int(row["n_seeds"])
    ('Tuple F1 after review (ref-pol)', 3)
    """

    @property
    def frame(self) -> pd.DataFrame:
        """Every metric of every candidate against the baseline (`stats.compare`); of one condition, its scores."""
        names = [m.name for m in self.metrics]
        return (
            views.comparison(self, headline=False)
            if self.comparisons
            else views.estimates(self, names)
        )

    @property
    def plot(self) -> Plots:
        """The figures: forest (differences), scores, seeds, paired (the primary metric, or metric=...), ranks."""
        return Plots(self, FIGURES)

    @property
    def tables(self) -> list[str]:
        """What `table` takes."""
        return [*TABLES, *of_suite(self.suite, "STUDY_TABLES")]

    def table(self, which: str = "comparison") -> HtmlTable:
        """The comparison with the baseline, or another of `study.tables`; UsageError for another name."""
        if which not in self.tables:
            raise UsageError(f"no table {which!r}; there are {', '.join(self.tables)}")
        make: Callable[[StudyView], HtmlTable] = {**TABLES, **of_suite(self.suite, "STUDY_TABLES")}[
            which
        ]
        return make(self)

    def _scores(self) -> HtmlTable:
        what: dict[str, Any] = {"metrics": self.metrics, "resampling": self.resampling}
        return estimates_table(views.estimates(self), **what, group=False)

    def _agreement(self) -> HtmlTable:
        return estimates_table(views.agreement_estimates(self), group=False)

    def _notes(self) -> HtmlTable:
        """What came out, in words, and what must be known of it; of a single run its page has said all."""
        said = [words(views.narrative(self))] if self.seeded or self.comparisons else []
        return stack([*said, *map(notice, map(note_text, self.notes))])

    def _mean_std(self, *, headline: bool) -> HtmlTable:
        names = self.headline if headline else [m.name for m in self.metrics if not m.alias_of]
        found = views.mean_std(self, names)
        off = found["id"].isin(self.blocked)
        titles = {m.name: titled(m.title or m.name, m.better) for m in self.metrics}
        found = found.assign(
            metric=found["id"].map(titles), **{c: _struck(found[c], off) for c in self.conditions}
        )
        columns = {c: c if c in self.conditions else say(c) for c in found}
        return table(found, caption="Mean ± std over seeds", columns=columns)

    def _comparison(self, *, headline: bool) -> HtmlTable:
        found = views.comparison(self, headline=headline)
        if found.empty:
            return no_rows("Differences of one condition only")
        several = len(self.comparisons) > 1
        columns = {
            "metric": say("metric"),
            "candidate": say("candidate"),
            "value_baseline": self.baseline,
        }
        columns["value_candidate"] = say("candidate") if several else self.candidates[0]
        columns |= {"difference": say("difference"), "p": say("p adj."), "n_units": "n"}
        columns |= {"mde": say("could show"), "verdict": say("verdict")}
        if not several:
            del columns["candidate"]
        rows = found.to_dict("records")
        off = found["metric"].isin(self.blocked)
        sides = ("value_baseline", "value_candidate")
        shown = found.assign(
            **{side: _struck(found[side], off) if off.any() else found[side] for side in sides},
            metric=[titled(r["title"], r["better"]) for r in rows],
            difference=[_difference(r) for r in rows],
            p=[_p(r) for r in rows],
            mde=[mde_text(r) for r in rows],
            verdict=[say(verdict_text(r)) for r in rows],
        )
        shown.loc[off, ["difference", "p", "mde"]] = ""
        shown.loc[off, "verdict"] = say(WORDS["blocking"]).lower()
        caption = say(
            "Differences to {baseline}, over what both sides have", baseline=self.baseline
        )
        return table(shown, columns=columns, caption=caption)

    def _ranks(self) -> HtmlTable:
        return stack([words(" ".join(map(say, views.ranking(self)))), table(self.rank())])

    def ranking(self) -> Stack:
        """The table and the figure of the ranks on the primary metric; nothing below three conditions."""
        return Stack([self._ranks(), self.plot.ranks()] if views.is_ranked(self) else [])

    def samples(
        self, metric: str | None = None, candidate: str | None = None, share: int | None = None
    ) -> HtmlTable:
        """The units whose value of a metric (by default the primary) differs between baseline and candidate.

        The largest influence on the difference comes first; of each unit the gold and, for every seed, what both
        conditions made of it, side by side. Without `candidate`, a browser of each. `share`: how many browsers
        share the room of the page, by default these.

        >>> import evaltools as et
        >>> cmp = et.compare("example:cr/no_memory", "example:cr/with_memory")
        >>> "no_memory, seed 1" in cmp.samples("tuple_f1_s2_refpol").html
        True
        """
        metric = metric or self.primary
        names = [self._candidate(candidate)] if candidate else self.candidates
        found = [
            differences(self, metric, name, self.changes(metric, name), share or len(names))
            for name in names
        ]
        return stack(found) if found else no_rows("Differences")

    def changes(self, metric: str, candidate: str | None = None) -> pd.DataFrame:
        """The metric of every paired unit under both conditions (`stats.compare.unit_changes`)."""
        a, b = (self.frames(c) for c in (self.baseline, self._candidate(candidate)))
        return unit_changes(
            a, b, self.metrics, self.suite.unit, self.suite.metric(metric, self.options).name
        )

    def _candidate(self, name: str | None) -> str:
        """The candidate of that name, by default the first."""
        if not self.comparisons:
            raise UsageError("one condition only: nothing to compare")
        if name is not None and name not in self.comparisons:
            raise UsageError(f"no candidate {name!r}; there is {', '.join(self.comparisons)}")
        return name or next(iter(self.comparisons))

    def each(self, show: Callable[[Any], Any]) -> Any:
        """What `show` makes of a run; of several runs one below the other, folded under their names but the first."""
        found = [(r.name, show(r)) for r in self.results]
        return found[0][1] if len(found) == 1 else folds(found)

    def to_latex(self) -> str:
        """The headline as a LaTeX table: intervals, differences, bold for better, and a note (`report.paper`)."""
        return paper.latex(self)

    def paragraph(self) -> str:
        """Methods and results in words, for a paper."""
        return paper.paragraph(self)

    def coverage(self) -> HtmlTable:
        """What simulation says of the headline intervals where they cover more or less than they claim."""
        if not self.seeded:
            return stack(r.coverage() for r in self.results if isinstance(r, Run))
        return coverage_notice(views.coverage(self))

    def page(self) -> HtmlTable:
        """What was compared, the verdicts in words, what a reader must know, and the signature."""
        if not self.seeded and len(self.results) == 1:
            return stack(r.page() for r in self.results if isinstance(r, Run))
        what = say("{suite} · {n} runs", suite=say(self.suite.title), n=len(self.results))
        line = run_line(self.name, what, max(r.n_units for r in self.results), self.suite.unit)
        problems = [f"{r.name}: {text}" for r in self.results if (text := problems_of(r))]
        strip = checks([*bundled(self.results), *self.checks], "; ".join(problems))
        lead = [verdict(text) for text in views.verdicts(self)]
        below = *views.settling(self), views.how(self) if lead else views.narrative(self)
        rest = [words(text) for text in below if text]
        counts: dict[str, int] = {}
        for c in self.candidates:
            counts |= carrying(self, c, self.changes(self.primary, c))
        return stack(
            [line, strip, *lead, where_to_look(counts), *rest, signature_block(self.signature)]
        )


SHARES = {
    "var_share_seed": "seeds",
    "var_share_sample": "samples",
    "var_share_residual": "interaction",
}
"""Column of shares of the variance -> its header."""

TABLES: Mapping[str, Callable[[StudyView], HtmlTable]] = {
    "comparison": partial(StudyView._comparison, headline=True),
    "all metrics": partial(StudyView._comparison, headline=False),
    "scores": StudyView._scores,
    "mean and std": partial(StudyView._mean_std, headline=True),
    "all scores": partial(StudyView._mean_std, headline=False),
    "ranks": StudyView._ranks,
    "notes": StudyView._notes,
    "agreement": StudyView._agreement,
    "runs": TableView(views.runs, "Runs"),
    "variance": TableView(
        views.variance_shares,
        "Shares of the variance",
        {"title": "metric", "condition": "condition", **SHARES, "df": "df"},
        {"title": say, **dict.fromkeys(SHARES, ".2f"), "df": ".1f"},
    ),
}


def note_text(note: str) -> str:
    """A note of a study, which stands after the conditions that it is about."""
    about, _, text = note.partition(": ")
    return f"{about.replace(' and ', say(' and '))}: {say(text)}" if text else say(note)


def _struck(column: pd.Series, off: pd.Series) -> pd.Series:
    """Values, those that are `off` struck."""
    cells = [struck(plain(v)) if blocked else v for v, blocked in zip(column, off)]
    return pd.Series(cells, column.index, dtype=object)


def _p(row: Mapping[Any, Any]) -> str:
    """p, adjusted where the metric is one of a family, else marked as raw."""
    raw = pd.isna(row["p_adjusted"])
    p = row["p_value"] if raw else row["p_adjusted"]
    return "" if pd.isna(p) else p_text(p).removeprefix("= ") + (" " + say("raw") if raw else "")


def _difference(row: Mapping[Any, Any]) -> str:
    if pd.isna(row["delta"]):
        return "N/A"
    return f"{row['delta']:+.3f} {interval(row, signed=True)}".rstrip()


def _claim(study: Study) -> str:
    return say(
        "claim: {claim}",
        claim=say("new seeds and new samples" if study.seeded else "new samples, these systems"),
    )


def _forest(study: StudyView) -> Any:
    level = f"{study.resampling.confidence:.0%}"
    return dots(
        views.deltas(study),
        title="Differences to the baseline",
        xlabel=say("candidate less baseline, {level} interval", level=level),
        zero=True,
        claim=_claim(study),
    )


def _scores(study: StudyView) -> Any:
    what = say("mean over seeds") if study.seeded else say("value")
    level = f"{study.resampling.confidence:.0%}"
    title = "Headline metrics by condition" if len(study.conditions) > 1 else "Headline metrics"
    alone = say("claim: {claim}", claim=say(CLAIM_ONE))
    return dots(
        views.estimates(study),
        title=title,
        xlabel=say("{what}, {level} interval", what=what, level=level),
        claim=_claim(study) if study.seeded else alone,
    )


def _seeds(study: StudyView) -> Any:
    return dots(
        views.estimates(study),
        points=views.per_seed(study),
        title="Every seed",
        xlabel="value of a run (dot), mean (line) and interval (band)",
        claim=_claim(study),
    )


def _paired(study: StudyView, *, metric: str | None = None, candidate: str | None = None) -> Any:
    """A metric, by default the primary; where there are several candidates and none is named, a figure of each."""
    metric = metric or study.primary
    if candidate is None and len(study.candidates) != 1:
        return Stack(_paired(study, metric=metric, candidate=c) for c in study.candidates)
    from .figures import paired

    name = study._candidate(candidate)
    found = study.suite.metric(metric, study.options)
    over = say(", mean over seeds") if study.seeded else ""
    return paired(
        study.changes(metric, name),
        before="baseline",
        after="candidate",
        title=say(
            "{metric} of each sample: {candidate} against {baseline}",
            metric=titled(found.title or metric, found.better),
            candidate=name,
            baseline=study.baseline,
        ),
        xlabel=say("under {condition}", condition=study.baseline) + over,
        ylabel=say("under {condition}", condition=name) + over,
        better=found.better,
    )


def _ranks(study: StudyView) -> Any:
    if not views.is_ranked(study):
        raise UsageError("nothing to rank: fewer than three conditions")
    found = study.rank().dropna(subset=["group"]).reset_index(drop=True)
    level = f"{study.resampling.confidence:.0%}"
    title = [
        f"{condition}  {group}" for condition, group in zip(found["condition"], found["group"])
    ]
    shown = {
        "title": title,
        "value": found.index + 1.0,
        "ci_low": found["rank_low"],
        "ci_high": found["rank_high"],
    }
    chart = dots(
        pd.DataFrame(shown).astype({"ci_low": float, "ci_high": float}).assign(n_units=np.nan),
        title=say(
            "Ranks on {title}", title=say(study.suite.metric(study.primary, study.options).title)
        ),
        xlabel=say("rank (dot: of the value), {level} interval for all ranks at once", level=level),
    )
    chart.axes[0].set_xticks(range(1, len(found) + 1))
    return chart


FIGURES: Mapping[str, Callable[..., Any]] = {
    "forest": _forest, "scores": _scores, "seeds": _seeds, "paired": _paired, "ranks": _ranks,
}  # fmt: skip


def read_runs(
    run: str | Path | Result,
    suite: str | Suite | None = None,
    budget: Budget | None = None,
    **how: Any,
) -> list[Result]:
    """The results that a run stands for: a result as it is, a results folder read, all else scored by `evaluate`.

    Several where it is an input that holds several runs and `name` picks none of them. `budget`: the suite's options,
    for all runs of a command together. Without `suite` it is the one that the input looks like. UsageError where that
    is none or several.
    """
    if isinstance(run, Result) or result_at(resolve(run)) is not None:
        if budget:
            budget.without()
        return [run if isinstance(run, Result) else load(run)]
    path = resolve(run)
    manifest = read_manifest(path)
    if manifest is not None and manifest.kind == "aggregate":
        raise UsageError(
            f"{path} is an aggregate over seeds; name its runs: {', '.join(manifest.runs)}"
        )
    suite = suite_for(path) if suite is None else suite
    suite = get_suite(suite) if isinstance(suite, str) else suite
    names = [None] if manifest is not None or how.get("name") else suite.runs_of(path, Problems())
    found: list[Result] = []
    for name in names:
        part = budget.part(suite.options) if budget else {}
        found.append(
            evaluate(suite, run, **{**how, **part, **({"name": name} if len(names) > 1 else {})})
        )
        if budget:
            budget.back(part, suite.spent(found[-1]))
    return found


def suite_of_run(path: Path) -> Suite:
    """The suite of a results folder, or of a run to score. UsageError where that is none or several."""
    manifest = read_manifest(path.parent if path.name == NAME else path)
    return suite_of(manifest) if manifest is not None else get_suite(suite_for(path))


def suite_for(path: Path) -> str:
    """The suite that a path looks like an input of. UsageError where that is none or several."""
    names = looks_like(path)
    if len(names) == 1:
        return names[0]
    if not path.exists():
        raise UsageError(f"{path}: no such run")
    if not names:
        refuse_parent(path, looks_like)
    what = (
        f"looks like an input of {', '.join(names)}" if names else "looks like an input of no suite"
    )
    raise UsageError(f"{path} {what}: name it with suite (--suite)")


def study(
    runs: Iterable[str | Path | Result],
    *,
    suite: str | Suite | None = None,
    baseline: str | None = None,
    name: str | None = None,
    out: str | Path | None = None,
    resampling: Resampling | None = None,
    on_error: OnError = "fail",
    workers: Workers | None = None,
    fresh: bool = False,
    metrics: str | Path | None = None,
    primary: str | None = None,
    margin: Mapping[str, float] | None = None,
    **options: Any,
) -> StudyView:
    """Several runs together: means over seeds, and every condition compared with the baseline.

    `runs`: results, results folders, or what `evaluate` takes. Runs named <run_id>__seed<N>_<mode> are seeds of the
    condition run_id; others are systems of one run each, the first given being the baseline unless `baseline` says
    otherwise. `primary` names the metric that is tested alone (default: the suite's), `margin` gives for metrics the
    largest difference that does not matter: equivalence within it is tested. The other parameters are those of
    `evaluate`. With `out`, writes results/<run>/ for every run that is scored and results/<condition>_aggregated/ for
    every condition.

    Raises InputError and UsageError as `evaluate` does, and UsageError for runs that cannot be put together.

    >>> import evaltools as et
    >>> study = et.study(["example:memfin/memory_agent", "example:memfin/plain_llm"])
    >>> study.baseline, study.candidates
    ('memory_agent', ['plain_llm'])
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    how = {"resampling": resampling, "on_error": on_error, "workers": workers, "metrics": metrics}
    runs = list(runs)
    if name is not None and len(runs) == 1:
        how["name"] = name
    budget = Budget(options, len(runs))
    found = [
        (run, r) for run in runs for r in read_runs(run, suite, budget, out=out, fresh=fresh, **how)
    ]
    results = [result for _, result in found]
    seeded = bool(results) and all(RUN_NAME.match(r.name) for r in results)
    conditions = group_by_seed(results) if seeded else group_by_name(results)
    alone = results[0].name if len(results) == 1 and not seeded else None
    made = make_study(
        conditions,
        kind=StudyView,
        name=name or alone,
        baseline=baseline,
        primary=primary,
        margin=margin,
    )
    if out is not None and (seeded or len(results) > 1):
        seconds = round(time.perf_counter() - clock, 3)
        out = Path(out)
        folders = {r.name: folder_of(run, out / "results" / r.name) for run, r in found}
        save_study(
            made,
            out,
            started.isoformat(timespec="seconds"),
            seconds,
            folders,
            partial(_markdown, made),
        )
    return made


def folder_of(run: str | Path | Result, made: Path) -> Path:
    """Where the result of a run stands: the results folder that was given as the run, or the one made of it."""
    given = made if isinstance(run, Result) else resolve(run)
    return given if result_at(given) is not None else made


def _markdown(study: Study, condition: str) -> dict[str, str]:
    found = markdown_table(study.aggregates[condition][list(AGGREGATE_COLUMNS)])
    n = len(study.conditions[condition])
    return {
        "aggregated_mean_std.md": f"# {condition} over {n} seed(s)\n\n{found}\n`{study.signature}`\n"
    }


def compare(
    baseline: Any,
    candidate: Any,
    *,
    suite: str | Suite | None = None,
    resampling: Resampling | None = None,
    on_error: OnError = "fail",
    workers: Workers | None = None,
    metrics: str | Path | None = None,
    primary: str | None = None,
    margin: Mapping[str, float] | None = None,
    **options: Any,
) -> StudyView:
    """Paired comparison of two runs, or of two sets of seeds.

    Each side is a result, several results (seeds of one condition), or a text as on the command line: a run, a
    results folder, a run_id (the common prefix of the folders <run_id>__seed<N>_<mode>), or several joined by commas.
    `primary` names the metric that is tested alone (default: the suite's), `margin` gives for metrics the largest
    difference that does not matter: equivalence within it is tested. The other parameters are those of `evaluate`.

    Raises UsageError where a side holds several conditions or nothing is found.

    >>> import evaltools as et
    >>> cmp = et.compare("example:cr/no_memory", "example:cr/with_memory")
    >>> int(cmp.frame.set_index("metric").loc["tuple_f1_s2_refpol", "n_seeds"])
    3
    """
    how = {"resampling": resampling, "on_error": on_error, "workers": workers, "metrics": metrics}
    given = [_runs_of(x) for x in (baseline, candidate)]
    budget = Budget(options, sum(map(len, given)))
    (a, runs_a), (b, runs_b) = (_side(runs, suite, budget, how) for runs in given)
    if a == b:
        a, b = f"{a} (A)", f"{b} (B)"
    if len(runs_a) == len(runs_b) == 1:
        # one run each: they pair by sample, whatever their seeds are called
        runs_a, runs_b = {"": next(iter(runs_a.values()))}, {"": next(iter(runs_b.values()))}
    both = {a: runs_a, b: runs_b}
    return make_study(
        both, kind=StudyView, baseline=a, name="comparison", primary=primary, margin=margin
    )


def _runs_of(given: Any) -> list[Any]:
    if isinstance(given, Result):
        return [given]
    return [*find_runs(str(given))] if isinstance(given, str | Path) else list(given)


def _side(
    runs: Sequence[Any], suite: str | Suite | None, budget: Budget, how: Mapping[str, Any]
) -> tuple[str, dict[str, Result]]:
    """(name of the condition, seed -> result) of one side of a comparison."""
    results = [result for run in runs for result in read_runs(run, suite, budget, **how)]
    if len(results) == 1 and not RUN_NAME.match(results[0].name):
        return results[0].name, {"": results[0]}
    grouped = group_by_seed(results)
    if len(grouped) > 1:
        raise UsageError(
            f"{', '.join(map(str, runs))} holds several conditions: {', '.join(grouped)}"
        )
    return next(iter(grouped.items()))
