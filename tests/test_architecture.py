"""What may import what, and where the names of suites may stand: read from the sources, no module is loaded."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import evaltools

PACKAGE = Path(evaltools.__file__).parent
LAYERS = ("core", "stats", "report", "app")
"""From the bottom to the top: a layer may import itself and those below it."""

SUITES = {package.rpartition(".")[2] for package in evaltools.BUILT_IN.values()}
TOOLS = {"formats", "llm"}
"""Readers of other tools' files and the client of language models: they stand on core, for the suites and app."""
ALSO_A_WORD = {"table"}
"""A suite's name that the code uses in its common sense as well."""

OF_SUITES = {"core", "stats", "report", *TOOLS}

MODULES = sorted(PACKAGE.rglob("*.py"))


def parts_of(path: Path) -> tuple[str, ...]:
    return path.relative_to(PACKAGE).with_suffix("").parts


def imports(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """(line, parts below the package) of every module of this package that a file imports, in functions too."""
    package = ("evaltools", *parts_of(path)[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = tuple(alias.name.split("."))
                if parts[0] == "evaltools":
                    yield node.lineno, parts[1:]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = (*above, *(node.module.split(".") if node.module else ()))
            if base[:1] == ("evaltools",):
                for alias in node.names:
                    yield node.lineno, (*base[1:], alias.name)


def allowed(path: Path) -> set[str]:
    """The packages that a file may import."""
    package, *rest = parts_of(path)
    if package == "suites":
        package, *rest = rest
    if package == "app":
        return {*LAYERS, *TOOLS}
    if package in LAYERS:
        return set(LAYERS[: LAYERS.index(package) + 1])
    if package in TOOLS:
        return {"core", package}
    if package in SUITES:
        return {package, *OF_SUITES}
    return set()


@pytest.mark.parametrize("path", MODULES, ids=lambda p: "/".join(parts_of(p)))
def test_imports_point_one_way(path: Path) -> None:
    packages = {*LAYERS, *SUITES, *TOOLS}
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} imports {'.'.join(parts)}"
        for line, parts in imports(path)
        if parts and parts[0] in packages and parts[0] not in allowed(path)
    ]
    assert wrong == []


def test_every_package_has_its_place() -> None:
    found = {
        p.name
        for p in (*PACKAGE.iterdir(), *(PACKAGE / "suites").iterdir())
        if p.is_dir() and list(p.glob("*.py"))
    } - {"suites"}
    assert found == {*LAYERS, *SUITES, *TOOLS}


def documentation(tree: ast.AST) -> set[int]:
    """The nodes that are docstrings, of a module, class, function or, below it, of a name."""
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


@pytest.mark.parametrize("layer", LAYERS)
def test_nothing_shared_names_a_suite(layer: str) -> None:
    """A suite is reached through the registry: outside of its own package its name stands in examples only."""
    named = []
    for path in sorted((PACKAGE / layer).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = documentation(tree)
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in docs
            ):
                words = {node.value, node.value.partition(".")[2].partition(".")[0]}
                suite = words & {*SUITES, *evaltools.BUILT_IN}
            elif isinstance(node, ast.Name | ast.arg):
                suite = {node.id if isinstance(node, ast.Name) else node.arg} & set(
                    evaltools.BUILT_IN
                )
            else:
                continue
            if suite - ALSO_A_WORD:
                named.append(f"{path.relative_to(PACKAGE)}:{node.lineno} {ast.unparse(node)}")
    assert named == []


def test_the_suites_are_listed_once() -> None:
    """A suite that is added or taken away is so in one place."""
    listing = []
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = documentation(tree)
        texts = {
            n.value
            for n in ast.walk(tree)
            if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in docs
        }
        if set(evaltools.BUILT_IN) <= texts:
            listing.append(path.relative_to(PACKAGE).as_posix())
    assert listing == ["__init__.py"]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: "/".join(parts_of(p)))
def test_all_that_is_printed_goes_through_one_function(path: Path) -> None:
    """`core.terminal.echo` spells out what could act on a terminal."""
    calls = [
        n.func
        for n in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(n, ast.Call)
    ]
    printing = [
        f.lineno
        for f in calls
        if ast.unparse(f) in ("print", "click.echo", "click.secho", "sys.stdout.write")
    ]
    assert printing == [] or parts_of(path) == ("core", "terminal")
