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
    """A sample, as far as the work on it came. `stages`: (stage, answer) in the order of asking."""

    text: Text
    stages: list[tuple[str, Answer]] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    decisions: dict[str, Vote] = field(default_factory=dict)
    refused: Refused = field(default_factory=list)
    shown: list[Episode] = field(default_factory=list)

    @property
    def failure(self) -> tuple[str, str] | None:
        """The first stage without a reply, and why; None where all replied."""
        for stage, answer in self.stages:
            if answer.reply is None:
                return stage, answer.error
        return None

    @property
    def final(self) -> list[Candidate]:
        """The candidates after the arbiter's decisions."""
        return protocol.applied(self.candidates, self.decisions)


@dataclass(frozen=True)
class Protocol:
    """The stages of one condition and seed, with the client that asks."""

    plan: Plan
    client: Client
    key: RunKey

    async def work_on(self, sample: SampleRun, episodes: Sequence[Episode]) -> None:
        """Work on one sample, as far as its replies carry."""
        config = self.plan.config
        single = self.key.condition == "s0"
        sample.candidates = protocol.merge(
            await self._ask(sample, SINGLE if single else LENSES),
            sample.text.text,
            self.plan.prompts.refs,
            config.arbiter,
            sample.refused,
        )
        if sample.failure or single:
            return
        sample.conflicts = protocol.conflicts(sample.candidates)
        if sample.conflicts or config.arbiter == "original":
            sample.shown = retrieved(episodes, sample.text.text)
            await self._review(sample)

    async def _review(self, sample: SampleRun) -> None:
        """Ask the reviewers, decide, and ask once more about what is undecided."""
        config = self.plan.config
        ballots = await self._votes(sample, REVIEWERS, sample.conflicts, config.arbiter)
        sample.decisions = protocol.arbitrate(ballots, sample.conflicts)
        undecided = {name for name, vote in sample.decisions.items() if not vote.settled}
        if not (config.recheck and undecided):
            return
        disputed = [
            conflict for conflict in sample.conflicts if undecided & set(conflict.tuple_ids)
        ]
        ballots = await self._votes(sample, RECHECK, disputed, "strict")
        for name in undecided:
            if ballots[name]:
                sample.decisions[name] = ballots[name][0]

    async def _votes(
        self,
        sample: SampleRun,
        stages: Sequence[str],
        asked_about: Sequence[Conflict],
        policy: protocol.Policy,
    ) -> dict[str, list[Vote]]:
        """Candidate -> the votes of these stages on it; none where a stage of the sample has failed."""
        replies = await self._ask(sample, stages, asked_about)
        return protocol.votes(replies, sample.candidates, sample.conflicts, policy, sample.refused)

    async def _ask(
        self,
        sample: SampleRun,
        stages: Sequence[str],
        conflicts: Sequence[Conflict] = (),
    ) -> dict[str, Any]:
        """Who was asked -> the reply; nothing where a stage of the sample has failed."""
        calls = []
        for stage in stages:
            request = self.plan.prompts.request(
                stage,
                self.key.seed,
                sample.text.text,
                sample.candidates,
                conflicts,
                as_text(sample.shown),
            )
            calls.append(self.client.ask(request, reply_of(stage)))
        answers = await asyncio.gather(*calls)
        sample.stages += zip(stages, answers)
        if sample.failure:
            return {}
        return {AGENTS[stage]: answer.reply for stage, answer in zip(stages, answers)}


def learnt(sample: SampleRun, episodes: Sequence[Episode]) -> Episode | None:
    """The episode of a sample: of a correction or a new conflict; else None.

    A conflict is new if none of the RECENT last episodes has its kinds.
    """
    corrected = []
    for vote in sample.decisions.values():
        if vote.action in ("DROP", "FLIP"):
            corrected.append((vote.action, vote.reason))
    kinds = tuple(sorted({conflict.conflict_type for conflict in sample.conflicts}))
    recent = {episode.conflicts for episode in episodes[-RECENT:]}
    is_new = bool(kinds) and kinds not in recent
    if sample.failure or not (corrected or is_new):
        return None
    return Episode(
        source=sample_hash(sample.text),
        **shape(sample.text.text),
        conflicts=kinds,
        stage1=_polarities(sample.candidates),
        final=_polarities(sample.final),
        corrected=tuple(corrected),
    )


def _polarities(candidates: Sequence[Candidate]) -> dict[str, list[str]]:
    """Term -> the polarities of its candidates."""
    by_term = protocol.grouped(candidates, lambda candidate: candidate.aspect_term)
    return {term: [c.polarity for c in group] for term, group in by_term.items()}
