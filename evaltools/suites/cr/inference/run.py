"""A whole inference run: samples through the stages, for every seed and condition, into runs' folders.

    texts --lenses--> candidates --conflicts, memory--> reviewers --arbiter--> rows, calls, episodes

Rows follow from the replies alone, in the order of the samples: neither concurrency nor interruptions change them.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .... import __version__
from ....core.errors import Problems, UsageError, WorkFailed
from ....core.files import content_hash, require_writable, write_json, write_jsonl
from ....core.progress import bar
from ....core.records import require_file
from ....llm.client import Answer, Client, Limits, Server, in_background
from ..schema import STAND_IN
from ..suite import SUITE
from . import protocol
from .config import EXAMPLE, Config, read_config
from .data import Text, read_texts, taxonomy
from .memory import Episode, as_text, read_episodes, refuse_evaluated, retrieved, sample_hash, shape
from .prompts import (
    AGENTS,
    LENSES,
    RECHECK,
    REPLIES,
    REVIEWERS,
    ROUNDS,
    SINGLE,
    Prompts,
    read_prompts,
)
from .protocol import Actions, Candidate, Conflict, Refused, Triplets, Vote
from .standin import StandIn

MANIFEST = SUITE.runner[0]

LETTERS_PER_TOKEN = 2.0
"""Roughly, of Korean: for what a run will take, and to notice a context that a server cut."""

RECENT = 200
"""A conflict is new if none of so many last episodes has its kinds."""

Key = tuple[str, int]
"""Condition and seed."""


@dataclass(frozen=True)
class Plan:
    """All that is known before the first request."""

    config: Config
    texts: list[Text]
    prompts: Prompts
    episodes: list[Episode]
    content: dict[str, Any]
    """Hashes of the files that rows follow from."""

    @property
    def runs(self) -> list[Key]:
        """In the order in which they are worked on."""
        return [
            (condition, seed) for seed in self.config.seeds for condition in self.config.conditions
        ]


@dataclass
class Work:
    """One sample under one condition and seed, as far as it came. `stages`: (stage, answer) in order."""

    text: Text
    stages: list[tuple[str, Answer[Any]]] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    decisions: dict[str, Vote] = field(default_factory=dict)
    refused: Refused = field(default_factory=list)
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
    if memory.file is not None:
        require_file(memory.file, problems)
    if memory.file is not None and {"m1", "m2"} & set(config.conditions):
        episodes = read_episodes(memory.file, texts, memory.allow_evaluated_split, problems)
    if memory.mode == "online" and "m2" in config.conditions:
        refuse_evaluated(len(texts), "its own", memory.allow_evaluated_split)
    if config.model.temperature == 0 and len(config.seeds) > 1:
        problems.warn(
            "repeated-seeds", "at temperature 0 several seeds are repeats of one", file=str(path)
        )
    prompts = read_prompts(config.prompts, config.model, refs)
    content = {"data": content_hash(config.data.file), "prompts": prompts.hash, "refs": list(refs)}
    content |= {"memory": content_hash(memory.file)} if memory.file else {}
    return Plan(config, texts, prompts, episodes, content)


def first_request(plan: Plan, stage: str) -> list[str]:
    """Instructions and data of a stage's request about the first sample, as they would be sent."""
    body = plan.prompts.request(stage, plan.config.seeds[0], plan.texts[0].text)
    return [message["content"] for message in body["messages"]]


def expected(plan: Plan) -> dict[str, Any]:
    """What a run would take at most: requests (stage 1 is shared by the conditions of a seed), tokens, cost."""
    config, n = plan.config, len(plan.texts)
    reviewed = sum(c != "s0" for c in config.conditions)
    calls = {**dict.fromkeys(LENSES, int(reviewed > 0)), "s0": int("s0" in config.conditions)}
    calls |= dict.fromkeys(REVIEWERS, reviewed) | {"recheck": reviewed * config.recheck}
    requests = {stage: times * n * len(config.seeds) for stage, times in calls.items() if times}
    letters = sum(
        times * len("".join(first_request(plan, stage))) for stage, times in requests.items()
    )
    tokens_in = letters / LETTERS_PER_TOKEN
    tokens_out = sum(requests.values()) * min(config.model.max_tokens, 150)
    price = config.price
    cost = None if price is None else (tokens_in * price.input + tokens_out * price.output) / 1e6
    return {
        "requests": requests,
        "tokens_in": int(tokens_in),
        "tokens_out": tokens_out,
        "cost": cost,
    }


def run(
    plan: Plan,
    out: Path,
    problems: Problems,
    max_requests: int | None = None,
    max_cost: float | None = None,
    *,
    fresh: bool = False,
    quiet: bool = False,
) -> list[tuple[Path, int, int]]:
    """Work on every condition and seed: (folder, rows, failed rows) of each.

    `fresh`: ask anew what was answered before, and replace runs of another config. UsageError, before anything is
    sent, where a folder holds something else. WorkFailed where the server refuses everything (key, quota, model,
    address) or a limit is reached: what was answered is kept, a later start goes on.
    """
    config, model, price = plan.config, plan.config.model, plan.config.price
    require_writable(out)
    folders = {r: out / "results" / config.run_name(*r) for r in plan.runs}
    for (condition, seed), folder in folders.items():
        if (
            not fresh
            and folder.exists()
            and _identity_of(folder) != config.identity(condition, seed, plan.content)
        ):
            raise UsageError(
                f"{folder} holds something that this config did not make; --fresh replaces it"
            )
    if max_cost is not None and price is None:
        raise UsageError("--max-cost needs the [price] of the config")
    kind = StandIn if model.base_url == EXAMPLE else Client
    server = Server(model.base_url, (model.key_env,), model.concurrency)
    limits = Limits(max_requests, max_cost, (price.input, price.output) if price else None)
    client = kind(server, out / "llm-cache", problems, limits, repairs=1, fresh=fresh)
    return in_background(_run(plan, client, folders, problems, quiet))


def _identity_of(folder: Path) -> str | None:
    """The identity of the run that a folder holds; None where it holds none."""
    try:
        return json.loads((folder / MANIFEST).read_bytes())["config_hash"]
    except (OSError, ValueError, LookupError, TypeError):
        return None


async def _run(
    plan: Plan, client: Client, folders: dict[Key, Path], problems: Problems, quiet: bool
) -> list[tuple[Path, int, int]]:
    counted: set[str] = set()
    done = []
    async with client:
        with bar(len(plan.texts) * len(plan.runs), "samples", quiet) as step:

            def progress() -> None:
                s = client.spent
                cost = f" cost {s.cost:.2f}" if plan.config.price else ""
                step(
                    f"{s.requests} sent, {s.cached} cached, {s.retries} retries, {s.tokens:,} tokens{cost}"
                )

            for key, folder in folders.items():
                found, episodes = await _condition(plan, client, key, progress)
                if stopped := next((a.error for w in found for _, a in w.stages if a.lasting), ""):
                    kept = f"what was answered is kept in {client.cache}: the same command goes on there"
                    raise WorkFailed(f"{stopped}; {kept}")
                done.append(_write(plan, key, folder, found, episodes, counted))
        _warn_of_cut_contexts(plan, client, problems)
    return done


async def _condition(
    plan: Plan, client: Client, key: Key, progress: Any
) -> tuple[list[Work], list[Episode]]:
    """The work on every sample, in their order, and the episodes learnt."""
    condition, seed = key
    episodes = list(plan.episodes) if condition in ("m1", "m2") else []
    known = len(episodes)
    found = [Work(text) for text in plan.texts]

    async def one(work: Work) -> None:
        await _sample(plan, client, key, work, episodes)
        progress()

    order = list(found)
    random.Random(seed).shuffle(order)
    online = condition == "m2" and plan.config.memory.mode == "online"
    for batch in [[work] for work in order] if online else [found]:
        await asyncio.gather(*map(one, batch))
        for work in batch if condition == "m2" else ():
            episodes += _learnt(work, episodes)
    return found, episodes[known:]


async def _sample(
    plan: Plan, client: Client, key: Key, work: Work, episodes: Sequence[Episode]
) -> None:
    """Work on one sample, as far as its replies carry."""
    config, text = plan.config, work.text.text
    condition, seed = key

    async def ask(stages: Iterable[str], wanted: str, *shown: Any) -> dict[str, Any]:
        """Who was asked -> what is wanted of the reply; nothing where one failed."""
        names = list(stages)
        bodies = [plan.prompts.request(stage, seed, text, *shown) for stage in names]
        answers = await asyncio.gather(*(client.ask(b, REPLIES[s]) for b, s in zip(bodies, names)))
        work.stages += zip(names, answers)
        return (
            {}
            if work.failed
            else {AGENTS[s]: getattr(a.reply, wanted) for s, a in zip(names, answers)}
        )

    triplets = await ask(SINGLE if condition == "s0" else LENSES, "triplets")
    work.candidates = protocol.merge(
        triplets, text, plan.prompts.refs, config.arbiter, work.refused
    )
    if work.failed or condition == "s0":
        return
    work.conflicts = protocol.conflicts(work.candidates)
    if config.arbiter == "strict" and not work.conflicts:
        return
    work.shown = retrieved(episodes, text)
    memory = as_text(work.shown)
    actions = await ask(REVIEWERS, "review_actions", work.candidates, work.conflicts, memory)
    if work.failed:
        return
    ballots = protocol.votes(actions, work.candidates, work.conflicts, config.arbiter, work.refused)
    work.decisions = protocol.arbitrate(ballots, work.conflicts)
    open_ids = {name for name, d in work.decisions.items() if not d.settled}
    if config.recheck and open_ids:  # what the votes left open follows one more word
        groups = [c for c in work.conflicts if open_ids & set(c.ids)]
        actions = await ask(RECHECK, "review_actions", work.candidates, groups, memory)
        ballots = protocol.votes(actions, work.candidates, work.conflicts, "strict", work.refused)
        work.decisions |= {
            name: cast[0] for name, cast in ballots.items() if cast and name in open_ids
        }


def _learnt(work: Work, episodes: Sequence[Episode]) -> list[Episode]:
    """The episode of a sample: of a correction, or of conflicts that none of the RECENT last has; else none."""
    corrected = tuple(
        (d.action, d.reason) for d in work.decisions.values() if d.action in ("DROP", "FLIP")
    )
    kinds = tuple(sorted({c.kind for c in work.conflicts}))
    new = kinds and kinds not in {e.conflicts for e in episodes[-RECENT:]}
    if work.failed or not (corrected or new):
        return []
    stages = {
        stage: {
            term: [c.polarity for c in of]
            for term, of in protocol.grouped(side, lambda c: c.term).items()
        }
        for stage, side in (("stage1", work.candidates), ("final", work.final))
    }
    of_text = shape(work.text.text)
    return [
        Episode(
            source=sample_hash(work.text), **of_text, conflicts=kinds, **stages, corrected=corrected
        )
    ]


def _write(
    plan: Plan,
    key: Key,
    folder: Path,
    found: Sequence[Work],
    episodes: Sequence[Episode],
    counted: set[str],
) -> tuple[Path, int, int]:
    """Write the files of a run, each whole or not at all, the manifest last."""
    config, (condition, seed) = plan.config, key
    same = {
        "condition": condition,
        "seed": seed,
        "model": STAND_IN if config.model.base_url == EXAMPLE else config.model.name,
        "config_hash": config.identity(condition, seed, plan.content),
    }
    meta = {"run_id": folder.name, "protocol_mode": "conflict_review_v1", **same}
    rows = [_row(work, meta, counted) for work in found]
    calls = [
        {"text_id": row["meta"]["text_id"], **entry["call"], "error": entry.get("notes", "")}
        for row in rows
        for entry in row["process_trace"]
    ]
    write_jsonl(folder / "outputs.jsonl", rows)
    write_jsonl(
        folder / "gold.jsonl",
        ({"uid": t.id, "input_text": t.text, "gold_tuples": t.gold} for t in plan.texts),
    )
    write_jsonl(folder / "calls.jsonl", calls)
    if condition == "m2":
        write_jsonl(folder / "episodes.jsonl", (e.model_dump(mode="json") for e in episodes))
    failed = sum(bool(w.failed) for w in found)
    costs = [c["cost"] for c in calls if c["cost"] is not None]
    content = {
        "run": folder.name,
        **same,
        "stand_in": config.model.base_url == EXAMPLE,
        "config": config.model_dump(mode="json"),
        "content": plan.content,
        "evaltools": __version__,
        "rows": len(found),
        "failed": failed,
        "requests": len(calls),
        "shared": sum(c["cached"] for c in calls),
        **{k: sum(c[k] for c in calls) for k in ("tokens_in", "tokens_out")},
        "cost": sum(costs) if costs else None,
    }
    write_json(folder / MANIFEST, content)
    return folder, len(found), failed


def _row(work: Work, meta: dict[str, Any], counted: set[str]) -> dict[str, Any]:
    """A line of outputs.jsonl. A failed sample has empty tuples, the flag and the error."""
    failed = work.failed
    sides = ([], []) if failed else (work.candidates, work.final)
    stage1, final = ([c.row for c in side] for side in sides)
    labels = [protocol.label(side) for side in sides]
    slowest = [max((a.call.api_ms for s, a in work.stages if s in of), default=0) for of in ROUNDS]
    reviews = [
        {**action.model_dump(mode="json"), "actor": AGENTS[stage]}
        for stage, a in work.stages
        if a.reply is not None and REPLIES[stage] is Actions
        for action in a.reply.review_actions
    ]
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
        "stage1_ate": {
            "label": labels[0],
            "aspects": [
                {"term": t["aspect_term"], "span": t["span"]} for t in stage1 if t["aspect_term"]
            ],
        },
        "process_trace": [_trace(stage, answer, counted) for stage, answer in work.stages],
        "analysis_flags": {
            "conflict_flags": [c.row for c in work.conflicts],
            "review_actions": [] if failed else reviews,
            "arb_actions": [] if failed else [_arbiter(*named) for named in work.decisions.items()],
            "refused": [
                {"actor": who, "what": what, "why": why} for who, what, why in work.refused
            ],
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


def _arbiter(name: str, d: Vote) -> dict[str, Any]:
    new = {"polarity": d.polarity} if d.action == "FLIP" else None
    found = {
        "action_type": d.action,
        "target_tuple_ids": [name],
        "new_value": new,
        "reason_code": d.reason,
    }
    return {**found, "actor": protocol.ARBITER}


def _trace(stage: str, answer: Answer[Any], counted: set[str]) -> dict[str, Any]:
    """An entry of the trace. A call that an earlier sample or condition made is cached, and costs nothing."""
    call, shared = asdict(answer.call), answer.call.request in counted
    counted.add(answer.call.request)
    if shared and call["cost"] is not None:
        call["cost"] = 0.0
    entry = {
        "stage": "stage1" if REPLIES[stage] is Triplets else "review",
        "agent": AGENTS[stage],
        "output": answer.reply.model_dump(mode="json") if answer.reply is not None else None,
        "call": {"stage": stage, **call, "cached": shared},
    }
    return {**entry, "notes": answer.error} if answer.error else entry


def _warn_of_cut_contexts(plan: Plan, client: Client, problems: Problems) -> None:
    """Some servers cut a context that is too long and say nothing: the tokens that they count show it."""
    shortest = min(map(len, plan.prompts.texts.values()))
    cut = [c for c in client.calls if 0 < c.tokens_in < shortest / (4 * LETTERS_PER_TOKEN)]
    if cut and not isinstance(client, StandIn):
        message = f"{len(cut)} requests count fewer prompt tokens than instructions: does the server cut them?"
        problems.warn("cut-context", message)
