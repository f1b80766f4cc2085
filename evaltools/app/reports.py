"""The reports of a batch: which notebook is executed with which parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.language import say
from ..core.names import safe_name
from ..core.suite import Suite
from ..report.notebook import ReportJob, parameters_of
from ..report.parameters import ReportParameters
from ..report.study import Study
from .scoring import Scored
from .settings import Settings


def report_of_run(
    suite: Suite,
    title: str,
    scored: Scored,
    options: Mapping[str, Any],
    settings: Settings,
) -> ReportJob:
    """The report of one run that is scored."""
    folder = str(scored.folder)
    if suite.together:  # its notebook takes several runs
        inputs: dict[str, Any] = {"runs": [scored.path], "scored": [folder]}
        depends_on: dict[str, Any] = {"runs": [scored.depends_on]}
    else:
        inputs = {"run": scored.path, "scored": folder}
        depends_on = dict(scored.depends_on)
    depends_on["name"] = settings.name
    parameters = _parameters(suite, options, settings, inputs)
    source = scored.folder if settings.paper else None
    return _job(suite, suite.notebook, title, parameters, depends_on, settings, source)


def report_of_study(
    suite: Suite,
    notebook: str | Path,
    study: Study,
    scored: Sequence[Scored],
    options: Mapping[str, Any],
    settings: Settings,
) -> ReportJob:
    """The report of a study: what it declares is declared in the notebook, and its paper is made from it."""
    paths = list(dict.fromkeys(one.path for one in scored))
    declared = {
        "baseline": study.baseline,
        "primary": study.declared,
        "margin": dict(study.margin),
    }
    inputs = {"runs": paths, "scored": [str(one.folder) for one in scored], **declared}
    depends_on = {
        "runs": [one.depends_on for one in scored],
        "name": settings.name,
        **declared,
    }
    parameters = _parameters(suite, options, settings, inputs)
    return _job(suite, notebook, study.name, parameters, depends_on, settings, study)


def _parameters(
    suite: Suite,
    options: Mapping[str, Any],
    settings: Settings,
    inputs: Mapping[str, Any],
) -> ReportParameters:
    return ReportParameters(
        suite=suite.name,
        options=dict(options),
        out=settings.out,
        name=settings.name,
        metrics=settings.metrics,
        ci=settings.ci,
        n_resamples=settings.n_resamples,
        confidence=settings.confidence,
        seed=settings.seed,
        on_error=settings.on_error,
        lang=settings.lang,
        **inputs,
    )


def _job(
    suite: Suite,
    notebook: str | Path,
    title: str,
    parameters: ReportParameters,
    depends_on: dict[str, Any],
    settings: Settings,
    paper: Study | Path | None,
) -> ReportJob:
    depends_on["lang"] = settings.lang
    if paper is not None:
        depends_on["paper_files"] = True
    return ReportJob(
        name=safe_name(title),
        notebook=notebook,
        title=f"{say(suite.title)}: {title}",
        folder=settings.out / "reports" / title,
        parameters=parameters.named(parameters_of(notebook)),
        depends_on=depends_on,
        paper=paper,
    )
