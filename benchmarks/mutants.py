"""Mutants of the package against the tests that mirror the mutated module: which wrong code does nobody notice?

    python benchmarks/mutants.py --count 40 --seed 1 --modules stats/family,stats/ranks
    python benchmarks/mutants.py --module-list          what could be mutated, and by which tests it is judged

A mutant is one change: a comparison, an operator, a constant or what is returned. It is made in a copy of the
checkout, and the tests of its package run until the first fails, those with its module in their name first. A
survivor is printed with its change: to be killed by a test, or judged to change nothing that matters. The same
`--seed` draws the same mutants of the same code.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = ("scipy.stats", "pandas", "pydantic", "hypothesis.strategies", "matplotlib.figure", "click.testing")
"""Imported once, for all mutants."""

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


def tests_of(module: Path) -> list[list[Path]]:
    """The tests that judge a module, in two parts: those of its name, then the others of its package."""
    folder = ROOT / "tests" / module.relative_to(ROOT / "evaltools").parent
    every = sorted(folder.glob("test_*.py"))
    named = [t for t in every if module.stem in t.stem]
    others = [t for t in every if t not in named]
    return [part for part in (named, others) if part]


class _FirstFailure:
    """A pytest plugin that notes the test that failed first."""

    def __init__(self, note: Path):
        self.note = note

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.note.exists():
            self.note.write_text(report.nodeid, encoding="utf-8")


def passed(checkout: Path, tests: Sequence[str], note: Path, limit: float) -> bool:
    """Whether the tests pass; else `note` has what ended them. In a fork of this process, which has the libraries."""
    note.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.setsid()
        out = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(out, stream)
        os.chdir(checkout)
        os.environ["PYTHONPATH"] = str(checkout)
        sys.path.insert(0, str(checkout))
        code = 99
        try:
            code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests], plugins=[_FirstFailure(note)])
        finally:
            os._exit(code)
    end = time.monotonic() + limit
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            note.write_text("(hangs)", encoding="utf-8")
            return False
        time.sleep(0.05)
    if ended[1] and not note.exists():
        note.write_text("(does not start)", encoding="utf-8")
    return ended[1] == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20, help="how many mutants are drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--modules", default="", help="parts of paths, joined by commas; default: all")
    parser.add_argument("--limit", type=float, default=300, help="seconds for the tests of one mutant")
    parser.add_argument("--named", action="store_true", help="only the tests with the module in their name, if any")
    parser.add_argument("--module-list", action="store_true")
    given = parser.parse_args()
    wanted = [part for part in given.modules.split(",") if part] or [""]
    modules = [p for p in sorted((ROOT / "evaltools").rglob("*.py")) if any(part in str(p) for part in wanted)]
    modules = [p for p in modules if tests_of(p)]
    if given.module_list:
        for path in modules:
            print(path.relative_to(ROOT), *(t.name for t in tests_of(path)[0]))
        return 0
    every = [(p, *m) for p in modules for m in mutants(p.read_text(encoding="utf-8"))]
    drawn = random.Random(given.seed).sample(every, min(given.count, len(every)))
    os.environ.setdefault("EVALTOOLS_REFERENCE", str(ROOT.parent / "shared" / "reference"))
    sys.path[:] = [p for p in sys.path if not Path(p).resolve().is_relative_to(ROOT)]
    for library in LIBRARIES:
        importlib.import_module(library)
    with tempfile.TemporaryDirectory(prefix="evaltools-mutants-") as scratch:
        copied, note = Path(scratch) / "checkout", Path(scratch) / "note"
        shutil.copytree(ROOT, copied, ignore=shutil.ignore_patterns(".git", "outputs", "*.pyc"))
        killed: dict[str, str] = {}
        for path, line, said, place, new in drawn:
            where = f"{path.relative_to(ROOT)}:{line}  {said[:200]}"
            target = copied / path.relative_to(ROOT)
            whole = target.read_text(encoding="utf-8")
            target.write_text(mutated(whole, place, new), encoding="utf-8")
            parts = [[str(t.relative_to(ROOT)) for t in part] for part in tests_of(path)]
            alive = all(passed(copied, part, note, given.limit) for part in (parts[:1] if given.named else parts))
            target.write_text(whole, encoding="utf-8")
            if not alive:
                killed[where] = note.read_text(encoding="utf-8")
            print(f"{'survived' if alive else 'killed':10} {where}  {killed.get(where, '')}", flush=True)
        # a test that fails on the code as it is kills nothing
        tests = {test for test in killed.values() if "::" in test}
        wrong = {test for test in tests if not passed(copied, [test], note, given.limit)}
    doubtful = [where for where, test in killed.items() if test in wrong]
    for where in doubtful:
        print(f"{'doubtful':10} {where}: {killed[where]} fails without it, too")
    print(f"{len(killed) - len(doubtful)} of {len(drawn)} killed (seed {given.seed}, {len(every)} possible)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
