"""The parameters of report notebooks: what one is given, and a warning of those that it does not know."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from difflib import get_close_matches

from .tables import HtmlTable, notice


def names_set(source: str) -> list[str]:
    """The names that a cell assigns to, in order; none for a cell that is no Python.

    >>> names_set("run = None\\nseed = 0  # seed of the resampling")
    ['run', 'seed']
    """
    try:
        statements = ast.parse(source).body
    except SyntaxError:
        return []
    names = []
    for statement in statements:
        if isinstance(statement, ast.Assign):
            names += [t.id for t in statement.targets if isinstance(t, ast.Name)]
    return names


def unknown_parameters(cells: Sequence[str]) -> dict[str, list[str]]:
    """Parameters that were injected but that the first cell does not set -> the nearest that it does.

    `cells` are the sources executed so far; papermill's cell of injected parameters begins with "# Parameters".
    """
    executed = [cell for cell in cells if cell.strip()]
    if not executed:
        return {}
    known = names_set(executed[0])
    unknown = {}
    for cell in executed[1:]:
        if cell.startswith("# Parameters"):
            for name in names_set(cell):
                if name not in known:
                    unknown[name] = get_close_matches(name, known, 1)
    return unknown


def parameters() -> HtmlTable | None:
    """A warning of parameters that this notebook does not know, to end a cell with; None where all is well.

    >>> parameters() is None  # outside a notebook
    True
    """
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    unknown = unknown_parameters(shell.user_ns["In"]) if shell is not None else {}
    if not unknown:
        return None
    texts = []
    for name, near in unknown.items():
        texts.append(f"{name} (did you mean {near[0]}?)" if near else name)
    listed = "; ".join(texts)
    return notice(
        f"Parameters that this notebook does not know, and which changed nothing: {listed}", "error"
    )
