"""What `import evaltools` gives, for editors and type checkers: the names are loaded when they are first used."""

from .core.estimates import Check as Check
from .core.estimates import Resampling as Resampling
from .core.files import example as example
from .core.messages import InputError as InputError
from .core.messages import Problems as Problems
from .core.messages import UsageError as UsageError
from .core.messages import speak as speak
from .core.metric import AnyMetric as AnyMetric
from .core.metric import Difference as Difference
from .core.metric import Mean as Mean
from .core.metric import Metric as Metric
from .core.suite import Breakdown as Breakdown
from .core.suite import Source as Source
from .core.suite import Suite as Suite
from .core.suite import SuiteOptions as SuiteOptions
from .core.suite import get_suite as get_suite
from .core.suite import jsonl_suite as jsonl_suite
from .core.workers import Workers as Workers
from .report.evaluate import compare as compare
from .report.evaluate import evaluate as evaluate
from .report.evaluate import load as load
from .report.evaluate import study as study
from .report.run import Run as Run
from .report.run import pass_at_k as pass_at_k
from .report.study import Study as Study
from .report.tables import notebook as notebook
from .stats.intervals import estimate as estimate
from .suites.cr import tuples
from .suites.memfin import score
from .suites.summary import scoring

__version__: str
BUILT_IN: dict[str, str]

# the functions of plain values of a suite
cr = tuples
memfin = score
summary = scoring
