"""What axe-core finds on a page."""

from typing import Any

import pytest

LAYOUT: dict[str, Any] = {
    "resultTypes": ["violations"],
    "rules": {"color-contrast": {"enabled": False}},
}
COLOURS: dict[str, Any] = {"resultTypes": ["violations"], "runOnly": ["color-contrast"]}

ONE_OF_A_KIND = """() => {
    const kind = e => e === document.body ? "" : kind(e.parentElement) + "/" + e.tagName + Array.from(e.attributes)
        .map(a => a.name + (["class", "style", "type"].includes(a.name) ? "=" + a.value : "")).sort();
    const seen = new Set();
    for (const piece of document.querySelectorAll("article, li, tr, figure")) {
        if (!piece.isConnected) continue;
        const place = Array.from(piece.parentElement.children).indexOf(piece) % 2;
        const kinds = [piece, ...piece.querySelectorAll("*")].map(e => kind(e) + place);
        if (kinds.every(k => seen.has(k))) piece.remove();
        else kinds.forEach(k => seen.add(k));
    }
}"""
"""Leaves of samples, rows and items those that have something in a place, class or style that none before had.

What is left has every colour on every ground. The rest would take axe minutes of work that it has done already."""


def findings(page: Any) -> list[str]:
    """The violations of a page, with their impact; its colours light and dark. Little of the page stays."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.evaluate(ONE_OF_A_KIND)
    violations = axe.run(page, options=LAYOUT).response["violations"]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        violations += axe.run(page, options=COLOURS).response["violations"]
    said = []
    for found in violations:
        node = found["nodes"][0]
        where = f"{node['html'][:200]} {node['failureSummary'][:300]}"
        said.append(f"{found['impact']}: {found['id']} x{len(found['nodes'])}: {where}")
    return said
