"""The written pages say what the code does, and make a site."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
from click.testing import CliRunner

from evaltools import BUILT_IN, get_suite
from evaltools.app.cli import main
from evaltools.core.common_checks import PAGE_KINDS, RUN_KINDS, STUDY_KINDS
from evaltools.core.files import PACKAGE
from evaltools.suites.cr.inference.config import read_config
from evaltools.suites.summary.rules import load_rules

from .app.calling import few_studies, without_pages

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = {
    page.name: page.read_text(encoding="utf-8")
    for page in [ROOT / "README.md", ROOT / "benchmarks" / "simulations.md", *DOCS.glob("*.md")]
}


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return pytest.importorskip


@pytest.mark.parametrize("name", ["metrics.md", "glossary.md", "checks.md", "inputs.md"])
def test_pages_that_are_made_are_current(scripts: Callable[[str], Any], name: str) -> None:
    assert PAGES[name] == scripts("make_docs").PAGES[name]()


READERS: dict[str, Callable[[Path], Any]] = {
    "run.toml": read_config,
    "rules.json": load_rules,
}
"""The reader of an example that is more than one record of its model."""


def test_every_field_of_an_input_is_explained_and_no_other(
    scripts: Callable[[str], Any], tmp_path: Path
) -> None:
    input_page = scripts("input_page")
    models = {}
    for file in input_page.CONTENT["file"]:
        model = input_page.model_of(file)
        if model is not None:
            models |= {part.__name__: part for part in input_page.reachable(model)}
            if file["name"] in READERS:
                path = tmp_path / file["name"]
                path.write_text(file["example"], encoding="utf-8")
                READERS[file["name"]](path)
            elif "example" in file:
                model.model_validate_json(file["example"])
    explained = {name: set(meanings) for name, meanings in input_page.CONTENT["model"].items()}
    assert explained == {name: set(model.model_fields) for name, model in models.items()}


def test_nobody_is_told_to_install_the_name_that_belongs_to_another_project() -> None:
    files = [*PACKAGE.rglob("*.py"), *ROOT.glob("*.md"), *DOCS.glob("*.md")]
    files += [*(ROOT / "scripts").iterdir(), *(ROOT / ".github").rglob("*.yml")]
    told = re.compile(r"pip install (?:-\S+ )*['\"]?evaltools\b")
    for file in files:
        if file.is_file():
            assert not told.search(file.read_text(encoding="utf-8")), file


def test_a_term_stands_once_in_every_language() -> None:
    assert PAGES["glossary.md"].count("| Fix rate | 교정률 | ") == 1
    assert "| tied | 판정 보류(차이 불명확) | 无法判定优劣 |" in PAGES["glossary.md"]


def test_links_between_pages_lead_somewhere() -> None:
    for name, text in PAGES.items():
        folder = ROOT if name == "README.md" else DOCS
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (folder / target).exists(), f"{name}: {target}"


def commands(
    command: click.Command = main, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Every command with its options."""
    yield (
        path,
        {option for p in command.params for option in (*p.opts, *p.secondary_opts)} | {"--help"},
    )
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child
            yield from commands(child, (*path, name))


COMMANDS = dict(commands())
EVERY = set().union(*COMMANDS.values())
OF_SUITES = set().union(*(options for path, options in COMMANDS.items() if path[:1] == ("score",)))
"""Options of the suites, which `compare`, `plan`, `rank` and `report seeds` take besides their own."""
ELSEWHERE = {"--log", "--model", "--n", "--python", "--repeat", "--wheel", "--ignore-case"}
"""Options of other programs, and of a suite that a page makes."""


def typed(text: str) -> Iterator[list[str]]:
    """The words of every call of evaltools in code: on a line of its own, or between backticks."""
    for line in re.findall(r"(?:^[ $]*|`)(evaltools [^`#\n]*)", text, flags=re.MULTILINE):
        yield re.sub(r"[\[\]|()]", " ", line).split()


def test_every_command_and_option_that_a_page_types_exists() -> None:
    seen = set()
    for name, text in PAGES.items():
        for words in typed(text):
            path: tuple[str, ...] = ()
            rest = [w for w in words[1:] if w != "--suite-file" and not w.endswith(".py")]
            while rest and (*path, rest[0]) in COMMANDS:
                path = (*path, rest.pop(0))
            group = any(len(c) > len(path) and c[: len(path)] == path for c in COMMANDS)
            assert path or not rest or rest[0].startswith("-") or rest[0].isupper(), (
                f"{name}: no command {' '.join(words)}"
            )
            below = [options for c, options in COMMANDS.items() if c[: len(path)] == path]
            known = set().union(*below) if group else COMMANDS[path]
            known |= (
                OF_SUITES
                if path[0:1] in {("compare",), ("plan",), ("rank",)} or path[-1:] == ("seeds",)
                else set()
            )
            unknown = (
                {w.split("=")[0] for w in words if w.startswith("--") and len(w) > 2}
                - known
                - {"--suite-file"}
                - ELSEWHERE
            )
            assert not unknown, f"{name}: {' '.join(words)}: no {unknown}"
            seen.add(path[:1])
    assert seen >= {path for path in COMMANDS if len(path) == 1}


def test_every_option_that_a_page_names_exists() -> None:
    for name, text in PAGES.items():
        text = "\n".join(
            line for line in text.splitlines() if "benchmarks/" not in line and "dask " not in line
        )
        if name not in (
            "benchmarks.md",
            "statistics.md",
            "simulations.md",
        ):  # whose options are those of scripts
            unknown = (
                set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))
                - EVERY
                - ELSEWHERE
                - {"--nthreads"}
            )
            assert not unknown, f"{name}: {unknown}"


def test_every_check_has_a_section_that_says_when_it_applies_and_what_to_do() -> None:
    page = PAGES["checks.md"]
    kinds = [*RUN_KINDS, *STUDY_KINDS, *PAGE_KINDS]
    for name in BUILT_IN:
        kinds += get_suite(name).check_kinds
    assert len(kinds) > 20
    for kind in kinds:
        assert page.count(f'<a id="{kind.code}">') == 1
        assert kind.title and kind.applies.endswith(".") and kind.advice.endswith(".")
        assert kind.blocks.endswith(".")


ROWS = re.findall(
    r"^\|[^|]*\| `(evaltools .*?)` \| (.*) \|$", PAGES["commands.md"], flags=re.MULTILINE
)


@pytest.fixture(scope="module")
def done(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which every command of docs/commands.md was run, from top to bottom; the demo stands for itself."""
    folder = tmp_path_factory.mktemp("commands")
    (folder / "test.txt").write_text(
        "Great pizza.####[['pizza', 'food quality', 'positive', 'Great']]\n"
    )
    (folder / "scores.csv").write_text(
        "id,metric,value\n" + "".join(f"q{i},accuracy,{i % 3 > 0:d}\n" for i in range(40))
    )
    judged = [f"c{i},accuracy,{int(i % 4 > 0)}\n" for i in range(48)]
    (folder / "judge.csv").write_text("case_id,metric,score\n" + "".join(judged))
    (folder / "labels.csv").write_text("case_id,metric,label\n" + "".join(judged[:40]))
    (folder / "rules.json").write_bytes((PACKAGE / "suites/summary/rules/seed.json").read_bytes())
    for line, _ in ROWS:
        words = [
            w
            for word in shlex.split(line)
            for w in (sorted(map(str, folder.glob(word))) if "*" in word else [word])
        ]
        words = [
            str(Path(w).relative_to(folder)) if w.startswith(str(folder)) else w for w in words
        ]
        if words[1] == "lab":  # stays open
            continue
        if words[1] == "plan":  # the same again for each number of seeds
            words += ["--seeds", "3"]
        if words[1:] == ["demo"]:
            shutil.copytree(demo, folder / "outputs")
            continue
        with chdir(folder), without_pages(), few_studies():
            ended = CliRunner().invoke(main, words[1:])
        # a gate that is not met is an answer
        assert ended.exit_code == 0 or (words[1], ended.exit_code) == ("gate", 1), (
            f"{line}\n{ended.output}"
        )
    return folder


def test_the_commands_write_what_the_page_says(done: Path) -> None:
    for line, written in ROWS:
        files = re.findall("`(.+?)`", written)
        assert files or written == "nothing"
        assert line == "evaltools lab" or not [f for f in files if not (done / f).is_file()], line


@pytest.fixture(scope="module")
def site(done: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, whose strict build is a test of links, anchors and navigation."""
    pytest.importorskip("properdocs")
    out = tmp_path_factory.mktemp("site")
    build = [
        sys.executable,
        str(ROOT / "scripts" / "build_site.py"),
        str(out),
        "--examples",
        str(done / "outputs"),
    ]
    ended = subprocess.run(
        build,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return out


def test_every_page_stands_in_the_navigation(site: Path) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    made = {"index", "api", "examples"}
    for page in made | {name.removesuffix(".md") for name in PAGES if name != "README.md"}:
        assert f'<a href="{page}.html"' in index or f'href="{page}.html" class' in index, page


def test_pages_are_whole(site: Path) -> None:
    """Lists and code that the site's Markdown reads otherwise than other programs do would stand in a paragraph."""
    for page in site.glob("*.html"):
        text = re.sub(r"<pre>.*?</pre>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for paragraph in re.findall(r"<p>(.*?)</p>", text, flags=re.DOTALL):
            assert not re.search(r"^\s*(?:[-*] |\d+\. |\||```)", paragraph, flags=re.MULTILINE), (
                f"{page.name}: {paragraph}"
            )


def test_the_site_needs_no_network(site: Path) -> None:
    for page in [*site.glob("*.html"), *site.glob("*.js"), *site.glob("css/*.css")]:
        found = re.findall(
            r"""(?:src=|<link[^>]*href=|url\(|@import )["']?(https?:)""",
            page.read_text(encoding="utf-8"),
        )
        assert not found, page.name


def test_the_reference_of_python_names_what_there_is(site: Path) -> None:
    page = (site / "api.html").read_text(encoding="utf-8")
    assert 'id="evaluate"' in page and 'id="runsamples"' in page and "protocol" in page


@pytest.fixture
def allowed(site: Path) -> Callable[[Path], tuple[str, ...]]:
    return lambda file: (site.as_uri(),)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("words", "title"),
    [("교정률", "Fix rate"), ("修正率", "교정률"), ("westfall Family", "Statistics")],
)
def test_search_finds_words_of_every_language_without_a_server(
    site: Path, open_page: Callable[..., Any], words: str, title: str
) -> None:
    page = open_page(site / "gate.html")
    page.keyboard.press("s")
    page.fill("#properdocs-search-query", words)
    page.wait_for_selector("#properdocs-search-results a")
    assert title in page.inner_text("#properdocs-search-results")
    page.click("#properdocs-search-results a")
    page.wait_for_load_state()
    assert page.url.startswith(site.as_uri())


@pytest.mark.browser
def test_pages_are_no_wider_than_the_window(site: Path, open_page: Callable[..., Any]) -> None:
    shown = open_page(site / "index.html")
    for page in sorted(site.glob("*.html")):
        shown.goto(page.as_uri())
        for width in (1400, 400):
            shown.set_viewport_size({"width": width, "height": 900})
            assert shown.evaluate("document.documentElement.scrollWidth") <= width, page.name
