"""The gallery: one static, self-contained page with a table of all results of an output folder."""

import os
from pathlib import Path
from urllib.parse import quote

from ..core.errors import UsageError
from ..core.files import HTML, Fields, write_text
from ..core.language import say, speaking
from ..core.manifest import NAME, Manifest
from ..core.records import read_model
from ..core.results import METRICS, MetricsFile, spoilt_files
from .page import page
from .tables import shown_texts

# stands in a page that this package made
OURS = b'<meta name="generator" content="evaltools gallery">'

# level of a note, the worst first -> what it says of a result, and its colour
LEVELS = {
    "spoilt": ("not as it was written", "error"),
    "incomplete": ("incomplete", "error"),
    "blocking": ("cannot be measured", "error"),
    "warning": ("cautions: {n}", "warning"),
    "info": ("no caution", "good"),
}

# what the template shows of a result: texts from its files, which it clips and escapes
Card = Fields


def build(out: Path) -> Path:
    """(Re)build `<out>/index.html` from what stands under `<out>/results` and `<out>/reports`; returns its path.

    The page loads nothing from anywhere and is written whole or not at all. The same files give the same bytes. A
    results folder that cannot be read is listed as incomplete, with the reason; hidden folders are passed over.
    UsageError where there is no folder `out`, or somebody else's index.html in it.
    """
    out = Path(out)
    if not out.is_dir():
        raise UsageError(f"{out}: no such folder")
    path = replaceable(out)
    cards, incomplete = collect(out)
    members = {name for card in cards for name in card["manifest"].runs}
    # by suite, the newest first; a run of a condition only where it has a page, or is spoilt
    shown = [
        card
        for card in sorted(cards, key=lambda card: card["manifest"].started, reverse=True)
        if card["report"] or card["is_spoilt"] or card["name"] not in members
    ]
    write_text(path, page("gallery/gallery.html.j2", cards=shown, incomplete=incomplete))
    return path


def replaceable(out: Path) -> Path:
    """The path of `<out>/index.html`; UsageError where a page stands there that this package did not make."""
    path = out / "index.html"
    if path.exists() and not (path.is_file() and OURS in path.read_bytes()):
        raise UsageError(
            f"{path} was not made by evaltools and is left as it is: move it, or choose another folder"
        )
    return path


def collect(out: Path) -> tuple[list[Card], list[tuple[str, str]]]:
    """(the results in an output folder by name, name and reason of each folder that is incomplete)."""
    cards = []
    incomplete = []
    for folder in sorted((out / "results").glob("[!.]*/")):
        try:
            cards.append(_card(out, folder))
        # whatever stands in a folder, it shall not take the others from the page
        except Exception as e:  # noqa: BLE001
            incomplete.append((folder.name, str(e).replace(f"{folder}{os.sep}", "")))
    return cards, incomplete


def _card(
    out: Path,
    folder: Path,
) -> Card:
    """What the page shows of one results folder; raises whatever is wrong with its files.

    `lead`: the texts of the metric that leads; empty where a check blocks all. `verdict`: what it is called, and what it
    is; `trust`: (words, colour). All words are in the language of the report.
    """
    manifest = read_model(folder / NAME, Manifest)
    stored = read_model(folder / METRICS, MetricsFile)
    usable = {row.name: row for row in stored.metrics if not row.blocked}
    lead = next((usable[name] for name in manifest.headline if name in usable), None)
    # of a condition that of its comparison, else the worst of its suite: fail, look, pass
    verdict = manifest.verdict or min((row.verdict for row in stored.verdicts), default="")
    # a difference without a verdict is no number that means nothing
    levels = [
        "warning" if check.code == "missing-not-random" else str(check.level)
        for check in stored.checks or ()
    ]
    levels += ["incomplete"] * manifest.incomplete
    levels += ["spoilt"] * any(spoilt_files(folder, manifest))
    worst = min(levels, key=list(LEVELS).index, default="info")
    words, colour = LEVELS[worst]
    study = manifest.report or folder.name
    report = f"reports/{study}/{HTML}"
    is_there = Path(study).name == study != ".." and (out / report).is_file()
    with speaking(manifest.lang, manifest.suite):
        return {
            "name": folder.name,
            "title": manifest.condition or folder.name,
            "manifest": manifest,
            "suite": say(manifest.suite_title or manifest.suite),
            "lead": shown_texts({**lead.model_dump(), "metric": lead.name}) if lead else {},
            "verdict": (say(verdict), verdict),
            "trust": (say(words, n=levels.count(worst)), colour),
            "is_spoilt": worst == "spoilt",
            "report": quote(os.fsencode(report)) if is_there else "",
            "files": quote(os.fsencode(f"results/{folder.name}/")),
        }
