"""Checked replies of language models on disk: one small file a request, FOLDER/ab/abcd....json.

What arrives while the disk is busy is stored together: one synced line each in a journal, from which
the files are written. Runs may share a folder. Only replies that passed the check are stored; no key
and no text of a request.
"""

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import BaseModel

from ..core.errors import WorkFailed
from .messages import Call, Reply

JOURNALS = "journal-*.jsonl"


class Entry(BaseModel):
    """What is stored of a request: its reply, and what its call took."""

    reply: Any
    call: Call

    def line(self) -> str:
        """The entry as a line of JSON, without its cost, as prices change."""
        return self.model_dump_json(exclude={"call": {"cost"}}) + "\n"


@dataclass
class ReplyCache:
    """The stored replies of a folder, with those in journals that killed runs left."""

    folder: Path

    def __post_init__(self) -> None:
        self.journal = self.folder / JOURNALS.replace("*", uuid4().hex)
        self._waiting: list[Entry] = []
        self._disk = asyncio.Lock()
        for journal in self.folder.glob(JOURNALS):  # of runs that were killed
            with suppress(FileNotFoundError):  # of a run that has ended just now
                for line in journal.read_bytes().splitlines():
                    with suppress(ValueError):  # a line that a power cut ended
                        self._write_entry(Entry.model_validate_json(line))
                self._remove(journal)

    def file(self, key: str) -> Path:
        """The path of a reply's file; `key` is the hash of the request."""
        return self.folder / key[:2] / f"{key}.json"

    def load(
        self,
        key: str,
        model: type[Reply],
    ) -> tuple[Reply, Call] | None:
        """The stored reply and what its call took; None where there is none, or none that can be used."""
        with suppress(OSError, ValueError):
            entry = Entry.model_validate_json(self.file(key).read_bytes())
            return model.model_validate(entry.reply), entry.call
        return None

    async def store(
        self,
        reply: BaseModel,
        call: Call,
    ) -> None:
        """Put a reply on disk, with all that came while the disk was busy.

        WorkFailed where the folder cannot be written: paying twice is worse than stopping.
        """
        entry = Entry(reply=reply, call=call)
        self._waiting.append(entry)
        async with self._disk:
            if entry in self._waiting:  # else it was stored together with an earlier one
                batch = list(self._waiting)
                await asyncio.to_thread(self._write, batch)
                del self._waiting[: len(batch)]

    def _write(self, batch: list[Entry]) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self.journal.open("a", encoding="utf-8") as file:
                file.writelines(map(Entry.line, batch))
                file.flush()
                os.fsync(file.fileno())
            for entry in batch:
                self._write_entry(entry)
        except OSError as error:
            raise WorkFailed(
                f"cannot write the reply cache {self.folder}: {error.strerror}"
            ) from error

    def _write_entry(self, entry: Entry) -> None:
        file = self.file(entry.call.request)
        file.parent.mkdir(exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}.part")
        part.write_text(entry.line(), encoding="utf-8")
        part.replace(file)

    def _remove(self, journal: Path) -> None:
        os.sync()  # the files of its entries are safe before it goes
        journal.unlink(missing_ok=True)

    def close(self) -> None:
        """End the use of the folder by this run; what could not be written stays in the journal."""
        if self.journal.exists() and not self._waiting:
            self._remove(self.journal)
