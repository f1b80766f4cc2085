"""Metrics that other tools have and evaltools/formats/directions.toml does not know, or lists the wrong way round.

    python scripts/tool_metrics.py [helm] [ragas] [inspect] [lm-eval]          all by default; needs network

The current version of each tool is downloaded (its own package alone, not installed), and what its source declares
is read. Ends with status 1 where something is missing or wrong.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import yaml

from evaltools.formats.directions import direction

PACKAGES = {"helm": "crfm-helm", "ragas": "ragas", "inspect": "inspect_ai", "lm-eval": "lm_eval"}

Declared = dict[str, str | None]
"""Metric -> "higher" or "lower"; None where the tool does not say it."""


def helm(source: Path) -> Declared:
    """Schemas say `lower_is_better`; a metric on which they differ has no direction."""
    said: dict[str, set[bool]] = {}
    for file in source.glob("helm/benchmark/static/schema_*.yaml"):
        for metric in yaml.safe_load(file.read_text(encoding="utf-8")).get("metrics") or []:
            if "lower_is_better" in metric:
                said.setdefault(metric["name"], set()).add(metric["lower_is_better"])
    declared: Declared = {}
    for name, values in said.items():
        if len(values) == 1:
            declared[name] = "lower" if values.pop() else "higher"
    return declared


def lm_eval(source: Path) -> Declared:
    """The registry."""
    text = (source / "lm_eval/api/metrics.py").read_text(encoding="utf-8")
    entries = re.findall(r'metric="([^"]+)",\s*higher_is_better=(True|False)', text)
    return {name: "higher" if is_higher == "True" else "lower" for name, is_higher in entries}


def classes(source: Path, pattern: str) -> Iterator[ast.ClassDef]:
    for file in sorted(source.glob(pattern)):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield node


def ragas(source: Path) -> Declared:
    """The default names of the classes of metrics, as a field or as a parameter."""
    declared: Declared = {}
    for node in classes(source, "ragas/metrics/**/*.py"):
        if "Prompt" in " ".join(ast.unparse(base) for base in node.bases):
            continue
        text = ast.unparse(node)
        for name in re.findall(r"name: str = (?:field\(default=)?'(\w+)'", text):
            if name != "base_metric":
                declared[name] = None
    return declared


def inspect(source: Path) -> Declared:
    """The functions that are registered as scorers."""
    declared: Declared = {}
    for file in sorted(source.glob("inspect_ai/scorer/*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
                if any(decorator.startswith("scorer(") for decorator in decorators):
                    declared[node.name] = None
    return declared


READERS = {"helm": helm, "ragas": ragas, "inspect": inspect, "lm-eval": lm_eval}


def differences(tool: str, declared: Declared) -> list[str]:
    """What our list lacks of a tool's metrics, or says otherwise."""
    lines = []
    for name, said in sorted(declared.items()):
        ours = direction(tool, name)
        if ours is None:
            lines.append(f"{tool}: {name} is not listed; the tool says {said or 'nothing'}")
        elif said is not None and ours not in (said, "unknown"):
            lines.append(f"{tool}: {name} is {ours} here; the tool says {said}")
    return lines


def downloaded(package: str, folder: Path) -> str:
    """Unpack the current version of a package into a folder; returns the name of its file."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), package]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return wheel.name


def main() -> None:
    lines = []
    for tool in sys.argv[1:] or PACKAGES:
        with tempfile.TemporaryDirectory() as name:
            wheel = downloaded(PACKAGES[tool], Path(name))
            declared = READERS[tool](Path(name))
        print(f"{wheel}: {len(declared)} metrics")
        lines += differences(tool, declared)
    print("\n".join(lines))
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
