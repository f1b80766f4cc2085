"""`compare`, `plan` and `rank`: what they print and write, and what they refuse."""

from pathlib import Path

import pandas as pd
import pytest

import evaltools as et
from evaltools.app.show import show_result
from evaltools.report.paper import markdown
from evaltools.report.study_sentences import outcomes
from tests.files import read_json

from .calling import FAST, QUICK, call, said, without_pages, written

F1 = "tuple_f1_s2_refpol"


@pytest.fixture
def pair(scored: Path) -> tuple[str, str]:
    """Two conditions of three seeds each."""
    return str(scored / "no_memory"), str(scored / "with_memory")


@pytest.fixture
def two_runs(pair: tuple[str, str]) -> list[str]:
    return [f"{condition}__seed1_proposed" for condition in pair]


def test_the_verdict_first_then_lines_that_fit(
    here: Path, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = call("compare", *pair, "--csv", "c.csv", *QUICK).stdout
    lines = done.splitlines()
    assert max(map(len, lines)) <= 80
    study = et.compare(*pair, resampling=FAST)
    (sentence,) = outcomes(study)
    assert " ".join(done.split()).startswith(sentence)
    assert F1 not in done and "resamples:" not in done and lines[-1] == "c.csv"
    table = pd.read_csv("c.csv").set_index("metric")
    row = table.loc[F1]
    assert row["delta"] == pytest.approx(row["value_candidate"] - row["value_baseline"])
    (line,) = [line for line in lines if line.startswith("Net gain (ref-pol)")]
    fix = table.loc["net_gain_refpol"]
    numbers = [f"{fix['value_baseline']:.3f}", f"{fix['value_candidate']:.3f}"]
    assert line.split()[4:7] == [*numbers, f"{fix['delta']:+.3f}"]
    monkeypatch.setenv("COLUMNS", "200")
    everything = call("compare", *pair, "--all", "-v", *QUICK).stdout
    assert call("compare", *pair, "-q", "--csv", "q.csv", *QUICK).output == ""
    warned = call("compare", *pair, "--confidence", "0.9").stderr.splitlines()
    kept = "scored already, kept as it is without --confidence"
    assert warned == [f"warning: {side}: {kept}" for side in pair]
    assert pd.read_csv("q.csv").set_index("metric").equals(table)
    shown = [line.split()[0] for line in everything.splitlines() if line.strip()]
    assert set(table.index) <= set(shown)
    assert everything.rstrip().endswith(study.signature)


def test_a_tie_beside_an_interval_without_0_has_its_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cmp = et.compare([0.0] * 7 + [1.0] + [0] * 22, [1.0] * 7 + [0.0] + [0] * 22, bounds=(0, 1.1))
    assert (cmp["value"]["verdict"], cmp["value"]["ci_low"] > 0) == ("tied", True)
    show_result(cmp, verbose=False)
    printed = capsys.readouterr().out
    assert "tied (p)\ntied (p): p is not small enough" in printed
    assert " (tied)" in markdown(cmp)


def test_what_is_declared_decides_everywhere(here: Path, pair: tuple[str, str]) -> None:
    declared = ("--primary", "fix_rate_refpol", "--margin", "break_rate_refpol=.1")
    done = call("compare", *pair, *declared, "--csv", "c.csv", *QUICK).stdout
    found = " ".join(done.split()).partition(" What would")[0]
    assert "“Fix rate (ref-pol)”" in done.splitlines()[0] + done.splitlines()[1]
    table = pd.read_csv("c.csv").set_index("metric")
    assert table.loc["fix_rate_refpol", "primary"]
    assert table.loc["break_rate_refpol", "margin"] == 0.1
    with without_pages():
        reported = said("report", "seeds", *pair, *declared, "--protocol", "cr_v2", *QUICK)
    assert found.partition(" A no_memory")[0] in reported
    assert "Break rate" in reported, "the headline, not only what is tested alone"
    aggregate = here / "outputs/results/no_memory_aggregated"
    stored = pd.read_csv(aggregate / "comparison.csv").set_index("metric")
    assert stored["verdict"].equals(table["verdict"])
    manifest = read_json(aggregate / "manifest.json")
    assert (manifest["primary"], manifest["margin"]) == (declared[1], {"break_rate_refpol": 0.1})


def test_a_plan_is_a_sentence_and_a_table(here: Path, pair: tuple[str, str]) -> None:
    how = ("--metric", F1, "--difference", "0.04", "--seeds", "1,5", "--csv", "c.csv", *QUICK)
    text = call("plan", *pair, *how).stdout
    found = pd.read_csv("c.csv")
    assert found["seeds"].tolist() == [1, 5]
    assert " ".join(text.split()).startswith(
        "To show with_memory better than no_memory by 0.04 on “Tuple F1 after review (ref-pol)”"
    )
    for row in found.itertuples():
        begins = [str(row.seeds), f"{row.samples:.0f}"]
        assert any(line.split()[:2] == begins for line in text.splitlines())


@pytest.mark.parametrize(
    ("command", "given", "message"),
    [
        (
            "compare",
            ("--primary", "fix_rat_refpol"),
            "no metric 'fix_rat_refpol' in cr; did you mean",
        ),
        ("compare", ("--primary", "review_action_rate"), "review_action_rate has no direction"),
        ("compare", ("--margin", "fix_rate_refpol=-1"), "expected a finite number above 0"),
        ("plan", ("--metric", "tuple_f1_s2_refpo", "--difference", "0.04"), "did you mean"),
        ("plan", ("--metric", F1, "--difference", "-0.1"), "a difference above 0"),
        ("plan", ("--metric", F1, "--difference", "5"), "no difference is above 1, got 5"),
        ("plan", ("--metric", F1, "--difference", "0.1", "--power", "1"), "power"),
        ("plan", ("--metric", F1, "--difference", "0.1", "--seeds", "1,x"), "not a valid integer"),
        ("plan", ("--metric", F1, "--difference", "0.1", "--seeds", "1001"), "from 1 to 1000"),
        ("rank", ("--metric", "fix_rate_refpo"), "did you mean fix_rate_refpol"),
    ],
)
def test_what_is_asked_wrongly_writes_nothing(
    here: Path, two_runs: list[str], command: str, given: tuple[str, ...], message: str
) -> None:
    target = ("-o", "out") if command == "rank" else ("--csv", "c.csv")
    assert message in said(command, *two_runs, *given, *target, *QUICK, status=2)
    assert not written(here)


def test_ranks_stand_in_the_folder_of_the_baseline(
    here: Path, pair: tuple[str, str], two_runs: list[str]
) -> None:
    et.study(two_runs, out="out")
    done = call("rank", *pair, "--metric", "fix_rate_refpol", "-o", "out", *QUICK)
    assert "no_memory_aggregated held another study, no_memory_vs_with_memory" in done.stderr
    text = done.stdout
    file = Path("out/results/no_memory_aggregated/ranks.csv")
    found = pd.read_csv(file)
    head = ["condition", "value", "ci_low", "ci_high", "rank_low", "rank_high"]
    assert list(found)[: len(head)] == head
    assert found["condition"].tolist() == ["with_memory", "no_memory"]
    assert text.splitlines()[-1] == str(file) and "Fix rate (ref-pol)" in text
    assert "values of “Fix rate (ref-pol)” no_memory lacks" in " ".join(text.split())
    assert "ranks.csv" in read_json(file.parent / "manifest.json")["files"]
    assert "one condition only" in said("rank", two_runs[0], "--metric", F1, *QUICK, status=2)
