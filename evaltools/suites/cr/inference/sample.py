"""One sample under one condition and seed, from its text to its final tuples, and the files of a whole run.

text -> lenses -> candidates -> conflicts, memory -> reviewers -> arbiter -> final tuples -> row
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .... import __version__
from ....core.files import dumps, write_text
from ....core.folders import whole_folder
from ....llm.client import Answer, Client
from ..schema import STAND_IN
from ..suite import SUITE
from . import protocol
from .config import Text
from .memory import Episode, as_text, retrieved, sample_hash, shape
from .plan import AGENTS, EXTRACTING, LENSES, RECHECK, REVIEWERS, SINGLE, Plan, RunKey, reply_of
from .protocol import Candidate, Conflict, Refused, Vote

MANIFEST, OUTPUTS = SUITE.runner[:2]

RECENT = 200
"""So many last episodes tell whether a conflict is new."""


@dataclass
class SampleRun:
    """A sample in a run, as far as the work on it came.

    `stages`: (stage, answer) in the order of asking. `latency_ms`: of the slowest call of each
    round, as those of one round are sent at the same time.
    """

    plan: Plan
    client: Client
    key: RunKey
    text: Text
    stages: list[tuple[str, Answer]] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    decisions: dict[str, Vote] = field(default_factory=dict)
    refused: Refused = field(default_factory=list)
    shown: list[Episode] = field(default_factory=list)
    latency_ms: int = 0

    @property
    def failure(self) -> tuple[str, str] | None:
        """The first stage without a reply, and why; None where all replied."""
        for stage, answer in self.stages:
            if answer.reply is None:
                return stage, answer.error
        return None

    async def work(self, episodes: Sequence[Episode]) -> None:
        """Go through the stages, as far as the replies carry.

        A failed stage gives no tuples and no votes.
        """
        is_single = self.key.condition == "s0"
        replies = await self._ask(SINGLE if is_single else LENSES)
        self.candidates = protocol.merge(
            replies,
            self.text.text,
            self.plan.prompts.refs,
            self.refused,
        )
        if self.failure or is_single:
            return
        self.conflicts = protocol.conflicts(self.candidates)
        if not self.conflicts:
            return
        self.shown = retrieved(episodes, self.text.text)
        ballots = await self._votes(REVIEWERS, self.conflicts)
        self.decisions = protocol.arbitrate(ballots, self.conflicts)
        undecided = {name for name, vote in self.decisions.items() if not vote.settled}
        if self.plan.config.recheck and undecided:
            disputed = [c for c in self.conflicts if undecided & set(c.tuple_ids)]
            second_look = await self._votes(RECHECK, disputed)
            self.decisions |= {
                name: second_look[name][0] for name in undecided if second_look[name]
            }

    async def _votes(
        self,
        stages: Sequence[str],
        asked_about: Sequence[Conflict],
    ) -> dict[str, list[Vote]]:
        """Candidate -> the votes of these stages on it."""
        replies = await self._ask(stages, asked_about)
        return protocol.votes(
            replies,
            self.candidates,
            self.conflicts,
            self.refused,
        )

    async def _ask(
        self,
        stages: Sequence[str],
        conflicts: Sequence[Conflict] = (),
    ) -> dict[str, Any]:
        """Who was asked -> the reply; nothing where a stage of the sample has failed."""
        calls = []
        for stage in stages:
            request = self.plan.prompts.request(
                stage,
                self.key.seed,
                self.text.text,
                self.candidates,
                conflicts,
                as_text(self.shown),
            )
            calls.append(self.client.ask(request, reply_of(stage)))
        answers = await asyncio.gather(*calls)
        self.stages += zip(stages, answers)
        self.latency_ms += max(answer.call.api_ms for answer in answers)
        if self.failure:
            return {}
        return {AGENTS[stage]: answer.reply for stage, answer in zip(stages, answers)}

    def learnt(self, episodes: Sequence[Episode]) -> Episode | None:
        """The episode of this sample: of a correction or a new conflict; else None.

        A conflict is new if none of the RECENT last episodes has its kinds.
        """
        changes = [vote for vote in self.decisions.values() if vote.action in ("DROP", "FLIP")]
        kinds = tuple(sorted({conflict.conflict_type for conflict in self.conflicts}))
        recent = {episode.conflicts for episode in episodes[-RECENT:]}
        is_new = bool(kinds) and kinds not in recent
        if self.failure or not (changes or is_new):
            return None
        return Episode(
            source=sample_hash(self.text),
            **shape(self.text.text),
            conflicts=kinds,
            stage1=_polarities(self.candidates),
            final=_polarities(protocol.applied(self.candidates, self.decisions)),
            corrected=tuple((vote.action, vote.reason) for vote in changes),
        )


def _polarities(candidates: Sequence[Candidate]) -> dict[str, list[str]]:
    """Term -> the polarities of its candidates."""
    by_term = protocol.grouped(candidates, lambda candidate: candidate.aspect_term)
    return {term: [c.polarity for c in group] for term, group in by_term.items()}


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


def write_run(
    plan: Plan,
    key: RunKey,
    folder: Path,
    samples: Sequence[SampleRun],
    episodes: Sequence[Episode],
    counted: set[str],
) -> RunResult:
    """Put the folder of a run in its place, whole or not at all.

    `counted`: the requests whose cost an earlier run of the plan has named; those of this run are added. Where the
    folder holds these very files already, it stays, with what it was scored to.
    """
    config = plan.config
    identity = {
        **asdict(key),
        "model": STAND_IN if config.is_example else config.model.name,
        "config_hash": plan.identity(key),
    }
    meta = {"run_id": folder.name, "protocol_mode": "conflict_review_v1", **identity}
    rows = [_row(sample, meta, counted) for sample in samples]
    calls = []
    for sample, row in zip(samples, rows):
        for entry in row["process_trace"]:
            error = entry.get("notes", "")
            calls.append({"text_id": sample.text.id, **entry["call"], "error": error})
    totals = {}
    for name in ("tokens_in", "tokens_out", "cost"):
        known = [call[name] for call in calls if call[name] is not None]
        totals[name] = sum(known) if known else None
    reasons = Counter(sample.failure[1] for sample in samples if sample.failure)
    manifest = {
        "run": folder.name,
        **identity,
        "config": config.model_dump(mode="json"),
        "content": plan.content,
        "answered_by": dict(sorted(Counter(call["model"] for call in calls).items())),
        "evaltools": __version__,
        "requests": len(calls),
        **totals,
        "rows": len(rows),
        "failed": reasons.total(),
    }
    files = {
        MANIFEST: json.dumps(manifest, ensure_ascii=False, indent=1) + "\n",
        OUTPUTS: _lines(rows),
        "gold.jsonl": _lines([sample.text.gold_row for sample in samples]),
        "calls.jsonl": _lines(calls),
    }
    if key.condition == "m2":
        files["episodes.jsonl"] = _lines([episode.model_dump() for episode in episodes])
    stored = {
        path.name: path.read_bytes() for path in map(folder.joinpath, files) if path.is_file()
    }
    if stored != {name: text.encode() for name, text in files.items()}:
        with whole_folder(folder, SUITE.runner) as new:
            for name, text in files.items():
                write_text(new / name, text)
    return RunResult(folder, len(rows), reasons)


def _lines(rows: Sequence[Any]) -> str:
    return "".join(dumps(row) + "\n" for row in rows)


def _row(
    sample: SampleRun,
    meta: dict[str, Any],
    counted: set[str],
) -> dict[str, Any]:
    """A line of outputs.jsonl. A failed sample has empty tuples and no actions, the flag and the error."""
    error = ": ".join(sample.failure) if sample.failure else None
    stage1 = [] if error else sample.candidates
    final = protocol.applied(stage1, sample.decisions)
    stage1_rows, final_rows = ([asdict(c) for c in group] for group in (stage1, final))
    aspects = [{"term": c.aspect_term, "span": c.span} for c in stage1 if c.aspect_term]
    trace = [_trace(stage, answer, counted) for stage, answer in sample.stages]
    reviews = []
    for entry in trace:
        if entry["stage"] == "review" and not error:
            for action in entry["output"]["review_actions"]:
                reviews.append({**action, "actor": entry["agent"]})
    decisions = []
    for name, vote in sample.decisions.items():
        new_value = {"polarity": vote.polarity} if vote.action == "FLIP" else None
        decision = {
            "action_type": vote.action,
            "target_tuple_ids": [name],
            "new_value": new_value,
            "reason_code": vote.reason,
            "actor": protocol.ARBITER,
        }
        decisions.append(decision)
    return {
        "meta": {
            "text_id": sample.text.id,
            "input_text": sample.text.text,
            "split": sample.text.split,
            "profile": "paper_main",
            "latency_ms": sample.latency_ms,
            **meta,
        },
        "stage1_ate": {"label": protocol.label(stage1), "aspects": aspects},
        "process_trace": trace,
        "analysis_flags": {
            "conflict_flags": [asdict(conflict) for conflict in sample.conflicts],
            "review_actions": reviews,
            "arb_actions": [] if error else decisions,
            "refused": sample.refused,
        },
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


def _trace(
    stage: str,
    answer: Answer,
    counted: set[str],
) -> dict[str, Any]:
    """An entry of the trace.

    A call that an earlier sample or condition made is cached and costs nothing.
    """
    call = answer.call.model_dump(mode="json")
    shared = answer.call.request in counted
    counted.add(answer.call.request)
    if shared and call["cost"] is not None:
        call["cost"] = 0.0
    entry = {
        "stage": "stage1" if stage in EXTRACTING else "review",
        "agent": AGENTS[stage],
        "output": answer.reply and answer.reply.model_dump(mode="json"),
        "call": {"stage": stage, **call, "cached": shared},
    }
    if answer.error:
        entry["notes"] = answer.error
    return entry
