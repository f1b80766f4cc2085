"""How often the corrected mean of `evaltools calibrate` is right, on simulated judges whose truth is known.

    python benchmarks/calibration.py --datasets 2000 > calibration.md
    python benchmarks/calibration.py --datasets 200 --only differences

A case is good with probability .8 or .95. The judge's score is the label itself, turned round with a probability that
is other for good and for bad cases: a good judge 3 and 5%, a fair one 10 and 25%, a poor one 30 and 60% (so that its
mean is wrong, too). "shares": labels and scores lie between 0 and 1 (a share of right figures, and a noisy one).
Labels are drawn at random.
Differences: two systems whose cases are good with probability .8 and .8 or .9, half of them because of the case, scored
by one judge, and labelled in the same cases; compared by what each case brings into the corrected mean.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

from evaltools.core.metric import Metric
from evaltools.core.resampling import Resampling
from evaltools.stats.calibration import corrected_mean
from evaltools.stats.compare import compare
from evaltools.stats.score_intervals import wilson

JUDGES = {"good": (0.03, 0.05), "fair": (0.10, 0.25), "poor": (0.30, 0.60)}
NOISE = {"good": 0.05, "fair": 0.15, "poor": 0.4}
LABELLED = (30, 50, 100, 200)
CASES = (300, 1000, 2000)


def simulate(
    rng: np.random.Generator, kind: str, judge: str, n: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """(labels of all cases, scores, the true mean)."""
    if kind == "shares":
        label = np.where(rng.random(n) < 0.5, 1.0, rng.beta(4, 2, n))
        return label, np.clip(label - 0.1 + rng.normal(0, NOISE[judge], n), 0, 1), 0.5 + 0.5 * 4 / 6
    rate = float(kind.removeprefix("rate "))
    label = (rng.random(n) < rate).astype(float)
    wrong = rng.random(n) < np.where(label == 1, *JUDGES[judge])
    return label, np.where(wrong, 1 - label, label), rate


def cell(kind: str, judge: str, n: int, cases: int, datasets: int) -> list[str]:
    rng = np.random.default_rng([n, cases, *map(ord, f"{kind}{judge}random")])
    missed = {name: np.zeros(2, dtype=int) for name in ("corrected", "labels", "judge")}
    width = dict.fromkeys(missed, 0.0)
    for _ in range(datasets):
        label, score, truth = simulate(rng, kind, judge, cases)
        given = rng.permutation(cases) < n
        known = np.where(given, label, np.nan)
        found = corrected_mean(score, known)
        alone = corrected_mean(score, known, weight=0.0)
        bounds = {
            "corrected": (found.low, found.high),
            "labels": (alone.low, alone.high),
            "judge": wilson(score.sum(), cases, 0.95),
        }
        for name, (low, high) in bounds.items():
            missed[name] += [truth < low, truth > high]
            width[name] += high - low
    shown = [f"{100 - 100 * m.sum() / datasets:.1f}" for m in missed.values()]
    below, above = 100 * missed["corrected"] / datasets
    worth = (width["labels"] / width["corrected"]) ** 2
    head = [kind, judge, str(n), str(cases), shown[0], f"{below:.1f} / {above:.1f}"]
    return [*head, *shown[1:], f"{width['corrected'] / datasets:.3f}", f"{worth:.2f}"]


METRIC = Metric(name="m", numerator="y", denominator="n", better="higher")


def two_systems(
    rng: np.random.Generator, judge: str, n: int, gap: float
) -> list[tuple[np.ndarray, np.ndarray]]:
    """(labels, scores) of all cases under each of two systems."""
    of_case = rng.random(n)
    systems = []
    for rate in (0.8, 0.8 + gap):
        ease = np.where(rng.random(n) < 0.5, of_case, rng.random(n))
        label = (ease < rate).astype(float)
        wrong = rng.random(n) < np.where(label == 1, *JUDGES[judge])
        systems.append((label, np.where(wrong, 1 - label, label)))
    return systems


def brought(score: np.ndarray, label: np.ndarray, is_labelled: np.ndarray) -> pd.DataFrame:
    """What each case brings into the corrected mean, as a units frame."""
    known = np.where(is_labelled, label, np.nan)
    y = corrected_mean(score, known).contributions
    return pd.DataFrame({"id": np.arange(len(score)), "y": y, "n": 1})


def difference_cell(judge: str, n: int, cases: int, gap: float, datasets: int) -> list[str]:
    missed = np.zeros(2, dtype=int)
    width, found = 0.0, 0
    for key in range(datasets):
        rng = np.random.default_rng([key, n, cases, *map(ord, judge)])
        a, b = two_systems(rng, judge, cases, gap)
        is_labelled = rng.permutation(cases) < n
        frames = [brought(score, label, is_labelled) for label, score in (a, b)]
        table = compare(
            {"": frames[0]},
            {"": frames[1]},
            [METRIC],
            "id",
            Resampling(n_resamples=500),
            ["m"],
            n_permutations=1000,
        ).table
        row = table.iloc[0]
        missed += [gap < row["ci_low"], gap > row["ci_high"]]
        width += row["ci_high"] - row["ci_low"]
        found += row["verdict"] in ("better", "worse")
    below, above = 100 * missed / datasets
    return [
        judge, str(n), str(cases), f"{gap:g}", f"{100 - below - above:.1f}", f"{below:.1f} / {above:.1f}",
        f"{width / datasets:.3f}", f"{100 * found / datasets:.1f}",
    ]  # fmt: skip


def differences(datasets: int) -> None:
    head = "judge | labelled | cases | true difference | covered | truth below / above | width"
    print(f"| {head} | better or worse, % |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for judge in JUDGES:
        for n, cases in ((30, 300), (60, 300), (100, 1000)):
            for gap in (0.0, 0.1):
                line = difference_cell(judge, n, cases, gap, datasets)
                print(f"| {' | '.join(line)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", type=int, default=2000)
    parser.add_argument("--only", choices=["differences"])
    args = parser.parse_args()
    datasets = args.datasets
    if args.only == "differences":
        differences(datasets)
        return
    head = [
        "labels", "judge", "labelled", "cases", "corrected", "truth below / above", "labels alone",
        "judge alone", "width", "worth",
    ]  # fmt: skip
    print(f"| {' | '.join(head)} |\n| --- | --- | {' | '.join(['---:'] * (len(head) - 2))} |")
    plan = [(n, 1000) for n in LABELLED] + [(100, cases) for cases in CASES if cases != 1000]
    for kind in ("rate 0.8", "rate 0.95", "shares"):
        for judge in JUDGES:
            for n, cases in plan:
                print(f"| {' | '.join(cell(kind, judge, n, cases, datasets))} |", flush=True)


if __name__ == "__main__":
    main()
