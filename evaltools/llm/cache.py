"""Checked replies of language models on disk: one small file a request, FOLDER/ab/abcd....json.

What arrives while the disk is busy is stored together: one synced line each in a journal, from which
the files are written. Runs may share a folder. Only replies that passed the check are stored; no key
and no text of a request.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import BaseModel
from pydantic_core import from_json

from ..core.errors import WorkFailed
from ..core.files import bytes_hash, dumps
from .messages import Call, Reply, address_in_force

JOURNALS = "journal-*.jsonl"


def request_hash(
    base_url: str | None,
    body: Mapping[str, Any],
) -> str:
    """sha256 (hex) of what is asked and of whom: the address in force and the whole body.

    The order of the keys of the body does not matter.

    >>> request_hash(None, {"a": 1, "b": 2}) == request_hash(None, {"b": 2, "a": 1})
    True
    """
    request = {"base_url": address_in_force(base_url), **body}
    return bytes_hash(dumps(dict(sorted(request.items()))).encode())


@dataclass
class ReplyCache:
    """The replies in a folder. What a run that was killed left in its journal is taken in first."""

    folder: Path

    def __post_init__(self) -> None:
        self.journal = self.folder / JOURNALS.replace("*", uuid4().hex)
        self._waiting: list[dict[str, Any]] = []
        self._disk = asyncio.Lock()
        for left in self.folder.glob(JOURNALS):  # of runs that were killed
            with suppress(FileNotFoundError):  # of one that has ended just now
                for line in left.read_bytes().splitlines():
                    with suppress(ValueError):  # a line that a power cut ended
                        self._write_entry(from_json(line))
                self._remove(left)

    def file(self, key: str) -> Path:
        """The file of an entry; `key` is a `request_hash`."""
        return self.folder / key[:2] / f"{key}.json"

    def load(
        self,
        key: str,
        model: type[Reply],
    ) -> tuple[Reply, Call] | None:
        """The stored reply and what its call took; None where there is none, or none that can be used."""
        with suppress(OSError, ValueError, LookupError, TypeError):
            entry = from_json(self.file(key).read_bytes())
            reply = model.model_validate_json(dumps(entry["reply"]))
            return reply, Call.model_validate({**entry["call"], "request": key})
        return None

    async def store(
        self,
        reply: BaseModel,
        call: Call,
    ) -> None:
        """Put a reply on disk, with all that came while the disk was busy; its cost is left out, as prices change.

        WorkFailed where the folder cannot be written: paying twice is worse than stopping.
        """
        entry = {
            "key": call.request,
            "reply": reply.model_dump(mode="json"),
            "call": call.model_dump(mode="json", exclude={"request", "cost"}),
        }
        self._waiting.append(entry)
        async with self._disk:
            if entry in self._waiting:  # else it was stored together with an earlier one
                batch = list(self._waiting)
                await asyncio.to_thread(self._write, batch)
                del self._waiting[: len(batch)]

    def _write(self, batch: list[dict[str, Any]]) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self.journal.open("a", encoding="utf-8") as file:
                file.writelines(dumps(entry) + "\n" for entry in batch)
                file.flush()
                os.fsync(file.fileno())
            for entry in batch:
                self._write_entry(entry)
        except OSError as error:
            message = f"cannot write the reply cache {self.folder}: {error.strerror}"
            raise WorkFailed(message) from error

    def _write_entry(self, entry: Mapping[str, Any]) -> None:
        file = self.file(entry["key"])
        file.parent.mkdir(exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}.part")
        part.write_text(dumps(entry) + "\n", encoding="utf-8")
        part.replace(file)

    def _remove(self, journal: Path) -> None:
        os.sync()  # its entries are files by now
        journal.unlink(missing_ok=True)

    def close(self) -> None:
        """End the use of the folder by this run; what could not be written stays in the journal."""
        if self.journal.exists() and not self._waiting:
            self._remove(self.journal)
