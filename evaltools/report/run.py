"""One run as a reader sees it: `Run`, a result that shows itself, and the public `evaluate` and `load`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from ..core import evaluate as core
from ..core import results
from ..core.check import Check
from ..core.errors import OnError, UsageError
from ..core.files import EXAMPLES, dumps
from ..core.language import say
from ..core.metric import AnyMetric, subset
from ..core.resampling import Resampling
from ..core.results import Result
from ..core.suite import Suite, Workers
from ..stats.breakdown import breakdown
from ..stats.compare import differing, unit_changes
from ..stats.coverage import coverage_notes
from ..stats.intervals import estimate
from .samples import Marked, samples
from .tables import (
    HtmlTable,
    Shown,
    checks,
    estimates_table,
    kpis,
    no_rows,
    notice,
    problems_text,
    run_line,
    signature_block,
    stack,
    table,
    where_to_look,
)
from .view import SampleView


def views(suite: Suite, name: str) -> Any:
    """What the suite's views module holds under that name; {} where there is none."""
    return getattr(import_module(suite.views), name, {}) if suite.views else {}


def sample_views(of: Any) -> tuple[SampleView, ...]:
    """How the suite of a run or study browses its units, the marks of the headline first; none without."""
    make = views(of.suite, "sample_views")
    return tuple(make(of)) if make else ()


def dots(*args: Any, **how: Any) -> Any:
    """`figures.dots`; matplotlib is loaded where a figure is drawn."""
    from . import figures

    return figures.dots(*args, **how)


class Plots:
    """The figures of a run or study, each a function that returns a matplotlib figure; `dir()` lists them."""

    def __init__(self, owner: Any, own: Mapping[str, Callable[..., Any]]):
        self._owner, self._own = owner, own

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self._own:
            raise AttributeError(f"no figure {name!r}; there are {', '.join(self._own)}")
        return lambda **how: self._own[name](self._owner, **how)

    def __dir__(self) -> list[str]:
        return list(self._own)


class Run(Shown, Result):
    """The numbers of one run, which show themselves in a notebook.

    `run["fix_rate_refpol"]` is one estimate, `run.frame` all of them, `run.table()` the same as the report has it;
    `run.units` are the units, `run.samples(...)` a browser of some, `run.plot` the figures.

    >>> import evaltools as et
    >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
    >>> round(float(run["tuple_f1_s2_refpol"]["value"]), 4)
    0.8783
    """

    @property
    def plot(self) -> Plots:
        """The figures: forest(*names), breakdown(column), spread(metric), and those of the suite."""
        return Plots(self, {**FIGURES, **views(self.suite, "FIGURES")})

    @property
    def tables(self) -> list[str]:
        """What `table` takes: the groups of the metrics, and the tables of the suite."""
        groups = dict.fromkeys(m.group for m in self.metrics)
        return [*groups, *views(self.suite, "TABLES")]

    def rows(self, *names: str) -> pd.DataFrame:
        """The estimates of some groups or metrics, in this order; all without any. UsageError for an unknown name."""
        if not names:
            return self.frame
        found = []
        for name in names:
            group = self.frame["group"] == name
            mine = (
                group
                if group.any()
                else self.frame["name"] == self.suite.metric(name, self.options).name
            )
            found.append(self.frame[mine])
        return pd.concat(found, ignore_index=True)

    def table(self, *names: str, aliases: bool = False) -> HtmlTable:
        """Estimates of groups or metrics as the report has them, or a table of the suite; all metrics without a name.

        `run.tables` lists the groups and tables; UsageError for another name. `aliases` keeps the metrics that are
        other names of one that is shown.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> "Fix rate" in run.table("Correction by review").html
        True
        """
        own = views(self.suite, "TABLES")
        if len(names) == 1 and names[0] in own:
            shown: HtmlTable = own[names[0]](self)
            return shown
        rows = self.rows(*names)
        if names:  # a section of what has no value, and cannot have any, is left out
            rows = rows[rows["value"].notna() | ~rows["name"].isin(self.blocked)]
        if rows.empty:
            return stack([])
        group = rows["group"].nunique() != 1
        what: dict[str, Any] = {
            "metrics": self.metrics,
            "resampling": self.resampling,
            "blocked": self.blocked,
        }
        return estimates_table(rows, **what, group=group, aliases=aliases)

    def samples(self, which: str | None = None, share: int = 1) -> HtmlTable:
        """A browser of units: all groups of the suite, one of them ("broken"), or a query on `units`.

        A query is what pandas takes: "outcome_refpol == 'still'". UsageError for one that the units cannot answer.
        `share`: how many browsers share the room of the page.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> "et-sample" in run.samples("has_gold and n_gold_tuples > 1").html
        True
        """
        if which is not None or not self.sample_views:
            query, caption = self.sample_groups.get(
                which or "", (which or "", which or "All units")
            )
            return self.browser(self.queried(query), caption, share=share)
        found = self.members
        there = self.units.index.isin(
            pd.concat([u for groups in found.values() for u in groups.values()]).index
        )
        return (
            self.browser(self.units[there], "Samples", found, share)
            if there.any()
            else no_rows("Samples")
        )

    @cached_property
    def sample_views(self) -> tuple[SampleView, ...]:
        """How the suite browses its units, a view a way of marking them, that of the headline first; none without."""
        return sample_views(self)

    @property
    def sample_groups(self) -> Mapping[str, tuple[str, str]]:
        """Group of units -> (query, caption), as the headline counts them."""
        return self.sample_views[0].groups(self) if self.sample_views else {}

    @cached_property
    def members(self) -> dict[str, dict[str, pd.DataFrame]]:
        """Name of a view -> label of a group -> its units."""
        return {
            view.name: {
                text.partition(":")[0]: self.queried(query)
                for query, text in view.groups(self).values()
            }
            for view in self.sample_views
        }

    def queried(self, query: str) -> pd.DataFrame:
        """The units that a query finds; all for "". UsageError for one that they cannot answer."""
        # only what the query names: pandas readies every column for it
        named = self.units[[c for c in self.units if str(c) in query]]
        try:
            return self.units.loc[named.query(query).index] if query else self.units
        except Exception as e:  # pandas raises many kinds, and each means that the query is wrong
            known = f"groups: {', '.join(self.sample_groups)}; " if self.sample_groups else ""
            raise UsageError(
                f"{query!r} is no query on the units ({type(e).__name__}: {e}); {known}columns: "
                f"{', '.join(map(str, self.units.columns))}"
            ) from e

    def browser(
        self,
        units: pd.DataFrame,
        caption: str,
        groups: Mapping[str, Mapping[str, pd.DataFrame]] | None = None,
        share: int = 1,
    ) -> HtmlTable:
        """Some rows of `units` as cards of the suite's, in its order; as a table where the suite has none.

        `groups`: name of the marks -> label -> the units of a group.
        """
        if not self.sample_views:
            return table(units, caption=f"{caption} ({len(units):,})")
        how = {"id": self.suite.unit, **self.sample_views[0].browser}
        ways = []
        for view in self.sample_views:
            cards = view.cards(self, units)
            of_view = (groups or {}).get(view.name, {})
            ids = {
                label: cards.loc[cards.index.isin(u.index), how["id"]].tolist()
                for label, u in of_view.items()
            }
            ways.append(Marked(cards, ids, view.name, view.label, view.legend))
        return samples(ways, caption=caption, share=share, **how)

    def breakdown(self, column: str, *names: str) -> pd.DataFrame:
        """The metrics (by default the headline) within each value of a column of the units: `stats.breakdown`.

        >>> import evaltools as et
        >>> run = et.evaluate("summary", "example:summary/cases.jsonl")
        >>> list(run.breakdown("intent", "summary_accuracy").columns[:4])
        ['part', 'n', 'name', 'title']
        """
        if column not in self.data:
            there = ", ".join(map(str, self.data.columns))
            raise UsageError(f"the units have no column {column!r}; there are {there}")
        return breakdown(
            self.data,
            self.metrics,
            self.suite.unit,
            column,
            names or self.headline,
            self.resampling,
        )

    def estimate(self, *metrics: AnyMetric) -> Any:
        """A metric of one's own over the units, with its interval: a Series; a frame for several.

        A difference or mean may be made of the metrics of the run.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> both = et.Metric(name="both", numerator="reviewed", denominator="n", better="none", proportion=True)
        >>> int(run.estimate(both)["n_units"])
        40
        """
        wanted = subset((*self.metrics, *metrics), [m.name for m in metrics])
        found = estimate(self.data, wanted, self.suite.unit, self.resampling).head(len(metrics))
        return found.iloc[0].rename(metrics[0].name) if len(metrics) == 1 else found

    def diff(self, other: Result, metric: str | None = None) -> pd.DataFrame:
        """The units whose value of a metric (default: the primary one) differs between two runs.

        Columns: those of `stats.compare.unit_changes` (baseline is this run, candidate the other), and the columns of
        text of both sides that differ, as NAME and NAME (other). The largest influence first.
        """
        name = self.suite.metric(metric or self.primary, self.options).name
        unit = self.suite.unit
        out = differing(unit_changes({"": self.data}, {"": other.data}, self.metrics, unit, name))
        here, there = (side.units.drop_duplicates(unit).set_index(unit) for side in (self, other))
        for column in here.columns:
            if column in there and not pd.api.types.is_numeric_dtype(here[column]):
                mine, theirs = (side[column].reindex(out[unit]).tolist() for side in (here, there))
                out[column] = mine
                if any(a is not b and not _same(a, b) for a, b in zip(mine, theirs)):
                    out[f"{column} (other)"] = theirs
        return out

    def header(self) -> HtmlTable:
        """What the run is, and whether its numbers can be believed: checks, and problems of its input."""
        line = run_line(self.name, self.suite.title, self.n_units, self.suite.unit)
        return stack([line, checks([*bundled([self]), *self.checks], problems_of(self))])

    def cards(self) -> HtmlTable:
        """The headline metrics as cards, the primary one large; those that a check blocks struck."""
        found = self.frame.loc[
            self.frame["value"].notna(), "name"
        ]  # nothing is struck where there is nothing
        usual = [n for n in self.suite.headline(self.options) if n in self.blocked & set(found)]
        names = [*self.headline, *(n for n in usual if n not in self.headline)]
        how = {"primary": self.primary, "blocked": self.blocked, "resampling": self.resampling}
        return kpis(self.rows(*names), **how)  # type: ignore[arg-type]

    def page(self) -> HtmlTable:
        """The first screen: can it be believed, what came out, where to look, and the signature."""
        found = self.members[self.sample_views[0].name] if self.sample_views else {}
        look = where_to_look({label: len(units) for label, units in found.items()})
        return stack([self.header(), self.cards(), look, signature_block(self.signature)])

    def coverage(self) -> HtmlTable:
        """What simulation says of headline intervals of this kind and size; nothing where none was simulated."""
        if self.resampling.method != "auto":
            return stack([])
        rows = len(self.data) / max(self.n_units, 1)
        return coverage_notice(coverage_notes(self.rows(*self.headline), self.metrics, rows))

    def provenance(self) -> HtmlTable:
        """Inputs with their hashes, policy, intervals, signature; times stand in the manifest only."""
        rows = []
        for i in self.manifest.inputs:
            file = i.path.rsplit("/", 1)[-1]
            size = say("{n:,} bytes", n=i.bytes)
            rows.append((say("input: {what}", what=i.role), f"{file} · {size} · sha256 {i.sha256}"))
        written = {k: v if isinstance(v, str) else dumps(v) for k, v in self.policy.items()}
        rows += [(say("policy: {what}", what=k), v) for k, v in written.items()]
        r = self.resampling
        kind = "{method}, {n:,} resamples, {level:.4g}%, seed {seed}"
        kind = say(kind, method=r.method, n=r.n_resamples, level=100 * r.confidence, seed=r.seed)
        rows += [(say("intervals"), kind), (say("signature"), self.signature)]
        return table(pd.DataFrame(rows, columns=["what", "value"]), caption="Provenance")


def bundled(runs: Sequence[Result]) -> list[Check]:
    """That numbers are of the bundled example, which nobody may take for their own."""
    inputs = [Path(i.path) for r in runs for i in r.manifest.inputs]
    own = bool(inputs) and all(path.is_relative_to(EXAMPLES) for path in inputs)
    return (
        [Check("bundled-example", "info", "these are the numbers of a bundled example")]
        if own
        else []
    )


def problems_of(run: Result) -> str:
    """What was wrong with the input of a run, in a line; "" where nothing was."""
    found = problems_text([p.model_dump() for p in run.manifest.problems])
    return (
        say("this run is not complete: {problems}", problems=found)
        if run.manifest.incomplete
        else found
    )


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, list | dict) or isinstance(b, list | dict):
        return bool(a == b)
    return (pd.isna(a) and pd.isna(b)) or a == b


def coverage_notice(found: pd.DataFrame) -> HtmlTable:
    """What intervals of this kind and size covered in simulation; empty where nothing like them was simulated."""
    if found.empty:
        return stack([])
    lines = [
        say("{note} Here: {metrics}.", note=note, metrics="; ".join(map(say, metrics.split("; "))))
        for note, metrics in found[["note", "metrics"]].itertuples(index=False)
    ]
    return stack([notice(line) for line in lines])


def _forest(run: Run, *, names: tuple[str, ...] = (), title: str = "Headline metrics") -> Any:
    level = f"{run.resampling.confidence:.0%}"
    return dots(
        run.rows(*(names or run.headline)),
        title=title,
        xlabel=say("value with {level} interval", level=level),
    )


def _breakdown(run: Run, *, column: str | None = None, names: tuple[str, ...] = ()) -> Any:
    """The metrics by a column; by default the first breakdown of the suite."""
    by = next((b for b in run.suite.breakdowns if column in (None, b.column)), None)
    column = by.column if by else column
    if column is None:
        raise UsageError(
            "give the column of the units to break down by: run.plot.breakdown(column=...)"
        )
    found = run.breakdown(column, *(names or (by.metrics if by else run.headline)))
    title = say(by.title).lower() if by else column
    return dots(found, label="part", title=say("By {what}", what=title), xlabel="value")


FIGURES: Mapping[str, Callable[..., Any]] = {"forest": _forest, "breakdown": _breakdown}


def evaluate(
    suite: str | Suite,
    run: str | Path,
    *,
    name: str | None = None,
    out: str | Path | None = None,
    resampling: Resampling | None = None,
    on_error: OnError = "fail",
    workers: Workers | None = None,
    fresh: bool = False,
    metrics: str | Path | None = None,
    **options: Any,
) -> Run:
    """Score one run and estimate every metric of its suite.

    `suite`: the name of a suite, or one (`et.jsonl_suite`). `run`: a run folder, a file, or "example:NAME" for a
    bundled one. `name`: instead of the folder's or file's. `resampling`: the intervals. `on_error`: "fail" on records
    that cannot be used, or "skip" (left out, counted, reported). `metrics`: a Python file with METRICS of one's own.
    `options`: those of the suite, `help(et.options("cr"))` lists them.

    With `out`, the files of `results/<run>/` are written there, and read instead of made again when they are complete
    and current (same inputs by hash, same policy, same resampling, same versions) unless `fresh`.

    Raises InputError for input that cannot be used, UsageError for options that make no sense.

    >>> import evaltools as et
    >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed", protocol="cr_v1")
    >>> run["fix_rate"]["claim"]
    'new samples, this system'
    """
    return core.evaluate(
        suite,
        run,
        estimate=estimate,
        kind=Run,
        name=name,
        out=out,
        resampling=resampling,
        on_error=on_error,
        workers=workers,
        fresh=fresh,
        metrics=metrics,
        **options,
    )


def load(folder: str | Path) -> Run:
    """The result that stands in a results folder. UsageError where it is not complete.

    No code is run: the metrics of a suite that is not known here are read from the manifest.
    """
    return results.load(folder, Run)
