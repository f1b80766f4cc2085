"""MemFin: five measures of a financial assistant, from traces of its dialogues.

`score_dialog` scores one dialogue, as a function of plain values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .score import score_dialog

__all__ = ["score_dialog"]


def __getattr__(name: str) -> Any:
    # loaded on first use, so that `import evaltools` and the command line stay quick
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import score

    return getattr(score, name)


def __dir__() -> list[str]:
    return __all__
