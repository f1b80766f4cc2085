"""Sentences and their tuples: NIKL, ASTE, TASD, ASQP and ACOS a line each; XML of SemEval, entities refused."""

import ast
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Generic, Literal, TypeVar
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import parse
from pydantic import AliasChoices, BaseModel, BeforeValidator, Field

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
            opinion(ref, polarity, term or "", (start, end) if term else None)
            for ref, (term, start, end), polarity in sample.annotation
        ]
        id_ = str(line if sample.id is None else sample.id)
        yield line, [{"id": id_, "text": sample.sentence_form, "tuples": tuples}]


def aste(source: Source) -> Records:
    """sentence####[([aspect tokens], [opinion tokens], 'POS'), ...]: tuples of aspect, polarity."""
    return _literals(
        source,
        Line[tuple[Tokens, Tokens, Literal["POS", "NEG", "NEU"]]],
        lambda text, aspect, _, sentiment: opinion(
            "", ASTE_POLARITIES[sentiment], *tokens(text, aspect)
        ),
    )


def _named(
    _: str,
    term: str,
    ref: str,
    polarity: str,
    *words: str,
) -> Fields:
    return opinion(ref, polarity, "" if term == "NULL" else term)


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


# sentence####[['aspect', 'category', 'polarity'], ...], of ASQP with the opinion, whose words are left out: tuples of
# category, aspect and polarity; NULL is implicit
tasd = partial(_literals, model=Line[tuple[str, str, Polarity]], opinion_of=_named)
asqp = partial(_literals, model=Line[tuple[str, str, Polarity, str]], opinion_of=_named)


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
    if not match:
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
    return " ".join(sentence[slice(*spans[number])] for number in numbers), None


class Opinion(BaseModel):
    """The attributes of an element with an opinion; a term NULL, and no term, is implicit."""

    term: str = Field("NULL", validation_alias=AliasChoices("term", "target"))
    category: str = ""
    polarity: Literal["positive", "negative", "neutral", "conflict"]
    start: int | None = Field(None, alias="from")
    end: int | None = Field(None, alias="to")


def read14(
    source: Source,
    *,
    level: str = "term",
) -> Records:
    """Tuples of the terms (without a category) or of the categories (without a term).

    The two are not linked.
    """
    return _read(source, "sentences", "aspectTerm" if level == "term" else "aspectCategory")


def read16(source: Source) -> Records:
    """Target NULL, and no target (laptops), is implicit.

    Sentences that are OutOfScope are left out. A review whose opinions are of the whole text, as in
    2016, is one sample.
    """
    return _read(source, "Reviews", "Opinion")


def _read(
    source: Source,
    root: str,
    tag: str,
) -> Records:
    """The samples of a file with this root, whose tuples are the elements with this tag.

    A sample is a sentence, or a review that has opinions of its own instead of its sentences'. InputError for what is
    no XML, has another root or defines entities.
    """
    try:
        top = parse(source.path).getroot()
    except DefusedXmlException:
        raise source.fatal(
            "xml-entities", "it declares entities or outside references, which are refused"
        ) from None
    except (ParseError, ValueError, LookupError) as error:  # the last two: of encodings
        line, *_ = getattr(error, "position", (None,))
        raise source.fatal(
            "bad-xml",
            f"not XML: {error}",
            line=line,
        ) from None
    if top.tag != root:
        raise source.fatal("wrong-format", f"expected XML with the root {root}, got {top.tag!r}")
    records: list[Element] = []
    for element in top:
        is_whole = element.find("Opinions") is not None
        records += [element] if is_whole else element.iter("sentence")
    for number, record in enumerate(records, 1):
        if record.get("OutOfScope", "").upper() != "TRUE":
            name = record.get("id") or record.get("rid") or str(number)
            yield (
                f"{record.tag.lower()} {name}",
                _sample(
                    name,
                    record,
                    tag,
                ),
            )


def _sample(
    name: str,
    record: Element,
    tag: str,
) -> Rows:
    texts = [element.text or "" for element in record.iter("text")]
    if not texts:
        raise Unfit("text", "expected an element with the text of the sentence")
    tuples = [_tuple(element) for element in record.iter(tag)]
    yield {"id": name, "text": " ".join(texts), "tuples": tuples}


def _tuple(element: Element) -> dict[str, Any]:
    found = Opinion.model_validate(element.attrib)
    about = found.category, "mixed" if found.polarity == "conflict" else found.polarity
    if found.term == "NULL" and found.category:
        return opinion(*about)
    if found.term == "NULL" or found.start is None or found.end is None:
        raise Unfit(
            element.tag, "expected a category, or a term with the whole numbers from and to"
        )
    return opinion(*about, found.term, (found.start, found.end))
