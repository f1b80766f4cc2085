"""Mutants of the package against the tests that mirror the mutated module: which wrong code does nobody notice?

    python benchmarks/mutants.py --count 40 --seed 1 --modules stats/family,stats/ranks
    python benchmarks/mutants.py --module-list          what could be mutated, and by which tests it is judged

A mutant is one change: a comparison, an operator, a constant or what is returned. It is made in a copy of the
checkout, and the tests of the module (tests/<package>/test_*<module>*.py, else those of the package) run until the
first fails. A survivor is printed with its change: to be killed by a test, or judged to change nothing that matters.
The same `--seed` draws the same mutants of the same code.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SWAPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the place of a node."""
    new = copy.deepcopy(node)
    if isinstance(new, ast.Compare) and type(new.ops[0]) in SWAPPED:
        new.ops[0] = SWAPPED[type(new.ops[0])]()
        yield new
    elif isinstance(new, ast.BinOp | ast.BoolOp) and type(new.op) in SWAPPED:
        new.op = SWAPPED[type(new.op)]()
        yield new
    elif isinstance(new, ast.Constant) and isinstance(new.value, bool | int | float):
        new.value = not new.value if isinstance(new.value, bool) else new.value + 1
        yield new
    elif isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not | ast.USub):
        yield new.operand
    elif isinstance(new, ast.Return) and new.value is not None and not isinstance(new.value, ast.Constant):
        new.value = ast.Constant(None)
        yield new


class _Replace(ast.NodeTransformer):
    def __init__(self, place: int, new: ast.AST):
        self.place, self.new, self.at = place, new, -1

    def visit(self, node: ast.AST) -> ast.AST:
        self.at += 1
        return self.new if self.at == self.place else super().visit(node)


class _Places(ast.NodeVisitor):
    """Every node in the order in which `_Replace` passes them."""

    def __init__(self) -> None:
        self.nodes: list[ast.AST] = []

    def visit(self, node: ast.AST) -> None:
        self.nodes.append(node)
        super().visit(node)


def mutants(source: str) -> list[tuple[int, str, int, ast.AST]]:
    """(line, what is changed into what, the place of the node, what stands there then) of every change."""
    places = _Places()
    places.visit(ast.parse(source))
    return [
        (getattr(node, "lineno", 0), f"{ast.unparse(node)}  ->  {ast.unparse(new)}", place, new)
        for place, node in enumerate(places.nodes)
        for new in changes(node)
    ]


def mutated(source: str, place: int, new: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(_Replace(place, new).visit(ast.parse(source))))


def tests_of(module: Path) -> list[Path]:
    """The tests that mirror a module: those of its name, else all of its package."""
    folder = ROOT / "tests" / module.relative_to(ROOT / "evaltools").parent
    return sorted(folder.glob(f"test_*{module.stem}*.py")) or sorted(folder.glob("test_*.py"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20, help="how many mutants are drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--modules", default="", help="parts of paths, joined by commas; default: all")
    parser.add_argument("--limit", type=float, default=120, help="seconds for the tests of one mutant")
    parser.add_argument("--module-list", action="store_true")
    given = parser.parse_args()
    wanted = [part for part in given.modules.split(",") if part] or [""]
    modules = [p for p in sorted((ROOT / "evaltools").rglob("*.py")) if any(part in str(p) for part in wanted)]
    modules = [p for p in modules if tests_of(p)]
    if given.module_list:
        for path in modules:
            print(path.relative_to(ROOT), *(t.name for t in tests_of(path)))
        return 0
    every = [(p, *m) for p in modules for m in mutants(p.read_text(encoding="utf-8"))]
    drawn = random.Random(given.seed).sample(every, min(given.count, len(every)))
    survived = 0
    with tempfile.TemporaryDirectory(prefix="evaltools-mutants-") as scratch:
        copied = Path(scratch) / "checkout"
        shutil.copytree(ROOT, copied, ignore=shutil.ignore_patterns(".git", "outputs", "*.pyc"))
        for path, line, said, place, new in drawn:
            target = copied / path.relative_to(ROOT)
            whole = target.read_text(encoding="utf-8")
            target.write_text(mutated(whole, place, new), encoding="utf-8")
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
            try:
                tests = [str(t.relative_to(ROOT)) for t in tests_of(path)]
                env = {**os.environ, "PYTHONPATH": str(copied)}
                done = subprocess.run(
                    [*command, *tests], cwd=copied, env=env, capture_output=True, timeout=given.limit, check=False
                )
                outcome = (
                    "killed" if done.returncode == 1 else "survived" if done.returncode == 0 else "killed (error)"
                )
            except subprocess.TimeoutExpired:
                outcome = "killed (hangs)"
            target.write_text(whole, encoding="utf-8")
            survived += outcome == "survived"
            print(f"{outcome:15} {path.relative_to(ROOT)}:{line}  {said[:200]}", flush=True)
    print(f"{len(drawn) - survived} of {len(drawn)} killed (seed {given.seed}, {len(every)} possible)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
