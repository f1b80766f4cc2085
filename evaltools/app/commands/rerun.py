"""`evaltools rerun MANIFEST`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ...core.commands import PATH, lang_option
from ...core.errors import FAILED
from ...core.terminal import echo
from ..options import metrics_option, suite_file_option, workers_option
from ..suite_commands import RunsCommand

if TYPE_CHECKING:
    from ...core.workers import Workers


@click.command(cls=RunsCommand, costly=True)
@click.argument("manifest", type=PATH)
@click.option("-o", "--out", type=PATH, help="Keep the new results there (default: nowhere).")
@workers_option
@metrics_option
@suite_file_option
@lang_option
@click.pass_context
def rerun(
    ctx: click.Context,
    manifest: Path,
    out: Path | None,
    workers: Workers,
    metrics: Path | None,
    **costly: Any,
) -> None:
    """Make the results of a manifest.json again and compare.

    Status 4 where an input, the policy or a number is not the same, each of which is named. What would be sent or
    spent (a judge) is not taken from the manifest, but from options of the suite given here.
    """
    from ..rerun import rerun_manifest

    typed = {}
    for name, value in costly.items():
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            typed[name] = value
    outcome = rerun_manifest(manifest, out, workers, metrics, **typed)
    echo(str(outcome))
    sys.exit(0 if outcome.same else FAILED)
