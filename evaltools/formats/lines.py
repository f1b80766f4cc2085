"""A sentence and its tuples on each line: NIKL, ASTE and TASD triplets, ASQP and ACOS quadruples."""

import ast
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field

from ..core.files import Fields, dumps
from ..core.records import not_utf8, read_jsonl, short
from .source import Records, Rows, Source, Unfit, opinion

# a longer line of text is no sample of a data set
LITERAL_BYTES = 1 << 20

Polarity = Literal["positive", "negative", "neutral"]

ASTE_POLARITIES = {
    "POS": "positive",
    "NEG": "negative",
    "NEU": "neutral",
}

ACOS_TUPLE = re.compile(
    r"(?P<start>-?\d{1,9}),(?P<end>-?\d{1,9}) (?P<ref>.+) (?P<sentiment>[012]) -?\d{1,9},-?\d{1,9}\s*"
)
ACOS_POLARITIES = ("negative", "neutral", "positive")

Tokens = Annotated[list[int], Field(min_length=1)]
Item = TypeVar("Item")


class Line(BaseModel, Generic[Item]):
    """The list behind a sentence."""

    tuples: list[Item]


def _with_target(item: Any) -> Any:
    """The tuple of a prediction, [category, polarity], as one whose term is implicit."""
    is_pair = isinstance(item, list) and len(item) == 2
    return [item[0], [None, 0, 0], item[1]] if is_pair else item


Target = tuple[str | None, int, int]
Annotation = Annotated[tuple[str, Target, Polarity], BeforeValidator(_with_target)]


class Nikl(BaseModel):
    """A sentence with its tuples: [category, [term, start, end], polarity]; a null term is implicit."""

    id: str | int | None = None
    sentence_form: str
    annotation: list[Annotation]


def nikl(source: Source) -> Records:
    """JSON Lines of the National Institute of Korean Language: gold, and predictions of the baseline."""
    for line, sample in read_jsonl(source, Nikl):
        tuples = [
            opinion(
                ref,
                polarity,
                term or "",
                (start, end) if term else None,
            )
            for ref, (term, start, end), polarity in sample.annotation
        ]
        id_ = str(line if sample.id is None else sample.id)
        yield line, [{"id": id_, "text": sample.sentence_form, "tuples": tuples}]


def aste(source: Source) -> Records:
    """sentence####[([aspect tokens], [opinion tokens], 'POS'), ...]: tuples of aspect, polarity."""
    model = Line[tuple[Tokens, Tokens, Literal["POS", "NEG", "NEU"]]]
    return _literals(
        source,
        model,
        lambda text, aspect, _, sentiment: opinion(
            "", ASTE_POLARITIES[sentiment], *tokens(text, aspect)
        ),
    )


def asqp(source: Source) -> Records:
    """sentence####[['aspect', 'category', 'polarity', 'opinion'], ...]; the opinion's words are left out.

    Tuples of category, aspect and polarity; NULL is implicit.
    """
    return _literals(
        source,
        Line[tuple[str, str, Polarity, str]],
        _named,
    )


def tasd(source: Source) -> Records:
    """sentence####[['aspect', 'category', 'polarity'], ...]: ASQP without the opinion."""
    return _literals(
        source,
        Line[tuple[str, str, Polarity]],
        _named,
    )


def _named(
    _: str,
    term: str,
    ref: str,
    polarity: str,
    *words: str,
) -> Fields:
    return opinion(
        ref,
        polarity,
        "" if term == "NULL" else term,
    )


def _literals(
    source: Source,
    model: type[Line[Any]],
    opinion_of: Callable[..., Fields],
) -> Records:
    """Samples of lines sentence####[...]; the list is read as a Python literal, nothing is run."""

    def tuples(text: str, literal: str) -> list[Fields]:
        if len(literal) > LITERAL_BYTES:
            raise Unfit("", "a list of more than 1 MB")
        try:
            items = ast.literal_eval(literal.strip())
            dumps(items).encode()  # no half of a character
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            raise Unfit("", f"expected a Python list after ####, got {short(literal)}") from None
        return [opinion_of(text, *item) for item in model(tuples=items).tuples]

    return _samples(source, "####", tuples)


def acos(source: Source) -> Records:
    """The sentence, then a tab and `a0,a1 CATEGORY s o0,o1` for each tuple of category, aspect, polarity.

    Token spans are half open, -1,-1 is implicit.
    """
    return _samples(
        source,
        "\t",
        lambda text, quads: [
            _acos_opinion(text, quad) for quad in quads.split("\t") if quad.strip()
        ],
    )


def _acos_opinion(
    text: str,
    quad: str,
) -> Fields:
    match = ACOS_TUPLE.fullmatch(quad)
    if match is None:
        raise Unfit(
            "quadruples", f"expected 'a0,a1 CATEGORY s o0,o1' (s: 0, 1, 2), got {short(quad)}"
        )
    start, end = int(match["start"]), int(match["end"])
    about = match["ref"], ACOS_POLARITIES[int(match["sentiment"])]
    if (start, end) == (-1, -1):
        return opinion(*about)
    if not start < end <= len(text):  # checked before a range of that length is made
        raise Unfit("quadruples", f"expected a half open span of tokens, got {start},{end}")
    return opinion(*about, *tokens(text, range(start, end)))


def _samples(
    source: Source,
    mark: str,
    tuples_of: Callable[[str, str], list[Fields]],
) -> Records:
    """The samples of the lines of a UTF-8 file that are not blank, by their numbers: a sentence, the mark, its tuples."""

    def sample(number: int, line: str) -> Rows:
        text, found, tuples = line.partition(mark)
        if not found:
            raise Unfit("", f"expected a sentence, {mark!r} and its tuples, got {short(line)}")
        yield {"id": str(number), "text": text, "tuples": tuples_of(text, tuples)}

    number = 0
    with source.path.open("rb") as file:
        for line, raw in enumerate(file, 1):
            try:
                text = raw.decode("utf-8-sig").strip("\r\n")
            except UnicodeDecodeError as error:
                source.error("not-utf8", not_utf8(error, "line"), line=line)
                number += 1  # a sample all the same: those after it keep their numbers
                continue
            if text.strip():
                number += 1
                yield line, sample(number, text)


def tokens(
    sentence: str,
    numbers: Sequence[int],
) -> tuple[str, tuple[int, int] | None]:
    """The text of whitespace tokens, by their 0-based numbers, and its span (start, end).

    The span is None where the tokens do not stand side by side.

    >>> tokens("The battery life is long", [1, 2])
    ('battery life', (4, 16))
    """
    spans = [match.span() for match in re.finditer(r"\S+", sentence)]
    if not all(0 <= number < len(spans) for number in numbers):
        raise Unfit(
            "tokens", f"expected numbers of the {len(spans)} tokens, got {short(list(numbers))}"
        )
    first, last = numbers[0], numbers[-1]
    if list(numbers) == list(range(first, last + 1)):
        start, end = spans[first][0], spans[last][1]
        return sentence[start:end], (start, end)
    words = [sentence[slice(*spans[number])] for number in numbers]
    return " ".join(words), None
