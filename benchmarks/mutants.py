"""Mutants of the package against the tests that pass the mutated line: which wrong code does nobody notice?

    python benchmarks/mutants.py --count 40 --seed 1 --modules report/ --without browser
    python benchmarks/mutants.py --count 40 --seed 1 --modules report/ --tests tests/app/test_cli.py --pick 3,17

A mutant is one change: a comparison, an operator, a constant or what is returned. It is made in a copy of the
checkout. The tests of its folder run once with coverage, to learn which lines each passes; of a mutant then run
the tests that pass its statement, the quickest first, until one fails. A survivor is printed with its change: to
be killed by a test, or judged to change nothing that matters. The same `--seed` draws the same mutants of the
same code. Needs `coverage` beside the extra `dev`.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = (
    "scipy.stats",
    "pandas",
    "pydantic",
    "hypothesis.strategies",
    "matplotlib.figure",
    "click.testing",
)
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
    elif (
        isinstance(new, ast.Return)
        and new.value is not None
        and not isinstance(new.value, ast.Constant)
    ):
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
    """The tests that mirror the folder of a module."""
    return sorted(
        (ROOT / "tests" / module.relative_to(ROOT / "evaltools").parent).glob("test_*.py")
    )


def lines_of(source: str, line: int) -> range | None:
    """The lines of the statement of a function that has this line, without what stands in it; None outside of
    functions, where a line runs when the module is imported, and every test of the module passes it."""
    found: range | None = None

    def search(body: Sequence[ast.stmt], inside: bool) -> None:
        nonlocal found
        for statement in body:
            if not statement.lineno <= line <= (statement.end_lineno or 0):
                continue
            inner = [
                b for part in ("body", "orelse", "finalbody") for b in getattr(statement, part, [])
            ]
            inner += [
                b
                for part in ("handlers", "cases")
                for h in getattr(statement, part, [])
                for b in h.body
            ]
            own = not any(b.lineno <= line <= (b.end_lineno or 0) for b in inner)
            if own:
                last = min(
                    (b.lineno for b in inner if b.lineno > line),
                    default=(statement.end_lineno or 0) + 1,
                )
                found = range(statement.lineno, last) if inside else None
            search(inner, inside or isinstance(statement, ast.FunctionDef))

    search(ast.parse(source).body, False)
    return found


class _Reach:
    """A pytest plugin that notes which tests pass which lines, and the processor seconds of each."""

    def __init__(self, package: Path):
        library: Any = importlib.import_module(
            "coverage"
        )  # once the coverage.py of this folder is out of the way
        self.coverage = library.Coverage(
            data_file=None, source=[str(package)], config_file=False, messages=False
        )
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        begun = sum(os.times()[:4])
        result = yield
        self.seconds[item.nodeid] = sum(os.times()[:4]) - begun
        self.coverage.switch_context("")
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.coverage.switch_context(f"setup {item.nodeid}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self.coverage.switch_context(f"call {item.nodeid}")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    def write(self, note: Path) -> None:
        """{module: {line: tests}}, and the seconds of every test that passes."""
        data, passing = (
            self.coverage.get_data(),
            {t: s for t, s in self.seconds.items() if t not in self.failed},
        )
        lines: dict[str, dict[int, list[str]]] = {}
        for file in data.measured_files():
            lines[file] = {}
            for line, contexts in data.contexts_by_lineno(file).items():
                called = {c.removeprefix("call ") for c in contexts if c.startswith("call ")}
                # what one test sets up serves others of its file
                files = {
                    c.removeprefix("setup ").split("::")[0]
                    for c in contexts
                    if c.startswith("setup ")
                }
                called |= {t for t in passing if t.split("::")[0] in files}
                lines[file][line] = [
                    t for t in sorted(passing, key=passing.__getitem__) if t in called
                ]
        note.write_text(json.dumps({"lines": lines, "seconds": passing}), encoding="utf-8")


class _Failures:
    """A pytest plugin that notes the tests that fail."""

    def __init__(self, note: Path):
        self.note = note

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            with self.note.open("a", encoding="utf-8") as noted:
                noted.write(report.nodeid + "\n")


def run(
    checkout: Path, arguments: Sequence[str], note: Path, limit: float, reach: bool = False
) -> bool:
    """Whether pytest ends with status 0; `note` has the tests that fail, with `reach` what every test passes.
    In a fork of this process, which has the libraries, with `limit` processor seconds."""
    note.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 1))
        out = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(out, stream)
        os.chdir(checkout)
        os.environ["PYTHONPATH"] = str(checkout)
        sys.path.insert(0, str(checkout))
        code = 99
        try:
            if reach:
                plugin = _Reach(checkout / "evaltools")
                with plugin.coverage.collect():
                    code = pytest.main(
                        ["-q", "-p", "no:cacheprovider", *arguments], plugins=[plugin]
                    )
                plugin.write(note)
            else:
                code = pytest.main(
                    ["-q", "-p", "no:cacheprovider", *arguments], plugins=[_Failures(note)]
                )
        finally:
            os._exit(code)
    end = time.monotonic() + 20 * limit
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end:
        time.sleep(0.05)
    if not ended[0]:
        os.killpg(child, signal.SIGKILL)
        ended = os.waitpid(child, 0)
    if ended[1] and not note.exists():
        note.write_text(
            "(hangs)" if os.WIFSIGNALED(ended[1]) else "(does not start)", encoding="utf-8"
        )
    return ended[1] == 0


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=20, help="how many mutants are drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--modules", default="", help="parts of paths, joined by commas; default: all"
    )
    parser.add_argument(
        "--tests",
        default="",
        help="paths of tests, joined by commas; default: those of the folders",
    )
    parser.add_argument(
        "--without", default="", help="leave out the tests with one of these in their path"
    )
    parser.add_argument(
        "--pick", default="", help="only the mutants with these numbers of those drawn"
    )
    parser.add_argument(
        "--limit", type=float, default=60, help="processor seconds for the tests of one mutant"
    )
    return parser.parse_args()


def passing_tests(of_line: dict[str, list[str]], lines: range | None) -> set[str]:
    """The tests that pass one of the lines; any line where `lines` is None."""
    passing: set[str] = set()
    for line, tests in of_line.items():
        if lines is None or int(line) in lines:
            passing.update(tests)
    return passing


def quickest(tests: Iterable[str], seconds: dict[str, float], limit: float) -> list[str]:
    """The tests that take least time, as many as end within the limit together."""
    chosen, spent = [], 0.0
    for test in sorted(tests, key=seconds.__getitem__):
        spent += seconds[test]
        if spent > limit:
            break
        chosen.append(test)
    return chosen


def main() -> int:
    given = arguments()
    wanted, tests, without, pick = (
        [part for part in getattr(given, name).split(",") if part]
        for name in ("modules", "tests", "without", "pick")
    )
    modules = [p for p in sorted((ROOT / "evaltools").rglob("*.py")) if tests_of(p)]
    modules = [p for p in modules if not wanted or any(part in str(p) for part in wanted)]
    every = [(p, *m) for p in modules for m in mutants(p.read_text(encoding="utf-8"))]
    drawn = list(enumerate(random.Random(given.seed).sample(every, min(given.count, len(every)))))
    drawn = [(number, *m) for number, m in drawn if not pick or str(number) in pick]
    tests = tests or sorted({str(t.relative_to(ROOT)) for _, p, *_ in drawn for t in tests_of(p)})
    tests = [t for t in tests if not any(part in t for part in without)]
    os.environ.setdefault("EVALTOOLS_REFERENCE", str(ROOT.parent / "shared" / "reference"))
    # an environment in the checkout stays
    sys.path[:] = [p for p in sys.path if Path(p).resolve() not in (ROOT, ROOT / "benchmarks")]
    for library in LIBRARIES:
        importlib.import_module(library)
    with tempfile.TemporaryDirectory(prefix="evaltools-mutants-") as scratch:
        copied, note = Path(scratch) / "checkout", Path(scratch) / "note"
        left_out = shutil.ignore_patterns(".git", ".venv*", "outputs", "*.pyc")
        shutil.copytree(ROOT, copied, ignore=left_out)
        run(copied, tests, note, 3600, reach=True)
        reached = json.loads(note.read_text(encoding="utf-8"))
        seconds: dict[str, float] = reached["seconds"]
        killed: dict[int, str] = {}
        for number, path, line, said, place, new in drawn:
            target = copied / path.relative_to(ROOT)
            whole = target.read_text(encoding="utf-8")
            of_line: dict[str, list[str]] = reached["lines"].get(str(target), {})
            lines = lines_of(whole, line)
            passing = passing_tests(of_line, lines)
            chosen = quickest(passing, seconds, given.limit)
            target.write_text(mutated(whole, place, new), encoding="utf-8")
            # what other processes run is not seen by coverage: the tests of the module's name
            named = [t for t in tests if path.stem in Path(t).stem]
            alive = not (chosen or named) or run(
                copied, ["-x", *(chosen or named)], note, 2 * given.limit + 30
            )
            target.write_text(whole, encoding="utf-8")
            how = f"{len(chosen)} of {len(passing)} tests that pass it"
            if not alive:
                how = killed[number] = note.read_text(encoding="utf-8").split("\n")[0]
            state = "survived" if alive else "killed"
            print(
                f"{number:3} {state:10} {path.relative_to(ROOT)}:{line}  {said[:200]}  {how}",
                flush=True,
            )
        # a test that fails on the code as it is kills nothing
        judges = sorted({test for test in killed.values() if "::" in test})
        wrong = set()
        if judges and not run(copied, judges, note, 3600):
            wrong = set(note.read_text(encoding="utf-8").split("\n"))
    doubtful = [number for number, test in killed.items() if test in wrong]
    for number in doubtful:
        print(f"{number:3} doubtful: {killed[number]} fails without it, too")
    print(
        f"{len(killed) - len(doubtful)} of {len(drawn)} killed (seed {given.seed}, {len(every)} possible)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
