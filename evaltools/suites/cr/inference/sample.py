"""One sample under one condition and seed: from its text through the stages to its final tuples.

text -> lenses -> candidates -> conflicts, memory -> reviewers -> arbiter -> final tuples
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ....llm.client import Answer, Client
from . import protocol
from .data import Text
from .memory import Episode, as_text, retrieved, sample_hash, shape
from .plan import Plan, RunKey
from .prompts import AGENTS, LENSES, RECHECK, REVIEWERS, SINGLE, reply_of
from .protocol import Candidate, Conflict, Refused, Vote

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
        config = self.plan.config
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
        if not (config.recheck and undecided):
            return
        disputed = [conflict for conflict in self.conflicts if undecided & set(conflict.tuple_ids)]
        ballots = await self._votes(RECHECK, disputed)
        for name in undecided:
            if ballots[name]:  # of the one stage of a second look
                self.decisions[name] = ballots[name][0]

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
