"""All that is known of an inference run before the first request."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ....core.errors import Problems, UsageError
from ....core.files import content_hash
from ....core.json_files import read_jsonl
from ....core.manifest import policy_hash
from ....core.records import require_file
from ....llm.replies import Limits
from ....llm.requests import address_in_force
from .config import Config, read_config
from .data import Text, read_texts, taxonomy
from .memory import Episode, sample_hash
from .prompts import LENSES, RECHECK, REVIEWERS, SINGLE, Prompts, read_prompts

LETTERS_PER_TOKEN = 2.0
"""Roughly, of Korean: for what a run will take, and to notice a context that a server cut."""

TOKENS_OF_REPLY = 150
"""Roughly, of one reply."""


@dataclass(frozen=True)
class RunKey:
    """What one run of a plan is of; a run has a folder of its own."""

    condition: str
    seed: int


@dataclass(frozen=True)
class Plan:
    """`content`: the hashes of the files that rows follow from."""

    config: Config
    texts: list[Text]
    prompts: Prompts
    episodes: list[Episode]
    content: dict[str, Any]

    @property
    def runs(self) -> list[RunKey]:
        """The runs in the order in which they are worked on."""
        runs = []
        for seed in self.config.seeds:
            for condition in self.config.conditions:
                runs.append(RunKey(condition, seed))
        return runs

    def folder(self, key: RunKey) -> str:
        """The name of a run's folder below results/."""
        run_id = self.config.run_id
        if len(self.config.conditions) > 1:
            run_id = f"{run_id}_{key.condition}"
        return f"{run_id}__seed{key.seed}_proposed"

    def identity(self, key: RunKey) -> str:
        """The hash of all that a row of a run follows from."""
        config = self.config
        asked = {"name", "base_url", "temperature", "max_tokens"}
        model = config.model.model_dump(mode="json", include=asked)
        model["base_url"] = address_in_force(config.model.base_url)
        identity = {
            "condition": key.condition,
            "seed": key.seed,
            "recheck": config.recheck,
            "model": model,
            "memory": config.memory.mode if key.condition in ("m1", "m2") else None,
            **self.content,
        }
        return policy_hash(identity)


def plan(
    path: Path,
    limit: int | None,
    problems: Problems,
) -> Plan:
    """Read everything that a config names. InputError or UsageError for what cannot be run."""
    config = read_config(path)
    texts = read_texts(config, limit, problems)
    refs = taxonomy(config, texts, problems)
    episodes = _episodes(config, texts, problems)
    if config.model.temperature == 0 and len(config.seeds) > 1:
        problems.warn(
            "repeated-seeds", "at temperature 0 several seeds are repeats of one", file=path
        )
    prompts = read_prompts(config.model, refs)
    content: dict[str, Any] = {
        "data": content_hash(config.data.file),
        "prompts": policy_hash(prompts.texts),
    }
    if config.memory.file is not None:
        content["memory"] = content_hash(config.memory.file)
    return Plan(config, texts, prompts, episodes, content)


def _episodes(
    config: Config,
    texts: list[Text],
    problems: Problems,
) -> list[Episode]:
    """The episodes of the config's file, where a condition uses them.

    UsageError where a run would learn from samples that it evaluates, unless the config allows it.
    """
    memory = config.memory
    episodes: list[Episode] = []
    if memory.file is not None:
        require_file(memory.file, problems)
        if "m1" in config.conditions or "m2" in config.conditions:
            episodes = [episode for _, episode in read_jsonl(memory.file, Episode, problems)]
            problems.raise_if_failed()
    evaluated = {sample_hash(text) for text in texts}
    learnt_from = {episode.source for episode in episodes}
    if memory.mode == "online" and "m2" in config.conditions:
        learnt_from |= evaluated
    n = len(learnt_from & evaluated)
    if n and not memory.allow_evaluated_split:
        raise UsageError(
            f"memory: this run would learn from {n} samples that it evaluates; "
            "build the episodes from another split, or set [memory] "
            "allow_evaluated_split = true"
        )
    return episodes


def first_request(plan: Plan, stage: str) -> list[str]:
    """Instructions and data of a stage's request about the first sample, as they would be sent."""
    request = plan.prompts.request(stage, plan.config.seeds[0], plan.texts[0].text)
    return [message["content"] for message in request["messages"]]


class Expected(NamedTuple):
    """What a run takes at most: requests of each stage, tokens, cost (None without prices)."""

    requests: dict[str, int]
    tokens_in: int
    tokens_out: int
    cost: float | None


def expected(plan: Plan) -> Expected:
    """What a run would take at most; stage 1 is shared by the conditions of a seed."""
    config = plan.config
    n_asked = len(plan.texts) * len(config.seeds)
    n_reviewed = sum(condition != "s0" for condition in config.conditions)
    requests = {
        **dict.fromkeys(LENSES, n_asked * (n_reviewed > 0)),
        **dict.fromkeys(SINGLE, n_asked * ("s0" in config.conditions)),
        **dict.fromkeys(REVIEWERS, n_asked * n_reviewed),
        **dict.fromkeys(RECHECK, n_asked * n_reviewed * config.recheck),
    }
    requests = {stage: n for stage, n in requests.items() if n}
    letters = sum(n * len("".join(first_request(plan, stage))) for stage, n in requests.items())
    tokens_in = int(letters / LETTERS_PER_TOKEN)
    tokens_out = sum(requests.values()) * min(config.model.max_tokens, TOKENS_OF_REPLY)
    cost = Limits(price=config.prices).cost_of(tokens_in, tokens_out)
    return Expected(requests, tokens_in, tokens_out, cost)
