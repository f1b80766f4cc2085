"""axe-core on the reports and the gallery of the bundled examples: no serious or critical finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from evaltools.app.cli import main

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    out = tmp_path_factory.mktemp("demo")
    done = CliRunner().invoke(main, ["demo", "-o", str(out), "-j", "2", "-q"])
    assert done.exit_code == 0, done.output
    found = {f.parent.name: f for f in sorted(out.glob("reports/*/metric_report.html"))}
    assert len(found) == 4
    return {**found, "gallery": out / "index.html"}


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_finding(browser: Any, pages: dict[str, Path], width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    # colours are those of the scheme at any width, and take axe most of its time
    options = {"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": width > 1000}}}
    serious = []
    for name, file in pages.items():
        # the page's own policy forbids any script but its own, axe's too
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
        page = context.new_page()
        page.goto(file.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        for found in axe.run(page, options=options).response["violations"]:
            if found["impact"] in {"serious", "critical"}:
                node = found["nodes"][0]
                what = f"{node['html'][:200]} {node['failureSummary'][:300]}"
                serious.append(f"{name}: {found['id']} x{len(found['nodes'])}: {what}")
        context.close()
    assert serious == []
