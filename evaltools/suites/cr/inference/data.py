"""The samples of an inference run: texts with their gold, from `convert`'s readers or plain id-and-text files."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ....core.errors import Problems
from ....core.files import asset_dir
from ....core.records import read_csv, read_jsonl, read_utf8, require_file
from ....formats.formats import FORMATS
from ..read import read_gold
from ..schema import Row, TupleRow
from .config import OWN_FORMATS, Config


class Line(Row):
    """A line of format jsonl, a row of csv, a sample of any other."""

    id: str | int
    text: str
    gold_tuples: list[TupleRow] | None = None
    split: str | None = None


@dataclass(frozen=True)
class Text:
    """A sample: `gold` holds its tuples as JSON values."""

    id: str
    text: str
    gold: tuple[dict[str, Any], ...]
    split: str = ""


def read_texts(config: Config, limit: int | None, problems: Problems) -> list[Text]:
    """The samples to run, in order. InputError for a doubled id, an empty text, and a sample without gold."""
    path = config.data.file
    gold = None
    if config.data.gold is not None:
        require_file(config.data.gold, problems)
        gold = read_gold(config.data.gold, problems)
    found: dict[str, Text] = {}
    for place, line in _lines(config, problems):
        name = str(line.id)
        tuples = line.gold_tuples if gold is None else gold.get(name)
        where: dict[str, Any] = {
            "file": str(path),
            "line": place if isinstance(place, int) else None,
            "id": name,
        }
        if not line.text.strip():
            problems.error("empty-text", "the text is empty", **where)
        elif name in found:
            problems.error("duplicate-id", "a second sample of this id", **where)
        elif tuples is None:
            problems.error(
                "missing-gold", "no gold for this sample: give gold_tuples, or [data] gold", **where
            )
        else:
            plain = tuple(t.model_dump(mode="json", exclude_none=True) for t in tuples)
            found[name] = Text(name, line.text, plain, line.split or config.data.split or "")
    problems.raise_if_failed()
    texts = list(found.values())
    if not texts:
        raise problems.fatal("no-samples", "no sample in it can be used", file=str(path))
    if config.data.shuffle:
        random.Random(0).shuffle(texts)
    wanted = (
        limit if config.data.limit is None else min(config.data.limit, limit or config.data.limit)
    )
    return texts[:wanted]


def _lines(config: Config, problems: Problems) -> Iterator[tuple[int | str, Line]]:
    """(place, sample) of whatever format."""
    data = config.data
    require_file(data.file, problems)
    if data.format in OWN_FORMATS:
        yield from (read_csv if data.format == "csv" else read_jsonl)(
            data.file, Line, problems, id_field="id"
        )
        return
    form = FORMATS[data.format]
    for place, sample in form.read(
        data.file, problems, **({"level": data.level} if data.level else {})
    ):
        tuples = [
            TupleRow(aspect_ref=o.ref, aspect_term=o.term, polarity=o.polarity)
            for o in sample.opinions
        ]
        yield place, Line(id=sample.id, text=sample.text, gold_tuples=tuples)


def taxonomy(config: Config, texts: list[Text], problems: Problems) -> tuple[str, ...]:
    """The refs that a model may name: of the config's file, else of the gold. InputError where it has others."""
    file = config.taxonomy.file
    of_gold = sorted({t["aspect_ref"] for text in texts for t in text.gold if t.get("aspect_ref")})
    if file is None and not of_gold:
        file = asset_dir("templates") / "cr" / "nikl_refs.txt"
    if file is None:
        return tuple(of_gold)
    require_file(file, problems)
    refs = tuple(line.strip() for line in read_utf8(file, problems).splitlines() if line.strip())
    for ref in sorted(set(of_gold) - set(refs)):
        problems.error(
            "unknown-ref", f"the gold has the ref {ref!r}, which the taxonomy lacks", file=str(file)
        )
    problems.raise_if_failed()
    return refs
