"""docs/extending.md, done as a stranger would: from an empty folder, from a file and as an installed package."""

import json
import re
import shlex
import subprocess
import sys
from contextlib import chdir, nullcontext
from pathlib import Path

import nbformat
import pytest

from evaltools.core.metric import Metric
from evaltools.core.results import read_manifest

from .app.calling import call, without_pages
from .files import write_labels, write_lines

PAGE = Path(__file__).resolve().parents[1] / "docs" / "extending.md"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
FILES = {m[1]: text for _, text in BLOCKS if (m := re.match(r"# (\S+\.(?:py|toml))\n", text))}
CELL = next(text for _, text in BLOCKS if text.startswith("# a cell of answers.ipynb"))
NOTEBOOK = Path(__file__).resolve().parents[1] / "notebooks" / "run.ipynb"
COMMANDS = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]


def write_notebook(folder: Path) -> None:
    """The generic notebook with the cell of the page, as somebody saves it in JupyterLab."""
    nb = nbformat.read(NOTEBOOK, as_version=4)
    nb.cells.append(nbformat.v4.new_code_cell(CELL))
    nbformat.write(nb, folder / "answers.ipynb")


def typed(folder: Path, line: str) -> list[str]:
    """The words of a command line, with the files of the folder that patterns stand for."""
    return [
        w
        for word in shlex.split(line)
        for w in (sorted(map(str, folder.glob(word))) if "*" in word else [word])
    ]


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stranger")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    # two conditions by three seeds; the tuned ones are right more often
    for condition, right in (("base", 0.7), ("tuned", 0.95)):
        for seed in (1, 2, 3):
            write_labels(folder / f"{condition}__seed{seed}_x.jsonl", right, seed, 80)
    # every second one right but for its case, four of them empty
    answers = [""] * 4 + ["Rome", "PARIS"] * 18
    rows = [
        {"id": f"q{i}", "topic": "cities" if i < 20 else "rivers", "expected": "Paris", "answer": a}
        for i, a in enumerate(answers)
    ]
    write_lines(folder / "answers__seed1_x.jsonl", rows)
    write_notebook(folder)
    return folder


def test_the_notebook_example_runs() -> None:
    kind, text = BLOCKS[0]
    scope: dict[str, object] = {}
    exec(text, scope)
    assert kind == "python" and getattr(scope["et"], "Metric", None) is Metric


@pytest.mark.parametrize(
    "line", [c for c in COMMANDS if "--suite-file" in c or "--metrics" in c or " gate " in c]
)
def test_every_command_with_a_file_does_what_the_page_says(stranger: Path, line: str) -> None:
    # other pages of a suite in a file are looked at in tests/app/test_own_suites.py
    pages = nullcontext() if " answers " in line else without_pages()
    with chdir(stranger), pages:
        done = call(*typed(stranger, line)[1:])
    if "--metrics" in line:
        assert (
            read_manifest(stranger / "outputs/results/with_memory__seed1_proposed").metrics[0][
                "name"
            ]
            == "mixed_rate"
        )  # type: ignore[union-attr]
    if " report seeds" in line:
        assert (stranger / "outputs/results/base_aggregated/comparison.csv").is_file()
    if " compare " in line:
        assert "tuned is better than base on “Accuracy”" in done.stdout
    if " answers " in line:
        assert_everything_of_answers_is_shown(stranger, done.stdout)


def assert_everything_of_answers_is_shown(folder: Path, output: str) -> None:
    """The number by the option, the check, the breakdown, and the cell of the suite's own notebook."""
    content = json.loads(
        (folder / "outputs/results/answers__seed1_x/metrics.json").read_text(encoding="utf-8")
    )
    assert content["policy"]["ignore_case"] is True
    (exact,) = (m for m in content["metrics"] if m["name"] == "exact")
    assert (exact["numerator"], exact["denominator"]) == (18, 40)
    assert "4 of 40 answers are empty" in output
    page = (folder / "outputs/reports/answers__seed1_x/metric_report.html").read_text(
        encoding="utf-8"
    )
    assert "4 of 40 answers are empty" in page
    assert "Metrics in parts of the data" in page
    assert "Wrong answers by topic" in page


def test_the_package_is_installed_and_used(
    stranger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The suites as an installed package, and no file given."""
    target, out = tmp_path / "installed", tmp_path / "out"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(target), str(stranger)], check=True)
    for name in ("my_labels", "my_answers"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.chdir(stranger)
    assert "labels" in call("score", "labels", "base__seed1_x.jsonl", "-o", out, status=2).stderr
    monkeypatch.syspath_prepend(target)
    for line in (
        f"evaltools score labels base__seed*.jsonl -o {out}",
        f"evaltools rerun {out}/results/base__seed1_x/manifest.json",
        f"evaltools report answers --ignore-case answers__seed1_x.jsonl -o {out}",
    ):
        call(*typed(stranger, line)[1:])
    page = (out / "reports/answers__seed1_x/metric_report.html").read_text(encoding="utf-8")
    assert "Wrong answers by topic" in page
