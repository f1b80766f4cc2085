"""SemEval 2014 task 4, 2015 task 12 and 2016 task 5: XML, streamed, entities refused."""

from __future__ import annotations

from typing import IO, Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from ..core.language import Message
from .rows import POLARITIES, Sample, Unfit, but_got, chosen, opinion
from .source import Records, Source

SENTENCE_BYTES = 16 << 20
"""No sentence is as long."""

NAMES = {**POLARITIES, "conflict": "mixed"}

LEVELS = {"term": "aspectTerm", "category": "aspectCategory"}


def read14(source: Source, *, level: str) -> Records:
    """Tuples of the terms (without a category) or of the categories (without a term).

    The two are not linked.
    """
    return _read(source, "sentences", LEVELS[level])


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
    """The samples of a file with this root, whose tuples are the elements with this tag."""

    def sample(number: int, record: Element) -> Sample | None:
        if record.get("OutOfScope", "").upper() == "TRUE":
            return None
        texts = [element.text or "" for element in record.iter("text")]
        if not texts:
            raise Unfit("text", "expected an element with the text of the sentence")
        opinions = [_opinion(element) for element in record.iter(tag)]
        name = record.get("id") or record.get("rid")
        id_ = name or str(number)
        return Sample(id_, " ".join(texts), opinions)

    return source.rows(_records(source, root), sample)


def _opinion(element: Element) -> dict[str, Any]:
    tag = element.tag
    fields = element.attrib
    sentiment = fields.get("polarity")
    polarity = chosen(sentiment, NAMES, f"{tag}@polarity")
    ref = fields.get("category", "")
    target = fields.get("target", "NULL")
    term = fields.get("term", target)
    if term == "NULL" and not ref:
        raise Unfit(tag, "expected a term, target or category", got=sorted(fields))
    if term == "NULL":
        return opinion(ref, "", polarity)
    try:
        span = int(fields["from"]), int(fields["to"])
    except (KeyError, ValueError):
        expected = "expected whole numbers from and to"
        raise Unfit(f"{tag}@from", expected, got=fields) from None
    return opinion(ref, term, polarity, span)


class _BoundedFile:
    """A file that is not read far beyond the last record."""

    def __init__(self, file: IO[bytes]):
        self.file = file
        self.since_record = 0

    def read(self, n: int = -1) -> bytes:
        data = self.file.read(n)
        self.since_record += len(data)
        if self.since_record > SENTENCE_BYTES:
            raise ParseError(f"a sentence of more than {SENTENCE_BYTES >> 20} MB")
        return data


def _samples_of(element: Element) -> list[Element]:
    """The samples in a sentence or review that was read whole."""
    if element.tag == "sentence":
        return [element]
    sentences = list(element.iter("sentence"))
    is_of_sentences = any(sentence.find("Opinions") is not None for sentence in sentences)
    if element.find("Opinions") is not None and not is_of_sentences:
        return [element]
    return sentences


def _records(source: Source, root: str) -> Records:
    """Every sentence, or every review that has opinions of its own instead of its sentences'.

    InputError for what is no XML, has another root or defines entities.
    """
    number = 0
    top = None
    with source.path.open("rb") as file:
        bounded = _BoundedFile(file)
        try:
            for event, element in iterparse(bounded, ("start", "end")):
                if top is None:
                    top = element
                    if top.tag != root:
                        expected = "expected XML with the root {root}"
                        message = but_got(Message(expected, {"root": root}), top.tag)
                        raise source.fatal("wrong-format", message)
                is_whole = event == "end" and element in top
                if not is_whole:
                    continue
                bounded.since_record = 0
                for record in _samples_of(element):
                    number += 1
                    name = record.get("id") or record.get("rid") or number
                    yield f"{record.tag.lower()} {name}", record
                top.remove(element)  # what was read is let go; others may have been parsed already
        except DefusedXmlException as error:
            text = "entities and references are refused: {what}"
            raise source.fatal("xml-entities", text, what=str(error)) from None
        except (ParseError, ValueError, LookupError) as error:  # the last two: of encodings
            line, *_ = getattr(error, "position", (None,))
            raise source.fatal(
                "bad-xml",
                "not XML: {reason} (after {n} sentences)",
                reason=str(error),
                n=number,
                line=line,
            ) from None
