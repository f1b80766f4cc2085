"""The options of the command line as data, and what commands of suites are made of."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click


class _Path(click.Path):
    """A path that can stand in the files, pages and notebooks that name it, which are UTF-8."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            str(value).encode()
        except UnicodeEncodeError:
            self.fail(f"{str(value)!a} is no UTF-8, and could not be named in a file", param, ctx)
        return super().convert(value, param, ctx)


PATH = _Path(path_type=Path)

RESAMPLING = ("n_resamples", "confidence", "ci", "seed")
COMMON = (
    "out",
    "jobs",
    "name",
    *RESAMPLING,
    "metrics",
    "on_error",
    "resume",
    "scheduler",
    "lang",
    "quiet",
)

KINDS: dict[str, Callable[[Any], Any]] = {
    "path": lambda _: PATH,
    "number": lambda _: float,
    "choice": click.Choice,
    "range": lambda ends: click.IntRange(*ends),
    "least": click.FloatRange,
    "between": lambda ends: click.FloatRange(ends[0], ends[1], True, True),
}


def options(*names: str, file: Path | None = None) -> list[click.Parameter]:
    """Options of commands.toml as click's parameters; those of a suite's own commands first of a `file` like it."""
    known = {**SHARED, **(_read(file) if file else {})}
    return [_declared(name, **known[name]) for name in names]


def _read(file: Path) -> dict[str, dict[str, Any]]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


SHARED = _read(Path(__file__).with_suffix(".toml"))
"""The options that commands name."""


def _declared(name: str, flags: Sequence[str] = (), **how: Any) -> click.Option:
    for kind in KINDS.keys() & how:
        how["type"] = KINDS[kind](how.pop(kind))
    if name == "suite_file":
        how["callback"] = lambda ctx, param, path: read_suite(path)
    return click.Option(
        flags or [f"--{name.replace('_', '-')}"], show_default="default" in how, **how
    )


def read_suite(path: Path | None) -> None:
    """Make the suite of a file known, where one is given."""
    if path is not None:
        from .plugins import load_suite_file

        load_suite_file(path)
