"""How often the corrected mean of `evaltools calibrate` is right, on simulated judges whose truth is known.

    python benchmarks/calibration.py --datasets 2000 > calibration.md

A case is good with probability .8 or .95. The judge's score is the label itself, turned round with a probability that
is other for good and for bad cases: a good judge 3 and 5%, a fair one 10 and 25%, a poor one 30 and 60% (so that its
mean is wrong, too). "shares": labels and scores lie between 0 and 1 (a share of right figures, and a noisy one).
Labels are drawn at random, or 60% of them from the cases with the lower scores, and estimated by stratum.
"""

from __future__ import annotations

import argparse

import numpy as np

from evaltools.stats.corrected import corrected_mean
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


def drawn(
    rng: np.random.Generator, score: np.ndarray, n: int, by: str
) -> tuple[np.ndarray, np.ndarray]:
    """(whether each case is labelled, its stratum)."""
    at = np.zeros(len(score), dtype=int)
    if by == "random":
        given = rng.permutation(len(score)) < n
        return given, at
    at = (score >= 0.5).astype(int)
    low = np.flatnonzero(at == 0)
    first = rng.permutation(low)[: int(0.6 * n)]
    rest = rng.permutation(np.flatnonzero(at == 1))[: n - len(first)]
    return np.isin(np.arange(len(score)), [*first, *rest]), at


def cell(kind: str, judge: str, by: str, n: int, cases: int, datasets: int) -> list[str]:
    rng = np.random.default_rng([n, cases, *map(ord, kind + judge + by)])
    missed = {name: np.zeros(2, dtype=int) for name in ("corrected", "labels", "judge")}
    width = dict.fromkeys(missed, 0.0)
    for _ in range(datasets):
        label, score, truth = simulate(rng, kind, judge, cases)
        given, at = drawn(rng, score, n, by)
        found = corrected_mean(score, np.where(given, label, np.nan), at)
        alone = corrected_mean(score, np.where(given, label, np.nan), at, weight=0.0)
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
    head = [kind, judge, by, str(n), str(cases), shown[0], f"{below:.1f} / {above:.1f}"]
    return [*head, *shown[1:], f"{width['corrected'] / datasets:.3f}", f"{worth:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", type=int, default=2000)
    datasets = parser.parse_args().datasets
    head = [
        "labels", "judge", "drawn", "labelled", "cases", "corrected", "truth below / above", "labels alone",
        "judge alone", "width", "worth",
    ]  # fmt: skip
    print(f"| {' | '.join(head)} |\n| --- | --- | --- | {' | '.join(['---:'] * (len(head) - 3))} |")
    plan = [(n, 1000) for n in LABELLED] + [(100, cases) for cases in CASES if cases != 1000]
    for kind in ("rate 0.8", "rate 0.95", "shares"):
        for judge in JUDGES:
            for n, cases in plan:
                print(
                    f"| {' | '.join(cell(kind, judge, 'random', n, cases, datasets))} |", flush=True
                )
            print(
                f"| {' | '.join(cell(kind, judge, 'by score', 100, 1000, datasets))} |", flush=True
            )


if __name__ == "__main__":
    main()
