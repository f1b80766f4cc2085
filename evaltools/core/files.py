"""Files that appear whole or not at all, where the package keeps its own, and the names of runs."""

import ast
import hashlib
import json
import os
import re
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache, lru_cache
from glob import escape
from pathlib import Path
from typing import IO, Any, TypeVar

from .messages import PACKAGE, UsageError, first_ten, speaking, visible

# of a report, in its folder
NOTEBOOK, HTML = "metric_report.ipynb", "metric_report.html"

# names and their values: a JSON object, a row of a file, the columns of a unit
Fields = dict[str, Any]

Names = tuple[str, ...]

Item = TypeVar("Item")

YOURS = ".yours"  # behind the name of a file of ours that a person changed, when it is set aside


def asset_dir(name: str) -> Path:
    """The folder of that name ("notebooks", "templates"), inside the package or beside it in a source checkout."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


def toml_of_package(name: str) -> Fields:
    """What a TOML file of the package holds; its name is the path from the package's folder."""
    return tomllib.loads((PACKAGE / name).read_text(encoding="utf-8"))


# the bundled examples: small, synthetic, those of cr made by scripts/make_examples.py
EXAMPLES = PACKAGE / "app" / "examples"


def example(name: str) -> Path:
    """The path of a bundled example; UsageError lists them for another name.

    >>> example("cr/no_memory__seed1_proposed").name
    'no_memory__seed1_proposed'
    """
    path = EXAMPLES / name
    if not path.exists():
        known = sorted(
            place.relative_to(EXAMPLES).as_posix() for place in EXAMPLES.glob("*/[!._]*")
        )
        raise UsageError(f"no example {name!r}; there are: {', '.join(known)}")
    return path


# how a text of a CSV file begins that Excel takes for a formula, in full width too where it is Korean; apostrophes before
# it count, so that there is one way back
FORMULA = re.compile("'*[-=+@\t\r\n\uff0d\uff1d\uff0b\uff20]")
NUMBER = re.compile(r"[-+]?[\d.]*(e[-+]?\d+)?")

# what no path may hold: it is printed, and stands in files that are UTF-8
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def require_nameable(path: Any) -> None:
    """UsageError for what cannot be a path, or several joined by commas.

    >>> require_nameable("")
    Traceback (most recent call last):
        ...
    evaltools.core.messages.UsageError: ''...
    """
    text = str(path) if isinstance(path, str | Path) else ""
    if CONTROL.search(text) or not text.strip() or re.search(b"[^/,]{256}", text.encode()):
        raise UsageError(
            f"{str(path)[:80]!a}: a path must be text without control characters, not empty, "
            "its names up to 255 bytes long"
        )


def resolve(run: str | Path) -> Path:
    """A path, with "example:NAME" standing for a bundled example.

    In the folder of a report one that is not there is looked for from the folders above: its notebook names paths from
    the folder of the command that made it.
    """
    if str(run).startswith("example:"):
        return example(str(run).removeprefix("example:"))
    require_nameable(run)
    path, here = Path(run), Path.cwd()
    above = here.parents if (here / NOTEBOOK).is_file() else ()
    return next((place for place in (path, *(f / path for f in above)) if place.exists()), path)


def refuse_input(target: Path, inputs: Iterable[str | Path]) -> None:
    """UsageError where a file cannot be written, is one of the inputs, or lies in the folder of one."""
    for path in inputs:
        source = Path(os.path.realpath(resolve(path)))  # a link in a circle is an error elsewhere
        if Path(os.path.realpath(target)).is_relative_to(source):
            raise UsageError(
                f"{target} is an input or lies in one, which would be replaced; "
                "write to another file"
            )
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise UsageError(f"{target} is no file; name one to write to")


def beside(target: Path) -> Fields:
    """How `tempfile` names what is to become `target`, and where it lies."""
    return {"prefix": f".{target.name[:30]}.", "suffix": ".part", "dir": target.parent}


@contextmanager
def atomic(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that appears under `path` whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(**beside(path)) as part:
        new = Path(part) / path.name
        with new.open("wb") as f:
            yield f
            f.flush()
            os.fsync(f.fileno())
        new.replace(path)


def write_text(path: Path, text: str) -> None:
    with atomic(path) as f:
        f.write(text.encode())


def csv_cell(cell: Any) -> Any:
    """A cell as it stands in a CSV file: with an apostrophe where Excel would take it for a formula.

    >>> [csv_cell(cell) for cell in ("=cmd|x", "'=x", "-2.5e-3", "plain", -1)]
    ["'=cmd|x", "''=x", '-2.5e-3', 'plain', -1]
    """
    if isinstance(cell, str) and FORMULA.match(cell) and not NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def from_csv_cell(text: str) -> str:
    """The text of a cell of a CSV file that `csv_cell` made.

    >>> from_csv_cell("''=x"), from_csv_cell("'plain'")
    ("'=x", "'plain'")
    """
    return text[1:] if csv_cell(text[1:]) == text else text


def write_csv(
    path: Path,
    table: Any,
    start: str = "",
) -> None:
    """Write a DataFrame as a CSV file for people, behind the mark `start`; no text is a formula in Excel, or hidden."""
    write_text(path, start + visible(table.map(csv_cell).to_csv(index=False, lineterminator="\n")))


def dumps(value: Any, indent: int | None = None) -> str:
    """JSON with the text as it is, keys in their order, and no NaN: a number that is none is an error."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)


def write_json(path: Path, value: Any) -> None:
    write_text(path, dumps(value, indent=1) + "\n")


def write_jsonl(path: Path, rows: Iterable[Any]) -> int:
    """Write one JSON value a line; returns how many."""
    n = 0
    with atomic(path) as f:
        for row in rows:
            f.write(f"{dumps(row)}\n".encode())
            n += 1
    return n


def sha256(path: Path) -> str:
    """The sha256 of a file's content, as hex digits."""
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def bytes_hash(content: bytes) -> str:
    """The sha256 of a content, as hex digits."""
    return hashlib.sha256(content).hexdigest()


# kept as Python keeps a module: an edit counts when Python is started again
module_content = cache(Path.read_bytes)


def code_hash(path: Path) -> str:
    """The sha256 of a Python file and of what it imports of its own folder: modules, and packages as a whole.

    Nothing is run. That of a file which imports none of these is that of its content.
    """
    files, contents = [path.absolute()], list[bytes]()
    for file in files:  # which grow
        contents.append(module_content(file) if contents else path.read_bytes())
        names = {
            node.name if isinstance(node, ast.alias) else getattr(node, "module", None)
            for node in ast.walk(ast.parse(contents[-1], str(file)))
        }
        for name in sorted(filter(None, names)):
            place = files[0].with_name(name.partition(".")[0])
            if place != PACKAGE:
                modules = {place.with_suffix(".py"), *place.rglob("*.py")}
                files += sorted(filter(Path.is_file, modules - {*files}))
    return bytes_hash(b"\0".join(contents))


def state(path: Path) -> tuple[int, int, int]:
    """Time of change, size and inode of a file: another state means that its content may be another."""
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def read_once(n_files: int, read: Callable[[Path], Item]) -> Callable[[Path], Item]:
    """What `read` gives of the last files is kept, of each for as long as its state stays the same."""
    kept = lru_cache(n_files)(lambda path, _: read(path))
    return lambda path: kept(path, state(path))


# the sha256 of an input file
content_hash = read_once(1024, sha256)


def ending(path: Path) -> str:
    """The ending of a file's name, in lower case; of a file that was set aside its own.

    >>> ending(Path("scores.XLSX")), ending(Path("scores.csv.yours2"))
    ('.xlsx', '.csv')
    """
    return Path(path.name.partition(YOURS)[0]).suffix.lower()


RUN_NAME = re.compile(r"^(?:(?P<run_id>.+)__)?seed(?P<seed>[^_]+)_(?P<mode>.+)$")
# bytes of the longest name of a folder: with what is added to it, file systems take 255
LONGEST_NAME = 200

NATURAL = re.compile(r"([0-9]+)")


def natural(text: str) -> list[Any]:
    """Sort key under which seed 9 comes before seed 10."""
    parts = NATURAL.split(text)  # texts and numbers in turn
    parts[1::2] = map(int, parts[1::2])
    return parts


def condition_of(name: str) -> tuple[str, str, str]:
    """(run_id, seed, mode) of a run's name; UsageError where it is not <run_id>__seed<N>_<mode>.

    The mode of a name seed<N>_<mode> stands for its run_id.
    """
    match = RUN_NAME.match(name)
    if not match:
        raise UsageError(f"{name!r} is not named <run_id>__seed<N>_<mode>")
    return match["run_id"] or match["mode"], match["seed"], match["mode"]


def safe_name(name: str) -> str:
    """A run's name as a folder name: it cannot leave the folder it is put in. UsageError where it would."""
    if not isinstance(name, str):
        raise UsageError(
            f"name: expected a text, got {name!r} (papermill -p reads 007 as a number, -r name 007 keeps it)"
        )
    bad = re.search(
        r'[/\\:*?"<>|\x00-\x1f\ud800-\udfff]|^\.|^(con|prn|aux|nul)(\.|$)', name.lower()
    )
    is_seen = "".join(filter(str.isprintable, name)).strip()
    if bad or not is_seen or len(name.encode()) > LONGEST_NAME:
        raise UsageError(
            f"{name[:80]!r} cannot be the name of a run: it must be usable as a folder name, not hidden"
        )
    return name


def grouped(items: Iterable[Item], key: Callable[[Item], Any]) -> dict[Any, list[Item]]:
    """The items by their key, in the order in which they come.

    >>> grouped(["a", "bb", "c"], len)
    {1: ['a', 'c'], 2: ['bb']}
    """
    groups: dict[Any, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def first_names(names: Iterable[Any]) -> str:
    """Names for an error or a line of the terminal: the first ten, and how many more there are."""
    with speaking("en"):
        return ", ".join(first_ten([*names]))


def nearest(name: Any, known: Sequence[str]) -> str:
    """What to say of a name that is not known: those that come closest, or the first ten."""
    near = get_close_matches(
        str(name),
        known,
        3,
        0.5,
    )
    if near:
        return f"did you mean {', '.join(near)}?"
    return f"there are {first_names(known)}"


def find_runs(run: str | Path) -> list[Path]:
    """The runs that a path stands for, in natural order; one that is there, or bundled, as it was given.

    Runs joined by commas; a run folder or file; a results folder; or the common prefix of folders, or of
    files, named <run_id>__seed<N>_<mode>. UsageError where nothing is found.
    """
    runs = []
    parts = [str(run)] if os.path.lexists(run) else str(run).split(",")
    for part in filter(None, map(str.strip, parts)):
        name = part.removeprefix("example:")
        prefix = EXAMPLES / name if name != part else resolve(part)
        seeds = list(prefix.parent.glob(f"{escape(prefix.name)}__seed*"))
        found = [path for path in seeds if path.is_dir()] or seeds
        if prefix.exists():
            found = [Path(part)]
        if not found:
            raise UsageError(
                f"{part}: no such run, and nothing named {prefix.name}__seed<N>_<mode> beside it, "
                f"in {prefix.parent.absolute()}"
            )
        runs += found
    if not runs:
        raise UsageError(f"{str(run)!r} names no run")
    return sorted(runs, key=lambda run: natural(str(run)))
