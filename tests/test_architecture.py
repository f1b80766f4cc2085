"""What may import what, and where the names of suites may stand: read from the sources."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import house

import evaltools

PACKAGE = Path(evaltools.__file__).parent
# from the bottom to the top: a layer may import itself and those below it
LAYERS = ("core", "stats", "report", "app")
SUITES = {package.rpartition(".")[2] for package in evaltools.BUILT_IN.values()}
# readers of other tools' files and the client of language models: they stand on core
TOOLS = {"formats", "llm"}
ALSO_A_WORD = {"table"}


@cache
def trees() -> dict[Path, ast.Module]:
    """The modules of the package, by path."""
    return {
        path.relative_to(PACKAGE): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def package_of(module: str) -> str:
    """The layer, tool or suite that a module belongs to; "" for one of the package itself."""
    parts = [part for part in module.split(".")[1:] if part != "suites"]
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


def test_imports_point_one_way() -> None:
    graph = house.import_graph()
    assert len(graph) == len(trees())
    wrong = [
        f"{module} imports {other}"
        for module, others in graph.items()
        for other in others
        if package_of(other) and package_of(other) not in allowed(package_of(module))
    ]
    assert wrong == []


def names_and_texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The names of variables and the texts of a file, but for its docstrings, with their lines."""
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in documentation
        ):
            yield node.lineno, node.value


def test_nothing_shared_names_a_suite() -> None:
    """A suite is reached through the registry: its name stands in its own package and in examples."""
    names = (set(evaltools.BUILT_IN) | SUITES) - ALSO_A_WORD
    wrong = [
        f"{path}:{line} {text!r}"
        for path, tree in trees().items()
        if path.parts[0] in LAYERS
        for line, text in names_and_texts(tree)
        if text in names
    ]
    assert wrong == []
