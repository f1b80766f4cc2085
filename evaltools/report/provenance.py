"""How the numbers of a page were made: the line of a signature, the methods of intervals, inputs and policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

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

HEAD = ("metrics", "policy")
OF_RUN = (*HEAD, "primary", "where", "n", "unit", "ci", "resamples", "seed", "version")
OF_STUDY = (*HEAD, "where", "unit", "resamples", "seed", "version", "primary", "n", "seeds", "ci")
"""The parts of a signature behind the suite and its options, in order."""


def signature(
    shown: Run | Study,
    order: Sequence[str],
    n: int,
    asked: str,
    seeds: Iterable[str] = (),
) -> str:
    """One line that says how the numbers of a run, or of a study by its first run, were made.

    `order`: OF_RUN or OF_STUDY. `n`: units. `asked`: the intervals that were asked for; beside it stands every method
    in use.
    """
    run = shown.results[0]
    parts = {
        "metrics": run.policy.get("metrics"),
        "policy": run.policy["eval_policy_hash"],
        "primary": None if shown.primary == shown.usual_primary else shown.primary,
        "where": run.query or None,
        "n": n,
        "unit": run.suite.unit,
        "ci": ",".join([asked, *sorted(count_methods(shown))]),
        "resamples": run.resampling.n_resamples,
        "seed": run.resampling.seed,
        "seeds": ",".join(sorted(seeds, key=natural)),
        "version": __version__,
    }
    said = {"suite": run.suite.name, **run.options.signature()}
    for key in order:
        if parts[key] is not None:
            said[key] = parts[key]
    return "|".join(f"{key}:{value}" for key, value in said.items())


# --- methods of intervals


def count_methods(shown: Run | Study) -> dict[str, int]:
    """Method -> number of intervals in the estimates and comparisons, the commonest first."""
    counts: Counter[str] = Counter()
    for frame in shown.with_intervals:
        methods = frame.loc[frame["ci_low"].notna(), "ci_method"]
        counts.update(methods)
    return dict(counts.most_common())


def intervals_in_use(shown: Run | Study) -> str:
    """The line that says how many intervals are bootstraps, and their methods; "" without intervals."""
    counts = count_methods(shown)
    if not counts:
        return ""
    return say(
        "Bootstrap intervals: {n} of {total} ({methods}).",
        n=sum(counts.get(name, 0) for name in BOOTSTRAPS),
        total=sum(counts.values()),
        methods=listed(f"{name} {n}" for name, n in counts.items()),
    )


# --- inputs and policy


def provenance(run: Run) -> HtmlTable:
    """Inputs with their hashes, policy, intervals, signature; times stand in the manifest only."""
    rows = {}
    for entry in run.manifest.inputs:
        file = entry.path.rsplit("/", 1)[-1]
        size = say("{n:,} bytes", n=entry.bytes)
        role = say("input: {what}", what=entry.role)
        rows[role] = f"{file} · {size} · sha256 {entry.sha256}"
    for key, value in run.policy.items():
        rows[say("policy: {what}", what=key)] = value if isinstance(value, str) else dumps(value)
    rows[say("intervals")] = say(
        "{method}, {n:,} resamples, {level}, seed {seed}",
        method=run.resampling.method,
        n=run.resampling.n_resamples,
        level=run.resampling.percent,
        seed=run.resampling.seed,
    )
    rows[say("signature")] = run.signature
    shown = table(pd.DataFrame(rows.items(), columns=["what", "value"]))
    html = macros().fold(say("Provenance"), shown.html, False)
    return HtmlTable(html, shown.text)
