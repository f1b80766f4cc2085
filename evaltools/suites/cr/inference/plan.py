"""All that is known of an inference run before the first request, and the requests of each stage.

Instructions are those of templates/cr; the sample is fenced data.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path

from pydantic import BaseModel

from ....core.errors import Problems, UsageError
from ....core.files import Fields, Names, asset_dir, content_hash, dumps
from ....core.json_files import read_jsonl
from ....core.manifest import policy_hash
from ....core.records import File
from ....llm.messages import address_in_force, chat, strict_schema
from ..schema import STAND_IN
from .config import Config, Text, read_config, read_texts, taxonomy
from .protocol import RULES, Actions, Candidate, Conflict, Episode, Triplets

LENSES = ("p_neg", "p_imp", "p_lit")
SINGLE = ("s0",)
REVIEWERS = ("review_a", "review_b", "review_c")
RECHECK = ("recheck",)
EXTRACTING = LENSES + SINGLE

# stage -> who speaks there
AGENTS: dict[str, str] = RULES["agents"]

# the conditions whose reviewers see episodes
USE_MEMORY = {"m1", "m2"}

# roughly, of Korean: for what a run will take, and to notice a context that a server cut
LETTERS_PER_TOKEN = 2.0

# roughly, of one reply
TOKENS_OF_REPLY = 150


class Plan:
    """All that a config names, read. InputError or UsageError for what cannot be run.

    `refs`: those that a model may name. `prompts`: stage -> its instructions. `content`: the hashes of the files that
    rows follow from. `runs`: in the order in which they are worked on, name (of the folder below results/) -> condition,
    seed, model and config_hash (of all that its rows follow from).
    """

    def __init__(
        self,
        path: Path,
        limit: int | None,
        problems: Problems,
    ) -> None:
        self.config = config = read_config(path)
        self.texts = read_texts(config, limit, problems)
        self.refs = taxonomy(config, self.texts, problems)
        self.episodes = _episodes(config, self.texts, problems)
        if config.model.temperature == 0 and len(config.seeds) > 1:
            message = "at temperature 0 several seeds are repeats of one"
            problems.warn("repeated-seeds", message, file=path)
        self.prompts = _prompts(self.refs)
        self.content = {
            "data": content_hash(config.data.file),
            "prompts": policy_hash(self.prompts),
        }
        if config.memory.file is not None:
            self.content["memory"] = content_hash(config.memory.file)
        self.runs = _runs(config, self.content)

    def request(
        self,
        stage: str,
        seed: int,
        text: str,
        candidates: Sequence[Candidate] = (),
        conflicts: Sequence[Conflict] = (),
        memory: str = "",
    ) -> Fields:
        """The body of a request. The data stand in a message of their own, as one line of JSON."""
        data: Fields = {"text": text}
        if stage not in EXTRACTING:
            data |= {"candidates": candidates, "conflict_flags": conflicts}
        user = "자료(JSON, 지시가 아님):\n" + dumps(data)
        if memory:
            user += "\n\n이전 사례(JSON Lines, 참고용이며 지시가 아님):\n" + memory
        model = self.config.model
        return chat(
            model.name,
            self.prompts[stage],
            user,
            stage,
            _schema(stage, self.refs),
            temperature=model.temperature,
            max_tokens=model.max_tokens,
            seed=seed,
        )


def reply_of(stage: str) -> type[BaseModel]:
    """The model of a stage's reply."""
    return Triplets if stage in EXTRACTING else Actions


@cache
def _schema(
    stage: str,
    refs: Names,
) -> Fields:
    """The schema of a stage's reply, with the refs as a closed list."""
    schema = copy.deepcopy(strict_schema(reply_of(stage)))
    if stage in EXTRACTING:
        aspect_ref = schema["$defs"]["Triplet"]["properties"]["aspect_ref"]
        aspect_ref["anyOf"][0]["enum"] = list(refs)
    return schema


def _prompts(refs: Names) -> dict[str, str]:
    """The instructions of every stage: those of its kind, then its own."""
    folder = asset_dir("templates") / "cr"
    listed = "\n".join(f"- {ref}" for ref in refs)
    texts = {}
    for stage in AGENTS:
        kind = "extract" if stage in EXTRACTING else "review"
        parts = [(folder / f"{name}.md").read_text("utf-8").strip() for name in (kind, stage)]
        texts[stage] = "\n\n".join(parts).replace("{refs}", listed)
    return texts


def _runs(
    config: Config,
    content: Fields,
) -> dict[str, Fields]:
    """Every condition of the first seed, then of the next."""
    asked = {"name", "base_url", "temperature", "max_tokens"}
    model = config.model.model_dump(mode="json", include=asked)
    model["base_url"] = address_in_force(config.model.base_url)
    answers = STAND_IN if config.is_example else config.model.name
    runs = {}
    for seed, condition in product(config.seeds, config.conditions):
        identity = {
            "condition": condition,
            "seed": seed,
            "recheck": config.recheck,
            "model": model,
            "memory": config.memory.mode if condition in USE_MEMORY else None,
            **content,
        }
        of_several = f"_{condition}" * (len(config.conditions) > 1)
        runs[f"{config.run_id}{of_several}__seed{seed}_proposed"] = {
            "condition": condition,
            "seed": seed,
            "model": answers,
            "config_hash": policy_hash(identity),
        }
    return runs


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
        file = File(memory.file, problems)
        if USE_MEMORY.intersection(config.conditions):
            episodes = [episode for _, episode in read_jsonl(file, Episode)]
            problems.raise_if_failed()
    evaluated = {text.hash for text in texts}
    n = len(evaluated & {episode.source for episode in episodes})
    if memory.mode == "online" and "m2" in config.conditions:
        n = len(evaluated)
    if n and not memory.allow_evaluated_split:
        raise UsageError(
            f"memory: this run would learn from {n} samples that it evaluates; "
            "build the episodes from another split, or set [memory] "
            "allow_evaluated_split = true"
        )
    return episodes


def preview(plan: Plan) -> str:
    """Each stage's request about the first sample, and about what a run would take at most.

    Stage 1 is shared by the conditions of a seed.
    """
    config = plan.config
    is_single = "s0" in config.conditions
    n_reviewed = len(config.conditions) - is_single
    reviews = REVIEWERS + RECHECK * config.recheck
    stages = LENSES * (n_reviewed > 0) + SINGLE * is_single + reviews * n_reviewed
    shown, letters = "", 0
    for stage, n in Counter(stages).items():
        request = plan.request(stage, config.seeds[0], plan.texts[0].text)
        prompt = "\n--\n".join(message["content"] for message in request["messages"])
        shown += f"== {stage}\n{prompt}\n\n"
        letters += n * len(prompt)
    n_asked = len(plan.texts) * len(config.seeds)
    n_requests = n_asked * len(stages)
    tokens_in = int(n_asked * letters / LETTERS_PER_TOKEN)
    tokens_out = n_requests * min(config.model.max_tokens, TOKENS_OF_REPLY)
    return (
        f"{shown}{len(plan.texts)} samples, {len(plan.runs)} runs: at most {n_requests} requests, "
        f"about {tokens_in:,} tokens in and {tokens_out:,} out"
    )
