"""Release gates: bounds, verdicts, a baseline, and the files that a CI job reads."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

import evaltools as et
from evaltools.app.cli import main
from evaltools.app.commands import gate
from evaltools.core.plugins import load_suite_file
from evaltools.report.make_study import study

from ..report.synthetic import HOSTILE
from .calling import QUICK, call, written

LABELS = Path(__file__).parents[1] / "data" / "labels.py"


@pytest.fixture
def metrics(tmp_path: Path) -> str:
    rows = [
        {"name": "f1", "value": 0.8, "ci_low": 0.7, "ci_high": 0.9},
        {"name": "conflict", "value": 0.02, "ci_low": None, "ci_high": None},
        {"name": "null", "value": None, "ci_low": None, "ci_high": None},
    ]
    path = tmp_path / "metrics.json"
    path.write_text(json.dumps({"metrics": rows}))
    return str(path)


@pytest.mark.parametrize(
    ("args", "status"),
    [
        (["--min", "f1=0.8"], 0),
        (["--min", "f1=0.81"], 1),
        (["--min", "f1=0.75", "--use", "ci_low"], 1),
        (["--max", "f1=0.85", "--use", "ci_high"], 1),
        (["--max", "f1=0.85", "--use", "ci_low"], 0),  # the harmless end
        (["--max", "f1=0.85", "--use", "worst"], 1),
        (["--max", "f1=0.95", "--min", "f1=0.65", "--use", "worst"], 0),
        (["--min", "f1=0.75", "--use", "worst"], 1),
        (["--max", "conflict=0.05", "--use", "worst"], 1),
        (["--max", "conflict=0.02"], 0),
        (["--min", "f1=0.5", "--max", "conflict=0.01"], 1),
        (["--max", "conflict=0.05", "--use", "ci_high"], 1),  # no interval does not pass
        (["--min", "null=0"], 1),  # not measured does not pass
        (["--min", "other=0"], 2),
        (["--min", "f1"], 2),
        (["--min", "f1=nan"], 2),
        ([], 2),
    ],
)
def test_exit_status(metrics: str, args: list[str], status: int) -> None:
    assert CliRunner().invoke(main, ["gate", metrics, *args]).exit_code == status


def test_every_bound_is_said(metrics: str) -> None:
    out = CliRunner().invoke(main, ["gate", metrics, "--min", "f1=0.9", "--max", "null=1"]).output
    assert out.splitlines() == ["FAIL f1 value 0.8 >= 0.9", "FAIL null value not measured <= 1"]


@pytest.mark.parametrize("bound", ["--min", "--max"])
def test_what_a_check_says_cannot_be_measured_does_not_pass(tmp_path: Path, bound: str) -> None:
    check = {
        "code": "one-stage",
        "level": "blocking",
        "message": "both ends are one",
        "blocks": ["delta"],
    }
    rows = [{"name": name, "value": 0.0} for name in ("delta", "f1")]
    path = tmp_path / "metrics.json"
    path.write_text(json.dumps({"metrics": rows, "checks": [check]}))
    done = call("gate", path, bound, "delta=0", bound, "f1=0", status=1)
    assert done.output.splitlines() == [
        "FAIL delta Cannot be measured: both ends are one",
        f"PASS f1 value 0 {'>=' if bound == '--min' else '<='} 0",
    ]


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"metrics": [1]}', '{"metrics": [{"name": "a", "value": "1"}]}']
)
def test_other_files_are_bad_input(tmp_path: Path, content: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(content)
    assert CliRunner().invoke(main, ["gate", str(path), "--min", "a=0"]).exit_code == 3


# --- verdicts


def stored(path: Path, **content: Any) -> Path:
    path.write_text(json.dumps({"run": "mine", "metrics": [], **content}), encoding="utf-8")
    return path


def verdict(word: str, name: str = "accuracy", **more: str) -> dict[str, str]:
    return {"metric": name, "title": name.title(), "verdict": word, "said": "", **more}


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["pass"], 0, "PASS accuracy pass: Accuracy"),
        (["pass", "fail"], 1, "FAIL accuracy fail: Accuracy"),
        (["pass", "not measured"], 1, "FAIL accuracy not measured: Accuracy"),
        (["pass", "no threshold"], 0, "PASS"),
        (["no threshold"], 2, "holds no verdicts: give --min NAME=X"),
        ([], 2, "RESULT, and no --strict"),
    ],
)
def test_without_bounds_the_verdicts_of_the_suite_decide(
    tmp_path: Path, words: list[str], status: int, said: str
) -> None:
    path = stored(tmp_path / "metrics.json", verdicts=[verdict(word) for word in words])
    out = call("gate", path, status=status).output
    assert said in out and "no threshold" not in out


def test_what_a_person_must_look_at_passes_unless_strict(tmp_path: Path) -> None:
    path = stored(
        tmp_path / "m.json",
        metrics=[{"name": "f1", "value": 0.8}],
        verdicts=[verdict("pass"), verdict("look", "coverage")],
    )
    assert "PASS coverage look: Coverage" in call("gate", path).stdout
    assert "FAIL coverage look: Coverage" in call("gate", path, "--strict", status=1).stdout
    # with a bound the verdicts are asked only where --strict asks for them
    assert call("gate", path, "--min", "f1=0.5").stdout.count("\n") == 1
    assert "FAIL coverage" in call("gate", path, "--min", "f1=0.5", "--strict", status=1).stdout


def test_a_name_may_hold_an_equals_sign(tmp_path: Path) -> None:
    path = stored(tmp_path / "m.json", metrics=[{"name": "pass@k=10", "value": 0.8}])
    assert "PASS pass@k=10" in call("gate", path, "--min", "pass@k=10=0.5").stdout


def test_bounds_are_asked_instead_of_verdicts(tmp_path: Path) -> None:
    path = stored(
        tmp_path / "m.json", metrics=[{"name": "f1", "value": 0.8}], verdicts=[verdict("fail")]
    )
    assert call("gate", path, "--min", "f1=0.5").stdout == "PASS f1 value 0.8 >= 0.5\n"


def test_verdicts_of_a_file_are_bad_input_where_they_are_none(tmp_path: Path) -> None:
    path = stored(tmp_path / "m.json", verdicts=[{"metric": "a"}])
    assert "verdicts.0.title: Field required" in call("gate", path, status=3).output


def test_a_run_of_summaries_fails_as_its_page_says(tmp_path: Path) -> None:
    call("score", "summary", "example:summary/cases.jsonl", "-o", tmp_path, *QUICK)
    out = call("gate", tmp_path / "results" / "cases", status=1).stdout.splitlines()
    failing = (
        "FAIL summary_accuracy fail: Summary accuracy (entity precision), "
        "6 of 24 fail, 3 to look at, 3 not measured (≥ 0.9)"
    )
    assert out[0] == "FAIL state fail: Summaries, 11 of 24 must not ship, 3 to look at (cases)"
    assert out[1] == f"{failing} (cases)" and len(out) == 5, "entity recall is not judged"


# --- a baseline


def labels(path: Path, wrong: set[int], n: int = 40, first: int = 0) -> Path:
    """A file of labels of which these are wrong."""
    rows = [
        {
            "id": f"s{i + first}",
            "gold": "pos",
            "pred": "neg" if i in wrong else "pos",
            "domain": "d",
        }
        for i in range(n)
    ]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path


RUNS = {
    "base": set(range(8)),
    "same": set(range(8)),
    "a little worse": set(range(10)),
    "worse": set(range(26)),
    "better": {0},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of runs of 40 labels, of one of 8, one of other samples, and seeds of two conditions."""
    out = tmp_path_factory.mktemp("gate")
    suite = load_suite_file(LABELS)
    files = {name: labels(out / f"{name}.jsonl", wrong) for name, wrong in RUNS.items()}
    files |= {
        "few": labels(out / "few.jsonl", {1}, n=8),
        "others": labels(out / "others.jsonl", {1}, first=100),
    }
    files |= {
        f"old__seed{s}_x": labels(out / f"old__seed{s}_x.jsonl", {s, 5, 6}) for s in (1, 2, 3)
    }
    files |= {
        f"new__seed{s}_x": labels(out / f"new__seed{s}_x.jsonl", {s, *range(5, 30)})
        for s in (1, 2, 3)
    }
    for path in files.values():
        et.evaluate(suite, path, out=out, resampling=et.Resampling(n_resamples=200))
    folders = [out / "results" / name for name in files if "__seed" in name]
    study(folders, out=out)
    # an aggregate that stands elsewhere still finds its runs
    study([f for f in folders if f.name.startswith("old")], out=out / "elsewhere")
    return out / "results"


def compared(results: Path, *args: str, status: int = 0, candidate: str = "a little worse") -> str:
    return call(
        "gate", results / candidate, "--baseline", results / "base", *args, status=status
    ).output


def rows(out: str) -> Mapping[str, str]:
    return {line.split()[1]: line for line in out.splitlines()}


def test_a_difference_that_is_not_shown_passes_and_one_that_is_does_not(results: Path) -> None:
    # 32 of 40 right, then 30, then 14: 2 labels that differ show nothing, 18 in one direction do
    found = rows(compared(results))
    assert found["accuracy"].startswith(
        "PASS accuracy 0.750 against 0.800, difference -0.050: too few: 40 pairs, 2 differ"
    )
    worse = rows(compared(results, candidate="worse", status=1))
    assert worse["accuracy"].startswith(
        "FAIL accuracy 0.350 against 0.800, difference -0.450: worse (Accuracy)"
    )
    assert all(
        line.startswith("PASS") for line in rows(compared(results, candidate="better")).values()
    )
    assert all(
        line.startswith("PASS") for line in rows(compared(results, candidate="same")).values()
    )


def test_with_a_margin_the_bound_on_the_side_of_harm_must_stay_within_it(results: Path) -> None:
    frame = et.compare(results / "base", results / "a little worse").frame.set_index("metric")
    low = frame.loc["accuracy", "ci_low"]
    assert low < -0.05
    inside, outside = f"accuracy={-low + 0.001}", f"accuracy={-low - 0.001}"
    assert (
        f"PASS accuracy 0.750 against 0.800, difference -0.050: ci_low {low:+.4f} >= "
        in compared(results, "--margin", inside)
    )
    assert "FAIL accuracy" in compared(results, "--margin", outside, status=1)


def test_of_a_metric_that_should_be_low_the_upper_bound_is_the_side_of_harm(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for name in ("no_memory", "with_memory"):
        call("score", "cr", f"example:cr/{name}__seed1_proposed", "-o", out, *QUICK)
    sides = [out / "results" / f"{name}__seed1_proposed" for name in ("no_memory", "with_memory")]
    high = et.compare(*sides).frame.set_index("metric").loc["break_rate_refpol", "ci_high"]
    args = ["gate", sides[1], "--baseline", sides[0], "--margin"]
    assert (
        "PASS break_rate_refpol" in call(*args, f"break_rate_refpol={max(high, 0) + 0.001}").output
    )
    if high > 0.001:
        found = rows(call(*args, f"break_rate_refpol={high - 0.001}", status=1).output)
        assert (
            found["break_rate_refpol"].startswith("FAIL")
            and "ci_high" in found["break_rate_refpol"]
        )


def test_identical_results_keep_any_margin(results: Path) -> None:
    out = compared(results, "--margin", "accuracy=0", candidate="same")
    assert "PASS accuracy 0.800 against 0.800, difference +0.000" in out


def test_aggregates_pair_by_the_runs_that_their_manifests_name(results: Path) -> None:
    elsewhere = results.parent / "elsewhere/results/old_aggregated"
    for old in (results / "old_aggregated", results / "old_aggregated/metrics.json", elsewhere):
        out = call("gate", results / "new_aggregated", "--baseline", old, status=1).output
        # 37 of 40 right with every seed, then 40 - 26 or 25 of them
        assert rows(out)["accuracy"].startswith("FAIL accuracy 0.3"), out


@pytest.mark.parametrize(
    ("candidate", "args", "said"),
    [
        ("others", [], "share no id"),
        ("few", [], "no metric with 10 paired units among"),
        ("base", [], "would be compared with itself"),
        (
            "same",
            ["--margin", "acuracy=0.1"],
            "no metric 'acuracy' in labels; did you mean accuracy",
        ),
        ("same", ["--margin", "accuracy=-1"], "expected a number of 0 or more"),
        ("same", ["--margin", "accuracy"], "expected NAME=X"),
        ("same", ["--min", "accuracy=0", "--min", "none=1"], "no metric 'none'"),
    ],
)
def test_what_cannot_be_compared_is_an_error_and_never_a_pass(
    results: Path, tmp_path: Path, candidate: str, args: list[str], said: str
) -> None:
    files = ("--junit", str(tmp_path / "j.xml"), "--summary", str(tmp_path / "s.md"))
    assert said in compared(results, *args, *files, candidate=candidate, status=2)
    assert list(tmp_path.iterdir()) == []


def test_a_margin_needs_a_baseline_and_a_baseline_its_results(
    results: Path, tmp_path: Path
) -> None:
    assert (
        "give --baseline"
        in call("gate", results / "base", "--margin", "accuracy=1", status=2).output
    )
    alone = shutil.copy(results / "base/metrics.json", tmp_path)
    out = call("gate", results / "same", "--baseline", alone, status=2).output
    assert "holds no complete result of a run" in out


def test_a_folder_of_results_names_them(results: Path) -> None:
    for folder in (results, results.parent):
        done = call("gate", folder, "--min", "a=1", status=2)
        assert "results is a folder of runs (15), not a run; name them" in done.output


# --- files for a CI job


def test_junit_and_summary_are_written_also_where_the_gate_fails(
    results: Path, tmp_path: Path
) -> None:
    files = ("--junit", str(tmp_path / "new/j.xml"), "--summary", str(tmp_path / "s.md"))
    compared(results, "--min", "accuracy=0.9", *files, candidate="worse", status=1)
    suite = ElementTree.parse(tmp_path / "new/j.xml").getroot()
    cases = list(suite.iter("testcase"))
    assert suite.tag == "testsuite" and int(suite.attrib["tests"]) == len(cases)
    failed = [case for case in cases if case.find("failure") is not None]
    assert int(suite.attrib["failures"]) == len(failed) > 1
    assert cases[0].attrib == {"classname": "worse", "name": "accuracy"}
    failure = cases[0].find("failure")
    assert failure is not None and failure.attrib == {"message": "value 0.35 >= 0.9"}
    text = (tmp_path / "s.md").read_text(encoding="utf-8")
    assert text.startswith(f"### Gate {len(failed)} of {len(cases)} not met: worse\n")
    assert "| FAIL | accuracy | value 0.35 >= 0.9 |" in text
    assert written(tmp_path) == {"new/j.xml", "s.md"}


def test_what_passes_says_so(results: Path, tmp_path: Path) -> None:
    call("gate", results / "base", "--min", "accuracy=0.1", "--summary", tmp_path / "s.md")
    assert (tmp_path / "s.md").read_text(encoding="utf-8").startswith("### Gate met: base\n")


@pytest.mark.parametrize(
    "text", [*HOSTILE, "]]>", "&<>\"'", "a|b", "\x00\x1b[31m", "\u202e", "x\ny"]
)
def test_hostile_names_stay_text(tmp_path: Path, text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    path = stored(
        tmp_path / "m.json", run=text, verdicts=[verdict("fail", text, title=text, said=text)]
    )
    out = call(
        "gate", path, "--junit", tmp_path / "j.xml", "--summary", tmp_path / "s.md", status=1
    ).stdout
    assert "\x1b" not in out and "\u202e" not in out
    (case,) = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert set(case.attrib) == {"classname", "name"} and [c.tag for c in case] == ["failure"]
    table = (tmp_path / "s.md").read_text(encoding="utf-8").partition("\n\n")[2].splitlines()
    assert len(table) == 3 and "<script" not in table[2]


@pytest.mark.parametrize("option", ["--junit", "--summary"])
def test_a_result_is_never_written_over(results: Path, tmp_path: Path, option: str) -> None:
    before = (results / "base/metrics.json").read_bytes()
    for target in ("base/metrics.json", "base/more.xml"):
        args = ("--min", "accuracy=0.1", option, results / target)
        assert "would change a result" in call("gate", results / "base", *args, status=2).output
    assert (results / "base/metrics.json").read_bytes() == before and not (
        results / "base/more.xml"
    ).exists()
    lone = stored(tmp_path / "m.json", metrics=[{"name": "a", "value": 1}])
    assert "would change" in call("gate", lone, "--min", "a=1", option, lone, status=2).output


def test_the_input_of_a_result_is_never_written_over(tmp_path: Path) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_text("id,metric,value\na,acc,1\nb,acc,0\n")
    before = scores.read_bytes()
    call("score", "table", scores, "-o", tmp_path / "out", *QUICK)
    result = tmp_path / "out" / "results" / "scores"
    done = call("gate", result, "--min", "acc=0", "--junit", scores, status=2)
    assert "is an input" in done.output and scores.read_bytes() == before
    one = ("--junit", tmp_path / "f", "--summary", tmp_path / "f")
    call("gate", result, "--min", "acc=0", *one, status=2)
    assert not (tmp_path / "f").exists()


@pytest.mark.parametrize(
    ("n_units", "missing_baseline", "missing_candidate", "margin", "met"),
    [
        (9, 0, 0, None, None),
        (9, 0, 0, 0.1, False),
        (0, 0, 40, None, False),  # lost: only the baseline has it
        (0, 40, 0, None, None),
        (0, 0, 0, None, None),
    ],
)
def test_what_too_few_units_show_passes_no_margin_and_is_not_lost(
    n_units: int,
    missing_baseline: int,
    missing_candidate: int,
    margin: float | None,
    met: bool | None,
) -> None:
    missing = {"missing_baseline": missing_baseline, "missing_candidate": missing_candidate}
    delta = 0.0 if n_units else math.nan
    checked = _lacking(n_units=n_units, delta=delta, margin=margin, **missing)
    assert checked.met is met
    assert ("it is in the baseline" in checked.reason) == (missing_candidate > 0)


@pytest.mark.parametrize(
    ("verdict", "n_differ", "met"),
    [("better", 40, True), ("worse", 40, False), ("tied", 0, True), ("tied", 2, False)],
)
def test_without_an_interval_a_margin_is_kept_by_what_is_equal_or_better(
    results: Path, verdict: str, n_differ: int, met: bool
) -> None:
    study = et.compare(results / "base", results / "better")
    row = (
        next(iter(study.comparisons.values()))
        .table.set_index("metric", drop=False)
        .loc["accuracy"]
        .to_dict()
    )
    row |= {"ci_low": math.nan, "ci_high": math.nan, "verdict": verdict, "n_differ": n_differ}
    checked = gate._against(row, 0.2)
    # 32 of 40 are right, then 39
    assert checked.met is met and "0.975 against 0.800, difference +0.175" in checked.reason


def _lacking(**values: Any) -> gate.Checked:
    row: dict[str, Any] = {
        "metric": "judge", "title": "Judge", "better": "higher", "verdict": "tied", "family": True,
        "n_units": 40, "n_differ": 5, "value_baseline": 0.8, "value_candidate": 0.79, "delta": -0.01,
        "ci_low": -0.05, "ci_high": 0.03, "missing_baseline": 0, "missing_candidate": 0,
        "delta_worst": -0.01, "delta_best": -0.01,
    }  # fmt: skip
    margin = values.pop("margin", None)
    return gate._against({**row, **values}, margin)


@pytest.mark.parametrize(
    ("values", "met"),
    [
        ({}, True),
        # 2 values moved to their worst: the interval [-.05, .03] becomes [-.08, .00] at most
        ({"missing_candidate": 2, "delta_worst": -0.04}, True),
        ({"missing_candidate": 2, "delta_worst": -0.05}, False),
        ({"missing_baseline": 2, "delta_worst": -0.05}, False),
        ({"missing_candidate": 2, "delta_worst": -0.04, "margin": 0.081}, True),
        ({"missing_candidate": 2, "delta_worst": -0.04, "margin": 0.079}, False),
        ({"missing_candidate": 1, "delta_worst": math.nan}, False),
        # lower is better, so that the worst lies above
        ({"better": "lower", "missing_candidate": 1, "delta_worst": 0.03}, True),
        ({"better": "lower", "missing_candidate": 1, "delta_worst": 0.05}, False),
        ({"better": "lower", "missing_candidate": 1, "delta_worst": 0.03, "margin": 0.071}, True),
        ({"better": "lower", "missing_candidate": 1, "delta_worst": 0.03, "margin": 0.069}, False),
    ],
)
def test_what_one_side_lacks_counts_as_the_worst(values: dict[str, Any], met: bool) -> None:
    checked = _lacking(**values)
    assert checked.met is met
    lacking = values.get("missing_candidate", 0) + values.get("missing_baseline", 0)
    assert (" lacks " in checked.reason) == (lacking > 0)


def test_a_judge_that_is_silent_on_what_went_wrong_does_not_pass(tmp_path: Path) -> None:
    """Of 40 items the candidate is wrong in 12 and gives no score to 10 of these: it leads on what is left."""
    out = tmp_path / "out"
    scores = {"base": [1] * 36 + [0] * 4, "new": [1] * 28 + [None] * 10 + [0] * 2}
    for name, values in scores.items():
        rows = [
            {"id": str(i), "metric": "judge", "value": v, "low": 0, "high": 1}
            for i, v in enumerate(values)
        ]
        et.evaluate("table", rows, name=name, out=out, n_resamples=200)
    base, new = (out / "results" / name for name in scores)
    said = call("gate", new, "--baseline", base, "--margin", "judge=0.1", status=1).output
    assert "FAIL judge" in said and "the result 10 that the other has" in said


# --- belief


@pytest.mark.parametrize("file", ["metrics.json", "units.parquet", "summary_scores.csv"])
def test_a_result_that_was_changed_or_cut_is_not_believed(tmp_path: Path, file: str) -> None:
    call("score", "summary", "example:summary/cases.jsonl", "-o", tmp_path, *QUICK)
    result = tmp_path / "results" / "cases"
    asked = ("--min", "entity_recall=0")
    call("gate", result, *asked)
    path = result / file
    whole = path.read_bytes()
    for change in ("edited", "gone"):
        path.unlink()
        if change == "edited":
            path.write_bytes(whole.replace(b"0.", b"1.", 1) + b" ")
        if (change, file) == ("gone", "metrics.json"):
            continue  # no result at all
        for named in (result, result / "metrics.json"):
            said = call("gate", named, *asked, status=3).output
            assert f"{file}: is not as it was written: make the result again" in said
    path.write_bytes(whole)
    call("gate", result, *asked)


def test_numbers_without_a_manifest_are_believed_as_they_stand(tmp_path: Path) -> None:
    call("score", "summary", "example:summary/cases.jsonl", "-o", tmp_path, *QUICK)
    copy = tmp_path / "artifact" / "metrics.json"
    copy.parent.mkdir()
    shutil.copy(tmp_path / "results" / "cases" / "metrics.json", copy)
    call("gate", copy, "--min", "entity_recall=0")
    copy.with_name("manifest.json").write_text("{", encoding="utf-8")
    call("gate", copy, "--min", "entity_recall=0", status=3)


@pytest.mark.parametrize(
    ("lang", "asked", "lost"),
    [
        ("en", "no interval >= 0.01", "against 0.800, difference -0.050"),
        ("ko", "구간 없음 >= 0.01", "기준 0.800, 차이 -0.050"),
        ("zh", "无区间 >= 0.01", "基线 0.800，差异 -0.050"),
    ],
)
def test_a_gate_speaks_the_language_that_is_asked_for(
    metrics: str, results: Path, lang: str, asked: str, lost: str
) -> None:
    bound = call(
        "gate", metrics, "--min", "conflict=0.01", "--use", "ci_low", "--lang", lang, status=1
    )
    assert bound.output == f"FAIL conflict ci_low {asked}\n"
    assert lost in rows(compared(results, "--lang", lang))["accuracy"]
