"""Reports of small notebooks."""

from pathlib import Path
from typing import Any

import pytest

from evaltools.report import notebook as execute
from evaltools.report.notebook import ReportJob
from tests.app.small_report import write_cells

PARAMETERS = "text = None\nitems = None\n"


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a job whose notebook has these code cells after its parameters."""
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setattr(execute, "asset_dir", lambda name: tmp_path / "notebooks")
    monkeypatch.chdir(tmp_path)

    def make(*cells: str, name: str = "run", **parameters: Any) -> ReportJob:
        write_cells(tmp_path / "notebooks" / "n.ipynb", PARAMETERS, *cells)
        return ReportJob("n.ipynb", "Title", tmp_path / "reports" / name, parameters, {})

    return make
