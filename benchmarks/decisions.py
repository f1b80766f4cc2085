"""How often the verdicts of a comparison are right: families of metrics, mid-p, equivalence, and the mde.

    python benchmarks/decisions.py --datasets 2000 --jobs 2 --reference ../shared/reference > decisions.md

Every number is a share of simulated data sets, each judged by the package's own functions.

family  Data sets of n samples drawn with replacement from real runs of Conflict Review, all seeds of a sample
        together: as they are (power), or with the sides of each sample swapped by a coin (no effect: error); and ten
        correlated metrics (.7) from scratch, without an effect, where seeds have effects of their own on a condition.
        "Holm" is Holm's method over all headline metrics, without mid-p. One seed: by p alone.
mid-p   The same events with sign flips counted whole and with mid-p.
margin  Equivalence within +-0.05 where the true difference is 0.05 (error) and 0 (power).
mde     The share of data sets in which a true difference of the mean mde is found; and the same of one of nine
        headline metrics that are judged together.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from coverage import BLOCK, KINDS, OWN, RESIDUAL, SAMPLE, event, f1_like, frame, table
from scipy.special import ndtri

import evaltools as et
from evaltools.core.metric import Metric, subset
from evaltools.core.metric_matrix import Compiled, column_values, compile_table
from evaltools.core.resampling import Resampling
from evaltools.stats import influence
from evaltools.stats.compare import compare
from evaltools.stats.differences import differences, evidence, judged_together
from evaltools.stats.intervals import MIN_UNITS
from evaltools.stats.sign_flips import sign_flip

LEVEL = 0.05
FAST = Resampling(n_resamples=1000)
PATTERNS = 2000
Sides = list[dict[str, pd.DataFrame]]
Shares = dict[str, np.ndarray]
"""What is counted -> whether it happened, of every data set of a block."""


@dataclass(frozen=True)
class Cells:
    """Sums of every cell on both sides, (sides, seeds, units, columns), and the metrics that are judged."""

    sums: np.ndarray
    compiled: Compiled
    primary: int
    others: list[int]


@cache
def shown(pair: influence.Paired, how: Resampling, family: Sequence[int]) -> np.ndarray:
    """(metrics,): whether a difference is shown, each metric alone, but those of a family together."""
    tested = evidence(pair, PATTERNS, how)
    enough = (pair.n_units >= MIN_UNITS) & ~np.isnan(tested.p_value)
    p = tested.p_value.copy()
    members = [metric for metric in family if enough[metric]]
    if members:
        # the intervals of the rows are not looked at
        quick = how.model_copy(update={"n_resamples": 100})
        rows = differences(tested, np.full(len(p), np.nan), quick).iloc[members]
        judged = judged_together(rows, tested.differences[:, members], PATTERNS, how)
        p[members] = judged["p_adjusted"]
    return enough & (p <= how.level)


def real(which: str, reference: str) -> Cells:
    """Real runs of two conditions, on the samples that all of their seeds have."""
    names = [
        f"example:cr/{c}__seed{s}_proposed" for c in ("no_memory", "with_memory") for s in (1, 2, 3)
    ]
    if which == "reference":
        names = [
            f"{reference}/cr/cr_n50_{m}__seed{s}_proposed"
            for m in ("m0", "m1")
            for s in (42, 123, 456)
        ]
    study = et.study(names, resampling=Resampling(n_resamples=100))
    compiled = compile_table(subset(study.metrics, study.headline))
    frames = [
        [r.data.set_index("text_id") for r in runs.values()] for runs in study.conditions.values()
    ]
    shared = sorted(set.intersection(*(set(f.index) for side in frames for f in side)))
    sums = [[column_values(f.loc[shared], compiled.columns) for f in side] for side in frames]
    places = [compiled.names.index(name) for name in study.headline]
    primary = compiled.names.index(study.primary)
    return Cells(np.array(sums), compiled, primary, [m for m in places if m != primary])


def drawn(cells: Cells, n: int, seeds: int, effect: bool, rng: np.random.Generator) -> np.ndarray:
    sums = cells.sums[:, :seeds, rng.integers(0, cells.sums.shape[2], n)]
    swap = (rng.random(n) < 0.5) & (not effect)
    return np.where(swap[:, None], sums[::-1], sums)


MADE = compile_table(
    [
        Metric(name=f"m{j}", numerator=f"a{j}", denominator="n", better="higher", proportion=j > 5)
        for j in range(10)
    ]
)
MAKERS = [f1_like] * 6 + [partial(event, p) for p in (0.05, 0.1, 0.3, 0.5)]


def made(n: int, seeds: int, variance: float, rng: np.random.Generator) -> np.ndarray:
    """Ten metrics of every cell without an effect; seeds have effects on a condition, of this variance."""

    def normal(v: float, *shape: int) -> np.ndarray:
        return np.sqrt(0.7 * v) * rng.normal(size=(*shape, 1)) + np.sqrt(0.3 * v) * rng.normal(
            size=(*shape, 10)
        )

    z = (
        normal(SAMPLE - OWN, n)
        + normal(OWN, 2, 1, n)
        + normal(variance, 2, seeds, 1)
        + normal(RESIDUAL, 2, seeds, n)
    )
    total = SAMPLE + RESIDUAL + variance
    values = {f"a{j}": make(z[..., j], total, z, rng)[0] for j, make in enumerate(MAKERS)}
    return np.stack([values.get(c, np.ones(z.shape[:-1])) for c in MADE.columns], axis=-1)


def family(
    which: str, reference: str, n: int, seeds: int, variance: float, effect: bool, block: int
) -> Shares:
    rng = np.random.default_rng([block, n, seeds, effect])
    cells = (
        real(which, reference)
        if which != "made"
        else Cells(np.zeros(0), MADE, 0, list(range(1, 10)))
    )
    plain = [
        replace(m, proportion=False) if isinstance(m, Metric) else m for m in cells.compiled.metrics
    ]
    lead = [cells.primary, *cells.others]
    rows = []
    for _ in range(BLOCK):
        sums = (
            made(n, seeds, variance, rng)
            if which == "made"
            else drawn(cells, n, seeds, effect, rng)
        )
        how = Resampling(seed=int(rng.integers(2**31)))

        def paired(compiled: Compiled, sums: np.ndarray = sums) -> influence.Paired:
            there = np.ones(sums.shape[1:3], dtype=bool)
            return influence.Paired(
                *(influence.Cells(compiled, side, there) for side in sums), by_seed=True
            )

        now = shown(paired(cells.compiled), how, cells.others)[lead]
        before = evidence(
            pair := paired(replace(cells.compiled, metrics=tuple(plain))), PATTERNS, how
        )
        tested = [m for m in lead if pair.n_units[m] >= 10 and not np.isnan(before.p_value[m])]
        by_holm = np.isin(lead, np.array(tested)[holm(before.p_value[tested]) <= LEVEL])
        rows.append(
            [by_holm[0], by_holm.any(), by_holm.sum(), now[0], now[1:].any(), now.any(), now.sum()]
        )
    return dict(zip(COUNTED, np.array(rows, dtype=float).T))


COUNTED = (
    "Holm: primary", "Holm: any", "Holm: metrics found", "now: primary", "now: any other", "now: any",
    "now: metrics found",
)  # fmt: skip


def holm(p: np.ndarray) -> np.ndarray:
    order = np.argsort(p)
    out = np.empty(len(p))
    out[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return out


def correlated(
    rng: np.random.Generator, n: int, seeds: int, variance: float = 0.0
) -> tuple[np.ndarray, float]:
    """(sides, seeds, n, BLOCK) latent scores of two conditions, and their variance, of which that of the seeds."""
    sample = rng.normal(0, np.sqrt(SAMPLE - OWN), (n, BLOCK)) + rng.normal(
        0, np.sqrt(OWN), (2, 1, n, BLOCK)
    )
    z = sample + rng.normal(0, np.sqrt(RESIDUAL), (2, seeds, n, BLOCK))
    z += rng.normal(0, np.sqrt(variance), (2, seeds, 1, BLOCK))
    return z, SAMPLE + RESIDUAL + variance


def midp(p: float, other: float, n: int, seeds: int, given: float, block: int) -> Shares:
    """Events of probability p and `other`, of which a share `given` of the units counts on each side."""
    rng = np.random.default_rng([block, n, seeds, int(1000 * p)])
    z, total = correlated(rng, n, seeds)
    hit = np.stack([z[s] > ndtri(1 - q) * np.sqrt(total) for s, q in enumerate((p, other))]).astype(
        float
    )
    den = (rng.random(hit.shape) < given).astype(float)
    hit *= den
    if given < 1:
        rate = hit.sum(axis=(0, 1, 2)) / np.maximum(den.sum(axis=(0, 1, 2)), 1)
        e = (hit - rate * den) / np.maximum(den.sum(axis=2, keepdims=True), 1)
        d = (e[1] - e[0]).mean(axis=0)
    else:
        d = (hit[1] - hit[0]).mean(axis=0) / n
    return {
        name: sign_flip(d, PATTERNS, block, np.full(BLOCK, mid)) <= LEVEL
        for name, mid in (("exact", False), ("mid-p", True))
    }


def cells(
    kind: str, n: int, seeds: int, shift: float, rng: np.random.Generator, variance: float = 0.0
) -> Sides:
    """BLOCK data sets in columns; the second side's metric is `shift` higher in truth."""
    z, total = correlated(rng, n, seeds, variance)
    gold = np.broadcast_to(1 + rng.poisson(1, (n, BLOCK)), z.shape)
    if kind.startswith("rate"):
        p = float(kind.split()[1])
        parts = [event(q, z[s], total, gold, rng) for s, q in enumerate((p, p + shift))]
        num, den = (np.stack([part[i] for part in parts]) for i in (0, 1))
    else:
        num, den = KINDS[kind].make(z, total, gold, rng)
        num = num.copy()
        num[1] += shift * den[1]
    return [{str(k): frame(num[s, k], den[s, k]) for k in range(seeds)} for s in (0, 1)]


def metrics_of(kind: str) -> list[Metric]:
    """A metric for each data set; without limits where a shift leads beyond them."""
    known = KINDS[kind]
    return table(known if known.proportion else replace(known, limits=(-np.inf, np.inf)))


def margin(kind: str, n: int, seeds: int, shift: float, block: int) -> Shares:
    rng = np.random.default_rng([block, n, seeds, int(1000 * shift)])
    a, b = cells(kind, n, seeds, shift, rng)
    within = {f"m{j}": 0.05 for j in range(BLOCK)}
    how = replace(FAST, seed=block)
    t = compare(a, b, metrics_of(kind), "unit", how, margin=within, n_permutations=PATTERNS).table
    inside = (t["equivalence_low"] > -0.05) & (t["equivalence_high"] < 0.05)
    return {"equivalent": inside.to_numpy(), "no interval": t["equivalence_low"].isna().to_numpy()}


def found(kind: str, n: int, seeds: int, variance: float, shift: float, block: int) -> Shares:
    rng = np.random.default_rng([block, n, seeds, 7])
    a, b = cells(kind, n, seeds, shift, rng, variance)
    how = replace(FAST, seed=block)
    t = compare(a, b, metrics_of(kind), "unit", how, n_permutations=PATTERNS).table
    return {"found": (t["verdict"] == "better").to_numpy(), "mde": t["mde"].to_numpy()}


def found_together(n: int, seeds: int, variance: float, shift: float, block: int) -> Shares:
    """As `found`, of the metric m1 in the family of `made`, in which no other metric differs."""
    rng = np.random.default_rng([block, n, seeds, 11])
    rows = []
    for _ in range(BLOCK):
        sums = made(n, seeds, variance, rng)
        sums[1, :, :, MADE.columns.index("a1")] += shift
        a, b = (
            {
                k: pd.DataFrame(cells, columns=list(MADE.columns)).assign(unit=range(n))
                for k, cells in enumerate(side)
            }
            for side in sums
        )
        how = Resampling(n_resamples=100, seed=int(rng.integers(2**31)))
        t = compare(
            a, b, MADE.metrics, "unit", how, MADE.names, n_permutations=PATTERNS
        ).table.iloc[1]
        rows.append((t["verdict"] == "better", t["mde"]))
    return dict(zip(("found", "mde"), np.array(rows, dtype=float).T))


def run(
    pool: ProcessPoolExecutor, jobs: Sequence[Callable[[int], Shares]], datasets: int
) -> Iterator[Shares]:
    """What every job counts, over all of its blocks."""
    blocks = range(-(-datasets // BLOCK))
    futures = [[pool.submit(job, block) for block in blocks] for job in jobs]
    for of_job in futures:
        parts = [f.result() for f in of_job]
        yield {
            name: np.concatenate([part[name] for part in parts]).astype(float) for name in parts[0]
        }


def share(x: np.ndarray) -> str:
    p = float(np.nanmean(x))
    return f"{100 * p:.1f} ±{100 * np.sqrt(p * (1 - p) / len(x)):.1f}"


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for row in rows:
        print("|", " | ".join(map(str, row)), "|", flush=True)


def families(pool: ProcessPoolExecutor, datasets: int, reference: str) -> None:
    sources = ["bundled", *(["reference"] if (Path(reference) / "cr").is_dir() else [])]
    settings = [
        (w, n, k, 0.0, e) for w in sources for n in (40, 100) for k in (1, 3) for e in (False, True)
    ]
    settings += [
        ("made", 50, k, v, False) for k in (1, 3, 5) for v in (0.0, 0.02) if k > 1 or not v
    ]
    results = list(
        run(
            pool,
            [partial(family, w, reference, n, k, v, e) for w, n, k, v, e in settings],
            datasets,
        )
    )
    for effect, title in (
        (False, "No effect: found (%)"),
        (True, "An effect as in the runs: found (%)"),
    ):
        shown = [c for c in COUNTED if effect or "metrics" not in c]
        rows = [
            [
                w,
                n,
                k,
                f"{v:g}",
                *(f"{r[c].mean():.2f}" if "metrics" in c else share(r[c]) for c in shown),
            ]
            for (w, n, k, v, e), r in zip(settings, results)
            if e == effect
        ]
        print_table(title, ["data", "n", "seeds", "seed-by-condition variance", *shown], rows)


def midps(pool: ProcessPoolExecutor, datasets: int) -> None:
    settings = [
        (p, q, n, k, g)
        for p, q in ((0.05, 0.05), (0.2, 0.2), (0.5, 0.5), (0.05, 0.2), (0.5, 0.7))
        for n in (20, 50, 200)
        for k, g in ((1, 1.0), (3, 1.0), (1, 0.5))
    ]
    results = run(pool, [partial(midp, *s) for s in settings], datasets)
    rows = [[*s, share(r["exact"]), share(r["mid-p"])] for s, r in zip(settings, results)]
    head = ["rate", "of the candidate", "n", "seeds", "share in a denominator", "whole", "mid-p"]
    print_table("Sign flips of proportions: p <= .05 (%)", head, rows)


def margins(pool: ProcessPoolExecutor, datasets: int) -> None:
    kinds = ("mean", "micro", "rate .05", "rate .5")
    settings = [(kind, n, k) for kind in kinds for k in (1, 3, 5) for n in (50, 200)]
    settings += [("rate .05", 600, 1), ("rate .5", 600, 1), ("mean", 600, 1)]
    results = list(
        run(pool, [partial(margin, *s, x) for s in settings for x in (0.05, 0.0)], datasets)
    )
    rows = [
        [
            *s,
            share(wrong["equivalent"]),
            share(right["equivalent"]),
            f"{100 * right['no interval'].mean():.1f}",
        ]
        for s, wrong, right in zip(settings, results[::2], results[1::2])
    ]
    head = [
        "data",
        "n",
        "seeds",
        "true difference .05: equivalent",
        "none: equivalent",
        "none: without interval",
    ]
    print_table("Equivalence within ±.05 (%)", head, rows)


def mdes(pool: ProcessPoolExecutor, datasets: int) -> None:
    kinds = (("mean", 0.0), ("mean", 0.02), ("mean", 0.1), ("rate .05", 0.0), ("rate .5", 0.0))
    alone = [
        (kind, n, k, v)
        for kind, v in kinds
        for k in (1, 3, 5)
        for n in (20, 50, 200)
        if k > 1 or not v
    ]
    family = [(n, k, v) for k, v in ((1, 0.0), (3, 0.0), (3, 0.02), (5, 0.02)) for n in (50, 200)]
    jobs = [partial(found, *s) for s in alone] + [partial(found_together, *s) for s in family]
    null = list(run(pool, [partial(job, 0.0) for job in jobs], max(datasets // 4, BLOCK)))
    aims = [float(np.nanmean(r["mde"])) for r in null]
    results = run(pool, [partial(job, x) for job, x in zip(jobs, aims)], datasets)
    rows = [
        [*s, f"{x:.3f}", share(r["found"])]
        for s, x, r in zip([*alone, *(("mean, of nine", *s) for s in family)], aims, results)
    ]
    print_table(
        "At a true difference of the mean mde: found (%)",
        ["data", "n", "seeds", "seed variance", "mean mde", "found"],
        rows,
    )


PARTS: Mapping[str, Callable[..., None]] = {
    "family": families,
    "mid-p": midps,
    "margin": margins,
    "mde": mdes,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=2000, help="simulated data sets a setting")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--reference", default="../shared/reference", help="folder with real runs, if there is one"
    )
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run, comma separated")
    args = parser.parse_args()
    print(
        f"{args.datasets} data sets a setting, {PATTERNS} sign patterns; ± is the binomial standard error."
    )
    with ProcessPoolExecutor(args.jobs) as pool:
        for name in args.only.split(","):
            more = [args.reference] if name == "family" else []
            PARTS[name](pool, args.datasets, *more)


if __name__ == "__main__":
    main()
