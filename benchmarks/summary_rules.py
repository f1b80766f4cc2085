"""The summary rules against the reference cases: the earlier tool, the rule set `seed`, the rule set `ko-insurance`.

    python benchmarks/summary_rules.py [FILE.jsonl...]

A line of a file is one case and metric with the score that is expected (a number or a range), and where an earlier
tool scored it, its score and a judgement of it: a right score is to be kept, a wrong one brought into the range.
Cases without a judgement are halved by a hash of their id: rules are written with the failures of "dev" in view,
never with those of "held out". Debatable cases, and those without an expected score, are left out.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd

from evaltools.core.files import example
from evaltools.suites.summary.rules import METRICS, load_rules
from evaltools.suites.summary.schema import Case
from evaltools.suites.summary.scoring import score_case

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "reference" / "summary"
DEFAULT = (FOLDER / "cases.jsonl", FOLDER / "fresh.jsonl")
NAMES = {"entity_preservation": "entity_recall"}
EARLIER = "earlier tool"
TOLERANCE = 1e-3
"""Expected scores are written with three decimals."""
SPEED_CASES = 20_000


def within(score: float, expected: Any) -> bool:
    low, high = expected if isinstance(expected, list) else (expected, expected)
    return bool(low - TOLERANCE <= score <= high + TOLERANCE)


def half(name: str) -> str:
    return "dev" if int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 else "held out"


def judged(path: Path) -> pd.DataFrame:
    """One row a line with an expected score and a rule set: metric, judgement, rules, ok, id, score, expected."""
    rows = []
    sets = {name: load_rules(name) for name in ("seed", "ko-insurance")}
    for line in path.read_text(encoding="utf-8-sig").splitlines():
        record = json.loads(line)
        expected = (
            record["expected"]
            if "expected" in record
            else [record["want_low"], record["want_high"]]
        )
        judgement = record.get("judgement") or half(record["id"])
        if expected is None or "debatable" in (judgement, record.get("kind")):
            continue
        case, metric = Case.model_validate(record), NAMES.get(record["metric"], record["metric"])
        scores = {EARLIER: record["reference_score"]} if "reference_score" in record else {}
        for name, rules in sets.items():
            scores[name] = (
                score_case(case.answer, case.contexts, case.tags, rules).scores[metric].score
            )
        for name, score in scores.items():
            rows.append(
                (metric, judgement, name, within(score, expected), case.id, score, expected)
            )
    return pd.DataFrame(
        rows, columns=["metric", "judgement", "rules", "ok", "id", "score", "expected"]
    )


def table(found: pd.DataFrame, judgement: str) -> str:
    part = found[found["judgement"] == judgement]
    lines = []
    for metric in [*METRICS, "all"]:
        rows = part if metric == "all" else part[part["metric"] == metric]
        cells = []
        for name in (EARLIER, "seed", "ko-insurance"):
            ok = rows.loc[rows["rules"] == name, "ok"]
            cells.append(
                f"{ok.sum():4d}/{len(ok):<3d} {100 * ok.mean():5.0f}%" if len(ok) else " " * 14
            )
        lines.append(f"  {metric:<24}" + "   ".join(cells))
    return "\n".join([" " * 26 + f"{EARLIER:<17}{'seed':<17}ko-insurance", *lines])


def speed() -> str:
    lines = example("summary/cases.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [Case.model_validate_json(line) for line in lines]
    rules = load_rules("ko-insurance")
    out = []
    for n in (SPEED_CASES // 4, SPEED_CASES):
        start = time.process_time()
        for i in range(n):
            c = cases[i % len(cases)]
            # every context is its own text, so that nothing is read twice from memory
            score_case(c.answer, [f"{t} ({i})" for t in c.contexts], c.tags, rules)
        seconds = time.process_time() - start
        out.append(
            f"  {n:,} cases: {seconds:.1f} s of one processor, {1e6 * seconds / n:.0f} microseconds a case"
        )
    return "\n".join(out)


def main() -> None:
    found = pd.concat([judged(Path(path)) for path in sys.argv[1:] or DEFAULT])
    for judgement in found["judgement"].unique():
        print(f"in range, {judgement}\n{table(found, judgement)}\n")
    print("not in range by ko-insurance, but for the half held out")
    left = found[
        (found["rules"] == "ko-insurance") & ~found["ok"] & (found["judgement"] != "held out")
    ]
    for r in left.itertuples():
        print(f"  {r.judgement:<6} {r.metric:<24} {r.id}: {r.score:.3g}, expected {r.expected}")
    print(f"\nspeed\n{speed()}")


if __name__ == "__main__":
    main()
