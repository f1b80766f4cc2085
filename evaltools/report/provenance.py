"""How the numbers of a page were made: the line of a signature, the methods of intervals, inputs and policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from .. import __version__
from ..core.files import dumps
from ..core.language import listed, say
from ..core.names import natural
from .tables import HtmlTable, table
from .templates import macros

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

BOOTSTRAPS = ("bca", "bca-t", "percentile", "abc")
"""What `ci_method` says of an interval that is a bootstrap, or its closed form."""


# --- signatures (after sacreBLEU)


def signature_of_run(run: Run) -> str:
    """One line that says how the numbers of a run were made."""
    return _as_line(_signature(run))


def _signature(run: Run) -> dict[str, Any]:
    """The parts of the signature of a run, by their keys."""
    resampling = run.resampling
    parts = {"suite": run.suite.name, **run.options.signature()}
    if "metrics" in run.policy:
        parts["metrics"] = run.policy["metrics"]
    parts["policy"] = run.policy["eval_policy_hash"]
    parts.update(_switched(run))
    if run.query:
        parts["where"] = run.query
    asked = f"{resampling.method}{100 * resampling.confidence:g}"
    return {
        **parts,
        "n": run.n_units,
        "unit": run.suite.unit,
        "ci": _with_methods(asked, [run.estimates]),
        "resamples": resampling.n_resamples,
        "seed": resampling.seed,
        "version": __version__,
    }


def signature_of_study(study: Study) -> str:
    """The signature of the first run, with the samples, seeds and methods of all of them."""
    parts = _signature(study.results[0])
    for key in ("n", "ci", "primary"):
        parts.pop(key, None)
    seeds = {seed for of_seed in study.conditions.values() for seed in of_seed}
    return _as_line(
        {
            **parts,
            **study.options.signature(),
            **_switched(study),
            "n": len(study.unit_names),
            "seeds": ",".join(sorted(seeds, key=natural)),
            "ci": _with_methods(study.resampling.percent, frames_of_study(study)),
        }
    )


def _switched(shown: Run | Study) -> dict[str, str]:
    """The primary metric, where it is not the suite's own."""
    return {} if shown.primary == shown.usual_primary else {"primary": shown.primary}


def _with_methods(
    asked: str,
    frames: Iterable[pd.DataFrame],
) -> str:
    """What was asked for, and every method in use, in alphabetical order."""
    return ",".join([asked, *sorted(count_methods(frames))])


def _as_line(parts: Mapping[str, Any]) -> str:
    return "|".join(f"{key}:{value}" for key, value in parts.items())


# --- methods of intervals


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


def intervals_in_use(frames: Iterable[pd.DataFrame]) -> str:
    """The line that says how many intervals are bootstraps, and their methods; "" without intervals."""
    counts = count_methods(frames)
    if not counts:
        return ""
    return say(
        "Bootstrap intervals: {n} of {total} ({methods}).",
        n=sum(n for name, n in counts.items() if name in BOOTSTRAPS),
        total=sum(counts.values()),
        methods=listed(f"{name} {n}" for name, n in counts.items()),
    )


# --- inputs and policy


def provenance(run: Run) -> HtmlTable:
    """Inputs with their hashes, policy, intervals, signature; times stand in the manifest only."""
    rows: list[tuple[str, str]] = []
    for entry in run.manifest.inputs:
        file = entry.path.rsplit("/", 1)[-1]
        size = say("{n:,} bytes", n=entry.bytes)
        text = f"{file} · {size} · sha256 {entry.sha256}"
        rows.append((say("input: {what}", what=entry.role), text))
    for key, value in run.policy.items():
        text = value if isinstance(value, str) else dumps(value)
        rows.append((say("policy: {what}", what=key), text))
    intervals = say(
        "{method}, {n:,} resamples, {level}, seed {seed}",
        method=run.resampling.method,
        n=run.resampling.n_resamples,
        level=run.resampling.percent,
        seed=run.resampling.seed,
    )
    rows.append((say("intervals"), intervals))
    rows.append((say("signature"), run.signature))
    shown = table(pd.DataFrame(rows, columns=["what", "value"]))
    html = macros().fold(say("Provenance"), shown.html, False)
    return HtmlTable(html, shown.text)
