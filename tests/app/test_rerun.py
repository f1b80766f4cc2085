"""Reruns from a manifest: the same numbers, or what differs by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evaltools.app.commands.rerun import rerun_manifest
from evaltools.core.errors import InputError, UsageError
from evaltools.core.files import example, sha256
from evaltools.core.language import language, speaking
from evaltools.core.resampling import Resampling
from evaltools.core.results import read_manifest
from evaltools.report.evaluate import evaluate
from evaltools.report.make_study import study
from tests.app.calling import call
from tests.model_server import ModelServer, judges

QUICK = Resampling(method="bca", n_resamples=100)
NAME = "no_memory__seed1_proposed"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run folder in the working folder, scored into `out` under a relative path."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(example(f"cr/{NAME}"), tmp_path / NAME)
    evaluate("cr", NAME, out="out", resampling=QUICK)
    return tmp_path / "out" / "results" / NAME


def test_the_same_again(run: Path, tmp_path: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in run.rglob("*")}
    found = rerun_manifest(run / "manifest.json")
    assert found.same
    # value, two bounds, method, numerator, denominator and n of every metric
    metrics = json.loads((run / "metrics.json").read_text())["metrics"]
    assert found.compared == 7 * len(metrics)
    assert str(found) == f"{NAME}: {found.compared} numbers compared, the same"
    assert {p: p.stat().st_mtime_ns for p in run.rglob("*")} == before
    assert sorted(p.name for p in tmp_path.iterdir()) == [NAME, "out"], "nothing is written"
    assert rerun_manifest(run) == found, "the folder stands for its manifest"


def test_inputs_are_found_from_elsewhere(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere" / NAME).mkdir(parents=True)
    # a file of that name, but not of that content, is no match for the one above the manifest
    (tmp_path / "elsewhere" / NAME / "outputs.jsonl").write_text("{}\n")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert rerun_manifest(run).same


def test_out_keeps_the_new_results(run: Path, tmp_path: Path) -> None:
    rerun_manifest(run, tmp_path / "new")
    again = tmp_path / "new" / "results" / NAME
    for name in ("units.parquet", "metrics.json", "derived/metrics/structural_metrics.csv"):
        assert (again / name).read_bytes() == (run / name).read_bytes()
    with pytest.raises(UsageError, match="holds the results that are to be compared"):
        rerun_manifest(run, tmp_path / "out")


def test_a_changed_input_is_named_with_both_hashes(run: Path, tmp_path: Path) -> None:
    path = tmp_path / NAME / "outputs.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-1]), encoding="utf-8")
    was = json.loads((run / "manifest.json").read_text())["inputs"][0]
    found = rerun_manifest(run)
    assert not found.same
    (line,) = found.differences["input"]
    assert line.startswith(f"{NAME}: outputs: sha256 ")
    assert line.endswith(f"was sha256 {was['sha256']}")
    assert "n value: 39.0, was 40.0" in found.differences["number"]
    assert f"input {line}\n" in str(found)
    assert str(found).endswith(f"{len(found.differences['number'])} differ")


def test_an_input_that_is_gone_or_new(run: Path, tmp_path: Path) -> None:
    gold = tmp_path / NAME / "gold.jsonl"
    kept = gold.read_bytes()
    gold.unlink()
    with pytest.raises(
        InputError,
        match=rf"{NAME}/gold\.jsonl: gold of {NAME} \(sha256 [0-9a-f]{{64}}\) is not there",
    ):
        rerun_manifest(run)
    gold.write_bytes(kept)
    _edit(run, lambda m: m["inputs"].pop())
    assert rerun_manifest(run).differences["input"] == [
        f"{NAME}: gold: sha256 {sha256(gold)}, was None"
    ]
    _edit(run, lambda m: m["inputs"].clear())
    with pytest.raises(InputError, match="names no runs, or no inputs of them"):
        rerun_manifest(run)


def _edit(folder: Path, change: Any, name: str = "manifest.json") -> None:
    content = json.loads((folder / name).read_text(encoding="utf-8"))
    change(content)
    (folder / name).write_text(json.dumps(content), encoding="utf-8")


def test_other_versions_alone_are_named_and_count_as_the_same(run: Path) -> None:
    _edit(run, lambda m: m["versions"].update(numpy="1.0"))
    found = rerun_manifest(run)
    (line,) = found.differences["version"]
    assert line.startswith("numpy: ") and line.endswith(", was 1.0")
    assert found.same


def test_another_policy_is_named(run: Path) -> None:
    _edit(run, lambda m: m["policy"].update(protocol="cr_v1"))
    found = rerun_manifest(run)
    assert found.differences["policy"] == ["protocol: cr_v2, was cr_v1"]
    assert not found.same


def test_numbers_differ_or_round_differently(run: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        rows = {row["name"]: row for row in content["metrics"]}
        rows["tuple_f1_s2_refpol"]["value"] *= 1 + 1e-12
        rows["fix_rate_refpol"]["ci_low"] = None
        rows["n"]["n_units"] += 1

    _edit(run, change, "metrics.json")
    found = rerun_manifest(run)
    assert [line.split(":")[0] for line in found.differences["number"]] == [
        "n n_units",
        "fix_rate_refpol ci_low",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not JSON"),
        ("[]", "should be a valid dictionary"),
        ('{"suite": "cr"}', "run: Field required"),
        (None, "cannot be read"),
    ],
)
def test_what_is_no_manifest(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "manifest.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=message):
        rerun_manifest(path)


def test_results_without_numbers(run: Path) -> None:
    (run / "metrics.json").write_text('{"metrics": []}')
    with pytest.raises(InputError, match="no numbers beside it"):
        rerun_manifest(run)
    (run / "metrics.json").unlink()
    with pytest.raises(InputError, match=r"metrics\.json: cannot be read"):
        rerun_manifest(run)


def test_options_and_rule_files_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rules = json.loads(
        (
            Path(__import__("evaltools").__file__).parent / "suites/summary/rules/seed.json"
        ).read_text()
    )
    Path("mine.json").write_text(json.dumps(rules | {"name": "mine"}), encoding="utf-8")
    shutil.copy(example("summary/cases.jsonl"), "cases.jsonl")
    evaluate("summary", "cases.jsonl", out="out", resampling=QUICK, rules="./mine.json")
    folder = tmp_path / "out/results/cases"
    assert rerun_manifest(folder).same
    # in another folder, and the rules changed there
    Path("else").mkdir()
    monkeypatch.chdir("else")
    assert rerun_manifest(folder).same
    (tmp_path / "mine.json").write_text(json.dumps(rules | {"name": "other"}), encoding="utf-8")
    found = rerun_manifest(folder)
    assert not found.same
    assert found.differences["input"][0].startswith("cases: rules: sha256 ")
    assert any(
        line.startswith("rules: other@") and "was mine@" in line
        for line in found.differences["policy"]
    )


def test_protocol_and_on_error_come_back(tmp_path: Path) -> None:
    shutil.copytree(example(f"cr/{NAME}"), tmp_path / NAME)
    with (tmp_path / NAME / "outputs.jsonl").open("a") as f:
        f.write("{broken\n")
    evaluate(
        "cr",
        tmp_path / NAME,
        out=tmp_path,
        name="other",
        on_error="skip",
        protocol="cr_v1",
        resampling=QUICK,
    )
    found = rerun_manifest(tmp_path / "results" / "other")
    assert found.same and found.run == "other"


def test_aggregates_over_seeds(tmp_path: Path) -> None:
    runs = [
        f"example:cr/{c}__seed{s}_proposed" for c in ("no_memory", "with_memory") for s in (1, 2)
    ]
    study(runs, out=tmp_path, resampling=QUICK)
    folder = tmp_path / "results" / "with_memory_aggregated"
    found = rerun_manifest(folder)
    assert found.same
    before = (folder / "comparison.csv").read_text()
    (folder / "comparison.csv").write_text(before.replace("tied", "better", 1))
    changed = rerun_manifest(folder)
    (line,) = changed.differences["number"]
    assert line.endswith("verdict: tied, was better")
    again = tmp_path / "again"
    rerun_manifest(folder, again)
    assert (again / "results" / "with_memory_aggregated" / "comparison.csv").read_text() == before
    _edit(folder, lambda m: m.pop("members"))
    with pytest.raises(InputError, match="names no runs"):
        rerun_manifest(folder)


def test_what_was_declared_is_declared_again(tmp_path: Path) -> None:
    runs = [f"example:cr/{c}__seed1_proposed" for c in ("no_memory", "with_memory")]
    declared = {"primary": "fix_rate_refpol", "margin": {"break_rate_refpol": 0.1}}
    study(runs, out=tmp_path, resampling=QUICK, **declared)
    folder = tmp_path / "results" / "with_memory_aggregated"
    assert rerun_manifest(folder).same
    _edit(folder, lambda m: m.update(primary="net_gain_refpol", margin={}))
    lines = rerun_manifest(folder).differences["number"]
    assert any(" fix_rate_refpol primary: False, was True" in line for line in lines)
    assert any(" break_rate_refpol margin: None, was 0.1" in line for line in lines)


def test_aggregates_of_systems(tmp_path: Path) -> None:
    study(
        [f"example:memfin/{name}" for name in ("memory_agent", "plain_llm")],
        out=tmp_path,
        resampling=QUICK,
    )
    found = rerun_manifest(tmp_path / "results" / "plain_llm_aggregated" / "manifest.json")
    assert found.same and found.compared > 0


def test_a_rerun_speaks_the_language_of_what_it_makes_again(tmp_path: Path) -> None:
    with speaking("ko"):
        evaluate("summary", example("summary/cases.jsonl"), out=tmp_path / "a", resampling=QUICK)
    assert rerun_manifest(
        tmp_path / "a" / "results" / "cases" / "manifest.json", tmp_path / "b"
    ).same
    again = tmp_path / "b" / "results" / "cases"
    assert read_manifest(again).lang == "ko" and language() == "en"
    for file in ("summary_scores.xlsx", "summary_scores.csv"):
        assert (again / file).read_bytes() == (
            tmp_path / "a" / "results" / "cases" / file
        ).read_bytes()


def test_what_a_rerun_shows_is_told_in_the_language(run: Path) -> None:
    done = call("rerun", run, "--lang", "ko")
    assert "모두 같음" in done.stdout
    _edit(run, lambda m: m["policy"].update(protocol="cr_v1"))
    done = call("rerun", run, "--lang", "zh", status=4)
    assert done.stdout.startswith("策略 protocol：cr_v2，原为 cr_v1\n")


def test_nothing_that_is_sent_or_spent_is_taken_from_a_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A manifest may be somebody else's: neither its address, nor its model, nor its folders are used."""
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.chdir(tmp_path)
    with ModelServer(lambda s: judges()) as theirs:
        judged = {
            "judge": "hybrid",
            "judge_model": "m",
            "judge_base_url": theirs.url,
            "judge_cache": "theirs",
        }
        evaluate("summary", example("summary/cases.jsonl"), out="out", resampling=QUICK, **judged)
        sent = len(theirs.seen)
        assert sent
        shutil.rmtree("theirs")
        manifest = tmp_path / "out" / "results" / "cases" / "manifest.json"
        with pytest.raises(UsageError, match="give --judge, --judge-model, --judge-base-url"):
            rerun_manifest(manifest)
        assert len(theirs.seen) == sent
        assert not Path("theirs").exists()
        with ModelServer(lambda s: judges()) as ours:
            own = {"judge": "hybrid", "judge-model": "m", "judge-base-url": ours.url}
            said = call(
                "rerun", manifest, *(x for k, v in own.items() for x in (f"--{k}", v)), status=4
            )
        assert len(ours.seen) == sent
        assert len(theirs.seen) == sent
    assert "policy judge_base_url" in said.stdout
    assert "numbers compared, the same" in said.stdout
