"""`evaltools convert FORMAT FILE...`"""

from pathlib import Path
from typing import Any

import click

from ...core.commands import PATH, files_argument, on_error_option, quiet_option
from ...core.messages import OnError, Problems, echo
from ...formats.convert import FORMATS
from ...formats.convert import convert as convert_files


@click.command()
@click.argument("name", metavar="FORMAT", type=click.Choice([*FORMATS]))
@files_argument
@click.option(
    "-o",
    "--out",
    "target",
    required=True,
    type=PATH,
    help="The file to write, of JSON Lines.",
)
@click.option(
    "--as",
    "as_",
    type=click.Choice(["gold", "predictions"]),
    default="gold",
    help="Of aspect-based sentiment: gold.jsonl, or outputs.jsonl to score against it.",
)
@click.option(
    "--level",
    type=click.Choice(["term", "category"]),
    help="semeval14: which of the two kinds of tuple; term where it is not given.",
)
@click.option(
    "--condition", multiple=True, help="Name of the system: once for all files, or once for each."
)
@click.option(
    "--seed", multiple=True, help="Name of the seed: once for all files, or once for each."
)
@click.option(
    "--sep",
    type=click.Choice([",", ";", "|", "tab"]),
    metavar="SEP",
    help="ragas: what separates the cells of a CSV file: , ; | or tab.",
)
@click.option("--decimal", type=click.Choice([".", ","]), help="ragas: the decimal mark.")
@on_error_option
@quiet_option
def convert(
    name: str,
    files: tuple[Path, ...],
    target: Path,
    on_error: OnError,
    quiet: bool,
    **options: Any,
) -> None:
    """Convert files of other tools to files that evaltools reads.

    They become gold or predictions of Conflict Review, or rows of the suite `table`.

    FORMAT: nikl, semeval14, semeval15, semeval16, aste, asqp, tasd, acos (aspect-based sentiment);
    inspect, lm-eval, promptfoo, deepeval, ragas (scores of any benchmark).
    """
    problems = Problems(on_error)
    n_rows = convert_files(
        name,
        files,
        target,
        problems,
        **options,
    )
    problems.tell(quiet)
    echo(f"{n_rows} rows -> {target}")
