"""What may import what, and where the names of suites may stand: read from the sources."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import evaltools

PACKAGE = Path(evaltools.__file__).parent
LAYERS = ("core", "stats", "report", "app")
"""From the bottom to the top: a layer may import itself and those below it."""

SUITES = {package.rpartition(".")[2] for package in evaltools.BUILT_IN.values()}
TOOLS = {"formats", "llm"}
"""Readers of other tools' files and the client of language models: they stand on core."""

ALSO_A_WORD = {"table"}
"""A suite's name that the code uses in its common sense as well."""

PRINTING = {"print", "click.echo", "click.secho", "sys.stdout.write"}


@cache
def trees() -> dict[Path, ast.Module]:
    """The modules of the package, by path."""
    return {
        path.relative_to(PACKAGE): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def package_of(parts: tuple[str, ...]) -> str:
    """The layer, tool or suite that a module belongs to; "" for one of the package itself."""
    if parts[:1] == ("suites",):
        parts = parts[1:]
    return parts[0] if parts and parts[0] in {*LAYERS, *TOOLS, *SUITES} else ""


def allowed(package: str) -> set[str]:
    """The packages that a package may import."""
    if package == "app":
        return {*LAYERS, *TOOLS}
    if package in LAYERS:
        return set(LAYERS[: LAYERS.index(package) + 1])
    if package in TOOLS:
        return {"core", package}
    if package in SUITES:
        return {package, "core", "stats", "report", *TOOLS}
    return set()


def imports(path: Path, tree: ast.Module) -> Iterator[tuple[int, tuple[str, ...]]]:
    """(line, parts below the package) of all that a file imports from it, in functions too."""
    package = ("evaltools", *path.parent.parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = tuple(alias.name.split("."))
                if parts[0] == "evaltools":
                    yield node.lineno, parts[1:]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = tuple(node.module.split(".")) if node.module else ()
            base = (*above, *module)
            if base[:1] == ("evaltools",):
                for alias in node.names:
                    yield node.lineno, (*base[1:], alias.name)


def docstrings(tree: ast.Module) -> set[int]:
    """The ids of the nodes that are docstrings: of a module, class, function or, below it, a name."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found.add(id(node.value))
    return found


def texts(tree: ast.Module) -> Iterator[ast.Constant]:
    """The texts of a file that are no docstrings."""
    documentation = docstrings(tree)
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in documentation:
            yield node


def test_imports_point_one_way() -> None:
    wrong = []
    for path, tree in trees().items():
        for line, parts in imports(path, tree):
            package = package_of(parts)
            if package and package not in allowed(package_of(path.with_suffix("").parts)):
                wrong.append(f"{path}:{line} imports {'.'.join(parts)}")
    assert wrong == []


def test_nothing_shared_names_a_suite() -> None:
    """A suite is reached through the registry: its name stands in its own package and in examples."""
    names = set(evaltools.BUILT_IN) - ALSO_A_WORD
    wrong = []
    for path, tree in trees().items():
        if path.parts[0] not in LAYERS:
            continue
        for text in texts(tree):
            words = {text.value, text.value.partition(".")[2].partition(".")[0]}
            if words & (names | SUITES - ALSO_A_WORD):
                wrong.append(f"{path}:{text.lineno} {text.value!r}")
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in names:
                wrong.append(f"{path}:{node.lineno} {node.id}")
            if isinstance(node, ast.arg) and node.arg in names:
                wrong.append(f"{path}:{node.lineno} {node.arg}")
    assert wrong == []


def test_all_that_is_printed_goes_through_one_function() -> None:
    """`core.terminal.echo` spells out what could act on a terminal."""
    wrong = []
    for path, tree in trees().items():
        if path == Path("core/terminal.py"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in PRINTING:
                wrong.append(f"{path}:{node.lineno}")
    assert wrong == []


def test_no_files_import_each_other_in_a_circle() -> None:
    sys.path.insert(0, str(PACKAGE.parent / "scripts"))
    from house import circles, import_graph

    assert len(import_graph()) == len(trees())
    assert sum(len(circle) for circle in circles(import_graph())) <= 19  # 0 is the goal
