"""Build the documentation as a site that opens from the file system: docs/, the API from docstrings, the examples.

    python scripts/build_site.py [OUT] [--examples FOLDER]      OUT: site

Strict: a page that stands in no navigation, and a link or an anchor that leads nowhere, end it with status 1. The
examples are the reports and the gallery of `evaltools demo`, made now, or FOLDER where they are made already.
"""

from __future__ import annotations

import argparse
import inspect
import json
import logging
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from properdocs.commands.build import build
from properdocs.config import load_config
from properdocs.exceptions import Abort

import evaltools as et

ROOT = Path(__file__).resolve().parents[1]
DOCS, CONFIG = ROOT / "docs", ROOT / "mkdocs.yml"
README, SIMULATIONS = ROOT / "README.md", ROOT / "benchmarks" / "simulations.md"
FONT = ROOT / "evaltools" / "report" / "fonts" / "EvaltoolsSansCJK-Regular.otf"
PATTERNS = yaml.load(CONFIG.read_text(encoding="utf-8"), yaml.BaseLoader)["nav"]

API = """# Python

What `import evaltools as et` gives. Each example runs as a test.
"""

EXAMPLES = """# Examples

Reports and gallery that `evaltools demo` makes of the bundled examples, which are small and invented.

"""


def as_page(text: str) -> str:
    """A document with the links that it needs as a page of the site, where all pages lie in one folder."""
    return re.sub(r"\]\((\.\./)?(docs|benchmarks)/", "](", text)


def described(thing: Any) -> str:
    """A docstring as Markdown: its runnable examples become blocks of code."""
    text = inspect.getdoc(thing) or ""
    return re.sub(
        r"^>>> .*?(?=\n\n|\Z)", r"```pycon\n\g<0>\n```", text, flags=re.DOTALL | re.MULTILINE
    )


def signature(name: str, thing: Callable[..., Any]) -> str:
    """The call, a parameter a line where there are several."""
    try:
        found = inspect.signature(thing)
    except ValueError:  # an exception without a constructor of its own
        return name
    # annotations are texts, which are shown as such; defaults keep their quotes
    parameters = [
        re.sub(": '([^']*)'", r": \1", str(p)).replace("<factory>", "...")
        for p in found.parameters.values()
        if p.name != "self"
    ]
    inner = (
        ", ".join(parameters)
        if len(parameters) < 3
        else "".join(f"\n    {p}," for p in parameters) + "\n"
    )
    made = found.return_annotation
    returns = "" if inspect.isclass(thing) or made is found.empty else f" -> {made}"
    return f"{name}({inner}){returns}"


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that say what they do."""
    for name, member in inspect.getmembers(kind):
        function = member.fget if isinstance(member, property) else member
        ours = inspect.isfunction(function) and function.__module__.startswith("evaltools")
        if ours and not name.startswith("_") and function.__doc__:
            yield name, member


def api() -> str:
    lines = [API]
    for name in et.__all__[1:]:
        thing = getattr(et, name)
        lines += [
            f"## {name}\n",
            f"```python\n{signature(name, thing)}\n```\n",
            described(thing),
            "",
        ]
        for member, function in members(thing) if inspect.isclass(thing) else ():
            call = member if isinstance(function, property) else signature(member, function)
            lines += [
                f"### {name}.{member}\n",
                f"```python\n{call}\n```\n",
                described(function),
                "",
            ]
    lines += [
        "## Options of the suites\n",
        "Named parameters of `evaluate`, `study` and `compare`.\n",
    ]
    for suite in et.BUILT_IN:
        model = et.options(suite)
        lines += [f"### {suite}\n", "| option | default | |", "| --- | --- | --- |"]
        fields = ((n, model.model_fields[n]) for n in model.settable())
        lines += [f"| `{n}` | `{f.default!r}` | {f.description or ''} |" for n, f in fields]
        lines.append("")
    return "\n".join(lines)


def examples(folder: Path) -> str:
    """Links to the reports and the gallery of a folder of results."""
    reports = sorted(folder.glob("reports/*/*.html"))
    named = [
        (re.search("<title>(.*?)</title>", r.read_text(encoding="utf-8"), re.DOTALL), r)
        for r in reports
    ]
    lines = [
        f"- [{(m[1] if m else r.parent.name).strip()}]({r.relative_to(folder.parent).as_posix()})"
        for m, r in named
    ]
    return EXAMPLES + "\n".join(["- [Gallery](examples/index.html)", *lines]) + "\n"


def navigation(entries: list[Any], pages: set[str]) -> list[Any]:
    """The entries of `nav`, patterns replaced by the pages that they match."""
    found: list[Any] = []
    for entry in entries:
        if isinstance(entry, dict):
            found += [
                {k: navigation(v, pages) if isinstance(v, list) else v for k, v in entry.items()}
            ]
        else:
            found += sorted(page for page in pages if Path(page).match(entry))
    return found


def build_site(out: Path, made: Path | None = None) -> None:
    """Write the site to `out`; `made` is a folder that `evaltools demo` wrote. Abort where a warning was given."""
    with tempfile.TemporaryDirectory() as temporary:
        pages = Path(temporary) / "docs"
        shutil.copytree(DOCS, pages)
        shutil.copy(FONT, pages)
        if made:
            shutil.copytree(made, pages / "examples")
        else:
            demo = [
                sys.executable,
                "-m",
                "evaltools.app.cli",
                "demo",
                "-q",
                "-o",
                str(pages / "examples"),
            ]
            subprocess.run(demo, check=True)
        for page in pages.glob("*.md"):
            page.write_text(as_page(page.read_text(encoding="utf-8")), encoding="utf-8")
        written = {
            "index.md": as_page(README.read_text(encoding="utf-8")),
            "simulations.md": as_page(SIMULATIONS.read_text(encoding="utf-8")),
            "api.md": api(),
            "examples.md": examples(pages / "examples"),
        }
        for name, text in written.items():
            (pages / name).write_text(text, encoding="utf-8")
        nav = navigation(PATTERNS, {p.name for p in pages.glob("*.md")})
        build(
            load_config(
                str(CONFIG), docs_dir=str(pages), site_dir=str(out.resolve()), nav=nav, strict=True
            )
        )
        shutil.copytree(
            pages / "examples", out / "examples", dirs_exist_ok=True
        )  # its Markdown is no page
    index = out / "search" / "search_index.json"
    found = json.loads(index.read_text(encoding="utf-8"))["docs"]
    # whole pages go: their sections are there too; so does the mark of a heading's link
    sections = [
        {**s, "text": s["text"].replace(" \u00b6", "")} for s in found if "#" in s["location"]
    ]
    # a script, because pages of the file system may read nothing else
    index.with_name("index.js").write_text(
        f"const SECTIONS = {json.dumps(sections, ensure_ascii=False)};", encoding="utf-8"
    )
    index.unlink()
    (out / "404.html").unlink()  # its addresses are those of a server


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("out", type=Path, nargs="?", default=ROOT / "site")
    arguments.add_argument("--examples", type=Path, help="a folder that `evaltools demo` wrote")
    given = arguments.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    try:
        build_site(given.out, given.examples)
    except Abort as e:
        sys.exit(str(e))
    print(given.out / "index.html")
