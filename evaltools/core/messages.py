"""What is said to people: problems of input files, lines and tables at a terminal, the words of pages in their language.

The English text of a page is the key of its translation. Translations are data: `lang/ko.toml` and `lang/zh.toml` in any
package of this one. What has none stays English. Files that programs read (CSV, JSON) and ids are English whatever
the language; so are errors and the terminal.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partialmethod
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, Literal, NamedTuple, get_args

# how the temporary folders begin whose folder holds the files of data in memory (`memory.as_files`)
IN_MEMORY = "evaltools-memory-"

Severity = Literal["error", "warning"]
OnError = Literal["fail", "skip"]

# the exit statuses of the commands, besides 0
GATE_NOT_MET, WRONG_USAGE, BAD_INPUT, FAILED, INTERRUPTED = 1, 2, 3, 4, 130

MESSAGE_LETTERS = 1000
# a longer message is cut: names and values in it come from files, and are of any length

# how many problems of one code keep their place and text; the rest are only counted
KEPT_PER_CODE = 20


def shown_path(path: Path | str) -> str:
    """A path as people read it: of data in memory their name."""
    file = Path(path)
    return file.stem if file.parent.parent.name.startswith(IN_MEMORY) else str(path)


def bounded(message: object) -> str:
    """A message of MESSAGE_LETTERS at most."""
    text = str(message)
    if len(text) > MESSAGE_LETTERS:
        text = f"{text[:MESSAGE_LETTERS]}…"
    return text


def reason(error: BaseException) -> str:
    """Kind and message of an exception that code of the user's raised, also where its own `str` fails.

    >>> reason(KeyError("nosuch"))
    "KeyError: 'nosuch'"
    """
    text = traceback.format_exception_only(error)[-1].strip()
    return bounded(text.removeprefix(f"{type(error).__module__}."))


class Problem(NamedTuple):
    """One thing wrong with the input.

    `code` is a short stable name (`bad-json`, `duplicate-id`), `line` the 1-based line of `file`
    (None where the file as a whole is meant), `field` the path inside the record, `message` what was
    found and what was expected, `id` the record's own identifier where it is known.
    """

    severity: Severity
    code: str
    message: str
    file: str = ""
    line: int | None = None
    field: str = ""
    id: str = ""

    def __str__(self) -> str:
        """The problem in one line, whatever the data hold."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        what = bounded(": ".join(filter(None, (place, self.id, self.field, self.message))))
        return visible(
            f"{self.severity}: {what} [{self.code}]".replace("\n", "\\n").replace("\t", "\\t")
        )


class InputError(Exception):
    """Input that cannot be used: the errors that were found. The commands exit with status 3.

    >>> str(Problems().fatal("missing-file", "no such file", file="a.jsonl"))
    'error: a.jsonl: no such file [missing-file]'
    """

    def __init__(self, found: Problems):
        super().__init__(found)
        self.found = found
        self.problems = tuple(found.shown(quiet=True))

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class UsageError(Exception):
    """A command or a call that makes no sense (names that clash, an unknown metric); exit status 2.

    >>> import evaltools as et
    >>> et.evaluate("cr", "example:cr/nosuch")
    Traceback (most recent call last):
        ...
    evaltools.core.messages.UsageError: no example 'cr/nosuch'; ...
    """

    def __str__(self) -> str:
        return bounded(super().__str__())


class WorkFailed(Exception):
    """Work that could not be done, though nothing was wrong with its input (a process was killed); exit status 4."""


def tell(error: BaseException, whose: str = "") -> int:
    """Say on standard error what went wrong, with whose work; returns the exit status that says so.

    Any other exception than the package's own and OSError is a defect: it is told with its traceback.
    """
    if isinstance(error, SystemExit):
        # which status says what is not for code of the user's to decide
        error = UsageError("sys.exit() in code of your own")
    if isinstance(error, InputError):
        echo(error, err=True)
        return BAD_INPUT
    if not isinstance(error, UsageError | WorkFailed | OSError):
        echo("".join(traceback.format_exception(error)), err=True)
        what = reason(error)
    else:
        what = bounded(str(error) or type(error).__name__)
    echo(": ".join(filter(None, ("error", whose, what))), err=True)
    return WRONG_USAGE if isinstance(error, UsageError) else FAILED


class Problems:
    """Collects the problems of one command.

    With `on_error="fail"` every error counts against the input and `raise_if_failed` raises them
    together; with `"skip"` the record in question is left out, counted and reported.
    A file that cannot be read at all is fatal under both.

    >>> problems = Problems("skip")
    >>> problems.error("bad-field", "expected a number", file="scores.csv", line=2)
    >>> print(problems.kept[0])
    error: scores.csv:2: expected a number [bad-field]
    """

    def __init__(self, on_error: OnError = "fail") -> None:
        if on_error not in get_args(OnError):
            raise UsageError(f"on_error: expected one of {get_args(OnError)}, got {on_error!r}")
        self.on_error = on_error
        self.kept: list[Problem] = []
        self.counts: Counter[tuple[Severity, str]] = Counter()

    def add(
        self,
        severity: Severity,
        code: str,
        message: str,
        file: str | Path = "",
        **place: Any,
    ) -> None:
        """Count a problem by severity and code; the first ones are kept."""
        self.counts[severity, code] += 1
        if self.counts[severity, code] <= KEPT_PER_CODE:
            self.kept.append(
                Problem(
                    severity,
                    code,
                    message,
                    shown_path(file),
                    **place,
                )
            )

    # note an error, or what can be used all the same: (code, message), a finished sentence; `file`, `line`, `field` and
    # `id` say where it is
    error = partialmethod(add, "error")
    warn = partialmethod(add, "warning")

    def fatal(
        self,
        code: str,
        message: str,
        **place: Any,
    ) -> InputError:
        """The exception to raise for an input that no policy can save; it carries what came before."""
        self.error(code, message, **place)
        return InputError(self)

    def merge(
        self,
        other: Problems,
        line_offset: int = 0,
    ) -> None:
        """Add what another collector found, its line numbers moved down by `line_offset`."""
        counts = self.counts + other.counts  # with those that are not kept
        for problem in other.kept:
            self.add(**problem._asdict() | {"line": problem.line and problem.line + line_offset})
        self.counts = counts

    def count(self, severity: Severity) -> int:
        """How many problems of this severity were found, kept or not."""
        return sum(n for (of, _), n in self.counts.items() if of == severity)

    def raise_if_failed(self) -> None:
        """Raise the errors together, unless what cannot be used is left out."""
        if self.on_error == "fail" and self.count("error"):
            raise InputError(self)

    def shown(self, quiet: bool = False) -> list[Problem]:
        """Those that are kept, and a line for each kind of which there are more; `quiet`: errors only."""
        more = [
            Problem(severity, code, f"{count - KEPT_PER_CODE:,} more")
            for (severity, code), count in sorted(self.counts.items())
            if count > KEPT_PER_CODE
        ]
        return [p for p in self.kept + more if p.severity == "error" or not quiet]

    def tell(self, quiet: bool = False) -> None:
        """Say on standard error what was found, each once; `quiet`: errors only."""
        for problem in dict.fromkeys(self.shown(quiet)):
            echo(problem, err=True)


# --- lines at a terminal

# controls but for tab and line feed, invisible and bidirectional controls, lone surrogates, tags, noncharacters
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffc\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str, mark: Callable[[str], str] = "[{}]".format) -> str:
    """`text` with every control, bidirectional or invisible character replaced by its code point.

    >>> visible("a\u202eb")
    'a[U+202E]b'
    """
    return UNSEEN.sub(lambda m: mark(f"U+{ord(m[0]):04X}"), text.replace("\r\n", "\n"))


def echo(text: object = "", err: bool = False) -> None:
    """Print a line to standard output or error, whatever names, files and replies in it hold."""
    write(visible(str(text)), err)


def paragraph(text: str) -> None:
    """Print a sentence in lines that fit the terminal, those from the second on indented."""
    width = get_terminal_size().columns
    for line in bounded(text).splitlines():
        echo(
            textwrap.fill(
                line,
                width,
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        )


def terminal_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that fits the terminal: the first column stands at its left and is folded, the others at their right."""
    from rich.console import Console
    from rich.table import Table

    grid = Table(box=None, pad_edge=False)
    for index, head in enumerate(heads):
        grid.add_column(
            head,
            justify="right" if index else "left",
            overflow="fold",
            no_wrap=index > 0 and head != "verdict",
        )
    for row in rows:
        grid.add_row(*(visible(cell.replace("\u00a0", " ")) for cell in row))
    console = Console(markup=False, emoji=False)
    with console.capture() as captured:
        console.print(grid)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def write(text: str, err: bool = False) -> None:
    """Print where there is a stream, and a reader who has not gone; letters that it lacks are spelt out."""
    stream = sys.stderr if err else sys.stdout
    if stream is None:
        return
    encoding = stream.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)
    except OSError as error:  # what standard error has no room for is lost
        if not err and not isinstance(error, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def bar(total: int, label: str) -> Iterator[Callable[..., None]]:
    """Yields a function to call when something is done: `step("its name")`.

    There is a bar where there is a label and standard error is a terminal: a notebook's output holds none.
    """
    if not label or sys.stderr is None or not sys.stderr.isatty():
        yield lambda name="": None
        return
    from rich.console import Console
    from rich.progress import Progress

    # without a thread of its own, which would be copied, half alive, into forked processes
    with Progress(console=Console(stderr=True), auto_refresh=False, transient=True) as progress:
        task = progress.add_task(label, total=total)

        def step(name: str = "") -> None:
            progress.update(task, advance=1, description=f"{label} {visible(name)[-40:]}")
            progress.refresh()

        yield step


# --- the words of pages

# the folder of the package
PACKAGE = Path(__file__).parents[1]

LANGUAGES = ("en", "ko", "zh")

# so many names are in a message at most
MOST_NAMED = 10

FIGURE = re.compile(r"\d+(?:\.\d+)?")

# the language in force, and the suite whose words are known beside those of the report; "" for all suites
_spoken: ContextVar[tuple[str, str]] = ContextVar("spoken", default=("en", ""))


def language() -> str:
    """The language in force: "en", "ko" or "zh"."""
    return _spoken.get()[0]


def speak(lang: str, suite: str = "") -> None:
    """Show everything in this language from now on, by the words of this suite and no other ("": of all suites).

    UsageError for a language that there is not.

    >>> speak("en")
    """
    if lang not in LANGUAGES:
        raise UsageError(f"no language {lang!r}; there are {', '.join(LANGUAGES)}")
    _spoken.set((lang, suite))


@contextmanager
def speaking(lang: str, suite: str = "") -> Iterator[None]:
    """The block speaks this language, by the words of this suite or of all."""
    before = _spoken.get()
    speak(lang, suite)
    try:
        yield
    finally:
        speak(*before)


def say(
    text: str,
    /,
    **values: Any,
) -> str:
    """A text in the language in force, its {places} filled with the values.

    What has no translation stays English. A text without places whose figures vary, as a title with a threshold, has
    a {} for each of them in the dictionaries.

    >>> with speaking("ko"):
    ...     say("no rows"), say("nothing known of this")
    ('행 없음', 'nothing known of this')
    >>> say("{n:,} samples", n=1200)
    '1,200 samples'
    """
    known = translations(*_spoken.get())
    if values:
        several = {k: listed(v) for k, v in values.items() if isinstance(v, tuple | list)}
        return known.get(text, text).format(**values | several)
    if text in known:
        return known[text]
    of_any_figures = known.get(FIGURE.sub("{}", text))
    return text if of_any_figures is None else of_any_figures.format(*FIGURE.findall(text))


def listed(parts: Iterable[Any], between: str = ", ") -> str:
    """Names, values or clauses ("; ") one after the other, set apart as the language in force does it.

    >>> with speaking("zh"):
    ...     listed(["no_memory", "with_memory"]), listed(["甲", "乙"], "; ")
    ('no_memory、with_memory', '甲；乙')
    """
    if language() == "zh":
        between = {", ": "、", "; ": "；"}[between]
    return between.join(map(str, parts))


def first_ten(parts: Sequence[Any]) -> list[str]:
    """Parts for a message; of more than ten the first ten, and how many more there are.

    >>> first_ten(range(1012))[8:]
    ['8', '9', 'and 1,002 more']
    """
    n_more = len(parts) - MOST_NAMED
    more = [say("and {n:,} more", n=n_more)] if n_more > 0 else []
    return [*map(str, parts[:MOST_NAMED]), *more]


@cache
def translations(lang: str, suite: str = "") -> Mapping[str, str]:
    """English text -> text in that language: of the report, and of this suite or of all."""
    suites = PACKAGE / "suites"
    known: dict[str, str] = {}
    for path in sorted(PACKAGE.rglob(f"lang/{lang}.toml")):
        if not suite or suites not in path.parents or suites / suite in path.parents:
            known |= tomllib.loads(path.read_text(encoding="utf-8"))
    return known
