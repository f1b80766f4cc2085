"""Whether a result can be believed, in a word: the worst decides."""

from __future__ import annotations

from typing import Any

import pytest

from evaltools.report.trust import trust


@pytest.mark.parametrize(
    "levels, incomplete, words, kind",
    [
        ([], False, "no caution", "good"),
        (["info", "info"], False, "no caution", "good"),
        (["warning"], False, "1 caution", "warning"),
        (["info", "warning", "warning"], False, "2 cautions", "warning"),
        (["warning", "blocking"], False, "cannot be measured", "error"),
        (["blocking"], True, "incomplete", "error"),
        ([], True, "incomplete", "error"),
        (None, False, "not checked", "info"),
        (None, True, "incomplete", "error"),
    ],
)
def test_the_worst_is_said(levels: Any, incomplete: bool, words: str, kind: str) -> None:
    state = trust(levels, incomplete=incomplete)
    assert (str(state.words), state.kind) == (words, kind)


def test_what_is_spoilt_is_worse_than_all_else() -> None:
    state = trust(["blocking"], incomplete=True, spoilt=True)
    assert (str(state.words), state.kind) == ("not as it was written", "error")
