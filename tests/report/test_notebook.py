"""Reports: both files whole or not at all, failures kept, parameters that stay data."""

import base64
import hashlib
import io
import json
import pickle
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from PIL import Image

import evaltools as et
from evaltools.core.messages import WorkFailed
from evaltools.report.notebook import HTML, NOTEBOOK, RECORD, is_current, run
from tests.app.calling import written
from tests.files import contents, read_json, write_lines

HOSTILE = (
    'x"; import os; os.mkdir("pwned") #',
    "line\nopen('pwned', 'w')\n",
    "back\\slash\\n\\",
    "{os} {{text}} %s ${HOME}",
    "실행 한국어 风险 \u2028 \x00 \x1b[31m",
    "007",
    "True",
    "",
)


def texts(notebook: Path) -> list[str]:
    cells = nbformat.read(notebook, as_version=4).cells
    return [o.get("text", "") for c in cells for o in c.get("outputs", [])]


def test_parameters_stay_data(job: Any, tmp_path: Path) -> None:
    """Every hostile text arrives as it was given, in a list too, and none of it is run."""
    show = "import json\nprint(json.dumps([text, items]))"
    made = job(show, text=HOSTILE[0], items=list(HOSTILE))
    run(made)
    assert json.loads(texts(made.folder / NOTEBOOK)[0]) == [HOSTILE[0], list(HOSTILE)]
    cells = nbformat.read(made.folder / NOTEBOOK, as_version=4).cells
    assert cells[1].source.index("text = ") < cells[1].source.index("items = "), "in their order"
    assert not (tmp_path / "pwned").exists()


def test_what_no_file_can_hold_spoils_no_report(job: Any) -> None:
    """A picture in bytes, and a half of a character."""
    made = job("print('a\\ud800b')", "from PIL import Image\nImage.new('RGB', (3, 3))", "1.5;")
    run(made)
    half, shown, hidden = nbformat.read(made.folder / NOTEBOOK, as_version=4).cells[-3:]
    assert half.outputs[0].text == "a?b\n" and not hidden.outputs
    assert base64.b64decode(shown.outputs[0].data["image/png"]).startswith(b"\x89PNG")


def test_the_same_job_gives_the_same_bytes_and_prints_nothing(
    job: Any, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where kernels are forked, and where they are started."""
    made = job("print(text)", "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])", text="x")
    run(made)
    assert capfd.readouterr() == ("", "")
    first = contents(made.folder)
    monkeypatch.setattr("evaltools.report.notebook.FROM_FILES", {"a suite": None})
    run(made)
    assert contents(made.folder) == first and first.keys() == {NOTEBOOK, HTML, RECORD}


def test_a_report_is_current_until_something_of_it_changes(job: Any) -> None:
    made = job("1")
    assert not is_current(made)
    run(made)
    assert is_current(made)
    assert not is_current(replace(made, results={"results/a": "another"}))
    assert not is_current(replace(made, parameters={"seed": 7}))
    for name in (HTML, NOTEBOOK, RECORD):
        path = made.folder / name
        whole = path.read_bytes()
        for spoilt in (whole[:-10], b"[]", b'{"metadata": 3}', b"\xff"):
            path.write_bytes(spoilt)
            assert not is_current(made)
        path.write_bytes(whole)
        assert is_current(made)
    assert not is_current(job("2")), "another notebook"


def test_a_failed_cell_leaves_the_notebook_with_the_error_at_its_top(job: Any) -> None:
    run(job("1")).write_text("a remark of mine")
    made = job("print('before')", "raise ValueError('no <b>good</b>')", "print('after')")
    with pytest.raises(WorkFailed, match="ValueError: no <b>good</b>") as caught:
        run(made)
    assert written(made.folder) == {NOTEBOOK, RECORD, f"{HTML}.yours"}, "the older page is gone"
    nb = nbformat.read(made.folder / NOTEBOOK, as_version=4)
    assert "Exception was encountered" in nb.cells[0].source
    assert not is_current(made)
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert str(again) == str(caught.value) and str(made.folder / NOTEBOOK) in str(again)


def test_what_a_paper_needs_stands_beside_the_report_and_edits_are_kept(job: Any) -> None:
    """The page links the files. What a person changed in one of ours stays beside as NAME.yours."""
    scored = et.evaluate("summary", "example:summary/cases.jsonl", n_resamples=100)
    made = replace(job("1 + 1"), paper=et.study([scored]))
    page = run(made).read_text(encoding="utf-8")
    before = contents(made.folder)
    names = before.keys() - {HTML, NOTEBOOK, RECORD}
    assert {"paper.tex", "paper.md", "figures/forest.svg", "figures/forest.pdf"} <= names
    assert all(f'href="{name}"' in page for name in names) and is_current(made)
    mine = {"paper.docx": "mine", "figures/drawn.svg": "mine", "paper.tex": "edited"}
    for name, text in mine.items():
        (made.folder / name).write_text(text)
    assert not is_current(made)
    run(made)
    mine["paper.tex.yours"] = mine.pop("paper.tex")
    of_a_person = {name: text.encode() for name, text in mine.items()}
    assert contents(made.folder) == before | of_a_person and is_current(made)
    run(replace(made, paper=None))
    assert written(made.folder) == {HTML, NOTEBOOK, RECORD, *mine}


def test_a_notebook_that_was_edited_is_kept(job: Any, capfd: pytest.CaptureFixture[str]) -> None:
    made = job("print(1)")
    run(made)
    notebook = made.folder / NOTEBOOK
    for end in (".yours", ".yours2"):
        nb = nbformat.read(notebook, as_version=4)
        nb.cells[-1].source += f"  # my edit {end}"
        nbformat.write(nb, notebook)
        assert not is_current(made)
        run(made)
        kept = made.folder / f"{NOTEBOOK}{end}"
        assert kept.read_text(encoding="utf-8") == nbformat.writes(nb) + "\n"
        assert f"was changed by hand: it is kept as {kept}" in capfd.readouterr().err
        assert is_current(made)


def test_no_file_elsewhere_goes_with_a_report(job: Any, tmp_path: Path) -> None:
    """What a notebook says it wrote comes from a file that anybody may have made."""
    made = job("1 + 1")
    run(made)
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    (made.folder / "figures").mkdir()
    record = read_json(made.folder / RECORD)
    for name in ("../../mine.txt", str(mine), "figures/../../../mine.txt"):
        record["files"][name] = hashlib.sha256(b"mine").hexdigest()
    write_lines(made.folder / RECORD, [record])
    run(made)
    assert mine.read_text() == "mine"


def test_figures_of_a_notebook_are_sharp_light_and_in_the_language_of_the_reader(job: Any) -> None:
    figure = "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])\n_ = plt.title('Samples')"
    made = job("import evaltools as et\net.notebook('ko')", figure)
    run(made)
    (output,) = nbformat.read(made.folder / NOTEBOOK, as_version=4).cells[-1].outputs
    assert output.metadata["image/png"]["alt"] == "표본"
    image = Image.open(io.BytesIO(base64.b64decode(output.data["image/png"])))
    assert image.mode == "P" and image.width > 1_000


def test_a_report_that_is_run_again_in_its_own_folder_finds_its_results(tmp_path: Path) -> None:
    """Its paths are those of the command's folder, and nothing is written into its own."""
    own, stored = tmp_path / "outputs/reports/x", "outputs/results/no_memory__seed1_proposed"
    own.mkdir(parents=True)
    (own / NOTEBOOK).touch()
    with chdir(tmp_path):
        run = et.evaluate("cr", "example:cr/no_memory__seed1_proposed", out="outputs")
    with chdir(own):
        assert et.load(stored).frame.equals(run.frame)
        assert et.study([stored], out="outputs").n_units == run.n_units
        with pytest.raises(et.UsageError, match=f"^{own / 'outputs/results/other'} holds no"):
            et.load("outputs/results/other")
    assert [path.name for path in own.iterdir()] == [NOTEBOOK]
