"""The formats that `convert` reads: name, kind, reader and the options that it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from . import deepeval, inspect_logs, lines, lm_eval, promptfoo, ragas, semeval
from .source import Records


@dataclass(frozen=True)
class Format:
    """`kind`: aspect-based sentiment (samples with tuples), or scores (one of a metric on a sample, a row).

    `read`: takes a `Source` and the options by name, and gives (place, row). `options`: what the
    format does not say; it cannot do without `needs`.
    """

    kind: Literal["sentiment", "scores"]
    read: Callable[..., Records]
    options: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


FORMATS = {
    "nikl": Format("sentiment", lines.nikl),
    "semeval14": Format("sentiment", semeval.read14, ("level",), ("level",)),
    "semeval15": Format("sentiment", semeval.read16),
    "semeval16": Format("sentiment", semeval.read16),
    "aste": Format("sentiment", lines.aste),
    "asqp": Format("sentiment", lines.asqp),
    "tasd": Format("sentiment", lines.tasd),
    "acos": Format("sentiment", lines.acos),
    "inspect": Format("scores", inspect_logs.read, ("condition",)),
    "lm-eval": Format("scores", lm_eval.read, ("condition", "seed")),
    "promptfoo": Format("scores", promptfoo.read),
    "deepeval": Format("scores", deepeval.read, ("condition", "seed")),
    "ragas": Format("scores", ragas.read, ("condition", "seed", "sep", "decimal")),
}
