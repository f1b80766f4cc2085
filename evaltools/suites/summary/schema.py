"""A case: a summary with the texts that it summarises, and the tags that it should name.

Source: seed insurance_summary_prd section 4; specification section 3 (tags).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import from_json

from ...core.language import Message
from .rules import normal_tag


def _identifier(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value


def _texts(value: Any) -> Any:
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    return value


def _name(value: Any) -> str | None:
    if isinstance(value, str | int) and str(value).strip():
        return str(value)
    return None


def _or_empty(value: Any) -> Any:
    return {} if value is None else value


Tags = list[str | int | float | None] | str | None
Name = Annotated[str | None, BeforeValidator(_name)]
Identifier = Annotated[str, BeforeValidator(_identifier), Field(pattern=r"\S")]


class Metadata(BaseModel):
    """What a case says of its summary; other keys are ignored.

    summary_tags: a list, or one text with a tag, a comma or pipe list, or a JSON array. product,
    channel: what the metrics are broken down by; anything but a text or a whole number is none.
    """

    model_config = ConfigDict(extra="ignore", strict=True)

    summary_tags: Tags = None
    summary_intent: str | None = None
    product: Name = None
    channel: Name = None


class Case(BaseModel):
    """One summary with the texts that it summarises. Unknown fields are ignored.

    answer: the summary; null or blank is an empty summary. contexts: its sources; one text may
    stand for a list of one, null for none. `summary_tags` and `summary_intent` may stand at the
    top, as in a table.
    """

    model_config = ConfigDict(extra="ignore", strict=True)

    id: Identifier
    question: str | None = None
    answer: str | None = None
    contexts: Annotated[list[str | None], BeforeValidator(_texts)] = []
    ground_truth: str | None = None
    metadata: Annotated[Metadata, BeforeValidator(_or_empty)] = Metadata()
    summary_tags: Tags = None
    summary_intent: str | None = None

    @model_validator(mode="after")
    def _one_place_for_tags(self) -> Case:
        at_top, in_metadata = self.summary_tags, self.metadata.summary_tags
        if at_top is None or in_metadata is None:
            return self
        if split_tags(at_top) != split_tags(in_metadata):
            raise ValueError(
                Message("summary_tags and metadata.summary_tags differ; give one of them")
            )
        return self

    @property
    def tags(self) -> list[str] | None:
        """Normal form, blank ones dropped, each once, in order; None where the case gives no tags."""
        tags = self.summary_tags
        if self.metadata.summary_tags is not None:
            tags = self.metadata.summary_tags
        return None if tags is None else split_tags(tags)

    @property
    def intent(self) -> str | None:
        """What the summary is for."""
        return self.metadata.summary_intent or self.summary_intent

    @property
    def texts(self) -> list[str]:
        """The contexts, without those that are null."""
        return [text for text in self.contexts if text is not None]


def split_tags(tags: Sequence[str | int | float | None] | str | None) -> list[str]:
    """Tags in normal form; a number among them is kept as its text, and so is reported as unknown.

    >>> split_tags(" Waiting-Period | limit,limit, "), split_tags('["exclusion", null]')
    (['waiting_period', 'limit'], ['exclusion'])
    """
    if isinstance(tags, str):
        array = json_list(tags)
        tags = tags.replace("|", ",").split(",") if array is None else array
    normal: list[str] = []
    for tag in tags or []:
        if tag is not None:
            normal.append(normal_tag(str(tag)))
    once = dict.fromkeys(normal)
    return [tag for tag in once if tag]


def json_list(text: str) -> list[str | None] | None:
    """The list of texts that a cell holds as JSON, or None for a cell that holds plain text."""
    if not text.lstrip().startswith("["):
        return None
    try:
        values = from_json(text)
    except ValueError:
        return None
    if all(value is None or isinstance(value, str) for value in values):
        return list(values)
    return None
