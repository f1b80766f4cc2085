"""The code cells of a notebook, executed here one after the other with other parameters."""

from typing import Any

import matplotlib as mpl

from evaltools.core.files import asset_dir
from evaltools.report.figures import figure_style
from tests.files import read_json


def code_cells(notebook: str) -> list[tuple[str, bool]]:
    """(source, whether it holds the parameters) of every code cell."""
    cells = read_json(asset_dir("notebooks") / notebook)["cells"]
    found = []
    for cell in cells:
        if cell["cell_type"] == "code":
            is_parameters = "parameters" in cell["metadata"].get("tags", [])
            found.append(("".join(cell["source"]), is_parameters))
    return found


def run_cells(notebook: str, **parameters: Any) -> dict[str, Any]:
    """The names that the cells of a notebook leave behind."""
    names: dict[str, Any] = {}
    mpl.use("agg")
    with mpl.rc_context({**figure_style(), "figure.max_open_warning": 0}):
        from matplotlib import pyplot

        for number, (source, is_parameters) in enumerate(code_cells(notebook)):
            exec(compile(source, f"{notebook}, cell {number}", "exec"), names)
            if is_parameters:
                names.update(parameters)
        pyplot.close("all")
    return names
