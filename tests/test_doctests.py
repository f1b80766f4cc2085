"""The examples in the documentation of the package run, and every name of the public API has one or says enough."""

import doctest
import re
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest

import evaltools

MODULES = sorted(
    m.name for m in walk_packages(evaltools.__path__, "evaltools.") if ".app.examples" not in m.name
)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("package", sorted({name.rpartition(".")[0] for name in MODULES}))
def test_examples_give_what_they_say(package: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)  # an example that writes does so elsewhere
    finder, said = doctest.DocTestFinder(exclude_empty=True), list[str]()
    for name in MODULES:
        if name.rpartition(".")[0] == package:
            for example in finder.find(import_module(name), name):
                runner = doctest.DocTestRunner(optionflags=OPTIONS)
                runner.run(example, out=said.append, clear_globs=False)
    assert said == []


PUBLIC = [
    n
    for n in evaltools.__all__
    if isfunction(getattr(evaltools, n)) or isclass(getattr(evaltools, n))
]


def test_every_public_name_says_what_it_is_with_an_example() -> None:
    assert [name for name in PUBLIC if ">>> " not in (getattr(evaltools, name).__doc__ or "")] == []


def test_editors_and_type_checkers_see_the_public_names() -> None:
    stub = Path(str(evaltools.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    names = {found[1] or found[2] for found in re.finditer(r" as (\w+)$|^(\w+) = ", stub, re.M)}
    assert names == {*evaltools.__all__, *PACKAGES} - {"__version__"}


PACKAGES = ("cr", "memfin", "summary")
"""The suites with functions of plain values."""
