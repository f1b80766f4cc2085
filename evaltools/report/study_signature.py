"""One line that says how the numbers of a study were made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.names import natural
from .interval_methods import frames_of_study, methods_in_use

if TYPE_CHECKING:
    from .study import Study


def signature_of_study(study: Study) -> str:
    """The signature of the first run, with the samples and seeds of all of them."""
    usual = study.suite.primary_name(study.options, frozenset())
    is_switched = study.primary != usual
    replaced = ["n:", "ci:"]
    if is_switched:
        replaced.append("primary:")
    parts = []
    for part in study.results[0].signature.split("|"):
        if not part.startswith(tuple(replaced)):
            parts.append(part)
    if is_switched:
        parts.append(f"primary:{study.primary}")
    parts.append(f"n:{len(study.unit_names)}")
    parts.append(f"seeds:{_seeds(study)}")
    level = f"ci:{study.resampling.percent}"
    methods = methods_in_use(frames_of_study(study))
    parts.append(",".join([level, *methods]))
    return "|".join(parts)


def _seeds(study: Study) -> str:
    """The seeds of all conditions, each once, in natural order."""
    seeds: set[str] = set()
    for of_seed in study.conditions.values():
        seeds.update(of_seed)
    return ",".join(sorted(seeds, key=natural))
