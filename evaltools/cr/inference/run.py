"""A whole inference run: samples through the stages, for every seed and condition, into runs' folders.

    texts --lenses--> candidates --conflicts, memory--> reviewers --arbiter--> rows, calls, episodes

Rows follow from the replies alone, in the order of the samples: neither concurrency nor interruptions change them.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ... import __version__
from ...core.errors import Problems, UsageError, WorkFailed
from ...core.files import content_hash, dumps, require_writable, write_json, write_jsonl
from ...core.progress import bar
from ...llm.client import Answer, Client, Limits, Server, in_background
from ..schema import STAND_IN
from ..table import SUITE
from . import protocol
from .config import EXAMPLE, Config, read_config
from .data import Text, read_texts, taxonomy
from .memory import Episode, as_text, learnt, read_episodes, refuse_evaluated, retrieved
from .prompts import LENSES, REPLIES, REVIEWERS, Prompts, read_prompts
from .protocol import Action, Candidate, Conflict, Decision, Refused, Vote
from .standin import StandIn

MANIFEST = SUITE.runner[0]

LETTERS_PER_TOKEN = 2.0
"""Roughly, of Korean: for what a run will take, and to notice a context that a server cut."""


@dataclass(frozen=True)
class Settings:
    """`fresh`: ask anew what was answered before, and replace runs of another config."""

    out: Path
    limit: int | None = None
    max_requests: int | None = None
    max_cost: float | None = None
    fresh: bool = False
    quiet: bool = False


@dataclass(frozen=True)
class Plan:
    """All that is known before the first request."""

    config: Config
    texts: list[Text]
    refs: tuple[str, ...]
    prompts: Prompts
    episodes: list[Episode]
    content: dict[str, Any]
    """Hashes of the files that rows follow from."""

    @property
    def runs(self) -> list[tuple[str, int]]:
        """(condition, seed), in the order in which they are worked on."""
        return [(condition, seed) for seed in self.config.seeds for condition in self.config.conditions]


@dataclass
class Work:
    """One sample under one condition and seed, as far as it came. `stages`: (stage, answer) in order."""

    text: Text
    stages: list[tuple[str, Answer[Any]]] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    refused: Refused = field(default_factory=Refused)
    shown: list[Episode] = field(default_factory=list)

    @property
    def failed(self) -> str:
        """Why the sample has no result; "" where it has one."""
        return next((f"{stage}: {a.error}" for stage, a in self.stages if a.reply is None), "")

    @property
    def final(self) -> list[Candidate]:
        return protocol.applied(self.candidates, self.decisions)


def plan(path: Path, limit: int | None, problems: Problems) -> Plan:
    """Read everything that a config names. InputError or UsageError for what cannot be run."""
    config = read_config(path)
    texts = read_texts(config, limit, problems)
    refs = taxonomy(config, texts, problems)
    memory, episodes = config.memory, []
    if memory.file is not None and {"m1", "m2"} & set(config.conditions):
        episodes = read_episodes(memory.file, texts, memory.allow_evaluated_split, problems)
    if memory.mode == "online" and "m2" in config.conditions:
        refuse_evaluated(len(texts), "its own", memory.allow_evaluated_split)
    if config.model.temperature == 0 and len(config.seeds) > 1:
        problems.warn("repeated-seeds", "at temperature 0 several seeds are repeats of one", file=str(path))
    prompts = read_prompts(config.prompts)
    content = {"data": content_hash(config.data.file), "prompts": prompts.hash, "refs": list(refs)}
    content |= {"memory": content_hash(memory.file)} if memory.file else {}
    return Plan(config, texts, refs, prompts, episodes, content)


def expected(plan: Plan) -> dict[str, Any]:
    """What a run would take at most: requests (stage 1 is shared by the conditions of a seed), tokens, cost."""
    config, n = plan.config, len(plan.texts)
    reviewed = sum(c != "s0" for c in config.conditions)
    calls = {**dict.fromkeys(LENSES, int(reviewed > 0)), "s0": int("s0" in config.conditions)}
    calls |= dict.fromkeys(REVIEWERS, reviewed) | {"recheck": reviewed * config.recheck}
    requests = {stage: times * n * len(config.seeds) for stage, times in calls.items() if times}
    tokens_in = 0.0
    for stage, times in requests.items():
        body = plan.prompts.request(stage, config, config.seeds[0], plan.texts[0].text, plan.refs)
        tokens_in += times * len(dumps(body["messages"])) / LETTERS_PER_TOKEN
    tokens_out = sum(requests.values()) * min(config.model.max_tokens, 150)
    price = config.price
    cost = None if price is None else (tokens_in * price.input + tokens_out * price.output) / 1e6
    return {"requests": requests, "tokens_in": int(tokens_in), "tokens_out": tokens_out, "cost": cost}


def run(plan: Plan, settings: Settings, problems: Problems) -> list[tuple[Path, int, int]]:
    """Work on every condition and seed: (folder, rows, failed rows) of each.

    UsageError, before anything is sent, where a folder holds something else. WorkFailed where the server refuses
    everything (key, quota, model, address) or a limit is reached: what was answered is kept, a later start goes on.
    """
    config = plan.config
    require_writable(settings.out)
    folders = {r: settings.out / "results" / config.run_name(*r) for r in plan.runs}
    for (condition, seed), folder in folders.items():
        _refuse_foreign(folder, config.identity(condition, seed, plan.content), settings.fresh)
    if settings.max_cost is not None and config.price is None:
        raise UsageError("--max-cost needs the [price] of the config")
    return in_background(_run(plan, settings, folders, problems))


def _refuse_foreign(folder: Path, identity: str, fresh: bool) -> None:
    if fresh or not folder.exists():
        return
    try:
        same = json.loads((folder / MANIFEST).read_bytes())["config_hash"] == identity
    except (OSError, ValueError, LookupError, TypeError):
        same = False
    if not same:
        raise UsageError(f"{folder} holds something that this config did not make; --fresh replaces it")


async def _run(
    plan: Plan, settings: Settings, folders: dict[tuple[str, int], Path], problems: Problems
) -> list[tuple[Path, int, int]]:
    config, price = plan.config, plan.config.price
    model = config.model
    kind = StandIn if model.base_url == EXAMPLE else Client
    server = Server(model.base_url, (model.key_env,), model.concurrency)
    limits = Limits(settings.max_requests, settings.max_cost, (price.input, price.output) if price else None)
    cache = settings.out / "llm-cache"
    counted: set[str] = set()
    done = []
    async with kind(server, cache, problems, limits, repairs=1, fresh=settings.fresh) as client:
        with bar(len(plan.texts) * len(plan.runs), "samples", settings.quiet) as step:

            def progress() -> None:
                s = client.spent
                cost = f" cost {s.cost:.2f}" if price else ""
                step(f"{s.requests} sent, {s.cached} cached, {s.retries} retries, {s.tokens:,} tokens{cost}")

            for condition, seed in plan.runs:
                found, episodes = await _condition(plan, client, condition, seed, progress)
                if stopped := next((a.error for w in found for _, a in w.stages if a.lasting), ""):
                    raise WorkFailed(
                        f"{stopped}; what was answered is kept in {cache}: the same command goes on there"
                    )
                done.append(_write(plan, folders[condition, seed], condition, seed, found, episodes, counted))
        _warn_of_cut_contexts(plan, client, problems)
    return done


async def _condition(
    plan: Plan, client: Client, condition: str, seed: int, progress: Any
) -> tuple[list[Work], list[Episode]]:
    """The work on every sample, in their order, and the episodes learnt."""
    learns, online = condition == "m2", plan.config.memory.mode == "online" and condition == "m2"
    known = list(plan.episodes) if condition in ("m1", "m2") else []
    new: list[Episode] = []
    found: dict[str, Work] = {}

    async def one(text: Text) -> None:
        found[text.id] = await _sample(plan, client, condition, seed, text, [*known, *new] if online else known)
        progress()

    if online:
        order = list(plan.texts)
        random.Random(seed).shuffle(order)
        for text in order:
            await one(text)
            new += _episode(found[text.id], [*known, *new])
    else:
        await asyncio.gather(*(one(text) for text in plan.texts))
        for text in plan.texts if learns else ():
            new += _episode(found[text.id], [*known, *new])
    return [found[text.id] for text in plan.texts], new


def _episode(work: Work, episodes: Sequence[Episode]) -> list[Episode]:
    if work.failed:
        return []
    found = learnt(work.text, work.candidates, work.final, work.conflicts, work.decisions, episodes)
    return [found] if found else []


async def _sample(
    plan: Plan, client: Client, condition: str, seed: int, text: Text, episodes: Sequence[Episode]
) -> Work:
    config, work = plan.config, Work(text)

    async def ask(stages: Iterable[str], **more: Any) -> dict[str, Any] | None:
        """Stage -> reply; None where one failed."""
        names = list(stages)
        bodies = [plan.prompts.request(s, config, seed, text.text, plan.refs, **more) for s in names]
        answers = await asyncio.gather(*(client.ask(b, REPLIES[s]) for b, s in zip(bodies, names)))
        work.stages += zip(names, answers)
        return None if work.failed else {s: a.reply for s, a in zip(names, answers)}

    lenses = {"s0": "S0"} if condition == "s0" else LENSES
    replies = await ask(lenses)
    if replies is None:
        return work
    triplets = {lenses[s]: r.triplets for s, r in replies.items()}
    work.candidates = protocol.merge(triplets, text.text, plan.refs, config.arbiter, work.refused)
    if condition == "s0":
        return work
    work.conflicts = protocol.conflicts(work.candidates)
    if config.arbiter == "strict" and not work.conflicts:
        return work
    work.shown = retrieved(episodes, text.text)
    shown = {"candidates": work.candidates, "memory": as_text(work.shown)}
    replies = await ask(REVIEWERS, found=work.conflicts, **shown)
    if replies is None:
        return work
    actions = {REVIEWERS[s]: r.review_actions for s, r in replies.items()}
    ballots = protocol.votes(actions, work.candidates, work.conflicts, config.arbiter, work.refused)
    work.decisions = protocol.arbitrate(ballots, work.conflicts)
    open_ids = {d.id for d in work.decisions if not d.settled}
    if config.recheck and open_ids:
        groups = [c for c in work.conflicts if open_ids & set(c.ids)]
        again = await ask(["recheck"], found=groups, **shown)
        if again is not None:
            _recheck(work, again["recheck"].review_actions, open_ids)
    return work


def _recheck(work: Work, actions: Sequence[Action], open_ids: set[str]) -> None:
    """Decisions that the votes left open follow the one more word."""
    ballots = protocol.votes({"RECHECK": actions}, work.candidates, work.conflicts, "strict", work.refused)
    said: dict[str, Vote] = {i: cast[0] for i, cast in ballots.items() if cast and i in open_ids}
    work.decisions = [
        Decision(d.id, said[d.id].action, said[d.id].reason, said[d.id].polarity) if d.id in said else d
        for d in work.decisions
    ]


def _write(
    plan: Plan,
    folder: Path,
    condition: str,
    seed: int,
    found: Sequence[Work],
    episodes: Sequence[Episode],
    counted: set[str],
) -> tuple[Path, int, int]:
    """Write the files of a run, each whole or not at all, the manifest last."""
    config = plan.config
    identity = config.identity(condition, seed, plan.content)
    calls = [list(_calls(w, counted)) for w in found]
    model = STAND_IN if config.model.base_url == EXAMPLE else config.model.name
    meta = {"run_id": folder.name, "protocol_mode": "conflict_review_v1", "condition": condition, "seed": seed}
    meta |= {"model": model, "config_hash": identity}
    write_jsonl(folder / "outputs.jsonl", (_row(w, c, meta) for w, c in zip(found, calls)))
    write_jsonl(
        folder / "gold.jsonl", ({"uid": t.id, "input_text": t.text, "gold_tuples": t.gold} for t in plan.texts)
    )
    write_jsonl(folder / "calls.jsonl", ({"text_id": w.text.id, **c} for w, of in zip(found, calls) for c in of))
    if condition == "m2":
        write_jsonl(folder / "episodes.jsonl", (e.model_dump(mode="json") for e in episodes))
    of_all = [c for of in calls for c in of]
    failed = sum(bool(w.failed) for w in found)
    costs = [c["cost"] for c in of_all if c["cost"] is not None]
    content = {
        "run": folder.name,
        "config_hash": identity,
        **{k: meta[k] for k in ("condition", "seed", "model")},
        "stand_in": config.model.base_url == EXAMPLE,
        "config": config.model_dump(mode="json"),
        "content": plan.content,
        "evaltools": __version__,
        "rows": len(found),
        "failed": failed,
        "requests": len(of_all),
        "shared": sum(c["cached"] for c in of_all),
        **{k: sum(c[k] for c in of_all) for k in ("tokens_in", "tokens_out")},
        "cost": sum(costs) if costs else None,
    }
    write_json(folder / MANIFEST, content)
    return folder, len(found), failed


def _calls(work: Work, counted: set[str]) -> Iterator[dict[str, Any]]:
    """The calls of a sample. One that an earlier sample or condition made is cached, and costs nothing."""
    for stage, answer in work.stages:
        shared = answer.call.request in counted
        counted.add(answer.call.request)
        call = replace(answer.call, cost=0.0) if shared and answer.call.cost is not None else answer.call
        yield {"stage": stage, **asdict(call), "cached": shared, "error": answer.error}


def _row(work: Work, calls: Sequence[dict[str, Any]], meta: dict[str, Any]) -> dict[str, Any]:
    """A line of outputs.jsonl. A failed sample has empty tuples, the flag and the error."""
    failed = work.failed
    before, after = ([], []) if failed else (work.candidates, work.final)
    stage1, final = ([_tuple(c) for c in side] for side in (before, after))
    labels = [protocol.label(side) for side in (before, after)]
    slowest = [
        max((a.call.api_ms for s, a in work.stages if s in of), default=0) for of in ({*LENSES, "s0"}, REVIEWERS)
    ]
    reviews = [
        {**action.model_dump(mode="json"), "actor": REVIEWERS.get(stage, "RECHECK")}
        for stage, a in work.stages
        if a.reply is not None and isinstance(a.reply, protocol.Actions)
        for action in a.reply.review_actions
    ]
    explicit = [{"term": c.term, "span": _span(c)} for c in before if c.term]
    return {
        "meta": {
            "text_id": work.text.id,
            "input_text": work.text.text,
            "split": work.text.split or None,
            "profile": "paper_main",
            "latency_ms": sum(slowest),
            "memory": [e.source for e in work.shown],
            **meta,
        },
        "stage1_ate": {"label": labels[0], "aspects": explicit},
        "process_trace": [_trace(stage, a, c) for (stage, a), c in zip(work.stages, calls)],
        "analysis_flags": {
            "conflict_flags": [
                {"conflict_type": c.kind, "aspect_ref": c.ref, "aspect_term": c.term, "tuple_ids": c.ids}
                for c in work.conflicts
            ],
            "review_actions": [] if failed else reviews,
            "arb_actions": [] if failed else [_arbiter(d) for d in work.decisions],
            "refused": [{"actor": who, "what": what, "why": why} for who, what, why in work.refused.rows],
        },
        "final_result": {
            "label": labels[1],
            "stage1_tuples": stage1,
            "final_tuples": final,
            "final_tuples_pre_review": stage1,
            "final_tuples_post_review": final,
        },
        "flags": {"parse_failed": "the reply" in failed, "generate_failed": bool(failed)},
        "error": failed or None,
    }


def _span(c: Candidate) -> dict[str, int] | None:
    return {"start": c.span[0], "end": c.span[1]} if c.span else None


def _tuple(c: Candidate) -> dict[str, Any]:
    return {
        "tuple_id": c.id,
        "aspect_ref": c.ref,
        "aspect_term": c.term,
        "polarity": c.polarity,
        "span": _span(c),
        "evidence": c.evidence,
        "confidence": c.confidence,
        "origin": list(c.origin),
        "flags": list(c.flags),
    }


def _arbiter(d: Decision) -> dict[str, Any]:
    new = {"polarity": d.polarity} if d.action == "FLIP" else None
    found = {"action_type": d.action, "target_tuple_ids": [d.id], "new_value": new, "reason_code": d.reason}
    return {**found, "actor": "ARB"}


def _trace(stage: str, answer: Answer[Any], call: dict[str, Any]) -> dict[str, Any]:
    agent = {**LENSES, **REVIEWERS}.get(stage, stage.upper())
    entry = {
        "stage": "stage1" if stage in LENSES or stage == "s0" else "review",
        "agent": agent,
        "output": answer.reply.model_dump(mode="json") if answer.reply is not None else None,
        "call": {k: v for k, v in call.items() if k not in ("stage", "error")},
    }
    return {**entry, "notes": answer.error} if answer.error else entry


def _warn_of_cut_contexts(plan: Plan, client: Client, problems: Problems) -> None:
    """Some servers cut a context that is too long and say nothing: the tokens that they count show it."""
    shortest = min(map(len, plan.prompts.texts.values()))
    cut = [c for c in client.calls if 0 < c.tokens_in < shortest / (4 * LETTERS_PER_TOKEN)]
    if cut and not isinstance(client, StandIn):
        message = f"{len(cut)} requests count fewer prompt tokens than instructions: does the server cut them?"
        problems.warn("cut-context", message)


def asked_of_one(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """(stage, instructions, data) of the first sample, as they would be sent."""
    for stage in expected(plan)["requests"]:
        body = plan.prompts.request(stage, plan.config, plan.config.seeds[0], plan.texts[0].text, plan.refs)
        system, user = (m["content"] for m in body["messages"])
        yield stage, system, user
