"""Statistics of HELM: per_instance_stats.json."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..core.errors import Problems
from .rows import Place, Row, Score, Unfit, made, number, read_records


class Name(Row):
    name: str
    split: str | None = None


class Stat(Row):
    name: Name
    count: int
    sum: float


class Instance(Row):
    instance_id: str
    train_trial_index: int = 0
    perturbation: dict[str, Any] | None = None
    stats: list[Stat]


def read(
    path: Path, problems: Problems, *, split: str | None = None
) -> Iterator[tuple[Place, Score]]:
    """Sum and count are numerator and denominator, the trial is the seed.

    A perturbed instance has metrics of its own, `NAME (PERTURBATION)`. Of several splits one must be chosen.
    """
    splits: set[str | None] = set()

    def rows(_: int, one: Instance) -> Iterator[Score]:
        disturbed = f" ({one.perturbation.get('name')})" if one.perturbation else ""
        for i, stat in enumerate(one.stats):
            if split is not None and stat.name.split != split:
                continue
            splits.add(stat.name.split)
            if len(splits) > 1:
                raise Unfit(
                    f"stats.{i}.name.split",
                    f"several splits ({', '.join(map(str, splits))}): give --split",
                )
            yield Score(
                id=one.instance_id,
                metric=stat.name.name + disturbed,
                num=number(stat.sum, f"stats.{i}.sum"),
                den=number(stat.count, f"stats.{i}.count"),
                seed=str(one.train_trial_index),
            )

    return made(read_records(path, problems, Instance), rows, path, problems)
