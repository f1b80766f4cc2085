"""A whole inference run: samples through the stages, for every seed and condition, into folders of
runs.

Rows follow from the replies alone, in the order of the samples: neither concurrency nor
interruptions change them.
"""

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import BaseModel

from .... import __version__
from ....core.errors import Problems, UsageError, WorkFailed, bar
from ....core.files import Fields, bytes_hash, dumps, write_json, write_text
from ....core.manifest import changed_files, require_replaceable, whole_folder
from ....llm.client import Client, in_background
from ....llm.messages import Limits
from ..suite import SUITE
from .plan import LETTERS_PER_TOKEN, USE_MEMORY, Plan
from .protocol import Episode
from .sample import SampleRun
from .standin import StandIn

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
    if max_cost is not None and config.price is None:
        raise UsageError("--max-cost needs the [price] of the config")
    model = config.model
    cache = out / "llm-cache"
    client_class = StandIn if config.is_example else Client
    client = client_class(
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
    counted: set[str] = set()
    async with client:
        with bar(len(plan.texts) * len(plan.runs), "samples", quiet) as step:
            for name, planned in plan.runs.items():
                samples, episodes = await _run_one(plan, client, planned, step)
                if client.stopped:
                    message = f"{client.stopped}; what was answered is kept in {client.cache}"
                    raise WorkFailed(f"{message}: the same command goes on there")
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
            text_id = row["meta"]["text_id"]
            calls.append({"text_id": text_id, **call, "error": entry.get("notes", "")})
    totals = {}
    for count in ("tokens_in", "tokens_out", "cost"):
        known = [call[count] for call in calls if call[count] is not None]
        totals[count] = sum(known) if known else None
    reasons = Counter(sample.failure[1] if sample.failure else "" for sample in samples)
    manifest: Fields = {
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
    }
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
    manifest["files"] = {name: bytes_hash(text.encode()) for name, text in files.items()}
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
