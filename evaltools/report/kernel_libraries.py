"""What the kernel of every report imports: loaded once, by the process that kernels are forked from.

Nothing here may start a thread: a forked process would not have it.
"""

from __future__ import annotations

import pyarrow.parquet  # noqa: F401

from . import figures, make_study  # noqa: F401
from .fonts import covered
from .kernels import without
from .templates import macros

# seaborn needs scipy.stats for densities only, for which it has code of its own: 0.8 of 1.4 seconds
with without("scipy.stats"):
    import seaborn  # noqa: F401

covered()
macros()
