"""Bad input: every error and counted warning that the commands promise."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaltools import InputError, Resampling, evaluate
from evaltools.core.messages import Problems
from evaltools.suites.cr.suite import write_scorecards
from tests.files import write_lines
from tests.suites.cr.cards import gold, output, run, tup

QUICK = Resampling(n_resamples=100)
A = tup("본품#품질", "향")
GOOD = output("good", final=[A])


def problems_of(path: Path, **options: Any) -> list:
    with pytest.raises(InputError) as e:
        evaluate("cr", path, resampling=QUICK, **options)
    return list(e.value.problems)


def lines(path: Path, *raw: str | bytes) -> Path:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(r.encode() if isinstance(r, str) else r for r in raw))
    return path


def good(text_id: str) -> str:
    return json.dumps(output(text_id, final=[A]), ensure_ascii=False) + "\n"


def test_missing_and_empty_files(tmp_path: Path) -> None:
    (p,) = problems_of(tmp_path / "no.jsonl")
    assert (p.code, p.file) == ("missing-file", str(tmp_path / "no.jsonl"))
    (p,) = problems_of(tmp_path)
    assert "neither scorecards.jsonl nor outputs.jsonl" in p.message
    empty = lines(tmp_path / "r" / "outputs.jsonl")
    assert problems_of(empty)[0].code == "empty-file"
    empty.write_text("[]\n")
    assert problems_of(empty, on_error="skip")[-1].code == "no-rows"
    folder = run(tmp_path / "g", [GOOD])
    assert problems_of(folder, gold=tmp_path / "no.jsonl")[0].file == str(tmp_path / "no.jsonl")


def test_a_file_of_outputs_is_known_by_its_content_whatever_its_name(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "replies.jsonl", [output("a", final=[A])])
    of_replies = write_lines(tmp_path / "of_replies.jsonl", [gold("a", A)])
    result = evaluate("cr", path, gold=of_replies, resampling=QUICK)
    assert result["tuple_f1_s2_refpol"]["value"] == 1.0


LATENCY = '{"meta": {"text_id": "b", "latency_ms": %s}}\n'
BAD_TUPLE = '{"meta": {"text_id": "a"}, "gold_tuples": [{"polarity": 3}]}\n'


@pytest.mark.parametrize("name", ["outputs.jsonl", "scorecards.jsonl"])
@pytest.mark.parametrize(
    ("raw", "code", "field"),
    [
        ('{"meta": {"text_id": "a"\n', "bad-json", ""),
        ("[1, 2]\n", "not-an-object", ""),
        (b'{"meta": {"text_id": "\xff"}}\n', "not-utf8", ""),
        ('{"meta": {"text_id": ["a"]}}\n', "bad-field", "meta.text_id.str"),
        ('{"nothing": 1}\n', "bad-field", "meta"),
        ('{"meta": {"text_id": ""}}\n', "missing-id", "meta.text_id"),
        ('{"meta": {"text_id": "\\ud800"}}\n', "bad-json", ""),
        ('{"meta": {"text_id": "a\x00b"}}\n', "bad-json", ""),
        ('{"meta": {"text_id": "a", "split": ' + "[" * 100_000 + "\n", "bad-json", ""),
        (BAD_TUPLE, "bad-field", "gold_tuples.0.polarity"),
        *((LATENCY % n, "bad-field", "meta.latency_ms") for n in ('"7"', "NaN", "1e999", "true")),
        (good("a1"), "duplicate-id", ""),
        (good("cut")[:40] + "\n", "bad-json", ""),
    ],
)
def test_broken_lines_name_line_and_field(
    tmp_path: Path, name: str, raw: str | bytes, code: str, field: str
) -> None:
    """The others are scored under on_error="skip"; nothing is written without it."""
    path = lines(tmp_path / "r" / name, good("a1"), raw, good("a2"))
    p = problems_of(path, out=tmp_path / "o")[0]
    assert (p.code, p.line, p.field) == (code, 2, field)
    assert not (tmp_path / "o").exists()
    kept = evaluate("cr", path, on_error="skip", resampling=QUICK)
    assert kept.units["text_id"].tolist() == ["a1", "a2"]
    assert kept.manifest.problems[0].count >= 1


def test_byte_order_mark_blank_lines_and_unknown_keys_are_fine(tmp_path: Path) -> None:
    second = good("b").replace("{", '{"new": 1, ', 1)
    path = lines(tmp_path / "r" / "outputs.jsonl", b"\xef\xbb\xbf", good("a"), "\n  \n", second)
    result = evaluate("cr", path, resampling=QUICK)
    assert result.units[["text_id", "line"]].values.tolist() == [["a", 1], ["b", 4]]


@pytest.mark.parametrize(
    ("golds", "code", "line"),
    [
        ([gold("good", A), gold("good")], "duplicate-id", 2),
        ([{"gold_tuples": [A]}], "bad-field", 1),
        ([gold("other", A)], "unknown-gold", None),
    ],
)
def test_gold_that_cannot_be_used(
    tmp_path: Path, golds: list[Any], code: str, line: int | None
) -> None:
    folder = run(tmp_path / "r", [GOOD], golds)
    p = problems_of(folder)[0]
    assert (p.code, p.line, p.file) == (code, line, str(folder / "gold.jsonl"))


ODD = tup("본품#품질", "색", "great")


@pytest.mark.parametrize(
    ("made", "golds", "codes", "example"),
    [
        (GOOD, None, {"no-gold": 1}, "good: no gold for this sample"),
        (GOOD, [gold("good", A), gold("x", A)], {"unknown-gold": 1}, "gold.jsonl: x: gold for a"),
        (
            output("good", final=[ODD]),
            [gold("good", A, ODD)],
            {"unknown-polarity": 2},
            "outputs.jsonl:1: good: gold_tuples: polarity 'great' counts as",
        ),
    ],
)
def test_what_a_sample_was_not_meant_to_hold_is_counted(
    tmp_path: Path, made: dict, golds: list[Any] | None, codes: dict[str, int], example: str
) -> None:
    found = evaluate("cr", run(tmp_path / "r", [made], golds), resampling=QUICK).manifest.problems
    assert {p.code: p.count for p in found} == codes
    assert {p.severity for p in found} == {"warning"} and example in found[0].examples[0]


def test_scorecards_of_bad_lines(tmp_path: Path) -> None:
    path = lines(tmp_path / "r" / "outputs.jsonl", good("a"), "{\n", good("b"))
    gold_file = write_lines(tmp_path / "gold.jsonl", [gold("a", A), gold("c", A)])
    target = tmp_path / "s" / "scorecards.jsonl"
    with pytest.raises(InputError, match="bad-json"):
        write_scorecards(path, gold_file, target, Problems())
    assert list(target.parent.iterdir()) == []
    problems = Problems("skip")
    assert write_scorecards(path, gold_file, target, problems) == 2
    assert {c for _, c in problems.counts} == {"bad-json", "no-gold", "unknown-gold"}
