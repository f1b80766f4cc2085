"""What tests do with files: folders compared by their contents, records written and read as lines of JSON."""

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

# makes a folder once for all tests: its name, and what fills it
Shared = Callable[[str, Callable[[Path], object]], Path]


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file of a folder, by its path in the folder."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def read_lines(path: Path) -> list[Any]:
    """The record of every line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8-sig").splitlines()]


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    """A file with a line a record, in a folder that need not be there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_labels(path: Path, right: float, seed: int = 0, n: int = 40) -> None:
    """A file of labels of which about this share is right."""
    draw = random.Random(seed)
    lines = []
    for i in range(n):
        gold, other = draw.sample(["pos", "neg"], 2)
        pred = gold if draw.random() < right else other
        lines.append({"id": f"s{i}", "gold": gold, "pred": pred})
    write_lines(path, lines)


def edit(file: Path, change: Callable[[Any], object]) -> None:
    """Change what a JSON file holds."""
    content = read_json(file)
    change(content)
    write_lines(file, [content])
