"""Every command through the command line: exit status, files, columns, and what is imported for it."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from evaltools import BUILT_IN
from evaltools.app.cli import main
from evaltools.core.commands import Later
from evaltools.core.files import example
from evaltools.core.suite import get_suite
from tests.files import read_json

from .calling import QUICK, call, said, written

RUN = "no_memory__seed1_proposed"
SEEDS = ["example:cr/no_memory", "example:cr/with_memory"]

METRICS_KEYS = ["schema_version", "suite", "run", "signature", "policy", "bootstrap", "checks"]
METRIC_KEYS = [
    "name", "title", "value", "ci_low", "ci_high", "ci_method", "numerator", "denominator", "n_units", "group",
    "better",
]  # fmt: skip
MANIFEST_KEYS = {"inputs", "policy", "options", "versions", "started"}
SUITES = {
    "cr": (f"example:cr/{RUN}", RUN),
    "memfin": ("example:memfin/memory_agent", "memory_agent"),
    "summary": ("example:summary/cases.jsonl", "cases"),
}
FILES = {
    "cr": {
        "derived/metrics/structural_metrics.csv",
        "derived/metrics/structural_metrics_table.md",
        "scorecards.jsonl",
    },
    "memfin": {"turn_eval.jsonl", "metrics_summary.json", "report.md"},
    "summary": {"summary_scores.csv", "summary_scores.xlsx"},
}


@pytest.mark.parametrize("suite", SUITES)
def test_score_writes_the_files_of_the_contract(suite: str, here: Path) -> None:
    run, name = SUITES[suite]
    how = (*QUICK, "--confidence", ".9", "--ci", "percentile", "--seed", "3")
    shown = call("score", suite, run, *how).stdout
    assert f"\n{name}\n" in shown and "90% interval" in shown
    assert shown.endswith(f"-> outputs/results/{name}\n\n1 done\n")
    # a path alone may be longer
    assert all(len(line) <= 80 for line in shown.splitlines() if " " in line.strip())
    files = {"manifest.json", "metrics.json", "units.parquet"} | FILES[suite]
    assert written(here) == {f"outputs/results/{name}/{file}" for file in files}
    folder = here / "outputs/results" / name
    content = read_json(folder / "metrics.json")
    assert list(content)[: len(METRICS_KEYS)] == METRICS_KEYS
    assert (content["schema_version"], content["suite"], content["run"]) == (1, suite, name)
    bootstrap = content["bootstrap"]
    assert list(bootstrap) == ["method", "n_resamples", "confidence", "seed", "unit", "n_units"]
    assert list(bootstrap.values())[:4] == ["percentile", 100, 0.9, 3]
    assert all(set(METRIC_KEYS) <= set(row) for row in content["metrics"])
    manifest = read_json(folder / "manifest.json")
    assert set(manifest) >= MANIFEST_KEYS
    assert content["signature"] in call("score", suite, run, *how, "-v").stdout
    assert call("score", suite, run, *how, "-q").output == ""


# --- reports

REPORTED = "with_memory__seed1_proposed"
STUDIES = {"memory_agent_vs_plain_llm", "no_memory_vs_with_memory"}


def test_reports_are_where_the_contract_says(demo: Path) -> None:
    assert sorted(p.name for p in demo.iterdir()) == ["index.html", "reports", "results"]
    files = ("metric_report.ipynb", "metric_report.html", ".report.json")
    reports = STUDIES | {REPORTED, "cases"}
    expected = {f"{name}/{file}" for name in reports for file in files}
    there = written(demo / "reports")
    assert expected <= there
    assert {file.split("/")[0] for file in there - expected} == STUDIES, "papers are of studies"
    assert {f"{name}/paper.tex" for name in STUDIES} <= there


def test_resume_keeps_and_fresh_makes_again(demo: Path, here: Path) -> None:
    shutil.copytree(demo, "outputs")
    command = ("report", "cr", f"example:cr/{REPORTED}")
    page = Path("outputs/reports") / REPORTED / "metric_report.html"
    before, content = page.stat().st_mtime_ns, page.read_bytes()
    again = call(*command).stdout
    assert again.endswith(
        f"report  {page}\ngallery outputs/index.html\n1 done; 1 already current\n"
    )
    assert page.stat().st_mtime_ns == before
    assert call(*command, "--fresh").stdout.endswith("1 done\n")
    assert page.stat().st_mtime_ns != before and page.read_bytes() == content


# --- other commands


def test_scorecards_and_their_scores(here: Path) -> None:
    folder, target = example(f"cr/{RUN}"), here / "run" / "scorecards.jsonl"
    asked = (folder / "outputs.jsonl", "--gold", folder / "gold.jsonl", "-o", target)
    assert call("scorecards", *asked).stdout == f"60 scorecards -> {target}\n"
    call("score", "cr", target, "-q", *QUICK)
    call("score", "cr", f"example:cr/{RUN}", "-q", *QUICK)
    one, other = (here / "outputs/results" / name / "metrics.json" for name in ("run", RUN))
    assert read_json(one)["metrics"] == read_json(other)["metrics"]


def test_check_lists_problems_and_writes_nothing(here: Path) -> None:
    path = here / "cases.jsonl"
    path.write_text('{"id": "c", "answer": 3}\n{broken\n', encoding="utf-8")
    done = call("check", "summary", path, status=3)
    assert f"{path}:1: answer:" in done.output and f"{path}:2:" in done.output
    assert "errors: 3," in done.stdout  # and no case is left that can be used
    for suite, (run, _) in SUITES.items():
        assert "errors: 0," in call("check", suite, example(run.removeprefix("example:"))).stdout
    assert written(here) == {"cases.jsonl"}


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["score", "nosuch", "x"], 2, "no suite 'nosuch'; there are cr, memfin, summary, table"),
        (["score", "cr", "example:cr/nosuch"], 2, "error: no example 'cr/nosuch'"),
        (["report", "seeds", "example:summary"], 2, "does not say by its name which suite"),
        (["report", "seeds", "absent"], 2, "nothing named absent__seed<N>_<mode> beside it"),
        (
            ["score", "memfin", f"example:cr/{RUN}"],
            3,
            "expected one dialog_trace*.jsonl in this folder, found none",
        ),
        (["compare", "absent", SEEDS[0]], 2, "absent: no such run"),
        (["compare", "", ""], 2, "not empty"),
        (["report", "seeds", ","], 2, "',' names no run"),
        (["compare", *SEEDS, "--suite", ""], 2, "no suite ''"),
        (["rank", *SEEDS, "--metric", ""], 2, "name a metric"),
        (
            ["plan", *SEEDS, "--metric", "n", "--difference", "inf"],
            2,
            "'inf' is not a finite number",
        ),
        (["gallery", "가" * 86], 2, "not empty"),
        (["gallery"], 2, "outputs: no such folder"),
        (["score", "cr", "absent", "gone"], 3, "error: absent: no such file [missing-file]"),
    ],
)
def test_wrong_usage_and_bad_input_write_nothing(
    here: Path, arguments: list[str], status: int, message: str
) -> None:
    assert message in said(*arguments, status=status)
    assert list(here.iterdir()) == []


def test_a_folder_of_runs_is_no_run(here: Path) -> None:
    for name in (RUN, REPORTED):
        shutil.copytree(example(f"cr/{name}"), here / "runs" / name)
    for command in (("score", "cr"), ("check", "cr"), ("compare", SEEDS[0])):
        assert "error: runs: holds neither" in call(*command, "runs", status=3).stderr
    assert "name it with --suite" in call("report", "seeds", "runs", status=2).stderr
    (here / "runs" / RUN).rename(here / "run")
    assert "is not named <run_id>__seed<N>_<mode>" in said("report", "seeds", "run", status=2)
    assert sorted(p.name for p in here.iterdir()) == ["run", "runs"]


# --- the options of every command


def commands(command: click.Command, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below one, with the words that lead to it."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command, info_name=path[-1] if path else "evaltools")
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        if isinstance(found, Later):
            found = found.callback(name)
        assert found is not None, (*path, name)
        yield from commands(found, *path, name)


def test_commands_and_options_are_those_of_the_contract_and_say_what_they_are() -> None:
    found = dict(commands(main))
    suites = {(group, suite) for group in ("score", "report", "check") for suite in BUILT_IN}
    others = {("report", "seeds"), ("check", "rules"), ("run", "cr")}
    single = "demo compare rank plan gate convert calibrate scorecards gallery rerun lab"
    assert set(found) == suites | others | {(name,) for name in single.split()}
    for path, command in found.items():
        assert command.help and command.help.strip()
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.help and len(option.help) > 8, (*path, option.opts[0])
    for suite in BUILT_IN:
        model = get_suite(suite).options
        for group in ("score", "report", "check"):
            by_name = {p.name: p for p in found[group, suite].params}
            for field in model.free() if group == "check" else model.settable():
                option = by_name[field]
                assert option.help == model.model_fields[field].description  # type: ignore[union-attr]
                if model.model_fields[field].annotation is bool:
                    assert option.secondary_opts == [f"--no-{option.opts[0][2:]}"]


# --- what is imported

HEAVY = "jupyterlab papermill matplotlib seaborn nbconvert nbformat IPython distributed openai"
LIBRARIES = "numpy pandas scipy pydantic pyarrow rich"
CLI = "from evaltools.app.cli import main; run(main, {})"


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        (CLI.format("'--help'"), f"{HEAVY} {LIBRARIES}"),
        (
            CLI.format(f"'score', 'cr', 'example:cr/{RUN}', '-q', '--n-resamples', '100'")
            + f"; import evaltools; evaltools.evaluate('cr', 'example:cr/{RUN}')",
            HEAVY,
        ),
    ],
)
def test_light_commands_import_little(here: Path, code: str, unwanted: str) -> None:
    script = f"""
import sys
def run(main, *arguments):
    try:
        main(arguments)
    except SystemExit as e:
        assert not e.code
{code}
print("imported:", *sorted({{m.partition(".")[0] for m in sys.modules}} & set({unwanted!r}.split())))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1].split() == ["imported:"]
