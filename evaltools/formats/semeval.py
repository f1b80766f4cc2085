"""SemEval 2014 task 4, 2015 task 12 and 2016 task 5: XML, entities refused."""

from __future__ import annotations

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
        message = "it declares entities or outside references, which are refused"
        raise source.fatal("xml-entities", message) from None
    except (ParseError, ValueError, LookupError) as error:  # the last two: of encodings
        line, *_ = getattr(error, "position", (None,))
        raise source.fatal("bad-xml", f"not XML: {error}", line=line) from None
    if top.tag != root:
        message = f"expected XML with the root {root}, got {top.tag!r}"
        raise source.fatal("wrong-format", message)
    records: list[Element] = []
    for element in top:
        is_whole = element.find("Opinions") is not None
        records += [element] if is_whole else element.iter("sentence")
    names = [r.get("id") or r.get("rid") or str(n) for n, r in enumerate(records, 1)]

    def sample(
        number: int,
        record: Element,
    ) -> Rows:
        if record.get("OutOfScope", "").upper() == "TRUE":
            return
        texts = [element.text or "" for element in record.iter("text")]
        if not texts:
            raise Unfit("text", "expected an element with the text of the sentence")
        tuples = [_tuple(element) for element in record.iter(tag)]
        yield {"id": names[number - 1], "text": " ".join(texts), "tuples": tuples}

    places = [f"{record.tag.lower()} {name}" for name, record in zip(names, records)]
    return source.rows(zip(places, records), sample)


def _tuple(element: Element) -> dict[str, Any]:
    found = Opinion.model_validate(element.attrib)
    polarity = "mixed" if found.polarity == "conflict" else found.polarity
    if found.term == "NULL":
        if not found.category:
            raise Unfit(element.tag, "expected a term, target or category")
        return opinion(found.category, "", polarity)
    if found.start is None or found.end is None:
        raise Unfit(element.tag, "expected whole numbers from and to")
    return opinion(
        found.category,
        found.term,
        polarity,
        (found.start, found.end),
    )
