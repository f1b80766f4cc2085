"""Checked replies of language models on disk: one small file a request, FOLDER/ab/abcd....json.

An entry appears whole or not at all, so a run that is killed keeps every reply it has stored, and
several runs may share a folder. Only replies that passed the check are stored; no key and no text
of a request.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import from_json

from ..core.errors import Problems, WorkFailed
from ..core.files import bytes_hash, dumps, write_json
from .accounting import Call
from .replies import Reply
from .requests import address_in_force


def request_hash(base_url: str | None, body: Mapping[str, Any]) -> str:
    """sha256 (hex) of what is asked and of whom: the address in force and the whole body.

    The order of the keys of the body does not matter.

    >>> request_hash(None, {"a": 1, "b": 2}) == request_hash(None, {"b": 2, "a": 1})
    True
    """
    request = {"base_url": address_in_force(base_url), **body}
    in_order = {name: request[name] for name in sorted(request)}
    return bytes_hash(dumps(in_order).encode())


def entry_file(folder: Path, key: str) -> Path:
    """The file of an entry; `key` is a `request_hash`."""
    return folder / key[:2] / f"{key}.json"


def load_reply(
    folder: Path,
    key: str,
    model: type[Reply],
    problems: Problems,
) -> tuple[Reply, Call] | None:
    """The stored reply and what its call took, or None.

    An entry that cannot be used counts as missing, with a warning.
    """
    file = entry_file(folder, key)
    try:
        entry = from_json(file.read_bytes())
        if entry["key"] == key:
            reply = model.model_validate_json(dumps(entry["reply"]))
            call = Call.model_validate({**entry["call"], "request": key})
            return reply, call
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError):
        pass  # no JSON, or JSON that holds no entry or another reply: as for another key
    problems.warn(
        "reply-cache",
        "this cache entry cannot be used; the model is asked again",
        file=file,
    )
    return None


def store_reply(
    folder: Path,
    reply: BaseModel,
    call: Call,
) -> None:
    """Write the entry of a call; its cost is left out, as prices change.

    WorkFailed where the folder cannot be written: paying twice is worse than stopping.
    """
    key = call.request
    entry = {
        "key": key,
        "reply": reply.model_dump(mode="json"),
        "call": call.model_dump(mode="json", exclude={"request", "cost"}),
    }
    try:
        write_json(entry_file(folder, key), entry)
    except OSError as error:
        raise WorkFailed(f"cannot write the reply cache {folder}: {error.strerror}") from error
