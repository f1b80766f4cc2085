"""The words of pages, tables and workbooks in the reader's language.

The English text is the key of its translation. Translations are data: `lang/ko.toml` and `lang/zh.toml` in any
package of this one. What has none stays English. Files that programs read (CSV, JSON) and ids are English whatever
the language.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from .errors import UsageError

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


def listed(
    parts: Iterable[Any],
    between: str = ", ",
) -> str:
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
