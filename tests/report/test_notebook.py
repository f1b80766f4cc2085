"""Reports: both files whole or not at all, failures kept, parameters that stay data."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from PIL import Image

import evaltools as et
from evaltools.core.errors import WorkFailed
from evaltools.core.results import result_hash
from evaltools.report.notebook import HTML, NOTEBOOK, is_current, run
from tests.app.calling import written

HOSTILE = (
    'x"; import os; os.mkdir("pwned") #',
    "x'); open('pwned', 'w') #",
    '""" + open("pwned", "w").name + """',
    "back\\slash\\n\\",
    "line\nopen('pwned', 'w')\n",
    "{os} {{text}} %s ${HOME}",
    "실행 한국어 风险 \u2028 \x00 \x1b[31m",
    "007",
    "1e5",
    "True",
    "",
)


def texts(notebook: Path) -> list[str]:
    cells = nbformat.read(notebook, as_version=4).cells
    return [o.get("text", "") for c in cells for o in c.get("outputs", [])]


def test_parameters_stay_data(job: Any, tmp_path: Path) -> None:
    """Every hostile text arrives as it was given, in a list too, and none of it is run."""
    show = "import json\nprint(json.dumps([text, items]))"
    run(job(show, text=HOSTILE[0], items=list(HOSTILE)))
    assert json.loads(texts(tmp_path / "reports" / "run" / NOTEBOOK)[0]) == [
        HOSTILE[0],
        list(HOSTILE),
    ]
    assert not (tmp_path / "pwned").exists()
    for text in HOSTILE:
        assert not (tmp_path / text.replace("\0", "")).is_file()


def test_the_same_job_gives_the_same_bytes_and_prints_nothing(
    job: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    made = job("print(text)", text="x")
    run(made)
    assert capfd.readouterr() == ("", "")
    first = [(made.folder / f).read_bytes() for f in (NOTEBOOK, HTML)]
    run(made)
    assert [(made.folder / f).read_bytes() for f in (NOTEBOOK, HTML)] == first


def test_a_report_is_current_until_something_of_it_changes(job: Any) -> None:
    made = job("1")
    assert not is_current(made)
    run(made)
    assert is_current(made)
    assert not is_current(replace(made, results={"results/a": "another"}))
    assert not is_current(replace(made, parameters={"seed": 7}))
    html, notebook = made.folder / HTML, made.folder / NOTEBOOK
    whole = html.read_bytes(), notebook.read_bytes()
    html.write_bytes(whole[0][:-10])
    assert not is_current(made), "a page that is cut off"
    html.unlink()
    assert not is_current(made)
    html.write_bytes(whole[0])
    assert is_current(made)
    for spoilt in (whole[1][:-10], b"[]", b'{"metadata": 3}', b"\xff"):
        notebook.write_bytes(spoilt)
        assert not is_current(made)
    notebook.write_bytes(whole[1])
    assert is_current(made)
    assert not is_current(job("2")), "another notebook"


def test_a_failed_cell_leaves_the_notebook_with_the_error_at_its_top(job: Any) -> None:
    run(job("1"))
    made = job("print('before')", "raise ValueError('no <b>good</b>')", "print('after')")
    with pytest.raises(WorkFailed, match="ValueError: no <b>good</b>") as caught:
        run(made)
    assert sorted(p.name for p in made.folder.iterdir()) == [NOTEBOOK], "the older page is gone"
    nb = nbformat.read(made.folder / NOTEBOOK, as_version=4)
    assert nb.cells[0].cell_type == "markdown" and "Exception was encountered" in nb.cells[0].source
    assert nb.metadata["evaltools"]["failed"] and not is_current(made)
    assert not is_current(made)
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert str(again) == str(caught.value) and str(made.folder / NOTEBOOK) in str(again)


def test_a_dead_kernel_is_a_failed_report_and_no_library_says_so_too(
    job: Any, caplog: pytest.LogCaptureFixture
) -> None:
    made = job("print(text)", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", text="x")
    with pytest.raises(WorkFailed, match="Kernel died"):
        run(made)
    nb = nbformat.read(made.folder / NOTEBOOK, as_version=4)
    assert any(
        "x" in c.source and "injected-parameters" in c.metadata.get("tags", []) for c in nb.cells
    )
    assert not (made.folder / HTML).exists()
    assert caplog.messages == []


def test_what_a_paper_needs_stands_beside_the_report_and_is_part_of_it(
    job: Any, tmp_path: Path
) -> None:
    """The files come from the saved results, the page links them, and a report without them or with others is old."""
    et.evaluate(
        "summary",
        "example:summary/cases.jsonl",
        out=tmp_path,
        resampling=et.Resampling(n_resamples=100),
    )
    made = replace(job("1 + 1"), paper=tmp_path / "results" / "cases")
    page = run(made).read_text(encoding="utf-8")
    names = written(made.folder) - {HTML, NOTEBOOK}
    assert {"paper.tex", "paper.md", "figures/forest.svg", "figures/forest.pdf"} <= names
    assert all(f'href="{name}"' in page for name in names) and is_current(made)
    before = {name: (made.folder / name).read_bytes() for name in names}
    (made.folder / "paper.tex").write_text("spoilt")
    assert not is_current(made)
    run(made)
    assert {name: (made.folder / name).read_bytes() for name in names} == before and is_current(
        made
    )
    run(replace(made, paper=None))
    assert written(made.folder) == {HTML, NOTEBOOK, "paper.tex.yours"}
    assert (made.folder / "paper.tex.yours").read_text() == "spoilt"


def test_a_readers_files_in_the_folder_of_a_report_stay(job: Any, tmp_path: Path) -> None:
    """What a person changed in a file of ours stays beside as NAME.yours, all else of theirs as it is."""
    quick = et.Resampling(n_resamples=100)
    et.evaluate("summary", "example:summary/cases.jsonl", out=tmp_path, resampling=quick)
    made = replace(job("1 + 1"), paper=tmp_path / "results" / "cases")
    run(made)
    mine = {"paper.docx", "paper.pdf", "figures/drawn.svg", "figures/forest.svg", "notes.txt"}
    for name in mine:
        (made.folder / name).write_text("mine")
    run(replace(made, paper=None))
    kept = mine - {"figures/forest.svg"} | {"figures/forest.svg.yours"}
    assert written(made.folder) == {HTML, NOTEBOOK, *kept}
    assert {(made.folder / name).read_text() for name in kept} == {"mine"}


def test_a_notebook_that_was_edited_is_kept(job: Any, capfd: pytest.CaptureFixture[str]) -> None:
    made = job("print(1)")
    run(made)
    notebook = made.folder / NOTEBOOK
    for number in (1, 2):
        nb = nbformat.read(notebook, as_version=4)
        nb.cells[-1].source += f"  # my edit {number}"
        nbformat.write(nb, notebook)
        assert not is_current(made)
        run(made)
        kept = made.folder / ("metric_report.ipynb.yours" + ("" if number == 1 else "2"))
        assert kept.read_text(encoding="utf-8") == nbformat.writes(nb) + "\n"
        assert f"was edited: kept as {kept}" in capfd.readouterr().err
        assert is_current(made)


def test_no_file_elsewhere_goes_with_a_report(job: Any, tmp_path: Path) -> None:
    """What a notebook says it wrote comes from a file that anybody may have made."""
    made = job("1 + 1")
    run(made)
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    nb = json.loads((made.folder / NOTEBOOK).read_text(encoding="utf-8"))
    digest = hashlib.sha256(b"mine").hexdigest()
    for name in ("../../mine.txt", str(mine), "figures/../../../mine.txt"):
        nb["metadata"]["evaltools"]["files"][name] = digest
    (made.folder / "figures").mkdir()
    (made.folder / NOTEBOOK).write_text(json.dumps(nb), encoding="utf-8")
    run(made)
    assert mine.read_text() == "mine"


def test_a_page_of_a_result_that_was_replaced_meanwhile_is_no_page(
    job: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its notebook may have read what another process wrote, which is not what it would vouch for."""

    folder = tmp_path / "results" / "cases"

    def scored(seed: int) -> dict[str, str]:
        et.evaluate(
            "summary", "example:summary/cases.jsonl", out=tmp_path, n_resamples=100, seed=seed
        )
        return {str(folder): result_hash(folder)}

    made = job("print(scored)", scored=str(folder))
    made = replace(made, results=scored(1))
    run(made)
    scored(2)
    with pytest.raises(WorkFailed, match="results/cases was replaced while its report was made"):
        run(made)
    made = replace(made, results=scored(2))
    run(made)
    assert is_current(made)


def test_figures_of_a_notebook_are_sharp_light_and_in_the_language_of_the_reader() -> None:
    source = "import evaltools as et\net.notebook('ko')"
    figure = "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])\n_ = plt.title('Samples')"
    nb = new_notebook(cells=[new_code_cell(source), new_code_cell(figure)])
    NotebookClient(nb, timeout=60).execute()
    (output,) = nb.cells[1].outputs
    assert output.metadata["image/png"]["alt"] == "표본"
    image = Image.open(io.BytesIO(base64.b64decode(output.data["image/png"])))
    assert image.mode == "P" and image.width > 1_000
