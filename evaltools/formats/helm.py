"""Statistics of HELM: per_instance_stats.json, beside it run_spec.json and instances.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from .directions import direction, higher_is_better
from .rows import Row, Score, further_columns, number
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


class Adapter(Row):
    """How the model was asked."""

    model: str | None = None


class MetricSpec(Row):
    """What was measured; `args` may hold the names of the metrics, the main one first."""

    args: dict[str, Any] = Field(default_factory=dict)


class RunSpec(Row):
    """The run, as run_spec.json beside the statistics describes it."""

    adapter_spec: Adapter = Field(default_factory=Adapter)
    metric_specs: list[MetricSpec] = Field(default_factory=list)

    @property
    def main_metrics(self) -> list[str]:
        """The metrics that the run asks for by name, the main one first."""
        names: list[str] = []
        for spec in self.metric_specs:
            listed = spec.args.get("names")
            if isinstance(listed, list):
                names += [name for name in listed if isinstance(name, str)]
        return names


class Text(Row):
    """A text of an instance, or a possible output."""

    text: str = ""


class Reference(Row):
    """A possible output; the right ones have the tag "correct"."""

    output: Text = Field(default_factory=Text)
    tags: list[str] = Field(default_factory=list)


class Question(Row):
    """An instance as instances.json beside the statistics describes it."""

    id: str
    input: Text = Field(default_factory=Text)
    references: list[Reference] = Field(default_factory=list)


def read(source: Source, *, split: str | None = None) -> Records:
    """Sum and count are numerator and denominator, the trial is the seed.

    A perturbed instance has metrics of its own, `NAME (PERTURBATION)`. Of several splits one must
    be chosen. Metrics with a direction come first, led by those that run_spec.json names; it names
    the condition, too.
    """
    spec = source.beside("run_spec.json", RunSpec) or RunSpec()
    questions = _questions(source)
    main_metrics = spec.main_metrics
    splits: dict[str | None, None] = {}

    def rank(stat: Stat) -> tuple[bool, int]:
        name = stat.name.name
        index = main_metrics.index(name) if name in main_metrics else len(main_metrics)
        return _direction(name, main_metrics) is None, index

    def scores(_: int, instance: Instance) -> Iterator[Score]:
        perturbation = ""
        if instance.perturbation:
            perturbation = f" ({instance.perturbation.get('name')})"
        question = questions.get(instance.instance_id)
        further = {}
        if question is not None:
            targets = [
                entry.output.text for entry in question.references if "correct" in entry.tags
            ]
            further = further_columns({"target": targets})
        for index, stat in sorted(enumerate(instance.stats), key=lambda entry: rank(entry[1])):
            if split is not None and stat.name.split != split:
                continue
            splits[stat.name.split] = None
            if len(splits) > 1:
                listed = ", ".join(str(name) for name in splits)
                message = f"several splits ({listed}): give --split"
                raise source.fatal("several-splits", message, id=instance.instance_id)
            yield Score(
                id=instance.instance_id,
                metric=stat.name.name + perturbation,
                num=number(stat.sum, f"stats.{index}.sum"),
                den=number(stat.count, f"stats.{index}.count"),
                seed=str(instance.train_trial_index),
                condition=spec.adapter_spec.model,
                text=question.input.text if question else None,
                higher_is_better=_direction(stat.name.name, main_metrics),
                further=further,
            )

    return source.rows(source.records(Instance), scores)


def _direction(metric: str, main_metrics: list[str]) -> bool | None:
    if metric in main_metrics and direction("helm", metric) is None:
        return True
    return higher_is_better("helm", metric)


def _questions(source: Source) -> dict[str, Question]:
    """The instances of instances.json by their id; none where the file is not there."""
    file = source.path.with_name("instances.json")
    if not file.is_file():
        return {}
    beside = Source(file, source.problems)
    return {question.id: question for _, question in beside.records(Question)}
