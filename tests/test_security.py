"""A key stands in no artefact; that data run nothing and choose no path is seen in tests/test_hostile.py."""

import zipfile
from pathlib import Path

import pytest

from tests.files import write_lines
from tests.model_server import ModelServer, judges

from .app.calling import QUICK, call


def test_the_key_of_the_judge_is_in_no_artefact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Score, report and gallery with a judge; the key stands in requests and in no file or message."""
    pytest.importorskip("openai")
    key = "sk-planted-" + "4f9Q" * 10
    for name, value in {
        "OPENAI_API_KEY": key,
        "NO_PROXY": "127.0.0.1",
        "EVALTOOLS_JUDGE_API_KEY": "",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    cases = [
        {
            "id": f"c{i}",
            "answer": f"무조건 지급되는 것은 아닙니다. 300만원{'가나다라'[i]}",
            "contexts": ["100만원"],
            "metadata": {"summary_tags": ["exclusion"]},
        }
        for i in range(4)
    ]
    write_lines(tmp_path / "cases.json", [cases])
    # one reply repeats the key, as the messages of some servers do: it is turned away
    with ModelServer(
        lambda seen: judges(
            0.5, 0.9, reason=f"key {key}" if seen.summary.endswith("나") else "근거"
        )
    ) as server:
        done = call(
            *("report", "summary", "cases.json", "-o", "out", *QUICK),
            *("--judge", "hybrid", "--judge-model", "m", "--judge-base-url", server.url),
        )
        assert server.seen and all(
            s.headers["authorization"] == f"Bearer {key}" for s in server.seen
        )
    assert key not in done.output
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    kinds = {p.suffix for p in files}
    assert kinds >= {".ipynb", ".html", ".json", ".csv", ".xlsx", ".parquet"}
    assert (tmp_path / "out/judge-cache").is_dir()
    for p in files:
        raw = p.read_bytes()
        if p.suffix == ".xlsx":
            with zipfile.ZipFile(p) as book:
                raw = b"".join(book.read(n) for n in book.namelist())
        assert b"sk-planted" not in raw, p
    import pandas as pd

    (units,) = tmp_path.rglob("units.parquet")
    assert "sk-planted" not in pd.read_parquet(units).to_csv()
