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
from importlib import import_module
from typing import Any

import click

from .. import __version__
from ..core.errors import INTERRUPTED, tell
from ..core.language import LANGUAGES, say, speak
from ..core.terminal import echo
from .groups import LazyGroup, added
from .options import suite_file_option

COMMANDS = {
    "calibrate": "Compare scores of a judge or of rules with labels of people.",
    "check": "List every problem of input files; write nothing.",
    "compare": "Is B better than A? Two runs, or two sets of seeds, in pairs.",
    "convert": "Files of other tools to files of this one.",
    "demo": "All reports and the gallery on the bundled examples.",
    "gallery": "Make index.html of all results under OUTPUTS again.",
    "gate": "Status 1 unless RESULT holds what is asked, for CI.",
    "lab": "Open JupyterLab on a copy of the notebooks.",
    "plan": "How many samples and seeds would show a difference.",
    "rank": "Which condition is best on one metric: ranks and tie groups.",
    "report": "Numbers, notebook and HTML page of runs.",
    "rerun": "Make the results of a manifest.json again and compare.",
    "score": "Numbers of runs, without notebook and page.",
}
"""The commands, a module of `commands` each, and what the help says of them."""

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
        text = say("interrupted: what is finished is kept, the same command goes on from there")
        echo(text, err=True)
        sys.exit(INTERRUPTED)
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except Exception as e:  # noqa: BLE001 - a defect too: Python's own status 1 would be read as a gate not met
        sys.exit(tell(e))


def load_command(name: str) -> click.Command | None:
    """The command of that name; None where there is none."""
    if name not in COMMANDS:
        return None
    command: click.Command = getattr(import_module(f".commands.{name}", __package__), name)
    return command


class MainGroup(LazyGroup):
    """All commands; ends as `_messages` says, whatever signal asks for it."""

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
    load=load_command,
    texts=lambda: COMMANDS,
    commands=added("COMMANDS"),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@suite_file_option
@click.version_option(__version__, prog_name="evaltools")
def main() -> None:
    """Evaluation metrics with confidence intervals, and reproducible reports."""


if __name__ == "__main__":
    main()
