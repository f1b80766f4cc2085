"""Statistics of HELM: per_instance_stats.json, beside it run_spec.json and scenario_state.json."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from .directions import direction, higher_is_better
from .rows import Row, Score, Scored, called, mapping, number
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


ADAPTATION = ("method", "max_train_instances")
"""Of adapter_spec what makes another task of a scenario: how it is asked, and with how many examples."""


class RunSpec(Row):
    """The run, as run_spec.json beside the statistics describes it."""

    scenario_spec: dict[str, Any] = Field(default_factory=dict)
    adapter_spec: dict[str, Any] = Field(default_factory=dict)
    metric_specs: list[dict[str, Any]] = Field(default_factory=list)

    @property
    def task(self) -> str:
        """What is asked, and how: MMLUScenario(subject=anatomy, method=multiple_choice_joint)."""
        scenario = str(self.scenario_spec.get("class_name", "")).rpartition(".")[2]
        arguments = dict(mapping(self.scenario_spec.get("args")))
        for name in ADAPTATION:
            if name in self.adapter_spec:
                arguments[name] = self.adapter_spec[name]
        return called(scenario, arguments)

    @property
    def main_metrics(self) -> list[str]:
        """The metrics that the run asks for by name, the main one first."""
        names: list[str] = []
        for spec in self.metric_specs:
            listed = mapping(spec.get("args")).get("names")
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
    """An instance: what is asked, and the right answers."""

    id: str
    input: Text = Field(default_factory=Text)
    references: list[Reference] = Field(default_factory=list)
    perturbation: dict[str, Any] | None = None


class Answer(Row):
    """What the model answered."""

    completions: list[Text] = Field(default_factory=list)


class Request(Row):
    """A question to the model, and its answer."""

    instance: Question = Field(default_factory=lambda: Question(id=""))
    train_trial_index: int = 0
    result: Answer | None = None

    @property
    def further(self) -> dict[str, Any]:
        """Output and target."""
        completions = self.result.completions if self.result else []
        output = [completion.text for completion in completions[:1]]
        right = []
        for reference in self.instance.references:
            if "correct" in reference.tags:
                right.append(reference.output.text)
        return {"output": output, "target": right}


class State(Row):
    """scenario_state.json beside the statistics."""

    request_states: list[Request] = Field(default_factory=list)


def read(
    source: Source,
    *,
    split: str | None = None,
) -> Records:
    """Sum and count are numerator and denominator, the trial is the seed.

    A perturbed instance has metrics of its own, `NAME (PERTURBATION)`. Of several splits one must
    be chosen. Metrics with a direction come first, led by those that run_spec.json names; it names
    the condition, too.
    """
    spec = source.beside("run_spec.json", RunSpec) or RunSpec()
    source.task = spec.task
    model = spec.adapter_spec.get("model")
    main_metrics = spec.main_metrics
    requests = _requests(source)
    splits: dict[str | None, None] = {}

    def rank(entry: tuple[int, Stat]) -> tuple[bool, int]:
        name = entry[1].name.name
        index = main_metrics.index(name) if name in main_metrics else len(main_metrics)
        return _higher_is_better(name, main_metrics) is None, index

    def scored(
        _: int,
        instance: Instance,
    ) -> Scored:
        id_ = instance.instance_id
        trial = instance.train_trial_index
        perturbation = ""
        request = requests.get((id_, trial)) or requests.get((id_, 0)) or Request()
        if instance.perturbation:
            perturbation = f" ({instance.perturbation.get('name')})"
            request = Request()
        scores = []
        for index, stat in sorted(enumerate(instance.stats), key=rank):
            name = stat.name
            if split is not None and name.split != split:
                continue
            splits[name.split] = None
            if len(splits) > 1:
                text = "several splits ({splits}): give --split"
                raise source.fatal("several-splits", text, splits=tuple(splits), id=id_)
            total = number(stat.sum, f"stats.{index}.sum")
            count = number(stat.count, f"stats.{index}.count")
            is_higher = _higher_is_better(name.name, main_metrics)
            scores.append(Score(name.name + perturbation, total, is_higher, count))
        return Scored(
            id=id_,
            scores=scores,
            condition=model if isinstance(model, str) else None,
            seed=str(trial),
            text=request.instance.input.text or None,
            further=request.further,
        )

    return source.rows(source.records(Instance), scored)


def _higher_is_better(
    metric: str,
    main_metrics: list[str],
) -> bool | None:
    """The direction that is listed of a metric; more is better of a main one that is not listed."""
    if metric in main_metrics and direction("helm", metric) is None:
        return True
    return higher_is_better("helm", metric)


def _requests(source: Source) -> dict[tuple[str, int], Request]:
    """(id, trial) -> what was asked of an instance that is not perturbed."""
    state = source.beside("scenario_state.json", State) or State()
    requests = {}
    for request in state.request_states:
        if not request.instance.perturbation:
            requests[request.instance.id, request.train_trial_index] = request
    return requests
