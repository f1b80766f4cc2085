"""The checks of a run, by their codes."""

import evaltools as et
from evaltools.core.estimates import Check


def found(run: et.Run, code: str) -> Check | None:
    """The check of this code, where the run has one."""
    return next((check for check in run.checks if check.code == code), None)
