"""Rule files: what ships, what is refused and how, inheritance, and the hash."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaltools.core.messages import InputError, Problems
from evaltools.core.records import File
from evaltools.suites.summary.rules import load_rules, read_rules
from evaltools.suites.summary.scoring import score_case
from tests.app.calling import call
from tests.files import read_json, write_lines


def write(tmp_path: Path, **changes: Any) -> Path:
    path = tmp_path / "own.json"
    content = {
        "schema_version": 1,
        "name": "own",
        "version": "1",
        "extends": "ko-insurance",
        **changes,
    }
    write_lines(path, [content])
    return path


def test_seed_holds_the_literal_lists_of_section_7() -> None:
    seed = load_rules("seed")
    assert {t: s.phrases for t, s in seed.tags.items()} == {
        "exclusion": ("면책", "보장 제외", "지급 불가", "exclusion"),
        "deductible": ("자기부담", "본인부담금", "deductible", "copay"),
        "limit": ("한도", "상한", "최대", "limit", "cap"),
        "waiting_period": ("면책기간", "대기기간", "waiting period"),
        "condition": ("조건", "단서", "다만", "condition"),
        "documents_required": ("서류", "진단서", "영수증", "documents"),
    }
    assert seed.followup.phrases == ("확인 필요", "추가 확인", "담당자 확인", "재문의", "follow up")
    assert seed.definitive[0].phrases == (
        "무조건", "반드시", "100%", "전액 지급", "확실히", "분명히", "always", "guaranteed",
    )  # fmt: skip
    assert list(seed.thresholds.values()) == [0.9, 0.9, 0.8, 0.8]
    assert "reduction" in load_rules("ko-insurance").tags and "reduction" not in seed.tags


@pytest.mark.parametrize(
    ("metric", "answer", "tags", "expected"),
    [
        # plain substring, with the faults that it has
        ("summary_non_definitive", "무조건 지급되는 것은 아닙니다.", [], 0.0),
        ("summary_non_definitive", "치료비를 １００％ 지급", [], 1.0),
        ("summary_risk_coverage", "Coverage is unlimited.", ["limit"], 1.0),
        ("summary_risk_coverage", "자기 부담 20%", ["deductible"], 0.0),
        ("summary_needs_followup", "추가 확인 불필요", ["needs_followup"], 1.0),
    ],
)
def test_seed_finds_plain_text(metric: str, answer: str, tags: list[str], expected: float) -> None:
    assert score_case(answer, [], tags, load_rules("seed"))[metric].score == expected


def test_the_hash_covers_content_not_layout(tmp_path: Path) -> None:
    first = load_rules(write(tmp_path))
    path = write(tmp_path, description="words for a reader")
    path.write_text(json.dumps(read_json(path), indent=7), encoding="utf-8")
    assert load_rules(path).identity == first.identity
    assert load_rules(write(tmp_path, fold=False)).identity != first.identity


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"thresholds": {"summary_acuracy": 0.9}}, "thresholds: expected one for each of summary_"),
        ({"fold": "yes"}, "fold: expected a valid boolean"),
        ({"extends": "ko-insuranc"}, "expected one of ko-insurance, seed"),
        ({"name": "ko-insurance"}, "give another"),
        ({"base": "seed"}, "base: Extra inputs"),
        ({"required": {"암": ["한됴"]}}, "required.암: no tag '한됴'"),
        ({"name": "Ä"}, "name: String should match pattern"),
        (
            {"tags": {"Limit!": {"phrases": []}}},
            "tags.Limit!.phrases: Tuple should have at least 1",
        ),
        ({"tags": {"Big Limit": {"phrases": ["a"]}}}, "tags: 'Big Limit' is not lower case"),
        ({"tags": {"needs_followup": {"phrases": ["a"]}}}, "stand under `followup`"),
        ({"tags": {"exclusion": {"aliases": ["limit"]}}}, "exclusion: limit stands for limit"),
        ({"units": [{"kind": k, "base": "b", "words": ["x"]} for k in "ab"]}, "of two units: x"),
        ({"followup": {"phrases": ["a"], "let_off": ["nope"]}}, "let_off: none is named 'nope'"),
        ({"followup": {"phrases": ["(a"]}}, "'(a': a '(', ')' or '|' that is no part"),
        ({"followup": {"phrases": ["(a|)"]}}, "always there"),
        ({"followup": {"phrases": ["가…나…다…라…마"]}}, "at most 3 of the sign …"),
        ({"followup": {"phrases": ["{nobody} 확인"]}}, "no words named 'nobody'"),
        ({"followup": {"phrases": ["합^ 확인"]}}, "without a final consonant, not '합'"),
    ],
)
def test_a_wrong_file_is_refused_by_the_name_of_its_field(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = write(tmp_path, **changes)
    problems = Problems()
    with pytest.raises(InputError):
        read_rules(File(path, problems))
    said = "\n".join(map(str, problems.shown(quiet=True)))
    assert said.startswith(f"error: {path}: ") and message in said


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (
            "추가 확인",
            "추가로 확인, 추가확인, 추가  확인, 추가 불확인",
            ["추가로 확인", "추가확인", "추가  확인"],
        ),
        (
            "follow up",
            "follow-up followup follow up follower up",
            ["follow-up", "followup", "follow up"],
        ),
        ("cap", "cap capital escape", ["cap"]),
        ("exclu*", "excluded inclusion", ["excluded"]),
        ("(면책|보상) 제외", "면책 제외 보상제외", ["면책 제외", "보상제외"]),
        ("<단서", "단서 진단서", ["단서"]),
        ("제외>", "제외 제외를 제외국", ["제외", "제외"]),
        ("지급 … 불가", "지급이 아예 불가. 지급. 불가", ["지급이 아예 불가"]),
        ("최대 #", "최대 1,000 최대한", ["최대 1,000"]),
        ("보험료_의", "보험료의 보험료 의 보험료가 의", ["보험료의", "보험료 의"]),
        ("n't pay", "won't pay", ["n't pay"]),
        ("지급하^", "지급함 지급한 지급했 지급합", ["지급함", "지급한", "지급합"]),
        (r"없\)", "없) 없음", ["없)"]),
        ("a\\", "a\\", ["a\\"]),  # a last one stands for itself
    ],
)
def test_signs_of_a_phrase(pattern: str, text: str, found: list[str]) -> None:
    assert [text[a:b] for a, b in load_rules("ko-insurance").find((pattern,), text)] == found


def test_words_stand_for_their_alternatives(tmp_path: Path) -> None:
    own = {
        "followup": {"phrases": ["{who} 회신"]},
        "words": {"team": ["심사팀", "보상팀"], "who": ["{team}", "담당자"]},
    }
    rules = load_rules(write(tmp_path, **own, extends="seed", match="flex"))
    asked = [
        score_case(f"{who} 회신", [], ["needs_followup"], rules)
        for who in ("보상팀", "담당자", "고객")
    ]
    assert [a["summary_needs_followup"].score for a in asked] == [1.0, 1.0, 0.0]


def test_the_command_that_checks_rule_files_lists_every_problem(tmp_path: Path) -> None:
    bad = write(tmp_path, fold="yes", colour=1)
    absent = tmp_path / "absent.json"
    good = Path(__file__).parents[3] / "evaltools" / "suites" / "summary" / "rules" / "seed.json"
    found = call("check", "rules", bad, absent, good, status=3)
    assert found.stdout == "errors: 3, warnings: 0, inputs: 3\n"
    codes = [line.rpartition(" ")[2] for line in found.stderr.splitlines()]
    assert codes == ["[bad-field]", "[bad-field]", "[missing-file]"]
