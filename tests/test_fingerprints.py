"""Every number that the commands write is the stored one; tests/fingerprints.py stores them."""

from pathlib import Path

import pytest

from tests.fingerprints import SCENARIOS, differences, measure, read_stored

STORED = read_stored()


def scenario(name: str) -> object:
    marks = [pytest.mark.reference] if name.startswith("reference") else []
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", [scenario(n) for n in SCENARIOS])
def test_numbers_are_the_stored_ones(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    reference = request.getfixturevalue("reference") if name.startswith("reference") else tmp_path
    old = {file: rows for file, rows in STORED.items() if file.startswith(f"{name}/")}
    assert old, "this scenario is stored"
    lines = differences(old, measure(tmp_path, name, reference))
    shown = "\n".join(lines[:20])
    assert lines == [], f"{len(lines)} numbers differ, the first of them:\n{shown}"
