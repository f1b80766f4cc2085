"""Several things that a notebook shows one below the other."""

from __future__ import annotations

from typing import Any


class Stack(list[Any]):
    """Several things, each shown below the other in a notebook."""

    def _ipython_display_(self) -> None:
        from IPython.display import display

        for item in self:
            display(item)
