"""A whole inference run: samples through the stages, for every seed and condition, into folders of runs.

text -> lenses -> candidates -> conflicts, memory -> reviewers -> arbiter -> final tuples -> row

Rows follow from the replies alone, in the order of the samples: neither concurrency nor interruptions change them.
"""

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import BaseModel

from .... import __version__
from ....core.files import Fields, bytes_hash, dumps, grouped, write_json, write_text
from ....core.manifest import changed_files, require_replaceable, whole_folder
from ....core.messages import Problems, UsageError, WorkFailed, bar
from ....llm.client import Answer, Client, in_background
from ....llm.messages import Limits
from ..suite import SUITE
from . import protocol
from .plan import (
    AGENTS,
    EXTRACTING,
    LENSES,
    LETTERS_PER_TOKEN,
    RECHECK,
    REVIEWERS,
    SINGLE,
    USE_MEMORY,
    Plan,
    Text,
    reply_of,
)
from .protocol import Candidate, Conflict, Episode, Refused, Vote, as_text, retrieved, shape
from .standin import StandIn

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
        return next(
            ((stage, answer.error) for stage, answer in self.stages if not answer.reply), None
        )

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
        return protocol.votes(
            await self._ask(stages, self.candidates, *shown),
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
        changes = [vote for vote in self.decisions.values() if vote.action_type in ("DROP", "FLIP")]
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
                "review_actions": [
                    {**action, "actor": entry["agent"]}
                    for entry in trace
                    if entry["stage"] == "review" and not error
                    for action in entry["output"]["review_actions"]
                ],
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
    return {
        term: [c["polarity"] for c in group]
        for term, group in grouped(candidates, itemgetter("aspect_term")).items()
    }


MANIFEST, OUTPUTS = SUITE.runner[:2]


def run(
    plan: Plan,
    out: Path,
    problems: Problems,
    max_requests: int | None = None,
    max_cost: float | None = None,
    *,
    fresh: bool = False,
    quiet: bool = False,
) -> dict[Path, Counter[str]]:
    """Work on every condition and seed: the folder of each with the reasons of its rows' failures, "" for none.

    `fresh`: ask anew what was answered before, and replace runs of another config. UsageError,
    before anything is sent, where a folder holds something else, and where another process is at
    this run. WorkFailed where the server refuses everything (key, quota, model, address) or a
    limit is reached: what was answered is kept, a later start goes on.
    """
    config = plan.config
    for name, planned in plan.runs.items():
        folder = out / "results" / name
        stored = _recorded(folder).config_hash
        # not even --fresh replaces what is not of ours
        require_replaceable(folder, SUITE.runner if stored else ())
        if stored != planned["config_hash"] and not fresh and any(folder.glob("[!.]*")):
            raise UsageError(
                f"{folder} holds something that this config did not make; --fresh replaces it"
            )
    if max_cost is not None and not config.price:
        raise UsageError("--max-cost needs the [price] of the config")
    model = config.model
    cache = out / "llm-cache"
    client = (StandIn if config.is_example else Client)(
        model.base_url,
        cache,
        problems,
        Limits(max_requests, max_cost, config.price),
        keys=(model.key_env,),
        concurrency=model.concurrency,
        repairs=1,
        fresh=fresh,
    )
    cache.mkdir(parents=True, exist_ok=True)
    owner = cache / f"{config.run_id}.pid"
    try:
        with FileLock(owner.with_suffix(".lock"), timeout=0):
            owner.write_text(str(os.getpid()))
            return in_background(_run_all(plan, client, out, quiet))
    except Timeout:
        pid = owner.read_text() if owner.is_file() else "unknown"
        raise UsageError(f"{config.run_id} is being run in {out} by process {pid}") from None


async def _run_all(
    plan: Plan,
    client: Client,
    out: Path,
    quiet: bool,
) -> dict[Path, Counter[str]]:
    results = {}
    counted = set[str]()
    async with client:
        with bar(len(plan.texts) * len(plan.runs), "" if quiet else "samples") as step:
            for name, planned in plan.runs.items():
                samples, episodes = await _run_one(plan, client, planned, step)
                if client.stopped:
                    raise WorkFailed(
                        f"{client.stopped}; what was answered is kept in {client.cache}: "
                        "the same command goes on there"
                    )
                folder = out / "results" / name
                results[folder] = write_run(
                    plan,
                    planned,
                    folder,
                    samples,
                    episodes,
                    counted,
                )
    # some servers cut a context that is too long in silence: the tokens they count show it
    fewest = min(map(len, plan.prompts.values())) / (4 * LETTERS_PER_TOKEN)
    n_cut = sum(0 < (call.tokens_in or 0) < fewest for call in client.calls)
    if n_cut:
        message = f"{n_cut} requests count fewer prompt tokens than instructions"
        client.problems.warn("cut-context", f"{message}: does the server cut them?")
    return results


async def _run_one(
    plan: Plan,
    client: Client,
    planned: Fields,
    step: Callable[..., None],
) -> tuple[list[SampleRun], list[Episode]]:
    """The work on every sample, in their order, and the episodes learnt."""
    episodes = list(plan.episodes) if planned["condition"] in USE_MEMORY else []
    samples = [SampleRun(plan, client, planned, text) for text in plan.texts]

    async def work_on(sample: SampleRun) -> None:
        await sample.work(episodes)
        cost = f", cost {client.cost:.2f}" if plan.config.price else ""
        step(f"{client.sent} sent, {client.retries} retries{cost}")

    learns = planned["condition"] == "m2"
    batches = [samples]
    if learns and plan.config.memory.mode == "online":
        batches = [[sample] for sample in samples]
        random.Random(planned["seed"]).shuffle(batches)
    for batch in batches:
        await asyncio.gather(*(work_on(sample) for sample in batch))
        for sample in batch * learns:
            episodes += sample.learnt(episodes)
    return samples, episodes[len(plan.episodes) :]


def write_run(
    plan: Plan,
    planned: Fields,
    folder: Path,
    samples: Sequence[SampleRun],
    episodes: Sequence[Episode],
    counted: set[str],
) -> Counter[str]:
    """Put the folder of a run in its place, whole or not at all; what a person changed in it is kept beside.

    `counted`: the requests whose cost an earlier row or run has named, which cost nothing here; those of this run are
    added. Where the folder holds these very files already, it stays, with what it was scored to.
    """
    meta = {"run_id": folder.name, "protocol_mode": "conflict_review_v1", **planned}
    rows = [sample.row(meta) for sample in samples]
    calls = []
    for row in rows:
        for entry in row["process_trace"]:
            call = entry["call"]
            call["cached"] = call["request"] in counted
            if call["cached"] and call["cost"]:
                call["cost"] = 0.0
            counted.add(call["request"])
            calls.append(
                {"text_id": row["meta"]["text_id"], **call, "error": entry.get("notes", "")}
            )
    totals = {}
    for count in ("tokens_in", "tokens_out", "cost"):
        known = [call[count] for call in calls if call[count] is not None]
        totals[count] = sum(known) if known else None
    reasons = Counter(sample.failure[1] if sample.failure else "" for sample in samples)
    gold = [
        sample.text.model_dump(mode="json", by_alias=True, exclude={"split"}, exclude_none=True)
        for sample in samples
    ]
    files = {
        OUTPUTS: _lines(rows),
        "gold.jsonl": _lines(gold),
        "calls.jsonl": _lines(calls),
    }
    if planned["condition"] == "m2":
        files["episodes.jsonl"] = _lines([episode.model_dump() for episode in episodes])
    manifest = {
        "run": folder.name,
        **planned,
        "config": plan.config.model_dump(mode="json"),
        "content": plan.content,
        "answered_by": dict(sorted(Counter(call["model"] for call in calls).items())),
        "evaltools": __version__,
        "requests": len(calls),
        **totals,
        "rows": len(rows),
        "failed": len(rows) - reasons[""],
        "files": {name: bytes_hash(text.encode()) for name, text in files.items()},
    }
    if changed_files(folder, manifest["files"]):
        with whole_folder(folder, SUITE.runner, _recorded(folder).files) as new:
            for name, text in files.items():
                write_text(new / name, text)
            write_json(new / MANIFEST, manifest)
    return reasons


class Recorded(BaseModel):
    """What the manifest of a run says, which names nothing where there is none, or a damaged one."""

    config_hash: str = ""
    files: dict[str, str] = {}


def _recorded(folder: Path) -> Recorded:
    with suppress(OSError, ValueError):
        return Recorded.model_validate_json((folder / MANIFEST).read_bytes())
    return Recorded()


def _lines(rows: Sequence[Any]) -> str:
    return "".join(dumps(row) + "\n" for row in rows)
