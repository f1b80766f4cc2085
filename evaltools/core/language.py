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
from dataclasses import dataclass, field
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

_language: ContextVar[str] = ContextVar("language", default="en")
_messages: dict[str, Message] = {}
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


@dataclass(frozen=True)
class Message:
    """A sentence with places, and the values that fill them. It is told in the reader's language when it is shown.

    `template` is English, with places as in "{n:,} of {total}". A value is a number, a text from data (shown as it
    is), another message (told in the same language), or a tuple of these, whose parts are joined by commas.

    >>> message = Message("{n} units ({unit})", {"n": 3, "unit": "case_id"})
    >>> str(message)
    '3 units (case_id)'
    """

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        with speaking("en"):
            return say(self)

    def as_json(self) -> dict[str, Any]:
        """The message as JSON: its template, and its values, among them messages of the same form."""
        values = {name: _value_as_json(value) for name, value in self.values.items()}
        return {"template": self.template, "values": values}

    @classmethod
    def from_json(cls, content: Any) -> Message:
        """The message that `as_json` wrote. ValueError where it is none."""
        if isinstance(content, Message):
            return content
        try:
            values = {name: _value_from_json(value) for name, value in content["values"].items()}
            return cls(str(content["template"]), values)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("not a message with a template and values") from error


def _value_as_json(value: Any) -> Any:
    if isinstance(value, Message):
        return value.as_json()
    if isinstance(value, tuple | list):
        return [_value_as_json(part) for part in value]
    # a number of numpy becomes Python's; numpy itself is not imported, as every command imports this module
    return value.item() if hasattr(value, "item") else value


def _value_from_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Message.from_json(value)
    if isinstance(value, list):
        return tuple(_value_from_json(part) for part in value)
    return value


def say(
    text: str | Message,
    /,
    **values: Any,
) -> str:
    """A text or message in the language in force, its {places} filled with the values.

    What has no translation stays English.

    >>> with speaking("ko"):
    ...     say("no rows"), say("nothing known of this")
    ('행 없음', 'nothing known of this')
    >>> say("{n:,} samples", n=1200)
    '1,200 samples'
    """
    if isinstance(text, Message):
        values = dict(text.values)
        text = text.template
    known = translations(language())
    if not values and text not in known and text in _messages:
        message = _messages[text]
        return say(message) if message.template in known else text
    template = known.get(text, text)
    if not values:
        return template
    return filled(template, {name: _said(value) for name, value in values.items()})


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


def stored_text(
    template: str,
    /,
    **values: Any,
) -> str:
    """The English text of a message, for a frame or a file, where only a text can stand.

    The message is remembered, so that `say` of this very text tells it in the reader's language.

    >>> stored_text("{n:,} samples", n=1200)
    '1,200 samples'
    """
    return remember(Message(template, values))


def remember(message: Message) -> str:
    """The English text of a message that was read from a file, as `stored_text` gives it of one that is new."""
    text = str(message)
    _messages[text] = message
    return text


def stored_messages(texts: Iterable[Any]) -> list[Message]:
    """The messages from which some of these texts were made, each once, to be written beside them."""
    return [_messages[text] for text in dict.fromkeys(texts) if text in _messages]


def _said(value: Any) -> Any:
    """What fills a place: a message in the language in force, several values as a list, all else as it is."""
    if isinstance(value, Message):
        return say(value)
    if isinstance(value, tuple | list):
        return listed(_said(part) for part in value)
    return value


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
