"""The files of a run: rows, gold, calls, episodes and the manifest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from filecmp import cmpfiles
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .... import __version__
from ....core.files import beside, write_json, write_jsonl
from ....core.folders import whole_folder
from ....llm.client import Answer
from ..schema import STAND_IN
from ..suite import SUITE
from . import protocol
from .memory import Episode
from .plan import Plan, RunKey
from .prompts import AGENTS, EXTRACTING, ROUNDS
from .protocol import Vote
from .sample import SampleRun

MANIFEST, OUTPUTS = SUITE.runner[:2]


@dataclass(frozen=True)
class RunResult:
    """A run that was written; `reasons`: why rows failed, with the number of rows of each."""

    folder: Path
    n_rows: int
    reasons: Counter[str]


def identity_of(folder: Path) -> str | None:
    """The identity of the run that a folder holds; None where it holds none."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        return json.loads((folder / MANIFEST).read_bytes())["config_hash"]
    return None


@dataclass(frozen=True)
class Writer:
    """Writes the runs of a plan.

    `counted`: the requests whose cost a row of this plan has named.
    """

    plan: Plan
    counted: set[str] = field(default_factory=set)

    def write(
        self,
        key: RunKey,
        folder: Path,
        samples: Sequence[SampleRun],
        episodes: Sequence[Episode],
    ) -> RunResult:
        """Put the folder of a run in its place, whole or not at all.

        Where the folder there holds these very files already, it stays, with what it was scored to.
        """
        config = self.plan.config
        identity = {
            "condition": key.condition,
            "seed": key.seed,
            "model": STAND_IN if config.is_example else config.model.name,
            "config_hash": self.plan.identity(key),
        }
        meta = {
            "run_id": folder.name,
            "protocol_mode": "conflict_review_v1",
            **identity,
        }
        rows = [self._row(sample, meta) for sample in samples]
        calls = _calls(rows)
        reasons = Counter(sample.failure[1] for sample in samples if sample.failure)
        files = {OUTPUTS: rows, "gold.jsonl": self._gold(), "calls.jsonl": calls}
        if key.condition == "m2":
            files["episodes.jsonl"] = [episode.model_dump(mode="json") for episode in episodes]
        manifest = {
            "run": folder.name,
            **identity,
            **self._manifest(calls),
            "rows": len(rows),
            "failed": reasons.total(),
        }
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(**beside(folder)) as aside:
            write_json(Path(aside) / MANIFEST, manifest)
            for name, lines in files.items():
                write_jsonl(Path(aside) / name, lines)
            _put_in_place(Path(aside), folder)
        return RunResult(folder, len(rows), reasons)

    def _manifest(self, calls: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """What a manifest says of the plan, and of all calls together."""
        config = self.plan.config
        models = Counter(call["model"] for call in calls)
        return {
            "stand_in": config.is_example,
            "config": config.model_dump(mode="json"),
            "content": self.plan.content,
            "prompts": self.plan.prompts.versions,
            "answered_by": dict(sorted(models.items())),
            "evaltools": __version__,
            "requests": len(calls),
            "shared": sum(call["cached"] for call in calls),
            "tokens_in": _total(calls, "tokens_in"),
            "tokens_out": _total(calls, "tokens_out"),
            "cost": _total(calls, "cost"),
        }

    def _gold(self) -> list[dict[str, Any]]:
        rows = []
        for text in self.plan.texts:
            gold = [
                row.model_dump(mode="json", exclude_none=True) for row in text.gold_tuples or ()
            ]
            rows.append({"uid": text.id, "input_text": text.text, "gold_tuples": gold})
        return rows

    def _row(self, sample: SampleRun, meta: dict[str, Any]) -> dict[str, Any]:
        """A line of outputs.jsonl. A failed sample has empty tuples, the flag and the error."""
        stage1, final, error = sample.candidates, sample.final, None
        if sample.failure:
            stage, reason = sample.failure
            stage1, final, error = [], [], f"{stage}: {reason}"
        stage1_rows = [asdict(candidate) for candidate in stage1]
        final_rows = [asdict(candidate) for candidate in final]
        aspects = []
        for row in stage1_rows:
            if row["aspect_term"]:
                aspects.append({"term": row["aspect_term"], "span": row["span"]})
        return {
            "meta": {
                "text_id": sample.text.id,
                "input_text": sample.text.text,
                "split": sample.text.split,
                "profile": "paper_main",
                "latency_ms": _latency_ms(sample),
                "memory": [episode.source for episode in sample.shown],
                **meta,
            },
            "stage1_ate": {"label": protocol.label(stage1), "aspects": aspects},
            "process_trace": [self._trace(*stage) for stage in sample.stages],
            "analysis_flags": _flags(sample),
            "final_result": {
                "label": protocol.label(final),
                "stage1_tuples": stage1_rows,
                "final_tuples": final_rows,
                "final_tuples_pre_review": stage1_rows,
                "final_tuples_post_review": final_rows,
            },
            "flags": {
                "parse_failed": error is not None and "the reply" in error,
                "generate_failed": error is not None,
            },
            "error": error,
        }

    def _trace(self, stage: str, answer: Answer) -> dict[str, Any]:
        """An entry of the trace.

        A call that an earlier sample or condition made is cached and costs nothing.
        """
        call = answer.call.model_dump(mode="json")
        shared = answer.call.request in self.counted
        self.counted.add(answer.call.request)
        if shared and call["cost"] is not None:
            call["cost"] = 0.0
        output = None
        if answer.reply is not None:
            output = answer.reply.model_dump(mode="json")
        entry = {
            "stage": "stage1" if stage in EXTRACTING else "review",
            "agent": AGENTS[stage],
            "output": output,
            "call": {
                "stage": stage,
                **call,
                "cached": shared,
            },
        }
        if answer.error:
            entry["notes"] = answer.error
        return entry


def _calls(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of calls.jsonl: one a call of a sample."""
    calls = []
    for row in rows:
        for entry in row["process_trace"]:
            error = entry.get("notes", "")
            calls.append({"text_id": row["meta"]["text_id"], **entry["call"], "error": error})
    return calls


def _put_in_place(made: Path, folder: Path) -> None:
    """Let the files of a run take the place of what its folder holds, unless they are there already."""
    names = [path.name for path in made.iterdir()]
    _, differ, missing = cmpfiles(made, folder, names, shallow=False)
    if differ or missing:
        with whole_folder(folder, SUITE.runner) as new:
            for name in names:
                (made / name).rename(new / name)


def _total(calls: Sequence[dict[str, Any]], name: str) -> Any:
    """The sum of what is known; None where nothing is."""
    known = [call[name] for call in calls if call[name] is not None]
    return sum(known) if known else None


def _latency_ms(sample: SampleRun) -> int:
    """The slowest call of each round: calls of one round are sent at the same time."""
    latency = 0
    for stages in ROUNDS:
        times = [answer.call.api_ms for stage, answer in sample.stages if stage in stages]
        latency += max(times, default=0)
    return latency


def _flags(sample: SampleRun) -> dict[str, Any]:
    """What the rules and the reviewers said of a sample; of a failed one nothing is taken."""
    reviews = []
    for stage, answer in sample.stages:
        if answer.reply is None or stage in EXTRACTING:
            continue
        for action in answer.reply.review_actions:
            reviews.append({**action.model_dump(mode="json"), "actor": AGENTS[stage]})
    decisions = [_decision(name, vote) for name, vote in sample.decisions.items()]
    return {
        "conflict_flags": [asdict(conflict) for conflict in sample.conflicts],
        "review_actions": [] if sample.failure else reviews,
        "arb_actions": [] if sample.failure else decisions,
        "refused": sample.refused,
    }


def _decision(name: str, vote: Vote) -> dict[str, Any]:
    new_value = {"polarity": vote.polarity} if vote.action == "FLIP" else None
    return {
        "action_type": vote.action,
        "target_tuple_ids": [name],
        "new_value": new_value,
        "reason_code": vote.reason,
        "actor": protocol.ARBITER,
    }
