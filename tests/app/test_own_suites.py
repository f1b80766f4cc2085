"""A suite in a file of the user's through every command, and files that hold none."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pandas as pd
import pytest

from evaltools.core.plugins import get_suite
from evaltools.report.make_study import study
from evaltools.report.study_sentences import outcomes

from .calling import QUICK, call, without_pages, written

DATA = Path(__file__).parents[1] / "data"
SUITE = ("--suite-file", "labels.py")
N = 40
RUNS = [f"{c}__seed{s}_x" for c in ("a", "b") for s in (1, 2)]
RIGHT = {"a": 0.9, "b": 0.5}
"""How often each condition is right."""


def write_labels(path: Path, right: float, seed: int = 0, n: int = N) -> list[dict[str, str]]:
    """A file of labels of which about this share is right; its records."""
    draw = random.Random(seed)
    records = []
    for i in range(n):
        gold, other = draw.sample(["pos", "neg"], 2)
        records.append(
            {"id": f"s{i}", "gold": gold, "pred": gold if draw.random() < right else other}
        )
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return records


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    """A working folder with the suite and a run."""
    shutil.copy(DATA / "labels.py", tmp_path)
    write_labels(tmp_path / "run.jsonl", 0.8)
    with chdir(tmp_path):
        yield tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with four runs, and the reports of one and of all of them."""
    folder = tmp_path_factory.mktemp("labels")
    shutil.copy(DATA / "labels.py", folder)
    for i, name in enumerate(RUNS):
        write_labels(folder / f"{name}.jsonl", RIGHT[name[0]], i)
    with chdir(folder):
        call("report", *SUITE, "labels", f"{RUNS[0]}.jsonl", *QUICK)
        call("report", *SUITE, "seeds", *(f"{name}.jsonl" for name in RUNS), "-j", "2", *QUICK)
    return folder


def rows(folder: Path) -> dict[str, dict[str, object]]:
    content = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    return {m["name"]: m for m in content["metrics"]}


def test_files_of_a_run_and_of_its_study(made: Path) -> None:
    results = made / "outputs/results"
    conditions = {"a_aggregated", "b_aggregated"}
    assert {p.name for p in results.glob("[!.]*")} == {*RUNS, *conditions}
    for name in RUNS:
        assert written(results / name) == {"manifest.json", "metrics.json", "units.parquet"}
    files = {
        "aggregated_mean_std.csv",
        "aggregated_mean_std.md",
        "comparison.csv",
        "manifest.json",
        "metrics.json",
    }
    for name in conditions:
        assert files <= written(results / name)
    reports = {
        f"{name}/metric_report.{kind}" for name in (RUNS[0], "a_vs_b") for kind in ("html", "ipynb")
    }
    paper = {
        "paper.md",
        "paper.tex",
        "figures/forest.pdf",
        "figures/forest.svg",
    }
    there = written(made / "outputs/reports")
    assert reports <= there and {f"a_vs_b/{file}" for file in paper} <= there
    assert not {f for f in there - reports if not f.startswith("a_vs_b/")}, (
        "of a single run only with --paper"
    )


def test_numbers_of_a_run_are_those_of_its_records(made: Path) -> None:
    records = [json.loads(line) for line in (made / f"{RUNS[0]}.jsonl").read_text().splitlines()]
    found = rows(made / "outputs/results" / RUNS[0])
    right = sum(r["gold"] == r["pred"] for r in records)
    assert (found["accuracy"]["numerator"], found["accuracy"]["denominator"]) == (right, N)
    tp = sum(r["gold"] == r["pred"] == "pos" for r in records)
    named = sum((r["gold"] == "pos") + (r["pred"] == "pos") for r in records)
    assert found["f1_pos"]["value"] == pytest.approx(2 * tp / named)
    both = (found["f1_pos"]["value"] + found["f1_neg"]["value"]) / 2  # type: ignore[operator]
    assert found["macro_f1"]["value"] == pytest.approx(both)


def test_pages_show_titles_headline_and_units(made: Path) -> None:
    one = (made / "outputs/reports" / RUNS[0] / "metric_report.html").read_text(encoding="utf-8")
    assert "Macro F1" in one and "Accuracy" in one and "suite:labels" in one and "s17" in one
    several = (made / "outputs/reports/a_vs_b/metric_report.html").read_text(encoding="utf-8")
    assert "Macro F1" in several and "seeds:1,2" in several


def test_an_aggregate_has_the_means_that_a_gate_reads(made: Path) -> None:
    results = made / "outputs/results"
    found = rows(results / "a_aggregated")
    for name, row in found.items():
        seeds = [rows(results / run)[name]["value"] for run in RUNS[:2]]
        assert row["value"] == pytest.approx(sum(seeds) / 2), name  # type: ignore[arg-type]
    mean = found["accuracy"]["value"]
    assert isinstance(mean, float)
    for path in (results / "a_aggregated", results / "a_aggregated/metrics.json"):
        assert "PASS accuracy" in call("gate", path, "--min", f"accuracy={mean - 0.001}").stdout
        assert (
            "FAIL accuracy"
            in call("gate", path, "--min", f"accuracy={mean + 0.001}", status=1).stdout
        )
    assert found["accuracy"]["ci_low"] < mean < found["accuracy"]["ci_high"]  # type: ignore[operator]


def test_compare_by_prefix_by_file_and_by_results_folder(made: Path) -> None:
    with chdir(made):
        by_prefix = call("compare", *SUITE, "a", "b", *QUICK, "--csv", "c.csv").stdout
        assert "A (baseline)  a\n" in by_prefix and "accuracy" in by_prefix
        row = pd.read_csv("c.csv").set_index("metric").loc["accuracy"]
        assert row["delta"] == pytest.approx(row["value_candidate"] - row["value_baseline"])
        assert row["delta"] < 0 and row["n_seeds"] == 2 and row["n_units"] == N
        by_file = call("compare", *SUITE, f"{RUNS[0]}.jsonl", f"{RUNS[2]}.jsonl", *QUICK).stdout
        # a results folder says all that is needed: the suite's file is not
        by_folder = call(
            "compare", f"outputs/results/{RUNS[0]}", f"outputs/results/{RUNS[2]}", *QUICK
        ).stdout
        assert by_file == by_folder


def test_results_folders_make_the_report_without_the_suite(made: Path, tmp_path: Path) -> None:
    results = made / "outputs/results"
    with chdir(tmp_path), without_pages():
        said = call("report", "seeds", *(results / name for name in RUNS)).stdout
    files = {"aggregated_mean_std.csv", "comparison.csv", "metrics.json"}
    for file in files:
        again = (tmp_path / "outputs/results/b_aggregated" / file).read_bytes()
        assert again == (results / "b_aggregated" / file).read_bytes(), file
    folders = {p.name for p in (tmp_path / "outputs/results").glob("[!.]*")}
    assert folders == {"a_aggregated", "b_aggregated"}, "the runs stay where they are"
    (sentence,) = outcomes(study([results / name for name in RUNS]))
    page = (made / "outputs/reports/a_vs_b/metric_report.html").read_text(encoding="utf-8")
    assert sentence in said and sentence in page
    assert (tmp_path / "outputs/reports/a_vs_b/metric_report.html").is_file()
    assert (tmp_path / "outputs/index.html").is_file()
    sides = (tmp_path / "outputs/results/b_aggregated", "--baseline", results / "a_aggregated")
    assert "FAIL accuracy" in call("gate", *sides, "--margin", "accuracy=0.01", status=1).stdout


def test_conditions_that_share_nothing_are_an_error_and_nothing_is_left(here: Path) -> None:
    kept = write_labels(here / "a__seed1_x.jsonl", 0.9)
    (here / "b__seed1_x.jsonl").write_text(
        "".join(json.dumps({**r, "id": f"other {r['id']}"}) + "\n" for r in kept), encoding="utf-8"
    )
    before = written(here)
    for more, said in (([], "share no id"), (["--baseline", "c"], "no condition 'c' among a, b")):
        args = ("report", "seeds", *SUITE, "a__seed1_x.jsonl", "b__seed1_x.jsonl", *more, *QUICK)
        assert said in call(*args, status=2).stderr
        assert written(here) == before and not (here / "outputs").exists()
    # what stood there before stays
    call("score", *SUITE, "labels", "a__seed1_x.jsonl", *QUICK)
    before = written(here)
    call("report", "seeds", *SUITE, "a__seed1_x.jsonl", "b__seed1_x.jsonl", *QUICK, status=2)
    assert written(here) == before


def test_an_aggregate_is_no_run_to_compare(made: Path) -> None:
    with chdir(made):
        done = call(
            "compare", "outputs/results/a_aggregated", "outputs/results/b_aggregated", status=2
        )
    assert (
        f"outputs/results/a_aggregated is an aggregate over seeds; name its runs: {', '.join(RUNS[:2])}"
        in done.stderr
    )


def test_rerun_needs_the_suite_and_finds_the_same(made: Path) -> None:
    with chdir(made):
        for name in (RUNS[0], "a_aggregated"):
            again = call("rerun", *SUITE, f"outputs/results/{name}").stdout
            assert again.endswith("numbers compared, the same\n")


def test_rerun_without_the_suite_says_how_to_give_it(made: Path) -> None:
    with chdir(made):
        done = call("rerun", f"outputs/results/{RUNS[0]}", status=2)
    assert "no suite 'labels'" in done.stderr and "--suite-file" in done.stderr


def test_gallery_needs_no_suite(made: Path) -> None:
    with chdir(made):
        call("gallery")
        page = Path("outputs/index.html").read_text(encoding="utf-8")
    assert all(name in page for name in RUNS) and "Macro F1" in page


def test_a_second_report_is_current(made: Path) -> None:
    with chdir(made):
        again = call("report", *SUITE, "labels", f"{RUNS[0]}.jsonl", *QUICK).stdout
    assert again.endswith("1 done; 1 reports already current\n")


def test_the_option_stands_before_the_group_too(here: Path) -> None:
    call(*SUITE, "score", "labels", "run.jsonl", "-q", *QUICK)
    assert "labels" in call(*SUITE, "score", "--help").stdout
    assert "0 errors" in call("check", *SUITE, "labels", "run.jsonl").stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text + "\nx = (\n", r"labels.py:{last}: SyntaxError"),
        (
            lambda text: text + "\nraise RuntimeError('no luck')\n",
            "labels.py:{last}: RuntimeError: no luck",
        ),
        (lambda text: text.replace("SUITE =", "OTHER ="), "labels.py: expected SUITE = "),
        (lambda text: text + "\nSUITE = 3\n", "labels.py: expected SUITE = et.jsonl_suite(...)"),
        (
            lambda text: text.replace('"labels",', '"cr",', 1),
            "'cr': that is the name of a built-in suite",
        ),
        (
            lambda text: text.replace('"macro_f1")', '"macro_g1")'),
            "headline or alias_of names macro_g1, which is no metric",
        ),
        (
            lambda text: text.replace('"n",', '"nn",', 1),
            "the metrics do not fit the units: the units frame lacks ['nn']",
        ),
    ],
)
def test_a_file_that_makes_no_suite_is_named_and_nothing_is_written(
    here: Path, change: object, message: str
) -> None:
    assert callable(change)
    text = change(Path("labels.py").read_text(encoding="utf-8"))
    Path("labels.py").write_text(text, encoding="utf-8")
    done = call("score", *SUITE, "labels", "run.jsonl", status=2)
    assert message.format(last=len(text.splitlines())) in done.stderr
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert sorted(p.name for p in here.glob("[!_]*")) == ["labels.py", "run.jsonl"]


def test_a_suite_file_that_is_not_there(here: Path) -> None:
    assert (
        "absent.py: no such file"
        in call("score", "--suite-file", "absent.py", "labels", "x", status=2).stderr
    )
    Path("suite.txt").write_text("SUITE = 1")
    assert (
        "expected a Python file"
        in call("score", "--suite-file", "suite.txt", "labels", "x", status=2).stderr
    )


def test_a_metric_of_an_unknown_column_names_the_nearest_columns(here: Path) -> None:
    text = Path("labels.py").read_text(encoding="utf-8")
    Path("labels.py").write_text(text.replace('"n",', '"nn",', 1), encoding="utf-8")
    said = call("score", *SUITE, "labels", "run.jsonl", status=2).stderr
    assert "lacks ['nn']; did you mean n, fn_neg?" in said


BAD = {
    "field": ('{"id": "s1", "gold": "pos"}', "run.jsonl:41: s1: pred: Field required [bad-field]"),
    "json": ('{"id": "s1", ', "run.jsonl:41: s1: "),
    "duplicate": (
        '{"id": "s3", "gold": "pos", "pred": "pos"}',
        "run.jsonl:41: s3: a second record of this id; the first is on line 4 [duplicate-id]",
    ),
    "columns": (
        '{"id": "raise", "gold": "pos", "pred": "pos"}',
        "run.jsonl:41: raise: columns(record): ValueError: not this one [bad-columns]",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_record_fails_the_run_or_is_left_out(here: Path, what: str) -> None:
    line, message = BAD[what]
    text = Path("labels.py").read_text(encoding="utf-8")
    check = '    if r.id == "raise":\n        raise ValueError("not this one")\n    counts ='
    Path("labels.py").write_text(text.replace("    counts =", check, 1), encoding="utf-8")
    with Path("run.jsonl").open("a") as f:
        f.write(line + "\n")
    done = call("score", *SUITE, "labels", "run.jsonl", *QUICK, status=3)
    assert message in done.stderr
    assert not Path("outputs/results/run").exists()
    done = call("score", *SUITE, "labels", "run.jsonl", "--on-error", "skip", *QUICK)
    found = rows(Path("outputs/results/run"))
    assert found["accuracy"]["denominator"] == N
    assert "error: 1 x " in done.stdout
    (problem,) = json.loads(Path("outputs/results/run/manifest.json").read_text())["problems"]
    assert problem["count"] == 1 and message in problem["examples"][0]


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "the file is empty"), ("\n\n", "no line of the file can be used"), ("{}\n", "id: Field")],
)
def test_a_file_with_no_usable_line(here: Path, content: str, message: str) -> None:
    Path("none.jsonl").write_text(content)
    for how in ("fail", "skip"):
        assert (
            message
            in call("score", *SUITE, "labels", "none.jsonl", "--on-error", how, status=3).stderr
        )
    assert not list(Path("outputs").glob("results/[!.]*")) if Path("outputs").exists() else True


def test_names_of_files_that_clash(here: Path) -> None:
    Path("other").mkdir()
    shutil.copy("run.jsonl", "other/run.jsonl")
    done = call("score", *SUITE, "labels", "run.jsonl", "other/run.jsonl", status=2)
    assert "would both be named 'run'" in done.stderr


def test_processes_know_the_suite(here: Path) -> None:
    write_labels(here / "second.jsonl", 0.7, 1)
    call("score", *SUITE, "labels", "run.jsonl", "second.jsonl", "-j", "2", "-q", *QUICK)
    parallel = {n: rows(Path("outputs/results") / n) for n in ("run", "second")}
    call("score", *SUITE, "labels", "run.jsonl", "second.jsonl", "-o", "other", "-q", *QUICK)
    assert parallel == {n: rows(Path("other/results") / n) for n in ("run", "second")}


def test_built_in_suites_stay_what_they_are(here: Path) -> None:
    call("score", *SUITE, "labels", "run.jsonl", "-q", *QUICK)
    assert get_suite("cr").title == "Conflict Review"


def test_a_result_of_the_file_as_it_was_is_made_again(here: Path) -> None:
    call("score", *SUITE, "labels", "run.jsonl", *QUICK)
    before = rows(here / "outputs/results/run")["accuracy"]["value"]
    text = Path("labels.py").read_text(encoding="utf-8")
    Path("labels.py").write_text(text.replace('"right": r.gold ==', '"right": r.gold !='), "utf-8")
    call("score", *SUITE, "labels", "run.jsonl", *QUICK)
    after = rows(here / "outputs/results/run")["accuracy"]["value"]
    assert after == pytest.approx(1 - float(str(before)))
