"""The first screen of a page: what came out, whether to believe it, and where to look; its title is the finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import TYPE_CHECKING

from ..core.language import say
from . import study_sentences, study_tables
from .browse import groups_of_change, groups_of_run
from .headline import headline, primary_differences, verdict_strip
from .markdown import number
from .provenance import intervals_in_use
from .samples import of_suite
from .strip import SMALL_N
from .tables import HtmlTable, signature_block, stack, where_to_look, words
from .templates import macros
from .trust import is_bundled, trust_line

if TYPE_CHECKING:
    from .run import Run
    from .study import Study


def title(
    kind: Sequence[str],
    size: str,
    finding: str,
    details: str = "",
) -> HtmlTable:
    """The title of a page: small above it what kind of page it is and how much was scored, small in it the numbers."""
    colon = say("{finding}: {details}", finding="", details="")
    html = macros().first(kind, size, finding, details, colon)
    return HtmlTable(html)


def run_screen(run: Run) -> HtmlTable:
    """The first screen of one run."""
    usual = run.suite.headline(run.options, frozenset())
    blocked = [name for name in usual if name in run.blocked]
    estimates = run.estimates.set_index("metric", drop=False).loc[[*run.headline, *blocked]]
    has_interval = estimates["ci_low"].notna()
    about = []
    if has_interval.any():
        level = run.resampling.percent
        about.append(say("{level} intervals speak for {claim}.", level=level, claim=say(run.claim)))
    if (estimates.loc[has_interval, "n_units"] < SMALL_N).any():
        about.append(say("Hollow: fewer than {n} units.", n=SMALL_N))
    return _screen(
        run,
        run.name,
        of_suite("finding", run) or study_sentences.run_finding(run),
        [],
        groups_of_run(run),
        [
            of_suite("first_screen", run) or stack([]),
            headline(run, estimates),
            words(" ".join(about)),
        ],
    )


def study_screen(study: Study) -> HtmlTable:
    """The first screen of several runs: of one candidate every difference, of several the primary one, else values."""
    n_conditions = len(study.conditions)
    size = say("conditions: {conditions}, runs: {n}", conditions=n_conditions, n=len(study.results))
    pieces = []
    carrying: dict[str, Sized] = {}
    for name in study.candidates:
        carrying |= groups_of_change(study, study.primary, name)
    if not study.candidates:
        numbers = headline(study, study_tables.estimates(study))
    elif len(study.candidates) > 1:
        numbers = primary_differences(study)
    else:
        numbers = study.table()
        (compared,) = study.comparisons.values()
        for row in study_sentences.primary_rows(study).values():
            if not compared.identical:
                pieces.append(verdict_strip(study, row))
        pieces.append(words("\n\n".join(study_sentences.settling(study))))
    return _screen(
        study,
        size,
        study_sentences.finding(study),
        pieces,
        carrying,
        [numbers, words(study_sentences.how(study))],
    )


def _screen(
    shown: Run | Study,
    what: str,
    finding: study_sentences.Parts,
    verdict: Sequence[HtmlTable],
    groups: Mapping[str, Sized],
    numbers: Sequence[HtmlTable],
) -> HtmlTable:
    """The pieces that every first screen has, in their order; `what` is shown, and `groups` of units lead on."""
    kind = [say(shown.suite.title), what]
    if is_bundled(shown):
        kind.append(say("bundled example"))
    counts = [run.n_units for run in shown.results]
    ends = dict.fromkeys([number(min(counts)), number(max(counts))])
    return stack(
        [
            title(kind, f"n = {'–'.join(ends)} ({shown.suite.unit})", *finding),
            words("\n\n".join(study_sentences.switched(shown))),
            *verdict,
            trust_line(shown),
            where_to_look(groups),
            *numbers,
            words(intervals_in_use(shown)),
            signature_block(shown.signature),
        ]
    )
