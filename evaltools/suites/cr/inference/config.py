"""The config of `evaltools run cr`: a TOML file, every key of it checked."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, model_validator

from ....core.errors import InputError, Problems
from ....core.files import resolve
from ....core.manifest import policy_hash
from ....core.records import fitted, read_utf8, require_file
from ....formats.formats import FORMATS

Condition = Literal["s0", "m0", "m1", "m2"]
"""s0: one call, no review. m0: three lenses and review. m1: reviewers see memory. m2: and add to it."""

EXAMPLE = "example:"
"""The base_url of the bundled stand-in for a model, which needs no key and no network."""

OWN_FORMATS = ("jsonl", "csv")

Positive = Annotated[int, Field(ge=1)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _placed(path: Path, info: ValidationInfo) -> Path:
    """A path relative to the folder of the config; example:NAME stands for a bundled file."""
    return resolve(str(path)) if str(path).startswith(EXAMPLE) else (info.context or Path()) / path


Placed = Annotated[Path, AfterValidator(_placed)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Data(Section):
    """`file` in `format`: one of `evaltools convert`, or jsonl or csv with id and text (jsonl: gold_tuples, split).

    `gold`: a gold file where the format holds none. `limit`: so many samples, after a `shuffle` that is the same for
    every seed and condition. `level`: of semeval14.
    """

    file: Placed
    format: str = "jsonl"
    gold: Placed | None = None
    limit: Positive | None = None
    shuffle: bool = False
    split: str | None = None
    level: Literal["term", "category"] | None = None

    @model_validator(mode="after")
    def _known_format(self) -> Data:
        known = (
            *OWN_FORMATS,
            *(name for name, form in FORMATS.items() if form.kind == "sentiment"),
        )
        if self.format not in known:
            raise ValueError(f"no format {self.format!r}; there are {', '.join(known)}")
        needed = self.format not in OWN_FORMATS and bool(FORMATS[self.format].needs)
        if needed != (self.level is not None):
            raise ValueError(
                f"level: {'needed by' if needed else 'not taken by'} the format {self.format}"
            )
        return self


class Model(Section):
    """`name` as the server knows it; `base_url` of an OpenAI-compatible server, null: the SDK's default one.

    `max_tokens`: of one reply. `concurrency`: requests in flight at once. `key_env`: where the key stands.
    """

    name: Annotated[str, Field(min_length=1)]
    base_url: str | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.7
    max_tokens: Positive = 2000
    key_env: str = "OPENAI_API_KEY"
    concurrency: Positive = 16

    @model_validator(mode="after")
    def _plain_address(self) -> Model:
        if self.base_url in (None, EXAMPLE):
            return self
        try:
            parts = urlsplit(self.base_url or "")
            good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            good = False
        if not good or parts.username or parts.query:
            raise ValueError(
                "base_url: expected http(s)://host[:port]/path, without a user or a query"
            )
        return self


class Memory(Section):
    """`file`: episodes.jsonl to retrieve from. frozen: as it stands; online: grows, samples go one by one.

    `allow_evaluated_split`: episodes may come from the samples that are evaluated.
    """

    mode: Literal["frozen", "online"] = "frozen"
    file: Placed | None = None
    allow_evaluated_split: bool = False


class Prices(Section):
    """Per million tokens, in any currency."""

    input: Price = 0.0
    output: Price = 0.0


class Taxonomy(Section):
    """`file`: the refs, one a line. Without it the refs of the gold."""

    file: Placed | None = None


class Config(Section):
    """`prompts`: a folder whose files replace the package's own of the same names."""

    run_id: Annotated[str, Field(pattern=r"^[\w.-]*[^\W_][\w.-]*$", max_length=100)]
    conditions: Annotated[tuple[Condition, ...], Field(min_length=1)] = ("m0",)
    seeds: Annotated[tuple[int, ...], Field(min_length=1)] = (1,)
    arbiter: Literal["strict", "original"] = "strict"
    recheck: bool = False
    prompts: Placed | None = None
    data: Data
    model: Model
    memory: Memory = Memory()
    price: Prices | None = None
    taxonomy: Taxonomy = Taxonomy()

    @model_validator(mode="after")
    def _makes_sense(self) -> Config:
        for name in ("conditions", "seeds"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise ValueError(f"{name}: one stands there twice")
        if "m1" in self.conditions and self.memory.file is None:
            raise ValueError("memory.file: m1 shows episodes of a file; an m2 run writes one")
        if "__" in self.run_id:
            raise ValueError("run_id: two underscores separate it from the seed")
        return self

    def run_name(self, condition: str, seed: int) -> str:
        """The folder of a condition and seed below results/."""
        of_condition = f"_{condition}" if len(self.conditions) > 1 else ""
        return f"{self.run_id}{of_condition}__seed{seed}_proposed"

    def identity(self, condition: str, seed: int, content: Mapping[str, Any]) -> str:
        """The hash of all that a row follows from; `content`: the hashes of the files that the config names."""
        used = {
            "condition": condition,
            "seed": seed,
            "arbiter": self.arbiter,
            "recheck": self.recheck,
            "model": self.model.model_dump(
                mode="json", include={"name", "base_url", "temperature", "max_tokens"}
            ),
            "memory": self.memory.mode if condition in ("m1", "m2") else None,
            **content,
        }
        return policy_hash(used)


def read_config(path: Path) -> Config:
    """The config of a file; its relative paths are relative to it. InputError names every key that is wrong."""
    problems = Problems()
    require_file(path, problems)
    try:
        content = tomllib.loads(read_utf8(path, problems))
    except (
        ValueError,
        RecursionError,
    ) as e:  # a number of thousands of digits, lists in lists in lists
        raise problems.fatal("bad-toml", f"expected TOML: {e}", file=str(path)) from None
    config = fitted(Config, content, problems, context=path.parent, file=str(path))
    if config is None:
        raise InputError(problems.errors)
    return config
