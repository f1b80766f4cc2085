"""A decision from `plan --register` to `gate --decision`: the page's example, departures, and what is refused."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

import evaltools as et
from evaltools.report.decision import Decision, judge, read_decision, write_decision
from tests.app.calling import QUICK, call

DOCS = Path(__file__).parents[2] / "docs"

CONTENT: dict[str, Any] = {
    "suite": "table",
    "metric": "accuracy",
    "direction": "higher",
    "margin": 0.0,
    "n": 40,
    "seeds": 1,
    "level": 0.05,
    "looks": [20, 40],
    "difference": 0.2,
    "power": 0.8,
    "written": "2020-01-01T00:00:00Z",
    "pilot": [],
}


def decision(**changes: Any) -> Decision:
    return Decision.model_validate_json(json.dumps({**CONTENT, **changes}))


def compared(n: int = 40, gain: int = 10, lacking: int = 0, low: bool = True) -> et.Study:
    """Half of n items right, then `gain` more; the candidate has no score on the first `lacking`."""
    sides = []
    for name, more in (("old", 0), ("new", gain)):
        rows = []
        for i in range(n):
            value: float | None = float(i < n // 2 + more)
            if name == "new" and i < lacking:
                value = None
            row = {"id": str(i), "metric": "accuracy", "value": value, "condition": name}
            if low:
                row |= {"low": 0, "high": 1}
            rows.append(row)
        sides.append(et.evaluate("table", rows, name=name, n_resamples=200))
    return et.compare(*sides)


def test_the_decision_of_the_page_is_planned_tested_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "decisions-worked.md").read_text(encoding="utf-8")
    section = page.split("## A decision that is written before the data")[1]
    names: dict[str, Any] = {}
    said = []
    for kind, block in re.findall(r"```(\w+)\n(.*?)```", section, flags=re.DOTALL):
        if kind == "python":
            exec(block, names)
            continue
        for line in block.splitlines():
            said.append(call(*shlex.split(line)[1:], *([] if " gate " in line else QUICK)).output)
    planned, tested, _, kept = said
    assert planned.rstrip().endswith("decision.toml")
    assert tested.startswith("Decision met (margin 0): new is better than old on “accuracy”")
    assert "Nothing departs from what was declared." in " ".join(tested.split())
    assert kept.startswith("PASS accuracy Decision met")
    assert "SKIP" not in kept
    content = tomllib.loads(Path("decision.toml").read_text(encoding="utf-8"))
    assert content["looks"] == [content["n"] // 2, content["n"]] or content["n"] % 2
    assert content["metric"] == "accuracy" and content["margin"] == 0


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    file = tmp_path / "decision.toml"
    written = decision(suite='label "s"', metric="정확도\\n")
    write_decision(file, written)
    assert read_decision(file) == written
    with pytest.raises(et.UsageError, match="a decision is not replaced"):
        write_decision(file, written)


def test_what_was_declared_has_no_departure_and_is_tested_at_the_level_of_its_look() -> None:
    outcome = judge(decision(), compared())
    assert outcome.met and not outcome.departures
    assert "Tested at 0.049 after 40 of 40 samples" in outcome.text
    first_look = judge(decision(), compared(n=20, gain=6))
    assert not first_look.departures
    assert "Tested at 0.00305 after 20 of 40 samples" in first_look.text
    assert not first_look.met  # six of six that differ: p = .031, or .016 with mid-p


@pytest.mark.parametrize(
    ("changes", "study", "said"),
    [
        ({}, {"n": 30}, "30 samples, where looks at 20, 40 were declared"),
        ({"seeds": 3}, {}, "1 seeds of old, where 3 were declared"),
        ({"direction": "lower"}, {}, "the metric is better when higher, where lower was declared"),
        ({}, {"lacking": 2}, "2 values stand on one side only"),
        (
            {"written": "2999-01-01T00:00:00Z"},
            {},
            "old was scored before the decision was written",
        ),
    ],
)
def test_departures_are_listed(changes: dict[str, Any], study: dict[str, Any], said: str) -> None:
    outcome = judge(decision(**changes), compared(**study))
    assert said in " ".join(outcome.departures)


def test_a_run_of_the_pilot_is_named() -> None:
    study = compared()
    pilot = [study.conditions["new"][""].manifest.inputs[0].sha256]
    outcome = judge(decision(pilot=pilot), study)
    assert outcome.departures == ["new was read from a file of the pilot"]


@pytest.mark.parametrize(
    ("changes", "study", "met"),
    [
        ({}, {"gain": 1}, False),
        ({}, {"gain": -10}, False),  # shown to be worse
        # the metric has another direction than was declared
        ({"direction": "lower"}, {"gain": -10}, False),
        ({"direction": "lower", "margin": 0.3}, {"gain": -10}, False),
        ({"margin": 0.3}, {"gain": 0}, True),
        ({"margin": 0.3}, {"gain": -10}, False),
        ({"margin": 0.01}, {"gain": -1}, False),
        # one lacking value at its worst takes little, eight take the difference away
        ({}, {"lacking": 1, "gain": 15}, True),
        ({}, {"lacking": 18, "gain": 15}, False),
    ],
)
def test_when_a_decision_is_met(changes: dict[str, Any], study: dict[str, Any], met: bool) -> None:
    assert judge(decision(**changes), compared(**study)).met is met


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("metric = ", "bad-toml"),
        ('metric = "a"', "suite"),
        ("\udcff", "not TOML"),
    ],
)
def test_a_file_that_is_no_decision_is_bad_input(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "decision.toml"
    file.write_text(content, encoding="utf-8", errors="surrogateescape")
    done = call("compare", "example:memfin/plain_llm", "example:memfin/memory_agent",
                "--decision", file, *QUICK, status=3)  # fmt: skip
    assert said in done.output and str(file) in " ".join(done.output.split())


@pytest.mark.parametrize(
    "changes",
    [{"looks": []}, {"looks": [40, 20]}, {"looks": [20]}, {"n": 3}, {"level": 0}, {"more": 1}],
)
def test_decisions_that_make_no_sense_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        decision(**changes)


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "decision.toml"
    write_decision(file, decision())
    pair = ("example:memfin/plain_llm", "example:memfin/memory_agent")
    how = ("--metric", "m2_profile_score", "--difference", "0.1")
    for command in (
        ("compare", *pair, "--decision", file, "--primary", "m2_profile_score"),
        ("compare", *pair, "--decision", file),  # another suite
        ("gate", tmp_path, "--decision", file),
        ("plan", *pair, *how, "--looks", "2"),
        ("plan", *pair, *how, "--register", file),
    ):
        call(*command, status=2)


def test_more_looks_than_samples_allow_are_refused_at_once(tmp_path: Path) -> None:
    pair = ("example:cr/no_memory", "example:cr/with_memory")
    how = ("--metric", "tuple_f1_s2_refpol", "--difference", "0.1", "--seeds", "3", *QUICK)
    done = call(
        "plan", *pair, *how, "--looks", "1000000", "--register", tmp_path / "d.toml", status=2
    )
    assert "--looks 1000000: expected 1 to " in done.output
    assert not (tmp_path / "d.toml").exists()
