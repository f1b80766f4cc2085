"""The options of every command: help texts, defaults, and what is said of a wrong suite, folder or metric."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import click
import pandas as pd
import pytest

from evaltools import BUILT_IN
from evaltools.app.cli import main
from evaltools.core.files import asset_dir, example
from evaltools.core.plugins import get_suite

from .calling import QUICK, call, without_pages

ONE, OTHER = (f"{c}_memory__seed1_proposed" for c in ("no", "with"))


def commands(command: click.Command, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below one, with the words that lead to it."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command, info_name=path[-1] if path else "evaltools")
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None, (*path, name)
        yield from commands(below, *path, name)


COMMANDS = dict(commands(main))


def test_the_commands_of_the_contract_are_there() -> None:
    found = set(COMMANDS)
    assert {(group, suite) for group in ("score", "report", "check") for suite in BUILT_IN} <= found
    assert {("report", "seeds"), ("check", "rules")} <= found
    single = {"demo", "compare", "gate", "gallery", "rerun", "lab", "scorecards"}
    assert single <= {path[0] for path in found if len(path) == 1}


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_and_option_has_a_help_text(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]
    assert command.help and command.help.strip()
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help and len(option.help) > 8, f"{' '.join(path)} {option.opts[0]}"


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_defaults_are_shown(path: tuple[str, ...]) -> None:
    """A value that counts when nothing is given stands in the help; for a flag it is off."""
    for option in COMMANDS[path].params:
        if isinstance(option, click.Option) and not option.is_flag and not option.multiple:
            said = option.show_default or "default" in (option.help or "")
            assert said or not option.to_info_dict()["default"], (
                f"{' '.join(path)} {option.opts[0]}"
            )


@pytest.mark.parametrize("suite", BUILT_IN)
def test_the_options_of_a_suite_are_those_of_its_model(suite: str) -> None:
    model = get_suite(suite).options
    for group in ("score", "report", "check"):
        by_name = {p.name: p for p in COMMANDS[group, suite].params}
        for field in model.free() if group == "check" else model.settable():
            assert by_name[field].help == model.model_fields[field].description  # type: ignore[union-attr]
    derived = set(model.model_fields) - set(model.settable())
    assert not derived & set(by_name)


def test_the_arguments_of_a_suite_have_its_own_word() -> None:
    assert "RUN..." in call("score", "cr", "--help").stdout
    assert "TRACE..." in call("report", "memfin", "--help").stdout
    assert "CASES..." in call("score", "summary", "--help").stdout


@pytest.mark.parametrize("suite", BUILT_IN)
def test_a_report_gives_its_notebooks_nothing_that_they_do_not_know(suite: str) -> None:
    """papermill says so of every parameter that a notebook has not: a mistake of this package, not of the user."""
    s = get_suite(suite)
    shared = {
        "out",
        "n_resamples",
        "confidence",
        "ci",
        "seed",
        "on_error",
        "metrics",
        "name",
        "scored",
    }
    of_suite = set(s.options.settable())
    expected = {
        s.notebook: shared | (of_suite if s.notebook != "run.ipynb" else {"suite", "options"}),
        s.study_notebook: shared
        | {"runs", "baseline"}
        | (of_suite if s.study_notebook != "seeds.ipynb" else {"suite", "options"}),
    }
    for notebook, names in expected.items():
        cells = json.loads((asset_dir("notebooks") / notebook).read_text(encoding="utf-8"))["cells"]
        (cell,) = (c for c in cells if "parameters" in c["metadata"].get("tags", []))
        known = set(re.findall(r"^(\w+)\s*=", "".join(cell["source"]), re.MULTILINE))
        assert names <= known, notebook


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    with chdir(tmp_path):
        yield tmp_path


def test_compare_takes_the_options_of_the_suite(here: Path) -> None:
    runs = (f"example:cr/{ONE}", f"example:cr/{OTHER}")
    assert "protocol:cr_v1" in call("compare", *runs, "--protocol", "cr_v1", *QUICK).stdout
    assert "protocol:cr_v2" in call("compare", *runs, *QUICK).stdout
    assert (
        "No such option" in call("compare", *runs, "--ignore-memory-keys", *QUICK, status=2).output
    )
    assert "is not one of" in call("compare", *runs, "--protocol", "cr_v3", status=2).output
    memfin = ("example:memfin/memory_agent", "example:memfin/plain_llm")
    assert "memory:ignored" in call("compare", *memfin, "--ignore-memory-keys", *QUICK).stdout


def test_report_seeds_takes_the_options_of_the_suite_and_what_is_declared(here: Path) -> None:
    runs = [f"example:cr/{c}__seed1_proposed" for c in ("no_memory", "with_memory")]
    assert "No such option" in call("report", "seeds", *runs, "--rules", "seed", status=2).output
    declared = ("--primary", "fix_rate_refpol", "--margin", "break_rate_refpol=.1")
    options = (*declared, "--baseline", "with_memory", "--protocol", "cr_v1")
    with without_pages():  # tests/app/test_one_study.py looks at the page of what is declared
        call("report", "seeds", *runs, *options, "-q", *QUICK)
    manifest = json.loads(
        Path("outputs/results/with_memory_aggregated/manifest.json").read_text("utf-8")
    )
    assert manifest["policy"]["protocol"] == "cr_v1"
    assert manifest["baseline"] == "with_memory"
    assert (manifest["primary"], manifest["margin"]) == (
        "fix_rate_refpol",
        {"break_rate_refpol": 0.1},
    )
    assert Path("outputs/reports/with_memory_vs_no_memory/metric_report.html").is_file()


WRONG = {
    (
        "--primary",
        "fix_rat_refpol",
    ): "primary: no metric 'fix_rat_refpol'; did you mean fix_rate_refpol",
    ("--primary", "review_action_rate"): "primary: review_action_rate has no direction",
    ("--margin", "fix_rate_refpol"): "--margin 'fix_rate_refpol': expected NAME=X",
    (
        "--margin",
        "fix_rate_refpol=0",
    ): "margin of fix_rate_refpol: expected a finite number above 0",
    ("--margin", "zz=1"): "margin: no metric 'zz'",
    ("--margin", "net_gain=1", "--margin", "net_gain=2"): "a metric can have one margin only",
    ("--margin", "net_gain=1", "--margin", "net_gain_refpol=2"): "its aliases can have one margin",
    ("--margin", "net_gain=1", "--confidence", ".5"): "a margin needs intervals of more than 50%",
}


@pytest.mark.parametrize("declared", WRONG)
def test_what_cannot_be_declared_is_refused_before_anything_is_written(
    here: Path, declared: tuple[str, ...]
) -> None:
    runs = (f"example:cr/{ONE}", f"example:cr/{OTHER}")
    assert (
        WRONG[declared]
        in call("compare", *runs, *declared, "--csv", "c.csv", *QUICK, status=2).stderr
    )
    assert WRONG[declared] in call("report", "seeds", *runs, *declared, *QUICK, status=2).stderr
    assert not any(here.iterdir())


def test_a_declared_metric_and_margin_decide(here: Path) -> None:
    sides = ("example:cr/no_memory", "example:cr/with_memory")
    declared = ("--primary", "fix_rate_refpol", "--margin", "break_rate_refpol=.1")
    done = call("compare", *sides, *declared, "--csv", "c.csv", *QUICK).stdout
    assert done.startswith("with_memory is better than no_memory on “Fix rate (ref-pol)”")
    assert "“Fix rate (ref-pol)” is tested alone" in " ".join(done.split())
    table = pd.read_csv("c.csv").set_index("metric")
    assert table.loc["fix_rate_refpol", ["verdict", "primary"]].tolist() == ["better", True]
    assert table.loc["break_rate_refpol", ["verdict", "margin"]].tolist() == ["equivalent", 0.1]


@pytest.mark.parametrize("how", [("--suite", "cr"), ("--suite=cr",)])
def test_a_suite_that_is_named_decides(here: Path, how: tuple[str, ...]) -> None:
    done = call(
        "compare", "example:memfin/memory_agent", "example:memfin/plain_llm", *how, status=2
    )
    assert "looks like an input of memfin, not of cr" in done.stderr
    assert "no suite 'nosuch'" in call("compare", "a", "b", "--suite", "nosuch", status=2).stderr


@pytest.mark.parametrize("command", ["score", "report", "check"])
def test_a_wrong_suite_is_named(here: Path, command: str) -> None:
    done = call(command, "memfin", f"example:cr/{ONE}", status=2)
    assert f"{example('cr')}/{ONE} looks like an input of cr, not of memfin" in done.stderr
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [("score", "cr"), ("report", "cr"), ("check", "cr"), ("report", "seeds"), ("compare", "x")],
)
def test_a_folder_of_runs_says_what_to_type(here: Path, command: tuple[str, ...]) -> None:
    for name in (ONE, OTHER):
        shutil.copytree(example(f"cr/{name}"), here / "runs" / name)
    if command[0] == "compare":
        command = ("compare", f"runs/{ONE}")
    done = call(*command, "runs", status=2)
    assert (
        f"runs is a folder of runs (2), not a run; name them: runs/{ONE} ... (or runs/*)"
        in done.stderr
    )
    assert [p.name for p in here.iterdir()] == ["runs"]


def test_a_results_folder_is_no_input_to_score(here: Path) -> None:
    call("score", "summary", "example:summary/cases.jsonl", *QUICK)
    done = call("score", "summary", "outputs/results/cases", status=2)
    assert "outputs/results/cases is a results folder; name the input" in done.stderr


def test_a_run_that_is_not_there(here: Path) -> None:
    for command in (("report", "seeds", "absent"), ("compare", "absent", f"example:cr/{ONE}")):
        assert (
            "absent: no such run, and nothing named absent__seed<N>_<mode>"
            in call(*command, status=2).stderr
        )


def test_a_misspelt_metric_of_a_gate_gets_the_nearest(here: Path) -> None:
    call("score", "cr", f"example:cr/{ONE}", "-q", *QUICK)
    done = call("gate", f"outputs/results/{ONE}", "--min", "fix_rate_refpl=0", status=2)
    assert "did you mean" in done.stderr and "fix_rate_refpol" in done.stderr


@pytest.mark.parametrize("command", ["compare", "plan", "rank", "gate", "calibrate"])
def test_every_command_tells_its_use_and_what_is_missing(command: str) -> None:
    assert f" {command} [OPTIONS]" in call(command, "--help").stdout
    assert "Missing argument" in call(command, status=2).output


@pytest.mark.parametrize(
    ("arguments", "korean"),
    [
        (("compare", "a", "b", "--margin", "f1"), "오류: --margin 'f1': NAME=X 형식이어야"),
        (("gate", "absent", "--margin", "f1=0.1"), "오류: --margin은 지표가 기준보다"),
        (("score", "cr", f"example:cr/{ONE}", "x", "--name", "y"), "오류: --name 옵션은 실행이"),
        (("report", "seeds", f"example:cr/{ONE}", "--margin", "f1=x"), "오류: --margin 'f1=x'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_option_is_told_in_the_language_wherever_that_stands(
    tmp_path: Path, arguments: tuple[str, ...], korean: str
) -> None:
    with chdir(tmp_path):
        path = arguments[:2] if arguments[0] in ("score", "report") else arguments[:1]
        last = call(*arguments, "--lang", "ko", status=2).stderr
        first = call(*path, "--lang", "ko", *arguments[len(path) :], status=2).stderr
        assert first == last and korean in last
        assert korean not in call(*arguments, status=2).stderr
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "korean"),
    [
        (("scroe",), "오류: 명령 'scroe'이(가) 없음"),
        (("rank", "a", "--metrc", "x"), "--metrc"),
        (("compare", "a"), "오류: 빠진 인수: 'B'"),
        (("score", "cr", "x", "--ci", "foo"), "다음 중 하나가 아님: 'auto', 'bca', 'percentile'"),
        (("score", "cr", "x", "--n-resamples", "3"), "3은(는) 범위 x>=100를 벗어남"),
        (("plan", "a", "--metric", "m", "--difference", "abc"), "올바른 숫자(float)가 아님"),
        (("gate", "a", "--min"), "값이 필요함"),
    ],
)
def test_what_click_says_is_told_in_the_language_wherever_that_stands(
    arguments: tuple[str, ...], korean: str
) -> None:
    path = arguments[:2] if arguments[0] == "score" else arguments[:1]
    first = call(*path, "--lang", "ko", *arguments[len(path) :], status=2).stderr
    assert korean in first and "오류: " in first
    english = call(*arguments, status=2).stderr
    assert "Error: " in english and "오류" not in english
    if korean != "값이 필요함":  # what ends with an option takes what follows as its value
        assert korean in call(*arguments, "--lang=ko", status=2).stderr


def test_the_headline_is_told_in_the_language_but_nobodys_names(tmp_path: Path) -> None:
    run = ["score", "memfin", "example:memfin/memory_agent", "-o", tmp_path / "a", *QUICK]
    lines = call(*run, "--lang", "ko").stdout.splitlines()
    (profile,) = [line for line in lines if line.endswith("m2_profile_score")]
    assert profile.startswith("  프로필 점수 ↑") and "n=6 " in profile
    assert "  경고: 3 x unresolvable-key" in lines
    # "metric" is a word of ours, too: as a name of the user's it stays
    scores = tmp_path / "scores.csv"
    scores.write_text("id,metric,value\n" + "".join(f"{i},metric,{i % 2}\n" for i in range(12)))
    lines = call("score", "table", scores, "-o", tmp_path / "b", "--lang", "ko", *QUICK).stdout
    assert "\n  metric " in lines and "n=12 " in lines
