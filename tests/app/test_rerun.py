"""Reruns from a manifest: the same numbers, or what differs by name."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evaltools as et
from evaltools.core.files import example
from evaltools.core.messages import language, speaking
from evaltools.core.results import read_manifest
from tests.app.calling import call
from tests.files import edit, read_json, write_lines
from tests.model_server import ModelServer, judges

QUICK = et.Resampling(method="bca", n_resamples=100)
NAME = "no_memory__seed1_proposed"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run folder in the working folder, scored into `out` under a relative path, with a bad line left out."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(example(f"cr/{NAME}"), tmp_path / NAME)
    with (tmp_path / NAME / "outputs.jsonl").open("a") as f:
        f.write("{broken\n")
    et.evaluate("cr", NAME, out="out", resampling=QUICK, on_error="skip", protocol="cr_v1")
    return tmp_path / "out" / "results" / NAME


def test_the_same_again_from_anywhere(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    # value, two bounds, method, numerator, denominator and n of every metric
    n = 7 * len(read_json(run / "metrics.json")["metrics"])
    for named in (run, run / "manifest.json"):
        assert call("rerun", named).stdout == f"{n} numbers compared, none differ\n"
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before, "nothing is written"
    # a file of that name, but not of that content, is no match for the one above the manifest
    (tmp_path / "elsewhere" / NAME).mkdir(parents=True)
    (tmp_path / "elsewhere" / NAME / "outputs.jsonl").write_text("{}\n")
    monkeypatch.chdir(tmp_path / "elsewhere")
    call("rerun", run, "-o", tmp_path / "new")
    again = tmp_path / "new" / "results" / NAME / "metrics.json"
    assert again.read_bytes() == (run / "metrics.json").read_bytes()
    refused = call("rerun", run, "-o", tmp_path / "out", status=2)
    assert "holds the results to compare with" in refused.stderr


def test_what_differs_is_named(run: Path, tmp_path: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        rows = {row["name"]: row for row in content["metrics"]}
        rows["tuple_f1_s2"]["value"] *= 1 + 1e-12
        rows["fix_rate"]["ci_low"] = None
        rows["n"]["n_units"] += 1

    edit(run / "metrics.json", change)
    lines = call("rerun", run, status=4).stdout.splitlines()
    file, *rest = [line.split(":")[0] for line in lines[:-1]]
    assert file == "metrics.json is not as it was written"
    assert rest == ["n n_units", "fix_rate ci_low"]
    assert lines[1] == "n n_units: 60, was 61" and lines[-1].endswith("2 differ")
    path = tmp_path / NAME / "outputs.jsonl"
    path.write_text("".join(path.read_text().splitlines(True)[1:]), encoding="utf-8")
    changed = call("rerun", run, status=4).stdout
    assert f"input {NAME}/outputs.jsonl of {NAME} has another content" in changed


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda run: (run / "manifest.json").write_text("[]"), "expected a JSON object"),
        (lambda run: (run / "metrics.json").unlink(), "metrics.json: no such file"),
        (lambda run: edit(run / "manifest.json", lambda m: m["inputs"].clear()), "no inputs"),
        (lambda run: Path(NAME, "gold.jsonl").unlink(), "gold.jsonl: gold of"),
    ],
)
def test_what_cannot_be_made_again_is_bad_input(
    run: Path, spoil: Callable[[Path], object], message: str
) -> None:
    spoil(run)
    assert message in call("rerun", run, status=3).stderr


def test_options_and_rule_files_and_the_language_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    package = Path(et.__file__).parent
    rules = read_json(package / "suites/summary/rules/seed.json")
    write_lines(Path("mine.json"), [rules | {"name": "mine"}])
    with speaking("ko"):
        cases = example("summary/cases.jsonl")
        et.evaluate("summary", cases, out="out", resampling=QUICK, rules="./mine.json")
    folder = tmp_path / "out/results/cases"
    Path("else").mkdir()
    monkeypatch.chdir("else")
    call("rerun", folder, "-o", tmp_path / "again")
    again = tmp_path / "again" / "results" / "cases"
    assert read_manifest(again).lang == "ko" and language() == "en"
    name = "summary_scores.xlsx"
    assert (again / name).read_bytes() == (folder / name).read_bytes()
    write_lines(tmp_path / "mine.json", [rules | {"name": "other"}])
    assert "mine.json of cases has another content" in call("rerun", folder, status=4).stdout


def test_aggregates_and_what_was_declared(tmp_path: Path) -> None:
    declared = {"primary": "fix_rate_refpol", "margin": {"break_rate_refpol": 0.1}}
    et.study(
        ["example:cr/no_memory", "example:cr/with_memory"],
        out=tmp_path,
        resampling=QUICK,
        **declared,
    )
    folder = tmp_path / "results" / "with_memory_aggregated"
    assert call("rerun", folder, "-o", tmp_path / "new").stdout.endswith("none differ\n")
    again = tmp_path / "new" / "results" / "with_memory_aggregated" / "comparison.csv"
    assert again.read_bytes() == (folder / "comparison.csv").read_bytes()
    edit(folder / "manifest.json", lambda m: m.pop("members"))
    assert "names no runs" in call("rerun", folder, status=3).stderr


def test_nothing_that_is_sent_or_spent_is_taken_from_a_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A manifest may be somebody else's: neither its address, nor its model, nor its folders are used."""
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.chdir(tmp_path)
    with ModelServer(lambda s: judges()) as theirs:
        judge = {"judge": "hybrid", "judge_model": "m", "judge_cache": "theirs"}
        judge |= {"judge_base_url": theirs.url}
        et.evaluate("summary", example("summary/cases.jsonl"), out="out", resampling=QUICK, **judge)
        sent = len(theirs.seen)
        shutil.rmtree("theirs")
        refused = call("rerun", "out/results/cases", status=2).stderr
        assert "was scored with judge, which may send or spend" in refused
        assert not Path("theirs").exists()
        assert len(theirs.seen) == sent > 0
