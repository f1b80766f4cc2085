"""Words in other languages: what `say` gives, and that every language has every word, and none that nobody says."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import click
import pytest
from pydantic_core import PydanticKnownError

from evaltools import BUILT_IN
from evaltools.core import language as words
from evaltools.core.check import CheckKind
from evaltools.core.common_checks import PAGE_KINDS, RUN_KINDS, STUDY_KINDS
from evaltools.core.errors import UsageError
from evaltools.core.files import PACKAGE, asset_dir
from evaltools.core.language import (
    LANGUAGES,
    PLACE,
    Message,
    filled,
    language,
    remember,
    say,
    speak,
    speaking,
    stored_messages,
    stored_text,
    translations,
    use_language_files,
)
from evaltools.core.plugins import get_suite
from evaltools.report.page import SPOKEN
from evaltools.suites.memfin.lexicon import LEXICON

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


@pytest.fixture
def zebras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A language file of somebody else's, and no message remembered."""
    monkeypatch.setattr(words, "_folders", dict(words._folders))
    monkeypatch.setattr(words, "_messages", {})
    (tmp_path / "lang").mkdir()
    entries = {"zzz {n} zebras in {where}": "얼룩말 {n}마리: {where}", "zzz the zoo": "동물원"}
    lines = [f"{json.dumps(k)} = {json.dumps(v)}" for k, v in entries.items()]
    (tmp_path / "lang" / "ko.toml").write_text("\n".join(lines), encoding="utf-8")
    use_language_files(tmp_path)


def test_a_stored_text_is_told_by_the_message_it_was_made_from(zebras: None) -> None:
    text = stored_text("zzz {n} zebras in {where}", n=3, where=Message("zzz the zoo"))
    assert text == say(text) == "zzz 3 zebras in zzz the zoo"
    with speaking("ko"):
        assert say(text) == "얼룩말 3마리: 동물원"
        assert say(Message("{what}!", {"what": Message(text)})) == "얼룩말 3마리: 동물원!"


def test_a_text_is_looked_up_whole_and_never_taken_apart(zebras: None) -> None:
    stored_text("zzz {n} zebras in {where}", n=3, where="Berlin")
    with speaking("ko"):
        assert say("zzz 3 zebras in Berlin") == "얼룩말 3마리: Berlin"
        assert say("zzz 4 zebras in Berlin") == "zzz 4 zebras in Berlin"
        assert say("zzz 3 zebras in Berlin.") == "zzz 3 zebras in Berlin."


def test_a_stored_text_is_told_in_another_process_by_what_was_written_beside_it(
    zebras: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = stored_text("zzz {n} zebras in {where}", n=3, where="Berlin")
    written = [message.as_json() for message in stored_messages([text, "another", text])]
    assert len(written) == 1
    monkeypatch.setattr(words, "_messages", {})
    for content in json.loads(json.dumps(written)):
        assert remember(Message.from_json(content)) == text
    with speaking("ko"):
        assert say(text) == "얼룩말 3마리: Berlin"


def test_a_template_from_a_file_cannot_ask_for_much(zebras: None) -> None:
    """A width in a format would make a text of any length; a value of another kind is shown as it is."""
    wide = Message("{n:>99999999999}", {"n": 1})
    assert str(wide) == "{n:>99999999999}"
    assert str(Message("{n:99999999999d} {m:.999999999f}", {"n": 1, "m": 1})).count("{") == 2
    assert str(Message("{n:,} units, {m:.0%}", {"n": "many", "m": None})) == "many units, None"
    itself = Message("{a}", {"a": Message("zzz the zoo")})
    remember(itself)
    with speaking("ko"):
        assert say(itself) == "동물원"


# --- what the package says


def _literals(tree: ast.AST) -> Iterator[str]:
    """Every text that stands in a source, the places of f-strings as {}."""
    for node in ast.walk(tree):
        yield from _of(node)


def _of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)


def _calls(tree: ast.AST, *functions: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in functions
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value)


def templates() -> Iterator[str]:
    for path in asset_dir("templates").rglob("*"):
        if path.suffix in (".j2", ".js") and "vendor" not in path.parts:
            yield path.read_text(encoding="utf-8")


def said() -> set[str]:
    """All that is certainly said: the texts given to `say` in sources and templates."""
    calls = {
        key
        for path in PACKAGE.rglob("*.py")
        for key in _calls(ast.parse(path.read_text(encoding="utf-8")), "say")
    }
    return calls | {key for text in templates() for key in SPOKEN.findall(text)}


def normal(key: str) -> str:
    """A key without the names and formats of its places."""
    return re.sub(r"{[^{}]*}", "{}", key)


def places(text: str) -> set[str]:
    return {m[1] for m in PLACE.finditer(text)}


@pytest.mark.parametrize("lang", OTHERS)
def test_every_text_that_is_said_has_a_translation(lang: str) -> None:
    assert sorted(said() - set(translations(lang))) == []


ERRORS = ("UsageError", "WorkFailed")


@pytest.mark.parametrize("lang", OTHERS)
def test_every_error_of_a_command_has_a_translation(lang: str) -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")]
    texts = {text for tree in trees for text in _calls(tree, *ERRORS)}
    texts = {text for text in texts if re.search("[a-z]{2}", PLACE.sub("", text))}
    assert len(texts) > 100
    assert sorted(texts - set(translations(lang))) == []
    built = [
        node
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ERRORS
        and isinstance(node.args[0], ast.JoinedStr)
    ]
    assert built == [], "an f-string can be told in English only"


def test_the_languages_have_the_same_entries() -> None:
    for path in PACKAGE.rglob("lang/*.toml"):
        assert path.stem in OTHERS
    keys = {lang: set(translations(lang)) for lang in OTHERS}
    assert keys["ko"] == keys["zh"]


WORD = re.compile(r"[A-Za-z][A-Za-z_.-]{2,}")
CODE = re.compile(r"`[^`]*`")


def english(text: str) -> set[str]:
    """The Latin words of a text, but for its places and what is code."""
    return set(WORD.findall(CODE.sub("", PLACE.sub("", text))))


def test_a_chinese_text_keeps_no_word_of_english_that_the_korean_does_not() -> None:
    """So that a look at Korean pages (test_no_english_left.py) is one at both."""
    korean = translations("ko")
    left = set()
    for key, text in translations("zh").items():
        left |= english(text) - english(korean[key])
    assert left <= {"kappa", "Kappa", "Spearman", "Unicode", "Python", "profile", "run_id"}


@pytest.mark.parametrize("lang", OTHERS)
def test_a_translation_has_the_places_of_its_key(lang: str) -> None:
    assert {
        k: v for k, v in translations(lang).items() if places(k) != places(v) or not v.strip()
    } == {}


def toml_texts() -> Iterator[str]:
    """What a page shows of the tables of metrics and of views, sentences with their places."""
    for name in ("cr", "memfin"):
        suite = get_suite(name)
        for metric in suite.metrics(suite.options()):
            yield from (metric.title, metric.description, metric.group)
    for path in PACKAGE.rglob("views.toml"):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        for figure in content["figure"].values():
            yield from (figure[k] for k in ("title", "xlabel", "ylabel") if k in figure)
        yield from (
            entry[k] for entry in content.get("known_before", ()) for k in ("what", "detail")
        )
        yield from [content["legend"]] if "legend" in content else []
        for k in ("sides", "fields", "text"):
            yield from content.get("browser", {}).get(k, {}).values()
        for _, caption in content.get("samples", {}).values():
            yield from dict.fromkeys((caption, caption.partition(":")[0]))


def markdown_cells() -> Iterator[str]:
    for path in asset_dir("notebooks").glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                yield "".join(cell["source"])


def figure_labels() -> Iterator[str]:
    """The titles and labels of axes in the code cells of the notebooks."""
    for path in asset_dir("notebooks").glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] != "code":
                continue
            for node in ast.walk(ast.parse("".join(cell["source"]))):
                if isinstance(node, ast.keyword) and node.arg in ("title", "xlabel", "ylabel"):
                    yield from _of(node.value)


@pytest.mark.parametrize("lang", OTHERS)
@pytest.mark.parametrize("texts", [toml_texts, markdown_cells, figure_labels])
def test_what_tables_and_notebooks_show_has_a_translation(
    texts: Callable[[], Iterator[str]], lang: str
) -> None:
    letters = {text for text in texts() if re.search(r"[^\W\d_]{2}", PLACE.sub("", text))}
    assert len(letters) > 5
    assert sorted(letters - set(translations(lang))) == []


NOT_SHOWN = (
    "Write {metric: value} there",  # help of an option
    "# Notebooks of evaltools",  # of the file that `lab` writes
    "The reply cannot be used: {error}",  # asked of a model
    "not protocol & f1_s2_{key}",  # a query
    "{what} and ",  # begins another template, which stands in the language files whole
)
"""Beginnings of the texts with places that no reader sees."""


def message_templates() -> Iterator[str]:
    """Every text of the package with places and words that is no error, documentation or f-string."""
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for text in without_errors(tree):
            is_sentence = PLACE.search(text) and re.search(r"[a-z]{2} ", PLACE.sub("", text))
            if is_sentence and not text.startswith(NOT_SHOWN):
                yield text


@pytest.mark.parametrize("lang", OTHERS)
def test_every_template_has_a_translation(lang: str) -> None:
    templates = set(message_templates())
    assert len(templates) > 100
    assert sorted(templates - set(translations(lang))) == []


@pytest.mark.parametrize("name", ["cr", "memfin", "summary"])
def test_every_metric_is_named_and_described_in_every_language(name: str) -> None:
    suite = get_suite(name)
    for metric in suite.metrics(suite.options()):
        for text in (metric.title, metric.description):
            templates = [message.template for message in stored_messages([text])]
            for lang in OTHERS:
                assert {text, *templates} & set(translations(lang))


MADE = [
    "core/common_checks.py",
    "report/trust.py",
    "suites/cr/checks.py",
    "suites/memfin/checks.py",
    "suites/memfin/score.py",
    "suites/summary/checks.py",
    "report/sentences.py",
    "report/study_sentences.py",
]
"""Modules whose sentences are stored in English and told on a page by what they were made from."""


def sentences(tree: ast.AST) -> Iterator[str]:
    """The texts of several words in a module that are no documentation and no error."""
    yield from (text for text in without_errors(tree) if text.count(" ") > 2)


def without_errors(tree: ast.AST) -> Iterator[str]:
    """The texts in a module that are no documentation and no error."""
    raised = {id(n) for r in ast.walk(tree) if isinstance(r, ast.Raise) for n in ast.walk(r)}
    inside = {id(v) for j in ast.walk(tree) if isinstance(j, ast.JoinedStr) for v in j.values}
    documents = {id(e.value) for e in ast.walk(tree) if isinstance(e, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) not in raised | inside | documents:
            yield from _of(node)


def all_check_kinds() -> Iterator[CheckKind]:
    yield from (*RUN_KINDS, *STUDY_KINDS, *PAGE_KINDS)
    for name in BUILT_IN:
        yield from get_suite(name).check_kinds


@pytest.mark.parametrize("module", MADE)
def test_every_sentence_that_is_stored_has_a_translation(module: str) -> None:
    found = set(sentences(ast.parse((PACKAGE / module).read_text(encoding="utf-8"))))
    for kind in all_check_kinds():
        found -= {kind.applies, kind.blocks, kind.advice}  # of docs/checks.md, in English only
    keys = set(translations("ko"))
    assert found
    assert sorted(text for text in found if not any(told_by(text, key) for key in keys)) == []


def told_by(text: str, key: str) -> bool:
    """Whether a text of a source, its places open, makes what the key tells, or a part of it."""
    return _pattern(normal(text)).search(normal(key)) is not None


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*?".join(map(re.escape, text.split("{}"))))


OF_PYDANTIC = {
    PydanticKnownError(kind, values).message_template
    for kind, values in (
        ("missing", None),
        ("string_type", None),
        ("int_type", None),
        ("int_parsing", None),
        ("int_from_float", None),
        ("float_type", None),
        ("float_parsing", None),
        ("bool_type", None),
        ("list_type", None),
        ("dict_type", None),
        ("model_type", {"class_name": "Record"}),
        ("literal_error", {"expected": "'a' or 'b'"}),
        ("greater_than", {"gt": 0}),
        ("greater_than_equal", {"ge": 0}),
        ("less_than", {"lt": 0}),
        ("less_than_equal", {"le": 0}),
        ("finite_number", None),
        ("extra_forbidden", None),
        ("json_invalid", {"error": "a reason"}),
    )
} | {
    # of JSON, and of one character, it says it in other words than its template
    "Input should be an object",
    "String should have at least 1 character",
}
"""The commonest of what pydantic says."""

OF_CLICK = {
    text
    for path in Path(click.__file__).parent.glob("*.py")
    for text in _literals(ast.parse(path.read_text(encoding="utf-8")))
} | {"No such option: {name}"}  # of click 8.1
"""What click says of a command line."""


@pytest.mark.parametrize("lang", OTHERS)
def test_what_pydantic_says_of_a_record_has_a_translation(lang: str) -> None:
    assert sorted(OF_PYDANTIC - set(translations(lang))) == []


@pytest.mark.parametrize("lang", OTHERS)
def test_no_entry_is_of_a_word_that_nobody_says(lang: str) -> None:
    known, open_texts = written()
    known |= {normal(template) for template in OF_PYDANTIC | OF_CLICK}
    known |= set(LEXICON.risk.required)
    rest = {key for key in translations(lang) if normal(key) not in known}
    assert sorted(key for key in rest if not any(told_by(text, key) for text in open_texts)) == []


def notebook_texts() -> Iterator[str]:
    """The texts in the code cells of the notebooks: labels of tables and figures among them."""
    for path in asset_dir("notebooks").glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                yield from _literals(ast.parse("".join(cell["source"])))


@cache
def written() -> tuple[set[str], list[str]]:
    """Every text of the package that may be said, and those of them that have places."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")]
    texts = (
        {text for tree in trees for text in _literals(tree)}
        | set(toml_texts())
        | set(markdown_cells())
        | set(notebook_texts())
        | said()
    )
    texts |= {text.partition("\n")[0].partition(":")[0].removeprefix("## ") for text in texts}
    texts |= {name.removeprefix("summary_").replace("_", " ") for name in texts}
    texts |= {
        value
        for path in PACKAGE.rglob("*.json")
        if "examples" not in path.parts
        for value in _strings(path)
    }
    texts |= {
        value
        for path in PACKAGE.rglob("*.toml")
        if path.parent.name != "lang"
        for value in _strings(path)
    }
    known = {normal(text) for text in texts}
    open_texts = [t for t in known if sum(map(str.isalpha, t)) > (2 if "{}" in t else 12)]
    return known, open_texts


def _strings(path: Path) -> Iterator[str]:
    """Every text in a file of data."""
    text = path.read_text(encoding="utf-8")
    todo: list[Any] = [tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)]
    while todo:
        value = todo.pop()
        if isinstance(value, str):
            yield value
        else:
            todo += (
                value.values()
                if isinstance(value, dict)
                else value
                if isinstance(value, list)
                else []
            )


def test_a_key_that_stands_in_two_files_is_told_alike() -> None:
    for lang in OTHERS:
        files = [
            tomllib.loads(p.read_text(encoding="utf-8"))
            for p in PACKAGE.glob(f"*/lang/{lang}.toml")
        ]
        for a, b in combinations(files, 2):
            assert {k: a[k] for k in a.keys() & b.keys()} == {k: b[k] for k in a.keys() & b.keys()}


def test_a_negative_number_in_a_sentence_has_a_true_minus() -> None:
    assert say("{x:+.3f} to {y:.0%}", x=-0.05, y=-0.1) == "−0.050 to −10%"
    assert say("{small:g}", small=1e-5) == "1e-05"
    assert say("{small:g}", small=-1e-5) == "−1e-05"
    assert say("{name}", name="-m") == "-m"  # a text of data stays as it is
