"""The pages say what the code does: what is made is made again, what is typed is typed."""

import re
from pathlib import Path

import make
import matplotlib
import pytest

from evaltools.suites.cr.inference.plan import read_config
from evaltools.suites.summary.rules import load_rules

from .app.calling import without_pages
from .conftest import ROOT

PAGES = {
    page.name: page.read_text(encoding="utf-8")
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
}


@pytest.mark.parametrize("name", list(make.PAGES))
def test_pages_that_are_made_are_current(name: str) -> None:
    assert PAGES[name] == make.PAGES[name]()


@pytest.mark.parametrize("name", [n for n in make.WRITTEN if make.CODE.search(PAGES[n])])
def test_what_a_page_types_runs_and_gives_what_it_shows(name: str) -> None:
    matplotlib.use("agg")
    with without_pages():
        assert PAGES[name] == make.written(name)


def test_every_field_of_an_input_is_explained_and_no_other(tmp_path: Path) -> None:
    readers = {"run.toml": read_config, "rules.json": load_rules}
    models = {}
    for file in make.CONTENT["file"]:
        model = make.model_of(file)
        if model is None:
            continue
        models |= {part.__name__: part for part in make.reachable(model)}
        if file["name"] in readers:
            path = tmp_path / file["name"]
            path.write_text(file["example"], encoding="utf-8")
            readers[file["name"]](path)
        elif "example" in file:
            model.model_validate_json(file["example"])
    explained = {name: set(meanings) for name, meanings in make.CONTENT["model"].items()}
    read = {
        name: {field for field, info in model.model_fields.items() if not info.exclude}
        for name, model in models.items()
    }
    assert explained == read


def test_links_between_pages_lead_somewhere() -> None:
    for name, text in PAGES.items():
        folder = ROOT if name in ("README.md", "CONTRIBUTING.md") else ROOT / "docs"
        for target, anchor in re.findall(r"\]\(([^)#:]*)#?([^)]*)\)", text):
            path = folder / target if target else folder / name
            assert path.exists(), f"{name}: {target}"
            if anchor and path.suffix == ".md":
                titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
                slugs = {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}
                assert anchor in slugs or f'id="{anchor}"' in path.read_text(encoding="utf-8"), (
                    f"{name}: {target}#{anchor}"
                )


def test_nobody_is_asked_to_install_the_name_that_belongs_to_another_project() -> None:
    for name, text in PAGES.items():
        assert not re.search(r"pip install (?:-\S+ )*['\"]?evaltools\b", text), name
