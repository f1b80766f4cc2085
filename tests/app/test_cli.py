"""Every command through the command line: exit status, files, columns, and what is imported for it."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from evaltools.core.files import example

from .calling import QUICK, call, without_pages, written

RUN = "no_memory__seed1_proposed"
SEEDS = [f"example:cr/{c}__seed{s}_proposed" for c in ("no_memory", "with_memory") for s in (1, 2)]

METRICS_KEYS = [
    "schema_version",
    "suite",
    "run",
    "signature",
    "policy",
    "bootstrap",
    "checks",
    "metrics",
]
METRIC_KEYS = [
    "name", "title", "value", "ci_low", "ci_high", "ci_method", "numerator", "denominator", "n_units", "group",
    "better",
]  # fmt: skip
SUITES = {
    "cr": (f"example:cr/{RUN}", RUN),
    "memfin": ("example:memfin/memory_agent", "memory_agent"),
    "summary": ("example:summary/cases.jsonl", "cases"),
}
COMMON_FILES = {"manifest.json", "metrics.json", "units.parquet"}
FILES = {
    "cr": {
        "derived/metrics/structural_metrics.csv",
        "derived/metrics/structural_metrics_table.md",
        "scorecards.jsonl",
    },
    "memfin": {"turn_eval.jsonl", "metrics_summary.json", "report.md"},
    "summary": {"summary_scores.csv", "summary_scores.xlsx"},
}


def header(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as f:
        return next(csv.reader(f))


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    with chdir(tmp_path):
        yield tmp_path


@pytest.mark.parametrize("suite", SUITES)
def test_score_writes_the_files_of_the_contract(suite: str, here: Path) -> None:
    run, name = SUITES[suite]
    done = call(
        "score", suite, run, *QUICK, "--confidence", ".9", "--ci", "percentile", "--seed", "3"
    )
    assert f"\n{name}\n" in done.stdout and done.stdout.endswith("1 done\n")
    folder = here / "outputs" / "results" / name
    assert written(here) == {f"outputs/results/{name}/{f}" for f in COMMON_FILES | FILES[suite]}
    content = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert [key for key in content if key not in ("verdicts", "messages")] == METRICS_KEYS
    assert (content["schema_version"], content["suite"], content["run"]) == (1, suite, name)
    assert list(content["bootstrap"]) == [
        "method",
        "n_resamples",
        "confidence",
        "seed",
        "unit",
        "n_units",
    ]
    assert list(content["bootstrap"].values())[:4] == ["percentile", 100, 0.9, 3]
    assert all(set(METRIC_KEYS) <= set(row) for row in content["metrics"])
    assert content["signature"] in done.stdout
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert {"inputs", "policy", "options", "versions", "git_commit", "started", "seconds"} <= set(
        manifest
    )
    assert all({"role", "path", "sha256", "bytes", "rows"} <= set(i) for i in manifest["inputs"])


def test_quiet_prints_nothing(here: Path) -> None:
    assert call("score", "cr", SUITES["cr"][0], "-q", *QUICK).output == ""


def test_columns_of_the_csv_files(here: Path) -> None:
    call("score", "cr", SUITES["cr"][0], "-q", *QUICK)
    call("score", "summary", SUITES["summary"][0], "-q", *QUICK)
    results = here / "outputs" / "results"
    names = [m["name"] for m in json.loads((results / RUN / "metrics.json").read_text())["metrics"]]
    path = results / RUN / "derived/metrics/structural_metrics.csv"
    assert set(names) <= set(header(path))
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2, "one row"
    assert header(results / "cases" / "summary_scores.csv") == [
        "case_id", "metric", "score", "measured", "rule_score", "llm_score", "decided_by", "threshold", "passed",
        "evidence", "tags", "state",
    ]  # fmt: skip


REPORTED = "with_memory__seed1_proposed"
SEEDS_BACKWARDS = [
    f"example:cr/{c}__seed{s}_proposed" for c in ("with_memory", "no_memory") for s in (3, 2, 1)
]
REPORTS = {
    "cr": ("report", "cr", f"example:cr/{REPORTED}"),
    "seeds": ("report", "seeds", *SEEDS_BACKWARDS),
    "memfin": ("report", "memfin", "example:memfin/memory_agent", "example:memfin/plain_llm"),
    "summary": ("report", "summary", "example:summary/cases.jsonl"),
}
REPORT_NAMES = {
    "cr": REPORTED,
    "seeds": "no_memory_vs_with_memory",
    "memfin": "memory_agent_vs_plain_llm",
    "summary": "cases",
}


@pytest.fixture(scope="module")
def reports(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The working folders of the four reports of the demo, and of what three of them rest on, made one by one.

    Of these three the study over seeds, of which the runs come in another order, has its page. That of one run is
    made again below; what the notebooks of the others show is held against what is stored in them.
    """
    first, second = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second")
    shutil.copytree(demo, first / "outputs")
    with chdir(second):
        assert " done" in call(*REPORTS["seeds"], "-j", "1").stdout
        with without_pages():
            for suite in ("memfin", "summary"):
                assert " done" in call(*REPORTS[suite], "-j", "1").stdout
    return [first, second]


@pytest.mark.browser
@pytest.mark.parametrize("suite", REPORTS)
def test_no_report_is_too_long_or_too_large(
    suite: str, reports: list[Path], open_page: Callable[..., Any]
) -> None:
    file = reports[0] / "outputs" / "reports" / REPORT_NAMES[suite] / "metric_report.html"
    assert file.stat().st_size <= 3_000_000
    assert open_page(file).evaluate("document.documentElement.scrollHeight") <= 15_000
    narrow = open_page(file, width=400)
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 400


def test_reports_are_where_the_contract_says(reports: list[Path]) -> None:
    out = reports[0] / "outputs"
    expected = {
        f"{name}/metric_report.{kind}"
        for name in REPORT_NAMES.values()
        for kind in ("ipynb", "html")
    }
    there = written(out / "reports")
    assert expected <= there
    studies = {
        f
        for f in there - expected
        if f.split("/")[0] in (REPORT_NAMES["seeds"], REPORT_NAMES["memfin"])
    }
    assert there - expected == studies, "files for a paper, of studies only"
    assert {f"{f.split('/')[0]}/paper.tex" for f in studies} <= there and studies
    assert (out / "index.html").is_file()
    assert sorted(p.name for p in out.iterdir()) == ["index.html", "reports", "results"]
    for name in REPORT_NAMES.values():
        html = (out / "reports" / name / "metric_report.html").read_text(encoding="utf-8")
        assert "suite:" in html, "the signature"


def test_files_of_aggregates(reports: list[Path]) -> None:
    for condition in ("with_memory", "no_memory"):
        folder = reports[0] / "outputs/results" / f"{condition}_aggregated"
        assert {
            "aggregated_mean_std.csv",
            "aggregated_mean_std.md",
            "comparison.csv",
            "manifest.json",
        } <= written(folder)
        assert header(folder / "aggregated_mean_std.csv") == [
            "condition", "metric", "mean", "std", "n_seeds", "ci_low", "ci_high", "min", "max",
        ]  # fmt: skip
        assert header(folder / "comparison.csv") == [
            "metric", "baseline", "candidate", "value_baseline", "value_candidate", "delta", "ci_low", "ci_high",
            "p_value", "p_adjusted", "n_units", "n_seeds", "verdict", "primary", "mde", "margin", "equivalence_low",
            "equivalence_high",
        ]  # fmt: skip


def test_the_same_reports_twice_are_the_same_to_the_byte(reports: list[Path]) -> None:
    made_once = tuple(f"outputs/reports/{REPORT_NAMES[s]}/" for s in ("cr", "memfin", "summary"))
    first, second = (
        {name for name in written(folder) if not name.startswith(made_once)} for folder in reports
    )
    assert first == second
    timed = {"manifest.json", "index.html"}
    for name in sorted(second):
        if name.rpartition("/")[2] not in timed:
            assert (reports[0] / name).read_bytes() == (reports[1] / name).read_bytes(), name


def test_resume_keeps_and_fresh_makes_again(reports: list[Path]) -> None:
    with chdir(reports[0]):
        page = Path("outputs/reports") / REPORTED / "metric_report.html"
        before = page.stat().st_mtime_ns
        assert call(*REPORTS["cr"]).stdout.endswith("1 done; 1 reports already current\n")
        assert page.stat().st_mtime_ns == before
        content = page.read_bytes()
        assert call(*REPORTS["cr"], "--fresh").stdout.endswith("1 done\n")
        assert page.stat().st_mtime_ns != before
        assert page.read_bytes() == content


def test_gallery(reports: list[Path]) -> None:
    with chdir(reports[0]):
        Path("outputs/index.html").unlink()
        assert call("gallery").stdout == "outputs/index.html\n"
        assert REPORTED in Path("outputs/index.html").read_text(encoding="utf-8")


def test_rerun(reports: list[Path], tmp_path: Path) -> None:
    with chdir(reports[0]):
        call("score", "summary", "example:summary/cases.jsonl", "--name", "요약 007", "-q", *QUICK)
        for name in (RUN, "memory_agent", "요약 007", "no_memory_aggregated"):
            done = call("rerun", Path("outputs/results") / name / "manifest.json")
            assert done.stdout.endswith("numbers compared, the same\n")
        shutil.copytree(Path("outputs/results") / RUN, tmp_path / RUN)
        metrics = json.loads((tmp_path / RUN / "metrics.json").read_text())
        metrics["metrics"][0]["value"] = -1
        (tmp_path / RUN / "metrics.json").write_text(json.dumps(metrics))
        assert "number n value: 40.0, was -1" in call("rerun", tmp_path / RUN, status=4).stdout
        call("rerun", tmp_path / "absent", status=3)
        call("rerun", Path("outputs/results") / RUN, "-o", "outputs", status=2)


def test_scorecards_and_their_scores(here: Path) -> None:
    folder = example(f"cr/{RUN}")
    target = here / "run" / "scorecards.jsonl"
    done = call(
        "scorecards", folder / "outputs.jsonl", "--gold", folder / "gold.jsonl", "-o", target
    )
    assert done.stdout == f"40 scorecards -> {target}\n"
    call("score", "cr", target, "-q", *QUICK)
    call("score", "cr", f"example:cr/{RUN}", "-q", *QUICK)
    one, other = (
        json.loads((here / "outputs/results" / name / "metrics.json").read_text())["metrics"]
        for name in ("run", RUN)
    )
    assert one == other
    call("scorecards", here / "absent", "--gold", folder / "gold.jsonl", "-o", target, status=3)


def test_check_lists_problems_and_writes_nothing(here: Path) -> None:
    path = here / "cases.jsonl"
    path.write_text('{"id": "c", "answer": 3}\n{broken\n', encoding="utf-8")
    done = call("check", "summary", path, status=3)
    assert f"{path}:1: c: answer:" in done.output and f"{path}:2:" in done.output
    assert "3 errors" in done.stdout  # and no case is left that can be used
    assert "0 errors" in call("check", "summary", example("summary/cases.jsonl")).stdout
    assert "0 errors" in call("check", "cr", example(f"cr/{RUN}")).stdout
    assert "0 errors" in call("check", "memfin", example("memfin/plain_llm")).stdout
    assert written(here) == {"cases.jsonl"}


def test_gate(here: Path) -> None:
    call("score", "cr", f"example:cr/{RUN}", "-q", *QUICK)
    metrics = here / "outputs/results" / RUN / "metrics.json"
    assert call("gate", metrics, "--min", "n=40").stdout.startswith("PASS n value 40 >= 40")
    assert call("gate", metrics, "--max", "n=39", status=1).stdout.startswith(
        "FAIL n value 40 <= 39"
    )
    call("gate", metrics, "--min", "nosuch=1", status=2)
    call("gate", metrics, status=2)
    call("gate", here / "absent", "--min", "n=1", status=3)


def test_compare(here: Path) -> None:
    done = call(
        "compare", *SEEDS[::2], *QUICK, "--confidence", ".9", "--seed", "3", "--csv", here / "c.csv"
    )
    signature = "".join(done.stdout.split()).split("|")
    assert {"resamples:100", "seed:3"} <= set(signature)
    assert any(part.startswith("ci:90%") for part in signature)
    assert "A (baseline)  no_memory" in done.stdout and "tuple_f1_s2_refpol" in done.stdout
    assert header(here / "c.csv")[:3] == ["metric", "baseline", "candidate"]
    call("compare", "absent", SEEDS[0], *QUICK, status=2)
    call("compare", "example:memfin/memory_agent", "example:memfin/plain_llm", *QUICK)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["score"], 2, "Usage"),
        (["score", "cr"], 2, "Missing argument"),
        (["score", "nosuch", "x"], 2, "no suite 'nosuch'; there are cr, memfin, summary, table"),
        (["score", "cr", "x", "--protocol", "cr_v3"], 2, "is not one of"),
        (["score", "cr", "x", "--n-resamples", "10"], 2, "not in the range"),
        (["score", "cr", "x", "--confidence", "1"], 2, "not in the range"),
        (["score", "cr", "example:cr/nosuch"], 2, "error: no example 'cr/nosuch'"),
        (["score", "cr", SEEDS[0], SEEDS[0]], 2, "would both be named"),
        (["score", "cr", *SEEDS, "--name", "x"], 2, "--name goes with one run only"),
        (["score", "cr", SEEDS[0], "--name", "../../x"], 2, "cannot be the name of a run"),
        (["report", "cr", SEEDS[0], SEEDS[0]], 2, "would both be named"),
        (
            ["report", "seeds", "example:summary"],
            2,
            "is a folder of runs (1), not a run; name them:",
        ),
        (
            ["report", "seeds", "--suite", "cr", "example:summary/cases.jsonl"],
            2,
            "looks like an input of summary, not",
        ),
        (["gallery"], 2, "outputs: no such folder"),
        (
            ["score", "summary", "example:summary/cases.jsonl", "--judge", "hybrid"],
            2,
            "needs the name of a model",
        ),
        (["score", "cr", "absent", "also absent"], 3, "error: absent: no such file [missing-file]"),
        (["score", "memfin", "absent"], 3, "no such file"),
        (
            ["score", "summary", "example:summary/cases.jsonl", "--rules", "absent.json"],
            2,
            "absent.json",
        ),
        (
            ["score", "memfin", "example:memfin/plain_llm", "--lexicon", "absent.json"],
            3,
            "absent.json",
        ),
        (["check", "cr", "absent"], 3, "no such file"),
    ],
)
def test_wrong_usage_and_bad_input_write_nothing(
    here: Path, arguments: list[str], status: int, message: str
) -> None:
    assert message in call(*arguments, status=status).output
    assert list(here.iterdir()) == []


def test_seeds_need_names_of_seeds_before_anything_is_scored(here: Path) -> None:
    shutil.copytree(example(f"cr/{RUN}"), here / "run")
    assert (
        "is not named <run_id>__seed<N>_<mode>" in call("report", "seeds", "run", status=2).output
    )
    assert sorted(p.name for p in here.iterdir()) == ["run"]


def test_a_folder_that_cannot_be_written_is_one_line(here: Path) -> None:
    Path("file").touch()
    done = call("score", "cr", f"example:cr/{RUN}", "-o", "file/x", *QUICK, status=2)
    assert (
        done.stderr.startswith("error: ")
        and "file is no folder" in done.stderr
        and done.stdout == ""
    )
    Path("locked/index.html").mkdir(parents=True)
    assert call("gallery", "locked", status=2).stderr.startswith("error: ")


def test_hostile_paths_and_names_stay_text(here: Path) -> None:
    folder = here / "x'; import os; os.mkdir('pwned') # {out} \"\"\" \\n 실행"
    shutil.copytree(example(f"cr/{RUN}"), folder)
    done = call("report", "cr", folder, "--name", "007", "-q", *QUICK)
    assert done.output == ""
    nb = json.loads((here / "outputs/reports/007/metric_report.ipynb").read_text(encoding="utf-8"))
    (injected,) = (c for c in nb["cells"] if "injected-parameters" in c["metadata"].get("tags", []))
    assert 'name = "007"' in "".join(injected["source"])
    assert json.loads((here / "outputs/results/007/manifest.json").read_text())["run"] == "007"
    assert not (here / "pwned").exists()


HEAVY = (
    "jupyterlab",
    "papermill",
    "matplotlib",
    "seaborn",
    "nbconvert",
    "nbformat",
    "IPython",
    "distributed",
    "openai",
)
LIBRARIES = ("numpy", "pandas", "scipy", "pydantic", "pyarrow", "rich")


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import evaltools", HEAVY + LIBRARIES),
        (
            "from evaltools.app.cli import main; main(['--help'], standalone_mode=False)",
            HEAVY + LIBRARIES,
        ),
        (
            "from evaltools.app.cli import main; main(['report', 'cr', '--help'], standalone_mode=False)",
            HEAVY,
        ),
        (
            "from evaltools.app.cli import main; run(main, 'score', 'cr', 'example:cr/no_memory__seed1_proposed')",
            HEAVY,
        ),
        (
            "from evaltools.app.cli import main; run(main, 'score', 'memfin', 'example:memfin/plain_llm')",
            HEAVY,
        ),
        (
            "from evaltools.app.cli import main; run(main, 'score', 'summary', 'example:summary/cases.jsonl')",
            HEAVY,
        ),
        (
            "import evaltools; evaltools.evaluate('cr', 'example:cr/no_memory__seed1_proposed')",
            HEAVY,
        ),
    ],
)
def test_light_commands_import_little(here: Path, code: str, unwanted: tuple[str, ...]) -> None:
    script = f"""
import sys
def run(main, *arguments):
    try:
        main([*arguments, "-q", "--n-resamples", "100"])
    except SystemExit as e:
        assert not e.code
{code}
print("imported:", *sorted({{m.partition(".")[0] for m in sys.modules}} & set({unwanted!r})))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1].split() == ["imported:"]


def test_version() -> None:
    assert call("--version").stdout.startswith("evaltools, version ")


def test_interrupted_is_one_line(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("evaltools.report.evaluate.score_task", interrupt)
    done = call("score", "cr", f"example:cr/{RUN}", status=130)
    assert (
        done.output
        == "interrupted: what is finished is kept, the same command goes on from there\n"
    )


@pytest.mark.parametrize(
    ("lang", "lines"),
    [
        (
            "ko",
            ("오류: {path}:1: meta: 필수 항목이 없음 [bad-field]", "입력 1개: 오류 2건, 경고 0건"),
        ),
        ("zh", ("错误: {path}:1: meta: 缺少必填字段 [bad-field]", "1 个输入：2 个错误，0 个警告")),
    ],
)
def test_check_speaks_the_language_that_is_asked_for(
    tmp_path: Path, lang: str, lines: tuple[str, str]
) -> None:
    path = tmp_path / "scorecards.jsonl"
    path.write_text('{"text_id": 1}\n')
    output = call("check", "cr", path, "--lang", lang, status=3).output
    for line in lines:
        assert line.format(path=path) in output
