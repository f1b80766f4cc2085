"""Hashes of files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from evaltools.core.files import content_hash, file_hashes, sha256


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_file_that_changed_is_hashed_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for text in ("가나다\n" * 100, "라마바\n" * 200):
        path.write_text(text, encoding="utf-8")
        assert content_hash(path) == content_hash(path) == _hash(text)


def test_a_folder_has_no_hash(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file"):
        sha256(tmp_path)


def test_the_files_of_a_folder_but_hidden_ones_and_the_manifest(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("b/c.csv", "b-a.csv", ".hidden", "manifest.json"):
        (tmp_path / name).write_text(name)
    hashes = file_hashes(tmp_path)
    assert list(hashes.items()) == [(name, _hash(name)) for name in ("b-a.csv", "b/c.csv")]
