"""The files of the folder `templates`: pages, and macros that make the pieces of a page."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from ..core.files import asset_dir
from ..core.language import listed, say
from .markdown import plain, sort_key
from .text import marked, safe, short, text_class, visible

if TYPE_CHECKING:
    from jinja2 import Environment

OWN_STYLES = re.compile(r'<style class="et-style">.*?</style>', re.DOTALL)
"""Every stylesheet that `style` put before a piece, in this version or an earlier one."""


@cache
def asset(name: str) -> str:
    return (asset_dir("templates") / name).read_text(encoding="utf-8").strip()


@cache
def style() -> str:
    """The stylesheet of the pieces as an element, for where they stand outside a page, as in JupyterLab."""
    css = re.sub(r"/\*.*?\*/|\n", "", asset("report/fragments.css"), flags=re.DOTALL)
    return f'<style class="et-style">{css}</style>'


_styled_shells: set[int] = set()
"""The notebooks (by their shell) that have the stylesheet already."""


def in_cell(html: str) -> str:
    """A piece as the output of a cell; JupyterLab would read $5 and $6 in it as a formula.

    The first piece of a notebook brings the stylesheet along, which a page leaves out.
    """
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    styled = id(shell) in _styled_shells
    if shell is not None:
        _styled_shells.add(id(shell))
    return f'{"" if styled else style()}<div class="mathjax_ignore">{html}</div>'


@cache
def environment() -> Environment:
    # scoring makes no HTML and starts faster without Jinja
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    files = FileSystemLoader(asset_dir("templates"))
    found = Environment(
        loader=files,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["say"] = say
    found.filters |= {
        "bdi": safe,
        "listed": listed,
        "marked": marked,
        "plain": plain,
        "short": short,
        "text_class": text_class,
        "visible": visible,
        "sort_key": sort_key,
    }
    return found


@cache
def macros() -> Any:
    """The macros of the pieces, as functions that give Markup."""
    return environment().get_template("report/macros.html.j2").module
