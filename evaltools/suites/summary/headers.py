"""The names that the columns of a table of cases may have, in English, Korean and Chinese."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from unicodedata import normalize

HEADERS = {
    "id": ("사례번호", "사례 id", "사례", "번호", "상담번호", "case_id", "案例编号", "编号"),
    "question": ("질문", "문의", "问题"),
    "answer": ("요약", "요약문", "요약본", "summary", "摘要"),
    "contexts": ("원문", "대화 원문", "상담 원문", "컨텍스트", "context", "原文", "对话原文"),
    "ground_truth": ("정답", "정답 요약", "참고 요약", "标准答案"),
    "summary_tags": ("태그", "리스크 항목", "리스크 태그", "tags", "标签", "风险事项"),
    "summary_intent": ("의도", "용도", "意图"),
    "metadata": ("메타데이터", "元数据"),
    "product": ("상품", "상품명", "产品"),
    "channel": ("채널", "渠道"),
}
"""Field of a case -> what a column of it may be called besides."""

FIELDS = tuple(HEADERS)

_FIELD_OF = {
    "".join(name.split()): field for field, names in HEADERS.items() for name in (field, *names)
}


def field_of(header: str) -> str:
    """The field that a column holds; the header itself, in lower case, where it is none.

    >>> field_of(" 사례 번호 "), field_of("Answer"), field_of("메모")
    ('id', 'answer', '메모')
    """
    name = header.strip().lower()
    return _FIELD_OF.get("".join(name.split()), name)


def nearest_header(header: str, wanted: Sequence[str]) -> str | None:
    """The name of a wanted field that a header comes close to, in the header's script; None where none is.

    Hangul is compared by letters, not by syllables.

    >>> nearest_header("요약믄", ["answer"]), nearest_header("memo", ["answer"])
    ('요약문', None)
    """
    by_letters = {}
    for field in wanted:
        for name in (field, *HEADERS[field]):
            by_letters[normalize("NFD", name)] = name
    near = get_close_matches(normalize("NFD", header.strip().lower()), by_letters, 1, 0.7)
    return by_letters[near[0]] if near else None
