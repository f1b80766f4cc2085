"""The metric table of Conflict Review, and the suite."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from ...core.metric import MetricTable, read_table
from ...core.suite import Breakdown, Suite
from .artifacts import artifacts
from .checks import checks
from .options import CrOptions
from .read import RUNNER, locate, sniff
from .score import score
from .tuples import Key
from .units import read_actions, read_tuples

TABLE = Path(__file__).with_name("metrics.toml")
HEADLINE: list[str] = tomllib.loads(TABLE.read_text(encoding="utf-8"))["headline"]


@cache
def _table(protocol: Key) -> MetricTable:
    return read_table(TABLE, protocol=protocol)


def metrics(options: CrOptions) -> MetricTable:
    """The table under a protocol: every metric, and other names for some of them, the short ones under its key."""
    return _table(options.key)


def headline(options: CrOptions, blocked: frozenset[str]) -> tuple[str, ...]:
    """The names that lead every page; those by term where refs cannot be measured."""
    if f"tuple_f1_s2_{options.key}" in blocked:
        # without what rests on refs: only these are ever blocked
        return tuple(name.format(protocol="otepol") for name in HEADLINE if "{other}" not in name)

    other = "otepol" if options.key == "refpol" else "refpol"
    return tuple(name.format(protocol=options.key, other=other) for name in HEADLINE)


def primary(options: CrOptions, blocked: frozenset[str]) -> str:
    """F1 after review under the protocol's key; by term where refs cannot be measured."""
    name = f"tuple_f1_s2_{options.key}"
    return "tuple_f1_s2_otepol" if name in blocked else name


SUITE = Suite(
    name="cr",
    title="Conflict Review",
    unit="text_id",
    input="RUN",
    options=CrOptions,
    locate=locate,
    sniff=sniff,
    score=score,
    metrics=metrics,
    headline=headline,
    primary=primary,
    given=("text",),
    checks=checks,
    artifacts=artifacts,
    notebook="cr_run.ipynb",
    study_notebook="cr_seeds.ipynb",
    views="evaltools.suites.cr.views",
    commands="evaltools.suites.cr.commands",
    runner=RUNNER,
    decode={
        **dict.fromkeys(("gold", "stage1", "final"), read_tuples),
        **dict.fromkeys(("reviews", "arbiter"), read_actions),
    },
    agreement=("final", "label_final"),
    breakdowns=(
        Breakdown(
            "Split", "split", ("tuple_f1_s1_refpol", "tuple_f1_s2_refpol", "tuple_f1_s2_otepol")
        ),
    ),
)
