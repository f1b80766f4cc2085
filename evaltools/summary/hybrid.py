"""Where the rules ask the judge, and how its decisions come back into the units frame.

Source: seed insurance_summary_prd section 10; specification D17.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ..core.errors import Problems
from ..core.jsonl import dumps
from ..core.progress import bar
from .options import SummaryOptions
from .rules import METRICS
from .schema import Case
from .score import Scored


def judge_units(
    units: pd.DataFrame,
    cases: Sequence[tuple[int, Case]],
    scored: Sequence[Scored],
    options: SummaryOptions,
    problems: Problems,
    quiet: bool = True,
) -> pd.DataFrame:
    """The frame with the final scores of the cases that lie in a trigger zone; the others keep the rule's.

    A score that the judge decided, alone or in the blend, counts as measured. Unless `quiet`, a bar shows the
    progress of the calls in a terminal.
    """
    from .judge import JudgeInput, JudgeSettings, judge_cases, trigger

    settings = JudgeSettings(
        model=options.judge_model,
        base_url=options.judge_base_url,
        mode=options.judge_mode,
        confidence=options.judge_confidence,
        max_calls=options.judge_max_calls,
        cache=Path(options.judge_cache) if options.judge_cache else None,
    )
    inputs = []
    for (_, case), s in zip(cases, scored):
        known = tuple(t for t in case.tags if t not in s.unknown_tags)
        for metric in METRICS:
            v = s.verdicts[metric]
            if not (case.answer or "").strip():
                continue  # a blank summary leaves nothing to be unsure of
            zone = trigger(metric, v.score, v.measured, s.n_entities, known, s.ambiguous)
            if zone is not None:
                inputs.append(JudgeInput(case.id, metric, case.answer or "", tuple(case.texts), known, v.score, zone))
    units = units.copy()
    row = {case_id: i for i, case_id in enumerate(units["case_id"])}
    columns = {c: units[c].tolist() for c in units.columns if c.startswith(METRICS)}
    with bar(len(inputs), "judge", quiet) as step:
        decided = judge_cases(inputs, settings, problems=problems, progress=lambda n: step(n=n))
    for d in decided:
        i, m = row[d.case_id], d.metric
        columns[f"{m}_trigger"][i] = d.trigger
        evidence = json.loads(columns[f"{m}_evidence"][i])
        evidence["judge"] = {"reason": d.reason, "error": d.error, "virtual_tags": list(d.virtual_tags)}
        columns[f"{m}_evidence"][i] = dumps(evidence)
        if d.llm_score is None:
            continue
        columns[m][i], columns[f"{m}_measured"][i] = d.final_score, True
        columns[f"{m}_llm"][i], columns[f"{m}_confidence"][i] = d.llm_score, d.confidence
        columns[f"{m}_decided_by"][i] = d.decided_by
    return units.assign(**columns)
