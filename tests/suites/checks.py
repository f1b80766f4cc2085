"""The checks of a run, by their codes."""

from typing import Any

import evaltools as et


def found(run: et.Run, code: str) -> Any:
    """The check of this code, where the run has one."""
    return next((check for check in run.checks if check.code == code), None)
