"""The options that every batch command shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..core.errors import OnError
from ..core.language import language
from ..core.resampling import Method, Resampling
from ..core.workers import Workers


@dataclass(frozen=True)
class Settings:
    """The options that every batch command shares, named as on the command line."""

    out: Path = Path("outputs")
    jobs: int = 1
    name: str | None = None
    n_resamples: int = 10_000
    confidence: float = 0.95
    ci: Method = "auto"
    seed: int = 0
    on_error: OnError = "fail"
    resume: bool = True
    quiet: bool = False
    scheduler: str | None = None
    metrics: Path | None = None
    paper: bool = False
    lang: str = field(default_factory=language)

    def workers(self) -> Workers:
        """Where the work is done."""
        return Workers(self.jobs, self.scheduler, label="" if self.quiet else "scoring")

    @property
    def resampling(self) -> Resampling:
        """How the intervals are made."""
        return Resampling(
            method=self.ci,
            n_resamples=self.n_resamples,
            confidence=self.confidence,
            seed=self.seed,
        )
