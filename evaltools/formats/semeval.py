"""SemEval 2014 task 4, 2015 task 12 and 2016 task 5: XML, entities refused."""

from typing import Any, Literal
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import parse
from pydantic import AliasChoices, BaseModel, Field

from .source import Records, Rows, Source, Unfit, opinion


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
    tag = "aspectTerm" if level == "term" else "aspectCategory"
    return _read(
        source,
        "sentences",
        tag,
    )


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
    return opinion(
        *about,
        found.term,
        (found.start, found.end),
    )
