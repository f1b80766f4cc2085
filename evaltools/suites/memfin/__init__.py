"""The MemFin suite: five measures of a financial assistant, from traces of its dialogues.

`evaltools.memfin.score_dialog(dialog)` scores one dialogue.
"""

from __future__ import annotations

from typing import Any

__all__ = ["score_dialog"]


def __getattr__(name: str) -> Any:
    # loaded on first use, so that `import evaltools` stays quick
    if name == "score_dialog":
        from .turns import score_dialog

        return score_dialog
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
