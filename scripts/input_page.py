"""docs/inputs.md, made from the models of the input files and what scripts/inputs.toml says of their fields."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

CONTENT = tomllib.loads((Path(__file__).parent / "inputs.toml").read_text(encoding="utf-8"))

HEAD = """# Input files

Every file that a command reads, and every field that is read of it. Fields that are not listed are ignored. A file may
begin with a byte order mark; texts are UTF-8. A record that does not fit is an error with file, line and field;
`evaltools check SUITE FILE` lists all of them. This page is written by `scripts/make_docs.py` from the models that read
the files.

Files of other tools: `evaltools convert` ([commands.md](commands.md)).
"""

WORDS = {
    str: "text",
    Path: "path",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Any: "any",
}

TITLES = {
    "cr": "Conflict Review",
    "memfin": "MemFin",
    "summary": "Insurance summaries",
    "table": "Scores of any benchmark",
    "calibrate": "Scores and labels",
    "inference": "Inference (`evaltools run cr`)",
    "rules": "Words and rules of one's own",
}


def model_of(file: dict[str, str]) -> type[BaseModel] | None:
    """The model of a line of a file; None for a file without one."""
    if "model" not in file:
        return None
    module, _, name = file["model"].partition(":")
    model: type[BaseModel] = getattr(import_module(module), name)
    return model


def models_within(annotation: Any) -> list[type[BaseModel]]:
    """The models that a type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    found = []
    for inner in get_args(annotation):
        found += models_within(inner)
    return found


def reachable(model: type[BaseModel]) -> list[type[BaseModel]]:
    """A model and all that its fields hold, each once, the outer ones first."""
    models = [model]
    for outer in models:
        for field in outer.model_fields.values():
            models += [m for m in models_within(field.annotation) if m not in models]
    return models


def type_words(annotation: Any) -> str:
    """A type in words: "text", "list of tuples", "text or whole number"; null is not named."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_words(inner[0])
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in inner)
    if origin is dict:
        return f"object of text -> {type_words(inner[1])}"
    if origin is tuple and inner[-1] is not Ellipsis:
        return f"list of {len(inner)}: {', '.join(map(type_words, inner))}"
    if origin in (list, tuple):
        return f"list of {type_words(inner[0])}"
    if origin in (Union, UnionType):
        # a number may be whole
        unsaid = {type(None), int} if float in inner else {type(None)}
        kinds = [type_words(kind) for kind in inner if kind not in unsaid]
        return " or ".join(dict.fromkeys(kinds))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    return WORDS.get(annotation, str(annotation))


def default_words(field: FieldInfo) -> str:
    """ "required", or what stands where the field is absent."""
    if field.is_required():
        return "required"
    if field.default is None:
        return "null"
    if isinstance(field.default, BaseModel) or field.default in ((), {}, []):
        return "empty"
    default = list(field.default) if isinstance(field.default, tuple) else field.default
    return f"`{json.dumps(default)}`"


def model_rows(model: type[BaseModel]) -> Iterator[str]:
    """The table of a model, a row a field."""
    meanings = CONTENT["model"][model.__name__]
    yield "| field | type | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for name, field in model.model_fields.items():
        kind = type_words(field.annotation)
        yield f"| `{name}` | {kind} | {default_words(field)} | {meanings[name]} |"


def page() -> str:
    """docs/inputs.md"""
    lines = [HEAD]
    suite = ""
    shown: set[str] = set()
    files = CONTENT["file"]
    for index, file in enumerate(files):
        if file["suite"] != suite:
            suite = file["suite"]
            lines += [f"## {TITLES[suite]}", ""]
        lines += [f"### {file['name']}", "", f"{file['about']} Without it: {file['without']}", ""]
        if "example" in file:
            language = "toml" if file["name"].endswith(".toml") else "json"
            lines += [f"```{language}", file["example"].strip(), "```", ""]
        model = model_of(file)
        if model is not None:
            lines += [f"#### {model.__name__}", "", *model_rows(model), ""]
            shown.add(model.__name__)
        is_last = index + 1 == len(files) or files[index + 1]["suite"] != suite
        if is_last:
            lines += parts(suite, shown)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def parts(suite: str, shown: set[str]) -> Iterator[str]:
    """The models within the files of a suite that have no table yet."""
    for file in CONTENT["file"]:
        model = model_of(file)
        if file["suite"] != suite or model is None:
            continue
        for part in reachable(model):
            if part.__name__ in shown:
                continue
            shown.add(part.__name__)
            yield from (f"#### {part.__name__}", "")
            yield from model_rows(part)
            yield ""
