"""The own commands of Conflict Review: inference, and runner outputs to scorecards."""

from collections import Counter
from pathlib import Path

import click

from ...core.commands import (
    PATH,
    Number,
    lang_option,
    n_resamples_option,
    on_error_option,
    out_option,
    quiet_option,
)
from ...core.files import resolve
from ...core.messages import FAILED, OnError, Problems, echo, language


@click.command()
@click.argument("outputs", type=PATH)
@click.option(
    "--gold",
    type=PATH,
    required=True,
    help="The gold file.",
)
@click.option(
    "-o",
    "--out",
    "target",
    type=PATH,
    required=True,
    help="The scorecards file to write.",
)
@on_error_option
@quiet_option
def scorecards(
    outputs: Path,
    gold: Path,
    target: Path,
    on_error: OnError,
    quiet: bool,
) -> None:
    """Write the scorecards of runner outputs.

    OUTPUTS is a file outputs.jsonl or a run folder.
    """
    from .suite import write_scorecards

    problems = Problems(on_error)
    n = write_scorecards(
        resolve(outputs),
        resolve(gold),
        target,
        problems,
    )
    problems.tell(quiet)
    echo(f"{n} scorecards -> {target}")


@click.command("cr")
@click.argument("config", type=PATH)
@out_option
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show what would be sent, and about what it takes; send nothing.",
)
@click.option("--limit", type=click.IntRange(1), help="So many samples only.")
@click.option(
    "--max-requests",
    type=click.IntRange(0),
    help="Stop after so many requests, repeats included (status 4; a restart goes on).",
)
@click.option(
    "--max-cost",
    type=Number(0),
    help="Stop where the cost by [price] reaches this.",
)
@click.option(
    "--report",
    is_flag=True,
    help="Score the runs and compare the conditions in a report.",
)
@n_resamples_option
@click.option(
    "--resume/--fresh",
    default=True,
    help="Keep replies that were paid for, or ask everything anew.",
)
@lang_option
@quiet_option
@click.pass_context
def run_cr(
    ctx: click.Context,
    config: Path,
    out: Path,
    dry_run: bool,
    limit: int | None,
    max_requests: int | None,
    max_cost: float | None,
    report: bool,
    n_resamples: int,
    resume: bool,
    quiet: bool,
) -> None:
    """Run a model over texts as CONFIG (TOML) says.

    Writes the outputs of every condition and seed, to be scored (docs/run-your-own-model.md).
    """
    from .inference.plan import Plan, preview
    from .inference.run import run

    problems = Problems()
    plan = Plan(resolve(config), limit, problems)
    if dry_run:
        echo(preview(plan))
        return
    results = run(
        plan,
        out,
        problems,
        max_requests,
        max_cost,
        fresh=not resume,
        quiet=quiet,
    )
    problems.tell(quiet)
    status = 0
    if report:
        arguments = ["report", "seeds", *map(str, results), "--n-resamples", str(n_resamples)]
        arguments += ["--suite", "cr", "--out", str(out), "--lang", language()]
        arguments += ["--quiet"] * quiet
        status = ctx.find_root().command.main(arguments, standalone_mode=False) or 0
    if plan.config.is_example:
        echo("the replies are of a stand-in by rules, no model: the numbers show the way, no more")
    reasons = sum(results.values(), Counter[str]())
    n_rows = reasons.total()
    del reasons[""]  # of rows that did not fail
    n_failed = reasons.total()
    for reason, count in reasons.most_common(1):
        echo(f"{count} of {n_failed} failed rows: {reason}", err=True)
    if n_failed == n_rows:
        echo("every row failed: there is nothing to score", err=True)
        status = FAILED
    echo(f"{n_rows} rows in {len(results)} runs, {n_failed} failed -> {out / 'results'}")
    ctx.exit(status)


COMMANDS = {
    "run": click.Group("run", {"cr": run_cr}, help="Inference: texts and a model to outputs."),
    "scorecards": scorecards,
}
