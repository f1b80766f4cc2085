"""A metric whose title is only its name goes by that name in every language, whatever word it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import evaltools as et
from evaltools.app.commands.compare import comparison_text
from evaltools.app.scoring import headline_lines
from evaltools.core.language import say, speaking
from evaltools.core.metric import Metric, metric_title
from evaltools.report import gallery, study_sentences
from evaltools.report.display import frame_table
from evaltools.report.run import Run

NAMES = ("value", "metric")


def records(shift: int) -> list[dict[str, Any]]:
    """Twelve units with a score of 0, .25, .5, .75 or 1 on each of two metrics that are named like words of ours."""
    rows = []
    for index in range(12):
        score = (index * 7 + shift) % 5 / 4
        rows += [{"id": f"u{index}", "metric": name, "value": score} for name in NAMES]
    return rows


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return [et.evaluate("table", records(shift), name=name) for name, shift in (("a", 0), ("b", 2))]


@pytest.fixture(params=["ko", "zh"])
def lang(request: pytest.FixtureRequest) -> Any:
    with speaking(request.param):
        assert all(say(name) != name for name in NAMES), "these words are translated elsewhere"
        yield request.param


def test_a_title_of_its_own_is_translated_and_a_name_is_not(lang: str) -> None:
    assert say(metric_title("f1", "value")) == say("value") != "value"
    assert say(metric_title("value", "value")) == say(metric_title("value", "")) == "value"
    metric = Metric(name="metric", numerator="right", denominator="n", better="higher")
    assert say(metric.shown_title) == "metric"


def test_page_and_terminal_show_the_name_of_a_metric_as_it_stands(
    lang: str, runs: list[Run]
) -> None:
    run = runs[0]
    assert study_sentences.run_finding(run)[0].startswith("value 0.")
    lines = list(headline_lines(run))
    table = run.table().text.splitlines()
    for name in NAMES:
        assert any(line.startswith(f"  {name} ↑") for line in lines)
        assert any(line.startswith(f"| {name} ↑") for line in table)
    # heads of tables are words of ours, and stay translated
    assert say("metric") in table[0]


def test_studies_show_the_name_of_a_metric_as_it_stands(lang: str, runs: list[Run]) -> None:
    study = et.study(runs)
    (verdict,) = study_sentences.outcomes(study)
    assert "“value”" in verdict
    text = comparison_text(study, everything=True)
    for name in NAMES:
        assert any(line.startswith(f"{name} ") for line in text.splitlines())
        assert f"“{say(name)}”" not in verdict + text
    for name, axes in zip(NAMES, study.plot.forest().axes, strict=True):
        assert [label.get_text() for label in axes.get_yticklabels()] == [f"{name} ↑ n=12"]
        assert axes.get_xlabel().startswith(name)


def test_frames_show_the_names_of_metrics_as_they_stand(lang: str, runs: list[Run]) -> None:
    of_run = frame_table(runs[0].frame).text.splitlines()[2:]
    of_study = frame_table(et.study(runs).frame[["metric", "title", "delta"]]).text.splitlines()[2:]
    for rows in (of_run, of_study):
        assert [row.split(" | ")[:2] for row in rows] == [[f"| {name}", name] for name in NAMES]


def test_the_gallery_shows_the_name_of_a_metric_as_it_stands(lang: str, tmp_path: Path) -> None:
    et.evaluate("table", records(0), name="a", out=tmp_path)
    (section,) = gallery.sections(gallery.collect(tmp_path)[0])
    assert section.metric == "value ↑"
    assert [
        gallery.title_of(each.name, each.title) for each in section.lines[0][0].estimates
    ] == list(NAMES)
