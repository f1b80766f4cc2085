"""A whole inference run: samples through the stages, for every seed and condition, into folders of
runs.

Rows follow from the replies alone, in the order of the samples: neither concurrency nor
interruptions change them.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from ....core.errors import Problems, UsageError, WorkFailed
from ....core.folders import require_out, require_replaceable
from ....core.terminal import bar
from ....llm.client import Client, in_background
from ....llm.replies import Limits
from ..suite import SUITE
from .memory import Episode
from .plan import LETTERS_PER_TOKEN, Plan, RunKey
from .sample import RunResult, SampleRun, identity_of, write_run
from .standin import StandIn


def run(
    plan: Plan,
    out: Path,
    problems: Problems,
    max_requests: int | None = None,
    max_cost: float | None = None,
    *,
    fresh: bool = False,
    quiet: bool = False,
) -> list[RunResult]:
    """Work on every condition and seed, and write the folder of each.

    `fresh`: ask anew what was answered before, and replace runs of another config. UsageError,
    before anything is sent, where a folder holds something else. WorkFailed where the server
    refuses everything (key, quota, model, address) or a limit is reached: what was answered is
    kept, a later start goes on.
    """
    config = plan.config
    require_out(out)
    folders = _folders(plan, out, fresh)
    if max_cost is not None and config.prices is None:
        raise UsageError("--max-cost needs the [price] of the config")
    model = config.model
    client_class = StandIn if config.is_example else Client
    client = client_class(
        model.base_url,
        out / "llm-cache",
        problems,
        Limits(max_requests, max_cost, config.prices),
        keys=(model.key_env,),
        concurrency=model.concurrency,
        repairs=1,
        fresh=fresh,
    )
    with _alone(out / "llm-cache", config.run_id):
        return in_background(_run_all(plan, client, folders, quiet))


@contextmanager
def _alone(folder: Path, run_id: str) -> Iterator[None]:
    """Hold the lock of a run. UsageError at once, naming the process, where another holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    owner = folder / f"{run_id}.pid"
    lock = FileLock(folder / f"{run_id}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        pid = owner.read_text() if owner.is_file() else "unknown"
        raise UsageError(f"{run_id} is being run in {folder.parent} by process {pid}") from None
    try:
        owner.write_text(str(os.getpid()))
        yield
    finally:
        owner.unlink(missing_ok=True)
        lock.release()


def _folders(
    plan: Plan,
    out: Path,
    fresh: bool,
) -> dict[RunKey, Path]:
    """The folder of every run. UsageError where one holds what this config did not make."""
    folders = {}
    for key in plan.runs:
        folder = out / "results" / plan.folder(key)
        stored = identity_of(folder)
        # not even --fresh replaces what is not of ours
        require_replaceable(folder, SUITE.runner if stored else ())
        if stored != plan.identity(key) and not fresh and any(folder.glob("[!.]*")):
            raise UsageError(
                f"{folder} holds something that this config did not make; --fresh replaces it"
            )
        folders[key] = folder
    return folders


async def _run_all(
    plan: Plan,
    client: Client,
    folders: dict[RunKey, Path],
    quiet: bool,
) -> list[RunResult]:
    results = []
    counted: set[str] = set()
    async with client:
        with bar(len(plan.texts) * len(folders), "samples", quiet) as step:

            def progress() -> None:
                spent = client.spent
                text = (
                    f"{spent.requests} sent, {spent.cached} cached, {spent.retries} retries, "
                    f"{spent.tokens:,} tokens"
                )
                if plan.config.price is not None:
                    text += f" cost {spent.cost:.2f}"
                step(text)

            for key, folder in folders.items():
                samples, episodes = await _run_one(plan, client, key, progress)
                for answer in (answer for sample in samples for _, answer in sample.stages):
                    if answer.lasting:
                        message = f"{answer.error}; what was answered is kept in {client.cache}"
                        raise WorkFailed(f"{message}: the same command goes on there")
                results.append(write_run(plan, key, folder, samples, episodes, counted))
    _warn_of_cut_contexts(plan, client)
    return results


async def _run_one(
    plan: Plan,
    client: Client,
    key: RunKey,
    progress: Callable[[], None],
) -> tuple[list[SampleRun], list[Episode]]:
    """The work on every sample, in their order, and the episodes learnt."""
    uses_memory = key.condition in ("m1", "m2")
    writes_memory = key.condition == "m2"
    episodes = list(plan.episodes) if uses_memory else []
    n_known = len(episodes)
    samples = [SampleRun(plan, client, key, text) for text in plan.texts]

    async def work_on(sample: SampleRun) -> None:
        await sample.work(episodes)
        progress()

    batches = [samples]
    if writes_memory and plan.config.memory.mode == "online":
        shuffled = list(samples)
        random.Random(key.seed).shuffle(shuffled)
        batches = [[sample] for sample in shuffled]
    for batch in batches:
        await asyncio.gather(*(work_on(sample) for sample in batch))
        if not writes_memory:
            continue
        for sample in batch:
            episode = sample.learnt(episodes)
            if episode is not None:
                episodes.append(episode)
    return samples, episodes[n_known:]


def _warn_of_cut_contexts(plan: Plan, client: Client) -> None:
    """Some servers cut a context that is too long in silence: the tokens they count show it."""
    if plan.config.is_example:
        return
    shortest = min(len(text) for text in plan.prompts.texts.values())
    fewest = shortest / (4 * LETTERS_PER_TOKEN)
    n_cut = sum(0 < (call.tokens_in or 0) < fewest for call in client.calls)
    if n_cut:
        client.problems.warn(
            "cut-context",
            f"{n_cut} requests count fewer prompt tokens than instructions: does the "
            "server cut them?",
        )
