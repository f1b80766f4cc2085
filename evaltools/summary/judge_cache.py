"""Judge replies on disk: one small file a request, under FOLDER/ab/abcd....json.

An entry appears whole or not at all, so a run that is killed keeps every reply it has stored, and several
runs may share a folder. Only replies that passed validation are stored; no key, address or summary text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from ..core.errors import Problems, UsageError
from ..core.files import dumps, write_json
from .judge_client import Reply


def cache_key(body: Mapping[str, Any]) -> str:
    """sha256 (hex) of a request body, which holds the model, the whole prompt and the case's texts.

    The address of the server is no part of it: the model's name is what identifies a judge.
    """
    return hashlib.sha256(dumps({k: body[k] for k in sorted(body)}).encode()).hexdigest()


def _entry_file(folder: Path, key: str) -> Path:
    return folder / key[:2] / f"{key}.json"


def load_reply(folder: Path, key: str, model: type[Reply], problems: Problems) -> Reply | None:
    """The stored reply, or None; an entry that cannot be used counts as missing and as a warning."""
    file = _entry_file(folder, key)
    try:
        entry = from_json(file.read_bytes())
        if entry["key"] == key:
            return model.model_validate_json(dumps(entry["reply"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError):  # what it says is no entry, or no reply
        pass
    problems.warn("judge-cache", "this cache entry cannot be used; the judge is asked again", file=str(file))
    return None


def store_reply(folder: Path, key: str, reply: Reply) -> None:
    """Write one entry. UsageError where the folder cannot be written: paying twice is worse than stopping."""
    try:
        write_json(_entry_file(folder, key), {"key": key, "reply": reply.model_dump(mode="json")})
    except OSError as e:
        raise UsageError(f"cannot write the judge cache {folder}: {e.strerror}") from e
