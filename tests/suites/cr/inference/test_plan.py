"""Configs and texts of an inference run: what is read, and what is refused before anything is sent."""

from pathlib import Path
from typing import Any

import pytest

from evaltools.core.messages import InputError, Problems
from evaltools.suites.cr.inference.plan import Plan
from tests.app.calling import call

from .runs import write


@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        ('\nunknown = 1', "model.unknown", "Extra inputs"),
        ("\ntemperature = 9", "model.temperature", "less than or equal"),
        ("\n[memory]\nmode = 'sometimes'", "memory.mode", "frozen"),
        ("\nthis is no TOML", "", "expected TOML"),
        (f"\nx = {'9' * 5000}", "", "expected TOML"),
        (f"\nx = {'[' * 5000}", "", "expected TOML"),
        ("\n[memory]\nfile = 'none.jsonl'", "", "no such file"),
        ("\n[taxonomy]\nfile = 'latin.txt'", "", "is not UTF-8"),
        ("\n[x]", "x", "Extra inputs"),
    ],
)  # fmt: skip
def test_wrong_configs(change: str, where: str, what: str, tmp_path: Path) -> None:
    config = write(tmp_path, "http://127.0.0.1:1/v1", model=change)
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(InputError) as e:
        Plan(config, None, Problems())
    (problem,) = e.value.problems
    assert problem.field == where
    assert what in str(problem.message)


@pytest.mark.parametrize(
    ("top", "what"),
    [
        ({"conditions": ["m7"]}, "s0"),
        ({"conditions": ["m1"]}, "m1 shows episodes of a file"),
        ({"seeds": []}, "at least 1 item"),
        ({"conditions": []}, "at least 1 item"),
        ({"run_id": ".x"}, "pattern"),
        ({"run_id": "a__b"}, "two underscores"),
    ],
)
def test_configs_that_make_no_sense(top: dict[str, Any], what: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=what):
        Plan(write(tmp_path, "http://127.0.0.1:1/v1", **top), None, Problems())


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (['{"id": "a", "text": " ", "gold_tuples": []}'], "empty-text"),
        (['{"id": "a", "text": "x", "gold_tuples": []}'] * 2, "duplicate-id"),
        (['{"id": "a", "text": "x"}'], "missing-gold"),
        (['{"id": "a"}'], "bad-field"),
        (["no json"], "bad-json"),
    ],
)
def test_wrong_data_is_refused_with_its_line(lines: list[str], code: str, tmp_path: Path) -> None:
    config = write(tmp_path, "http://127.0.0.1:1/v1")
    (tmp_path / "data.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError) as e:
        Plan(config, None, Problems())
    assert e.value.problems[-1].code == code
    assert e.value.problems[-1].line == len(lines)


def test_texts_of_csv_have_their_gold_beside(tmp_path: Path) -> None:
    config = write(tmp_path, "http://127.0.0.1:1/v1")
    config.write_text(
        config.read_text().replace(
            '"data.jsonl"', '"data.csv"\nformat = "csv"\ngold = "gold.jsonl"'
        )
    )
    (tmp_path / "gold.jsonl").write_text(
        '{"uid": "a", "gold_tuples": []}\n{"uid": "2", "gold_tuples": []}\n'
    )
    (tmp_path / "data.csv").write_text('split,id,text\ntest,a,"one\ntwo"\n,2,three\n')
    assert [(t.id, t.text, t.split) for t in Plan(config, None, Problems()).texts] == [
        ("a", "one\ntwo", "test"),
        ("2", "three", None),
    ]
    (tmp_path / "data.csv").write_text("id,text\na,one\n2,\n")
    with pytest.raises(InputError, match=r"data.csv:3: 2: text: "):
        Plan(config, None, Problems())
    (tmp_path / "data.csv").write_text("id,sentence\na,one\n")
    with pytest.raises(InputError, match="expected the columns id, text, got id, sentence"):
        Plan(config, None, Problems())


def test_refs_are_those_of_the_taxonomy_else_of_the_gold(tmp_path: Path) -> None:
    (tmp_path / "refs.txt").write_text("본품#품질\n\n", encoding="utf-8")
    for more, refs in (({"taxonomy": {"file": "refs.txt"}}, 1), ({}, 2)):
        plan = Plan(write(tmp_path, "http://127.0.0.1:1/v1", **more), None, Problems())
        assert plan.refs == ("본품#품질", "제품 전체#가격")[:refs]


def test_several_seeds_at_temperature_0_are_warned_of(tmp_path: Path) -> None:
    problems = Problems()
    Plan(
        write(tmp_path, "http://127.0.0.1:1/v1", seeds=[1, 2], model="temperature = 0"),
        None,
        problems,
    )
    assert [p.code for p in problems.kept] == ["repeated-seeds"]


@pytest.mark.parametrize(
    "line",
    [f'{key} = "sk-verysecret"' for key in ("api_key", "key_env", "key_env.name")]
    + ['key_env = "sk_verysecret"'],
)
def test_a_key_in_the_config_is_never_shown(line: str, tmp_path: Path) -> None:
    config = write(tmp_path, "http://localhost:1/v1")
    config.write_text(config.read_text().replace("[model]", f"[model]\n{line}", 1))
    done = call("run", "cr", config, "-o", tmp_path / "out", status=3)
    assert "verysecret" not in done.output and "model." in done.output
