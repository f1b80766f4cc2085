"""The summary rules against the reference cases: the earlier tool, the rule set `seed`, the rule set `ko-insurance`.

    python benchmarks/summary_rules.py [cases.jsonl]

A line of the file is one case and metric with the score that the earlier tool gave, a judgement of it, and the
score that is expected (a number or a range). Kept: a right score that a rule set gives too. Mended: a wrong
one that it brings into the expected range. Cases without an expected score are counted, not judged.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd

from evaltools.core.files import example
from evaltools.summary.rules import METRICS, load_rules
from evaltools.summary.schema import Case
from evaltools.summary.score import score_case

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "reference" / "summary" / "cases.jsonl"
NAMES = {"entity_preservation": "entity_recall"}
EARLIER = "earlier tool"
SPEED_CASES = 20_000


def within(score: float, expected: Any) -> bool:
    low, high = expected if isinstance(expected, list) else (expected, expected)
    return bool(low - 1e-9 <= score <= high + 1e-9)


def judged(path: Path) -> pd.DataFrame:
    """One row a line with an expected score and a rule set: metric, judgement, rules, ok, id, score, expected."""
    rows = []
    sets = {name: load_rules(name) for name in ("seed", "ko-insurance")}
    for line in path.read_text(encoding="utf-8-sig").splitlines():
        record = json.loads(line)
        if record["expected"] is None or record["judgement"] == "debatable":
            continue
        case, metric = Case.model_validate(record), NAMES.get(record["metric"], record["metric"])
        scores = {EARLIER: record["reference_score"]}
        for name, rules in sets.items():
            scores[name] = score_case(case.answer, case.texts, case.tags, rules).scores[metric].score
        for name, score in scores.items():
            ok = within(score, record["expected"])
            rows.append((metric, record["judgement"], name, ok, case.id, score, record["expected"]))
    return pd.DataFrame(rows, columns=["metric", "judgement", "rules", "ok", "id", "score", "expected"])


def table(found: pd.DataFrame, judgement: str) -> str:
    part = found[found["judgement"] == judgement]
    lines = []
    for metric in [*METRICS, "all"]:
        rows = part if metric == "all" else part[part["metric"] == metric]
        cells = []
        for name in (EARLIER, "seed", "ko-insurance"):
            ok = rows.loc[rows["rules"] == name, "ok"]
            cells.append(f"{ok.sum():4d}/{len(ok):<3d} {100 * ok.mean():5.0f}%" if len(ok) else " " * 14)
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
            score_case(c.answer, [f"{t} ({i})" for t in c.texts], c.tags, rules)
        seconds = time.process_time() - start
        out.append(f"  {n:,} cases: {seconds:.1f} s of one processor, {1e6 * seconds / n:.0f} microseconds a case")
    return "\n".join(out)


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    found = judged(path)
    print(f"right scores kept\n{table(found, 'right')}\n\nwrong scores mended\n{table(found, 'wrong')}\n")
    print("not kept or not mended by ko-insurance")
    left = found[(found["rules"] == "ko-insurance") & ~found["ok"]]
    for r in left.itertuples():
        print(f"  {r.judgement:<6} {r.metric:<24} {r.id}: {r.score:.3g}, expected {r.expected}")
    print(f"\nspeed\n{speed()}")


if __name__ == "__main__":
    main()
