"""Sentences that pages and commands must say in a situation, and those that would be wrong there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import evaltools as et
from evaltools.report.display import unknown_parameters
from evaltools.report.gallery import collect
from tests.suites.cr.test_cr_checks import FOREIGN, GOLD
from tests.suites.cr.test_cr_checks import scored as reviewed
from tests.suites.memfin.test_memfin_checks import echo
from tests.suites.memfin.test_memfin_checks import scored as talked

from ..app.calling import QUICK, call

REVIEW, SUMMARY = "example:cr/with_memory__seed1_proposed", "example:summary/cases.jsonl"


def run_page(run: et.Run) -> str:
    return run.page().text


def study_page(study: et.Study) -> str:
    """The first screen of a study, its comparison and what it says in words."""
    return "\n".join(
        [
            study.page().text,
            *(study.table(name).text for name in ("comparison", "all metrics")),
        ]
    )


def no_ref_in_gold(tmp: Path) -> str:
    return run_page(reviewed(tmp / "r", GOLD, FOREIGN))


def refs_in_gold(tmp: Path) -> str:
    return run_page(reviewed(tmp / "r", GOLD, GOLD))


def echoing(tmp: Path) -> str:
    return run_page(talked(tmp, echo(19)))


def answering(tmp: Path) -> str:
    return run_page(talked(tmp, echo(0)))


def summaries(tmp: Path) -> str:
    return run_page(et.evaluate("summary", SUMMARY))


def verdicts_everywhere(tmp: Path) -> str:
    """The verdicts of one file of summaries: Python, terminal, gallery, gate."""
    said = call("score", "summary", SUMMARY, "-o", tmp, *QUICK).stdout
    run = et.load(tmp / "results" / "cases")
    (card,) = collect(tmp)[0]
    judged = [f"{v.title}, {v.verdict}, {v.said}" for v in card.metrics.verdicts]
    gate = call("gate", tmp / "results" / "cases", status=1).stdout
    return "\n".join([run.verdicts.to_string(), said, *judged, gate])


def different_by_little(tmp: Path) -> str:
    return study_page(et.compare("example:cr/no_memory", "example:cr/with_memory"))


def few_dialogues(tmp: Path) -> str:
    return study_page(et.study(["example:memfin/memory_agent", "example:memfin/plain_llm"]))


def the_same_twice(tmp: Path) -> str:
    return study_page(et.compare(REVIEW, REVIEW))


def nothing_shared(tmp: Path) -> str:
    sides = []
    for name in ("a", "b"):
        sides.append(tmp / f"{name}.jsonl")
        record = {"id": name, "answer": "30만원", "contexts": ["30만원"]}
        sides[-1].write_text(json.dumps(record), encoding="utf-8")
    return call("compare", *sides, *QUICK, status=2).output


def a_few_units(tmp: Path) -> str:
    """Eight samples."""
    run = reviewed(tmp / "r", GOLD[:8], [*GOLD[:5], *FOREIGN[:3]])
    return run_page(run)


def bundled(tmp: Path) -> str:
    return run_page(et.evaluate("cr", REVIEW))


def titles(tmp: Path) -> str:
    return "\n".join(m.title for m in et.evaluate("cr", REVIEW).metrics)


def still_wrong(tmp: Path) -> str:
    """What can be browsed where samples are wrong before and after review."""
    run = reviewed(tmp / "r", GOLD, [*GOLD[:6], *FOREIGN[:6]])
    return run_page(run) + run.samples().html


@pytest.mark.parametrize("predicted, blocked", [(FOREIGN, True), (GOLD, False)])
def test_what_cannot_be_measured_is_struck_in_every_table(
    tmp_path: Path, predicted: list, blocked: bool
) -> None:
    a, b = (reviewed(tmp_path / name, GOLD, predicted) for name in ("a", "b"))
    study = et.study([a, b])
    group = a.table("Tuple F1")
    saved = call("score", "cr", tmp_path / "a", "-o", tmp_path / "out", *QUICK)
    written = tmp_path / "out/results/a/derived/metrics/structural_metrics_table.md"
    terminal = call("compare", tmp_path / "a", tmp_path / "b", "--all", *QUICK)
    texts = [group.text, written.read_text("utf-8"), terminal.stdout]
    texts += [study.table("all metrics").text]
    assert saved.exit_code == terminal.exit_code == 0
    assert [blocked] * 4 == ["cannot be measured" in text for text in texts]
    pages = [group, a.page(), study.table("all metrics")]
    assert [blocked] * 3 == ["<s>0.000</s>" in page.html for page in pages]


NO_VERDICTS = ["tied", "no verdict", "no difference", "no variation"]

WORDS: dict[Callable[[Path], str], tuple[list[str], list[str]]] = {
    # scenario: what must appear, what must not
    no_ref_in_gold: (
        ["Cannot be measured", "none of the 12 predicted refs occurs", "(ote-pol)"],
        ["No check", "no caution"],
    ),
    refs_in_gold: (
        ["Tuple F1 after review (ref-pol)"],
        ["Cannot be measured", "predicted refs occurs"],
    ),
    echoing: (
        ["Cannot be measured", "19 of 20 replies are the user's own text"],
        ["No check failed"],
    ),
    answering: (["Compliance accuracy"], ["the user's own text", "Cannot be measured"]),
    summaries: (["Summary accuracy, measured cases", "0.762", "0.750"], ["| 0.708", "| 0.792"]),
    verdicts_everywhere: (
        [
            "fail: Summary accuracy",
            "FAIL summary_accuracy",
        ],
        ['"met"', "is met", "not met"],
    ),
    different_by_little: (["not shown to differ"], NO_VERDICTS),
    few_dialogues: (["5 paired units, of which", "too few: 5 pairs"], NO_VERDICTS),
    the_same_twice: (
        ["are identical: there is nothing to compare", "40 pairs, 0 differ"],
        [*NO_VERDICTS, "better", "worse", "not shown to differ"],
    ),
    nothing_shared: (["share no case_id", "nothing to compare"], ["0.0000", "0.000", "tied"]),
    a_few_units: (["only 8 units"], ["simulat", "93.5"]),
    bundled: (["these are the numbers of a bundled example"], []),
    titles: (["Net gain (ref-pol)", "Fix rate (ref-pol)"], ["Fixed less broken", "less broken"]),
    still_wrong: (["Still wrong", "6 still wrong"], []),
}


@pytest.mark.parametrize("scenario", WORDS, ids=lambda s: s.__name__)
def test_words(scenario: Callable[[Path], str], tmp_path: Path) -> None:
    text = scenario(tmp_path)
    there, absent = WORDS[scenario]
    assert [w for w in there if w not in text] == [], text[:3000]
    assert [w for w in absent if w in text] == [], text[:3000]


def test_an_alias_has_the_verdict_of_its_metric() -> None:
    frame = et.compare("example:cr/no_memory", "example:cr/with_memory").frame.set_index("metric")
    aliases = frame[frame["alias_of"] != ""]
    assert (
        len(aliases)
        and (aliases["verdict"] == frame.loc[aliases["alias_of"], "verdict"].to_numpy()).all()
    )


def test_a_misspelt_parameter_is_named_and_a_known_one_is_not() -> None:
    injected = "# Parameters\nrnu = 'mine'\n"
    assert list(unknown_parameters(["", "run = 'example'\nout = None\n", injected])) == ["rnu"]
    assert not unknown_parameters(
        ["", "run = 'example'\nout = None\n", injected.replace("rnu", "run")]
    )


def test_one_metric_is_said_in_the_same_words_and_digits_everywhere(tmp_path: Path) -> None:
    """Title, arrow, value and interval of the headline: terminal, first screen, table and gallery."""
    said = call("score", "cr", REVIEW, "-o", tmp_path, *QUICK).stdout
    run = et.load(tmp_path / "results" / "with_memory__seed1_proposed")
    cards, table = run.page().text, run.table().text
    results = collect(tmp_path)[0]
    for estimate in results[0].estimates:
        row = results[0].texts(estimate)
        [line] = [line for line in said.splitlines() if line.endswith(f" {row['metric']}")]
        assert line.split("  ")[1].startswith(f"{row['title']} {row['arrow']}".strip()[:20])
        for text in (line, cards.replace("\\", ""), table.replace("\\", "")):
            assert row["interval"] in text and row["value"] in text, row
