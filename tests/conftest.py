"""Shared fixtures: where the reference runs and the browser are."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from filelock import FileLock
from hypothesis import settings

import evaltools.app.cli  # noqa: F401 - the first: numpy reads how many threads it may have
from evaltools.core.messages import speak
from evaltools.report.kernels import import_papermill

from .app.calling import QUICK, call
from .files import Shared
from .hostile import make as make_hostile

# hundreds of processes are started, which would compile every library again
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# nbformat, which test files import, takes longer otherwise
import_papermill()

# no test depends on how fast the machine is
settings.register_profile("untimed", parent=settings.default, deadline=None, max_examples=50)
settings.load_profile("untimed")

ROOT = Path(__file__).resolve().parents[1]


def reference_folder() -> Path:
    return Path(os.environ.get("EVALTOOLS_REFERENCE", ROOT.parent / "shared" / "reference"))


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of reference runs; the test is skipped where it is absent."""
    folder = reference_folder()
    if not folder.is_dir():
        pytest.skip(f"reference runs not found at {folder} (set EVALTOOLS_REFERENCE)")
    return folder


for name in ("SIGINT", "SIGHUP", "SIGQUIT"):
    # A shell that starts the tests in the background ignores these, and so would every process that
    # is started from here. What has a handler of its own here is not ignored there.
    if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is signal.SIG_IGN:
        signal.signal(getattr(signal, name), lambda *_: None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "reference" in getattr(item, "fixturenames", ()):
            item.add_marker("reference")


@pytest.fixture(scope="session")
def shared(
    tmp_path_factory: pytest.TempPathFactory,
) -> Shared:
    """Gives a folder that `make(folder)` filled, once for all files and processes of a session; to be read only."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def folder(name: str, make: Callable[[Path], object]) -> Path:
        place, whole = base / f"shared-{name}", base / f"shared-{name}.whole"
        with FileLock(base / f"shared-{name}.lock"):
            if not whole.exists():
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir()
                make(place)
                whole.touch()
        return place

    return folder


@pytest.fixture(scope="session")
def demo(shared: Shared) -> Path:
    """What `evaltools demo` makes: the outputs folder with four reports and the gallery."""

    def make(folder: Path) -> None:
        with chdir(folder):
            call("demo", "-j", "2", "-q")

    return shared("demo", make) / "outputs"


@pytest.fixture(scope="session")
def scored(shared: Shared) -> Path:
    """The results of the six bundled runs of cr, with 100 resamples."""

    def make(folder: Path) -> None:
        runs = [f"example:cr/{c}_memory__seed{s}_proposed" for c in ("no", "with") for s in "123"]
        call("score", "cr", *runs, "-o", folder, "-q", *QUICK)

    return shared("scored", make) / "results"


@pytest.fixture(scope="session")
def hostile(shared: Shared) -> Path:
    """The folder with the reports of hostile texts in `out`."""
    return shared("hostile", make_hostile)


@pytest.fixture(autouse=True)
def _no_suites_of_other_tests() -> Iterator[None]:
    """A suite that a test reads from a file is known to that test only."""
    with patch.dict("evaltools.core.suite.FROM_FILES", clear=True):
        yield


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium; the test is skipped where there is none."""
    path = (
        os.environ.get("EVALTOOLS_CHROMIUM")
        or shutil.which("chromium")
        or shutil.which("chromium-browser")
    )
    if not path:
        pytest.skip("no Chromium found (set EVALTOOLS_CHROMIUM)")
    return path


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """A headless Chromium for the tests of one file; they are skipped where playwright is absent."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def allowed() -> Callable[[Path], tuple[str, ...]]:
    """What a page may ask for besides itself: beginnings of addresses. Files of tests have their own."""
    return lambda file: ()


@pytest.fixture
def open_page(
    browser: Any, allowed: Callable[[Path], tuple[str, ...]]
) -> Iterator[Callable[..., Any]]:
    """Opens a page, and watches: at the end nothing may have been logged, asked for, or run from its data."""
    trouble: list[str] = []
    pages: list[Any] = []

    def opened(
        file: Path, fragment: str = "", *, width: int = 1400, scheme: str = "light", **context: Any
    ) -> Any:
        page = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, **context
        ).new_page()
        pages.append(page)
        expected = ("data:", file.as_uri(), *allowed(file))
        page.on("console", lambda m: trouble.append(f"console: {m.text}"))
        page.on("pageerror", lambda e: trouble.append(f"error: {e}"))
        page.on("dialog", lambda d: (trouble.append(f"dialog in {file}"), d.dismiss()))
        page.on(
            "request",
            lambda r: None if r.url.startswith(expected) else trouble.append(f"request: {r.url}"),
        )
        page.goto(file.as_uri() + fragment)
        return page

    yield opened
    for page in pages:
        if page.evaluate("typeof window.hacked") != "undefined":
            trouble.append(f"a text was run in {page.url}")
        page.context.close()
    assert trouble == []


@pytest.fixture(autouse=True)
def _english() -> None:
    """Every test begins in English, whatever language the one before it spoke."""
    speak("en")
