"""The command line.

Exit status: 0 done; 1 gate not met; 2 wrong usage; 3 bad input; 4 a report failed, a rerun found other numbers, or
a run could not be worked on for a reason outside of its input (full disk, killed process); 130 interrupted.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from .. import __version__
from ..core.errors import INTERRUPTED, tell
from ..core.language import LANGUAGES, say, speak
from ..core.terminal import echo
from .commands.calibrate import calibrate
from .commands.check import check
from .commands.compare import compare
from .commands.convert import convert
from .commands.demo import demo
from .commands.gallery import gallery
from .commands.gate import gate
from .commands.lab import lab
from .commands.plan import plan
from .commands.rank import rank
from .commands.report import report
from .commands.rerun import rerun
from .commands.score import score
from .options import suite_file_option
from .suite_commands import added

# work is spread by --jobs: threads of the linear algebra library would only get in each other's way
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# modules make many objects and hardly a cycle: the search for cycles takes 8% of the start of a command
gc.set_threshold(50_000, 20, 100)


# what click itself says is told in the language in force, too: the keys are its own texts
for module in (click.core, click.exceptions, click.formatting, click.parser, click.types):
    vars(module)["_"] = say
    vars(module)["ngettext"] = lambda one, several, n: say(one if n == 1 else several)


def speak_as_asked(arguments: Sequence[str]) -> None:
    """Speak the language of --lang before anything else is read, so that whatever is wrong is told in it."""
    for option, value in zip(arguments, [*arguments[1:], ""]):
        name, _, joined = option.partition("=")
        if name == "--lang" and (joined or value) in LANGUAGES:
            speak(joined or value)


@contextmanager
def _messages() -> Iterator[None]:
    """Turns exceptions into messages and exit statuses."""
    try:
        yield
    except KeyboardInterrupt:
        echo(
            say("interrupted: what is finished is kept, the same command goes on from there"),
            err=True,
        )
        sys.exit(INTERRUPTED)
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except Exception as e:  # noqa: BLE001 - a defect too: Python's own status 1 would be read as a gate not met
        sys.exit(tell(e))


class MainGroup(click.Group):
    """Ends as `_messages` says, whatever signal asks for it."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # not every system has both
            # `nohup` has SIGHUP ignored, and so it stays
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, signal.default_int_handler)
        return super().__call__(*args, **options)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        *more: Any,
        **options: Any,
    ) -> click.Context:
        speak_as_asked(args)
        with _messages():
            return super().make_context(info_name, args, *more, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _messages():
            return super().invoke(ctx)


@click.group(
    cls=MainGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@suite_file_option
@click.version_option(__version__, prog_name="evaltools")
def main() -> None:
    """Evaluation metrics with confidence intervals, and reproducible reports."""


for command in (
    calibrate,
    check,
    compare,
    convert,
    demo,
    gallery,
    gate,
    lab,
    plan,
    rank,
    report,
    rerun,
    score,
):
    main.add_command(command)
for name, command in added("COMMANDS").items():
    main.add_command(command, name)

if __name__ == "__main__":
    main()
