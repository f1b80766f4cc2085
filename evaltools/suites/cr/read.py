"""What is read of a Conflict Review run: by which options, from which files, and which fields of a record count.

Of the fields that a tuple or label may come from, the first that is not empty wins. Seed cr_metrics_spec 1, 2, 6, 7.
"""

from contextlib import suppress
from functools import cache
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, Field, field_validator

from ...core.files import Fields, Names, toml_of_package
from ...core.messages import InputError, Problems
from ...core.records import File, read_json, read_jsonl
from ...core.suite import Source, SuiteOptions
from .schema import Gold, Output, Row, Scorecard, TraceEntry, TupleRow
from .tuples import Key, MatchPolicy, match_policy, term_of

TABLES = toml_of_package("suites/cr/metrics.toml")


class CrOptions(SuiteOptions):
    """What decides the numbers of a Conflict Review run; the gold file's content counts as an input."""

    protocol: Literal["cr_v2", "cr_v1"] = Field(
        "cr_v2",
        description="What the short metric names mean: cr_v2 (ref, polarity) or cr_v1 (term, polarity).",
    )
    match: str = Field(
        "spec",
        description="How tuples are matched: spec, reference, or switches as in spacing=collapse,implicit=set,"
        "pairless=zero (docs/decisions.md, D5, D6, D26).",
    )
    stop_terms: Names = Field(
        tuple(TABLES["stop_terms"]),
        description="Terms that are no valid aspect (repeatable; they replace the default list).",
    )
    allowlist: Names = Field(
        tuple(TABLES["allowlist"]),
        description="Valid aspects even if of one character or stop terms (repeatable).",
    )
    gold: Path | None = Field(
        None,
        description="Gold file that replaces the run's own gold; without it the run's own counts.",
    )

    profile: Names = Field(
        (), description="Only the rows of this profile (repeatable); without it all rows."
    )

    @field_validator("match")
    @classmethod
    def _known_policy(
        cls,
        text: str,
    ) -> str:
        match_policy(text)
        return text

    @property
    def key(self) -> Key:
        """The key of the protocol, for which the short metric names stand."""
        return "refpol" if self.protocol == "cr_v2" else "otepol"

    @property
    def match_policy(self) -> MatchPolicy:
        """How tuples are matched."""
        return match_policy(self.match)

    def policy(self) -> Fields:
        """All that decides the numbers. The gold file is an input, hashed by its content."""
        hidden = {"gold"} if self.profile else {"gold", "profile"}
        policy = self.model_dump(mode="json", exclude=hidden)
        return policy | {"match_policy": self.match_policy._asdict()}

    def signature(self) -> dict[str, str]:
        """The parts of the signature line that are of this suite."""
        parts = {"protocol": self.protocol, "key": self.key, "match": self.match}
        if self.profile:
            parts["profile"] = ",".join(self.profile)
        return parts


FINAL_SOURCES = ("final_tuples", "final_aspects", "inputs_aspect_sentiments")


split = cache(str.split)  # a path is split once for all rows


def at(
    record: Any,
    *paths: str,
) -> Any:
    """What stands in a record under the first of these paths, names with dots between, that is not empty; else None.

    >>> at(TupleRow(label="a"), "span.start", "polarity", "label")
    'a'
    """
    for path in paths:
        value = record
        for name in split(path, "."):
            value = value and getattr(value, name, None)
        if value:
            return value
    return None


def gold_rows(row: Any) -> list[TupleRow]:
    """gold_tuples, else gold_triplets, at top level or under inputs; empty where there are none."""
    return (
        at(row, "gold_tuples", "gold_triplets", "inputs.gold_tuples", "inputs.gold_triplets") or []
    )


def process_trace(card: Scorecard) -> list[TraceEntry]:
    """What the agents did, in order: as the output has it, else as the scorecard has it."""
    return at(card, "runtime.parsed_output.process_trace", "runtime.process_trace") or []


def final_rows(card: Scorecard) -> tuple[str, list[TupleRow]]:
    """The tuples of the final result, after the one of FINAL_SOURCES that they come from.

    final_tuples; else final_aspects; else inputs.aspect_sentiments with a term that is not empty.
    """
    for source in ("final_tuples", "final_aspects"):
        if rows := at(card, f"runtime.parsed_output.final_result.{source}"):
            return source, rows
    for inputs in ("inputs", "runtime.parsed_output.inputs"):
        rows = [row for row in at(card, f"{inputs}.aspect_sentiments") or () if term_of(row)]
        if rows:
            break
    return "inputs_aspect_sentiments", rows


def stage1_rows(card: Scorecard) -> list[TupleRow]:
    """final_result.stage1_tuples; else those of the stage1/ATSA entry of the process trace; else empty."""
    rows = at(card, "runtime.parsed_output.final_result.stage1_tuples")
    for entry in process_trace(card):
        if (entry.stage or "").lower() == "stage1" and (entry.agent or "").upper() == "ATSA":
            rows = rows or at(entry, "output.aspect_sentiments")
    return rows or []


FILES = {
    "scorecards": "scorecards.jsonl",
    "outputs": "outputs.jsonl",
    "gold": "gold.jsonl",
    "override_gate": "override_gate_debug_summary.json",
}

# what our own runner makes; the first file marks such a folder
RUNNER = ("run_manifest.json", "outputs.jsonl", "gold.jsonl", "calls.jsonl", "episodes.jsonl")

# the roles of a run's main file, the preferred one first
MAIN = ("scorecards", "outputs")


def locate(
    path: Path,
    name: str | None,
    options: CrOptions,
    problems: Problems,
) -> Source:
    """The files of a run folder, or of one scorecards or outputs file.

    Outputs go with the gold of the options, or with the folder's own gold.jsonl. InputError where the main file is
    missing.
    """
    folder = path
    if path.is_dir():
        # beside what our own runner made, scorecards are what scoring it left there
        is_our_run = (folder / RUNNER[0]).is_file()
        roles = [role for role in MAIN if (folder / FILES[role]).is_file()]
        if not roles:
            raise problems.fatal(
                "missing-file",
                f"holds neither {FILES['scorecards']} nor {FILES['outputs']}",
                file=folder,
            )
        role = roles[-1 if is_our_run else 0]
        path = folder / FILES[role]
    else:
        folder = path.parent
        File(path, problems)
        is_output = path.name == FILES["outputs"] or any(
            row.final_result
            for _, row in islice(read_jsonl(File(path, Problems("skip")), Output), 1)
        )
        role = "outputs" if is_output else "scorecards"
    files = {role: path}
    for other in ("gold", "override_gate"):
        file = folder / FILES[other]
        if file.is_file() and (other, role) != ("gold", "scorecards"):
            files[other] = file
    if options.gold:
        files["gold"] = options.gold
        File(options.gold, problems)
    return Source(name or folder.resolve().name, files)


def read_gold(file: File) -> dict[str, list[TupleRow]]:
    """Gold tuples by sample id. A line without an id or with a doubled one is an error."""
    rows = file.unique(read_jsonl(file, Gold), attrgetter("uid"), "gold line for this sample")
    return {row.uid: gold_rows(row) for _, row in rows}


class OverrideGate(Row):
    """The numbers of the debate override, which Conflict Review switches off (seed cr_metrics_spec 6)."""

    candidate_n: float | None = Field(
        None, ge=0, validation_alias=AliasChoices("override_candidate_n", "candidate_n")
    )
    applied_n: float | None = Field(
        None, ge=0, validation_alias=AliasChoices("override_applied_n", "applied_n")
    )


def read_override(
    path: Path | None,
    problems: Problems,
) -> Fields:
    """The columns of the override gate: override_candidate_n, override_applied_n, has_override.

    A file that does not fit is an error, without which the run can be scored: under on_error="skip" it is left out.
    """
    gate = OverrideGate()
    if path:
        with suppress(InputError):
            file = File(path, problems)
            gate = file.record(OverrideGate.model_validate, read_json(file))
    has_both = None not in (gate.candidate_n, gate.applied_n)
    return {
        "has_override": has_both,
        "override_candidate_n": (gate.candidate_n or 0.0) * has_both,
        "override_applied_n": (gate.applied_n or 0.0) * has_both,
    }
