"""Provenance: what went in, under which policy and versions, and which files came out."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from .. import __version__
from .errors import Problems, Severity
from .files import bytes_hash, dumps, sha256, write_json
from .resampling import Resampling

NAME = "manifest.json"
SCHEMA_VERSION = 1
LIBRARIES = ("numpy", "scipy", "pandas", "pydantic", "pyarrow")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Input(_Part):
    """One input file."""

    role: str
    path: str
    sha256: str
    bytes: int


class Found(_Part):
    """How often one kind of problem was found in the input, and the first places."""

    severity: Severity
    code: str
    count: int
    examples: list[str] = []


def found_problems(problems: Problems) -> list[Found]:
    """How often each kind of problem was found, with the first five places."""
    return [
        Found(
            severity=severity,
            code=code,
            count=count,
            examples=[str(p) for p in problems.kept if (p.severity, p.code) == (severity, code)][
                :5
            ],
        )
        for (severity, code), count in sorted(problems.counts.items())
    ]


class Member(_Part):
    """One run: what it can be made again from."""

    suite: str
    run: str
    inputs: list[Input]
    options: dict[str, Any]


class Manifest(Member):
    """manifest.json of results/<run>/, or (`kind` "aggregate") of the folder of one condition of a study.

    `files`: sha256 of every other file of the folder; a result whose files do not match is not current. `suite_title`,
    `headline` and `leading` (the metric that the verdict is about) say what leads a page, so that a gallery needs no
    suite. Of a study: `report` its name,
    `baseline`, `primary` and `margin` as declared, `runs` those of this condition and `folders` where their results
    stand, from this folder; `members` those of all conditions. `metrics`: those that come from no
    suite of this package, as data, so that a result can be read without the file they came from.
    `answered_by`: the models that answered a judge's questions, each with the number of its replies.
    `lang`: the language of the files for readers (Markdown, workbook), where it is not English.
    """

    schema_version: int = SCHEMA_VERSION
    kind: Literal["run", "aggregate"] = "run"
    suite_title: str = ""
    headline: list[str] = []
    leading: str = ""
    metrics: list[dict[str, Any]] = []
    answered_by: dict[str, int] = {}
    lang: str = "en"
    policy: dict[str, Any]
    resampling: Resampling
    unit: str = ""
    n_units: int = 0
    problems: list[Found] = []
    versions: dict[str, str]
    started: str = ""
    report: str = ""
    condition: str = ""
    baseline: str = ""
    primary: str = ""
    margin: dict[str, float] = {}
    runs: list[str] = []
    folders: list[str] = []
    members: list[Member] = []
    files: dict[str, str] = {}

    @property
    def incomplete(self) -> bool:
        """Samples that the gold names are missing, or records were left out."""
        return any(p.severity == "error" or p.code == "unknown-gold" for p in self.problems)

    def write(self, folder: Path) -> Manifest:
        """Write it, the last file of a folder, with the hashes of all that are not hidden; returns it with these."""
        files = [path for path in sorted(folder.rglob("[!.]*")) if path.is_file()]
        hashes = {path.relative_to(folder).as_posix(): sha256(path) for path in files}
        manifest = self.model_copy(update={"files": hashes})
        write_json(folder / NAME, manifest.model_dump(mode="json", exclude_unset=True))
        return manifest


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a results folder; None where there is none or it cannot be read."""
    path = folder / NAME
    if not path.is_file():
        return None
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None


def policy_hash(policy: Mapping[str, Any]) -> str:
    """First 12 hex digits of the sha256 of the policy as canonical JSON."""
    return bytes_hash(dumps(dict(sorted(policy.items()))).encode())[:12]


@cache
def versions() -> dict[str, str]:
    return {
        "evaltools": __version__,
        "python": platform.python_version(),
        **{lib: version(lib) for lib in LIBRARIES},
    }
