"""The samples of an inference run: texts with their gold."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator

from ....core.errors import Problems
from ....core.files import asset_dir
from ....core.json_files import read_jsonl
from ....core.records import read_csv, read_utf8, require_file
from ....formats.convert import FORMATS
from ....formats.source import Source
from ..read import read_gold
from ..schema import Row, TupleRow
from .config import OWN_FORMATS, Config


def _as_text(number: Any) -> Any:
    return str(number) if isinstance(number, int) else number


class Text(Row):
    """A sample: a line of format jsonl, a row of csv, a sample of any other format."""

    id: Annotated[str, BeforeValidator(_as_text)]
    text: str
    gold_tuples: list[TupleRow] | None = None
    split: str | None = None

    @property
    def gold_row(self) -> dict[str, Any]:
        """Its line of a gold file."""
        tuples = [row.model_dump(mode="json", exclude_none=True) for row in self.gold_tuples or ()]
        return {"uid": self.id, "input_text": self.text, "gold_tuples": tuples}


def read_texts(
    config: Config,
    limit: int | None,
    problems: Problems,
) -> list[Text]:
    """The samples to run, in order.

    InputError for a doubled id, an empty text, and a sample without gold.
    """
    data = config.data
    gold = None
    if data.gold is not None:
        require_file(data.gold, problems)
        gold = read_gold(data.gold, problems)
    texts: dict[str, Text] = {}
    for place, text in _read_samples(config, problems):
        if gold is not None:
            text.gold_tuples = gold.get(text.id)
        line = place if isinstance(place, int) else None
        where: dict[str, Any] = {"file": data.file, "line": line, "id": text.id}
        if not text.text.strip():
            problems.error("empty-text", "the text is empty", **where)
        elif text.id in texts:
            problems.error("duplicate-id", "a second sample of this id", **where)
        elif text.gold_tuples is None:
            message = "no gold for this sample: give gold_tuples, or [data] gold"
            problems.error("missing-gold", message, **where)
        else:
            texts[text.id] = text
    problems.raise_if_failed()
    if not texts:
        raise problems.fatal("no-samples", "no sample in it can be used", file=data.file)
    chosen = list(texts.values())
    if data.shuffle:
        random.Random(0).shuffle(chosen)
    for most in (data.limit, limit):
        chosen = chosen[:most]
    return chosen


def _read_samples(config: Config, problems: Problems) -> Iterator[tuple[int | str, Text]]:
    """(place in the file, sample) of whatever format."""
    data = config.data
    require_file(data.file, problems)
    if data.format in OWN_FORMATS:
        read = read_csv if data.format == "csv" else read_jsonl
        yield from read(data.file, Text, problems)
        return
    format_ = FORMATS[data.format]
    options = {"level": data.level} if "level" in format_.needs else {}
    for place, sample in format_.read(Source(data.file, problems), **options):
        tuples = [TupleRow.model_validate(row) for row in sample.tuples]
        yield place, Text(id=sample.id, text=sample.text, gold_tuples=tuples)


def taxonomy(
    config: Config,
    texts: list[Text],
    problems: Problems,
) -> tuple[str, ...]:
    """The refs that a model may name: of the config's file, else of the gold, else those of NIKL.

    InputError where the gold has others than the file.
    """
    gold_refs: set[str] = set()
    for text in texts:
        gold_refs.update(row.aspect_ref for row in text.gold_tuples or () if row.aspect_ref)
    file = config.taxonomy.file
    if file is None and gold_refs:
        return tuple(sorted(gold_refs))
    if file is None:
        file = asset_dir("templates") / "cr" / "nikl_refs.txt"
    require_file(file, problems)
    lines = [line.strip() for line in read_utf8(file, problems).splitlines()]
    refs = tuple(line for line in lines if line)
    for ref in sorted(gold_refs.difference(refs)):
        lacks = f"the gold has the ref {ref!r}, which the taxonomy lacks"
        problems.error("unknown-ref", lacks, file=file)
    problems.raise_if_failed()
    return refs
