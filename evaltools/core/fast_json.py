"""Decoders made from pydantic models, several times as fast, for the lines that fit without a doubt.

The model stays the only definition of a record, and pydantic the judge of every line that is refused here.
What is read is the same. One thing is not noticed here: what no field takes must be JSON, but its texts are
passed over unread, though they may not be UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from pydantic import BaseModel, FailFast
from pydantic.fields import FieldInfo

_PLAIN = (str, int, float, bool, type(None))


def decoder(model: type[BaseModel]) -> Callable[[bytes], Any]:
    """decode(line): an object with the fields of `model` as attributes, or None where pydantic must judge.

    A field of any kind is left unread, as the bytes of its JSON. For strict models that ignore other keys and refuse
    NaN. Raises TypeError for a model with a kind of field that is not translated.
    """
    decode: Callable[[bytes], Any] = msgspec.json.Decoder(_struct(model)).decode

    def attempt(line: bytes) -> Any:
        try:
            return decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    return attempt


@cache
def _struct(model: type[BaseModel]) -> type:
    """The class of msgspec that has the fields of a model."""
    fields: list[Any] = []
    for name, field in model.model_fields.items():
        kind = _limited(field.annotation, field.metadata)
        default = () if field.is_required() else (field.default,)
        fields.append((name, kind, *default))
    # records are trees: nothing in them for the collector of cycles to look for
    return msgspec.defstruct(
        model.__name__,
        fields,
        kw_only=True,
        gc=False,
    )


def _translated(kind: Any) -> Any:
    """The type that msgspec reads as pydantic reads `kind`, or a narrower one."""
    if kind in _PLAIN:
        return kind
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _struct(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is list:
        return list[_translated(inner[0])]  # type: ignore[misc]
    if origin is Annotated:
        kind, *marks = inner
        return _limited(kind, marks)
    if origin in (Union, UnionType):
        # objects of other shapes than the model's are left to pydantic
        parts = [None if part is Any else _translated(part) for part in inner]
        return Union[tuple(parts)]  # noqa: UP007
    raise TypeError(f"no fast decoder for a field of {kind!r}")


def _limited(
    kind: Any,
    marks: Sequence[Any],
) -> Any:
    """The translated type with the limits that some marks of pydantic set, as Gt(gt=0); TypeError for other marks."""
    if kind is Any:
        return msgspec.Raw
    limits: dict[str, Any] = {}
    for mark in _single(marks):
        limits.update(asdict(mark))
    translated = _translated(kind)
    return Annotated[translated, msgspec.Meta(**limits)] if limits else translated


def _single(marks: Sequence[Any]) -> Iterator[Any]:
    """The marks, those within a `Field(...)` too, without two that change nothing here.

    The parts of a union are tried from left to right here as well, and the first error ends it.
    """
    for mark in marks:
        if isinstance(mark, FieldInfo):
            yield from _single(mark.metadata)
        elif not isinstance(mark, FailFast) and getattr(mark, "union_mode", "") != "left_to_right":
            yield mark
