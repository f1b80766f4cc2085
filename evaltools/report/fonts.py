"""Hangul and Han glyphs for figures and pages, on machines that have no font with them."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

FAMILY = "Evaltools Sans CJK"
FILE = Path(__file__).parent / "fonts" / "EvaltoolsSansCJK-Regular.otf"

BLOCKS = "1100-11FF 2460-24FF 3000-303F 3040-30FF 3130-318F 3200-33FF 4E00-9FFF AC00-D7A3 FF00-FFEF"
"""What the web font answers for; Latin, Greek, arrows and quotation marks stay with the reader's own fonts."""

ANSWERED = re.compile("[" + re.sub(r"\w{4}", r"\\u\g<0>", BLOCKS.replace(" ", "")) + "]")


@cache
def families() -> tuple[str, ...]:
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
    return _subset("".join(sorted(set(ANSWERED.findall(text)))))


@cache
def _subset(glyphs: str) -> str:
    """The @font-face of `webfont_css` for these glyphs; pages and figures of a batch often use the same."""
    if not glyphs:
        return ""
    from fontTools import subset
    from fontTools.ttLib import TTFont

    out = io.BytesIO()
    # the bounding boxes of the whole font stand for those of its part: nothing lays out by them
    with TTFont(FILE, lazy=True, recalcTimestamp=False, recalcBBoxes=False) as font:
        subsetter = subset.Subsetter(
            subset.Options(layout_features=[], desubroutinize=True, notdef_outline=True)
        )
        subsetter.populate(text=glyphs)
        subsetter.subset(font)
        font.flavor = "woff"
        font.save(out)
    data = base64.b64encode(out.getvalue()).decode("ascii")
    ranges = ",".join(f"U+{block}" for block in BLOCKS.split())
    return (
        f'@font-face{{font-family:"{FAMILY}";font-display:block;'
        f'src:url(data:font/woff;base64,{data}) format("woff");unicode-range:{ranges}}}'
    )
