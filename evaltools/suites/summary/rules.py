"""Rule files: what the metrics look for, as data that is validated and hashed.

`compiled.py` makes them ready to search with.
Source: seed insurance_summary_prd sections 5 to 7; specification D15 and D16.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    ValidationError,
    field_validator,
    model_validator,
)

from ...core.errors import InputError, Problems, UsageError
from ...core.files import sha256
from ...core.json_files import read_json
from ...core.manifest import policy_hash
from ...core.names import nearest
from ...core.records import describe
from .compiled import FOLLOWUP_TAG, CompiledRules
from .phrases import RuleError

DEFAULT_RULES = "ko-insurance"
FOLDER = Path(__file__).parent / "rules"
METRICS = (
    "summary_accuracy",
    "summary_risk_coverage",
    "summary_non_definitive",
    "summary_needs_followup",
    "entity_recall",
)

Phrase = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"\S")]
Phrases = tuple[Phrase, ...]
SomePhrases = Annotated[Phrases, Field(min_length=1)]
Share = Annotated[float, Field(ge=0, le=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
    )


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
    near: Annotated[int, Field(ge=0, le=200)] = 40


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
    let_off: tuple[str, ...] = ()
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


class Expression(_Strict):
    """Phrases for one fixed value (보름: 15 days).

    `support_only`: it may support a figure, and is none to be supported. `not_within`: words
    that a match may not touch (사흘 in 영업일로 사흘).
    """

    kind: Phrase
    base: Phrase
    value: float
    support_only: bool = False
    phrases: SomePhrases
    not_within: Phrases = ()


class Concept(_Strict):
    """A condition word of the domain, or a document, with its spellings in all languages.

    `words` are entities of a text; `support`, and the wordings of `tag`, say the same in other words
    and may only support them.
    """

    name: Phrase
    kind: Literal["condition", "document"] = "condition"
    words: SomePhrases
    support: Phrases = ()
    tag: str | None = None
    not_within: Phrases = ()


class Rules(_Strict):
    """A rule file.

    base: a bundled file, whose sections stand where this file leaves them out.
    extends: a bundled file to which this one adds: names of a section are added or replaced, and
    the phrases of a tag, and entries of a list, stand after those that are there.
    aliases: other names of tags, as people write them in a file of cases (면책: exclusion).
    told: what stands behind a wording that lacks what it `needs`, where a summary says no more than
    that the item was told: it covers the tag, and a person must look at it.
    required: the tags that every summary of a product must name, by product, blanks aside ("*": of any).
    match: "substring" finds phrases as plain text, "flex" with the signs of `phrases.py`.
    fold: full-width and look-alike characters are read as plain ones.
    particles: what a blank in a phrase may stretch over.
    words: alternatives by name, which a flex phrase, or a later name, uses as {name}.
    clause_ends: where the scope of a let-off ends, besides the end of the sentence.
    thresholds: a case passes a metric at or above its threshold (seed section 6).
    """

    schema_version: Literal[1]
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,60}$")]
    version: Annotated[str, Field(min_length=1, max_length=40)]
    description: str = ""
    base: str | None = None
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
    expressions: tuple[Expression, ...] = ()
    concepts: tuple[Concept, ...] = ()
    told: Phrases = ()
    aliases: dict[str, str] = {}
    required: dict[str, tuple[str, ...]] = {}

    @field_validator("thresholds")
    @classmethod
    def _known_metrics(cls, value: dict[str, float]) -> dict[str, float]:
        *needed, optional = METRICS
        for name in value:
            if name not in METRICS:
                values = {"metric": repr(name), "nearest": nearest(name, METRICS)}
                raise RuleError("no metric {metric}; {nearest}", name, **values)
        named = set(value) - {optional}
        if named != set(needed):
            listed = ", ".join(needed)
            template = "expected a threshold for each of {listed}, and for {optional} if wanted"
            raise RuleError(template, listed=listed, optional=optional)
        return value

    @field_validator("tags")
    @classmethod
    def _normal_tags(cls, value: dict[str, PhraseSet]) -> dict[str, PhraseSet]:
        wrong = [repr(tag) for tag in value if tag != normal_tag(tag) or not tag]
        if wrong:
            template = "tag names are lower case with _ for blanks and -: {tags}"
            raise RuleError(template, tags=", ".join(wrong))
        if FOLLOWUP_TAG in value:
            template = "the phrases of {tag} stand under `followup`, not under `tags`"
            raise RuleError(template, FOLLOWUP_TAG, tag=FOLLOWUP_TAG)
        return value

    @model_validator(mode="after")
    def _tags_are_known(self) -> Rules:
        named = []
        for alias, tag in self.other_names.items():
            if alias in map(_together, self.known_tags):
                raise RuleError("aliases: {alias} is a tag itself", alias, alias=alias)
            named.append((tag, tag, f"aliases.{alias}"))
        for concept in self.concepts:
            if concept.tag:
                named.append((concept.tag, concept.tag, "concepts.tag"))
        for product, names in self.required.items():
            for name in names:
                named.append((name, self.tag_of(name), f"required.{product}"))
        for name, tag, field in named:
            if tag not in self.known_tags:
                near = self.nearest_tag(name)
                values = {"field": field, "tag": repr(name), "nearest": near}
                raise RuleError("{field}: no tag {tag}; {nearest}", name, **values)
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Rules:
        for phrase_set in (*self.known_tags.values(), *self.definitive):
            unknown = [name for name in phrase_set.let_off if name not in self.let_offs]
            if unknown:
                known = ", ".join(self.let_offs) or "none"
                values = {"names": ", ".join(unknown), "known": known}
                template = "no let-off named {names}; there are: {known}"
                raise RuleError(template, unknown[0], **values)
        counts = Counter(word.lower() for unit in self.units for word in unit.words)
        doubled = sorted(word for word, count in counts.items() if count > 1)
        if doubled:
            words = ", ".join(doubled)
            raise RuleError("a word of two units: {words}", doubled[0], words=words)
        _ = self.compiled  # raises for a phrase that is not well formed
        return self

    @cached_property
    def known_tags(self) -> dict[str, PhraseSet]:
        """All tags with their phrases, that of the follow-up last."""
        return {**self.tags, FOLLOWUP_TAG: self.followup}

    @cached_property
    def other_names(self) -> dict[str, str]:
        """Other name of a tag, without blanks -> the tag."""
        names = dict(self.aliases)
        for tag, phrase_set in self.known_tags.items():
            names.update(dict.fromkeys(phrase_set.aliases, tag))
        return {_together(name): tag for name, tag in names.items()}

    def tag_of(self, name: str) -> str:
        """The tag that a name stands for: its own, or that of an alias."""
        tag = normal_tag(name)
        if tag in self.known_tags:
            return tag
        return self.other_names.get(_together(name), tag)

    def nearest_tag(self, name: str) -> str:
        """What to say of a tag that is not known: the names that come closest, or all tags."""
        all_names = [*self.known_tags, *self.other_names]
        near = get_close_matches(name, all_names, 3, 0.5)
        return nearest(name, near or [*self.known_tags])

    @cached_property
    def required_tags(self) -> dict[str, tuple[str, ...]]:
        """The tags that are required, by product, whose name stands without blanks ("암 보험": "암보험")."""
        return {_together(product): tags for product, tags in self.required.items()}

    def unknown_product(self, product: str | None) -> str | None:
        """What to say of a product for which nothing is required though something is for others; None for others."""
        products = [name for name in self.required if name != "*"]
        if not product or not products or _together(product) in self.required_tags:
            return None
        return f"the rules require no tags of the product {product!r}; {nearest(product, products)}"

    def expected_tags(
        self,
        names: Sequence[str] | None,
        product: str | None,
    ) -> list[str] | None:
        """The tags that a summary should name: those of the case, then those its product requires.

        None where the case gives none and its product requires none.
        """
        tags = [self.tag_of(name) for name in names or ()]
        for key in ("*", _together(product or "")):
            required = self.required_tags.get(key, ())
            tags += [self.tag_of(name) for name in required]
        if names is None and not tags:
            return None
        return list(dict.fromkeys(tags))

    @cached_property
    def identity(self) -> str:
        """name@hash: the hash covers all that can change a number, inherited sections too."""
        return f"{self.name}@{policy_hash(rules_snapshot(self))}"

    @cached_property
    def compiled(self) -> CompiledRules:
        """The rules ready to search with."""
        return CompiledRules(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # to another process they go as text, and are compiled there once
        return _from_text, (self.model_dump_json(),)


@lru_cache(maxsize=8)
def _from_text(text: str) -> Rules:
    return Rules.model_validate_json(text)


def normal_tag(tag: str) -> str:
    """A tag as it is compared: trimmed, lower case, `-` and blanks read as `_`.

    >>> normal_tag(" Waiting-Period ")
    'waiting_period'
    """
    blanks = tag.lower().replace("-", " ").replace("_", " ")
    return "_".join(blanks.split())


def _together(tag: str) -> str:
    return normal_tag(tag).replace("_", "")


def rules_snapshot(rules: Rules) -> dict[str, Any]:
    """The content in force as JSON, inherited sections too, for hash, report and Excel.

    What is left out of a file is left out here: a new optional field changes no hash.
    """
    own_to_a_file = {"base", "extends", "description"}
    return rules.model_dump(mode="json", exclude=own_to_a_file, exclude_defaults=True)


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
    exists = False
    content_hash = ""
    # a name may be too long for a file; a file that cannot be read fails in its reader
    with suppress(OSError):
        exists = path.is_file()
        if exists:
            content_hash = sha256(path)
    if not exists:
        template = "no rules {name}, and no file of that name; {nearest}"
        raise UsageError(template, name=repr(name), nearest=nearest(name, bundled()))
    return _read_once(path, content_hash)


@lru_cache(maxsize=8)
def _read_once(path: Path, content_hash: str) -> Rules:
    return read_rules(path, Problems())


def read_rules(path: Path, problems: Problems) -> Rules:
    """The rules of a file.

    InputError, with the reasons in `problems` as well, for one that is no rule file.
    """
    file = str(path)
    if not path.is_file():
        raise problems.fatal("missing-file", "no such file", file=file)
    content = read_json(path, problems, unique_keys=True)
    if not isinstance(content, dict):
        raise problems.fatal("not-an-object", "a rule file is one JSON object", file=file)
    extended = content.get("extends")
    content = _with_inherited(content, path, problems)
    try:
        rules = Rules.model_validate_json(json.dumps(content))
    except ValidationError as e:
        errors = e.errors(include_url=False)
        text = path.read_text(encoding="utf-8")
        for error, (code, field, message) in zip(errors, describe(e)):
            cause = error.get("ctx", {}).get("error")
            quoted = getattr(cause, "quoted", "")
            names = field.split(".") if field else [quoted]
            line = _line_of(names, text)
            # without the numbers, which count inherited entries too
            own = [name for name in names if not name.isdigit()]
            place = ".".join(own) if field else ""
            problems.error(code, message, field=place, file=file, line=line)
        raise InputError(problems.errors) from None
    before = load_rules(extended).other_names if extended else {}
    for alias, tag in rules.other_names.items():
        if before.get(alias, tag) != tag:
            template = "{alias} stands for {tag}, and for {before} in the rules that it extends"
            values = {"alias": repr(alias), "tag": tag, "before": before[alias]}
            problems.warn("replaced-alias", template, **values, file=file, field="aliases")
    return rules


def _with_inherited(
    content: dict[str, Any],
    path: Path,
    problems: Problems,
) -> dict[str, Any]:
    """The content with what it inherits from a bundled file."""
    if "base" in content and "extends" in content:
        template = "give base or extends: base replaces sections, extends adds to them"
        raise _bad_field("extends", template, path, problems)
    name = content.get("base", content.get("extends"))
    if name is None:
        fields = Rules.model_fields.items()
        required = [key for key, field in fields if field.is_required()]
        missing = tuple(key for key in required if key not in content)
        if missing:
            template = (
                'without {names}; a file that only adds to rules has "extends": "ko-insurance"'
            )
            raise problems.fatal("bad-field", template, names=missing, file=path, field=missing[0])
        return content
    field = "base" if "base" in content else "extends"
    names = tuple(bundled())
    if name not in names or path == FOLDER / f"{name}.json":
        template = "expected one of {names}, got {value}"
        raise _bad_field(field, template, path, problems, names=names, value=repr(name))
    own_to_a_file = {"name", "version", "description"}
    inherited = load_rules(name).model_dump(mode="json", exclude=own_to_a_file)
    if field == "base":
        known = {*content.get("tags", inherited["tags"]), FOLLOWUP_TAG}
        return {**_of_tags(inherited, known), **content}
    if content.get("name") == name:
        template = "{own} is the name of the rules that it extends; give another"
        raise _bad_field("name", template, path, problems, own=repr(name))
    return _added(inherited, content)


def _bad_field(
    field: str,
    template: str,
    path: Path,
    problems: Problems,
    **values: Any,
) -> InputError:
    line = _line_of([field], path.read_text(encoding="utf-8"))
    place: dict[str, Any] = {"file": path, "field": field, "line": line}
    return problems.fatal("bad-field", template, **place, **values)


def _of_tags(
    inherited: dict[str, Any],
    known: set[str],
) -> dict[str, Any]:
    """What is inherited, without what names tags that a file does not have."""
    aliases = {alias: tag for alias, tag in inherited["aliases"].items() if tag in known}
    concepts = []
    for concept in inherited["concepts"]:
        tag = concept["tag"] if concept["tag"] in known else None
        concepts.append({**concept, "tag": tag})
    return {**inherited, "aliases": aliases, "concepts": concepts}


def _line_of(names: Sequence[str], text: str) -> int | None:
    """The line where the last of some texts stands, each behind the one before; None where one is inherited."""
    if not any(names):
        return None
    place = 0
    for name in names:
        if name and not name.isdigit():
            quoted = json.dumps(name, ensure_ascii=False)
            place = text.find(quoted, place)
            if place < 0:
                return None
    return text.count("\n", 0, place) + 1


def _added(inherited: Any, own: Any) -> Any:
    """What a file adds to what it extends: objects by name, lists at their end, all else replaced."""
    if isinstance(inherited, dict) and isinstance(own, dict):
        changed = {name: _added(inherited.get(name), value) for name, value in own.items()}
        return inherited | changed
    if isinstance(inherited, list) and isinstance(own, list):
        new = [entry for entry in own if entry not in inherited]
        return [*inherited, *new]
    return own
