"""How much there is to read, beside its budget: ends with status 1 where something is above it.

    python scripts/house.py

Something new needs something gone: lower a budget when what stands falls below it, never raise one.
Tokens are those of Python's own tokenizer, without layout, comments and strings; lines are lines of code.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# what stands at most; the goals of this edition are in brackets
BUDGET = {
    "tokens of evaltools": 125_000,
    "files of evaltools": 101,  # (150)
    "files in circles of imports": 0,
    "tokens a line": 7.5,  # (7.5)
    "tokens a line of the densest file": 10,  # (10)
    "lines of the longest function": 60,
    "lines of the longest file": 450,
    "tokens of tests": 129_850,  # (130,000)
    "tests": 1_588,  # (1,800)
    "pages of docs": 12,
    "words of docs": 16_000,
    "words of benchmarks": 4_000,
    "scripts": 6,
    "benchmarks": 6,
    "dependencies": 22,
}

LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
LAYOUT |= {tokenize.ENDMARKER, tokenize.STRING}
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Size:
    tokens: int
    code_lines: int
    lines: int
    longest_function: int


def docstring(node: ast.AST) -> ast.expr | None:
    """The docstring of a module, class or function, where it has one."""
    if isinstance(node, Documented) and ast.get_docstring(node, clean=False) is not None:
        first = node.body[0]
        assert isinstance(first, ast.Expr)
        return first.value
    return None


def line_range(node: ast.expr | ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def size_of(source: str) -> Size:
    """The size of a file of Python."""
    documentation: set[int] = set()
    longest = 0
    for node in ast.walk(ast.parse(source)):
        text = docstring(node)
        if text:
            documentation.update(line_range(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            longest = max(longest, len(line_range(node)) - (len(line_range(text)) if text else 0))
    tokens, code = 0, set[int]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        tokens += token.type not in LAYOUT
        if token.type not in LAYOUT - {tokenize.STRING}:
            code.update(range(token.start[0], token.end[0] + 1))
    return Size(tokens, len(code - documentation), source.count("\n"), longest)


def module_name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def runtime_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, but what is imported for type checkers alone."""
    if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        children: list[ast.AST] = list(node.orelse)
    else:
        yield node
        children = list(ast.iter_child_nodes(node))
    for child in children:
        yield from runtime_nodes(child)


def imports(path: Path, source: str, modules: set[str]) -> set[str]:
    """The modules among `modules` that a file imports, inside of its functions too."""
    package = path.parent.parts
    found = set()
    for node in runtime_nodes(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                found.add(full if full in modules else base)
    return (found & modules) - {module_name(path)}


def reachable(start: str, graph: dict[str, set[str]]) -> set[str]:
    """The modules to which imports lead from one."""
    seen: set[str] = set()
    to_visit = list(graph[start])
    while to_visit:
        name = to_visit.pop()
        if name not in seen:
            seen.add(name)
            to_visit += graph[name]
    return seen


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that import each other in a circle."""
    beyond = {name: reachable(name, graph) for name in graph}
    groups = {
        tuple(sorted(other for other in beyond[name] if name in beyond[other]))
        for name in graph
        if name in beyond[name]
    }
    return [list(group) for group in sorted(groups)]


def import_graph() -> dict[str, set[str]]:
    """The modules of the package, each with those that it imports."""
    sources = {
        path.relative_to(ROOT): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "evaltools").rglob("*.py"))
    }
    modules = {module_name(path) for path in sources}
    return {module_name(path): imports(path, text, modules) for path, text in sources.items()}


def sizes(folder: str) -> dict[Path, Size]:
    return {
        path.relative_to(ROOT): size_of(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


def words(paths: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").split()) for path in paths)


def count_tests() -> int:
    """How many tests pytest collects."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:nbval"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = re.search(r"(\d+)(?:/\d+)? tests collected", done.stdout)
    return int(found[1]) if found else sys.maxsize


def measured(package: dict[Path, Size]) -> dict[str, float]:
    """What stands, under the names of the budget."""
    pages = [p for p in (ROOT / "docs").glob("*.md") if p.name not in ("metrics.md", "inputs.md")]
    tokens = sum(size.tokens for size in package.values())
    dense = [size.tokens / size.code_lines for size in package.values() if size.code_lines > 60]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    dependencies = project.partition("\ndependencies = [")[2].partition("\n]")[0]
    return {
        "tokens of evaltools": tokens,
        "files of evaltools": len(package),
        "files in circles of imports": sum(map(len, circles(import_graph()))),
        "tokens a line": tokens / sum(size.code_lines for size in package.values()),
        "tokens a line of the densest file": max(dense),
        "lines of the longest function": max(size.longest_function for size in package.values()),
        "lines of the longest file": max(size.lines for size in package.values()),
        "tokens of tests": sum(size.tokens for size in sizes("tests").values()),
        "tests": count_tests(),
        "pages of docs": len(pages),
        "words of docs": words([ROOT / "README.md", *pages]),
        "words of benchmarks": words(list((ROOT / "benchmarks").glob("*.md"))),
        "scripts": len([path for path in (ROOT / "scripts").iterdir() if path.is_file()]),
        "benchmarks": len(list((ROOT / "benchmarks").glob("*.py"))),
        "dependencies": dependencies.count('"') // 2,
    }


def folder_of(path: Path) -> str:
    parts = path.parts[1:-1]
    return "/".join(parts[:2]) if parts[:1] == ("suites",) else "".join(parts[:1])


def main() -> None:
    package = sizes("evaltools")
    tokens, files = Counter[str](), Counter[str]()
    for path, size in package.items():
        tokens[folder_of(path)] += size.tokens
        files[folder_of(path)] += 1
    for folder in sorted(tokens):
        print(f"{folder or '.':<20}{files[folder]:>5} files{tokens[folder]:>10,} tokens")
    for circle in circles(import_graph()):
        print(f"circle of {len(circle)}: {', '.join(circle)}")
    above = []
    for name, value in measured(package).items():
        print(f"{name:<36}{value:>10,.7g} of {BUDGET[name]:,}")
        if value > BUDGET[name]:
            above.append(name)
    if above:
        sys.exit(f"above the budget: {', '.join(above)}")


if __name__ == "__main__":
    main()
