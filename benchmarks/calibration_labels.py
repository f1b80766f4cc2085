"""How often the corrected mean's interval covers, with real labels: what people expect of the reference cases.

    python benchmarks/calibration_labels.py

The population are the cases of one metric with an expected score (of a range its middle), the judge a rule set. In
each of DRAWS data sets, CASES cases are drawn with replacement, and the first 30, 60 or 100 of them keep their label.
Printed in percent: how often the interval of 95% covers the population's mean label, for the corrected mean, and for
the labels alone; then the width of the two.
"""

from __future__ import annotations

import json

import numpy as np
from summary_rules import DEFAULT, NAMES

from evaltools.stats.calibration import corrected_mean
from evaltools.suites.summary.rules import METRICS, load_rules
from evaltools.suites.summary.schema import Case
from evaltools.suites.summary.scoring import score_case

DRAWS, CASES, SEED = 2_000, 400, 20260101
LABELS = (30, 60, 100)
LEAST = 40
"""Cases that a population must have."""


def populations(rules_name: str) -> dict[str, np.ndarray]:
    """metric -> (cases, 2): score of the rules, and expected score."""
    rules, found = load_rules(rules_name), dict[str, list[tuple[float, float]]]()
    for path in DEFAULT:
        for record in map(json.loads, path.read_text(encoding="utf-8-sig").splitlines()):
            wanted = (
                record["expected"]
                if "expected" in record
                else [record["want_low"], record["want_high"]]
            )
            if wanted is not None:
                case, metric = (
                    Case.model_validate(record),
                    NAMES.get(record["metric"], record["metric"]),
                )
                score = (
                    score_case(case.answer, case.contexts, case.tags, rules).scores[metric].score
                )
                found.setdefault(metric, []).append((score, float(np.mean(wanted))))
    return {m: np.array(found[m]) for m in METRICS if len(found.get(m, ())) >= LEAST}


def main() -> None:
    print(
        f"{'judge':<14}{'metric':<24}{'r':>6}{'labels':>8}{'corrected':>11}{'alone':>8}{'width':>8}{'alone':>8}"
    )
    for name in ("ko-insurance", "seed"):
        for metric, pairs in populations(name).items():
            mean, r = pairs[:, 1].mean(), np.corrcoef(pairs.T)[0, 1]
            for n in LABELS:
                rng = np.random.default_rng([SEED, n])
                bounds = np.empty((DRAWS, 2, 2))
                for i in range(DRAWS):
                    score, label = pairs[rng.integers(len(pairs), size=CASES)].T
                    label = np.where(np.arange(CASES) < n, label, np.nan)
                    made = (corrected_mean(score, label), corrected_mean(score, label, weight=0.0))
                    bounds[i] = [(m.low, m.high) for m in made]
                covered = 100 * ((bounds[..., 0] <= mean) & (mean <= bounds[..., 1])).mean(axis=0)
                width = np.diff(bounds).mean(axis=0).ravel()
                print(
                    f"{name:<14}{metric:<24}{r:>6.2f}{n:>8}{covered[0]:>11.1f}{covered[1]:>8.1f}{width[0]:>8.3f}{width[1]:>8.3f}"
                )


if __name__ == "__main__":
    main()
