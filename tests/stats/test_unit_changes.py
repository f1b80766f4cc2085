"""The pairs of one metric, unit by unit."""

from __future__ import annotations

import numpy as np
import pytest

from evaltools.stats.unit_changes import unit_changes
from tests.stats.comparing import TABLE, two


def test_unit_changes_are_the_pairs() -> None:
    a, b = two()
    b[456] = b[456].iloc[1:]
    got = unit_changes(a, b, TABLE, "id", "mean")
    assert got["id"].tolist() == sorted(a[42]["id"])
    assert got["baseline"].iloc[1] == pytest.approx(np.mean([a[s]["y"].iloc[1] for s in a]))
    assert got["baseline"].iloc[0] == pytest.approx(np.mean([a[s]["y"].iloc[0] for s in (42, 123)]))
    assert got["change"].tolist() == (got["candidate"] - got["baseline"]).tolist()
    assert len(unit_changes(a, b, TABLE, "id", "micro")) <= 40
    with pytest.raises(ValueError, match="no metric 'zzz'"):
        unit_changes(a, b, TABLE, "id", "zzz")
