"""Make all that is made: docs/metrics.md from the metric tables, docs/inputs.md from the models of the input files,
the outputs of commands in the written pages, the picture of README, and the outputs stored in the notebooks.

    python scripts/make.py [docs] [picture] [notebooks]          all by default
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import nbformat
import pandas as pd
from click.testing import CliRunner
from nbclient import NotebookClient
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from evaltools import BUILT_IN, Difference, Mean, Run, evaluate, get_suite
from evaltools.app.cli import main
from evaltools.core.files import write_text
from evaltools.core.metric import AnyMetric
from evaltools.report.notebook import tidy

SCRIPTS = Path(__file__).resolve().parent
ROOT = SCRIPTS.parent

# --- docs/metrics.md ---

EXAMPLES = {
    "cr": "example:cr/with_memory__seed1_proposed",
    "memfin": "example:memfin/memory_agent",
    "summary": "example:summary/cases.jsonl",
}

SOURCES = {
    "cr": (
        "[M] is the seed document *cr_metrics_spec*, [F] *cr_f1_metrics_examples*, [H] *cr_hallucination_rate*, "
        "each with its section; D numbers are in [decisions.md](decisions.md). By ref and by attribute an implicit tuple "
        "is a pair like any other, (ref, polarity), and matched as one; only by term it is matched by its polarity (D6)."
    ),
    "memfin": "Sections are of the seed document *memfin_metrics*.",
    "summary": (
        "Sections are of the seed document *insurance_summary_prd*; D numbers are in [decisions.md](decisions.md)."
    ),
}

METRICS_HEAD = """# Metrics

Every metric is a ratio of sums over units, or a weighted sum of such ratios (a difference, a mean). The columns of a
formula are columns of `units.parquet`; "sum" is over its rows, a null adds nothing, and a denominator of 0 means *not
measured* (N/A) unless said otherwise. This page is written by `scripts/make.py` from the metric tables
`evaltools/suites/`; the worked examples are the bundled ones (`evaltools demo`).
"""


def number(x: float) -> str:
    if pd.isna(x):
        return "N/A"
    return f"{x:,.0f}" if abs(x - round(x)) < 1e-9 else f"{x:.4f}"


def worked(result: Run, name: str) -> str:
    e = result[name]
    if pd.isna(e["value"]):
        return "not measured" + (
            "" if pd.isna(e["denominator"]) else f" ({number(e['numerator'])} / 0)"
        )
    if pd.isna(e["denominator"]):
        return number(e["value"])
    return f"{number(e['numerator'])} / {number(e['denominator'])} = {number(e['value'])}"


def definition(result: Run, m: AnyMetric) -> tuple[str, str]:
    """(formula, worked example)"""
    value = number(result.value(m.name))
    if isinstance(m, Difference):
        a, b = (number(result.value(n)) for n in (m.minuend, m.subtrahend))
        return f"`{m.minuend}` − `{m.subtrahend}`", f"{a} − {b} = {value}"
    if isinstance(m, Mean):
        parts = ", ".join(number(result.value(n)) for n in m.of)
        return f"mean of {', '.join(f'`{n}`' for n in m.of)}", f"mean of {parts} = {value}"
    formula = f"sum(`{m.numerator}`)" + (f" / sum(`{m.denominator}`)" if m.denominator else "")
    if m.macro:
        formula = f"mean over units of {formula}"
    if m.empty is not None:
        formula += f"; {m.empty:g} where the denominator is 0" + (
            f" and sum(`{m.needs}`) is not" if m.needs else ""
        )
    return formula, worked(result, m.name)


def section(suite: str) -> str:
    result = evaluate(suite, EXAMPLES[suite])
    lines = [
        f"## {result.suite.title}",
        "",
        SOURCES[suite],
        "",
        f"Worked example: `{EXAMPLES[suite]}`.",
        "",
    ]
    group, there = None, list(dict.fromkeys(m.group for m in result.metrics))
    own = [m for m in result.metrics if not m.alias_of]
    for m in sorted(own, key=lambda m: there.index(m.group)):
        if m.group != group:
            group = m.group
            lines += [f"### {group}", ""]
        formula, example = definition(result, m)
        direction = {"higher": "higher is better", "lower": "lower is better", "none": "describes"}[
            m.better
        ]
        lines += [
            f'- <a id="{m.name}"></a>**{m.title}** `{m.name}` ({direction}). {m.description}'.rstrip(),
            f"  {formula}. Source: {m.source}.",
            f"  Example: {example}.",
            "",
        ]
    aliases = [m for m in result.metrics if m.alias_of]
    if aliases:
        lines += ["### Other names", "", "Under the options of the example:", ""]
        lines += [f'- <a id="{m.name}"></a>`{m.name}` = `{m.alias_of}`' for m in aliases]
        lines.append("")
    return "\n".join(lines)


FREE = "The metrics of the suite `{name}` ({title}) follow from its input ([formats.md](formats.md)).\n"


def metrics() -> str:
    """docs/metrics.md. A suite without a table of its own, whose metrics follow from its input, is only named."""
    suites = [get_suite(name) for name in BUILT_IN]
    free = "".join(
        f"\n{FREE.format(title=s.title, name=s.name)}" for s in suites if s.name not in EXAMPLES
    )
    return "\n".join([METRICS_HEAD + free, *(section(suite) for suite in EXAMPLES)])


# --- docs/inputs.md ---

CONTENT = tomllib.loads((SCRIPTS / "inputs.toml").read_text(encoding="utf-8"))

INPUTS_HEAD = """# Input files

Every file that a command reads, and every field that is read of it. Fields that are not listed are ignored. A file may
begin with a byte order mark; texts are UTF-8. A record that does not fit is an error with file, line and field;
`evaltools check SUITE FILE` lists all of them. This page is written by `scripts/make.py` from the models that read
the files.

Files of other tools: `evaltools convert` ([formats.md](formats.md)).
"""

TYPES = {
    str: "text",
    Path: "path",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Any: "any",
}

TITLES = {
    "cr": "Conflict Review",
    "memfin": "MemFin",
    "summary": "Insurance summaries",
    "table": "Scores of any benchmark",
    "calibrate": "Scores and labels",
    "inference": "Inference (`evaltools run cr`)",
    "rules": "Words and rules of one's own",
}


def model_of(file: dict[str, str]) -> type[BaseModel] | None:
    """The model of a line of a file; None for a file without one."""
    if "model" not in file:
        return None
    module, _, name = file["model"].partition(":")
    model: type[BaseModel] = getattr(import_module(module), name)
    return model


def models_within(annotation: Any) -> list[type[BaseModel]]:
    """The models that a type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    found = []
    for inner in get_args(annotation):
        found += models_within(inner)
    return found


def reachable(model: type[BaseModel]) -> list[type[BaseModel]]:
    """A model and all that its fields hold, each once, the outer ones first."""
    models = [model]
    for outer in models:
        for field in outer.model_fields.values():
            models += [m for m in models_within(field.annotation) if m not in models]
    return models


def type_words(annotation: Any) -> str:
    """A type in words: "text", "list of tuples", "text or whole number"; null is not named."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_words(inner[0])
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in inner)
    if origin is dict:
        return f"object of text -> {type_words(inner[1])}"
    if origin is tuple and inner[-1] is not Ellipsis:
        return f"list of {len(inner)}: {', '.join(map(type_words, inner))}"
    if origin in (list, tuple):
        return f"list of {type_words(inner[0])}"
    if origin in (Union, UnionType):
        # a number may be whole
        unsaid = {type(None), int} if float in inner else {type(None)}
        kinds = [type_words(kind) for kind in inner if kind not in unsaid]
        return " or ".join(dict.fromkeys(kinds))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    return TYPES.get(annotation, str(annotation))


def default_words(field: FieldInfo) -> str:
    """ "required", or what stands where the field is absent."""
    if field.is_required():
        return "required"
    if field.default is None:
        return "null"
    if isinstance(field.default, BaseModel) or field.default in ((), {}, []):
        return "empty"
    default = list(field.default) if isinstance(field.default, tuple) else field.default
    return f"`{json.dumps(default)}`"


def model_rows(model: type[BaseModel]) -> Iterator[str]:
    """The table of a model, a row a field."""
    meanings = CONTENT["model"][model.__name__]
    yield "| field | type | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for name, field in model.model_fields.items():
        if field.exclude:  # not of the file
            continue
        kind = type_words(field.annotation)
        yield f"| `{name}` | {kind} | {default_words(field)} | {meanings[name]} |"


def inputs() -> str:
    """docs/inputs.md"""
    lines = [INPUTS_HEAD]
    suite = ""
    shown: set[str] = set()
    files = CONTENT["file"]
    for index, file in enumerate(files):
        if file["suite"] != suite:
            suite = file["suite"]
            lines += [f"## {TITLES[suite]}", ""]
        lines += [f"### {file['name']}", "", f"{file['about']} Without it: {file['without']}", ""]
        if "example" in file:
            language = "toml" if file["name"].endswith(".toml") else "json"
            lines += [f"```{language}", file["example"].strip(), "```", ""]
        model = model_of(file)
        if model is not None:
            lines += [f"#### {model.__name__}", "", *model_rows(model), ""]
            shown.add(model.__name__)
        is_last = index + 1 == len(files) or files[index + 1]["suite"] != suite
        if is_last:
            lines += parts(suite, shown)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def parts(suite: str, shown: set[str]) -> Iterator[str]:
    """The models within the files of a suite that have no table yet."""
    for file in CONTENT["file"]:
        model = model_of(file)
        if file["suite"] != suite or model is None:
            continue
        for part in reachable(model):
            if part.__name__ in shown:
                continue
            shown.add(part.__name__)
            yield from (f"#### {part.__name__}", "")
            yield from model_rows(part)
            yield ""


# --- what commands and code of the written pages give ---

CODE = re.compile(
    r"(?:<!-- file: (?P<file>\S+) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    flags=re.MULTILINE | re.DOTALL,
)
UNTRIED = ("evaltools demo", "evaltools lab")  # the tests run the first; the second stays open


def run_line(line: str) -> str:
    """What a command line of evaltools writes to the terminal."""
    done = CliRunner(env={"COLUMNS": "110"}).invoke(main, shlex.split(line)[1:])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    if done.exit_code > 1:  # 1 is a gate that is not met
        raise RuntimeError(f"{line}\n{done.output}")
    return "\n".join(text.rstrip() for text in done.output.strip().splitlines())


def with_outputs(page: str) -> str:
    """A page with what its commands write now, run from top to bottom in the working directory.

    Blocks after `<!-- file: NAME -->` are files; python is run; of console and sh the lines that call evaltools are
    run, and in console blocks (`$ evaltools ...`) what they write follows them.
    """
    names: dict[str, Any] = {}

    def replace(found: re.Match[str]) -> str:
        kind, text = found["kind"], found["text"]
        if found["file"]:
            Path(found["file"]).parent.mkdir(parents=True, exist_ok=True)
            Path(found["file"]).write_text(text, encoding="utf-8")
        elif kind == "python":
            exec(compile(text, "page", "exec"), names)
        elif kind in ("console", "sh"):
            prompt = "$ " if kind == "console" else ""
            shown = []
            for line in text.splitlines():
                if line.startswith(f"{prompt}evaltools ") and not line.endswith(UNTRIED):
                    output = run_line(line.removeprefix(prompt).partition("  #")[0])
                    shown += [line, *output.splitlines(), ""]
            if kind == "console":
                return "\n".join(["```console", *shown]).rstrip() + "\n```"
        return found[0]

    return CODE.sub(replace, page)


WRITTEN = {
    path.name: path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    if path.name not in ("metrics.md", "inputs.md", "extending.md")
}


def written(name: str) -> str:
    """A written page with the outputs of today, made in an empty folder."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return with_outputs(WRITTEN[name].read_text(encoding="utf-8"))


# --- all of it ---


PAGES = {"metrics.md": metrics, "inputs.md": inputs}


def make_docs() -> None:
    for name, text in PAGES.items():
        write_text(ROOT / "docs" / name, text())
    for name, path in WRITTEN.items():
        write_text(path, written(name))


def make_picture() -> None:
    """The picture of README: the first screen of the comparison of the bundled examples. Needs a Chromium."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        run_line(f"evaltools report seeds example:cr/no_memory example:cr/with_memory -o {folder}")
        (page,) = Path(folder).glob("reports/*/metric_report.html")
        path = os.environ.get("EVALTOOLS_CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 1200, "height": 760})
        shown.goto(page.as_uri())
        shown.screenshot(path=ROOT / "docs" / "comparison.png")
        browser.close()


def make_notebooks() -> None:
    """Run every notebook with its default parameters and store the outputs that nbval compares."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        resources = {"metadata": {"path": str(path.parent)}}
        settings = {"timeout": 600, "record_timing": False}
        NotebookClient(notebook, resources=resources, **settings).execute()
        tidy(notebook)
        del notebook.metadata.language_info["version"]
        write_text(path, nbformat.writes(notebook) + "\n")


PARTS = {
    "docs": make_docs,
    "picture": make_picture,
    "notebooks": make_notebooks,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
