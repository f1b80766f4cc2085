"""What `say` gives, and that a translation fits its English text."""

import re
from string import Formatter

import nbformat
import pytest

from evaltools.core.messages import LANGUAGES, language, say, speaking, translations
from evaltools.core.suite import get_suite
from tests.conftest import ROOT

OTHERS = [lang for lang in LANGUAGES if lang != "en"]


def test_a_language_is_spoken_within_its_block_only() -> None:
    with speaking("ko"):
        assert (language(), say("Interval")) == ("ko", "구간")
        with speaking("zh"):
            assert say("Interval") == "区间"
        assert say("Interval") == "구간"
    assert (language(), say("Interval")) == ("en", "Interval")


def test_words_of_a_suite_stay_in_it() -> None:
    with speaking("ko", "summary"):
        assert (say("accuracy"), say("Interval")) == ("수치 근거", "구간")
    for suite in ("table", "suite_of_a_user"):
        with speaking("ko", suite):
            assert [say(w) for w in ("accuracy", "label", "fixed")] == [
                "accuracy",
                "label",
                "fixed",
            ]
            assert say("Interval") == "구간"
            with speaking("en"):
                pass
            assert say("accuracy") == "accuracy"


def test_figures_of_a_title_are_no_part_of_its_key() -> None:
    with speaking("ko"):
        assert (
            say("Follow-up pass rate, all cases (≥ 0.75)") == "후속 안내 통과율, 전체 사례 (≥ 0.75)"
        )
        assert say("FOOD#QUALITY at 0.5") == "FOOD#QUALITY at 0.5"


def test_a_value_is_never_a_template() -> None:
    """Values come from data: what looks like a place in them is text."""
    assert say("{a} and {b}", a="{b}", b=2) == "{b} and 2"


@pytest.mark.parametrize("lang", OTHERS)
def test_a_translation_has_the_places_of_its_key(lang: str) -> None:
    def places(text: str) -> list[str]:
        return sorted({f"{name}:{spec}" for _, name, spec, _ in Formatter().parse(text) if name})

    texts = translations(lang)
    assert {k: v for k, v in texts.items() if places(k) != places(v) or not v.strip()} == {}


SPOKEN = {"ko": "cr_run cr_seeds run seeds summary", "zh": "memfin run seeds"}


@pytest.mark.parametrize("lang", OTHERS)
def test_nothing_that_is_said_lacks_a_translation(lang: str) -> None:
    """The words of notebooks, and all that the report says of any suite."""
    said = set[str]()
    for name in SPOKEN[lang].split():
        cells = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells
        said |= {cell.source for cell in cells if cell.cell_type == "markdown"}
    for path in [*ROOT.glob("evaltools/report/*.py"), *ROOT.glob("templates/**/*.j*")]:
        said |= {*re.findall(r'\bsay\(\s*"(.*?)"[,)]', path.read_text(encoding="utf-8"))}
    assert said - translations(lang).keys() == set()


@pytest.mark.parametrize(("name", "lang"), [("cr", "ko"), ("memfin", "zh"), ("summary", "ko")])
def test_a_suite_names_and_describes_its_metrics_in_its_languages(name: str, lang: str) -> None:
    suite = get_suite(name)
    metrics = suite.metrics(suite.options())
    texts = {text for m in metrics for text in (m.title, m.description, m.group)}
    with speaking(lang, name):
        assert [x for x in texts if x and "ΔF1" not in x and say(x) == x] == []
