"""One sample under one condition and seed, from its text to its line of outputs.jsonl.

text -> lenses -> candidates -> conflicts, memory -> reviewers -> arbiter -> final tuples -> row
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from ....core.files import Fields, grouped
from ....llm.client import Answer, Client
from . import protocol
from .plan import (
    AGENTS,
    EXTRACTING,
    LENSES,
    RECHECK,
    REVIEWERS,
    SINGLE,
    Plan,
    Text,
    reply_of,
)
from .protocol import Candidate, Conflict, Episode, Refused, Vote, as_text, retrieved, shape

# so many last episodes tell whether a conflict is new
RECENT = 200


@dataclass
class SampleRun:
    """A sample in a run, as far as the work on it came.

    `stages`: (stage, answer) in the order of asking. `latency_ms`: of the slowest call of each
    round, as those of one round are sent at the same time.
    """

    plan: Plan
    client: Client
    run: Fields
    text: Text
    stages: list[tuple[str, Answer]] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    decisions: dict[str, Vote] = field(default_factory=dict)
    refused: Refused = field(default_factory=list)
    latency_ms: int = 0

    @property
    def failure(self) -> tuple[str, str] | None:
        """The first stage without a reply, and why; None where all replied."""
        failed = ((stage, answer.error) for stage, answer in self.stages if answer.reply is None)
        return next(failed, None)

    async def work(self, episodes: Sequence[Episode]) -> None:
        """Go through the stages, as far as the replies carry.

        A failed stage gives no tuples and no votes.
        """
        is_single = self.run["condition"] == "s0"
        replies = await self._ask(SINGLE if is_single else LENSES)
        text = self.text.text
        self.candidates = protocol.merge(
            replies,
            text,
            self.plan.refs,
            self.refused,
        )
        self.conflicts = [] if is_single else protocol.conflicts(self.candidates)
        if not self.conflicts:
            return
        memory = as_text(retrieved(episodes, text))
        ballots = await self._votes(REVIEWERS, self.conflicts, memory)
        self.decisions = protocol.arbitrate(ballots, self.conflicts)
        undecided = {name for name, vote in self.decisions.items() if not vote.settled}
        if self.plan.config.recheck and undecided:
            disputed = [c for c in self.conflicts if undecided & {*c["tuple_ids"]}]
            second_look = await self._votes(RECHECK, disputed, memory)
            self.decisions |= {
                name: second_look[name][0] for name in undecided if second_look[name]
            }

    async def _votes(
        self,
        stages: Sequence[str],
        *shown: Any,
    ) -> dict[str, list[Vote]]:
        """Candidate -> the votes of these stages on it; `shown`: conflicts and memory."""
        replies = await self._ask(stages, self.candidates, *shown)
        return protocol.votes(
            replies,
            self.candidates,
            self.conflicts,
            self.refused,
        )

    async def _ask(
        self,
        stages: Sequence[str],
        *shown: Any,
    ) -> Fields:
        """Who was asked -> the reply; nothing where a stage of the sample has failed."""
        seed, text = self.run["seed"], self.text.text
        answers = await asyncio.gather(
            *(
                self.client.ask(self.plan.request(stage, seed, text, *shown), reply_of(stage))
                for stage in stages
            )
        )
        self.stages += zip(stages, answers)
        self.latency_ms += max(answer.call.api_ms for answer in answers)
        if self.failure:
            return {}
        return {AGENTS[stage]: answer.reply for stage, answer in zip(stages, answers)}

    def learnt(self, episodes: Sequence[Episode]) -> list[Episode]:
        """The episode of this sample: of a correction or a new conflict; else none.

        A conflict is new if none of the RECENT last episodes has its kinds.
        """
        decided = self.decisions.values()
        changes = [vote for vote in decided if vote.action_type in ("DROP", "FLIP")]
        kinds = tuple(sorted({conflict["conflict_type"] for conflict in self.conflicts}))
        known = {(), *(episode.conflicts for episode in episodes[-RECENT:])}
        if self.failure or (not changes and kinds in known):
            return []
        return [
            Episode(
                source=self.text.hash,
                **shape(self.text.text),
                conflicts=kinds,
                stage1=_polarities(self.candidates),
                final=_polarities(protocol.applied(self.candidates, self.decisions)),
                corrected=tuple((vote.action_type, vote.reason_code) for vote in changes),
            )
        ]

    def row(self, meta: Fields) -> Fields:
        """Its line of outputs.jsonl. A failed sample has empty tuples and no actions, the flag and the error.

        `meta`: what all rows of a run have there.
        """
        error = ": ".join(self.failure or ())
        stage1 = [] if error else self.candidates
        final = [*protocol.applied(stage1, self.decisions)]
        trace = []
        for stage, answer in self.stages:
            entry = {
                "stage": "stage1" if stage in EXTRACTING else "review",
                "agent": AGENTS[stage],
                "output": answer.reply and answer.reply.model_dump(mode="json"),
                "call": {"stage": stage, **answer.call.model_dump(mode="json")},
            }
            if answer.error:
                entry["notes"] = answer.error
            trace.append(entry)
        reviews = [
            {**action, "actor": entry["agent"]}
            for entry in trace
            if entry["stage"] == "review" and not error
            for action in entry["output"]["review_actions"]
        ]
        decisions = [{**vote.model_dump(), "actor": "ARB"} for vote in self.decisions.values()]
        return {
            "meta": {
                "text_id": self.text.id,
                "input_text": self.text.text,
                "split": self.text.split,
                "profile": "paper_main",
                "latency_ms": self.latency_ms,
                **meta,
            },
            "stage1_ate": {
                "label": protocol.label(stage1),
                "aspects": [
                    {"term": c["aspect_term"], "span": c["span"]} for c in stage1 if c["span"]
                ],
            },
            "process_trace": trace,
            "analysis_flags": {
                "conflict_flags": self.conflicts,
                "review_actions": reviews,
                "arb_actions": [] if error else decisions,
                "refused": self.refused,
            },
            "final_result": {
                "label": protocol.label(final),
                "stage1_tuples": stage1,
                "final_tuples": final,
                "final_tuples_pre_review": stage1,
                "final_tuples_post_review": final,
            },
            "flags": {
                "parse_failed": "the reply" in error,
                "generate_failed": bool(error),
            },
            "error": error or None,
        }


def _polarities(candidates: Iterable[Candidate]) -> dict[str, list[str]]:
    """Term -> the polarities of its candidates."""
    by_term = grouped(candidates, itemgetter("aspect_term"))
    return {term: [c["polarity"] for c in group] for term, group in by_term.items()}
