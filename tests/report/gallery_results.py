"""Results folders for the gallery: real ones from the bundled examples, and cheap copies of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import evaltools
from evaltools.stats.intervals import Resampling
from evaltools.studies.study import study_seeds

from .synthetic import HOSTILE

QUICK = Resampling(n_resamples=200)

HOSTILE_NAMES = (
    "<script>window.hacked = 1<",
    '<img src=x onerror="window.hacked = 1">',
    "javascript:alert(1)",
    "{{ 7 * 7 }} $x^2$",
    "abc\u202egnp.exe",
    "..%2f..%2fetc",
    "a#b?c%20&amp;d 제품 전체#일반 风险提示",
    '" onmouseover="alert(1)',
)


def conflict_review(out: Path, conditions: Sequence[str] = ("no_memory", "with_memory")) -> None:
    """Three seeds of each condition and their aggregates; seed 3 of with_memory is not complete."""
    runs = [f"example:cr/{c}__seed{s}_proposed" for c in conditions for s in (1, 2, 3)]
    study_seeds(runs, out=out, resampling=QUICK)


def summaries(out: Path, cases: Sequence[dict[str, Any]], name: str = "cases") -> None:
    path = out / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(c) for c in cases) + "\n", encoding="utf-8")
    evaltools.evaluate("summary", path, out=out, resampling=QUICK)


def case(
    name: str, answer: str, tags: Sequence[str] = (), context: str = "보험금은 100만원이며 면책기간은 90일"
) -> dict[str, Any]:
    return {"id": name, "answer": answer, "contexts": [context], "metadata": {"summary_tags": list(tags)}}


GOOD = case("good", "보험금 100만원, 면책기간 90일", ["exclusion"])
FALSE = case("false-figure", "보험금 300만원, 면책기간 90일", ["exclusion"])
PROMISE = case("promise", "무조건 100만원을 지급합니다. 면책기간 90일", ["exclusion", "deductible"])
HOSTILE_CASES = [case(f"case {text[:60]}", f"100만원 {text}", [text[:40]], f"100만원 {text}") for text in HOSTILE]


def report(out: Path, name: str) -> None:
    folder = out / "reports" / name
    folder.mkdir(parents=True)
    (folder / "metric_report.html").write_text("<title>a report</title>", encoding="utf-8")
    (folder / "metric_report.ipynb").write_text("{}", encoding="utf-8")


def copies(out: Path, source: str, names: Sequence[str]) -> None:
    """The JSON and CSV files of a run under other names, started an hour after each other."""
    for i, name in enumerate(names):
        folder = out / "results" / name
        shutil.copytree(out / "results" / source, folder, ignore=shutil.ignore_patterns("scorecards.jsonl"))
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        manifest["started"] = f"2026-{1 + i // 672 % 12:02d}-{1 + i // 24 % 28:02d}T{i % 24:02d}:00:00+00:00"
        (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
