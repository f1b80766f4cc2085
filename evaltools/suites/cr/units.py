"""Samples -> the units frame: one row a sample, with the columns that metrics sum and people filter by.

Source: spec and seeds as named at each metric in `table.toml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from msgspec import json

from .matching import (
    Bools,
    Counts,
    Floats,
    Ints,
    Tuples,
    conflicts,
    match,
    representatives,
    tabulate,
)
from .options import CrOptions
from .sample import Rank, Sample
from .scorecard import DROP_REASONS, stage_delta
from .sources import FINAL_SOURCES
from .tuples import KEYS, EvalTuple, Key


class Action(NamedTuple):
    """Who did what to which tuples, and why."""

    actor: str | None
    action_type: str | None
    target_tuple_ids: tuple[str, ...]
    reason_code: str | None


TEXTS = (
    "text_id", "run_id", "split", "text", "label_stage1", "label_final", "gold", "stage1", "final", "model",
    "reviews", "arbiter",
)  # fmt: skip
"""The columns of texts that stand in a sample, those of several values as JSON."""

OUTCOMES = {
    (False, True): "fix",
    (True, False): "break",
    (True, True): "keep",
    (False, False): "still",
}


def units_frame(samples: Iterable[Sample], options: CrOptions) -> pd.DataFrame | None:
    """One row a sample, in order; None for none. A null score: no gold of that kind, the sample takes no part."""
    policy, of = options.match_policy, _columns(samples)
    if not of:
        return None
    gold, stage1, final, read = tabulate(policy, *zip(*of["tuples"]))
    explicit = gold[gold.term > 0]
    has_gold, has_explicit = _any(gold), _any(explicit)
    protocol = np.array(of["protocol"])
    reviewable = has_gold & protocol
    before, after = ({key: match(key, gold, t, policy) for key in KEYS} for t in (stage1, final))
    of_explicit = {key: match(key, explicit, final, policy) for key in ("refpol", "otepol")}
    of_both = match("otepol", explicit, final[final.term > 0], policy)
    implicit = Counts(*np.array(of["implicit"]).T)
    has_implicit = implicit.tp + implicit.fn > 0

    rank = _places(of["ranks"])
    aspect = (
        _either(read.ref, read.term) if options.key == "refpol" else _either(read.key, read.ref)
    )
    of_represented = match(options.key, gold, representatives(read, aspect, rank), policy)
    (torn, conflict), (torn_ref, conflict_ref) = (
        conflicts(read, by, rank) for by in (read.key, read.ref)
    )

    reviewed, arbitrated = (np.array(of[name]) for name in ("reviewed", "arbitrated"))
    delta = stage_delta(stage1, final, of["label_stage1"], of["label_final"], reviewed | arbitrated)
    stored = np.array(
        [changed if s is None else s for s, changed in zip(of["stored_changed"], delta.changed)]
    )
    correction: dict[str, Any] = {}
    for key in KEYS:
        correction |= _correction(key, before[key], after[key], has_gold, reviewable, delta.changed)
    flags = {name: np.array(of[name]) for name in ("risk_s1", "risk_s2", "negation_contrast")}
    source = np.array(of["source"])
    latency = np.array(of["latency_ms"], dtype=float)  # None becomes NaN
    return pd.DataFrame(
        {
            "line": np.array(of["line"]),
            **{c: _texts(of[c]) for c in TEXTS},
            "n": np.ones(len(protocol), dtype=bool),
            "protocol": protocol,
            "has_gold": has_gold,
            "reviewable": reviewable,
            "n_gold_tuples": gold.per_sample(),
            "n_pred_used": final.per_sample(),
            **{f"from_{s}": source == s for s in FINAL_SOURCES},
            **correction,
            "has_explicit_gold": has_explicit,
            **{
                f"f1_explicit_gold_{key}": _score(counts, has_explicit)
                for key, counts in of_explicit.items()
            },
            "f1_explicit_both_otepol": _score(of_both, has_explicit),
            "has_implicit_gold": _any(gold[gold.term == 0]),
            "has_valid_implicit_gold": has_implicit,
            "f1_implicit": _score(implicit, has_implicit),
            **{c: np.array(of[c]) for c in ("parse_failed", "implicit_invalid")},
            "f1_after_rep": _score(of_represented, has_gold),
            "conflict_raw": torn,
            "conflict": conflict,
            "conflict_raw_refpol": torn_ref,
            "conflict_refpol": conflict_ref,
            **delta._asdict(),
            "change_type": _texts(
                kind if p else None for kind, p in zip(delta.change_type, protocol)
            ),
            "guided": delta.change_type == "guided_by_review",
            "stage_delta_mismatch": stored != delta.changed,
            "reviewed": reviewed,
            "arbitrated": arbitrated,
            **flags,
            "risk_cleared": flags["risk_s1"] & ~flags["risk_s2"],
            "residual_risk": flags["risk_s2"]
            | flags["negation_contrast"]
            | conflict
            | np.array(of["unsupported"]),
            "hallucinated": np.array(of["hallucinated"]),
            **{
                f"drop_{r}": np.array([r in reasons for reasons in of["drop_reasons"]])
                for r in DROP_REASONS
            },
            "final_out_of_text": np.array(of["final_out_of_text"]),
            "latency_ms": latency,
            "has_latency": ~np.isnan(latency),
        }
    )


def _columns(samples: Iterable[Sample]) -> dict[str, list[Any]]:
    """The facts of all samples by name. A sample is done with as soon as it is made: there are many."""
    of: dict[str, list[Any]] = {}
    for sample in samples:
        of = of or {name: [] for name in sample}
        for column, fact in zip(of.values(), sample.values()):
            column.append(fact)
    return of


def _texts(values: Iterable[str | bytes | None]) -> Any:
    # the same type whether or not a shard holds a null, or nothing else
    return pd.array(pa.array(list(values), pa.large_string()), dtype="str")


def read_tuples(text: str) -> list[EvalTuple]:
    """The tuples of a `gold`, `stage1` or `final` cell of the units as stored."""
    return [EvalTuple(*t) for t in json.decode(text)]


def read_actions(text: str) -> list[Action]:
    """The actions of a `reviews` or `arbiter` cell of the units as stored."""
    return [
        Action(actor, kind, tuple(targets), reason)
        for actor, kind, targets, reason in json.decode(text)
    ]


def _any(tuples: Tuples) -> Bools:
    return tuples.per_sample() > 0


def _either(first: Ints, second: Ints) -> Ints:
    """The first text, or the second where that is empty."""
    return np.where(first > 0, first, second)


def _places(ranks: Iterable[Sequence[Rank]]) -> Ints:
    """The ranks of all tuples, in order, as integers that sort as they do."""
    flat = [rank for of_sample in ranks for rank in of_sample]
    place = {rank: i for i, rank in enumerate(sorted(set(flat)))}
    return np.array([place[rank] for rank in flat], dtype=np.int64)


def _score(counts: Counts, takes_part: Bools) -> Floats:
    return np.where(takes_part, counts.f1, np.nan)


def _correction(
    key: Key, before: Counts, after: Counts, has_gold: Bools, reviewable: Bools, changed: Bools
) -> dict[str, Any]:
    """Scores before and after review under a key, and what review did to the samples that it has seen."""
    f1_before, f1_after = _score(before, reviewable), _score(after, has_gold)
    happened = {
        name: reviewable & (before.exact == was) & (after.exact == became)
        for (was, became), name in OUTCOMES.items()
    }
    gain = f1_after - f1_before
    return {
        f"f1_s1_{key}": f1_before,
        f"f1_s2_{key}": f1_after,
        **{
            f"{name}_{key}": np.where(has_gold, count, 0) for name, count in after._asdict().items()
        },
        f"outcome_{key}": _texts(
            np.select(list(happened.values()), list(map(np.str_, happened)), np.array(None))
        ),
        **{f"{name}_{key}": there for name, there in happened.items()},
        f"improved_{key}": changed & (gain > 0),
        f"degraded_{key}": changed & (gain < 0),
    }
