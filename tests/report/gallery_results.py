"""Results folders for the gallery, as `evaluate` and `study_seeds` write them, without anything being scored."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaltools.core.files import sha256, write_json
from evaltools.core.manifest import Manifest
from tests.files import read_json

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

# name -> title, direction
REVIEW = {
    "tuple_f1_s1_refpol": ("Tuple F1 before review (ref-pol)", "higher"),
    "delta_f1_refpol": ("ΔF1 (ref-pol)", "higher"),
    "break_rate_refpol": ("Break rate (ref-pol)", "lower"),
    "change_rate": ("Change rate", "none"),
}
SUMMARY = {
    "summary_accuracy": ("Summary accuracy (entity precision)", "higher"),
    "entity_recall": ("Entity recall", "higher"),
}


def rows(metrics: dict[str, tuple[str, str]], base: float, n: int) -> list[dict[str, Any]]:
    """Rows of metrics.json, whose values fall from `base` on."""
    found = []
    for i, (name, (title, better)) in enumerate(metrics.items()):
        value = base - i / 20
        row = {"name": name, "title": title, "better": better, "value": value, "n_units": n}
        ends = {"ci_low": value - 0.1, "ci_high": value + 0.07, "ci_method": "bca", "group": ""}
        found.append({**row, **ends, "numerator": None, "denominator": None})
    return found


def result(
    out: Path,
    name: str,
    estimates: list[dict[str, Any]],
    unit: str,
    n: int,
    checks: Sequence[dict[str, Any]] = (),
    **fields: Any,
) -> Path:
    """A results folder whose manifest vouches for it, every metric in the headline unless `fields` has one."""
    manifest: dict[str, Any] = {
        "run": name,
        "inputs": [],
        "options": {},
        "policy": {},
        "versions": {},
        "started": "2026-03-01T10:00:00+00:00",
        "headline": [row["name"] for row in estimates],
        "resampling": {"method": "bca", "n_resamples": 200, "confidence": 0.95, "seed": 0},
        "unit": unit,
        "n_units": n,
    }
    folder = out / "results" / name
    folder.mkdir(parents=True)
    codes = {metric: check["code"] for check in checks for metric in check["blocks"]}
    metrics = [{**row, "blocked": codes.get(row["name"])} for row in estimates]
    write_json(folder / "metrics.json", {"checks": checks, "metrics": metrics})
    (folder / "units.parquet").write_bytes(b"units")
    Manifest(**{**manifest, **fields}).write(folder)
    return folder


def vouch(folder: Path, **changed: Any) -> None:
    """Let the manifest of a folder vouch for the files that stand in it, with these fields changed."""
    path = folder / "manifest.json"
    files = {file.name: sha256(file) for file in folder.iterdir() if file != path}
    write_json(path, {**read_json(path), "files": files, **changed})


def check(code: str, level: str, message: str, *blocks: str) -> dict[str, Any]:
    return {"code": code, "level": level, "message": message, "n": 3, "of": 40, "blocks": blocks}


FEW = check("few-units", "warning", "only 24 units (case_id)")
OUTSIDE = check("ref-outside-gold", "blocking", "no predicted ref occurs", "tuple_f1_s1_refpol")


def problem(severity: str, code: str) -> dict[str, Any]:
    return {"severity": severity, "code": code, "count": 1}


def conflict_review(out: Path) -> None:
    """Three seeds of two conditions and their aggregates; seed 3 of with_memory is not complete."""
    suite: dict[str, Any] = {"suite": "cr", "suite_title": "Conflict Review"}
    for condition in ("no_memory", "with_memory"):
        short = [problem("warning", "unknown-gold")] if condition == "with_memory" else []
        base = 0.85 if short else 0.8
        names = [f"{condition}__seed{s}_proposed" for s in (1, 2, 3)]
        for name in names:
            missing = short if name == names[-1] else []
            result(out, name, rows(REVIEW, base, 40), "text_id", 40, **suite, problems=missing)
        result(
            out,
            f"{condition}_aggregated",
            rows(REVIEW, base - 0.04, 40),
            "text_id",
            40,
            **suite,
            problems=short,
            kind="aggregate",
            condition=condition,
            runs=names,
            baseline="no_memory",
            verdict="better" if short else "baseline",
        )


def summary(out: Path) -> None:
    found = rows(SUMMARY, 0.9, 24)
    folder = result(out, "cases", found, "case_id", 24, suite="summary", suite_title="Summaries")
    for file in ("summary_scores.csv", "summary_scores.xlsx"):
        (folder / file).write_text("case_id,metric,score\n", encoding="utf-8")
    vouch(folder)


def hostile(out: Path) -> None:
    """A run for each hostile text, with the text in every place of its files that the gallery shows."""
    for i, text in enumerate([*HOSTILE, *HOSTILE_NAMES]):
        # neither a file nor a model that writes JSON can hold half of a pair
        text = text.encode("utf-8", "replace").decode()
        metrics = {text: (text, "higher"), f"{text}!": ("", "lower"), f"{text}?": (text, "lower")}
        checks = [check(text, "blocking", text, f"{text}?")]
        fields: dict[str, Any] = {
            "suite": text,
            "suite_title": text if i % 2 else "",
            "condition": text,
            "started": text,
            "problems": [problem("warning", text)],
        }
        result(out, f"hostile {i}", rows(metrics, 0.5, 9), text, 9, checks, **fields)


def report(out: Path, name: str) -> None:
    folder = out / "reports" / name
    folder.mkdir(parents=True)
    (folder / "metric_report.html").write_text("<title>a report</title>", encoding="utf-8")


def copies(out: Path, source: str, names: Sequence[str]) -> None:
    """The files of a run under other names."""
    for name in names:
        shutil.copytree(out / "results" / source, out / "results" / name)
