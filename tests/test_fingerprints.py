"""Every value that the commands write is the one of the first edition, at nine significant digits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import fingerprints
from tests.app.calling import call
from tests.fingerprints import SCENARIOS, STORED

EXPECTED = json.loads(STORED.read_text(encoding="utf-8"))


def scenario(name: str) -> object:
    marks = [pytest.mark.reference] if name.startswith("reference") else []
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", [scenario(n) for n in SCENARIOS])
def test_values_are_those_of_the_first_edition(
    name: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name.startswith("reference"):
        monkeypatch.setattr(fingerprints, "REFERENCE", request.getfixturevalue("reference"))
    monkeypatch.setattr(
        "evaltools.app.batch.run", lambda job: None
    )  # a report has no numbers of its own
    files = fingerprints.measure(tmp_path, name, call=lambda words: call(*words))
    expected = {f: v for f, v in EXPECTED["files"].items() if f.startswith(f"{name}/")}
    assert expected, "this scenario is stored"
    found = fingerprints.stored(files, EXPECTED["names"])["files"]
    differ = [f for f, value in expected.items() if found.get(f) != value]
    assert differ == []


def test_every_scenario_is_stored() -> None:
    assert {f.partition("/")[0] for f in EXPECTED["files"]} == set(SCENARIOS)
