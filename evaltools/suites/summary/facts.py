"""What a text says: of its values a bound, a change, a payment or its denial, and the words around them.

Every reader looks at a bounded stretch around a value, so the time is linear in the values of a
text. Source: specification D34.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from .entities import Entity, ReadText

BEFORE = 60
# characters on either side of a value that may say something of it
AFTER = 60

# of a value that is none of the text's own (60일이 아니라 90일), and no condition (6시간이 아니라면) or question
TAKEN_BACK = (
    r"[이가은는]?\s?(?:아니(?:라(?!면|도|서)|고|구|었|(?:에|예|여)요(?!\?))|아녜요(?!\?)|아닙니다"
    r"|아닌(?! ?경우| ?때|[가지데]))"
)

# values before a value that may be conditions of it
MOST_CONDITIONS = 3

LOW, HIGH = "low", "high"
UP, DOWN = "up", "down"
ONLY, UNLESS = "only", "unless"
PAID, DENIED = "paid", "denied"
# kind of what a clause says without a value; all of them are compared with each other
CLAIM = "payment"

PRESENT, ABSENT = "present", "absent"
NEGATIVE = "negative"

OPPOSITE_PAYMENT = "the source says the opposite of payment"
OPPOSITE_BOUND = "the source puts the opposite bound on it"
EXISTENCE = "one says that there is none, the other that there is"
CHANGE = "the source says the opposite change"
EXCEPTION = "one holds for it only, the other for all but it"

# of several the first counts
OPPOSITES = {
    frozenset({LOW, HIGH}): OPPOSITE_BOUND,
    frozenset({PAID, DENIED}): OPPOSITE_PAYMENT,
    frozenset({PRESENT, ABSENT}): EXISTENCE,
    frozenset({UP, DOWN}): CHANGE,
    frozenset({ONLY, UNLESS}): EXCEPTION,
}


_JOINT = r"\s?(?:이|가|을|를|은|는|의|보다|만큼)?\s?"
# what stands right behind a value -> what it says of it
_BEHIND = {
    LOW: re.compile(
        _JOINT
        + "(?:이상|(?:초과|넘|지나|경과)(?!하?기 ?전|하지|할 수 없|을 수 없|지 )|지난|이후|(?<![일날후로])부터"
        "|중 ?더? ?[큰많높])"
    ),
    HIGH: re.compile(
        _JOINT
        + "(?:이하|이내|미만|이전|까지|(?:에 ?)?(?:미달|못 ?미치)|안 ?되는|(?:되|넘|지나|경과하)기 ?전"
        "|중 ?더? ?[작적낮]|내(?=에|의|\\s|$)"
        "|안(?=에|의|으로|쪽)|(?:초과|넘)(?:하지|할 수 없|을 수 없|지 ))"
    ),
    UP: re.compile(
        _JOINT
        + "(?:p|포인트|로|으로)?(?: ?더)? ?(?:인상|증가|상승|오[르른를릅름]|올[라랐려렸린림립]|할증|증액|가산|늘)"
    ),
    DOWN: re.compile(
        _JOINT
        + "(?:p|포인트|로|으로)?(?: ?더)? ?(?:인하|감소|하락|내[리려렸린림릴립]|낮|줄|할인|감액|삭감|차감)"
    ),
}

_AHEAD = {
    LOW: re.compile(r"(?:최소|최저|적어도|하한)\s?(?:[가-힣]{0,8}[은는]|:)?\s?$"),
    HIGH: re.compile(r"(?:최대|최고|최장|상한)\s?(?:[가-힣]{0,8}[은는]|:)?\s?$"),
    DOWN: re.compile(
        r"(?:^|[\s(\[:,])[-−△▲–]$|(?:마이너스|손실|손해|적자|하락|감소)[은는이가률율]{0,2}\s?[-−△▲]?$"
    ),
    NEGATIVE: re.compile(r"[가-힣):]\s?[-−△▲]$|마이너스\s?$"),
    UP: re.compile(r"(?:^|[\s(\[:,])\+$"),
}

_PAY = (
    "(?:지급|보상|보장|환급|지원|입금)(?:이|을|은|는|도)?(?: ?(?:완료|처리|결정|확정|승인|예정))?"
)
# what does not hold is not denied: 면책 사유에 해당하지 않아 보상됩니다
_NOT_DENIED = re.compile(
    "(?:면책|부지급|(?<!보상 )(?<!지급 )(?<!보장 )제외) ?(?:사유|조항|대상|항목|요건|조건|사항)?"
    "(?:에는|에|이|가|은|는|도)? ?"
    "(?:해당(?:하지|되지|이|은|사항)? ?(?:않|안|없|아[니닌님닙])|[되하]지 ?[는도]? ?않|없|아[니닌님닙녜])[가-힣]*"
)
_DENIED = re.compile(
    rf"(?:부지급|미지급|미입금|[미비불]보상|미보장)|부담보|무효|{_PAY}[이가]? ?(?:안(?!내)|불가|제외|거[절부]|반려|제한)"
    rf"|{_PAY}[이가을를]? ?(?:(?:하|받으?시?|되|[해하]여? ?드리)기(?:는|가|에)? ?)?(?:어[렵려]|힘[들드든듭]|곤란)"
    rf"|(?:은|는|도) (?:안|못) ?(?:되|돼|됨|됩)|대상에서 [빠빼뺍뺀]|면책(?!금|기간| ?사항)"
    rf"|{_PAY}(?:하|되|해 ?드리)는 ?(?:손해|항목|사항|사고|부분|경우|것)[이은는가도]? 아[니닌님닙녜]"
    rf"|제외(?:되|된|됨|됩|하|한|함|합|[\s.,;)]|$)"
    rf"|{_PAY}(?:하|되|해 ?드리)지 ?(?:는|도)? ?(?:않|못|아니)|{_PAY}(?:할|될|받을) 수 없"
    rf"|(?:받|나오|나가|드리|주)지 ?(?:는|도)? ?(?:않|못)"
    r"|(?<![가-힣])(?:안|못) (?:나[오와옵온올옴가갑간갈감]|받|드[리려립])"
    rf"|(?:{_PAY} ?|[은는도] )대상(?:이|은|도)? 아[니닌님닙]|{_PAY}에서 ?[빠빼뺍뺀]"
)
_PAID = re.compile(
    rf"{_PAY}[이가을를도]? ?(?:[하한했해함합되된됐돼됨됩받임입]|\s?(?:가능|대상|>|[.,;\n]|$))"
    r"|[급상금]이? ?완료(?! ?(?:[되하]지|전|여부|후|시|못|안 ))"
    rf"|{_PAY}에는? ?(?:문제|지장)[가이는은]? ?없"
    rf"|나[옵온와옴갑감]|나간다|나[가오](?:요|고|며|지만|는데)|받습|받는|받을 수 있"
    rf"|{_PAY}에 포함|(?:은|는|도) (?:됩|돼|된|됨)"
)
# 20만원이고 보상됩니다: whether a value is paid stands in the next clause, where this names nothing else
_AND = re.compile(
    rf"^(?:이고|이며|이지만|인데|이신데|,)요?,? ?(?:이번 (?:건|사고|청구)[은는도이]? )?(?=부지급|미지급|미보상|{_PAY})"
)
# what closes a clause says whether a thing is, can be, or must be: 해지 불가; but 안 되어 공탁한 경우 is a condition
_POSSIBLE = re.compile(
    r"(?:(?P<denied>불가(?!피)|수 ?[는가도]? ?없|(?<![가-힣])(?:안 ?[되돼됩됨된]|못 ?[하해합함])"
    r"|(?<!필요)[되하]지 ?[는도]? ?[않못]"
    r"|(?:않을|못할|(?<![가-힣])(?<!다 )(?<!액을 )[안못] ?(?:해 ?)?[가-힣]{0,3}(?:될|실|을|올|갈|릴|할|줄)"
    r"|어려(?:울|우실)|(?:거절|거부|제한|면책|부지급|보[상장][가-힣]{0,2} ?제외)"
    r"(?:[되하]실|[될할])?) ?(?:수 ?[는도]? ?있|가능(?!성)))"
    r"|(?P<paid>가능(?!성|한지|할지)|수 ?[는가도]? ?있|(?:[해셔여아]야|(?<!있)어야|면) ?(?=[하합함한해되됨됩된돼]))"
    r"|(?P<present>(?:[이가은는도] ?|(?<![고어아여져해돼와]) )있(?=[음습다어으])"
    r"|(?<![불미])(?:필요|발생|적용)(?!없)))"
    r"[가-힣]{0,6}(?: (?:안내|설명|고지|말씀)[가-힣]*)?\s*$"
)

# an item is told as not there: 면책기간 없음, 자기부담 0%; but 수수료 없이 환급 says that it is paid too
_ABSENT = re.compile(
    r"필요(?:하지|치) ?않|지 ?않(?:으셔|아)도 "
    r"|(?<!문제가 )(?<!문제 )(?<!지장이 )없(?:음|다|습|고|으며|으$|었|어요|[\s.,)]|$)|미적용|적용 ?안"
    r"|불필요|무제한|없어도 ?[되돼됩됨]"
    r"|(?:공제|부과|적용|발생|차감|부담)[하되]지 ?(?:는|도)? ?않"
    r"|(?:부담|공제)[가-힣]{0,3} ?면제|(?<![0-9,.])0\s?[%원]"
)

_FREE = re.compile("면제(?!사유)|없이")

# When it holds. What holds for a thing only (운행 중 사고만 보상) does not hold but for it (운행 중이 아니면 보상 안 됨).
_HOLDS = _BEHIND | {
    UNLESS: re.compile(r"아니면|아닌 경우|않으면|외에는"),
    ONLY: re.compile(r"[가-힣]만(?![가-힣])|한[해하정]|[해어아]야"),
}

# it says when something holds, not that it is paid: 면제되어도 보험료는 내야 함, 치료받지 않은 경우 보장
_CONDITION = re.compile(
    r"공제(?:금|액)?[^.;\n]{0,14}(?:제외|빼|뺀)"
    r"|(?:되어|하여|받아|돼|해)도\s|[가-힣]{0,4}지 ?(?:않|못|아니)[가-힣]{0,3}(?:면| (?:경우|때|날|것이면))"
    r"|없[가-힣]{1,2} 경우"
)

# words that say of a thing that it is paid, or not
CLAIM_WORDS = re.compile(
    rf"(?:{_PAY}(?!금)|부지급|미지급|[미비불]보상|미보장|부담보|무효|기간|면책(?!금|기간)|면제|제외|대상|가능|불가|필요|않|없|나오|나가|받|빠)[가-힣]*"
    r"|(?<![가-힣])(?:[되돼됩됨된있][가-힣]*|[후뒤]에[는도]?(?![가-힣]))"
)

# the end of a clause within a sentence (나오고, 지급하며), but no noun (사고, 보고)
_CONNECTIVE = (
    r"(?:지만|으나|므로|(?<=[하되])나|[는한]데"
    r"|(?<=[가-힣])(?<![사보광권참])고(?! ?[있계])|(?<=[가-힣])며)(?=[\s,])"
)

# where what is said of a value ends
STOP = re.compile(rf"[.!?,](?!\d)|[;\n·/|()\[\]■○●▶※]|{_CONNECTIVE}|\Z")

_LINE = re.compile(r"[.!?](?!\d)|[\n■○●▶※]")
_WORD = re.compile(r"(?<![0-9가-힣])[가-힣]{2,}|[a-z]{2,}")
# endings of verbs and particles: what a word is about stands before them
_ENDING = re.compile(
    "(?:(?:입니|습니|합니|됩니)다"
    "|(?:하|되|드리|받|주|지|이|시|었|았|였|했|됐)*"
    "(?:거나|으면|면서|면|으며|며|고|므로|니까|는데|지만|도록|야|서|아|어|여|해|돼|함|됨|임|기|는|은|던|다|요)"
    "|(?:으로|에서|부터|까지|에는|에도|에게|이나|라도|마다|보다|처럼|로|은|는|이|가|을|를|의|에|와|과|도|만)[서는도만]?)$"
)

_RECKONED = re.compile(
    r"[x×*=→]\s?$|[0-9][0-9,.]*\s?[가-힣%]{0,4}(?:\s?\+|(?:에서|보다)\s?[가-힣]{0,2})\s?$"
)
# before and behind a value that is reckoned with, or changed: 3만원 x 42일, 5만원 → 3만원, 10회에서 8회로
_RECKONED_WITH = re.compile(
    r"\s?(?:[x×*=→]|\+\s?[0-9])|(?:에서|보다|\s중(?:에서)?)\s?[가-힣]{0,2}\s?[0-9]"
)

# characters before a value in which the first cell of its row is looked for
ROW = 300

_FIGURE = re.compile(r"[0-9]")
has_figure = _FIGURE.search
_NUMBER = re.compile(r"[0-9][0-9,.]*")

# A remark or a name settles nothing: 한도 5천만원(자기부담금 없음)
_ASIDE = re.compile(r"\([^()0-9]*\)|['‘\"“][^'‘’\"“”0-9]*['’\"”]")

_OF_LISTS = (",", "·", "/")

# characters of a list of which something is said at its end
LONGEST_LIST = 200

# what is said of a value, by its names, or the pairs of syllables and values around it
Words = frozenset[str]


@dataclass(frozen=True, slots=True)
class Fact(Entity):
    """A value with what a text says of it; of kind "payment" a clause that says that something is paid, or not.

    number: of the text that states it. says: what the words around say of it (LOW, UP, PAID, ...). words: pairs of
    syllables around it, and values that are conditions of it. claims: of a value the polarity of what stands behind
    it; of both kinds when it holds. is_reckoned: it is a step of a reckoning, and of no
    single item.
    """

    number: int = 0
    says: Words = frozenset()
    claims: Words = frozenset()
    words: Words = frozenset()
    is_reckoned: bool = False

    @property
    def place(self) -> dict[str, Any]:
        """Where a source says it: the number of the context, from 0, and the place in it."""
        return {"context": self.number, "context_at": [self.start, self.end]}


def value_facts(read: ReadText, number: int = 0) -> Iterator[Fact]:
    """The values and bare figures of a text with what it says of each of them.

    >>> text = "만 26세 미만"
    >>> age = Entity("age", "year", "26", "26세", 2, 5)
    >>> [sorted(s.says) for s in value_facts(ReadText(text, text, [age]))]
    [['high']]
    """
    for entities in (read.entities, read.figures):
        last_end: dict[str, int] = {}
        for index, entity in enumerate(entities):
            # what stands before the last value of the kind is said of that one
            first = max(last_end.get(entity.kind, 0), entity.start - BEFORE)
            last_end[entity.kind] = entity.end
            before = read.norm[max(entity.start - BEFORE, 0) : entity.start]
            after = read.norm[entity.end : entity.end + AFTER]
            if re.match(TAKEN_BACK, after):
                continue
            line = _LINE.split(read.norm[first : entity.start])[-1]
            line_start = entity.start - len(line)
            row = (
                read.norm[max(entity.start - ROW, 0) : entity.start].rpartition("\n")[2].split("|")
            )
            if len(row) > 2 and not row[0].strip():
                line = f"{row[1]} {line}"
            behind = STOP.split(_AND.sub("", after), maxsplit=1)[0]
            if not has_figure(behind):  # else it is said of the next value
                line += f" {behind}"
            # figures of other kinds right before a value: under which it holds (6주 이상이면 1,500만원)
            earlier = entities[max(0, index - MOST_CONDITIONS) : index]
            conditions = {
                other.key for other in earlier if other.base and other.start >= line_start
            }
            says = {side for side, pattern in _BEHIND.items() if pattern.match(after)}
            says |= _said(_AHEAD, before)
            if side := payment(behind):
                says.add(side)
            yield Fact(
                **asdict(entity),
                number=number,
                says=frozenset(says),
                claims=_claimed(behind) | _said(_HOLDS, behind),
                # with the units of other figures (대물 1사고당 is 대물, and 사고당)
                words=syllable_pairs(_FIGURE.sub(" ", line)) | conditions,
                is_reckoned=bool(_RECKONED.search(before) or _RECKONED_WITH.match(after)),
            )


def clause_facts(read: ReadText, number: int = 0) -> Iterator[Fact]:
    """The clauses of a text that say whether something is paid.

    Of a list that is said at its end: 등반, 글라이더 조종은 면책.
    """
    norm = _ASIDE.sub(lambda aside: " " * len(aside[0]), read.norm)
    clause_start = 0
    for match in STOP.finditer(norm):
        clause_end = match.start()
        clause = norm[clause_start:clause_end]
        says = _claimed(clause)
        if has_figure(clause) and ABSENT not in says:
            says |= {PRESENT}
        # the list goes on
        if not says and match[0] in _OF_LISTS and len(clause) <= LONGEST_LIST and clause.strip():
            continue
        words = syllable_pairs(CLAIM_WORDS.sub(" ", clause))
        if says and words:
            start = clause_end - len(clause.lstrip())
            yield Fact(
                CLAIM,
                "",
                " ".join(sorted(_NUMBER.findall(clause))),
                read.raw[start:clause_end],
                start,
                clause_end,
                number=number,
                says=says,
                claims=_said(_HOLDS, clause),
                words=words,
            )
        clause_start = match.end()


def _said(patterns: Mapping[str, re.Pattern[str]], text: str) -> Words:
    return frozenset(side for side, pattern in patterns.items() if pattern.search(text))


def _claimed(clause: str) -> Words:
    """The polarity of a clause: that something is paid, there or possible, or not.

    What is waived is absent, and what it is paid without; not what it is denied without (동의 없이는 보상 안 됨).
    """
    clause = _NOT_DENIED.sub(" ", clause)
    said = closing(clause)
    if not said and _ABSENT.search(_CONDITION.sub(" ", clause)):
        return frozenset({DENIED, ABSENT})
    said = said or payment(clause.replace("면제", "보상"))  # a benefit as a payment is
    if said == PAID and _FREE.search(clause):
        return frozenset({PAID, ABSENT})
    return frozenset([said] if said else [])


def closing(clause: str) -> str | None:
    """PAID, DENIED or PRESENT, as the end of a clause says that a thing can be, cannot, or is there.

    >>> closing("중도 해지 불가"), closing("중도 해지 가능"), closing("중도 해지 안내")
    ('denied', 'paid', None)
    """
    end = _POSSIBLE.search(clause)
    return end and end.lastgroup


def payment(clause: str) -> str | None:
    """PAID or DENIED, as the clause says; None where it says neither.

    >>> payment("치매는 보장하지 않음"), payment("치매도 보장됨"), payment("치매 안내")
    ('denied', 'paid', None)
    """
    clause = _CONDITION.sub(" ", _NOT_DENIED.sub(" ", clause) + " ")
    if _DENIED.search(clause):
        return DENIED
    return PAID if _PAID.search(clause) else None


def syllable_pairs(text: str) -> Words:
    """The pairs of syllables of the words of a text, endings left out: spelling and spacing matter little."""
    pairs = set[str]()
    for word in _WORD.findall(text):
        stem = _ENDING.sub("", word)
        if len(stem) < 2:
            stem = word[:2]
        pairs.update(map("".join, pairwise(stem)))
    return frozenset(pairs)
