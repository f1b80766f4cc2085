"""Aspect-based sentiment of other tools' files: each format read by hand, damaged, and given for another."""

from pathlib import Path
from typing import Any

import pytest

from evaltools.formats import sentences
from tests.files import read_lines

from ..app.calling import call
from .datasets import ACOS, ASQP, ASTE, NIKL, SEMEVAL14, SEMEVAL16
from .tools import refused


def opinion(
    ref: str, term: str, polarity: str, span: tuple[int, int] | None = None
) -> dict[str, Any]:
    place = {"span": {"start": span[0], "end": span[1]}} if span else {}
    return {"aspect_ref": ref, "aspect_term": term, "polarity": polarity, **place}


def write(folder: Path, text: str, name: str = "in.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def gold(folder: Path, form: str, text: str, *more: str) -> list[dict[str, Any]]:
    call("convert", form, write(folder, text), "-o", folder / "gold.jsonl", *more)
    return read_lines(folder / "gold.jsonl")


@pytest.mark.parametrize(
    ("form", "text", "options", "expected"),
    [
        (
            "nikl",
            NIKL,
            (),
            {
                "train-1": [
                    opinion("본품#품질", "기어", "negative", (16, 18)),
                    opinion("제품 전체#일반", "", "positive"),
                ],
                "train-2": [opinion("제품 전체#일반", "", "neutral")],
            },
        ),
        (
            "semeval14",
            SEMEVAL14,
            (),
            {
                "813": [
                    opinion("", "appetizers", "positive", (8, 18)),
                    opinion("", "salads", "mixed", (23, 29)),
                ],
                "2": [],
            },
        ),
        (
            "semeval14",
            SEMEVAL14,
            ("--level", "category"),
            {"813": [opinion("food", "", "positive")], "2": []},
        ),
        (
            "semeval16",
            SEMEVAL16,
            (),
            {
                "1:0": [
                    opinion("RESTAURANT#GENERAL", "place", "negative", (51, 56)),
                    opinion("SERVICE#GENERAL", "", "neutral"),
                ],
                "2:0": [opinion("LAPTOP#OPERATION_PERFORMANCE", "", "negative")],
            },
        ),
        (
            "aste",
            ASTE,
            (),
            {
                "1": [opinion("", "staff", "negative", (9, 14))],
                "2": [
                    opinion("", "battery life", "positive", (4, 16)),
                    opinion("", "battery life", "positive", (4, 16)),
                    opinion(
                        "", "The life", "neutral"
                    ),  # tokens that do not stand side by side have no span
                ],
            },
        ),
        (
            "asqp",
            ASQP,
            (),
            {
                "1": [
                    opinion("food quality", "pizza", "positive"),
                    opinion("food prices", "", "neutral"),
                ]
            },
        ),
        (
            "acos",
            ACOS,
            (),
            {
                "1": [
                    opinion("LAPTOP#DESIGN_FEATURES", "", "positive"),
                    opinion("LAPTOP#DESIGN_FEATURES", "surface", "negative", (22, 29)),
                ]
            },
        ),
    ],
)
def test_gold_of_each_format(
    form: str, text: str, options: tuple[str, ...], expected: dict[str, Any], tmp_path: Path
) -> None:
    found = gold(tmp_path, form, text, *options)
    assert {row["uid"]: row["gold_tuples"] for row in found} == expected
    assert all(row["input_text"] for row in found)


def test_predictions_are_outputs_of_the_same_ids(tmp_path: Path) -> None:
    call(
        "convert",
        "asqp",
        write(tmp_path, ASQP),
        "-o",
        tmp_path / "outputs.jsonl",
        "--as",
        "predictions",
    )
    (row,) = read_lines(tmp_path / "outputs.jsonl")
    assert row["meta"] == {
        "text_id": "1",
        "input_text": "The pizza is yummy .",
        "protocol_mode": "predictions",
    }
    assert row["final_result"]["final_tuples"][0] == opinion("food quality", "pizza", "positive")
    assert set(row) == {"meta", "final_result"}


def test_a_sample_that_is_skipped_keeps_its_number(tmp_path: Path) -> None:
    broken = ASTE.replace("[5], 'NEG'", "[5], 'BAD'")
    found = gold(tmp_path, "aste", "\n" + broken, "--on-error", "skip")
    assert [row["uid"] for row in found] == ["2"]


@pytest.mark.parametrize(
    ("form", "text", "said"),
    [
        ("nikl", NIKL[:-40], "in.txt:2: error"),
        (
            "nikl",
            NIKL.replace('"neutral"', '"so so"'),
            "in.txt:2: annotation.0.2: expected 'positive', 'negative' or 'neutral', got 'so so'",
        ),
        ("semeval14", SEMEVAL16, "expected XML with the root sentences, got 'Reviews'"),
        ("semeval14", NIKL, "in.txt:1: not XML"),
        (
            "semeval14",
            SEMEVAL14.replace('from="8"', 'from="x"'),
            "sentence 813.from: expected a valid integer",
        ),
        (
            "semeval14",
            SEMEVAL14.replace("<text>Nothing here.</text>", ""),
            "sentence 2.text: expected an",
        ),
        (
            "semeval16",
            SEMEVAL16.replace("UTF-8", "shift_jis"),
            "in.txt: not XML: multi-byte encodings",
        ),
        ("aste", ASQP, "in.txt:1: tuples.0"),
        (
            "aste",
            ASTE.replace("([2]", "([22]"),
            "in.txt:1: tokens: expected numbers of the 9 tokens, got [22]",
        ),
        ("aste", "x####__import__('os').getcwd()", "in.txt:1: expected a Python list after ####"),
        ("aste", "x####" + "[" * 5000, "in.txt:1: expected a Python list after ####"),
        (
            "tasd",
            r"x####[['\ud800', 'A#B', 'positive']]",  # half of a character: no file can hold it
            "in.txt:1: expected a Python list after ####",
        ),
        ("asqp", ASTE, "in.txt:1: tuples.0.0: expected a valid string, got [2]"),
        (
            "acos",
            ACOS.replace(" 0 7,8", " 3 7,8"),
            "in.txt:1: quadruples: expected 'a0,a1 CATEGORY s o0,o1'",
        ),
        ("acos", ACOS.replace("5,6", "5,60"), "in.txt:1: quadruples: expected a half open span"),
        ("acos", "\n\n", "nothing in it can be used"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_written(
    form: str, text: str, said: str, tmp_path: Path
) -> None:
    assert said.replace("in.txt", str(tmp_path / "in.txt")).removesuffix(": error") in refused(
        form, write(tmp_path, text)
    )


BOMB = """<?xml version="1.0"?>
<!DOCTYPE sentences [<!ENTITY a "{a}"><!ENTITY b "&a;&a;">]>
<sentences><sentence id="1"><text>&b;</text></sentence></sentences>"""

EXTERNAL = """<?xml version="1.0"?>
<!DOCTYPE sentences [<!ENTITY a SYSTEM "file:///etc/passwd">]>
<sentences><sentence id="1"><text>&a;</text></sentence></sentences>"""


@pytest.mark.parametrize("text", [BOMB, EXTERNAL])
def test_entities_are_refused(text: str, tmp_path: Path) -> None:
    for error in ("fail", "skip"):
        assert "entities or outside references, which are refused" in refused(
            "semeval14", write(tmp_path, text), "--on-error", error
        )


def test_literals_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "LITERAL_BYTES", 60)
    assert f"{tmp_path / 'in.txt'}:2: a list of more than" in refused("aste", write(tmp_path, ASTE))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("asqpp",), "'asqpp' is not one of 'nikl', "),
        (("asqp", "--level", "term"), "asqp takes no --level"),
        (("asqp", "--condition", "a"), "asqp takes no --condition"),
        (("ragas", "--as", "predictions"), "--as predictions is for aspect-based sentiment"),
        (
            ("ragas", "--condition", "a", "--condition", "b"),
            "give --condition once, or once for each of the 1 files",
        ),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    path = write(tmp_path, ASQP)
    done = call(
        "convert", arguments[0], path, "-o", tmp_path / "new" / "x.jsonl", *arguments[1:], status=2
    )
    assert said in done.output
    assert not (tmp_path / "new").exists()


SB2 = """\
<Reviews>
  <Review rid="en_1">
    <sentences>
      <sentence id="en_1:0"><text>We ate here.</text></sentence>
      <sentence id="en_1:1"><text>It was slow.</text></sentence>
    </sentences>
    <Opinions>
      <Opinion category="SERVICE#GENERAL" polarity="negative"/>
      <Opinion category="FOOD#QUALITY" polarity="conflict"/>
    </Opinions>
  </Review>
</Reviews>
"""


def test_opinions_of_a_whole_review_are_one_sample(tmp_path: Path) -> None:
    """The text level of SemEval 2016 (SB2)."""
    (row,) = gold(tmp_path, "semeval16", SB2)
    assert (row["uid"], row["input_text"]) == ("en_1", "We ate here. It was slow.")
    assert row["gold_tuples"] == [
        opinion("SERVICE#GENERAL", "", "negative"),
        opinion("FOOD#QUALITY", "", "mixed"),
    ]


def test_triplets_of_tasd(tmp_path: Path) -> None:
    (row,) = gold(
        tmp_path,
        "tasd",
        "Good pizza####[['pizza', 'food quality', 'positive'], ['NULL', 'service', 'negative']]\n",
    )
    assert row["gold_tuples"] == [
        opinion("food quality", "pizza", "positive"),
        opinion("service", "", "negative"),
    ]
    assert "tuples.0: Tuple should have at most 3 items" in refused("tasd", write(tmp_path, ASQP))


def test_a_test_file_without_labels_is_no_gold(tmp_path: Path) -> None:
    sentence = "<sentence id='1:0'><text>So.</text></sentence>"
    unlabelled = f"<Reviews><Review rid='1'><sentences>{sentence}</sentences></Review></Reviews>"
    path, target = write(tmp_path, unlabelled), tmp_path / "x.jsonl"
    assert f"{path}: no sample has a tuple: this is no gold" in refused("semeval16", path)
    call("convert", "semeval16", path, "-o", target, "--as", "predictions")
    assert target.is_file()
