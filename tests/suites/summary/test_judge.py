"""The judge's own arithmetic: uncertain zones, mixing, prompts, options, checking of replies, cache entries."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evaltools.core.messages import UsageError
from evaltools.core.records import settings_of
from evaltools.llm.client import Answer
from evaltools.llm.messages import Call, parse, strict_schema
from evaltools.suites.summary import judge
from evaltools.suites.summary.judge import Reply, prompts
from evaltools.suites.summary.rules import JUDGED
from evaltools.suites.summary.states import SummaryOptions
from evaltools.suites.summary.suite import SUITE


@pytest.mark.parametrize(
    ("metric", "rule", "measured", "n", "tags", "ambiguous", "fires"),
    [
        ("summary_accuracy", 0.3, True, 10, (), False, True),
        ("summary_accuracy", 0.71, True, 10, (), False, False),
        ("summary_accuracy", 1.0, True, 1, (), False, True),
        ("summary_accuracy", 1.0, True, 2, (), False, False),
        ("summary_accuracy", 0.0, False, 4, (), False, True),  # the contexts hold no entities
        ("summary_risk_coverage", 1.0, False, 0, (), False, True),
        ("summary_non_definitive", 0.0, True, 0, (), False, True),
        ("summary_needs_followup", 1.0, True, 0, ("needs_followup",), False, True),
        ("summary_needs_followup", 0.0, True, 0, (), True, True),
    ],
)
def test_trigger_zones(
    metric: str,
    rule: float,
    measured: bool,
    n: int,
    tags: tuple[str, ...],
    ambiguous: bool,
    fires: bool,
) -> None:
    case = {
        metric: rule,
        f"{metric}_measured": measured,
        "n_entities": n,
        "tags": json.dumps(tags),
        "ambiguous_followup": ambiguous,
        f"{metric}_evidence": "{}",
        "contexts": '["원문"]',
    }
    assert bool(judge.trigger(case, metric)) is fires
    case["contexts"] = "[]"  # without a source a judge can measure nothing either
    assert measured or not judge.trigger(case, metric)


@pytest.mark.parametrize(
    ("rule", "score", "confidence", "mode", "final", "by"),
    [
        (0.0, 1.0, 0.80, "override", 1.0, "llm"),
        (0.0, 1.0, 0.79, "override", 0.3, "blend"),  # 0.7*0 + 0.3*1
        (1.0, 0.0, 1.00, "blend", 0.7, "blend"),  # 0.7*1 + 0.3*0
        # 0.7*0.7 + 0.3: still below 0.90, whence override is the default
        (0.7, 1.0, 1.00, "blend", 0.79, "blend"),
    ],
)
def test_who_decides_by_hand(
    rule: float, score: float, confidence: float, mode: Any, final: float, by: str
) -> None:
    case = {"summary_accuracy": rule, "summary_accuracy_measured": True}
    answer = Answer(Reply(score=score, confidence=confidence), Call(request=""))
    columns = judge.decide(case, "summary_accuracy", answer, SummaryOptions(judge_mode=mode))
    assert columns[""] == pytest.approx(final) and columns["_decided_by"] == by


def test_every_metric_has_a_versioned_prompt_and_the_hash_follows_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = judge.asset_dir("templates") / "summary" / "judge"
    copies = Path(shutil.copytree(shipped, tmp_path / "summary" / "judge"))
    with (copies / "common.md").open("a", encoding="utf-8") as f:
        f.write("- 한 줄 더\n")

    def policy() -> dict[str, Any]:
        prompts.cache_clear()
        return settings_of(
            SUITE.options, "options", {"judge": "hybrid", "judge_model": "m"}
        ).policy()

    before = policy()
    monkeypatch.setattr(judge, "asset_dir", lambda name: tmp_path)
    after = policy()
    prompts.cache_clear()
    assert set(before["judge_prompt_versions"]) == {"common", *JUDGED}
    assert before["judge_prompt_versions"] == after["judge_prompt_versions"]
    assert before["judge_prompts"] != after["judge_prompts"]


@pytest.mark.parametrize("metric", JUDGED)
def test_the_example_reply_in_each_prompt_passes_the_check(metric: str) -> None:
    text = (judge.asset_dir("templates") / "summary" / "judge" / f"{metric}.md").read_text(
        encoding="utf-8"
    )
    example = text.split("출력 예: ")[1].strip()
    assert isinstance(parse(example, Reply), Reply)
    schema = strict_schema(Reply)
    assert list(json.loads(example)) == list(schema["properties"]) == schema["required"]


@pytest.mark.parametrize(
    "changes",
    [{"model": " "}, {"confidence": float("nan")}, {"base_url": "https://user:hunter2@host/v1"}],
)
def test_options_that_make_no_sense_show_no_secret(changes: dict[str, object]) -> None:
    options = {f"judge_{name}": value for name, value in {"model": "m", **changes}.items()}
    with pytest.raises(UsageError) as e:
        settings_of(SUITE.options, "options", {"judge": "hybrid", **options})
    assert "hunter2" not in str(e.value)
