"""A suite in a file of the user's, or of another distribution, through every command; and files that hold none."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pandas as pd
import pytest

from evaltools.core.files import module_content
from tests.files import read_json, write_labels

from .calling import QUICK, call, said, written

DATA = Path(__file__).parents[1] / "data"
SUITE = ("--suite-file", "labels.py")
N = 40
RUNS = [f"{c}__seed{s}_x" for c in ("a", "b") for s in (1, 2)]


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    """A working folder with the suite and a run."""
    shutil.copy(DATA / "labels.py", tmp_path)
    write_labels(tmp_path / "run.jsonl", 0.8)
    with chdir(tmp_path):
        yield tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with four runs, and the report of all of them.

    The page of one run of such a suite is looked at in tests/test_extending.py.
    """
    folder = tmp_path_factory.mktemp("labels")
    shutil.copy(DATA / "labels.py", folder)
    for i, name in enumerate(RUNS):
        write_labels(folder / f"{name}.jsonl", {"a": 0.9, "b": 0.5}[name[0]], i)
    with chdir(folder):
        files = [f"{name}.jsonl" for name in RUNS]
        call("report", *SUITE, "seeds", "--suite", "labels", *files, "-j", "2", *QUICK)
    return folder


def rows(folder: Path) -> pd.DataFrame:
    content = read_json(folder / "metrics.json")
    return pd.DataFrame(content["metrics"]).set_index("name")


def test_files_of_a_run_and_of_its_study(made: Path) -> None:
    results, reports = made / "outputs/results", made / "outputs/reports"
    assert {p.name for p in results.glob("[!.]*")} == {*RUNS, "a_aggregated", "b_aggregated"}
    assert written(results / RUNS[0]) == {"manifest.json", "metrics.json", "units.parquet"}
    files = {"aggregated_mean_std.csv", "comparison.csv", "manifest.json", "metrics.json"}
    assert files <= written(results / "a_aggregated") & written(results / "b_aggregated")
    assert {"a_vs_b/paper.md", "a_vs_b/figures/forest.pdf"} <= written(reports)
    page = (reports / "a_vs_b" / "metric_report.html").read_text(encoding="utf-8")
    assert '<th scope="row">gold</th>' in page, "the texts of a record stand on its card"
    assert "Macro F1" in page and "s17" in page


def test_numbers_of_an_aggregate_are_the_means_of_its_runs(made: Path) -> None:
    results = made / "outputs/results"
    found = rows(results / RUNS[0])
    means = (found["value"] + rows(results / RUNS[1])["value"]) / 2
    aggregate = rows(results / "a_aggregated")
    pd.testing.assert_series_equal(aggregate["value"], means)


def test_compare_rerun_and_gallery(made: Path) -> None:
    with chdir(made):
        call(*SUITE, "compare", "a", "b", *QUICK, "--csv", "c.csv")
        row = pd.read_csv("c.csv").set_index("metric").loc["accuracy"]
        assert row["delta"] < 0 and (row["n_seeds"], row["n_units"]) == (2, N)
        for name in (RUNS[0], "a_aggregated"):
            again = call("rerun", *SUITE, f"outputs/results/{name}").stdout
            assert again.endswith("numbers compared, none differ\n")
        aggregates = ("outputs/results/a_aggregated", "outputs/results/b_aggregated")
        same = call("compare", *SUITE, *aggregates).stdout
        assert same == call("compare", *SUITE, "--suite", "labels", "a", "b").stdout


def test_the_option_stands_before_the_group_too_and_processes_know_the_suite(here: Path) -> None:
    write_labels(here / "second.jsonl", 0.7, 1)
    call(*SUITE, "score", "labels", "run.jsonl", "second.jsonl", "-q", *QUICK, "-j", "2")
    assert {p.name for p in here.glob("outputs/results/[!.]*")} == {"run", "second"}
    assert "labels" in call(*SUITE, "score", "--help").stdout
    assert "errors: 0," in call("check", *SUITE, "labels", "run.jsonl").stdout


def test_an_edit_of_a_module_that_a_file_imports_is_another_policy(here: Path) -> None:
    later = "import evaltools as et\ndef later():\n    import sys, helper\n"
    metric = 'et.Metric(name="one", numerator="n", denominator="n", better="none")'
    Path("more.py").write_text(f"{later}METRICS = [{metric}]")
    with Path("labels.py").open("a") as f:
        f.write(later)
    Path("helper.py").write_text("from part.own import a")
    Path("part").mkdir()
    policies = []
    for text in ("a = 1", "a = 2"):
        Path("part/own.py").write_text(text)
        module_content.cache_clear()  # as in another process
        call("score", *SUITE, "labels", "--metrics", "more.py", "run.jsonl", *QUICK)
        policies.append(read_json(Path("outputs/results/run/manifest.json"))["policy"])
    assert all(policies[0][key] != policies[1][key] for key in ("code", "metrics"))


# --- what is wrong with a suite, a record, a study


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("SUITE =", "OTHER =", "labels.py: expected SUITE = "),
        (
            "study_notebook=None",
            "checks=lambda run: run['no']",
            "run: labels.py:66: checks of the suite labels: KeyError: \"no metric 'no' in labels",
        ),
        ('"n",', '"nn",', "lacks ['nn']; did you mean n, fn_neg?"),
        ('"n": 1', '"n": 10**5000', "n is <int>; expected a finite number"),
    ],
)
def test_a_file_that_makes_no_suite_is_named_and_nothing_is_written(
    here: Path, old: str, new: str, message: str
) -> None:
    text = Path("labels.py").read_text(encoding="utf-8")
    Path("labels.py").write_text(text.replace(old, new, 1), encoding="utf-8")
    done = call("score", *SUITE, "labels", "run.jsonl", status=2)
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert not list(here.glob("outputs/results/[!.]*"))
    for file, why in (("absent.py", "no such file"), ("run.jsonl", "expected a Python file")):
        assert why in said("score", "--suite-file", file, "labels", "x", status=2)


BAD = {
    "field": ('{"id": "s1", "gold": "pos"}', "run.jsonl:41: pred: Field required [bad-field]"),
    "json": ('{"id": "s1", ', "run.jsonl:41: not JSON"),
    "duplicate": (
        '{"id": "s3", "gold": "pos", "pred": "pos"}',
        "run.jsonl:41: s3: a second record of this id; the first is on line 4 [duplicate-id]",
    ),
}
COLUMNS = {
    "raise ValueError('not this one')": "ValueError: not this one [bad-columns]",
    "raise Mute": "Mute: <exception str() failed> [bad-columns]",
    "return": "AttributeError: 'NoneType' object has no attribute 'items' [bad-columns]",
    "x = []; x.append(x); return {'n': x}": "TypeError: 'n': expected a number or a text, got [[...]]",
}
"""What `columns` does of one record -> what is said of it."""

RECORD = '{"id": "own", "gold": "pos", "pred": "pos"}'
BAD |= {code: (RECORD, f"run.jsonl:41: own: columns(record): {COLUMNS[code]}") for code in COLUMNS}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_record_fails_the_run_or_is_left_out(here: Path, what: str) -> None:
    line, message = BAD[what]
    text = Path("labels.py").read_text(encoding="utf-8")
    check = f"    if r.id == 'own':\n        {what}\n    counts ="
    text = f"class Mute(Exception):\n    __str__ = None\n{text.replace('    counts =', check, 1)}"
    Path("labels.py").write_text(text, encoding="utf-8")
    with Path("run.jsonl").open("a") as f:
        f.write(line + "\n")
    assert message in call("score", *SUITE, "labels", "run.jsonl", *QUICK, status=3).stderr
    assert not Path("outputs/results/run").exists()
    done = said("score", *SUITE, "labels", "run.jsonl", "--on-error", "skip", *QUICK)
    assert message in done and "(1 in all)" in done
    assert rows(Path("outputs/results/run")).loc["accuracy", "denominator"] == N


# --- suites of other distributions: one that works, and all that may be wrong with one

INSTALLED = {
    "own_labels": (DATA / "labels.py").read_text(encoding="utf-8"),
    "own_broken": "raise RuntimeError('needs a library that is not there')",
    "own_nothing": "SUITE = 'a text'",
    "own_leaving": "raise SystemExit(0)",
    "own_clash": "raise RuntimeError('asked for although a built-in suite has that name')",
}
ENTRY_POINTS = """[evaltools.suites]
labels = own_labels:SUITE
broken = own_broken:SUITE
nothing = own_nothing:SUITE
leaving = own_leaving:SUITE
twice = own_labels:SUITE
cr = own_clash:SUITE
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of two installed distributions with their entry points, seen by calls in the working folder."""
    folder = tmp_path / "site"
    twice = "[evaltools.suites]\ntwice = own_labels:SUITE\n"
    for name, entries in (("own", ENTRY_POINTS), ("other", twice)):
        info = folder / f"{name}_suites-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entries, encoding="utf-8")
    for name, text in INSTALLED.items():
        (folder / f"{name}.py").write_text(text + "\n", encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.chdir(tmp_path)
    yield folder
    for name in INSTALLED:
        sys.modules.pop(name, None)


def test_an_installed_suite_has_its_commands_and_the_others_go_on(
    site: Path, tmp_path: Path
) -> None:
    write_labels(tmp_path / "run.jsonl", 0.8)
    assert "Macro F1" in call("score", "labels", "run.jsonl", *QUICK).stdout
    listed = call("score", "--help").stdout
    assert all(f"\n  {name}" in listed for name in ("cr", "memfin", "labels", "broken"))
    of_cr = call("score", "cr", "--help").stdout
    assert "Conflict Review" in of_cr and "[en|ko] " in of_cr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken", "own_broken:SUITE cannot be loaded: RuntimeError: needs a library"),
        ("nothing", "cannot be loaded: TypeError: expected a suite (et.jsonl_suite), got str"),
        ("leaving", "own_leaving:SUITE cannot be loaded: SystemExit: 0"),
    ],
)
def test_one_that_cannot_be_loaded_fails_its_own_commands(
    site: Path, name: str, message: str
) -> None:
    for command in ("score", "report", "check"):
        assert message in said(command, name, "x", status=2)
    # looked through for the suite of a run, and passed over
    call("compare", "example:memfin/memory_agent", "example:memfin/plain_llm", *QUICK)
