"""Build evaltools/report/fonts from Noto Sans CJK: `python scripts/make_fonts.py [NotoSansCJK-Regular.ttc]`.

The subset holds all Hangul syllables and jamo, the characters of GB 2312, and CJK punctuation and full-width
forms. Debian and Ubuntu ship the source font in the package fonts-noto-cjk.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

SOURCE = Path("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc")
TARGET = Path(__file__).resolve().parents[1] / "evaltools/report/fonts/EvaltoolsSansCJK-Regular.otf"
FACE = "Noto Sans CJK KR"
FAMILY = "Evaltools Sans CJK"

RANGES = (
    (0x1100, 0x11FF),  # Hangul jamo
    (0x3000, 0x303F),  # CJK symbols and punctuation
    (0x3130, 0x318F),  # Hangul compatibility jamo, with U+318D
    (0xAC00, 0xD7A3),  # Hangul syllables
    (0xFF00, 0xFFEF),  # half-width and full-width forms
)


def gb2312() -> Iterator[int]:
    for row in range(0xA1, 0xF8):
        for cell in range(0xA1, 0xFF):
            try:
                yield ord(bytes((row, cell)).decode("gb2312"))
            except UnicodeDecodeError:
                continue


def face(path: Path, family: str) -> TTFont:
    """The face of that family in a font collection."""
    for number in range(64):
        font = TTFont(path, fontNumber=number, recalcTimestamp=False)
        if font["name"].getDebugName(1) == family:
            return font
    raise SystemExit(f"{path} holds no {family}")


def rename(font: TTFont) -> None:
    """Own names, as the Open Font License asks of a changed font; copyright and license stay."""
    names = {
        1: FAMILY,
        2: "Regular",
        3: f"{FAMILY} Regular",
        4: f"{FAMILY} Regular",
        6: "EvaltoolsSansCJK-Regular",
    }
    table = font["name"]
    table.names = [n for n in table.names if n.nameID in (0, 13, 14) and n.platformID == 3]
    for name_id, text in names.items():
        table.setName(text, name_id, 3, 1, 0x409)
    cff = font["CFF "].cff
    cff.fontNames = [names[6]]
    top = cff.topDictIndex[0]
    top.FamilyName, top.FullName = FAMILY, names[4]


def main(source: Path) -> None:
    font = face(source, FACE)
    options = subset.Options()
    options.layout_features = []
    options.hinting = False
    options.notdef_outline = True
    options.name_IDs = [0, 1, 2, 3, 4, 6, 13, 14]
    options.drop_tables += ["vhea", "vmtx", "VORG", "BASE"]
    subsetter = subset.Subsetter(options)
    wanted = {*gb2312(), *(c for first, last in RANGES for c in range(first, last + 1))}
    subsetter.populate(unicodes=wanted)
    subsetter.subset(font)
    rename(font)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    font.save(TARGET)
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes, {len(font.getBestCmap()):,} characters")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE)
