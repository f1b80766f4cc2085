"""The command line.

Exit status: 0 done; 1 gate not met; 2 wrong usage; 3 bad input; 4 a report failed, a rerun found other numbers, or
a run could not be worked on for a reason outside of its input (full disk, killed process); 130 interrupted.
"""

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import click
from click.exceptions import Exit

from .. import __version__
from ..core.commands import Later, added, suite_file_option
from ..core.messages import INTERRUPTED, echo, tell

# each command, and what the help says of it
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
    "rank": "Which condition is best on one metric: ranks.",
    "report": "Numbers, notebook and HTML page of runs.",
    "rerun": "Make the results of a manifest.json again and compare.",
    "score": "Numbers of runs, without notebook and page.",
}
# command -> the module of `commands` that holds it; the others stand in `runs`
MODULES = {
    "calibrate": "calibrate",
    "convert": "convert",
    "gate": "results",
    "lab": "lab",
    "rerun": "results",
}

# work is spread by --jobs: threads of the linear algebra library would only get in each other's way
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# modules make many objects and hardly a cycle: the search for cycles takes 8% of the start of a command
gc.set_threshold(50_000, 20, 100)


@contextmanager
def _messages() -> Iterator[None]:
    """Turns exceptions into messages and exit statuses."""
    try:
        yield
    except KeyboardInterrupt:
        echo("interrupted: what is finished is kept, the same command goes on from there", err=True)
        raise Exit(INTERRUPTED) from None
    except Exit:
        raise
    except click.ClickException as e:
        with suppress(OSError):  # a standard error that is full, which Python ends with status 1
            e.show()
        raise Exit(e.exit_code) from None
    except BaseException as e:  # noqa: BLE001 - a defect too: Python's own status 1 would be read as a gate not met
        raise Exit(tell(e)) from None


def load_command(name: str) -> click.Command:
    """The command of that name, one of COMMANDS."""
    return getattr(import_module(f".commands.{MODULES.get(name, 'runs')}", __package__), name)


class MainGroup(click.Group):
    """All commands; ends as `_messages` says, also when it is told to terminate."""

    def __call__(
        self,
        *args: Any,
        **options: Any,
    ) -> Any:
        for descriptor in range(3):  # a file that is opened would take the place of a closed one
            try:
                os.fstat(descriptor)
            except OSError:
                os.open(os.devnull, os.O_RDWR)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        return super().__call__(*args, **options)

    make_context = _messages()(click.Group.make_context)
    invoke = _messages()(click.Group.invoke)


@click.group(
    cls=MainGroup,
    commands={
        name: Later(name, callback=load_command, short_help=text) for name, text in COMMANDS.items()
    }
    | added("COMMANDS"),
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@suite_file_option
@click.version_option(__version__, prog_name="evaltools")
def main() -> None:
    """Evaluation metrics with confidence intervals, and reproducible reports."""


if __name__ == "__main__":
    main()
