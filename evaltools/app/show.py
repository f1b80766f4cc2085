"""What the terminal says of a run or a study: its finding, its headline in a table, and cautions."""

from collections.abc import Sequence

from pandas import DataFrame

from ..core.estimates import LEVEL_WORDS, Check
from ..core.messages import echo, paragraph, speaking, terminal_table, write
from ..report import study_sentences
from ..report.run import Run
from ..report.study import Study
from ..report.tables import p_head, text_table
from ..report.text import number

# lines of a table, and checks, that are shown without --verbose
MOST_LINES = 12
MOST_CHECKS = 3


@speaking("en")
def show_result(
    shown: Run | Study,
    verbose: bool,
    everything: bool = False,
) -> None:
    """Print what was found, a line a metric, and what a reader must know before believing it.

    `everything`: all metrics of a comparison, not only the headline.
    """
    for sentence in [*study_sentences.outcomes(shown), study_sentences.settling(shown)]:
        paragraph(sentence)
    if shown.candidates:
        echo(f"\nA {shown.baseline}")
        if len(shown.candidates) == 1:
            echo(f"B {shown.candidates[0]}")
    _show_table(shown, verbose, everything)
    if isinstance(shown, Study):
        echo()
        show_checks(shown.doubts(), verbose)
    else:
        if shown.suite.further:
            file = shown.manifest.options["metrics"]
            echo(f"and {len(shown.suite.further)} of {file}: in metrics.json")
        show_checks(shown.checks, verbose)
        for problem in shown.manifest.problems:
            for example in problem.examples[:1]:
                paragraph(f"{example} ({problem.count} in all)")
    if verbose:
        paragraph(study_sentences.how(shown))
        echo(shown.signature)


def _show_table(
    shown: Run | Study,
    verbose: bool,
    everything: bool,
) -> None:
    """Print the headline: of a comparison its differences, without numbers of a metric that a check blocks."""
    level = f"{shown.resampling.percent} interval"
    heads = {"value": "value", "interval": level, "n": "n"}
    rows = shown.rows_of(*(shown.formulas if everything else shown.headline))
    if shown.candidates:
        heads = {
            "baseline": "A",
            "candidate": "B",
            "difference": "B − A",
            "interval": level,
            "p": p_head(rows, shown.resampling.level),
        }
    columns = {"title": "metric", **heads, "verdict": "verdict", "metric": "id"}
    texts = text_table(rows, columns).rename(columns=columns)
    ids = texts[["id", "metric"]].drop_duplicates()
    if shown.candidates:
        texts["verdict"] += [f" ({short})" if short else "" for short in rows["short"]]
        if len(shown.candidates) > 1:
            texts["metric"] = rows["candidate"] + ": " + texts["metric"]
    elif len(shown.results) == 1 and shown.suite.verdicts:
        verdicts = shown.suite.verdicts(shown.results[0]).set_index("metric")["verdict"]
        texts["verdict"] = texts["id"].map(verdicts)
    show_frame(texts.drop(columns="id").fillna(""), verbose or everything)
    for short in dict.fromkeys(filter(None, rows.get("short", ()))):
        paragraph(f"tied ({short}): {study_sentences.SHORTFALLS[short]}")
    if verbose or everything:
        echo()
        show_frame(ids)


def show_frame(frame: DataFrame, verbose: bool = True) -> None:
    """Print a frame, its numbers rounded, without empty columns: all of it, or its first rows."""
    cells = frame.convert_dtypes().astype(object)
    cells = cells.map(lambda cell: cell if isinstance(cell, str) else number(cell))
    cells = cells.loc[:, (cells != "").any()]
    rows = cells.to_numpy().tolist()
    while (text := terminal_table(list(cells), rows)).count("\n") >= MOST_LINES and not verbose:
        rows.pop()
    write(text)
    if len(rows) < len(cells):
        echo(f"and {len(cells) - len(rows)} more (-v)")


def show_checks(checks: Sequence[Check], verbose: bool) -> None:
    """Print the checks, the worst first; of many only the first."""
    shown = checks if verbose else checks[:MOST_CHECKS]
    for check in shown:
        paragraph(f"{LEVEL_WORDS[check.level].lower()}: {check.message}")
    if len(shown) < len(checks):
        echo(f"and {len(checks) - len(shown)} more (-v)")
