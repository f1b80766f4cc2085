"""The words of pages, tables and workbooks in the reader's language.

The English text is the key of its translation. Translations are data: `lang/ko.toml` and `lang/zh.toml` in any
package of this one, and in the folder of a suite from elsewhere. What has none stays English. Files that programs
read (CSV, JSON) and ids are English whatever the language.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any

from .errors import UsageError

PACKAGE = Path(__file__).parents[1]
"""The folder of the package."""

LANGUAGES = ("en", "ko", "zh")

PLACE = re.compile(r"{([\w.]+)(:[+]?,?(?:\.\d)?[a-z%]?)?}")
"""A place in a text that a value fills: {name}, or {name:spec} with a format spec.

A template may come from a file that somebody else wrote: a spec that asks for a width is none.
"""

FIGURE = re.compile(r"\d+(?:\.\d+)?")

_language: ContextVar[str] = ContextVar("language", default="en")
_folders: dict[Path, None] = dict.fromkeys(sorted(PACKAGE.rglob("lang")))


def language() -> str:
    """The language in force: "en", "ko" or "zh"."""
    return _language.get()


def speak(lang: str) -> None:
    """Show everything in this language from now on. UsageError for one that there is not.

    >>> speak("en")
    """
    if lang not in LANGUAGES:
        raise UsageError(f"no language {lang!r}; there are {', '.join(LANGUAGES)}")
    _language.set(lang)


@contextmanager
def speaking(lang: str) -> Iterator[None]:
    """The block speaks this language."""
    before = language()
    speak(lang)
    try:
        yield
    finally:
        speak(before)


def use_language_files(folder: Path) -> None:
    """Use the language files in `lang` below a folder too, for texts that the package has no translation of.

    UsageError for a file that is no table of texts.
    """
    for lang in LANGUAGES:
        _texts(folder / "lang" / f"{lang}.toml")
    if (folder / "lang").is_dir():
        _folders[folder / "lang"] = None


def say(
    text: str,
    /,
    **values: Any,
) -> str:
    """A text in the language in force, its {places} filled with the values.

    What has no translation stays English. A text without places whose figures vary, as a title with a threshold, has
    a # for each of them in the dictionaries.

    >>> with speaking("ko"):
    ...     say("no rows"), say("nothing known of this")
    ('행 없음', 'nothing known of this')
    >>> say("{n:,} samples", n=1200)
    '1,200 samples'
    """
    known = translations(language())
    if values:
        several = {k: listed(v) for k, v in values.items() if isinstance(v, tuple | list)}
        return filled(known.get(text, text), values | several)
    if text in known:
        return known[text]
    of_any_figures = known.get(FIGURE.sub("#", text))
    if of_any_figures is None:
        return text
    figures = iter(FIGURE.findall(text))
    return re.sub("#", lambda _: next(figures, ""), of_any_figures)


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


def filled(
    text: str,
    values: Mapping[str, Any],
) -> str:
    """The text with its {places} filled; a place without a value stays."""

    def fill(match: re.Match[str]) -> str:
        name, spec = match[1], match[2]
        if name not in values:
            return match[0]
        value = values[name]
        if not spec:
            return str(value)
        try:
            text = format(value, spec[1:])
        except (ValueError, TypeError):  # a text from a file where a number was expected
            return str(value)
        # a negative number has a true minus, as everywhere on a page
        return text.replace("-", "−", 1) if text.startswith("-") else text

    return PLACE.sub(fill, text)


def translations(lang: str) -> Mapping[str, str]:
    """English text -> text in that language."""
    return _read(lang, tuple(_folders))


@lru_cache(maxsize=16)
def _read(
    lang: str,
    folders: tuple[Path, ...],
) -> dict[str, str]:
    known: dict[str, str] = {}
    for folder in folders:
        texts = _texts(folder / f"{lang}.toml")
        if not folder.is_relative_to(PACKAGE):
            texts = {text: words for text, words in texts.items() if text not in known}
        known |= texts
    return known


def _texts(path: Path) -> dict[str, str]:
    """A language file; nothing where there is none. UsageError for one that is no table of texts."""
    if not path.is_file():
        return {}
    try:
        texts = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as e:
        raise UsageError(f"{path}: expected TOML: {e}") from None
    if not all(isinstance(words, str) for words in texts.values()):
        raise UsageError(f'{path}: expected lines of "English text" = "its translation"')
    return texts
