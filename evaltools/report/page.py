"""The page: an executed notebook as one HTML file that loads nothing, and what its pieces are made of.

Contents list, folded code, filters; the files of the folder `templates`; the Hangul and Han glyphs for
figures and pages on machines that have no font with them.
"""

import hashlib
import io
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ..core.estimates import is_null
from ..core.files import Names, asset_dir
from ..core.messages import language, listed, say, visible
from .text import anchor, marked, safe, short

# the words of a script: `say` is called there with the English text in double quotes
SPOKEN = re.compile(r'\bsay\("((?:[^"\\]|\\.)*)"')

FRAGMENTS = "report/fragments.css"

# what stands for the fonts of a page until its glyphs are known
FONTS = Markup("\x00fonts\x00")


def render(
    nb: Any,
    *,
    title: str,
    beside: Mapping[str, str] = {},
) -> str:
    """The report page of an executed notebook (a NotebookNode).

    One self-contained file: styles, scripts, figures and the glyphs of Korean and Chinese text are inside, and
    a content security policy forbids any request and any script but the page's own. Code is folded, stderr is
    left out, a cell's error is shown, and a section whose cells have no output is left out whole. `beside`: files in
    the page's folder to be linked, path -> what each is. The same notebook and title always give the same bytes.
    """
    from nbconvert import TemplateExporter

    nb = copy(nb)
    nb["cells"] = _with_content(nb.cells)
    # HTMLExporter would read the finished page once more, to add alternative texts that the template has
    cells, _ = TemplateExporter.from_notebook_node(exporter(), nb)
    # wide code and printed text scroll sideways, by keyboard too
    cells = OWN_STYLES.sub("", cells.replace("<pre>", '<pre tabindex="0">'))
    titles = [Markup(text).striptags() for text in re.findall("<h2>(.*?)</h2>", cells)]
    contents = [(anchor("section", text), text) for text in titles]
    for name, _ in contents:
        cells = cells.replace("<h2>", f'<h2 id="{name}">', 1)
    return page(
        "report/page.html.j2",
        title=visible(title),
        contents=contents,
        body=Markup(cells),
        links=beside,
    )


def page(
    template: str,
    **content: Any,
) -> str:
    """A page that loads nothing: its styles, its script and the Korean and Chinese glyphs it uses stand in it."""
    script = Markup(asset("report/page.js"))
    words = {text: say(text) for text in SPOKEN.findall(script)}
    html = (
        environment()
        .get_template(template)
        .render(
            **content,
            lang=language(),
            words=words,
            digest=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            css=Markup("\n".join([FONTS, asset(FRAGMENTS), asset("report/page.css")])),
            script=script,
        )
    )
    return html.replace(FONTS, webfont_css(html + "".join(words.values())), 1)


def _with_content(cells: Iterable[Any]) -> list[Any]:
    """The cells without sections whose code has no output: their heading, words and code."""
    sections: list[list[Any]] = [[]]
    for cell in cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            sections.append([])
        sections[-1].append(cell)
    kept = sections.pop(0)
    for section in sections:
        outputs = [cell.outputs for cell in section if cell.cell_type == "code"]
        if any(outputs) or not outputs:
            kept += section
    return kept


@cache
def exporter() -> Any:
    """The exporter of nbconvert with the template of the cells, which takes a second to load."""
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(
        template_name="report",
        extra_template_basedirs=[str(asset_dir("templates"))],
        exclude_anchor_links=True,
    )
    exporter.environment.globals["say"] = say
    return exporter


# --- the files of the folder `templates`

# the stylesheet that stands before a piece in a notebook, and that a page leaves out
OWN_STYLES = re.compile(r'<style class="et-style">.*?</style>', re.DOTALL)


@cache
def asset(name: str) -> str:
    """The text of a file of the folder, without blanks at its ends."""
    return (asset_dir("templates") / name).read_text(encoding="utf-8").strip()


@cache
def style() -> str:
    """The stylesheet of the pieces as an element, for where they stand outside a page, as in JupyterLab."""
    css = re.sub(
        r"/\*.*?\*/|\n",
        "",
        asset(FRAGMENTS),
        flags=re.DOTALL,
    )
    return f'<style class="et-style">{css}</style>'


@cache
def environment() -> Any:
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
    templates.globals |= {"say": say, "anchor": anchor}
    templates.filters |= {
        "bdi": safe,
        "listed": listed,
        "marked": marked,
        "short": short,
        "visible": visible,
    }
    templates.tests["null"] = is_null
    return templates


@cache
def macros() -> Any:
    """The macros of the pieces, as functions that give Markup."""
    return environment().get_template("report/macros.html.j2").module


# --- fonts

FAMILY = "Evaltools Sans CJK"
FILE = Path(__file__).parent / "fonts" / "EvaltoolsSansCJK-Regular.otf"

# what the web font answers for; Latin, Greek, arrows and quotation marks stay with the reader's own fonts
BLOCKS = "1100-11FF 2460-24FF 3000-303F 3040-30FF 3130-318F 3200-33FF 4E00-9FFF AC00-D7A3 FF00-FFEF"

ANSWERED = re.compile("[" + re.sub(r"\w{4}", r"\\u\g<0>", BLOCKS.replace(" ", "")) + "]")


@cache
def families() -> Names:
    """The families for `font.family`, by preference; the shipped face is registered on first use."""
    from matplotlib import font_manager

    fonts = font_manager.fontManager
    fonts.addfont(FILE)
    # the one weight also answers for bold, which matplotlib would otherwise log as a font not found
    fonts.ttflist.append(replace(fonts.ttflist[-1], weight=700))
    return "DejaVu Sans", FAMILY


def webfont_css(text: str) -> str:
    """A CSS @font-face holding just those Hangul, Han and full-width glyphs that `text` uses; "" where it uses none.

    The font is a WOFF in a data: URL, limited by `unicode-range` to the same blocks, so that `FAMILY` can
    stand first in a font-family list. The same text always gives the same bytes.
    """
    glyphs = "".join(sorted(set(ANSWERED.findall(text))))
    if not glyphs:
        return ""
    from fontTools import subset

    out = io.BytesIO()
    # the bounding boxes of the whole font stand for those of its part: nothing lays out by them
    options = subset.Options(
        flavor="woff",
        layout_features=[],
        desubroutinize=True,
    )
    font = subset.load_font(FILE, options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(text=glyphs)
    subsetter.subset(font)
    subset.save_font(font, out, options)
    data = b64encode(out.getvalue()).decode("ascii")
    ranges = ",".join(f"U+{block}" for block in BLOCKS.split())
    return (
        f'@font-face{{font-family:"{FAMILY}";font-display:block;'
        f'src:url(data:font/woff;base64,{data}) format("woff");unicode-range:{ranges}}}'
    )
