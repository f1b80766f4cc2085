"""What reaches a terminal."""

import io
import sys

import pytest

from evaltools.core.messages import echo, visible


def test_what_a_name_or_a_file_may_hold() -> None:
    assert visible("a\x1b[31mb\x07\u202ec\u200b\n한글 中文\t\ud800") == (
        "a[U+001B][31mb[U+0007][U+202E]c[U+200B]\n한글 中文\t[U+D800]"
    )


@pytest.mark.parametrize("err", [False, True])
def test_a_terminal_without_the_letters_spells_them_out(
    err: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stderr" if err else "stdout", ascii_only)
    echo("한 a", err=err)
    ascii_only.seek(0)
    assert ascii_only.read() == "\\ud55c a\n"
