"""Statistics of HELM: per_instance_stats.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .rows import Row, Score, Unfit, number
from .source import Records, Source


class Name(Row):
    """The name of a metric, and the split that it was measured on."""

    name: str
    split: str | None = None


class Stat(Row):
    """A metric on an instance."""

    name: Name
    count: int
    sum: float


class Instance(Row):
    """The metrics of an instance."""

    instance_id: str
    train_trial_index: int = 0
    perturbation: dict[str, Any] | None = None
    stats: list[Stat]


def read(source: Source, *, split: str | None = None) -> Records:
    """Sum and count are numerator and denominator, the trial is the seed.

    A perturbed instance has metrics of its own, `NAME (PERTURBATION)`. Of several splits one must
    be chosen.
    """
    splits: set[str | None] = set()

    def scores(_: int, instance: Instance) -> Iterator[Score]:
        perturbation = ""
        if instance.perturbation:
            perturbation = f" ({instance.perturbation.get('name')})"
        for index, stat in enumerate(instance.stats):
            if split is not None and stat.name.split != split:
                continue
            splits.add(stat.name.split)
            if len(splits) > 1:
                listed = ", ".join(str(name) for name in splits)
                message = f"several splits ({listed}): give --split"
                raise Unfit(f"stats.{index}.name.split", message)
            yield Score(
                id=instance.instance_id,
                metric=stat.name.name + perturbation,
                num=number(stat.sum, f"stats.{index}.sum"),
                den=number(stat.count, f"stats.{index}.count"),
                seed=str(instance.train_trial_index),
            )

    return source.rows(source.records(source.json(), Instance), scores)
