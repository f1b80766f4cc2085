"""The first and the last thing on the page of a run: what it is, and where its numbers come from."""

from __future__ import annotations

import pandas as pd
from markupsafe import Markup

from ..suite import Result
from .tables import HtmlTable, notice, problems_text, signature_block, table
from .text import safe


def header(result: Result, *, incomplete: bool = False) -> HtmlTable:
    """Name, suite, size and signature of a run, and a warning where it is incomplete or its input had problems."""
    parts = [
        Markup('<p class="et-run"><strong>{}</strong> · {} · n = {:,} ({})</p>').format(
            safe(result.name), result.suite.title, result.n_units, result.suite.unit
        )
    ]
    found = result.manifest["problems"]
    if incomplete:
        parts.append(Markup(notice(f"This run is not complete: {problems_text(found)}.", "warning").html))
    elif found:
        parts.append(Markup(notice(problems_text(found), "warning").html))
    parts.append(Markup(signature_block(result.signature).html))
    text = f"{result.name} · {result.suite.title} · n = {result.n_units:,}\n\n{result.signature}"
    return HtmlTable(str(Markup("").join(parts)), text)


def provenance(result: Result) -> HtmlTable:
    """Inputs with their hashes, policy, versions; times stand in the manifest only."""
    m = result.manifest
    rows = [
        *(
            (f"input: {i['role']}", f"{i['path'].rsplit('/', 1)[-1]} · {i['bytes']:,} bytes · sha256 {i['sha256']}")
            for i in m["inputs"]
        ),
        *((f"policy: {k}", v if isinstance(v, str) else str(v)) for k, v in m["policy"].items()),
        ("intervals", f"{result.resampling}"),
        ("signature", result.signature),
    ]
    return table(pd.DataFrame(rows, columns=["what", "value"]), caption="Provenance", sortable=False)
