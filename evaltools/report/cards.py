"""What the gallery knows of one run or aggregate: read from the JSON and CSV files of its results folder."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import pandas as pd
from pydantic import BaseModel, ValidationError

from .. import BUILT_IN
from ..core.check import Check, Level, worst_first
from ..core.language import Message, say
from ..core.manifest import Manifest
from ..core.metric import metric_title
from ..core.names import RUN_NAME, condition_of
from ..core.plugins import get_suite
from ..core.records import describe
from ..core.resampling import Resampling
from ..core.results import StoredMetric, StoredMetrics, StoredVerdict, spoilt_files
from .sentences import verdict_word
from .text import anchor, visible

LINKS = (
    ("Report", "reports", "metric_report.html"),
    ("Notebook", "reports", "metric_report.ipynb"),
    ("CSV", "results", "derived/metrics/structural_metrics.csv"),
    ("CSV", "results", "summary_scores.csv"),
    ("XLSX", "results", "summary_scores.xlsx"),
    ("CSV", "results", "aggregated_mean_std.csv"),
    ("Comparison CSV", "results", "comparison.csv"),
    ("Text report", "results", "report.md"),
    ("Turns JSONL", "results", "turn_eval.jsonl"),
    ("Scorecards JSONL", "results", "scorecards.jsonl"),
    ("Metrics JSON", "results", "metrics.json"),
)
"""Label, folder under `out`, file: a card links those that exist. What a suite writes is known by its name alone."""

NAME = 200
"""Characters of a name that are shown."""

UNNAMED = 10
"""Metrics on the card of a result whose manifest names no headline, as in the first edition."""

STRUCK = 4
"""Metrics that a check blocks which stand, struck, on a card; the check's message speaks for the rest."""

SEARCHED = 20_000
"""Units of a run whose texts are searched."""

COUNTED = ("better", "worse", "equivalent")
"""Verdicts that are counted outside the headline, where they are exploratory."""

Model = TypeVar("Model", bound=BaseModel)


class NotComplete(Exception):
    """A folder under results/ that cannot be a card; its argument, a Message, says why."""


@dataclass(frozen=True)
class CardInput:
    """The input files of one role: how many, and eight digits that tell their contents."""

    role: str
    n_files: int
    digest: str


@dataclass(frozen=True)
class Card:
    """A run or aggregate as the gallery shows it. Texts are clipped and hold no unseen characters.

    `estimates`: the metrics of the headline, then some that a check blocks (`blocked` names them). `leading`: the
    metric that the verdict is about. `checks`: the worst first; None where nobody looked. `verdicts`: metric ->
    (verdict, baseline) of the headline, `explored` how often each verdict was reached outside it, `judged` what the
    suite judges of single metrics. `rank`: ranks and tie group of a ranked condition. `samples`: a hash of the
    units' names and of the texts that these were given, "" if unknown. `texts`: those given, and those that systems
    wrote; a line a unit. `members`: the ids of an aggregate's runs. `spoilt`:
    the files that are not as the manifest says they were written. `links`: (label, relative URL) of files that
    exist. `also`: the id and name of an aggregate that is folded into this run.
    """

    id: str
    name: str
    is_aggregate: bool
    suite: str
    suite_title: str
    started: str
    condition: str
    baseline: str
    seeds: tuple[str, ...]
    n_runs: int
    members: tuple[str, ...]
    inputs: tuple[CardInput, ...]
    samples: str
    texts: tuple[tuple[str, ...], ...]
    n_units: int
    unit: str
    resampling: Resampling
    leading: str
    estimates: tuple[StoredMetric, ...]
    blocked: frozenset[str]
    checks: tuple[Check, ...] | None
    judged: tuple[StoredVerdict, ...]
    verdicts: dict[str, tuple[str, str]]
    explored: dict[str, int]
    rank: tuple[str, str] | None
    incomplete: bool
    spoilt: tuple[str, ...]
    problems: tuple[tuple[str, str, int], ...]
    notes: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    also: tuple[str, str] = field(default=("", ""))

    @property
    def levels(self) -> list[Level] | None:
        """The levels of the checks that failed; None where nobody looked."""
        return None if self.checks is None else [check.level for check in self.checks]

    def estimate(self, metric: str) -> StoredMetric | None:
        """The estimate of a metric; None where the card has none."""
        for estimate in self.estimates:
            if estimate.name == metric:
                return estimate
        return None


def read_card(out: Path, folder: Path) -> Card:
    """The card of one results folder. NotComplete where the folder's files are not whole."""
    manifest = read_json(folder / "manifest.json", Manifest)
    is_aggregate = manifest.kind == "aggregate"
    metrics = _metrics(folder, manifest)
    names = manifest.runs if is_aggregate else [folder.name]
    runs = [match for match in map(RUN_NAME.match, names) if match]
    condition = manifest.condition
    if not condition and runs:
        condition = condition_of(runs[0][0])[0]
    estimates = _estimates(metrics, manifest)
    texts: tuple[tuple[str, ...], ...] = ()
    samples = ""
    verdicts: dict[str, tuple[str, str]] = {}
    explored: dict[str, int] = {}
    rank = None
    if is_aggregate:
        verdicts, explored = _verdicts(folder / "comparison.csv", manifest, metrics)
        rank = _rank(folder.parent, manifest)
    else:
        given = _texts(folder, manifest, "given")
        wrote = _texts(folder, manifest, "wrote")
        samples = _samples(given)
        texts = (_lines(given), _lines(wrote))
    return Card(
        id=anchor("run", folder.name),
        name=shown(folder.name),
        is_aggregate=is_aggregate,
        suite=shown(manifest.suite),
        suite_title=shown(say(manifest.suite_title)),
        started=shown(manifest.started, 40),
        condition=shown(condition),
        baseline=shown(manifest.baseline),
        seeds=tuple(shown(match["seed"]) for match in runs),
        n_runs=len(manifest.runs),
        members=tuple(anchor("run", name) for name in manifest.runs),
        inputs=_inputs(manifest),
        samples=samples,
        texts=texts,
        n_units=manifest.bootstrap.n_units,
        unit=shown(manifest.bootstrap.unit),
        resampling=manifest.bootstrap.resampling,
        leading=_leading(manifest, estimates, metrics.blocked),
        estimates=estimates,
        blocked=frozenset(shown(name) for name in metrics.blocked),
        checks=_checks(metrics),
        judged=_judged(metrics),
        verdicts=verdicts,
        explored=explored,
        rank=rank,
        incomplete=manifest.incomplete,
        spoilt=tuple(shown(name) for name in spoilt_files(folder, manifest)),
        problems=tuple((p.severity, shown(p.code), p.count) for p in manifest.problems),
        notes=tuple(shown(say(note), 500) for note in manifest.notes[:20]),
        links=links(out, folder.name, manifest.report or folder.name),
    )


def _metrics(folder: Path, manifest: Manifest) -> StoredMetrics:
    path = folder / "metrics.json"
    if manifest.kind == "aggregate" and not manifest.headline and not path.exists():
        raise NotComplete(Message("made by an older version: run the report again"))
    return read_json(path, StoredMetrics)


def _checks(metrics: StoredMetrics) -> tuple[Check, ...] | None:
    if metrics.checks is None:
        return None
    return tuple(worst_first(metrics.checks))


def _estimates(metrics: StoredMetrics, manifest: Manifest) -> tuple[StoredMetric, ...]:
    """The estimates of the headline, then those of metrics that a check blocks."""
    by_name = {estimate.name: estimate for estimate in metrics.metrics}
    headline = manifest.headline
    if not headline:
        with_interval = [row.name for row in by_name.values() if row.ci_low is not None]
        headline = with_interval[:UNNAMED]
    names = dict.fromkeys([*headline, *by_name])  # each once, in this order
    blocked = [name for name in names if name in metrics.blocked][:STRUCK]
    usable = [name for name in headline if name not in metrics.blocked]
    estimates = []
    for name in [*usable, *blocked]:
        if name in by_name:
            estimate = by_name[name]
            title = shown(say(metric_title(name, estimate.title)))
            estimates.append(estimate.model_copy(update={"name": shown(name), "title": title}))
    return tuple(estimates)


def _leading(
    manifest: Manifest,
    estimates: tuple[StoredMetric, ...],
    blocked: set[str],
) -> str:
    """The metric that the verdict is about; the first that no check blocks where the manifest names none."""
    names = [estimate.name for estimate in estimates if estimate.name not in blocked]
    leading = shown(manifest.leading)
    if leading in names:
        return leading
    return names[0] if names else ""


def _judged(metrics: StoredMetrics) -> tuple[StoredVerdict, ...]:
    judged = []
    for verdict in metrics.verdicts:
        texts = {
            "title": shown(say(metric_title(verdict.metric, verdict.title))),
            "verdict": shown(verdict.verdict),
            "said": shown(say(verdict.said)),
        }
        judged.append(verdict.model_copy(update=texts))
    return tuple(judged)


def _inputs(manifest: Manifest) -> tuple[CardInput, ...]:
    """The inputs of every role, in the manifest's order: the run's own file first."""
    hashes: dict[str, set[str]] = {}
    for file in manifest.inputs:
        hashes.setdefault(file.role, set()).add(file.sha256)
    inputs = []
    for role, of_role in hashes.items():
        joined = " ".join(sorted(of_role)).encode("utf-8", "replace")
        digest = hashlib.sha256(joined).hexdigest()
        inputs.append(CardInput(shown(role), len(of_role), digest[:8]))
    return tuple(inputs)


def _texts(
    folder: Path,
    manifest: Manifest,
    part: str,
) -> pd.DataFrame:
    """The names of the units and the texts that systems were `given`, or `wrote`; empty where these are not known."""
    known = get_suite(manifest.suite) if manifest.suite in BUILT_IN else manifest
    columns = [manifest.bootstrap.unit, *getattr(known, part)]
    if part == "wrote" and len(columns) == 1:
        return pd.DataFrame()
    try:
        units = pd.read_parquet(folder / "units.parquet", columns=columns)
    except (OSError, ValueError, KeyError, NotImplementedError):
        return pd.DataFrame()  # not there, spoilt, or of other columns
    return units.astype(str).fillna("").drop_duplicates()


def _samples(units: pd.DataFrame) -> str:
    """A hash of the names of units and the texts that these were given, whatever their order; "" of none."""
    if units.empty:
        return ""
    hashes = pd.util.hash_pandas_object(units, index=False).to_numpy()
    return f"{int(hashes.sum()) % 2**32:08x}"


def _lines(units: pd.DataFrame) -> tuple[str, ...]:
    """A line a unit, its name and texts, as they are searched; of the first SEARCHED units."""
    rows = units.head(SEARCHED).itertuples(index=False)
    return tuple(" ".join(" ".join(row).split()) for row in rows)


def _verdicts(
    path: Path,
    manifest: Manifest,
    metrics: StoredMetrics,
) -> tuple[dict[str, tuple[str, str]], dict[str, int]]:
    """What the comparison with the baseline, if there was one, said of the headline, and how often what beside it."""
    if not path.exists():
        return {}, {}
    columns = ["metric", "verdict", "baseline"]
    with _whole(path):
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, usecols=[*columns, "candidate"])
    of_condition = frame["candidate"] == manifest.condition
    rows = frame[of_condition & ~frame["metric"].isin(metrics.blocked)]
    is_headline = rows["metric"].isin(manifest.headline)
    verdicts = {}
    for metric, verdict, baseline in rows.loc[is_headline, columns].to_numpy().tolist():
        verdicts[shown(metric)] = (shown(verdict_word(verdict)), shown(baseline))
    counts = Counter(rows.loc[~is_headline, "verdict"])
    return verdicts, {verdict: counts[verdict] for verdict in COUNTED if counts[verdict]}


def _rank(results: Path, manifest: Manifest) -> tuple[str, str] | None:
    """How a condition stands among those of its study, if these were ranked: beside the baseline's files."""
    folder = results / f"{manifest.baseline}_aggregated"
    if not (folder / "ranks.csv").exists():
        return None
    if read_json(folder / "manifest.json", Manifest).members != manifest.members:
        return None  # another study's
    with _whole(folder / "ranks.csv"):
        columns = ["condition", "rank_low", "rank_high", "group"]
        frame = pd.read_csv(folder / "ranks.csv", dtype=str, keep_default_na=False, usecols=columns)
    rows = frame.loc[frame["condition"] == manifest.condition, columns].to_numpy().tolist()
    if not rows:
        return None
    _, low, high, group = rows[0]
    bounds = [bound for bound in dict.fromkeys([low, high]) if bound]
    return shown("–".join(bounds)), shown(group)


def links(
    out: Path,
    name: str,
    report: str,
) -> tuple[tuple[str, str], ...]:
    """(label, URL relative to `out`) of every file of LINKS that is there."""
    folders = {"results": name, "reports": report}
    entries = []
    for label, top, file in LINKS:
        folder = folders[top]
        if "/" in folder or folder.startswith("."):
            continue
        path = f"{top}/{folder}/{file}"
        if (out / path).is_file():
            entries.append((label, quote(os.fsencode(path))))
    return tuple(entries)


def read_json(path: Path, model: type[Model]) -> Model:
    """The file as `model`; NotComplete where there is none or it is something else."""
    with _whole(path):
        return model.model_validate_json(path.read_bytes())


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """NotComplete for what goes wrong while a file is read."""
    try:
        if not path.is_file():  # a pipe would be waited for
            raise FileNotFoundError
        yield
    except FileNotFoundError as e:
        message = "no {file}: the run is being written, or was stopped"
        raise NotComplete(Message(message, {"file": path.name})) from e
    except OSError as e:
        values = {"file": path.name, "reason": e.strerror}
        raise NotComplete(Message("{file} cannot be read: {reason}", values)) from e
    # of pydantic; of pandas for other columns, for a file that is no CSV or no UTF-8
    except ValueError as e:
        reason = str(e)
        if isinstance(e, ValidationError):
            reason = ", ".join(str(part) for part in describe(e)[0][1:] if str(part))
        values = {"file": path.name, "reason": reason}
        raise NotComplete(Message("{file} is not as expected: {reason}", values)) from e


def shown(text: str, limit: int = NAME) -> str:
    """Text from data, made visible and clipped."""
    seen = visible(text[: limit + 1])
    return seen if len(seen) <= limit else seen[:limit] + "…"
