"""Whether a result can be believed, and how it was made: its checks, signature, inputs and policy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from .. import __version__
from ..core.check import (
    Check,
    checks_of_runs,
    constant_metrics,
    few_units,
    lacking,
    not_random,
    one_sided_missing,
    share_check,
    worst_first,
)
from ..core.files import EXAMPLES, bytes_hash, dumps, natural
from ..core.language import language, listed, say
from .tables import HtmlTable, fold, table
from .text import number

if TYPE_CHECKING:
    from .result import Result
    from .run import Run

# what `ci_method` says of an interval that is a bootstrap
BOOTSTRAPS = ("bca", "bca-t", "percentile")


# --- checks


def run_checks(run: Run) -> list[Check]:
    """What the checks of every suite, and of its own, find in a run with estimates, in the language in force."""
    checks = [*few_units(run.n_units, run.suite.unit, run.n_clustered)]
    if run.suite.checks is not None:
        checks += run.suite.checks(run)
    # what these block leaves the headline, which the others look at
    blocked = frozenset(name for check in checks for name in check.blocks)
    headline = run.suite.headline_names(run.options, blocked)
    checks += constant_metrics(run.estimates, headline, run.unit_values)
    # what was wrong with the input, but for what a check says under the same code
    stated = {check.code for check in checks}
    if found := [problem for problem in run.manifest.problems if problem.code not in stated]:
        text = "This run is not complete: {what}" if run.manifest.incomplete else "input: {what}"
        message = say(text, what=[f"{problem.count} × {problem.code}" for problem in found])
        checks.append(
            Check(
                "input",
                "warning",
                message,
                sum(problem.count for problem in found),
            )
        )
    return worst_first(checks)


def study_checks(study: Result, *metrics: str) -> list[Check]:
    """What the checks of its runs found, and those of units and seeds that some runs lack; the worst first.

    What is missing on one side is looked for on these metrics, by default those that lead.
    """
    missing = {run.name: study.n_units - run.n_units for run in study.results}
    checks = [*lacking("missing-units", missing, study.n_units)]
    if study.candidates:
        differences = study.differences_of(*(metrics or study.headline))
        checks += [
            *one_sided_missing(differences, partial(number, signed=True)),
            *not_random(differences),
        ]
        text = "{n} samples of {baseline} and {candidate} pair by id but have other texts, and are left out."
        for row in study.frame.drop_duplicates("candidate").to_dict("records"):
            n = row["n_other_texts"]
            checks += share_check(
                "other-texts",
                "warning",
                text,
                n,
                n,
                **row,
            )
    if seeds := study.seeds:
        lacks = {n: [s for s in seeds if s not in runs] for n, runs in study.conditions.items()}
        checks += lacking("missing-seeds", lacks, len(seeds))
    checks += checks_of_runs([spoken_checks(run) for run in study.results])
    return worst_first(checks)


def spoken_checks(shown: Result, *metrics: str) -> Sequence[Check]:
    """The checks in the language in force; those that a result holds are in English, as in metrics.json.

    `metrics`: as `study_checks` takes them.
    """
    if language() == "en" and not metrics:
        return shown.checks
    (first, *_) = shown.results
    return run_checks(first) if first is shown else study_checks(shown, *metrics)


def is_bundled(shown: Result) -> bool:
    """Whether numbers are of the bundled example, which nobody may take for their own."""
    inputs = [Path(entry.path) for run in shown.results for entry in run.manifest.inputs]
    return bool(inputs) and all(path.is_relative_to(EXAMPLES) for path in inputs)


# --- how the numbers were made


def signature(shown: Result) -> str:
    """One line that says how the numbers of a run, or of a study by its first run, were made (after sacreBLEU)."""
    run = shown.results[0]
    parts = {
        "suite": run.suite.name,
        **run.options.signature(),
        "metrics": run.manifest.policy.get("metrics"),
        "policy": run.manifest.policy["eval_policy_hash"],
        "primary": shown.declared,
        "where": run.query or None,
        "n": shown.n_units,
        "unit": "cluster" if shown.n_clustered else run.suite.unit,
        "ci": f"{run.resampling.method}{100 * run.resampling.confidence:g}",
        "resamples": run.resampling.n_resamples,
        "seed": run.resampling.seed,
        "seeds": ",".join(sorted(shown.seeds, key=natural)) or None,
        "version": __version__,
    }
    return "|".join(f"{key}:{value}" for key, value in parts.items() if value is not None)


def short_signature(shown: Result) -> str:
    """Eight hex digits that stand for the signature where it would be too long."""
    return bytes_hash(shown.signature.encode())[:8]


def count_methods(shown: Result) -> dict[str, int]:
    """Method -> number of intervals in `frame`, the commonest first."""
    frame = shown.frame
    return frame.loc[frame["ci_low"].notna(), "ci_method"].value_counts().to_dict()


def provenance(shown: Result) -> HtmlTable:
    """Inputs with their hashes, policy, methods of the intervals, and signature, folded.

    Times stand in the manifest only.
    """
    first = shown.results[0]
    text = "{method}, {n_resamples:,} resamples, {level}, seed {seed}"
    settings = say(text, level=first.resampling.percent, **dict(first.resampling))
    used = [f"{name} {n}" for name, n in count_methods(shown).items()]
    rows = [
        (
            say("input: {what}", what=entry.role),
            f"{Path(entry.path).name} · {entry.bytes:,} B · sha256 {entry.sha256}",
        )
        for run in shown.results
        for entry in run.manifest.inputs
    ]
    for key, value in first.policy.items():
        text = value if isinstance(value, str) else dumps(value)
        rows.append((say("policy: {what}", what=key), text))
    rows.append((say("intervals"), "; ".join(filter(None, [settings, listed(used)]))))
    rows.append((say("signature"), f"{shown.signature} ({short_signature(shown)})"))
    frame = pd.DataFrame(rows, columns=["what", "value"]).drop_duplicates()
    return fold(say("Inputs, policy and signature"), table(frame))
