"""Words in other languages: what `say` gives, and that every language has every word, and none that nobody says."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaltools.core import words
from evaltools.core.errors import UsageError
from evaltools.core.files import PACKAGE, asset_dir
from evaltools.core.words import LANGUAGES, PLACE, bring, filled, language, say, speak, speaking, translations
from evaltools.report.html import SPOKEN

OTHERS = [lang for lang in LANGUAGES if lang != "en"]


# --- what say gives


def test_english_is_the_key() -> None:
    assert say("no rows") == "no rows"
    assert say("{n:,} of {total}", n=1200, total="x") == "1,200 of x"


def test_a_language_is_spoken_within_its_block_only() -> None:
    with speaking("ko"):
        assert (language(), say("Interval")) == ("ko", "구간")
        with speaking("zh"):
            assert say("Interval") == "区间"
        assert say("Interval") == "구간"
    assert (language(), say("Interval")) == ("en", "Interval")


def test_what_has_no_translation_stays_english() -> None:
    with speaking("ko"):
        assert say("a word of nobody's") == "a word of nobody's"
        assert say("a word of {who}", who="nobody") == "a word of nobody"


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(UsageError, match="no language 'fr'; there are en, ko, zh"):
        speak("fr")
    assert language() == "en"


def test_a_value_is_never_a_template() -> None:
    """Values come from data: what looks like a place in them is text, and no attribute of a value can be reached."""
    assert filled("{a} and {b}", {"a": "{b}", "b": 2}) == "{b} and 2"
    assert filled("{a.__class__}", {"a": 1}) == "{a.__class__}"


def test_a_sentence_made_before_is_told_by_what_it_was_made_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "_folders", dict(words._folders))
    (tmp_path / "lang").mkdir()
    entries = {"zzz {n} zebras in {where}": "얼룩말 {n}마리: {where}", "zzz the zoo": "동물원", "{a}: {b}": "?"}
    lines = [f"{json.dumps(k)} = {json.dumps(v)}" for k, v in entries.items()]
    (tmp_path / "lang" / "ko.toml").write_text("\n".join(lines), encoding="utf-8")
    bring(tmp_path)
    with speaking("ko"):
        assert say("zzz 3 zebras in zzz the zoo") == "얼룩말 3마리: 동물원"
        assert say("zzz 3 zebras in zzz the zoo, Berlin") == "얼룩말 3마리: 동물원, Berlin"
        assert say("zzz 3 zebras") == "zzz 3 zebras"
        assert say("x: y") == "x: y"  # a sentence of places only would tell everything
    assert say("zzz 3 zebras in zzz the zoo") == "zzz 3 zebras in zzz the zoo"


# --- what the package says


def _literals(tree: ast.AST) -> Iterator[str]:
    """Every text that stands in a source, the places of f-strings as {}."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)


def _calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "say"
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value)


def templates() -> Iterator[str]:
    for path in asset_dir("templates").rglob("*"):
        if path.suffix in (".j2", ".js") and "vendor" not in path.parts:
            yield path.read_text(encoding="utf-8")


def said() -> set[str]:
    """All that is certainly said: the texts given to `say` in sources and templates."""
    calls = {key for path in PACKAGE.rglob("*.py") for key in _calls(ast.parse(path.read_text(encoding="utf-8")))}
    return calls | {key for text in templates() for key in SPOKEN.findall(text)}


def normal(key: str) -> str:
    """A key without the names and formats of its places."""
    return re.sub(r"{[^{}]*}", "{}", key)


def places(text: str) -> set[str]:
    return {m[1] for m in PLACE.finditer(text)}


@pytest.mark.parametrize("lang", OTHERS)
def test_every_text_that_is_said_has_a_translation(lang: str) -> None:
    assert sorted(said() - set(translations(lang))) == []


def test_the_languages_have_the_same_entries() -> None:
    for path in PACKAGE.glob("*/lang/*.toml"):
        assert path.stem in OTHERS
    keys = {lang: set(translations(lang)) for lang in OTHERS}
    assert keys["ko"] == keys["zh"]


@pytest.mark.parametrize("lang", OTHERS)
def test_a_translation_has_the_places_of_its_key(lang: str) -> None:
    assert {k: v for k, v in translations(lang).items() if places(k) != places(v) or not v.strip()} == {}
