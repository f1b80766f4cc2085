"""The examples in the documentation of the package run, and every name of the public API has one or says enough."""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterator
from importlib import import_module
from inspect import getmodule, isclass, isfunction
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest

import evaltools

MODULES = sorted(
    m.name for m in walk_packages(evaltools.__path__, "evaltools.") if ".app.examples" not in m.name
)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples() -> Iterator[Any]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in MODULES:
        for found in finder.find(import_module(name), name):
            if found.examples:
                yield pytest.param(found, id=found.name)


@pytest.mark.parametrize("example", list(examples()))
def test_an_example_gives_what_it_says(
    example: doctest.DocTest, tmp_path: Any, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)  # an example that writes does so elsewhere
    said: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=said.append, clear_globs=False)
    assert said == []


PUBLIC = [
    n
    for n in evaltools.__all__
    if isfunction(getattr(evaltools, n)) or isclass(getattr(evaltools, n))
]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_says_what_it_is(name: str) -> None:
    thing = getattr(evaltools, name)
    assert thing.__doc__ and len(thing.__doc__.strip()) > 20
    module = getmodule(thing)
    assert module is not None and module.__doc__


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example(name: str) -> None:
    assert ">>> " in getattr(evaltools, name).__doc__


def test_the_public_names_are_listed_and_there() -> None:
    assert set(evaltools.__all__) <= set(dir(evaltools))
    for name in evaltools.__all__:
        assert getattr(evaltools, name) is not None
    with pytest.raises(AttributeError, match="nosuch"):
        getattr(evaltools, "nosuch")  # noqa: B009


def test_editors_and_type_checkers_see_the_public_names() -> None:
    stub = Path(str(evaltools.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    names = {
        alias.asname
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert names == {*evaltools.__all__, *PACKAGES} - {"__version__"}


PACKAGES = ("cr", "memfin", "summary")
"""The suites with functions of plain values."""
