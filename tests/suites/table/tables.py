"""Long tables as files of each kind."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import evaltools as et

KINDS = ("csv", "jsonl", "xlsx")


FEW = et.Resampling(n_resamples=100)


def put(
    folder: Path,
    rows: list[dict[str, Any]] | pd.DataFrame,
    kind: str = "jsonl",
    name: str = "scores",
) -> Path:
    path = folder / f"{name}.{kind}"
    frame = pd.DataFrame(rows)
    if kind in ("csv", "tsv"):
        frame.to_csv(path, index=False, sep={"csv": ",", "tsv": "\t"}[kind])
    elif kind == "xlsx":
        frame.to_excel(path, index=False)
    else:
        text = "".join(
            json.dumps({k: v for k, v in row.items() if v is not None}) + "\n" for row in rows
        )
        path.write_text(text, encoding="utf-8")
    return path


ROWS = [
    {"id": "a", "metric": "acc", "value": 1, "text": "one"},
    {"id": "b", "metric": "acc", "value": 0, "text": "two"},
    {"id": "c", "metric": "acc", "value": 1, "text": "three"},
    {"id": "d", "metric": "acc", "value": None, "text": "four"},
    {"id": "a", "metric": "rouge l", "value": 0.25},
    {"id": "b", "metric": "rouge l", "value": 0.75},
    {"id": "a", "metric": "loss", "value": -2.0},
    {"id": "b", "metric": "loss", "value": 5.0},
    {"id": "a", "metric": "bits", "num": 3, "den": 2},
    {"id": "b", "metric": "bits", "num": 1, "den": 6},
]


ROW = {"id": "a", "metric": "acc", "value": 1.0}


def grid(conditions: str = "AB", seeds: int = 3) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [
        {
            "id": f"q{i}",
            "metric": "acc",
            "value": int(rng.random() < 0.5),
            "condition": c,
            "seed": s,
        }
        for c in conditions
        for s in range(1, seeds + 1)
        for i in range(30)
    ]
