"""Rule files: what the metrics look for, as data that is validated, hashed, and compiled where it is used.

Source: seed insurance_summary_prd sections 5 to 7; specification D15 and D16.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    Field,
    PositiveFloat,
    model_validator,
)

from ...core.files import Names, nearest, read_once
from ...core.manifest import policy_hash
from ...core.messages import Problems, UsageError, first_ten
from ...core.records import File, read_json
from .phrases import Compiled, Spans, compile_phrase, expand, find_all
from .text import composed

DEFAULT_RULES = "ko-insurance"
FOLDER = Path(__file__).parent / "rules"

# the metrics of a case -> what readers see of them
TERMS = {
    "summary_accuracy": "Summary accuracy",
    "summary_risk_coverage": "Risk coverage",
    "summary_non_definitive": "Non-definitive",
    "summary_needs_followup": "Follow-up",
    "entity_recall": "Entity recall",
}
METRICS = tuple(TERMS)
# the metrics that have a say; the recall is described and never judged (D36)
JUDGED = METRICS[:4]

# the tag of a summary that must name what is still to be done
FOLLOWUP_TAG = "needs_followup"

Phrase = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"\S")]
Phrases = tuple[Phrase, ...]
SomePhrases = Annotated[Phrases, Field(min_length=1)]
Share = Annotated[float, Field(ge=0, le=1)]


class _Strict(
    BaseModel,
    frozen=True,
    extra="forbid",
    strict=True,
    allow_inf_nan=False,
):
    """A part of a rule file; unknown keys are errors."""


class LetOff(_Strict):
    """Wording that takes a match back: a denial (무조건 지급되는 것은 아닙니다), a duty, a question.

    `before` and `after` are phrases looked for in the clause on either side of the match, at most
    `near` characters away. `unless` names phrases that stop it: 무조건 거절하지 않습니다 is a promise
    all the same.
    """

    reason: Phrase
    before: Phrases = ()
    after: Phrases = ()
    unless: Phrases = ()
    near: int = Field(40, ge=0, le=200)


class PhraseSet(_Strict):
    """Phrases with what forbids or takes back a match of theirs.

    `not_within`: words that a match may not touch (단서 is no proviso in 진단서).
    `needs`: of a tag, what must stand in a match or near it (limit: a figure; 한도 alone only names it).
    `signs`: of a tag, words too weak to cover it alone: they do in a clause that tells one of the sources again.
    `sure`: of the follow-up, the wordings that count where none is due; without any, all of them do.
    `let_off`: names of let-offs.
    `aliases`: of a tag, names under which cases may give it.
    """

    phrases: SomePhrases
    needs: Phrases = ()
    signs: Phrases = ()
    sure: Phrases = ()
    not_within: Phrases = ()
    let_off: Names = ()
    aliases: Phrases = ()


class Unit(_Strict):
    """Words for one unit. A value times `factor` is in `base`: 년 has base month and factor 12.

    `before`: signs that stand before the figure ($).
    `not_before`: for a word, what may not follow it, as it would be part of another word (회 in 회사).
    """

    kind: Phrase
    base: Phrase
    factor: PositiveFloat = 1.0
    words: SomePhrases
    before: Phrases = ()
    not_before: dict[str, Phrases] = {}


class ValueWords(_Strict):
    """Words that state a value: a fixed expression (보름: 15 days), a condition word or a document of the domain.

    kind, base, value: as of an entity. `phrases` are values of a text; `support`, and the wordings of
    `tag`, say the same in other words and may only support them. `not_within`: words that a match may
    not touch (사흘 in 영업일로 사흘).
    """

    kind: Phrase
    base: str = ""
    value: float | Phrase
    phrases: Phrases = ()
    support: Phrases = ()
    tag: str | None = None
    not_within: Phrases = ()


class Rules(_Strict):
    """A rule file.

    extends: a bundled file to which this one adds: names of a section are added or replaced, and
    the phrases of a tag, and entries of a list, stand after those that are there.
    told: what stands behind a wording that lacks what it `needs`, where a summary says no more than
    that the item was told: it covers the tag, and a person must look at it.
    names: bare names of items (필요서류 안내): they are nothing that a wording `needs`, and no sign.
    required: the tags that every summary of a product must name, by product, blanks aside ("*": of any).
    match: "substring" finds phrases as plain text, "flex" with the signs of `phrases.py`.
    fold: full-width and look-alike characters are read as plain ones.
    particles: what a blank in a phrase may stretch over.
    words: alternatives by name, which a flex phrase, or a later name, uses as {name}.
    clause_ends: where the scope of a let-off ends, besides the end of the sentence.
    thresholds: a case passes a metric at or above its threshold (seed section 6).
    """

    schema_version: Literal[1]
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,60}$")
    version: str = Field(min_length=1, max_length=40)
    description: str = ""
    extends: str | None = None
    match: Literal["substring", "flex"]
    fold: bool
    particles: Phrases = ()
    words: dict[str, Phrases] = {}
    clause_ends: Phrases = ()
    thresholds: dict[str, Share]
    tags: dict[str, PhraseSet] = Field(min_length=1)
    followup: PhraseSet
    definitive: tuple[PhraseSet, ...] = Field(min_length=1)
    let_offs: dict[str, LetOff] = {}
    units: tuple[Unit, ...] = Field(min_length=1)
    values: tuple[ValueWords, ...] = ()
    told: Phrases = ()
    names: Phrases = ()
    required: dict[str, Names] = {}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if problems := [*self._problems()]:
            raise ValueError("; ".join(first_ten(problems)))
        return self

    def _problems(self) -> Iterator[str]:
        """What contradicts itself, each with its field."""
        if set(self.thresholds) != set(JUDGED):
            yield f"thresholds: expected one for each of {', '.join(JUDGED)}, got {', '.join(self.thresholds)}"
        for tag in self.known_tags:
            if not tag or tag != normal_tag(tag):
                yield f"tags: {tag!r} is not lower case with _ for blanks and -"
            for alias in self.known_tags[tag].aliases:
                if (other := self.tag_of(alias)) != tag:
                    yield f"aliases of {tag}: {alias} stands for {other}"
        if FOLLOWUP_TAG in self.tags:
            yield f"tags: the phrases of {FOLLOWUP_TAG} stand under `followup`"
        words = [word.lower() for unit in self.units for word in unit.words]
        if doubled := {word for word in words if words.count(word) > 1}:
            yield f"units: a word of two units: {', '.join(sorted(doubled))}"
        named = [(words.tag, "values.tag") for words in self.values if words.tag]
        for product, names in self.required.items():
            named += [(name, f"required.{product}") for name in names]
        for name, field in named:
            if self.tag_of(name) not in self.known_tags:
                yield f"{field}: no tag {name!r}; {self.nearest_tag(name)}"
        for phrase_set in (*self.known_tags.values(), *self.definitive):
            for name in phrase_set.let_off:
                if name not in self.let_offs:
                    yield f"let_off: none is named {name!r}; {nearest(name, [*self.let_offs])}"
        for of, part in [
            ("rules", self),
            *self.known_tags.items(),
            *self.let_offs.items(),
            *enumerate(self.definitive + self.values, 1),
        ]:
            for name, info in type(part).model_fields.items():
                if info.annotation != Phrases:
                    continue
                try:
                    compiled(self, getattr(part, name))
                except ValueError as e:
                    yield f"{name} of {of}: {e}"

    def passed(self, metric: str, score: Any) -> Any:
        """Whether a score, or each of a column, reaches the threshold of a metric but for rounding; one without is 0."""
        return score >= self.thresholds.get(metric, 0) - 1e-12

    @cached_property
    def known_tags(self) -> dict[str, PhraseSet]:
        """All tags with their phrases, that of the follow-up last."""
        return {**self.tags, FOLLOWUP_TAG: self.followup}

    @cached_property
    def other_names(self) -> dict[str, str]:
        """Other name of a tag, without blanks -> the tag."""
        return {
            _together(alias): tag
            for tag, phrase_set in self.known_tags.items()
            for alias in phrase_set.aliases
        }

    def tag_of(self, name: str) -> str:
        """The tag that a name stands for: its own, or that of an alias."""
        tag = normal_tag(name)
        return tag if tag in self.known_tags else self.other_names.get(_together(name), tag)

    def nearest_tag(self, name: str) -> str:
        """What to say of a tag that is not known: the names that come closest, or all."""
        return nearest(name, [*self.known_tags, *self.other_names])

    def expected_tags(
        self,
        names: Sequence[str] | None,
        product: str | None,
    ) -> list[str]:
        """The tags that a summary should name: those of the case, then those its product requires."""
        due = [*(names or ())]
        for name, required in self.required.items():
            if _together(name) in ("*", _together(product or "")):
                due += required
        return list(dict.fromkeys(map(self.tag_of, due)))

    @cached_property
    def identity(self) -> str:
        """name@hash: the hash covers all that can change a number, inherited sections too.

        What is left out of a file is left out of it: a new optional field changes no hash.
        """
        own_to_a_file = {"extends", "description"}
        content = self.model_dump(mode="json", exclude=own_to_a_file, exclude_defaults=True)
        return f"{self.name}@{policy_hash(content)}"

    @cached_property
    def alternatives(self) -> dict[str, str]:
        """Each name of `words` as a phrase of its alternatives, which may use the names before it."""
        found: dict[str, str] = {}
        for name, words in self.words.items():
            found[name] = "(" + "|".join(expand(word, found) for word in words) + ")"
        return found

    @cached_property
    def signs(self) -> dict[str, PhraseSet]:
        """The wordings of each tag with the words too weak to cover it alone, and without what it needs.

        Of the follow-up the weak words alone, without let-offs.
        """
        found = {
            FOLLOWUP_TAG: self.followup.model_copy(
                update={"phrases": self.followup.signs, "let_off": ()}
            )
        }
        for tag, named in self.tags.items():
            found[tag] = named.model_copy(
                update={
                    "phrases": named.signs + named.phrases,
                    "needs": (),
                    "not_within": named.not_within + self.names,
                }
            )
        return found

    @cached_property
    def sure(self) -> PhraseSet:
        """The wordings of a follow-up where none is due."""
        return self.followup.model_copy(
            update={"phrases": self.followup.sure or self.followup.phrases}
        )

    def find(
        self,
        phrases: Phrases,
        text: str,
        not_within: Phrases = (),
    ) -> Spans:
        """Where any of the phrases stands without touching a word of `not_within` (단서 in 진단서): spans in order."""
        words = find_all(compiled(self, not_within), text)
        forbidden = {place for span in words for place in range(*span)}
        spans = find_all(compiled(self, phrases), text)
        return [span for span in spans if forbidden.isdisjoint(range(*span))]

    __hash__ = object.__hash__  # what is compiled, or read in a text, is kept by the object


@cache
def compiled(rules: Rules, sources: Names) -> Compiled:
    """Phrases of a rule set, ready to search with; ValueError for one that is not well formed."""
    found: list[tuple[str, str]] = []
    for source in sources:
        try:
            phrase = expand(source, rules.alternatives) if rules.match == "flex" else source
            found += compile_phrase(phrase, rules.match, rules.particles)
        except ValueError as e:
            raise ValueError(f"{source!r}: {e}") from None
    return tuple(found)


def normal_tag(tag: str) -> str:
    """A tag as it is compared: composed, trimmed, lower case, `-` and blanks read as `_`.

    >>> normal_tag(" Waiting-Period ")
    'waiting_period'
    """
    return "_".join(re.split(r"[-_\s]+", composed(tag).lower().strip("-_ \t\n")))


def _together(tag: str) -> str:
    return normal_tag(tag).replace("_", "")


def bundled() -> list[str]:
    """The names of the rule files that come with the package."""
    return sorted(p.stem for p in FOLDER.glob("*.json"))


def load_rules(name_or_path: str | Path) -> Rules:
    """The rules of a bundled name or of a file; read once as long as its content stays.

    UsageError for a name that is neither; InputError, naming file, place and reason, for a file
    that is no rule file.

    >>> load_rules("seed").thresholds["summary_accuracy"]
    0.9
    """
    name = str(name_or_path)
    path = FOLDER / f"{name}.json" if name in bundled() else Path(name)
    if not os.path.isfile(path):  # noqa: PTH113 - the name may be too long for a file
        raise UsageError(f"no rules {name!r}, and no file of that name; {nearest(name, bundled())}")
    return _rules_of(path)


_rules_of = read_once(8, lambda path: read_rules(File(path, Problems())))


def read_rules(file: File) -> Rules:
    """The rules of a file.

    InputError, with the reasons in its `problems` as well, for one that is no rule file.
    """
    content = read_json(file)
    if isinstance(content, dict) and "extends" in content:
        extended = content["extends"]
        message = ""
        if extended not in bundled() or file.path == FOLDER / f"{extended}.json":
            message = f"expected one of {', '.join(bundled())}, got {extended!r}"
        elif content.get("name") == extended:
            message = f"{extended!r} is the name of the rules that it extends; give another"
        if message:
            raise file.fatal("bad-field", message, field="extends")
        own = {"name", "version", "description"}
        content = _added(load_rules(extended).model_dump(mode="json", exclude=own), content)
    return file.record(Rules.model_validate_json, json.dumps(content))


def _added(inherited: Any, own: Any) -> Any:
    """What a file adds to what it extends: objects by name, lists at their end, all else replaced."""
    if isinstance(inherited, dict) and isinstance(own, dict):
        changed = {name: _added(inherited.get(name), value) for name, value in own.items()}
        return inherited | changed
    if isinstance(inherited, list) and isinstance(own, list):
        return [*inherited, *(entry for entry in own if entry not in inherited)]
    return own
