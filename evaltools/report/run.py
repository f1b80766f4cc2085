"""The first and the last thing on the page of a run: what it is, and where its numbers come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from ..core.errors import UsageError
from ..core.suite import Result
from ..studies import views as study_views
from ..studies.study import Study
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


def headers(results: Sequence[Result]) -> HtmlTable:
    """The headers of several runs, one below the other."""
    found = [header(r) for r in results]
    return HtmlTable("".join(h.html for h in found), "\n\n".join(h.text for h in found))


def words(text: str) -> HtmlTable:
    """Paragraphs of plain text, split at empty lines."""
    paragraphs = [Markup("<p>{}</p>").format(safe(p)) for p in text.split("\n\n")]
    return HtmlTable(str(Markup('<div class="et-words">{}</div>').format(Markup("").join(paragraphs))), text)


def notes(study: Study) -> HtmlTable:
    """What a reader must know before the comparison: incomplete seeds, leftovers, too few units."""
    found = [notice(n, "warning") for n in study.notes]
    return HtmlTable("".join(n.html for n in found), "\n".join(n.text for n in found))


def comparison(study: Study, *, headline: bool = True) -> HtmlTable:
    """Every candidate against the baseline, metric by metric; says so where there is nothing to compare."""
    found = study_views.comparison(study, headline=headline)
    if found.empty:
        return notice("One condition only: nothing to compare.", "info")
    columns = {
        "title": "metric",
        **({"candidate": "candidate"} if len(study.comparisons) > 1 else {}),
        "value_baseline": study.baseline,
        "value_candidate": "candidate" if len(study.comparisons) > 1 else next(iter(study.comparisons)),
        "difference": "difference",
        "p_value": "p",
        "p_adjusted": "p adj.",
        "n_units": "n",
        "verdict": "verdict",
    }
    difference = [_signed(*row) for row in found[["delta", "ci_low", "ci_high"]].itertuples(index=False)]
    claims = ", ".join(sorted({c for c in found["claim"] if c})) or "none"
    return table(
        found.assign(difference=difference),
        columns=columns,
        formats={"p_value": ".4f", "p_adjusted": ".4f"},
        caption=f"Against {study.baseline}, paired. Intervals: {claims}. p: sign flips, adjusted by Holm's method.",
    )


def _signed(value: float, low: float, high: float) -> str:
    if pd.isna(value):
        return "N/A"
    return f"{value:+.3f}" + ("" if pd.isna(low) else f" [{low:+.3f}, {high:+.3f}]")


def coverage(found: pd.DataFrame) -> HtmlTable:
    """Where the intervals of a page are known to cover more or less than they claim, at about this n."""
    if found.empty:
        return notice("Headline intervals of this size covered 93.5 to 96.5% in simulation (docs/statistics.md).")
    lines = [f"{note} Here: {metrics}." for note, metrics in found[["note", "metrics"]].itertuples(index=False)]
    return notice("\n".join(lines))


def if_installed(make: Callable[[], pd.DataFrame], **how: Any) -> HtmlTable:
    """The table of a frame that needs an extra, or a line that says which to install."""
    try:
        return table(make(), **how)
    except UsageError as e:
        return notice(str(e), "info")


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
