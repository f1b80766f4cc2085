"""False alarms and hits of the summary rules: right summaries of one source, and the same with one thing wrong.

    python benchmarks/summary_pairs.py [--show]

The cases stand in tests/data/summary_pairs.jsonl. The failures of the first 96 sources were before us
while the rules were mended. The 44 with h, the 20 with k and the 30 with n were written afterwards, each
before the scores of its sources were known, and rules were mended after each: the rates at first sight
stand in benchmarks/README.md. Those with h and k have no wrong summaries of their own (summary_mutants.py
changes one item of the right ones), those with n have one each that leaves the risk out. Those with m and
later are of thirteen authors who had read no rules.
A right summary is a false alarm where any of its four metrics is `fail` or `look`; a wrong one is a
hit where the metric that must notice it is.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from evaltools.suites.summary.rules import Rules, load_rules
from evaltools.suites.summary.scoring import score_case
from evaltools.suites.summary.states import JUDGED, metric_state

FILE = Path(__file__).resolve().parents[1] / "tests" / "data" / "summary_pairs.jsonl"
SETS = {
    "f": "first",
    "g": "first",
    "h": "second",
    "k": "third",
    "n": "fourth",
    "m": "fifth",
    "p": "sixth",
    "q": "seventh",
    "r": "eighth",
    "s": "ninth",
    "u": "tenth",
    "v": "eleventh",
    "w": "twelfth",
    "x": "thirteenth",
    "y": "fourteenth",
    "t": "fifteenth",
    "z": "sixteenth",
    "c": "seventeenth",
}
"""The first letter of an id -> when its source was written."""


def states(case: dict[str, Any], answer: str, rules: Rules) -> dict[str, tuple[str, Any]]:
    """The state of each metric of a summary of the case, and its evidence."""
    scores = score_case(answer, case["contexts"], case["summary_tags"], rules).scores
    by_metric = {}
    for metric in JUDGED:
        score = scores[metric]
        passed = score.score >= rules.thresholds[metric] - 1e-12
        state = metric_state(metric, score.evidence, measured=score.measured, passed=passed)
        by_metric[metric] = (state, score.evidence)
    return by_metric


def results(cases: list[dict[str, Any]], rules: Rules) -> pd.DataFrame:
    """A row a summary and metric that is of interest: id, half, is_right, metric, state, answer, evidence."""
    rows = []
    for case in cases:
        for metric, (state, evidence) in states(case, case["right"], rules).items():
            rows.append((case["id"], True, metric, state, case["right"], evidence))
        for wrong in case["wrong"]:
            metric = wrong["metric"]
            state, evidence = states(case, wrong["answer"], rules)[metric]
            rows.append((case["id"], False, metric, state, wrong["answer"], evidence))
    columns = ["id", "is_right", "metric", "state", "answer", "evidence"]
    frame = pd.DataFrame(rows, columns=columns)
    frame["set"] = frame["id"].str[0].map(SETS)
    frame["noticed"] = frame["state"] != "ok"
    return frame


def table(rows: pd.DataFrame) -> str:
    """False alarms among right summaries and hits among wrong ones, by metric."""
    lines = ["| metric | false alarms | hits |", "|---|---|---|"]
    for metric in (*JUDGED, "any"):
        part = rows if metric == "any" else rows[rows["metric"] == metric]
        right = part[part["is_right"]].groupby("id")["noticed"].any()
        wrong = part.loc[~part["is_right"], "noticed"]
        lines.append(f"| {metric} | {share(right)} | {share(wrong)} |")
    return "\n".join(lines)


def share(flags: pd.Series) -> str:
    if flags.empty:
        return ""
    return f"{flags.sum()} of {len(flags)} ({flags.mean():.0%})"


def show(rows: pd.DataFrame, contexts: dict[str, str]) -> None:
    failures = rows[rows["noticed"] == rows["is_right"]]
    for row in failures.itertuples():
        kind = "false alarm" if row.is_right else "missed"
        print(f"--- {row.id} {kind}: {row.metric} {row.state}\n{contexts[row.id]}")
        print(f">> {row.answer}\n{row.evidence if row.is_right else ''}")


def main() -> None:
    cases = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    rows = results(cases, load_rules("ko-insurance"))
    if "--show" in sys.argv[1:]:
        show(rows, {case["id"]: "\n".join(case["contexts"]) for case in cases})
    for name in dict.fromkeys(SETS.values()):
        print(f"{name}\n{table(rows[rows['set'] == name])}\n")


if __name__ == "__main__":
    main()
