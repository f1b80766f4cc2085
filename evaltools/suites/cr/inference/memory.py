"""Episodes: what was corrected in other samples, shown to the reviewers of later ones. They hold no text, no gold."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from ....core.errors import Problems, UsageError
from ....core.records import read_jsonl
from .data import Text

SHOWN, LETTERS = 3, 800
"""Episodes and characters of memory that a prompt holds at most."""

SHORT, LONG = 30, 80
"""Characters up to which a text is short, and from which on it is long."""

_NEGATION = re.compile(r"(?:^|\s)(?:안|못)\s|않|없|아니|\bnot\b|n't|不|没")
_CONTRAST = re.compile(r"지만|는데|그러나|하지만|반면|다만|\bbut\b|但|可是")


class Episode(BaseModel):
    """`stage1`, `final`: the polarities of each term; `corrected`: (action, reason) of what changed one.

    `source`: the hash of the sample, by which learning from what is evaluated is found out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    language: str
    negation: bool
    contrast: bool
    length: str
    conflicts: tuple[str, ...] = ()
    stage1: dict[str, list[str]] = {}
    final: dict[str, list[str]] = {}
    corrected: tuple[tuple[str, str], ...] = ()


def sample_hash(text: Text) -> str:
    return hashlib.sha256(f"{text.id}\0{text.text}".encode()).hexdigest()[:16]


def shape(text: str) -> dict[str, Any]:
    """Language and structure of a text, by which episodes are kept and found."""
    scripts = {"ko": r"[가-힣]", "zh": r"[一-鿿]"}
    language = next((name for name, letters in scripts.items() if re.search(letters, text)), "en")
    length = "short" if len(text) <= SHORT else "long" if len(text) >= LONG else "medium"
    found = {"negation": bool(_NEGATION.search(text)), "contrast": bool(_CONTRAST.search(text))}
    return {"language": language, "length": length, **found}


def read_episodes(
    path: Path, texts: Iterable[Text], allowed: bool, problems: Problems
) -> list[Episode]:
    """The episodes of a file. UsageError where one is of a sample that is evaluated, unless that is `allowed`."""
    episodes = [episode for _, episode in read_jsonl(path, Episode, problems)]
    problems.raise_if_failed()
    refuse_evaluated(
        len({e.source for e in episodes} & {sample_hash(t) for t in texts}), str(path), allowed
    )
    return episodes


def refuse_evaluated(n: int, where: str, allowed: bool) -> None:
    if n and not allowed:
        raise UsageError(
            f"memory: {n} episodes of {where} are of samples that this run evaluates; build them from another split, "
            "or set [memory] allow_evaluated_split = true"
        )


def retrieved(episodes: Sequence[Episode], text: str) -> list[Episode]:
    """The episodes of a text's language that share most of its structure with it, at most SHOWN, latest first."""
    own = shape(text)

    def shared(e: Episode) -> int:
        return sum(own[k] == getattr(e, k) for k in ("negation", "contrast", "length"))

    alike = [e for e in reversed(episodes) if e.language == own["language"] and shared(e)]
    return sorted(alike, key=shared, reverse=True)[:SHOWN]  # equal ones keep their order


def as_text(episodes: Iterable[Episode]) -> str:
    """What reviewers are shown: an episode a line, LETTERS at most, whole lines only."""
    lines: list[str] = []
    for episode in episodes:
        line = json.dumps(episode.model_dump(exclude={"source"}), ensure_ascii=False)
        if sum(map(len, [*lines, line])) + len(lines) > LETTERS:
            break
        lines.append(line)
    return "\n".join(lines)
