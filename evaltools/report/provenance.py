"""How the numbers of a page were made: the line of a signature, the methods of intervals, inputs and policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
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
        "ci": _with_methods(asked, run),
        "resamples": resampling.n_resamples,
        "seed": resampling.seed,
        "version": __version__,
    }


def signature_of_study(study: Study) -> str:
    """The signature of the first run, with the samples, seeds and methods of all of them."""
    parts = _signature(study.results[0])
    for key in ("n", "ci", "primary"):
        parts.pop(key, None)
    parts.update(_switched(study))
    seeds = {seed for of_seed in study.conditions.values() for seed in of_seed}
    parts["n"] = len(study.unit_names)
    parts["seeds"] = ",".join(sorted(seeds, key=natural))
    parts["ci"] = _with_methods(study.resampling.percent, study)
    return _as_line(parts)


def _switched(shown: Run | Study) -> dict[str, str]:
    """The primary metric, where it is not the suite's own."""
    return {} if shown.primary == shown.usual_primary else {"primary": shown.primary}


def _with_methods(asked: str, shown: Run | Study) -> str:
    """What was asked for, and every method in use, in alphabetical order."""
    return ",".join([asked, *sorted(count_methods(shown))])


def _as_line(parts: Mapping[str, Any]) -> str:
    return "|".join(f"{key}:{value}" for key, value in parts.items())


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
