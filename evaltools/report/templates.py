"""The files of the folder `templates`: pages, and macros that make the pieces of a page."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from ..core.estimates import is_null
from ..core.files import asset_dir
from ..core.language import listed, say
from ..stats.intervals import MIN_UNITS
from .strip import axis_labels
from .text import clipped, marked, plain, safe, short, sort_key, text_class, visible

if TYPE_CHECKING:
    from jinja2 import Environment

# the stylesheet that stands before a piece in a notebook, and that a page leaves out
OWN_STYLES = re.compile(r'<style class="et-style">.*?</style>', re.DOTALL)


@cache
def asset(name: str) -> str:
    """The text of a file of the folder."""
    return (asset_dir("templates") / name).read_text(encoding="utf-8").strip()


@cache
def style() -> str:
    """The stylesheet of the pieces as an element, for where they stand outside a page, as in JupyterLab."""
    css = re.sub(r"/\*.*?\*/|\n", "", asset("report/fragments.css"), flags=re.DOTALL)
    return f'<style class="et-style">{css}</style>'


@cache
def environment() -> Environment:
    """The templates, with the functions that make text from data safe."""
    # scoring makes no HTML and starts faster without Jinja
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(asset_dir("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {"say": say, "MIN_UNITS": MIN_UNITS}
    templates.filters |= {
        "bdi": safe,
        "clipped": clipped,
        "listed": listed,
        "marked": marked,
        "plain": plain,
        "short": short,
        "text_class": text_class,
        "visible": visible,
        "sort_key": sort_key,
        "axis_labels": axis_labels,
    }
    templates.tests["measured"] = lambda number: not is_null(number)
    return templates


@cache
def macros() -> Any:
    """The macros of the pieces, as functions that give Markup."""
    return environment().get_template("report/macros.html.j2").module
