"""The Conflict Review suite: its metrics, its headline, and where its parts stand."""

from __future__ import annotations

from typing import Any

from ...core.metric import MetricTable
from ...core.suite import Suite
from .agreement import seed_agreement
from .artifacts import artifacts
from .checks import checks
from .metrics import metric_table
from .options import CrOptions
from .read import FILES, MAIN, RUNNER, locate
from .score import score
from .units import read_actions, read_tuples


def metrics(options: CrOptions) -> MetricTable:
    """The metric table under the protocol of the options."""
    return metric_table(options.key)


def headline(options: CrOptions, blocked: frozenset[str]) -> tuple[str, ...]:
    """The names that lead every page; those by term where the protocol's key cannot be measured."""
    key = options.key
    only_by_term = f"tuple_f1_s2_{key}" in blocked
    if only_by_term:
        key = "otepol"
    names = [
        f"tuple_f1_s1_{key}",
        f"tuple_f1_s2_{key}",
        f"tuple_f1_s2_explicit_only_{key}",
        f"delta_f1_{key}",
        f"fix_rate_{key}",
        f"break_rate_{key}",
        f"net_gain_{key}",
    ]
    if not only_by_term:
        names.append("tuple_f1_s2_otepol" if key == "refpol" else "tuple_f1_s2_refpol")
    names += [
        "polarity_conflict_rate",
        "implicit_invalid_pred_rate",
        "final_aspect_out_of_text_rate",
    ]
    return tuple(names)


def primary(options: CrOptions, blocked: frozenset[str]) -> str:
    """F1 after review under the protocol's key; by term where that cannot be measured."""
    name = f"tuple_f1_s2_{options.key}"
    return "tuple_f1_s2_otepol" if name in blocked else name


def _sample_view(shown: Any) -> Any:
    from . import cards  # for pages only

    return cards.sample_view(shown)


def _finding(shown: Any) -> Any:
    from . import cards

    return cards.finding(shown)


SUITE = Suite(
    name="cr",
    title="Conflict Review",
    unit="text_id",
    input="RUN",
    options=CrOptions,
    locate=locate,
    recognised=tuple(FILES[role] for role in MAIN),
    score=score,
    metrics=metrics,
    headline=headline,
    primary=primary,
    checks=checks,
    artifacts=artifacts,
    notebook="cr_run.ipynb",
    study_notebook="cr_seeds.ipynb",
    sample_view=_sample_view,
    finding=_finding,
    runner=RUNNER,
    decode={
        "gold": read_tuples,
        "stage1": read_tuples,
        "final": read_tuples,
        "reviews": read_actions,
        "arbiter": read_actions,
    },
    agreement=seed_agreement,
)
