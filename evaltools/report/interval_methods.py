"""By which methods the intervals of a page were made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pandas as pd

from ..core.language import listed, say
from .tables import HtmlTable, words

if TYPE_CHECKING:
    from .study import Study

BOOTSTRAPS = ("bca", "bca-t", "percentile", "abc")
"""What `ci_method` says of an interval that is a bootstrap, or its closed form."""


def count_methods(frames: Iterable[pd.DataFrame]) -> dict[str, int]:
    """Method -> number of intervals in these estimates or comparisons, the commonest first."""
    counts: Counter[str] = Counter()
    for frame in frames:
        methods = frame.loc[frame["ci_low"].notna(), "ci_method"]
        counts.update(methods)
    return dict(counts.most_common())


def frames_of_study(study: Study) -> list[pd.DataFrame]:
    """The estimates of its conditions, and the rows of its comparisons."""
    comparisons = [comparison.table for comparison in study.comparisons.values()]
    return [*study.aggregates.values(), *comparisons]


def methods_in_use(frames: Iterable[pd.DataFrame]) -> list[str]:
    """Every method in use, in alphabetical order."""
    return sorted(count_methods(frames))


def intervals_in_use(frames: Iterable[pd.DataFrame]) -> list[HtmlTable]:
    """The line that says how many intervals are bootstraps, and their methods; [] without intervals."""
    counts = count_methods(frames)
    if not counts:
        return []
    n_bootstraps = 0
    methods = []
    for name, n in counts.items():
        methods.append(f"{name} {n}")
        if name in BOOTSTRAPS:
            n_bootstraps += n
    text = say(
        "Bootstrap intervals: {n} of {total} ({methods}).",
        n=n_bootstraps,
        total=sum(counts.values()),
        methods=listed(methods),
    )
    return [words(text)]
