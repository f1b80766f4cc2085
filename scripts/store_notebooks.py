"""Run every notebook with its default parameters and store the outputs that nbval compares.

python scripts/store_notebooks.py [NOTEBOOK...]
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from evaltools.core.files import write_text
from evaltools.report.notebook import tidy

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def main() -> None:
    for path in map(Path, sys.argv[1:] or sorted(map(str, NOTEBOOKS.glob("*.ipynb")))):
        nb = nbformat.read(path, as_version=4)
        resources = {"metadata": {"path": str(NOTEBOOKS)}}
        NotebookClient(nb, timeout=600, resources=resources).execute()
        tidy(nb)
        write_text(path, nbformat.writes(nb) + "\n")
        print(path)


if __name__ == "__main__":
    main()
