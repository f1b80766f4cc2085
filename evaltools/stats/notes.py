"""What a reader must know of numbers, as codes and values; the words stand in `report.sentences`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Note:
    """One thing that a reader must know: its code, and the values that it is about.

    Values are numbers, titles and names.

    >>> Note("few-pairs", {"n": 10}).values["n"]
    10
    """

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)
