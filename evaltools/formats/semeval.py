"""SemEval 2014 task 4, 2015 task 12 and 2016 task 5: XML, streamed, entities refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from ..core.errors import Problems
from ..core.records import require_file
from .rows import POLARITIES, Opinion, Place, Sample, Unfit, chosen, made

SENTENCE_BYTES = 16 << 20
"""No sentence is as long."""

NAMES = {**POLARITIES, "conflict": "mixed"}

LEVELS = {"term": "aspectTerm", "category": "aspectCategory"}


def read14(path: Path, problems: Problems, *, level: str) -> Iterator[tuple[Place, Sample]]:
    """Tuples of the terms (without a category) or of the categories (without a term): they are not linked."""
    return _read(path, problems, "sentences", LEVELS[level])


def read16(path: Path, problems: Problems) -> Iterator[tuple[Place, Sample]]:
    """Target NULL, and no target (laptops), is implicit. Sentences that are OutOfScope are left out."""
    return _read(path, problems, "Reviews", "Opinion")


def _read(path: Path, problems: Problems, root: str, tag: str) -> Iterator[tuple[Place, Sample]]:
    def rows(number: int, sentence: Element) -> Iterator[Sample]:
        text = sentence.findtext("text")
        if text is None:
            raise Unfit("text", "expected an element with the text of the sentence")
        if sentence.get("OutOfScope", "").upper() != "TRUE":
            yield Sample(
                sentence.get("id") or str(number), text, tuple(map(_opinion, sentence.iter(tag)))
            )

    require_file(path, problems)
    return made(_sentences(path, problems, root), rows, path, problems)


def _opinion(element: Element) -> Opinion:
    tag, given = element.tag, element.attrib
    polarity = chosen(given.get("polarity"), NAMES, f"{tag}@polarity")
    ref, term = given.get("category", ""), given.get("term", given.get("target", "NULL"))
    if term == "NULL":
        if not ref:
            raise Unfit(tag, f"expected a term, target or category, got {sorted(given)}")
        return Opinion(ref, "", polarity)
    try:
        return Opinion(ref, term, polarity, (int(given["from"]), int(given["to"])))
    except (KeyError, ValueError):
        raise Unfit(f"{tag}@from", f"expected whole numbers from and to, got {given}") from None


class _Bounded:
    """A file that is not read far beyond the last record."""

    def __init__(self, f: IO[bytes]):
        self.f, self.since = f, 0

    def read(self, n: int = -1) -> bytes:
        data = self.f.read(n)
        self.since += len(data)
        if self.since > SENTENCE_BYTES:
            raise ParseError(f"a sentence of more than {SENTENCE_BYTES >> 20} MB")
        return data


def _sentences(path: Path, problems: Problems, root: str) -> Iterator[tuple[Place, Element]]:
    """Every sentence. InputError for what is no XML, has another root or defines entities."""
    number, top = 0, None
    with path.open("rb") as f:
        bounded = _Bounded(f)
        try:
            for event, element in iterparse(bounded, ("start", "end")):
                top = element if top is None else top
                if top.tag != root:
                    message = f"expected XML with the root {root}, got {top.tag[:80]!r}"
                    raise problems.fatal("wrong-format", message, file=str(path))
                if event == "end" and element.tag == "sentence":
                    number, bounded.since = number + 1, 0
                    yield f"sentence {element.get('id') or number}", element
                    element.clear()
                    top[:] = top[-1:]  # what was read is let go
        except DefusedXmlException as e:
            message = f"entities and references are refused: {e}"
            raise problems.fatal("xml-entities", message, file=str(path)) from None
        except (ParseError, ValueError, LookupError) as e:  # the last two: of encodings
            message = f"not XML: {e}" + (f" (after {number} sentences)" if number else "")
            line = getattr(e, "position", (None,))[0]
            raise problems.fatal("bad-xml", message, file=str(path), line=line) from None
