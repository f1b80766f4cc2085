"""The lexicon: checked, replaceable, and part of the policy by its content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaltools import InputError, Resampling, evaluate, load
from evaltools.suites.memfin.lexicon import BUNDLED, load_lexicon
from evaltools.suites.memfin.options import MemfinOptions
from tests.suites.memfin.memfin_traces import dialog, turn, write

QUICK = Resampling(n_resamples=100)


def bundled() -> dict[str, Any]:
    return json.loads(BUNDLED.read_text(encoding="utf-8"))


def save(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path


def test_another_lexicon_changes_numbers_and_policy(tmp_path: Path) -> None:
    trace = write(tmp_path / "run", dialog("a", [turn(1, "价格会上下起落", risk=["波动"])]))
    content = bundled()
    content["risk"]["in_replies"]["volatility_risk"].append("起落")
    other = save(tmp_path / "mine.json", content)
    default = evaluate("memfin", trace, resampling=QUICK)
    changed = evaluate("memfin", trace, resampling=QUICK, lexicon=other, out=tmp_path)
    assert (default.value("m3_risk_coverage"), changed.value("m3_risk_coverage")) == (0, 1)
    assert default.policy["eval_policy_hash"] != changed.policy["eval_policy_hash"]
    assert default.signature != changed.signature
    assert [i.role for i in changed.manifest.inputs] == ["trace", "lexicon"]
    # a result stays readable, with its own signature, when the file has gone
    other.unlink()
    assert load(tmp_path / "results" / "run").signature == changed.signature


def test_identity_is_that_of_the_content(tmp_path: Path) -> None:
    """Neither place nor layout of the file counts; a word or the order of the lists does."""
    same = save(tmp_path / "copy.json", bundled())
    assert load_lexicon(same).identity == load_lexicon().identity
    content = bundled()
    content["profile"]["risk_level"]["in_replies"] = dict(
        reversed(content["profile"]["risk_level"]["in_replies"].items())
    )
    assert load_lexicon(save(tmp_path / "order.json", content)).identity != load_lexicon().identity
    assert MemfinOptions(lexicon=str(same)).policy() == MemfinOptions().policy()


def _without(key: str) -> dict[str, Any]:
    content = bundled()
    del content[key]
    return content


def _with(value: Any, *path: str) -> dict[str, Any]:
    content: Any = bundled()
    at = content
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_without("risk"), "risk: Field required"),
        (_with([""], "explainability", "信息依据"), r"explainability\.信息依据\.0: .*at least 1"),
        (_with([], "explainability", "信息依据"), r"explainability\.信息依据: .*at least 1"),
        (_with("波动", "risk", "required", "volatility_risk"), r"risk\.required\.volatility_risk"),
        (_with(1, "extra"), "extra: Extra inputs"),
        ([], r"\[not-an-object\]"),
    ],
)
def test_a_bad_lexicon_names_file_and_field(tmp_path: Path, content: Any, message: str) -> None:
    path = save(tmp_path / "bad.json", content)
    with pytest.raises(InputError, match=rf"bad\.json: .*{message}"):
        MemfinOptions(lexicon=str(path))
