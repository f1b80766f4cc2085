"""Provenance: what went in, under which policy and versions, and how long it took."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .. import __version__
from .jsonl import dumps, sha256

LIBRARIES = ("numpy", "scipy", "pandas", "pydantic", "pyarrow")


def policy_hash(policy: Mapping[str, Any]) -> str:
    """First 12 hex digits of the sha256 of the policy as canonical JSON."""
    return hashlib.sha256(dumps({k: policy[k] for k in sorted(policy)}).encode()).hexdigest()[:12]


def describe_inputs(files: Mapping[str, Path], rows: Mapping[str, int] | None = None) -> list[dict[str, Any]]:
    """Role, path, sha256, bytes and (where known) rows of every input file."""
    return [
        {
            "role": role,
            "path": str(path),
            "sha256": sha256(path),
            "bytes": path.stat().st_size,
            "rows": (rows or {}).get(role),
        }
        for role, path in files.items()
    ]


def versions() -> dict[str, str]:
    return {
        "evaltools": __version__,
        "python": platform.python_version(),
        **{lib: version(lib) for lib in LIBRARIES},
    }


def git_commit(directory: Path | None = None) -> str | None:
    """The commit of the git checkout that `directory` (default: the working directory) is in, or None."""
    command = ["git", "rev-parse", "HEAD"]
    env = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            command, cwd=directory, env=env, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
