"""The checks of every suite: what they look for, when they apply, what they block, what to do.

Titles stand on pages and are translated; the rest is written to docs/checks.md by scripts/make_docs.py.
"""

from __future__ import annotations

from .check import CheckKind

FEW_UNITS = CheckKind(
    code="few-units",
    title="fewer than 30 resampling units",
    advice="Evaluate more samples: `evaltools plan` says how many show the difference you look for. Until then read"
    " the interval, not the value.",
)

CONSTANT_METRIC = CheckKind(
    code="constant-metric",
    title="a metric of the headline that no unit moves",
    applies="Where a metric of the headline is measured on 10 units or more.",
    advice="Do not compare systems by this metric: the data are too easy or too hard for it, or a field is always"
    " empty. Look at some samples, and at the metric that shows them apart.",
)

CLASS_SIZE = CheckKind(
    code="class-size",
    title="classes with few units in a mean over classes",
    applies="Where a metric is a mean over classes, as macro F1 is.",
    advice="Evaluate more units of these classes, or read a metric that weighs units alike (micro F1, accuracy): such"
    " a mean is too low on average, and no interval mends that.",
)

DUPLICATE_TEXTS = CheckKind(
    code="duplicate-texts",
    title="units that share a text, so that they are not independent",
    applies="Where the units have texts: the input text of a sample, the user's turns of a dialogue, the contexts of"
    " a summary, the column `text` of a table.",
    advice="Remove the copies, or give the copies of one text one cluster (`cluster` in a table).",
)

MISSING_UNITS = CheckKind(
    code="missing-units",
    title="a run without units that other runs of the study have",
    applies="To several runs that are seen together.",
    advice="Finish the run that lacks units (a runner resumes where it stopped). The values of a run rest on its own"
    " units; comparisons use the units that both sides have.",
)

ONE_SIDED_MISSING = CheckKind(
    code="one-sided-missing",
    title="values that only one side of a comparison has",
    applies="To conditions that are compared.",
    advice="Read the difference between its two ends: the message gives it if all that is missing were the worst, or"
    " the best. Find out why one side lacks the values (failed replies, a judge that was silent) and fill them in.",
)

MISSING_SEEDS = CheckKind(
    code="missing-seeds",
    title="a condition without seeds that other conditions of the study have",
    applies="To a study of several conditions whose runs have seeds.",
    advice="Run the seeds that are missing, or leave out the seeds that only one condition has.",
)

INPUT = CheckKind(
    code="input",
    title="records of the input that could not be used, or only in part",
    applies="Always; it stands on pages, and its counts in `problems` of manifest.json.",
    advice="`evaltools check SUITE FILE` lists every problem with its line. Mend the file: what was left out is in no"
    " number of the page.",
)

BUNDLED_EXAMPLE = CheckKind(
    code="bundled-example",
    title="numbers of a bundled example",
    applies="To inputs that are named `example:...`; it stands on pages only.",
    advice="Give your own files.",
)

RUN_KINDS = (FEW_UNITS, CONSTANT_METRIC, CLASS_SIZE)
"""The checks that every run has."""

STUDY_KINDS = (MISSING_UNITS, ONE_SIDED_MISSING, MISSING_SEEDS)
"""The checks that need several runs."""

PAGE_KINDS = (INPUT, BUNDLED_EXAMPLE)
"""The checks that stand on pages, and not in metrics.json."""
