"""The metric table of Conflict Review, and the suite.

Each metric is a ratio of sums over the columns that `units.units_frame` makes. Sources: [M] seed
cr_metrics_spec, [F] seed cr_f1_metrics_examples, [H] seed cr_hallucination_rate, D decisions.
"""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.errors import InputError, Problems
from ..core.jsonl import atomic, write_jsonl, write_text
from ..core.metric import Difference, Metric
from ..core.suite import Breakdown, Result, Source, Suite
from .options import CrOptions
from .read import locate, read_override
from .score import score
from .scorecard import DROP_REASONS, scorecards
from .tuples import KEYS

F1, CORRECTION, CONFLICT, IMPLICIT, PROCESS, RISK, HALLUCINATION, COUNTS = (
    "Tuple F1",
    "Correction by review",
    "Polarity conflict",
    "Explicit and implicit",
    "Process",
    "Validator and risk",
    "Hallucination",
    "Counts",
)

SHARE = (0.0, 1.0)

UNIT_OF_KEY = {"refpol": "(ref, polarity)", "otepol": "(term, polarity)", "attrpol": "(attribute, polarity)"}


def _share(name: str, column: str, group: str, better: Any, title: str, source: str, **more: Any) -> Metric:
    """The share of all samples in which a column is true."""
    return Metric(name, column, "n", group, better, title, source, proportion=True, **more)


def _count(name: str, column: str, title: str, source: str, group: str = COUNTS) -> Metric:
    return Metric(name, column, "", group, "none", title, source)


def _keyed(key: str) -> list[Metric | Difference]:
    of = UNIT_OF_KEY[key]
    return [
        Metric(
            f"tuple_f1_s1_{key}",
            f"f1_s1_{key}",
            "has_gold",
            F1,
            "higher",
            f"F1 before review, {of}",
            "[F] 1, 8",
            bounds=SHARE,
        ),
        Metric(
            f"tuple_f1_s2_{key}",
            f"f1_s2_{key}",
            "has_gold",
            F1,
            "higher",
            f"F1 after review, {of}",
            "[F] 1, 8",
            bounds=SHARE,
        ),
        Difference(
            f"delta_f1_{key}", f"tuple_f1_s2_{key}", f"tuple_f1_s1_{key}", F1, "higher", f"F1 gain, {of}", "[F] 1"
        ),
        Metric(
            f"fix_rate_{key}",
            f"fix_{key}",
            f"fix_{key} + still_{key}",
            CORRECTION,
            "higher",
            f"Wrong samples made right, {of}",
            "[M] 3.3",
            proportion=True,
        ),
        Metric(
            f"break_rate_{key}",
            f"break_{key}",
            f"break_{key} + keep_{key}",
            CORRECTION,
            "lower",
            f"Right samples made wrong, {of}",
            "[M] 3.3",
            proportion=True,
        ),
        Metric(
            f"net_gain_{key}",
            f"fix_{key} - break_{key}",
            "has_gold",
            CORRECTION,
            "higher",
            f"Fixed less broken, {of}",
            "[M] 3.3",
        ),
        Metric(
            f"tuple_f1_s2_{key}_micro",
            f"2*tp_{key}",
            f"2*tp_{key} + fp_{key} + fn_{key}",
            F1,
            "higher",
            f"Micro F1 after review, {of}",
            "[F] 8",
            bounds=SHARE,
        ),
        *(
            _count(f"tuple_f1_s2_{key}_{c}", f"{c}_{key}", f"{c.upper()} after review, {of}", "[F] 8")
            for c in ("tp", "fp", "fn")
        ),
    ]


def _changed(word: str, better: Any) -> list[Metric]:
    return [
        _share(
            f"changed_and_{word}_rate_{key}",
            f"{word}_{key}",
            PROCESS,
            better,
            f"Changed and {word}, {UNIT_OF_KEY[key]}",
            "[M] 4.1, D8",
        )
        for key in ("refpol", "otepol")
    ]


TABLE: tuple[Metric | Difference, ...] = (
    _count("n", "n", "Samples", "[M] 3.3"),
    _count("N_gold", "has_gold", "Samples with gold", "[F] 1"),
    _count("N_gold_total_pairs", "n_gold_tuples", "Gold tuples", "[M] 5"),
    _count("N_gold_explicit", "has_explicit_gold", "Samples with explicit gold", "[M] 3.2"),
    _count("N_gold_implicit", "has_implicit_gold", "Samples with implicit gold", "[M] 3.2"),
    _count("N_pred_final_tuples", "from_final_tuples", "Samples read from final_tuples", "[M] 5"),
    _count("N_pred_final_aspects", "from_final_aspects", "Samples read from final_aspects", "[M] 5"),
    _count(
        "N_pred_inputs_aspect_sentiments",
        "from_inputs_aspect_sentiments",
        "Samples read from inputs.aspect_sentiments",
        "[M] 5",
    ),
    _count("N_pred_used", "n_pred_used", "Predicted tuples used", "[M] 5"),
    _count(
        "N_agg_fallback_used",
        "from_final_aspects + from_inputs_aspect_sentiments",
        "Samples without final_tuples",
        "[M] 5",
    ),
    *(m for key in KEYS for m in _keyed(key)),
    *(
        Metric(
            f"tuple_f1_s2_explicit_only_{key}",
            f"f1_explicit_gold_{key}",
            "has_explicit_gold",
            IMPLICIT,
            "higher",
            f"F1 on explicit gold, {UNIT_OF_KEY[key]}",
            "[M] 3.2, [F] 1",
            bounds=SHARE,
        )
        for key in ("refpol", "otepol")
    ),
    Metric(
        "tuple_f1_explicit",
        "f1_explicit_both_otepol",
        "has_explicit_gold",
        IMPLICIT,
        "higher",
        "F1 of explicit gold and explicit predictions, (term, polarity)",
        "[F] 1",
        bounds=SHARE,
    ),
    Metric(
        "tuple_f1_s2_implicit_only",
        "f1_implicit",
        "has_valid_implicit_gold",
        IMPLICIT,
        "higher",
        "F1 of polarities on implicit gold",
        "[M] 3.2",
        bounds=SHARE,
    ),
    _count("implicit_gold_sample_n", "has_implicit_gold", "Samples with implicit gold", "[M] 3.5", IMPLICIT),
    _count("implicit_invalid_sample_n", "implicit_invalid", "Invalid among them", "[M] 3.5", IMPLICIT),
    Metric(
        "implicit_invalid_pred_rate",
        "implicit_invalid",
        "has_implicit_gold",
        IMPLICIT,
        "lower",
        "Invalid predictions on implicit gold",
        "[M] 3.5",
        proportion=True,
        empty=0.0,
    ),
    Metric(
        "tuple_f1_s2_after_rep",
        "f1_after_rep",
        "has_gold",
        F1,
        "higher",
        "F1 after choosing one tuple an aspect",
        "[M] 3.2, 3.4",
        bounds=SHARE,
    ),
    _share(
        "polarity_conflict_rate_raw",
        "conflict_raw",
        CONFLICT,
        "lower",
        "A term carries two polarities",
        "[M] 3.4, D7",
    ),
    _share(
        "polarity_conflict_rate",
        "conflict",
        CONFLICT,
        "lower",
        "A term carries two polarities that ranking cannot settle",
        "[M] 3.4, D7",
    ),
    _share(
        "polarity_conflict_rate_raw_refpol",
        "conflict_raw_refpol",
        CONFLICT,
        "lower",
        "A ref carries two polarities",
        "[M] 3.4, D7",
    ),
    _share(
        "polarity_conflict_rate_refpol",
        "conflict_refpol",
        CONFLICT,
        "lower",
        "A ref carries two polarities that ranking cannot settle",
        "[M] 3.4, D7",
    ),
    _share("pre_to_post_change_rate", "changed", PROCESS, "none", "Changed by review", "[M] 4.1"),
    *_changed("improved", "higher"),
    *_changed("degraded", "lower"),
    _share("review_action_rate", "reviewed", PROCESS, "none", "With a review action", "[M] 4.2"),
    _share("arb_intervention_rate", "arbitrated", PROCESS, "none", "With an arbiter action", "[M] 4.2"),
    Metric(
        "guided_by_review_rate",
        "guided",
        "changed",
        PROCESS,
        "none",
        "Changes that review guided",
        "[M] 4.2",
        proportion=True,
        empty=0.0,
    ),
    Metric("latency_ms_mean", "latency_ms", "has_latency", PROCESS, "lower", "Latency (ms)", "[M] 1"),
    _count("stage_delta_mismatch_n", "stage_delta_mismatch", "Stored stage_delta that disagrees", "[M] 4.1", PROCESS),
    Metric(
        "validator_clear_rate",
        "risk_cleared",
        "risk_s1",
        RISK,
        "higher",
        "Stage-1 risks cleared",
        "[M] 4.3, D9",
        proportion=True,
        empty=0.0,
    ),
    _share("validator_residual_risk_rate", "risk_s2", RISK, "lower", "With a stage-2 risk", "[M] 4.3, D9"),
    _share(
        "negation_contrast_failure_rate",
        "negation_contrast",
        RISK,
        "lower",
        "With a negation or contrast risk",
        "[M] 4.3",
    ),
    _share("outcome_residual_risk_rate", "residual_risk", RISK, "lower", "With any residual risk", "[M] 4.3, D9"),
    _share("aspect_hallucination_rate", "hallucinated", HALLUCINATION, "lower", "With a dropped aspect", "[H] 1, 4"),
    *(
        _share(
            f"hallucination_{r}_rate", f"drop_{r}", HALLUCINATION, "lower", f"Dropped: {r.replace('_', ' ')}", "D10"
        )
        for r in DROP_REASONS
    ),
    _share(
        "final_aspect_out_of_text_rate",
        "final_out_of_text",
        HALLUCINATION,
        "lower",
        "A final term is not in the text",
        "[H] 6, D10",
    ),
)

ALIASES = {
    "tuple_f1_s1": "tuple_f1_s1_{key}",
    "tuple_f1_s2": "tuple_f1_s2_{key}",
    "tuple_f1_s2_overall": "tuple_f1_s2_{key}",
    "tuple_f1_s2_raw": "tuple_f1_s2_{key}",
    "triplet_f1_s1": "tuple_f1_s1_{key}",
    "triplet_f1_s2": "tuple_f1_s2_{key}",
    "delta_f1": "delta_f1_{key}",
    "fix_rate": "fix_rate_{key}",
    "break_rate": "break_rate_{key}",
    "net_gain": "net_gain_{key}",
    "tuple_f1_s2_explicit_only": "tuple_f1_s2_explicit_only_{key}",
    "changed_and_improved_rate": "changed_and_improved_rate_{key}",
    "changed_and_degraded_rate": "changed_and_degraded_rate_{key}",
    "changed_samples_rate": "pre_to_post_change_rate",
    "polarity_conflict_rate_after_rep": "polarity_conflict_rate",
    "risk_resolution_rate": "validator_clear_rate",
}
"""Short and older names -> the metric they stand for; {key} is the protocol's key."""

OVERRIDE = ("override_candidate_n", "override_applied_n", "override_applied_rate")


def metrics(options: CrOptions) -> tuple[Metric | Difference, ...]:
    """The table under a protocol: every metric, and the aliases with the definition of what they stand for."""
    by_name = {m.name: m for m in TABLE}
    aliases = []
    for alias, name in ALIASES.items():
        target = by_name[name.format(key=options.key)]
        aliases.append(type(target)(**{**vars(target), "name": alias, "title": f"= {target.name}"}))
    return (*TABLE, *aliases)


def headline(options: CrOptions) -> tuple[str, ...]:
    key = options.key
    other = "otepol" if key == "refpol" else "refpol"
    return (
        f"tuple_f1_s1_{key}",
        f"tuple_f1_s2_{key}",
        f"delta_f1_{key}",
        f"fix_rate_{key}",
        f"break_rate_{key}",
        f"net_gain_{key}",
        f"tuple_f1_s2_{other}",
        "polarity_conflict_rate",
        "implicit_invalid_pred_rate",
        "final_aspect_out_of_text_rate",
    )


def override_metrics(result: Result) -> dict[str, float | None]:
    """The figures of override_gate_debug_summary.json under override_* names; None where there is none to be read.

    The debate override is switched off in Conflict Review (seed cr_metrics_spec section 6).
    """
    path = next((i["path"] for i in result.manifest["inputs"] if i["role"] == "override_gate"), None)
    found: dict[str, float | None] = dict.fromkeys(OVERRIDE)
    if path is None:
        return found
    with suppress(InputError):  # said when the run was scored
        found |= read_override(Path(path), Problems("skip"))
    return found


def structural_metrics(result: Result) -> dict[str, Any]:
    """One row: the run, every metric by name, override_*, eval_semver and eval_policy_hash; None is not measured."""
    values = {r["name"]: None if pd.isna(r["value"]) else r["value"] for r in result.estimates.to_dict("records")}
    return {
        "run": result.name,
        "protocol": result.options.protocol,
        **{k: int(v) if v is not None and _is_count(k) else v for k, v in values.items()},
        **override_metrics(result),
        "eval_semver": result.policy["eval_semver"],
        "eval_policy_hash": result.policy["eval_policy_hash"],
    }


_COUNTS = frozenset(m.name for m in TABLE if isinstance(m, Metric) and not m.denominator)


def _is_count(name: str) -> bool:
    return name in _COUNTS


def _metrics_table_md(result: Result) -> str:
    from ..report.plain import markdown_table
    from ..report.tables import plain_estimates

    table = markdown_table(plain_estimates(result.estimates, resampling=result.resampling))
    return f"# Structural metrics of {result.name}\n\n{table}\n`{result.signature}`\n"


def artifacts(result: Result, folder: Path) -> None:
    """structural_metrics.csv and .md; scorecards.jsonl where the run was scored from its outputs."""
    row = structural_metrics(result)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([row.keys(), row.values()])
    derived = folder / "derived" / "metrics"
    with atomic(derived / "structural_metrics.csv") as f:
        f.write(text.getvalue())
    write_text(derived / "structural_metrics_table.md", _metrics_table_md(result))
    files = {i["role"]: Path(i["path"]) for i in result.manifest["inputs"]}
    if "outputs" in files:
        write_jsonl(folder / "scorecards.jsonl", scorecards(files["outputs"], files.get("gold"), Problems("skip")))


def _locate(path: Path, name: str | None, options: CrOptions, problems: Problems) -> Source:
    return locate(path, name, options.gold, problems)


SUITE = Suite(
    name="cr",
    title="Conflict Review",
    unit="text_id",
    row=("text_id",),
    options=CrOptions,
    locate=_locate,
    score=score,
    metrics=metrics,
    headline=headline,
    artifacts=artifacts,
    notebook="cr_run.ipynb",
    agreement=("final", "label_final"),
    breakdowns=(Breakdown("Split", "split", ("tuple_f1_s1_refpol", "tuple_f1_s2_refpol", "tuple_f1_s2_otepol")),),
)
