"""Conflict Review: tuple F1 before and after review, corrections, conflicts, risks and hallucination.

`tuple_f1` is its metric as a function of plain values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tuples import MatchPolicy, TupleF1, tuple_f1

__all__ = ["MatchPolicy", "TupleF1", "tuple_f1"]


def __getattr__(name: str) -> Any:
    # loaded on first use, so that `import evaltools` and the command line stay quick
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import tuples

    return getattr(tuples, name)


def __dir__() -> list[str]:
    return __all__
