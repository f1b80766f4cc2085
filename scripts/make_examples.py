"""Make the bundled Conflict Review examples: 60 invented reviews, two conditions, three seeds each.

    python scripts/make_examples.py

The other examples are small enough to be edited by hand. These come out the same every time. They hold every place
that tuples can come from, implicit and explicit gold, conflicts, fixes, breaks, a reply that could not be parsed, and
markup in a text.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1] / "evaltools" / "app" / "examples" / "cr"

P, N, U = "positive", "negative", "neutral"
WHOLE, QUALITY, PRICE, DESIGN = (
    "제품 전체#일반",
    "제품 전체#품질",
    "제품 전체#가격",
    "제품 전체#디자인",
)
ITEM, ITEM_QUALITY, EASY, PACK, BRAND = (
    "본품#일반",
    "본품#품질",
    "본품#편의성",
    "패키지/구성품#편의성",
    "브랜드#인지도",
)
REFS = (WHOLE, QUALITY, PRICE, DESIGN, ITEM, ITEM_QUALITY, EASY, PACK, BRAND)

REVIEWS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    ("이 수분크림은 바르자마자 촉촉해서 정말 마음에 들어요.", ((ITEM_QUALITY, "수분크림", P),)),
    ("레몬그라스 향이 은은하고 오래가서 좋네요.", ((ITEM, "레몬그라스 향", P),)),
    ("용기가 너무 약해서 두 번 떨어뜨리니 깨졌습니다.", ((PACK, "용기", N),)),
    ("가격은 비싸지만 발림성이 훌륭해요.", ((PRICE, "가격", N), (ITEM_QUALITY, "발림성", P))),
    ("다음에도 또 살게요, 향이 좋아요!", ((WHOLE, "", P), (ITEM, "향", P))),
    ("기대했는데 실망만 남았네요.", ((WHOLE, "", N),)),
    ("블루투스 이어폰 연결이 자주 끊겨서 불편합니다.", ((ITEM_QUALITY, "블루투스 이어폰", N),)),
    ("디자인이 예쁘고 사이즈도 딱 맞아요.", ((DESIGN, "디자인", P), (ITEM, "사이즈", P))),
    ("배터리가 하루도 못 가네요.", ((ITEM_QUALITY, "배터리", N),)),
    ("아이들이 먼저 찾는 치약이에요.", ((WHOLE, "치약", P),)),
    ("그냥 보통이에요.", ((WHOLE, "", U),)),
    (
        "소음은 조금 있지만 흡입력은 최고예요.",
        ((ITEM_QUALITY, "소음", N), (ITEM_QUALITY, "흡입력", P)),
    ),
    ("설명서가 영어뿐이라 조립하기 어려웠어요.", ((PACK, "설명서", N),)),
    ("유명한 브랜드라 믿고 샀습니다.", ((BRAND, "브랜드", P),)),
    ("엄마가 정말 좋아하셨어요. 색도 고와요.", ((WHOLE, "", P), (DESIGN, "색", P))),
    (
        "사진과 색이 달라요 <b>환불</b> <script>alert('x')</script> <img src=x onerror=alert(1)> "
        "[링크](javascript:alert(1))",
        ((DESIGN, "색", N),),
    ),
    ("가벼워서 들고 다니기 편한 텀블러입니다.", ((EASY, "텀블러", P),)),
    ("뚜껑이 잘 안 열려요.", ((EASY, "뚜껑", N),)),
    ("쿠션이 푹신해서 허리가 편해졌어요.", ((ITEM_QUALITY, "쿠션", P),)),
    ("포장은 꼼꼼했는데 배송 중 모서리가 찌그러졌어요.", ((PACK, "포장", P), (PACK, "모서리", N))),
    ("세탁 후에도 늘어나지 않는 양말이라 좋습니다.", ((ITEM_QUALITY, "양말", P),)),
    ("가성비 좋아요.", ((PRICE, "가성비", P),)),
    ("두 번 쓰고 서랍에 넣어 뒀습니다. 소리가 커요.", ((WHOLE, "", N), (ITEM_QUALITY, "소리", N))),
    ("유통기한이 넉넉한 제품으로 왔어요.", ((ITEM, "유통기한", P),)),
    ("EWG 1등급 보습제라 안심하고 바릅니다.", ((ITEM_QUALITY, "EWG 1등급 보습제", P),)),
    (
        "화면은 선명한데 스피커가 아쉬워요.",
        ((ITEM_QUALITY, "화면", P), (ITEM_QUALITY, "스피커", N)),
    ),
    ("충전 케이블이 짧은 편입니다.", ((PACK, "충전 케이블", N),)),
    ("매일 아침 사용하고 있어요. 만족합니다.", ((WHOLE, "", P),)),
    ("무난하게 쓸 만한 물티슈예요.", ((WHOLE, "물티슈", U),)),
    ("손잡이가 미끄러워서 위험해 보여요.", ((EASY, "손잡이", N),)),
    ("향도 좋고 거품도 풍성한 샴푸!", ((ITEM, "향", P), (ITEM_QUALITY, "거품", P))),
    (
        "이 가격에 이 품질이면 $100$ 이상의 가치가 있어요 {{ 7*7 }} ../../ok \u202egnp.exe",
        ((PRICE, "가격", P), (QUALITY, "품질", P)),
    ),
    ("선물용으로 딱이에요, 상자도 고급스럽습니다.", ((WHOLE, "", P), (PACK, "상자", P))),
    ("바람 세기 조절이 안 되는 선풍기라 아쉽네요.", ((EASY, "선풍기", N),)),
    ("뷰가 좋은 방에 두니 더 예쁜 조명.", ((DESIGN, "조명", P),)),
    ("다시는 안 삽니다.", ((WHOLE, "", N), (BRAND, "", N))),
    ("앱 연동이 쉬워서 부모님도 잘 쓰세요.", ((EASY, "앱 연동", P),)),
    ("냄새가 심해서 하루 동안 환기했어요.", ((ITEM_QUALITY, "냄새", N),)),
    ("재구매 의사 있습니다. 아이도 좋아해요.", ((WHOLE, "", P), (QUALITY, "", P))),
    ("크기는 작지만 알찬 구성이에요.", ((ITEM, "크기", N), (PACK, "구성", P))),
    ("물이 새서 바닥이 젖었습니다.", ((ITEM_QUALITY, "물", N),)),
    ("색감이 화면보다 차분해서 마음에 듭니다.", ((DESIGN, "색감", P),)),
    ("사은품까지 챙겨 주셔서 감사해요.", ((PACK, "사은품", P),)),
    ("할인할 때 사니 값이 아깝지 않아요.", ((PRICE, "값", P),)),
    ("이름값을 못 하네요. 마감도 거칠어요.", ((BRAND, "", N), (ITEM_QUALITY, "마감", N))),
    ("소매가 길어서 접어 입어야 합니다.", ((ITEM, "소매", N),)),
    ("버튼이 커서 어르신도 누르기 쉬워요.", ((EASY, "버튼", P),)),
    ("맛은 그저 그래요.", ((ITEM_QUALITY, "맛", U),)),
    ("한 달 만에 고장 났어요. 수리비도 비쌉니다.", ((QUALITY, "", N), (PRICE, "수리비", N))),
    ("촉감이 부드럽고 보풀도 없네요.", ((ITEM_QUALITY, "촉감", P), (ITEM_QUALITY, "보풀", P))),
    ("친구에게도 권했습니다. 값도 적당해요.", ((WHOLE, "", P), (PRICE, "값", P))),
    ("상자가 젖은 채로 도착했습니다.", ((PACK, "상자", N),)),
    ("두께가 얇아 비치지만 시원해요.", ((ITEM, "두께", N), (ITEM_QUALITY, "", P))),
    ("조명이 너무 밝아서 눈이 아파요.", ((ITEM_QUALITY, "조명", N),)),
    (
        "설치 기사님 없이도 금방 달았어요. 나사가 튼튼해요.",
        ((EASY, "", P), (ITEM_QUALITY, "나사", P)),
    ),
    ("광고에서 본 그대로입니다. 크기도 맞아요.", ((BRAND, "", P), (ITEM, "크기", P))),
    ("양이 줄었는데 가격은 그대로네요.", ((ITEM, "양", N), (PRICE, "가격", N))),
    ("무늬가 고르지 않습니다.", ((DESIGN, "무늬", N),)),
    ("강아지가 아주 잘 먹어요.", ((WHOLE, "", P),)),
    ("바퀴가 잘 굴러서 옮기기 좋아요.", ((EASY, "바퀴", P),)),
)

CONDITIONS = {
    "no_memory": {"wrong": 0.8, "fix": 0.3, "break": 0.35},
    "with_memory": {"wrong": 0.8, "fix": 0.55, "break": 0.18},
}
SEEDS = (1, 2, 3)
KINDS = ("ref", "polarity", "extra", "extra", "extra", "invented", "invented", "missed")

Tuple = tuple[str, str, str]


def other(rng: random.Random, value: str, values: tuple[str, ...]) -> str:
    return rng.choice([v for v in values if v != value])


def disturb(rng: random.Random, gold: list[Tuple]) -> list[Tuple]:
    """One mistake of the kinds that models make: a wrong ref or polarity, a tuple too many, one missed."""
    out = list(gold)
    i = rng.randrange(len(out))
    ref, term, polarity = out[i]
    kind = rng.choice(KINDS)
    if kind == "ref":
        out[i] = (other(rng, ref, REFS), term, polarity)
    elif kind == "polarity":
        out[i] = (ref, term, other(rng, polarity, (P, N, U)))
    elif kind == "extra":
        out.append((ref, term, other(rng, polarity, (P, N))))
    elif kind == "invented":
        out.append((other(rng, ref, REFS), rng.choice(("보증서", "색상표", "여분 부품")), polarity))
    elif kind == "missed" and len(out) > 1:
        del out[i]
    else:
        out[i] = (ref.replace("/", "·"), f"{term}!" if term else "전반", polarity)
    return out


def as_json(tuples: list[Tuple], number: int) -> list[dict[str, Any]]:
    """Tuples in the spellings found in runner outputs, by turns."""
    rows = []
    for i, (ref, term, polarity) in enumerate(tuples):
        row: dict[str, Any] = {"aspect_ref": ref, "aspect_term": term, "polarity": polarity}
        if number % 7 == 3:
            row["aspect_term"] = {"term": term, "span": {"start": 0, "end": 0}}
        if number % 9 == 4:
            row["polarity"] = {P: "pos", N: "neg", U: "neu"}[polarity]
        if number % 11 == 5 and not term:
            row["is_implicit"] = True
        row["confidence"] = round(0.6 + 0.1 * ((number + i) % 4), 2)
        rows.append(row)
    return rows


def action(kind: str, actor: str, target: int, reason: str) -> dict[str, Any]:
    return {
        "action_type": kind,
        "target_tuple_ids": [f"t{target}"],
        "reason_code": reason,
        "actor": actor,
    }


def output(number: int, condition: str, seed: int) -> dict[str, Any]:
    text, gold = REVIEWS[number]
    rng = random.Random(f"{number}/{seed}")
    odds = CONDITIONS[condition]
    wrong = rng.random() < odds["wrong"]
    stage1 = disturb(rng, list(gold)) if wrong else list(gold)
    final = list(stage1)
    reviews: list[dict[str, Any]] = []
    decide = random.Random(f"{number}/{seed}/chair").random()
    if wrong and decide < odds["fix"]:
        final = list(gold)
        reviews = [
            action("FLIP", "A", 0, "POLARITY_MISMATCH"),
            action("FLIP", "B", 0, "POLARITY_MISMATCH"),
        ]
        reviews.append(action("KEEP" if number % 3 else "FLIP", "C", 0, "LITERAL_EVIDENCE"))
    elif not wrong and decide < odds["break"]:
        final = disturb(random.Random(f"{number}/{seed}/break"), list(gold))
        reviews = [
            action("DROP", "A", 0, "WEAK_EVIDENCE"),
            action("KEEP", "B", 0, "EVIDENCE_FOUND"),
        ]
        reviews.append(action("DROP", "C", 0, "WEAK_EVIDENCE"))
    elif number % 4 == 0:
        reviews = [action("KEEP", actor, 0, "EVIDENCE_FOUND") for actor in "ABC"]
    label = max((P, N, U), key=lambda p: sum(t[2] == p for t in final))
    row: dict[str, Any] = {
        "meta": {
            "run_id": f"{condition}__seed{seed}_proposed",
            "text_id": f"review-{number + 1:03d}",
            "input_text": text,
            "protocol_mode": "conflict_review_v2",
            "profile": "example",
            "split": "valid" if number % 2 else "dev",
            "latency_ms": 1500 + 137 * ((number * seed) % 19),
        },
        "process_trace": [
            {"stage": "stage1", "agent": "P-NEG", "output": {"triplets": []}, "notes": None}
        ],
        "analysis_flags": {
            "review_actions": reviews,
            "arb_actions": [action("FLIP", "ARB", 0, "MAJORITY")] if final != stage1 else [],
            "conflict_flags": [],
        },
        "final_result": {
            "label": label,
            "stage1_tuples": as_json(stage1, number),
            "final_tuples": as_json(final, number),
            "final_aspects": [],
        },
    }
    special(row, number, condition, stage1)
    return row


def special(row: dict[str, Any], number: int, condition: str, stage1: list[Tuple]) -> None:
    """The rarer forms, each in one sample."""
    result = row["final_result"]
    if number == 6:  # stage 1 stands in the process trace only
        row["process_trace"].append(
            {
                "stage": "stage1",
                "agent": "ATSA",
                "output": {"aspect_sentiments": result.pop("stage1_tuples")},
            }
        )
    elif number == 9:  # the final tuples stand in final_aspects
        result["final_aspects"] = result.pop("final_tuples")
    elif number == 13:  # they stand in inputs.aspect_sentiments
        row["inputs"] = {"aspect_sentiments": result.pop("final_tuples")}
    elif number == 22 and condition == "no_memory":  # the reply could not be parsed
        result["stage1_tuples"], result["final_tuples"] = [], []
        row["process_trace"][0]["notes"] = "json_parse: expected value at line 1 column 1"
        row["flags"] = {"parse_failed": True, "generate_failed": False}
    elif number == 27:  # neutral by default: the model gave no polarity
        result["final_tuples"][0]["polarity"] = None
    elif number == 33:  # an extraction stage ran, and named things that are not in the text
        row["stage1_ate"] = {
            "label": stage1[0][2] if stage1 else U,
            "aspects": [
                {"term": "선풍기", "span": {"start": 14, "end": 17}},
                {"term": "리모컨", "span": {"start": 0, "end": 3}},
                {"term": "바람", "span": {"start": 1, "end": 3}},
                {"term": "안", "span": {"start": 9, "end": 10}},
            ],
        }
        row["stage2_validator"] = {
            "structural_risks": [{"risk_id": "CONTRAST_SCOPE", "severity": "low"}]
        }
        row["stage1_validator"] = {
            "structural_risks": [{"risk_id": "NEGATION_SCOPE", "severity": "mid"}]
        }
    elif number == 39:  # one term with two polarities of equal rank
        twice = {"aspect_ref": ITEM, "aspect_term": "크기", "polarity": P, "confidence": 0.9}
        result["final_tuples"] = [twice, {**twice, "polarity": N}, *as_json([(PACK, "구성", P)], 1)]


def gold_line(number: int) -> dict[str, Any]:
    text, gold = REVIEWS[number]
    rows = []
    for ref, term, polarity in gold:
        row: dict[str, Any] = {"aspect_ref": ref, "aspect_term": term, "polarity": polarity}
        start = text.find(term) if term else -1
        if start >= 0:
            row["span"] = {"start": start, "end": start + len(term)}
        rows.append(row)
    if number == 2:  # the older name
        old = [
            {
                "aspect_ref": r["aspect_ref"],
                "opinion_term": {"term": r["aspect_term"]},
                "polarity": r["polarity"],
            }
            for r in rows
        ]
        return {"text_id": f"review-{number + 1:03d}", "gold_triplets": old}
    return {"uid": f"review-{number + 1:03d}", "gold_tuples": rows}


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8"
    )


def main() -> None:
    for condition in CONDITIONS:
        for seed in SEEDS:
            folder = ROOT / f"{condition}__seed{seed}_proposed"
            numbers = list(range(len(REVIEWS)))
            if (condition, seed) == ("with_memory", 3):
                del numbers[9::15]  # one run lost replies, as runs do
            write(folder / "outputs.jsonl", [output(n, condition, seed) for n in numbers])
            write(folder / "gold.jsonl", [gold_line(n) for n in range(len(REVIEWS))])


if __name__ == "__main__":
    main()
