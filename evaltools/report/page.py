"""An executed notebook as one HTML file that loads nothing: contents list, folded code, sorting and filtering."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from copy import copy
from functools import cache
from typing import Any

from markupsafe import Markup

from ..core.files import asset_dir
from ..core.language import language, say
from .fonts import webfont_css
from .templates import OWN_STYLES, asset, environment
from .text import anchor, visible

SCRIPTS = ("vendor/sortable.min.js", "report/page.js")

# the words of a script: `say` is called there with the English text in double quotes
SPOKEN = re.compile(r'\bsay\("((?:[^"\\]|\\.)*)"')

STYLES = ("report/fragments.css", "report/page.css")

# what stands for the fonts of a page until its glyphs are known
FONTS = Markup("\x00fonts\x00")


def render(
    nb: Any,
    *,
    title: str,
    beside: Mapping[str, str] | None = None,
) -> str:
    """The report page of an executed notebook (a NotebookNode).

    One self-contained file: styles, scripts, figures and the glyphs of Korean and Chinese text are inside, and
    a content security policy forbids any request and any script but the page's own. Code is folded, stderr is
    left out, a cell's error is shown, and a section whose cells have no output is left out whole. `beside`: files in
    the page's folder to be linked, path -> what each is. The same notebook and title always give the same bytes.
    """
    cells, contents = _contents(OWN_STYLES.sub("", _cells(nb)))
    return page(
        "report/page.html.j2",
        STYLES,
        SCRIPTS,
        title=visible(title),
        contents=contents,
        body=Markup(cells),
        links=beside or {},
        has_h1="<h1" in cells,
    )


def page(
    template: str,
    styles: Iterable[str],
    scripts: Iterable[str],
    **content: Any,
) -> str:
    """A page that loads nothing: its styles, its scripts and the Korean and Chinese glyphs it uses stand in it."""
    sources = [Markup(asset(name)) for name in scripts]
    words = {text: say(text) for text in SPOKEN.findall("".join(sources))}
    html = (
        environment()
        .get_template(template)
        .render(
            **content,
            lang=language(),
            words=words,
            policy=policy(sources),
            css=Markup("\n".join([FONTS, *map(asset, styles)])),
            scripts=sources,
        )
    )
    fonts = webfont_css(html + "".join(words.values()))
    return html.replace(FONTS, fonts, 1)


def _cells(nb: Any) -> str:
    from nbconvert import TemplateExporter

    nb = copy(nb)
    nb["cells"] = _with_content(nb.cells)
    # HTMLExporter would read the finished page once more, to add alternative texts that the template has
    page, _ = TemplateExporter.from_notebook_node(exporter(), nb)
    # wide code and printed text scroll sideways, by keyboard too
    return page.replace("<pre>", '<pre tabindex="0">')


def _with_content(cells: Iterable[Any]) -> list[Any]:
    """The cells without sections whose code has no output: their heading, words and code."""
    sections: list[list[Any]] = [[]]
    for cell in cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            sections.append([])
        sections[-1].append(cell)
    kept = sections.pop(0)
    for section in sections:
        code = [cell for cell in section if cell.cell_type == "code"]
        if not code or any(cell.outputs for cell in code):
            kept += section
    return kept


@cache
def exporter() -> Any:
    """The exporter of nbconvert with the template of the cells, which takes a second to load."""
    from nbconvert import HTMLExporter

    folder = str(asset_dir("templates"))
    exporter = HTMLExporter(
        template_name="report", extra_template_basedirs=[folder], exclude_anchor_links=True
    )
    exporter.environment.globals["say"] = say
    return exporter


def policy(scripts: Iterable[str]) -> str:
    """The content security policy of a page with these scripts, which allows them by their hashes and no others."""
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data:; font-src data:; base-uri 'none'; form-action 'none'"
    )


def _contents(html: str) -> tuple[str, list[tuple[str, str]]]:
    """Give the heading of each section an id; returns the page, and (id, heading) of its sections."""
    entries: list[tuple[str, str]] = []

    def heading(match: re.Match[str]) -> str:
        text = Markup(match[1]).striptags()
        entries.append((anchor("section", text), text))
        return f'<h2 id="{entries[-1][0]}">{match[1]}</h2>'

    return re.sub("<h2>(.*?)</h2>", heading, html), entries
