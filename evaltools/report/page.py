"""An executed notebook as one HTML file that loads nothing: contents list, folded code, sorting and filtering."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cache
from typing import Any

from markupsafe import Markup

from ..core.files import asset_dir
from ..core.language import language, say
from .fonts import webfont_css
from .templates import OWN_STYLES, asset, environment
from .text import visible

SCRIPTS = ("vendor/sortable.min.js", "report/page.js")

# the words of a template or script: `say` is called there with the English text in double quotes
SPOKEN = re.compile(r'\bsay\("((?:[^"\\]|\\.)*)"')

STYLES = ("report/fragments.css", "report/page.css")

# what stands for the fonts of a page until its glyphs are known
FONTS = Markup("\x00fonts\x00")

# what an output may hold and yet show nothing
NOTHING = re.compile(r'<style class="et-style">.*?</style>|<p class="et-none">.*?</p>', re.DOTALL)


def render(
    nb: Any,
    *,
    title: str,
    beside: Mapping[str, str] | None = None,
) -> str:
    """The report page of an executed notebook (a NotebookNode).

    One self-contained file: styles, scripts, figures and the glyphs of Korean and Chinese text are inside, and
    a content security policy forbids any request and any script but the page's own. Code is folded, stderr is
    left out, a cell's error is shown, and a section whose cells show nothing is left out whole. `beside`: files in
    the page's folder to be linked, path -> what each is. The same notebook and title always give the same bytes.
    """
    cells, contents = _contents(OWN_STYLES.sub("", _cells(nb)))
    links: dict[str, list[str]] = {}
    for name, what in (beside or {}).items():
        links.setdefault(what, []).append(name)
    if links:
        contents.append({"level": 2, "id": "downloads", "text": say("Files")})
    return page(
        "report/page.html.j2",
        STYLES,
        SCRIPTS,
        title=visible(title),
        contents=contents,
        body=Markup(cells),
        links=links,
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
    words = {text: say(text) for text in SPOKEN.findall("".join([asset(template), *sources]))}
    html = (
        environment()
        .get_template(template)
        .render(
            **content,
            lang=language(),
            words={key: text for key, text in words.items() if text != key},
            policy=policy(sources),
            css=Markup("\n".join([FONTS, *map(asset, styles)])),
            scripts=sources,
        )
    )
    fonts = webfont_css(html + "".join(words.values()))
    return html.replace(FONTS, fonts, 1)


@cache
def prepare() -> None:
    """Load and compile what every page needs, so that the first `render` takes no longer than the next."""
    from nbformat import v4

    cells = [v4.new_markdown_cell("# a"), v4.new_code_cell("a")]
    render(v4.new_notebook(cells=cells), title="가")


def _cells(nb: Any) -> str:
    from nbconvert import TemplateExporter

    nb = copy(nb)
    nb["cells"] = _with_content(nb.cells)
    # HTMLExporter would read the finished page once more, to add alternative texts that the template has
    page, _ = TemplateExporter.from_notebook_node(_exporter(), nb)
    # wide code and printed text scroll sideways, by keyboard too
    return page.replace("<pre>", '<pre tabindex="0">')


def _with_content(cells: Sequence[Any]) -> list[Any]:
    """The cells without sections whose code shows nothing: their heading, words and code."""
    levels = [_level(cell) for cell in cells]
    left_out: set[int] = set()
    for start, level in enumerate(levels):
        end = start + 1
        while end < len(cells) and not 0 < levels[end] <= level:
            end += 1
        code = [cell for cell in cells[start:end] if cell.cell_type == "code"]
        if level > 1 and code and not any(map(_shows, code)):
            left_out.update(range(start, end))
    return [cell for index, cell in enumerate(cells) if index not in left_out]


def _level(cell: Any) -> int:
    """The level of the heading that a cell begins with, 0 without one."""
    heading = re.match(r"(#{1,6}) ", cell.source)
    return len(heading[1]) if heading and cell.cell_type == "markdown" else 0


def _shows(cell: Any) -> bool:
    """Whether a cell has an output that shows something: more than styles, and that there is nothing."""
    for output in cell.outputs:
        html = output.get("data", {}).get("text/html", "text")
        if output.get("name") != "stderr" and Markup(NOTHING.sub("", "".join(html))).striptags():
            return True
    return False


@cache
def _exporter() -> Any:
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


def _contents(html: str) -> tuple[str, list[dict[str, Any]]]:
    """Give each heading an id of its own; returns the page and the entries of its contents list."""
    entries: list[dict[str, Any]] = []
    taken: Counter[str] = Counter()

    def heading(match: re.Match[str]) -> str:
        level, attributes, inner = int(match[1]), match[2] or "", match[3]
        text = Markup(inner).striptags()
        slug = re.sub(r"[^\w]+", "-", text.lower()).strip("-") or "section"
        taken[slug] += 1
        name = slug if taken[slug] == 1 else f"{slug}-{taken[slug]}"
        if level > 1:
            entries.append({"level": level, "id": name, "text": text})
        return f'<h{level} id="{name}"{attributes}>{inner}</h{level}>'

    pattern = r'<h([1-3])(?: id="[^"]*")?( class="[^"]*")?>(.*?)</h\1>'
    return re.sub(pattern, heading, html, flags=re.DOTALL), entries
