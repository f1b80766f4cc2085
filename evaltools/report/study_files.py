"""The files of results/<condition>_aggregated/: a study as CSV and JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from ..core.errors import UsageError
from ..core.estimates import aggregated_frame, metrics_rows
from ..core.files import file_hashes, write_json, write_text
from ..core.folders import require_replaceable, whole_folder
from ..core.language import language
from ..core.manifest import SCHEMA_VERSION, Manifest, Member
from ..core.names import safe_name
from ..core.results import METRICS, metrics_json, read_manifest
from ..stats.compare import CONTRACT as COMPARISON_COLUMNS

if TYPE_CHECKING:
    from .study import Study

# what the manifest of a study takes from that of its first run: it is the same for all of them
SHARED = {
    "suite", "suite_title", "metrics", "policy", "options", "resampling", "unit", "versions", "git_commit",
}  # fmt: skip

# columns of comparison.csv behind those of `stats.compare`
BESIDES = ("n_differ", "missing_baseline", "missing_candidate", "blocked")


def csv(frame: pd.DataFrame) -> str:
    """A frame as the text of a CSV file."""
    return frame.to_csv(index=False, lineterminator="\n")


def comparison_csv(study: Study) -> str:
    """The content of comparison.csv: every candidate against the baseline."""
    return csv(study.frame[list(dict.fromkeys([*COMPARISON_COLUMNS, *BESIDES]))])


def result_folders(path: Path) -> list[Path]:
    """The results folders of a result (a folder, or its metrics.json): its own, or those of an aggregate's runs."""
    folder = path.parent if path.is_file() else path
    manifest = read_manifest(folder)
    if manifest is None or manifest.kind == "run":
        return [folder]
    relative = manifest.folders or [f"../{run}" for run in manifest.runs]
    return [folder / place for place in relative]


def save_study(
    study: Study,
    out: Path,
    started: datetime,
    folders: Mapping[str, Path],
    conditions: Sequence[str],
) -> None:
    """Write results/<condition>_aggregated/ for these conditions, each whole. `folders`: run -> where its result is.

    UsageError, and nothing is written, where the result of a run or of another suite, or an input, stands in the
    place of one.
    """
    targets = {condition: aggregate_folder(out, condition) for condition in conditions}
    for target in targets.values():
        _require_target(target, study)
    for condition, target in targets.items():
        manifest = study_manifest(study, condition, started)
        places = [os.path.relpath(folders[run], target) for run in manifest.runs]
        with whole_folder(target) as folder:
            for file, text in _texts(study, condition).items():
                write_text(folder / file, text)
            rows = metrics_rows(study.aggregates[condition], seeds=True)
            content = metrics_json(
                manifest,
                study.signature,
                rows,
                study.checks,
            )
            write_json(folder / METRICS, content)
            last = {"folders": places, "files": file_hashes(folder)}
            manifest.model_copy(update=last).write(folder)


def aggregate_folder(
    out: Path,
    condition: str,
) -> Path:
    """Where the files of a condition stand."""
    return out / "results" / f"{safe_name(condition)}_aggregated"


def _texts(
    study: Study,
    condition: str,
) -> dict[str, str]:
    """File -> text of the tables of a condition; with several conditions the column `condition` comes first."""
    means = aggregated_frame(study.aggregates[condition])
    if study.candidates:
        means.insert(0, "condition", condition)
    agreement = study.agreement
    texts = {
        "aggregated_mean_std.csv": csv(means),
        "agreement.csv": csv(agreement[agreement["condition"] == condition]),
    }
    if condition == study.baseline and study.is_ranked:
        texts["ranks.csv"] = csv(study.rank())
    if study.candidates:
        texts["comparison.csv"] = comparison_csv(study)
    return texts


def _require_target(
    target: Path,
    study: Study,
) -> None:
    stored = read_manifest(target)
    replaced = ("aggregate", study.suite.name)
    if stored is not None and (stored.kind, stored.suite) != replaced:
        raise UsageError(
            f"{target} holds {stored.run}, a {stored.kind} of {stored.suite}; give another --out"
        )
    require_replaceable(target)
    folder = target.resolve()
    for run in study.results:
        for entry in run.manifest.inputs:
            path = Path(entry.path).resolve()
            if path.is_relative_to(folder):
                raise UsageError(
                    f"{target} holds an input, and would be replaced; give another --out"
                )


def study_manifest(
    study: Study,
    condition: str,
    started: datetime,
) -> Manifest:
    """The manifest of one condition of a study, without the folders of its runs."""
    first = study.results[0].manifest
    own = [run.manifest for run in study.conditions[condition].values()]
    members = []
    for name, of_seed in study.conditions.items():
        for seed, run in of_seed.items():
            same = run.manifest.model_dump(include={"suite", "run", "inputs", "options"})
            members.append(Member(**same, condition=name, seed=seed))
    names = pd.concat(units[study.suite.unit] for units in study.frames(condition).values())
    fields = first.model_dump(include=SHARED)
    if language() != "en":
        fields["lang"] = language()
    return Manifest(
        schema_version=SCHEMA_VERSION,
        kind="aggregate",
        headline=list(study.headline),
        leading=study.primary,
        n_units=int(names.nunique()),
        run=f"{condition}_aggregated",
        report=study.name,
        condition=condition,
        conditions=list(study.conditions),
        baseline=study.baseline,
        primary=study.declared or "",
        margin=dict(study.margin),
        runs=[manifest.run for manifest in own],
        inputs=[entry for manifest in own for entry in manifest.inputs],
        members=members,
        signature=study.signature,
        problems=[problem for manifest in own for problem in manifest.problems],
        started=started.isoformat(timespec="seconds"),
        seconds=round((datetime.now(UTC) - started).total_seconds(), 3),
        **fields,
    )
