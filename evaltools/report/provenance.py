"""How the numbers of a page were made: signature, methods of intervals, inputs and policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pandas as pd

from .. import __version__
from ..core.files import bytes_hash, dumps
from ..core.language import listed, say
from ..core.names import natural
from .tables import HtmlTable, fold, table

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

# what `ci_method` says of an interval that is a bootstrap
BOOTSTRAPS = ("bca", "bca-t", "percentile")


def signature(
    shown: Run | Study,
    seeds: Iterable[str] = (),
) -> str:
    """One line that says how the numbers of a run, or of a study by its first run, were made (after sacreBLEU)."""
    run = shown.results[0]
    parts = {
        "suite": run.suite.name,
        **run.options.signature(),
        "metrics": run.policy.get("metrics"),
        "policy": run.policy["eval_policy_hash"],
        "primary": None if shown.primary == shown.usual_primary else shown.primary,
        "where": run.query or None,
        "n": shown.n_units,
        "unit": run.suite.unit,
        "ci": f"{run.resampling.method}{100 * run.resampling.confidence:g}",
        "resamples": run.resampling.n_resamples,
        "seed": run.resampling.seed,
        "seeds": ",".join(sorted(filter(None, seeds), key=natural)) or None,
        "version": __version__,
    }
    return "|".join(f"{key}:{value}" for key, value in parts.items() if value is not None)


def short_signature(shown: Run | Study) -> str:
    """Eight hex digits that stand for the signature where it would be too long."""
    return bytes_hash(shown.signature.encode())[:8]


def count_methods(frames: Iterable[pd.DataFrame]) -> dict[str, int]:
    """Method -> number of intervals in estimates or comparisons, the commonest first."""
    counts: Counter[str] = Counter()
    for frame in frames:
        counts.update(frame.loc[frame["ci_low"].notna(), "ci_method"])
    return dict(counts.most_common())


def provenance(
    shown: Run | Study,
    frames: Iterable[pd.DataFrame] = (),
) -> HtmlTable:
    """Inputs with their hashes, policy, methods of the intervals of `frames`, and signature, folded.

    Times stand in the manifest only.
    """
    first = shown.results[0]
    rows = []
    for run in shown.results:
        for entry in run.manifest.inputs:
            file = entry.path.rsplit("/", 1)[-1]
            role = say("input: {what}", what=entry.role)
            rows.append((role, f"{file} · {entry.bytes:,} B · sha256 {entry.sha256}"))
    for key, value in first.policy.items():
        text = value if isinstance(value, str) else dumps(value)
        rows.append((say("policy: {what}", what=key), text))
    methods = count_methods(frames)
    settings = say(
        "{method}, {n:,} resamples, {level}, seed {seed}",
        method=first.resampling.method,
        n=first.resampling.n_resamples,
        level=first.resampling.percent,
        seed=first.resampling.seed,
    )
    used = listed(f"{name} {n}" for name, n in methods.items())
    rows.append((say("intervals"), f"{settings}; {used}" if used else settings))
    rows.append((say("signature"), f"{shown.signature} ({short_signature(shown)})"))
    unique = list(dict.fromkeys(rows))
    return fold(
        say("Inputs, policy and signature"), table(pd.DataFrame(unique, columns=["what", "value"]))
    )
