"""`evaltools calibrate SCORES [LABELS]`: scores of a judge or of rules compared with labels of people."""

from pathlib import Path

import click
import pandas as pd

from ...core.commands import PATH, number
from ...core.files import refuse_input, write_csv
from ...core.messages import Problems, echo, paragraph
from ...core.records import File
from ...stats import calibration
from ..options import confidence_option
from ..show import show_frame

# columns of calibration.csv that the terminal shows, and how it names them
SHOWN = {
    "metric": "metric",
    "n_labelled": "labels",
    "n": "of",
    "judge_mean": "score",
    "labels_mean": "label",
    "judge_kappa": "kappa",
    "corrected_mean": "corrected",
    "corrected_low": "low",
    "corrected_high": "high",
}


def _scale(text: str) -> tuple[float, float]:
    """The range that a text such as "1-5" names, as (low, high)."""
    first, _, last = text.partition("-")
    low, high = number(first), number(last)
    if low < high:
        return low, high
    raise click.BadParameter(f"expected LOW-HIGH, such as 1-5, got {text!r}")


@click.command()
@click.argument("scores", type=PATH)
@click.argument("labels", type=PATH, required=False)
@click.option(
    "-o",
    "--out",
    type=PATH,
    default=Path("calibration.csv"),
    help="The file to write.",
)
@click.option(
    "--scale",
    default="0-1",
    metavar="LOW-HIGH",
    type=_scale,
    help="The worst and the best label, such as 1-5.",
)
@confidence_option
def calibrate(
    scores: Path,
    labels: Path | None,
    out: Path,
    scale: tuple[float, float],
    confidence: float,
) -> None:
    """Compare SCORES of a judge or of rules with LABELS of people.

    SCORES have the columns case_id, metric, score (summary_scores.csv is such a file), LABELS case_id, metric, label,
    and maybe rater; both are CSV, TSV, XLSX or JSONL. A workbook summary_scores.xlsx with labels in it is both at once,
    and its labels count beside those of LABELS.
    A label is a number from 0 to 1, yes or no, pass or fail, 합격 or 불합격, 예 or 아니요. The corrected mean is what
    people would give all cases; below 30 labels of a metric there is none.
    """
    refuse_input(out, filter(None, (scores, labels)))
    problems = Problems()
    scored = calibration.read_scores(File(scores, problems))
    problems.raise_if_failed()
    own = [scores] if not labels or scored["label"].notna().any() else []
    files = [File(path, problems) for path in filter(None, (labels, *own))]
    labelled = pd.concat(
        [calibration.read_labels(file, scored, scale) for file in files]
    ).drop_duplicates()
    problems.raise_if_failed()
    if labelled.empty:
        raise files[0].fatal("no-labels", "no label in this file")
    for case in labelled[labelled.duplicated(["case_id", "metric", "rater"])]["case_id"]:
        raise files[0].fatal(
            "duplicate-id", f"another label of {case!r} by the same rater stands in {scores}"
        )
    problems.tell()
    frame, notes = calibration.calibrate(scored, labelled, confidence)
    write_csv(out, frame)
    show_frame(frame[list(SHOWN)].rename(columns=SHOWN))
    paragraph(
        f"\nIntervals of {confidence:.0%}, for new cases of the same kind; they hold where the labelled cases were drawn "
        "at random."
    )
    for note in notes:
        paragraph(f"note: {note}")
    echo(out)
