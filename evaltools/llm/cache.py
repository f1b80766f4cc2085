"""Validated replies of language models on disk: one small file a request, under FOLDER/ab/abcd....json.

An entry appears whole or not at all, so a run that is killed keeps every reply it has stored, and several
runs may share a folder. Only replies that passed validation are stored; no key and no text of a request.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic_core import from_json

from ..core.errors import Problems, UsageError
from ..core.files import dumps, write_json

R = TypeVar("R", bound=BaseModel)


def request_hash(base_url: str | None, body: Mapping[str, Any]) -> str:
    """sha256 (hex) of what is asked and of whom: the address and the whole body, in any order of its keys."""
    whole = {"base_url": base_url, **body}
    return hashlib.sha256(dumps({k: whole[k] for k in sorted(whole)}).encode()).hexdigest()


def entry_file(folder: Path, key: str) -> Path:
    return folder / key[:2] / f"{key}.json"


def load_reply(
    folder: Path, key: str, model: type[R], problems: Problems
) -> tuple[R, dict[str, Any]] | None:
    """The stored reply and what its call took, or None; an entry that cannot be used counts as missing, and warns."""
    file = entry_file(folder, key)
    try:
        entry = from_json(file.read_bytes())
        if entry["key"] == key:
            return model.model_validate_json(dumps(entry["reply"])), dict(entry["call"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError):  # what it says is no entry, or no reply
        pass
    problems.warn(
        "reply-cache", "this cache entry cannot be used; the model is asked again", file=str(file)
    )
    return None


def store_reply(folder: Path, key: str, reply: BaseModel, call: Mapping[str, Any]) -> None:
    """Write one entry. UsageError where the folder cannot be written: paying twice is worse than stopping."""
    try:
        write_json(
            entry_file(folder, key),
            {"key": key, "reply": reply.model_dump(mode="json"), "call": dict(call)},
        )
    except OSError as e:
        raise UsageError(f"cannot write the reply cache {folder}: {e.strerror}") from e
