"""What `evaltools run cr` is given: a config in TOML, every key of it checked, and the samples with their gold."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ....core.errors import Problems
from ....core.files import Names, asset_dir, bytes_hash, resolve
from ....core.records import File
from ....core.tables import read_table
from ....formats.convert import SENTIMENT
from ....formats.source import Place, Source, where
from ....llm.messages import Prices, plain_url
from ..read import read_gold
from ..schema import Row, TupleRow

# Which stages a sample goes through.
#
# s0: one call, no review. m0: three lenses and review. m1: reviewers see memory, too. m2: what was
# learnt is added to it.
Condition = Literal["s0", "m0", "m1", "m2"]

# the base_url of the bundled stand-in for a model, which needs no key and no network
EXAMPLE = "example:"

# of the samples: the package's own two, and those of aspect-based sentiment of `evaltools convert`
Format = Literal[
    "jsonl",
    "csv",
    "nikl",
    "semeval14",
    "semeval15",
    "semeval16",
    "aste",
    "asqp",
    "tasd",
    "acos",
]


def _from_folder_of_config(
    path: Path,
    info: ValidationInfo,
) -> Path:
    """A path relative to the folder of the config; example:NAME stands for a bundled file."""
    if str(path).startswith(EXAMPLE):
        return resolve(str(path))
    return (info.context or Path()) / path


ConfigPath = Annotated[Path, AfterValidator(_from_folder_of_config)]


def _address(url: str | None) -> str | None:
    return url if url == EXAMPLE else plain_url(url)


def _variable(name: str) -> str:
    if re.fullmatch(r"[A-Z_][A-Z0-9_]{0,99}", name):
        return name
    raise PydanticCustomError(
        "hidden", "expected the name of an environment variable (A-Z, 0-9, _), never the key itself"
    )


class Section(BaseModel):
    """A table of the config; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Data(Section):
    """The samples: `file` in `format`, one of `evaltools convert` or jsonl or csv with id and text.

    `gold`: a gold file where the format holds none. `limit`: the most samples, after a `shuffle`
    that is the same for every seed and condition.
    """

    file: ConfigPath
    format: Format = "jsonl"
    gold: ConfigPath | None = None
    limit: PositiveInt | None = None
    shuffle: bool = False


class Model(Section):
    """`name` as the server knows it; `base_url` of an OpenAI-compatible server, null: the default
    one.

    `max_tokens`: of one reply. `concurrency`: requests in flight at once. `key_env`: the
    environment variable that holds the key.
    """

    name: Annotated[str, Field(min_length=1)]
    base_url: Annotated[str | None, AfterValidator(_address)] = None
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.7
    max_tokens: PositiveInt = 2000
    key_env: Annotated[str, AfterValidator(_variable)] = "OPENAI_API_KEY"
    concurrency: PositiveInt = 16


class Memory(Section):
    """`file`: the episodes to retrieve from.

    `mode`: frozen, as it stands; online, it grows, samples go one by one.

    `allow_evaluated_split`: episodes may come from the samples that are evaluated.
    """

    mode: Literal["frozen", "online"] = "frozen"
    file: ConfigPath | None = None
    allow_evaluated_split: bool = False


class Taxonomy(Section):
    """`file`: the refs, one a line. Without it the refs of the gold."""

    file: ConfigPath | None = None


class Config(Section):
    """A whole config."""

    run_id: Annotated[str, Field(pattern=r"^[\w.-]*[^\W_][\w.-]*$", max_length=100)]
    conditions: Annotated[tuple[Condition, ...], Field(min_length=1)] = ("m0",)
    seeds: Annotated[tuple[int, ...], Field(min_length=1)] = (1,)
    recheck: bool = False
    data: Data
    model: Model
    memory: Memory = Memory()
    price: Prices | None = None
    taxonomy: Taxonomy = Taxonomy()

    @model_validator(mode="after")
    def _makes_sense(self) -> Config:
        if "m1" in self.conditions and self.memory.file is None:
            raise ValueError("memory.file: m1 shows episodes of a file; an m2 run writes one")
        if "__" in self.run_id:
            raise ValueError("run_id: two underscores separate it from the seed")
        return self

    @property
    def is_example(self) -> bool:
        """Whether the stand-in answers, not a model."""
        return self.model.base_url == EXAMPLE


def read_config(path: Path) -> Config:
    """The config of a file; its relative paths are relative to it.

    InputError names every key that is wrong.
    """
    file = File(path, Problems())
    try:
        content = tomllib.loads(file.text())
    except (ValueError, RecursionError) as error:
        # RecursionError: lists in lists in lists; ValueError: also a number of thousands of digits
        raise file.fatal("bad-toml", f"expected TOML: {error}") from None
    return file.record(Config.model_validate, content, context=path.parent)


class Text(Row):
    """A sample: a line of format jsonl, a row of csv, a sample of any other format; written as a line of a gold file."""

    id: str = Field(strict=False, coerce_numbers_to_str=True, serialization_alias="uid")
    text: str = Field(serialization_alias="input_text")
    gold_tuples: list[TupleRow] | None = None
    split: str | None = None

    @property
    def hash(self) -> str:
        """16 hex digits of the sha256 of its id and text."""
        return bytes_hash(f"{self.id}\0{self.text}".encode())[:16]


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
        gold = read_gold(File(data.gold, problems))
    source = Source(data.file, problems)
    samples: Iterable[tuple[Place, Text]] = read_table(source, Text)
    if data.format in SENTIMENT:
        samples = (
            (place, Text(id=sample["id"], text=sample["text"], gold_tuples=sample["tuples"]))
            for place, sample in source.rows(SENTIMENT[data.format](source))
        )
    texts: dict[str, Text] = {}
    for place, text in samples:
        if gold is not None:
            text.gold_tuples = gold.get(text.id)
        wrong = None
        if not text.text.strip():
            wrong = "empty-text", "the text is empty"
        elif text.id in texts:
            wrong = "duplicate-id", "a second sample of this id"
        elif text.gold_tuples is None:
            wrong = "missing-gold", "no gold for this sample: give gold_tuples, or [data] gold"
        if wrong:
            source.error(*wrong, id=text.id, **where(place))
        else:
            texts[text.id] = text
    problems.raise_if_failed()
    if not texts:
        raise source.fatal("no-samples", "no sample in it can be used")
    chosen = list(texts.values())
    if data.shuffle:
        random.Random(0).shuffle(chosen)
    for most in (data.limit, limit):
        chosen = chosen[:most]
    return chosen


def taxonomy(
    config: Config,
    texts: list[Text],
    problems: Problems,
) -> Names:
    """The refs that a model may name: of the config's file, else of the gold, else those of NIKL."""
    gold_refs = {row.aspect_ref or "" for text in texts for row in text.gold_tuples or ()} - {""}
    file = config.taxonomy.file
    if file is None and gold_refs:
        return tuple(sorted(gold_refs))
    file = file or asset_dir("templates") / "cr" / "nikl_refs.txt"
    lines = File(file, problems).text().splitlines()
    return tuple(filter(None, map(str.strip, lines)))
