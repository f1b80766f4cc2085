"""Results folders for the gallery, as `evaluate` and `study_seeds` write them, without anything being scored."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaltools.core.files import file_hashes, write_json
from evaltools.core.manifest import Manifest

from .synthetic import HOSTILE

HOSTILE_NAMES = (
    "<script>window.hacked = 1<",
    '<img src=x onerror="window.hacked = 1">',
    "javascript:alert(1)",
    "{{ 7 * 7 }} $x^2$",
    "abc\u202egnp.exe",
    "a..%2f..%2fetc",
    "a#b?c%20&amp;d 제품 전체#일반 风险提示",
    '" onmouseover="alert(1)',
)

# names under which every JavaScript object has something
JS_NAMES = ("constructor", "__proto__", "toString")

# name -> title, direction
REVIEW = {
    "tuple_f1_s1_refpol": ("Tuple F1 before review (ref-pol)", "higher"),
    "tuple_f1_s2_refpol": ("Tuple F1 after review (ref-pol)", "higher"),
    "delta_f1_refpol": ("ΔF1 (ref-pol)", "higher"),
    "fix_rate_refpol": ("Fix rate (ref-pol)", "higher"),
    "break_rate_refpol": ("Break rate (ref-pol)", "lower"),
    "polarity_conflict_rate": ("Polarity conflict rate", "lower"),
    "residual_risk_rate": ("Residual risk rate", "lower"),
    "change_rate": ("Change rate", "none"),
}
SUMMARY = {
    "summary_accuracy": ("Summary accuracy (entity precision)", "higher"),
    "summary_risk_coverage": ("Risk coverage", "higher"),
    "entity_recall": ("Entity recall", "higher"),
}


def rows(metrics: dict[str, tuple[str, str]], base: float, n: int) -> list[dict[str, Any]]:
    """Rows of metrics.json: values fall from `base` on, the last metric is measured on half of the units."""
    return [
        {
            "name": name, "title": title, "value": base - i / 20, "ci_low": base - i / 20 - 0.1,
            "ci_high": base - i / 20 + 0.0712345, "ci_method": "bca", "numerator": None, "denominator": None,
            "n_units": n // 2 if i == len(metrics) - 1 else n, "group": "", "better": better,
        }
        for i, (name, (title, better)) in enumerate(metrics.items())
    ]  # fmt: skip


def result(
    out: Path,
    name: str,
    estimates: list[dict[str, Any]],
    unit: str,
    n: int,
    checks: Sequence[dict[str, Any]] = (),
    **manifest: Any,
) -> Path:
    """A results folder whose manifest vouches for it, every metric in the headline unless `manifest` has one."""
    given = {
        "schema_version": 1, "run": name, "inputs": [], "options": {}, "policy": {}, "versions": {},
        "started": "2026-03-01T10:00:00+00:00", "headline": [r["name"] for r in estimates],
        "resampling": {"method": "bca", "n_resamples": 200, "confidence": 0.95, "seed": 0},
        "unit": unit, "n_units": n,
    }  # fmt: skip
    folder = out / "results" / name
    folder.mkdir(parents=True)
    found = {"schema_version": 1, "checks": checks, "metrics": estimates}
    write_json(folder / "metrics.json", found)
    (folder / "units.parquet").write_bytes(b"units")
    Manifest(**given | manifest).write(folder)
    vouch(folder)
    return folder


def vouch(folder: Path) -> None:
    """Let the manifest of a folder vouch for the files that stand in it."""
    content = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    write_json(folder / "manifest.json", {**content, "files": file_hashes(folder)})


def check(code: str, level: str, message: str, *blocks: str, help: str = "") -> dict[str, Any]:
    return {
        "code": code,
        "level": level,
        "message": message,
        "n": 3,
        "of": 40,
        "blocks": blocks,
        "help": help,
    }


FEW = check("few-units", "warning", "only 24 units (case_id)")
CONSTANT = check("constant-metric", "info", "the same for every unit: Break rate (ref-pol) = 0")
OUTSIDE = check(
    "ref-outside-gold", "blocking", "no predicted ref occurs in the gold", "tuple_f1_s1_refpol", "tuple_f1_s2_refpol",
    help="--protocol cr_v1",
)  # fmt: skip


def data(role: str, content: str) -> dict[str, Any]:
    return {
        "role": role,
        "path": f"/home/somebody/{role}.jsonl",
        "sha256": content * 32,
        "bytes": 9,
    }


def conflict_review(out: Path, conditions: Sequence[str] = ("no_memory", "with_memory")) -> None:
    """Three seeds of each condition and their aggregates; seed 3 of with_memory is not complete."""
    suite: dict[str, Any] = {"suite": "cr", "suite_title": "Conflict Review"}
    missing = [{"severity": "warning", "code": "unknown-gold", "count": 6, "examples": []}]
    for c, condition in enumerate(conditions):
        short = missing if condition == "with_memory" else []
        names = [f"{condition}__seed{s}_proposed" for s in (1, 2, 3)]
        for s, name in enumerate(names, 1):
            found = rows(REVIEW, 0.8 + c / 20 - s / 50, 40)
            result(out, name, found, "text_id", 40, **suite, problems=short if s == 3 else [])
        folder = result(
            out, f"{condition}_aggregated", rows(REVIEW, 0.76 + c / 20, 40), "text_id", 40, **suite, problems=short,
            kind="aggregate", condition=condition, runs=names, baseline=conditions[0], report="study",
        )  # fmt: skip
        (folder / "aggregated_mean_std.csv").write_text("metric,mean,std\n", encoding="utf-8")
        comparison(folder, conditions[0], conditions[1:])
        vouch(folder)


def comparison(folder: Path, baseline: str, candidates: Sequence[str]) -> None:
    verdicts = ["better", "tied", "worse", "not measured"]
    lines = [
        f"{metric},{baseline},{candidate},0.1,{verdicts[i % 4]}"
        for candidate in candidates
        for i, metric in enumerate([*REVIEW, "no_headline_metric"])
    ]
    text = "\n".join(["metric,baseline,candidate,delta,verdict", *lines])
    (folder / "comparison.csv").write_text(text, encoding="utf-8")


def summary(out: Path, name: str = "cases") -> Path:
    found = rows(SUMMARY, 0.9, 24)
    folder = result(out, name, found, "case_id", 24, suite="summary", suite_title="Summaries")
    for file in ("summary_scores.csv", "summary_scores.xlsx"):
        (folder / file).write_text("case_id,metric,score\n", encoding="utf-8")
    vouch(folder)
    return folder


def hostile(out: Path) -> None:
    """A run for each hostile text, with the text in every place of its files that the gallery shows."""
    for i, text in enumerate([*HOSTILE, *HOSTILE_NAMES, *JS_NAMES]):
        # neither a file nor a model that writes JSON can hold half of a pair
        text = text.encode("utf-8", "replace").decode()
        found = rows(
            {text: (text, "higher"), f"{text}!": ("", "lower"), f"{text}?": (text, "lower")}, 0.5, 9
        )
        checks = [check(text, "blocking", text, f"{text}?", help=text)]
        result(
            out, f"hostile {i}", found, text, 9, checks, suite=text, suite_title=text if i % 2 else "",
            condition=text, started=text,
            problems=[{"severity": "warning", "code": text, "count": 1}],
            inputs=[data(text, "a"), data(f"{text} of it", f"{i:02d}")],
        )  # fmt: skip


def report(out: Path, name: str) -> None:
    folder = out / "reports" / name
    folder.mkdir(parents=True)
    (folder / "metric_report.html").write_text("<title>a report</title>", encoding="utf-8")
    (folder / "metric_report.ipynb").write_text("{}", encoding="utf-8")


def copies(out: Path, source: str, names: Sequence[str]) -> None:
    """The files of a run under other names, started an hour after each other."""
    for i, name in enumerate(names):
        folder = out / "results" / name
        shutil.copytree(out / "results" / source, folder)
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        manifest["started"] = (
            f"2026-{1 + i // 672 % 12:02d}-{1 + i // 24 % 28:02d}T{i % 24:02d}:00:00+00:00"
        )
        (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
