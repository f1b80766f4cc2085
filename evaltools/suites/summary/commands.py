"""What the summary suite adds to the command line: `evaltools check rules FILE...`."""

from pathlib import Path

from ...core.messages import Problems


def check_rules(path: Path, problems: Problems) -> None:
    """Rule files of summaries: list every problem."""
    from ...core.records import File
    from .rules import read_rules

    read_rules(File(path, problems))


CHECKS = {"rules": check_rules}
