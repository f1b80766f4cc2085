"""Every value of the reference runs, to 1e-9.

Their `spec` values are older than ruling D26, which changes none of them: no sample of theirs has two predicted tuples
without a term that share a polarity, and the gold of every sample has a pair under every key.
"""

from pathlib import Path

import pandas as pd
import pytest

from evaltools import evaluate
from tests.conftest import reference_folder
from tests.files import read_json

RUNS = sorted(p.name for p in (reference_folder() / "cr").glob("*")) or ["(absent)"]

pytestmark = pytest.mark.reference


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(("block", "match"), [("spec", "spec"), ("reference_policy", "reference")])
def test_expected_metrics(reference: Path, run: str, block: str, match: str) -> None:
    stored = read_json(reference / "cr" / run / "expected_metrics.json")[block]
    expected = pd.Series(stored, dtype=float)
    assert len(expected) > 50
    values = evaluate("cr", reference / "cr" / run, match=match).frame.set_index("name")["value"]
    found = values[expected.index].tolist()
    assert found == pytest.approx(expected.tolist(), rel=0, abs=1e-9, nan_ok=True)
