"""The bundled examples: small, synthetic, made by scripts/make_examples_*.py."""

from __future__ import annotations

from pathlib import Path

from ..errors import UsageError

ROOT = Path(__file__).parent


def example(name: str) -> Path:
    """The path of a bundled example ("cr/review_on__seed1_proposed"); UsageError lists them for another name."""
    path = ROOT / name
    if not path.resolve().is_relative_to(ROOT.resolve()) or not path.exists():
        there = sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("*/*") if not p.name.startswith((".", "_")))
        raise UsageError(f"no example {name!r}; there are: {', '.join(there)}")
    return path
