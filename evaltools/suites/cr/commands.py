"""The own commands of Conflict Review: inference, and runner outputs to scorecards."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from ...core.commands import PATH
from ...core.commands import options as shared
from ...core.terminal import echo

options = partial(shared, file=Path(__file__).with_suffix(".toml"))


@click.command(params=options("gold", "target", "on_error", "quiet"))
@click.argument("outputs", type=PATH)
def scorecards(outputs: Path, gold: Path, target: Path, on_error: Any, quiet: bool) -> None:
    """Write the scorecards of a file of runner outputs (or of a run folder)."""
    from ...core.errors import Problems
    from ...core.files import resolve
    from .score import write_scorecards

    problems = Problems(on_error)
    n = write_scorecards(resolve(str(outputs)), resolve(str(gold)), target, problems)
    for problem in problems.kept:
        if problem.severity == "error" or not quiet:
            echo(str(problem), err=True)
    if not quiet:
        echo(f"{n} scorecards -> {target}")


@click.command(
    "cr",
    params=options(
        "out", "dry_run", "limit", "max_requests", "max_cost", "report", "resume", "quiet"
    ),
)
@click.argument("config", type=PATH)
@click.pass_context
def run_cr(
    ctx: click.Context, config: Path, out: Path, dry_run: bool, limit: int | None, max_requests: int | None,
    max_cost: float | None, report: bool, resume: bool, quiet: bool,
) -> None:  # fmt: skip
    """Run a model over texts as CONFIG says: outputs of every condition and seed, ready to be scored."""
    from ...core.errors import Problems
    from ...core.files import resolve
    from .inference import run as inference

    problems = Problems()
    plan = inference.plan(resolve(str(config)), limit, problems)
    if dry_run:
        took = inference.expected(plan)
        for stage in took["requests"]:
            echo(f"== {stage}\n" + "\n--\n".join(inference.first_request(plan, stage)) + "\n")
        cost = "" if took["cost"] is None else f", cost {took['cost']:.2f}"
        echo(
            f"{len(plan.texts)} samples, {len(plan.runs)} runs: at most {sum(took['requests'].values())} requests, "
            f"about {took['tokens_in']:,} tokens in and {took['tokens_out']:,} out{cost}"
        )
        return
    found = inference.run(
        plan, out, problems, max_requests, max_cost, fresh=not resume, quiet=quiet
    )
    for problem in () if quiet else problems.warnings:
        echo(str(problem), err=True)
    status = _report(ctx, [str(folder) for folder, _, _ in found], out, quiet) if report else 0
    if plan.config.model.base_url == inference.EXAMPLE:
        echo(
            "the replies are of a stand-in by rules, no model: the numbers show the way, nothing else"
        )
    rows, failed = sum(f[1] for f in found), sum(f[2] for f in found)
    echo(f"{rows} rows in {len(found)} runs, {failed} failed -> {out / 'results'}")
    ctx.exit(status)


def _report(ctx: click.Context, folders: list[str], out: Path, quiet: bool) -> int:
    """The exit status of `report seeds` on these runs."""
    seeds = ctx.find_root().command.get_command(ctx, "report").get_command(ctx, "seeds")  # type: ignore[attr-defined]
    try:
        seeds.main(
            [*folders, "--suite", "cr", "--out", str(out), *["--quiet"] * quiet],
            standalone_mode=False,
        )
    except SystemExit as e:
        return int(e.code or 0)
    return 0


COMMANDS = {
    "run": click.Group("run", {"cr": run_cr}, help="Inference: texts and a model to outputs."),
    "scorecards": scorecards,
}
