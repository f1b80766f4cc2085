"""The cards of the gallery: one for each run and aggregate under results/, read from its JSON and CSV files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import pandas as pd
from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from ..core.errors import InputError, UsageError
from ..core.jsonl import describe
from ..core.names import RUN_NAME
from ..core.suite import get_suite
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
"""Label, folder under `out`, file: a card links those that exist."""

MISSING = ("unknown-gold",)
"""Warnings which say that a run lacks samples."""

NAME = 200
"""Characters of a name that are shown."""

# a CSV cell: empty is null
Number = Annotated[float | None, BeforeValidator(lambda v: None if v == "" else v)]

T = TypeVar("T", bound=BaseModel)


class Part(BaseModel):
    """Only the fields that the gallery uses; anything else in the files is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Found(Part):
    severity: str
    code: str
    count: int


class Resampled(Part):
    unit: str
    n_units: int
    confidence: float


class Manifest(Part):
    suite: str
    started: str
    bootstrap: Resampled
    kind: str = "run"
    options: dict[str, Any] = {}
    problems: list[Found] = []
    notes: list[str] = []
    condition: str = ""
    report: str = ""
    runs: list[str] = []


class Estimate(Part):
    name: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    n_units: float | None = None


class Metrics(Part):
    metrics: list[Estimate]


class Aggregated(Part):
    metric: str
    mean: Number
    n_seeds: Number
    ci_low: Number
    ci_high: Number


class Compared(Part):
    metric: str
    baseline: str
    candidate: str
    verdict: str


@dataclass(frozen=True)
class Headline:
    """What leads the pages of a suite under some options.

    `metrics`: name -> (title, better) of the headline, in order; `titles`: those of every metric.
    """

    suite_title: str
    metrics: Mapping[str, tuple[str, str]]
    titles: Mapping[str, str]


class NotComplete(Exception):
    """A folder under results/ that cannot be a card; the message says why."""


def read_card(out: Path, folder: Path) -> tuple[dict[str, Any], Headline]:
    """The card of one results folder, as JSON, and the metrics that it shows.

    Raises NotComplete where the folder's files are not whole. Texts are clipped and hold no unseen
    characters; `links` are (label, relative URL) of files that exist; `rows` are (metric, value, low,
    high, n) of the headline metrics, null where not measured.
    """
    manifest = read_json(folder / "manifest.json", Manifest)
    lead = headline(manifest.suite, json.dumps(manifest.options, sort_keys=True))
    name, aggregate = folder.name, manifest.kind == "aggregate"
    found = [m for n in (manifest.runs if aggregate else [name]) if (m := RUN_NAME.match(n))]
    card = {
        "id": anchor("run", name),
        "name": shown(name),
        "kind": "aggregate" if aggregate else "run",
        "suite": manifest.suite,
        "started": shown(manifest.started, 40),
        "condition": shown(manifest.condition or (found[0]["run_id"] if found else "")),
        "seeds": [shown(m["seed"]) for m in found],
        "n": len(manifest.runs) if aggregate else manifest.bootstrap.n_units,
        "unit": "runs" if aggregate else shown(manifest.bootstrap.unit),
        "level": manifest.bootstrap.confidence,
        "rows": (_aggregate_rows if aggregate else _run_rows)(folder, lead),
        "verdicts": _comparison(folder, manifest, lead) if aggregate else [],
        "status": _status(manifest),
        "problems": [[shown(p.severity), shown(p.code), p.count] for p in manifest.problems],
        "notes": [shown(n, 500) for n in manifest.notes[:20]],
        "links": links(out, name, manifest.report or name),
    }
    return card, lead


def _status(manifest: Manifest) -> str:
    if any(p.severity == "error" or p.code in MISSING for p in manifest.problems):
        return "incomplete"
    return "with warnings" if manifest.problems or manifest.notes else "complete"


def _run_rows(folder: Path, lead: Headline) -> list[list[Any]]:
    estimates = {e.name: e for e in read_json(folder / "metrics.json", Metrics).metrics}
    found = [estimates[m] for m in lead.metrics if m in estimates]
    return [[e.name, *map(number, (e.value, e.ci_low, e.ci_high, e.n_units))] for e in found]


def _aggregate_rows(folder: Path, lead: Headline) -> list[list[Any]]:
    rows = {r.metric: r for r in read_csv(folder / "aggregated_mean_std.csv", Aggregated)}
    found = [rows[m] for m in lead.metrics if m in rows]
    return [[r.metric, *map(number, (r.mean, r.ci_low, r.ci_high, r.n_seeds))] for r in found]


def _comparison(folder: Path, manifest: Manifest, lead: Headline) -> list[list[str]]:
    """(metric, verdict, baseline) of the headline metrics, where the aggregate was compared with a baseline."""
    path = folder / "comparison.csv"
    rows = read_csv(path, Compared) if path.is_file() else []
    mine = [r for r in rows if r.candidate == manifest.condition and r.metric in lead.metrics]
    return [[r.metric, shown(r.verdict), shown(r.baseline)] for r in mine]


@cache
def headline(suite: str, options: str) -> Headline:
    """The headline metrics of a suite under these options (JSON text).

    Where the metric table cannot be had, as a rule file has gone or changed since, the metrics stand by their bare
    names. Raises NotComplete for a suite or options that this version does not know.
    """
    try:
        s = get_suite(suite)
        opts = s.options(**{k: v for k, v in json.loads(options).items() if k in s.options.model_fields})
    except (UsageError, InputError) as e:
        raise NotComplete(str(e)) from e
    except ValidationError as e:
        raise NotComplete(f"its options are none of this version's: {describe(e)[0][2]}") from e
    names = s.headline(opts)
    try:
        table = {m.name: (m.title, m.better) for m in s.metrics(opts)}
    except (UsageError, InputError):
        table = {}
    titles = {m: title for m, (title, _) in table.items()}
    return Headline(s.title, {m: table.get(m, (m, "none")) for m in names}, titles)


def links(out: Path, name: str, report: str) -> list[list[str]]:
    """(label, URL relative to `out`) of every file of LINKS that is there."""
    return [
        [label, quote(os.fsencode(f"{place}/{folder}/{file}"))]
        for label, place, file in LINKS
        for folder in (report if place == "reports" else name,)
        if "/" not in folder and folder not in {".", ".."} and (out / place / folder / file).is_file()
    ]


def read_json(path: Path, model: type[T]) -> T:
    """The file as `model`; NotComplete where there is none or it is something else."""
    try:
        return model.model_validate_json(path.read_bytes())
    except OSError as e:
        raise unreadable(path, e) from e
    except ValidationError as e:
        _, field, message = describe(e)[0]
        raise NotComplete(f"{path.name} is not as expected: {': '.join(filter(None, (field, message)))}") from e


def read_csv(path: Path, model: type[T]) -> list[T]:
    """The rows of the file as `model`; NotComplete where there is none or it is something else."""
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        return _rows_of(model).validate_python(frame.to_dict("records"))
    except OSError as e:
        raise unreadable(path, e) from e
    except ValidationError as e:
        _, field, message = describe(e)[0]
        raise NotComplete(f"{path.name} is not as expected: row {field}: {message}") from e
    except ValueError as e:  # what pandas raises for a file that is no CSV or no UTF-8
        raise NotComplete(f"{path.name} is not as expected: {e}") from e


@cache
def _rows_of(model: type[T]) -> TypeAdapter[list[T]]:
    return TypeAdapter(list[model])  # type: ignore[valid-type]


def unreadable(path: Path, error: OSError) -> NotComplete:
    if isinstance(error, FileNotFoundError):
        return NotComplete(f"no {path.name}: the run is being written, or was stopped")
    return NotComplete(f"{path.name} cannot be read: {error.strerror}")


def shown(text: str, limit: int = NAME) -> str:
    """Text from data, made visible and clipped."""
    seen = visible(text[: limit + 1])
    return seen if len(seen) <= limit else seen[:limit] + "…"


def number(value: Any) -> float | int | None:
    """A number with six significant digits (more than are ever printed), or None."""
    if value is None or pd.isna(value):
        return None
    rounded = float(f"{float(value):.6g}")
    return int(rounded) if rounded.is_integer() else rounded


def texts(value: Any) -> Iterable[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for v in value.values():
            yield from texts(v)
    elif isinstance(value, list | tuple):
        for v in value:
            yield from texts(v)
