"""Release gates: bounds, verdicts, a baseline, what vouches for a result, and the file that a CI job reads."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import evaltools as et
from evaltools.core.suite import load_suite_file
from evaltools.report.evaluate import study
from tests.files import edit, read_json, write_lines

from ..report.synthetic import HOSTILE
from .calling import QUICK, call

LABELS = Path(__file__).parents[1] / "data" / "labels.py"


def stored(path: Path, **content: Any) -> Path:
    """A metrics.json with nothing beside it."""
    return write_lines(path, [{"run": "mine", "metrics": [{"name": "m"}], **content}])


@pytest.fixture
def metrics(tmp_path: Path) -> Path:
    rows = [
        {"name": "f1", "value": 0.8, "ci_low": 0.7, "ci_high": 0.9},
        {"name": "null", "value": None, "ci_low": None, "ci_high": None},
        {"name": "pass@k=10", "value": 0.8},
        {"name": "delta", "value": 0.0, "blocked": "one"},
    ]
    check = {"code": "one", "level": "blocking", "message": "both are one"}
    return stored(tmp_path / "m.json", metrics=rows, checks=[check])


@pytest.mark.parametrize(
    ("args", "status", "line"),
    [
        (["--min", "f1=0.8"], 0, "PASS f1 value 0.8 >= 0.8"),
        (["--min", "f1=0.75", "--use", "ci_low"], 1, "FAIL f1 ci_low 0.7"),
        (["--max", "f1=0.85", "--use", "ci_high"], 1, "FAIL f1 ci_high 0.9"),
        (["--max", "f1=0.95", "--min", "f1=0.65", "--use", "worst"], 0, "PASS f1 ci_low 0.7"),
        (["--min", "null=0", "--use=worst"], 1, "FAIL null ci_low not measured"),
        (["--min", "pass@k=10=0.5"], 0, "PASS pass@k=10"),
        (["--min", "delta=0"], 1, "FAIL delta cannot be measured: both are one"),
        (["--min", "f2=0"], 2, "no metric 'f2'; did you mean f1"),
        (["--min", "f1"], 2, "expected NAME=X"),
        (["--min", "f1=nan"], 2, "not a finite number"),
        (["--margin", "f1=0.1"], 2, "give --baseline RESULT"),
        ([], 2, "holds no verdicts"),
    ],
)
def test_bounds(metrics: Path, args: list[str], status: int, line: str) -> None:
    assert line in call("gate", metrics, *args, status=status).output


@pytest.mark.parametrize(
    ("words", "args", "status", "line"),
    [
        (["pass"], [], 0, "PASS a pass: A"),
        (["pass", "fail"], [], 1, "FAIL a fail: A, half of them (mine)"),
        (["pass", "not measured"], [], 1, "FAIL a not measured: A"),
        (["no threshold"], [], 2, "holds no verdicts: give --min NAME=X"),
        (["look"], [], 0, "PASS a look: A"),
        (["look"], ["--strict"], 1, "FAIL a look: A"),
        (["fail"], ["--min", "f1=0.5"], 0, "PASS f1 value 0.8 >= 0.5"),
        (["fail"], ["--min", "f1=0.5", "--strict"], 1, "FAIL a fail"),
    ],
)
def test_verdicts_of_the_suite_decide_without_bounds(
    tmp_path: Path, words: list[str], args: list[str], status: int, line: str
) -> None:
    verdicts = [
        {"metric": "a", "title": "A", "verdict": word, "said": "half of them"} for word in words
    ]
    rows = [{"name": "f1", "value": 0.8}]
    path = stored(tmp_path / "m.json", metrics=rows, verdicts=verdicts)
    assert line in call("gate", path, *args, status=status).output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "m.json"),
        ("[]", "m.json"),
        ('{"metrics": [{"name": "a", "value": "1"}]}', "metrics.0.value"),
        ('{"metrics": [], "verdicts": [{"metric": "a"}]}', "verdicts.0.verdict"),
    ],
)
def test_other_files_are_bad_input(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "m.json").write_text(content)
    assert message in call("gate", tmp_path / "m.json", "--min", "a=0", status=3).output


# --- a baseline


def labels(path: Path, wrong: set[int], n: int = 40, first: int = 0) -> Path:
    """A file of labels of which these are wrong."""
    row = {"gold": "pos", "domain": "d"}
    rows = [
        {**row, "id": f"s{i + first}", "pred": "neg" if i in wrong else "pos"} for i in range(n)
    ]
    write_lines(path, rows)
    return path


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of runs of 40 labels, of one of 8, one of other samples, and seeds of two conditions."""
    out = tmp_path_factory.mktemp("gate")
    suite = load_suite_file(LABELS)
    wrong = {"base": set(range(8)), "same": set(range(8)), "a little worse": set(range(10))}
    wrong |= {"worse": set(range(26)), "better": {0}}
    for seed in (1, 2, 3):
        wrong[f"old__seed{seed}_x"] = {seed, 5, 6}
        wrong[f"new__seed{seed}_x"] = {seed, *range(5, 30)}
    files = [labels(out / f"{name}.jsonl", of_run) for name, of_run in wrong.items()]
    files += [
        labels(out / "few.jsonl", {1}, n=8),
        labels(out / "two missing.jsonl", wrong["base"], n=38),
        labels(out / "others.jsonl", {1}, first=100),
    ]
    for path in files:
        et.evaluate(suite, path, out=out, resampling=et.Resampling(n_resamples=200))
    et.evaluate(suite, files[0], name="of 90%", out=out, confidence=0.9, n_resamples=200)
    study([out / "results" / path.stem for path in files if "__seed" in path.stem], out=out)
    return out / "results"


@pytest.mark.parametrize(
    ("candidate", "args", "status", "line"),
    [
        # 32 of 40 right, then 30, then 14: 2 labels that differ show nothing, 18 in one direction do
        ("a little worse", [], 0, "PASS accuracy 0.750 against 0.800, difference -0.050: too few"),
        ("worse", [], 1, "FAIL accuracy 0.350 against 0.800, difference -0.450: worse (Accuracy)"),
        ("better", ["--margin", "accuracy=0.02"], 0, "PASS accuracy 0.975"),
        ("a little worse", ["--margin", "accuracy=0.01"], 1, "FAIL accuracy 0.750"),
        ("a little worse", ["--margin", "accuracy=0.9"], 0, ">= -0.9 (Accuracy)"),
        # of 38 pairs alike 1 - .05^(1/38) = .0758 may be worse, and 2 of 40 are missing
        (
            "two missing",
            ["--margin", "accuracy=0.1"],
            1,
            "the missing that are too few to test at their worst -0.1258",
        ),
        ("two missing", [], 0, "(Accuracy); 2 values are missing here, 0 in the baseline"),
        ("of 90%", [], 2, "(confidence)"),
        ("others", [], 2, "share no id"),
        (
            "few",
            [],
            1,
            "FAIL accuracy not measured (Accuracy); 32 values are missing here, 0 in the",
        ),
        ("base", [], 2, "would be compared with itself"),
        ("same", ["--margin", "acuracy=0.1"], 2, "did you mean accuracy"),
        ("", ["--min", "a=1"], 3, "metrics.json: no such file"),
    ],
)
def test_a_baseline(
    results: Path, tmp_path: Path, candidate: str, args: list[str], status: int, line: str
) -> None:
    junit = tmp_path / "j.xml"
    against = ("--baseline", results / "base", "--junit", junit)
    gate = ("--suite-file", LABELS, "gate", results / candidate, *against, *args)
    assert line in call(*gate, status=status).output
    assert junit.exists() == (status < 2)


def test_of_a_metric_that_should_be_low_the_upper_bound_is_the_side_of_harm(scored: Path) -> None:
    old, new = (scored / f"{c}_memory__seed1_proposed" for c in ("no", "with"))
    # a metric with a margin is a test of its own, under any of its names; of two margins the stricter one counts
    high = et.compare(old, new, primary="break_rate")["break_rate"]["ci_high"]
    args = ["gate", new, "--baseline", old, "--margin"]
    assert "ci_high" in call(*args, f"break_rate={high + 0.0001}").output
    args += [f"break_rate={high - 0.0001}", "--margin", "break_rate_refpol=9"]
    assert "FAIL break_rate_refpol" in call(*args, status=1).output
    assert "FAIL break_rate_refpol" in call(*args, "--margin", "break_rate=9", status=1).output


def test_aggregates_pair_by_the_runs_that_their_manifests_name(results: Path) -> None:
    for old in (results / "old_aggregated", results / "old_aggregated/metrics.json"):
        gate = ("--suite-file", LABELS, "gate", results / "new_aggregated", "--baseline", old)
        out = call(*gate, status=1).output
        # 37 of 40 right with every seed, then 40 - 26 or 25 of them
        assert "FAIL accuracy 0.3" in out


@pytest.mark.parametrize("gone", ["", "units.parquet", "metrics.json"])
def test_a_seed_of_an_aggregate_that_is_gone_or_spoilt_is_bad_input(
    results: Path, tmp_path: Path, gone: str
) -> None:
    old = shutil.copytree(results, tmp_path / "results") / "old_aggregated"
    run = old / read_json(old / "manifest.json")["folders"][1]
    edit(run / "manifest.json", lambda recorded: recorded.update(started="9"))
    labels, new = ("--suite-file", LABELS), results / "new_aggregated"
    compare = ("compare", old, new)
    for args in (("gate", old, "--min", "accuracy=0"), compare):
        assert call(*labels, *args).output.count("scored again after") == 1
    run.rename(tmp_path / "away") if not gone else (run / gone).unlink()
    for args in (("gate", new, "--baseline", old), compare):
        call(*labels, *args, status=3)
    if gone:
        call(*labels, "compare", run, new, status=3)


def test_what_the_baseline_lacks_where_it_was_wrong_does_not_pass(tmp_path: Path) -> None:
    rows = [{"id": str(i), "metric": "m", "value": i % 2, "higher_is_better": 1} for i in range(60)]
    answered = [row for row in rows if row["value"] or row["id"].endswith("0")]
    for name, lines in {"base": answered, "new": rows}.items():
        lines.append({"id": "0", "metric": "no direction", "value": 1})
        et.evaluate("table", lines, name=name, out=tmp_path, n_resamples=200)
    results = tmp_path / "results"
    done = call("gate", results / "new", "--baseline", results / "base", status=1)
    assert "FAIL m not measured (m); 0 values are missing here, 24 in the baseline" in done.output


# --- a file for a CI job


@pytest.mark.parametrize("text", [*HOSTILE, "\x00\x1b[31m", "\u202e"])
def test_hostile_names_stay_text(tmp_path: Path, text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    verdicts = [{"metric": text, "title": text, "verdict": "fail", "said": text}]
    checks = [{"code": "c", "level": "warning", "message": text}]
    path = stored(tmp_path / "m.json", run=text, verdicts=verdicts, checks=checks)
    out = call("gate", path, "--junit", tmp_path / "j.xml", status=1).output
    assert "\x1b" not in out and "\u202e" not in out and out.count("note: ") == 2
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("1", "1")
    (case,) = suite
    assert set(case.attrib) == {"classname", "name"} and [c.tag for c in case] == ["failure"]


# --- what vouches for a result


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "edited": (
        lambda folder: (folder / "metrics.json").write_text(
            (folder / "metrics.json").read_text().replace("0.", "1.", 1)
        ),
        "'metrics.json' is not as it was written, or not vouched for: make the result again",
    ),
    "cut": (
        lambda folder: (folder / "summary_scores.csv").unlink(),
        "'summary_scores.csv' is not as it was written",
    ),
    "no manifest, no units": (
        lambda folder: [(folder / name).unlink() for name in ("manifest.json", "units.parquet")],
        "nothing vouches for the result beside it: make the result again, or move metrics.json away from "
        "mine.json, summary_scores.csv, summary_scores.xlsx",
    ),
    "no units": (
        lambda folder: edit(folder / "manifest.json", lambda m: m["files"].pop("units.parquet")),
        "'units.parquet' is not as it was written, or not vouched for",
    ),
    "elsewhere": (
        lambda folder: edit(
            folder / "manifest.json", lambda m: m["files"].update({"../x": "0" * 64})
        ),
        "'../x' is not as it was written, or not vouched for",
    ),
}


@pytest.fixture(scope="module")
def summaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("summaries")
    call("score", "summary", "example:summary/cases.jsonl", "-o", out, *QUICK)
    return out / "results" / "cases"


@pytest.mark.parametrize("how", SPOILT)
def test_a_result_that_its_manifest_does_not_vouch_for_is_bad_input(
    summaries: Path, tmp_path: Path, how: str
) -> None:
    result = Path(shutil.copytree(summaries, tmp_path / "cases"))
    call("gate", result, "--min", "entity_recall=0")
    copy = shutil.copy(result / "metrics.json", result / "mine.json")
    call("gate", copy, "--min", "entity_recall=0", status=3)
    spoil, message = SPOILT[how]
    spoil(result)
    for named in (result, result / "metrics.json"):
        assert message in call("gate", named, "--min", "entity_recall=0", status=3).output


def test_numbers_that_stand_alone_are_taken_at_their_word_and_that_is_said(
    summaries: Path, tmp_path: Path
) -> None:
    alone = shutil.copy(summaries / "metrics.json", tmp_path)
    for _ in range(2):  # its own file of then may stand there
        done = call("gate", alone, "--min", "entity_recall=0", "--junit", tmp_path / "j.xml")
    assert f"note: {alone} stands alone and is taken at its word" in done.stderr
    assert (
        "holds no complete result" in call("gate", summaries, "--baseline", alone, status=2).output
    )
    shutil.copy(summaries / "units.parquet", tmp_path)
    assert "nothing vouches" in call("gate", summaries, "--baseline", tmp_path, status=3).output
