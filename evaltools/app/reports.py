"""The reports of a batch: which notebook is executed with which parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from ..core.language import say
from ..core.names import safe_name
from ..core.suite import Suite
from ..report.notebook import ReportJob, parameters_of
from ..report.study import Study
from .scoring import Scored
from .settings import Settings


def report_job(
    suite: Suite,
    notebook: str | Path,
    title: str,
    scored: Sequence[Scored],
    options: Mapping[str, Any],
    settings: Settings,
    study: Study | None = None,
) -> ReportJob:
    """The report of a run that is scored, or of several as a study: its paper is made from that."""
    folders = [str(one.folder) for one in scored]
    paths = list(dict.fromkeys(one.path for one in scored))
    inputs: dict[str, Any] = {"runs": paths, "scored": folders}
    paper: Study | Path | None = study
    if study is not None:
        inputs["baseline"] = study.baseline
        inputs["primary"] = study.declared
        inputs["margin"] = dict(study.margin)
    elif settings.paper:
        paper = scored[0].folder
    if study is None and not suite.together:  # a notebook of one run
        inputs = {"run": paths[0], "scored": folders[0]}
    options = {name: value for name, value in options.items() if name not in inputs}
    values = {**options, "suite": suite.name, "options": options, **inputs, **vars(settings)}
    named = parameters_of(notebook)
    parameters = {name: value for name, value in values.items() if name in named}
    return ReportJob(
        name=safe_name(title),
        notebook=notebook,
        title=f"{say(suite.title)}: {title}",
        folder=settings.out / "reports" / title,
        parameters=to_jsonable_python(parameters),
        results={str(one.folder): one.result for one in scored},
        paper=paper,
    )
