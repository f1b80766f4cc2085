"""Summaries of insurance texts: `score` gives the five metrics of one summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .scoring import Score, score

__all__ = ["Score", "score"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import scoring

    return getattr(scoring, name)


def __dir__() -> list[str]:
    return __all__
