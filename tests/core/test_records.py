"""Reading typed lines, byte ranges, and files that appear whole or not at all."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, ValidationError

from evaltools.core.files import atomic, write_json, write_jsonl
from evaltools.core.messages import InputError, Problems
from evaltools.core.records import File, read_json, read_jsonl, shards
from evaltools.core.tables import csv_rows


class Row(BaseModel):
    x: int


def test_a_failed_write_leaves_the_old_file_and_no_scrap(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic(path) as f:
        f.write(b"half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["f.txt"]


def test_no_nan_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "f.json", {"x": float("nan")})


@given(
    st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40), max_size=30),
    st.integers(1, 6),
)
def test_shards_cover_every_line_once(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], n: int
) -> None:
    path = tmp_path_factory.mktemp("s") / "f.jsonl"
    write_jsonl(path, [{"x": i, "t": t} for i, t in enumerate(texts)])
    found = []
    for start, stop in shards(path, n):
        problems = Problems()
        found += [row.x for _, row in read_jsonl(File(path, problems), Row, start=start, stop=stop)]
        assert not problems.kept
    assert found == list(range(len(texts)))


@pytest.mark.parametrize(
    "line",
    ['{"x": 1, "x": 2}', '{"x": 1, "o": {"a": 1, "a": 1}}', '{"x": 1, "x":2, "t": "\\u003a"}'],
)
def test_a_doubled_key_is_an_error(line: str, tmp_path: Path) -> None:
    path, problems = tmp_path / "f.jsonl", Problems("skip")
    path.write_text(line + '\n{"x": 3}\n')
    assert [row.x for _, row in read_jsonl(File(path, problems), Row)] == [3]
    assert [(p.line, p.code) for p in problems.kept] == [(1, "bad-json")]
    assert "stands twice" in problems.kept[0].message
    path.write_text(line)
    with pytest.raises(InputError, match="doubled key"):
        read_json(File(path, Problems()))


class Kinds(BaseModel):
    model_config = ConfigDict(strict=True)

    x: tuple[float, ...] | int | str | None = None


@given(
    st.recursive(
        st.none() | st.floats() | st.integers() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
        max_leaves=5,
    )
)
def test_a_line_is_read_as_the_model_reads_json(
    tmp_path_factory: pytest.TempPathFactory, value: object
) -> None:
    path, problems = tmp_path_factory.mktemp("k") / "f.jsonl", Problems("skip")
    line = json.dumps({"x": value, "y": value})
    path.write_text(line)
    try:
        expected = [Kinds.model_validate_json(line)]
    except ValidationError:
        expected = []
    assert repr([row for _, row in read_jsonl(File(path, problems), Kinds)]) == repr(expected)
    assert bool(problems.kept) == (not expected)


def test_csv_rows_are_named_by_the_line_on_which_they_end(tmp_path: Path) -> None:
    path, problems = tmp_path / "a.csv", Problems()
    path.write_text('\ufeffid,text\na,"one\ntwo"\n\nb\nc,three\n')
    assert list(csv_rows(File(path, problems))) == [
        (1, ["id", "text"]),
        (3, ["a", "one\ntwo"]),
        (6, ["c", "three"]),
    ]
    assert [(p.line, str(p.message)) for p in problems.kept] == [
        (5, "expected 2 cells, as the header has, got 1")
    ]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b'b,"two\n', "not CSV: unexpected end of data"),
        (b'"b"x,two\n', "not CSV: ',' expected after '\"'"),
        (
            "b,가나다\n".encode("cp949"),
            "not CSV: byte 2 of the line is not UTF-8 (0xb0); it reads as CP949: save it as UTF-8",
        ),
    ],
)
def test_a_damaged_line_of_a_csv_file_costs_its_row_alone(
    bad: bytes, said: str, tmp_path: Path
) -> None:
    path, problems = tmp_path / "a.csv", Problems("skip")
    path.write_bytes(b"id,text\na,one\n" + bad + b"c,three\nd,four")
    assert list(csv_rows(File(path, problems))) == [
        (1, ["id", "text"]),
        (2, ["a", "one"]),
        (4, ["c", "three"]),
        (5, ["d", "four"]),
    ]
    assert [(p.line, str(p.message)) for p in problems.kept] == [(3, said)]
    path.write_bytes(bad.replace(b"b,", b"id,") + b"c,three\n")
    with pytest.raises(
        InputError, match=r"a.csv:1: not CSV"
    ):  # of a header nothing can be left out
        list(csv_rows(File(path, Problems("skip"))))
