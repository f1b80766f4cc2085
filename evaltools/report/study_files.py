"""The files of results/<condition>_aggregated/: a study as CSV, JSON and Markdown."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from ..core.errors import UsageError
from ..core.files import file_hashes, whole_folder, write_json, write_text
from ..core.language import language
from ..core.manifest import SCHEMA_VERSION, Manifest, Member
from ..core.names import safe_name
from ..core.results import metrics_json, read_manifest
from ..stats.compare import CONTRACT as COMPARISON_COLUMNS
from ..stats.seeds import CONTRACT as AGGREGATE_COLUMNS
from .study_data import Study
from .study_tables import ESTIMATED, is_ranked


def aggregated_csv(study: Study, condition: str) -> str:
    """The content of aggregated_mean_std.csv; with several conditions the column `condition` comes first."""
    frame = study.aggregates[condition][list(AGGREGATE_COLUMNS)]
    if study.comparisons:
        frame = frame.assign(condition=condition)[["condition", *AGGREGATE_COLUMNS]]
    return csv(frame)


def comparison_csv(study: Study) -> str:
    """The content of comparison.csv: every candidate against the baseline."""
    return csv(
        pd.concat(
            [c.table[list(COMPARISON_COLUMNS)] for c in study.comparisons.values()],
            ignore_index=True,
        )
    )


def csv(frame: pd.DataFrame) -> str:
    return frame.to_csv(index=False, lineterminator="\n")


def as_estimates(aggregated: pd.DataFrame) -> pd.DataFrame:
    """Aggregates in the shape of a run's estimates: value is the mean over seeds, without a numerator of its own."""
    columns = [
        "name",
        "title",
        "value",
        "ci_low",
        "ci_high",
        "ci_method",
        "numerator",
        "denominator",
    ]
    found = aggregated.rename(columns=ESTIMATED).assign(numerator=None, denominator=None)
    return found[[*columns, "n_units", "n_seeds", "group", "better"]]


def folders_of(path: Path) -> list[Path]:
    """The results folders of a result (a folder, or its metrics.json): its own, or those of an aggregate's runs."""
    folder = path.parent if path.is_file() else path
    manifest = read_manifest(folder)
    if manifest is None or manifest.kind == "run":
        return [folder]
    return [folder / there for there in manifest.folders or [f"../{run}" for run in manifest.runs]]


def save_study(
    study: Study,
    out: Path,
    started: str,
    seconds: float,
    folders: Mapping[str, Path],
    more: Callable[[str], Mapping[str, str]],
) -> None:
    """Write results/<condition>_aggregated/ for every condition, each whole.

    `folders`: where the result of a run stands; `more(condition)`: texts by file. UsageError, and nothing is written,
    where the result of a run or of another suite, or an input, stands in the place of one.
    """
    targets = {c: out / "results" / f"{safe_name(c)}_aggregated" for c in study.conditions}
    for target in targets.values():
        _require_own(target, study)
    compared = {"comparison.csv": comparison_csv(study)} if study.comparisons else {}
    for condition in study.conditions:
        agreed = csv(study.agreement[study.agreement["condition"] == condition])
        texts = {
            "aggregated_mean_std.csv": aggregated_csv(study, condition),
            "agreement.csv": agreed,
        }
        if condition == study.baseline and is_ranked(study):
            texts["ranks.csv"] = csv(study.rank())
        target = targets[condition]
        places = {name: os.path.relpath(folder, target) for name, folder in folders.items()}
        manifest = study_manifest(study, condition, started, seconds, places)
        with whole_folder(target) as folder:
            for file, text in {**texts, **compared, **more(condition)}.items():
                write_text(folder / file, text)
            estimates = as_estimates(study.aggregates[condition])
            write_json(
                folder / "metrics.json",
                metrics_json(manifest, study.signature, estimates, study.checks),
            )
            manifest.model_copy(update={"files": file_hashes(folder)}).write(folder)


def _require_own(target: Path, study: Study) -> None:
    there, inputs = (
        read_manifest(target),
        [i.path for r in study.results for i in r.manifest.inputs],
    )
    if there is not None and (there.kind, there.suite) != ("aggregate", study.suite.name):
        raise UsageError(
            f"{target} holds {there.run}, a {there.kind} of {there.suite}; give another --out"
        )
    if any(Path(path).resolve().is_relative_to(target.resolve()) for path in inputs):
        raise UsageError(f"{target} holds an input, and would be replaced; give another --out")


SHARED = ("suite", "suite_title", "metrics", "policy", "options", "versions", "git_commit")
"""What the manifest of a study takes from that of its first run: it is the same for all of them."""


def study_manifest(
    study: Study, condition: str, started: str, seconds: float, folders: Mapping[str, str]
) -> Manifest:
    first, mine = (
        study.results[0].manifest,
        [r.manifest for r in study.conditions[condition].values()],
    )
    members = [
        Member(
            **{k: getattr(r.manifest, k) for k in ("suite", "run", "inputs", "options")},
            condition=c,
            seed=seed,
        )
        for c, runs in study.conditions.items()
        for seed, r in runs.items()
    ]
    n_units = len(
        {u for r in study.conditions[condition].values() for u in r.data[study.suite.unit]}
    )
    return Manifest(
        schema_version=SCHEMA_VERSION,
        kind="aggregate",
        headline=list(study.headline),
        **{k: getattr(first, k) for k in SHARED},
        bootstrap=first.bootstrap.model_copy(update={"n_units": n_units}),
        run=f"{condition}_aggregated",
        report=study.name,
        condition=condition,
        conditions=list(study.conditions),
        baseline=study.baseline,
        primary=study.declared or "",
        margin=dict(study.margin),
        runs=[m.run for m in mine],
        folders=[folders[m.run] for m in mine],
        inputs=[i for m in mine for i in m.inputs],
        members=members,
        signature=study.signature,
        notes=study.notes,
        **({"lang": language()} if language() != "en" else {}),
        problems=[p for m in mine for p in m.problems],
        started=started,
        seconds=seconds,
    )
