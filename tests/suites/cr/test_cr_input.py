"""Bad input: every error and counted warning that the commands promise."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from evaltools import InputError, UsageError, evaluate
from evaltools.core.errors import Problems
from evaltools.suites.cr.score import write_scorecards
from tests.suites.cr.cards import gold, output, run, tup, write

A = tup("본품#품질", "향")
GOOD = output("good", final=[A])


def problems_of(path: Path, **options: Any) -> list:
    with pytest.raises(InputError) as e:
        evaluate("cr", path, **options)
    return list(e.value.problems)


def lines(folder: Path, *raw: str | bytes) -> Path:
    folder.mkdir(parents=True)
    data = b"".join(r.encode() if isinstance(r, str) else r for r in raw)
    (folder / "outputs.jsonl").write_bytes(data)
    return folder


def good(text_id: str = "good") -> str:
    return json.dumps(output(text_id, final=[A]), ensure_ascii=False) + "\n"


def write_gold(folder: Path, text_id: str, tuples: list) -> Path:
    path = folder / "of_replies.jsonl"
    path.write_text(json.dumps({"uid": text_id, "gold_tuples": tuples}) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("raw", "code", "field"),
    [
        ('{"meta": {"text_id": "a"\n', "bad-json", ""),
        ("[1, 2]\n", "not-an-object", ""),
        ('"text"\n', "not-an-object", ""),
        (b'{"meta": {"text_id": "\xff"}}\n', "not-utf8", ""),
        ('{"meta": {"text_id": ["a"]}}\n', "bad-field", "meta.text_id.str"),
        ('{"meta": {"text_id": "a", "latency_ms": "7"}}\n', "bad-field", "meta.latency_ms"),
        ('{"meta": {"text_id": "a", "latency_ms": NaN}}\n', "bad-field", "meta.latency_ms"),
        ('{"nothing": 1}\n', "bad-field", "meta"),
        ('{"meta": {}}\n', "missing-id", "meta.text_id"),
        (
            '{"meta": {"text_id": "a"}, "final_result": {"final_tuples": [{"polarity": 3}]}}\n',
            "bad-field",
            "final_result.final_tuples.0.polarity",
        ),
        ('{"meta": {"text_id": "\\ud800"}}\n', "bad-json", ""),
    ],
)
def test_broken_lines_name_line_and_field(
    tmp_path: Path, raw: str | bytes, code: str, field: str
) -> None:
    folder = lines(tmp_path / "r", good("a1"), raw, good("a2"))
    p = problems_of(folder)[0]
    assert (p.code, p.line, p.field) == (code, 2, field)
    kept = evaluate("cr", folder, on_error="skip")
    assert kept.units["text_id"].tolist() == ["a1", "a2"]
    assert kept.manifest.problems[0].count >= 1


def test_byte_order_mark_blank_lines_and_unknown_keys_are_fine(tmp_path: Path) -> None:
    folder = lines(
        tmp_path / "r",
        b"\xef\xbb\xbf",
        good("a"),
        "\n  \n",
        good("b").replace("{", '{"new": 1, ', 1),
    )
    result = evaluate("cr", folder)
    assert result.units[["text_id", "line"]].values.tolist() == [["a", 1], ["b", 4]]


def test_doubled_text_id(tmp_path: Path) -> None:
    folder = lines(tmp_path / "r", good("a"), good("b"), good("a"))
    (p,) = problems_of(folder)
    assert (p.code, p.line, p.id) == ("duplicate-id", 3, "a")
    assert "line 1" in str(p.message)
    assert len(evaluate("cr", folder, on_error="skip").units) == 2


def test_no_usable_line(tmp_path: Path) -> None:
    assert problems_of(lines(tmp_path / "r", "[]\n"), on_error="skip")[-1].code == "no-rows"


def test_gold_of_unknown_and_doubled_samples(tmp_path: Path) -> None:
    folder = run(tmp_path / "r", [GOOD], [gold("good", A), gold("other", A)])
    warned = evaluate("cr", folder).manifest.problems
    assert [(p.severity, p.code, p.count) for p in warned] == [("warning", "unknown-gold", 1)]
    write(folder / "gold.jsonl", [gold("good", A), gold("good")])
    (p,) = problems_of(folder)
    assert (p.code, p.line, p.id) == ("duplicate-gold", 2, "good")
    write(folder / "gold.jsonl", [{"gold_tuples": [A]}])
    assert problems_of(folder)[0].code == "missing-id"


def test_a_gold_file_of_other_samples_is_an_error(tmp_path: Path) -> None:
    folder = run(tmp_path / "r", [GOOD], [gold("good", A)])
    given = tmp_path / "given.jsonl"
    write(given, [gold("other", A)])
    (p,) = problems_of(folder, gold=given)
    assert (p.severity, p.code, p.file) == ("error", "unknown-gold", str(given))


def test_span_outside_the_text_and_unknown_polarity_are_counted(tmp_path: Path) -> None:
    far = tup("본품#품질", "향", span={"start": 5, "end": 99})
    odd = tup("본품#품질", "색", "great")
    folder = run(tmp_path / "r", [output("good", final=[odd])], [gold("good", far, odd)])
    found = evaluate("cr", folder).manifest.problems
    assert {p.code: p.count for p in found} == {"span-outside-text": 1, "unknown-polarity": 2}
    assert "[5, 99]" in found[0].examples[0]
    assert "outputs.jsonl:1" in found[0].examples[0]


def test_a_run_without_gold_still_gives_the_other_metrics(tmp_path: Path) -> None:
    result = evaluate("cr", run(tmp_path / "r", [GOOD]))
    assert [p.code for p in result.manifest.problems] == ["no-gold"]
    assert result["tuple_f1_s2"]["value"] != result["tuple_f1_s2"]["value"]
    assert result.value("final_aspect_out_of_text_rate") == 0


def test_scorecards_of_bad_lines(tmp_path: Path) -> None:
    folder = lines(tmp_path / "r", good("a"), "{\n", good("b"))
    gold_file = write(tmp_path / "gold.jsonl", [gold("a", A), gold("c", A)])
    target = tmp_path / "s" / "scorecards.jsonl"
    with pytest.raises(InputError, match="bad-json"):
        write_scorecards(folder, gold_file, target, Problems())
    assert list(target.parent.iterdir()) == []
    problems = Problems("skip")
    assert write_scorecards(folder, gold_file, target, problems) == 2
    assert {c for _, c in problems.counts} == {"bad-json", "unknown-gold"}


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999"])
def test_scorecards_hold_null_for_a_number_that_json_cannot_hold(
    tmp_path: Path, value: str
) -> None:
    folder = lines(tmp_path / "r", good("a").replace("{", f'{{"unused": [{value}], ', 1))
    gold_file = write(tmp_path / "gold.jsonl", [gold("a", A)])
    assert write_scorecards(folder, gold_file, tmp_path / "s.jsonl", Problems()) == 1
    card = json.loads((tmp_path / "s.jsonl").read_text(encoding="utf-8"))
    assert card["runtime"]["parsed_output"]["unused"] == [None]


def test_scorecards_never_replace_an_input(tmp_path: Path) -> None:
    folder = run(tmp_path / "r", [GOOD], [gold("good", A)])
    for name in ("outputs.jsonl", "gold.jsonl"):
        before = (folder / name).read_bytes()
        with pytest.raises(UsageError, match="is an input"):
            write_scorecards(folder, folder / "gold.jsonl", folder / name, Problems())
        assert (folder / name).read_bytes() == before


def test_tuples_without_a_ref_are_warned_of_where_the_gold_has_refs(tmp_path: Path) -> None:
    no_ref = {"aspect_term": "향", "polarity": "positive"}
    rows = [output("with", final=[A, no_ref]), output("without", final=[no_ref])]
    folder = run(tmp_path / "r", rows, [gold("with", A), gold("without", no_ref)])
    (warned,) = evaluate("cr", folder).manifest.problems
    assert (warned.code, warned.count) == ("invalid-refs", 1)
    assert "outputs.jsonl:1: with: final_tuples: tuple 1 has no aspect_ref" in warned.examples[0]


def test_decomposed_text_is_warned_of_and_scored_like_composed(tmp_path: Path) -> None:
    text = unicodedata.normalize("NFD", "향이 좋아요")
    term = unicodedata.normalize("NFD", "향")
    folder = run(
        tmp_path / "r",
        [output("good", final=[tup("본품#품질", term)], text=text)],
        [gold("good", tup("본품#품질", "향"))],
    )
    result = evaluate("cr", folder)
    (warned,) = result.manifest.problems
    assert (warned.severity, warned.code, warned.count) == ("warning", "decomposed-text", 2)
    assert "outputs.jsonl:1: good: meta.input_text" in warned.examples[0]
    assert result.value("tuple_f1_s2_otepol") == 1
    assert result.value("final_aspect_out_of_text_rate") == 0
