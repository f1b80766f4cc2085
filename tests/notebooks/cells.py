"""The code cells of a notebook, executed here one after the other with other parameters."""

from typing import Any

import matplotlib as mpl

from evaltools.core.files import asset_dir
from evaltools.report.figures import figure_style
from tests.files import read_json


def run_cells(notebook: str, **parameters: Any) -> dict[str, Any]:
    """The names that the cells of a notebook leave behind."""
    names: dict[str, Any] = {}
    mpl.use("agg")
    with mpl.rc_context({**figure_style(), "figure.max_open_warning": 0}):
        from matplotlib import pyplot

        cells = read_json(asset_dir("notebooks") / notebook)["cells"]
        for number, cell in enumerate(c for c in cells if c["cell_type"] == "code"):
            exec(compile("".join(cell["source"]), f"{notebook}, cell {number}", "exec"), names)
            if "parameters" in cell["metadata"].get("tags", []):
                names.update(parameters)
        pyplot.close("all")
    return names
