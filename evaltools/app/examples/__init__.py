"""The bundled examples: small, synthetic, made by scripts/make_examples_*.py."""

from __future__ import annotations

from pathlib import Path

from ...core.errors import UsageError

ROOT = Path(__file__).parent

DEMO: dict[str, tuple[str, ...]] = {
    "cr": ("example:cr/with_memory__seed1_proposed",),
    "seeds": tuple(
        f"example:cr/{condition}__seed{seed}_proposed"
        for condition in ("no_memory", "with_memory")
        for seed in (1, 2, 3)
    ),
    "memfin": ("example:memfin/memory_agent", "example:memfin/plain_llm"),
    "summary": ("example:summary/cases.jsonl",),
}
"""What `evaltools demo` reports on."""


def example(name: str) -> Path:
    """The path of a bundled example ("cr/review_on__seed1_proposed"); UsageError lists them for another name."""
    path = ROOT / name
    if not path.resolve().is_relative_to(ROOT.resolve()) or not path.exists():
        there = sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("*/*") if not p.name.startswith((".", "_")))
        raise UsageError(f"no example {name!r}; there are: {', '.join(there)}")
    return path
