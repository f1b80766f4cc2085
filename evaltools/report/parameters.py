"""What a report notebook says of the parameters that it was executed with."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from difflib import get_close_matches

from .tables import HtmlTable, notice


def names_set(source: str) -> list[str]:
    """The names that a cell assigns to, in order; none for a cell that is no Python."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return []
    return [
        t.id
        for s in body
        if isinstance(s, ast.Assign)
        for t in s.targets
        if isinstance(t, ast.Name)
    ]


def unknown_parameters(cells: Sequence[str]) -> dict[str, list[str]]:
    """Parameters that were injected but that the first cell does not set -> the nearest that it does.

    `cells` are the sources executed so far; papermill's cell of injected parameters begins with "# Parameters".
    """
    executed = [c for c in cells if c.strip()]
    known = names_set(executed[0]) if executed else []
    given = [n for c in executed[1:] if c.startswith("# Parameters") for n in names_set(c)]
    return {name: get_close_matches(name, known, 1) for name in given if name not in known}


def parameters() -> HtmlTable | None:
    """A warning of parameters that this notebook does not know, to end a cell with; None where all is well."""
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    wrong = unknown_parameters(shell.user_ns["In"]) if shell is not None else {}
    if not wrong:
        return None
    listed = "; ".join(
        f"{name}" + (f" (did you mean {near[0]}?)" if near else "") for name, near in wrong.items()
    )
    return notice(
        f"Parameters that this notebook does not know, and which changed nothing: {listed}", "error"
    )
