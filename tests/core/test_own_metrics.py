"""Metrics in a file of the user's: what they may be, what is said of a wrong one; results outlive the file."""

from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

import evaltools as et
from tests.app.calling import FAST, QUICK, call

RUN = "example:cr/with_memory__seed1_proposed"
OTHER = "example:cr/no_memory__seed1_proposed"

METRICS = """
import pandas as pd
import evaltools as et

def columns(units):
    texts = units["final"].map(lambda found: sum(len(t.term) for t in found))
    return pd.DataFrame({"letters": texts, "tuples": units["final"].map(len)})

METRICS = [
    et.Metric(name="letters_each", numerator="letters", denominator="tuples", better="none", title="Letters a term"),
    et.Difference(name="gap", minuend="tuple_f1_s2_refpol", subtrahend="tuple_f1_s2_otepol", better="none"),
    et.Mean(name="both", of=("tuple_f1_s2_refpol", "tuple_f1_s2_otepol"), better="higher", title="Both keys"),
]
"""
OWN = ("letters_each", "gap", "both")
ONE = "import evaltools as et\nMETRICS = [et.{}]\n"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "own.py").write_text(METRICS, encoding="utf-8")
    with chdir(tmp_path):
        yield tmp_path


def test_ratio_difference_mean_and_columns_of_decoded_lists(here: Path) -> None:
    run = et.evaluate("cr", RUN, metrics="own.py", resampling=FAST)
    plain = et.evaluate("cr", RUN, resampling=FAST)
    terms = [t.term for found in plain.units["final"] for t in found]
    assert run.value("letters_each") == pytest.approx(sum(map(len, terms)) / len(terms))
    assert run["both"]["ci_low"] < run.value("both") < run["both"]["ci_high"]
    assert list(run.frame["name"])[-3:] == list(OWN)
    assert run.frame.iloc[:-3].equals(plain.frame), "those of the suite stay what they are"
    assert {"letters", "tuples"} <= set(run.units.columns)


def test_the_content_of_the_file_goes_into_policy_and_signature(here: Path) -> None:
    one = et.evaluate("cr", RUN, metrics="own.py", resampling=FAST, out="out")
    plain = et.evaluate("cr", RUN, resampling=FAST)
    assert f"|metrics:{one.policy['metrics']}|" in one.signature
    assert one.policy["eval_policy_hash"] != plain.policy["eval_policy_hash"]
    assert "metrics" not in plain.policy and "metrics:" not in plain.signature
    Path("own.py").write_text(METRICS.replace("len(t.term)", "2 * len(t.term)"), encoding="utf-8")
    again = et.evaluate("cr", RUN, metrics="own.py", resampling=FAST, out="out")
    assert again.signature != one.signature
    assert again.value("letters_each") == 2 * one.value("letters_each"), (
        "a result of the old file is not current"
    )


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of two runs under metrics whose file is gone."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "own.py").write_text(METRICS, encoding="utf-8")
    with chdir(folder):
        done = call("score", "cr", RUN, OTHER, "--metrics", "own.py", *QUICK)
        assert done.output.count("\nand 3 of own.py: in metrics.json\n") == 2
    (folder / "own.py").unlink()
    return folder


NAMES = [r.rpartition("/")[2] for r in (OTHER, RUN)]


def test_a_result_is_read_back_without_the_file(scored: Path) -> None:
    for name in NAMES:
        run = et.load(scored / "outputs/results" / name)
        assert set(OWN) <= set(run.frame["name"])
        assert "Letters a term" in run.table("letters_each").html
        found = run.estimate(*[m for m in run.metrics if m.name in OWN])
        assert list(found["value"]) == pytest.approx([run.value(n) for n in OWN])


def test_a_rerun_asks_for_the_file_and_runs_none_that_a_manifest_names(scored: Path) -> None:
    folder = scored / "outputs/results" / NAMES[0]
    done = call("rerun", folder, status=2)
    assert "that a manifest is not trusted with: give --metrics" in done.stderr
    file = scored / "given.py"
    file.write_text(METRICS, encoding="utf-8")
    with chdir(scored):
        assert "none differ" in call("rerun", folder, "--metrics", file).stdout
    file.write_text(METRICS.replace("len(t.term)", "2 * len(t.term)"), encoding="utf-8")
    assert "letters_each value: " in call("rerun", folder, "--metrics", file, status=4).stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("METRICS = (\n", "own.py:1: SyntaxError: '(' was never closed"),
        ("\nraise ValueError('no')\n", "own.py:2: ValueError: no"),
        ("\nraise SystemExit(0)\n", "own.py:2: SystemExit: 0"),
        ("x = 1\n", "own.py: expected METRICS = [et.Metric(...), ...]"),
        (
            ONE.format("Metric(name='m', numerator='nosuch', denominator='n', better='none')"),
            "own.py: the metrics do not fit the units: the units frame lacks ['nosuch']; there are line, ",
        ),
        (
            METRICS.replace("return pd", "units['nosuch']\n    return pd"),
            "own.py:7: columns(units): KeyError: 'nosuch'",
        ),
        (
            METRICS.replace("len)})", "len)}).head(3)"),
            "columns(units): ValueError: expected a DataFrame with the index of the units",
        ),
        (
            METRICS.replace('"letters": texts', '"n": 1'),
            "columns(units): ValueError: columns overlap",
        ),
        (
            METRICS.replace('"letters": texts', '"letters": [1, "a"] * 30'),
            "do not fit the units: row 2 (text_id review-002): letters is 'a'; expected a finite number",
        ),
        (
            METRICS.replace('"letters": texts', '"mixed": [1, "a"] * 30, "letters": texts'),
            "own.py: a column of the units cannot be stored: ",
        ),
    ],
)
def test_a_wrong_file_is_named_and_nothing_is_written(
    here: Path, content: str, message: str
) -> None:
    Path("own.py").write_text(content, encoding="utf-8")
    done = call("score", "cr", RUN, "--metrics", "own.py", *QUICK, status=2)
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert sorted(p.name for p in here.glob("[!_]*")) == ["own.py"]
