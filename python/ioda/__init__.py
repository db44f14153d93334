"""Flash arrays that do not wait for garbage collection: simulated, swept and plotted.

    import ioda
    ioda.compare("tpcc", policies=["base", "ioda"])

Options have the names and units of the command line, with underscores: ``--write-buffer 32m`` is ``write_buffer="32m"``,
and ``ioda run --help`` lists them all. Errors are the sentences that the command prints, as exceptions.
Times of a simulation are those of its own clock.
"""

from ioda._errors import DataError, Error, RunError, UsageError
from ioda._native import VERSION as __version__
from ioda._policy import Array, Attempt, Flag, Policy, View
from ioda._results import Comparison, Latency, Run, Timeline
from ioda._run import compare, plan, policies, run
from ioda._sweep import Sweep, merge, sweep
from ioda._table import Table
from ioda._workload import Request

__all__ = [
    "Array",
    "Attempt",
    "Comparison",
    "DataError",
    "Error",
    "Flag",
    "Latency",
    "Policy",
    "Request",
    "Run",
    "RunError",
    "Sweep",
    "Table",
    "Timeline",
    "UsageError",
    "View",
    "__version__",
    "compare",
    "merge",
    "plan",
    "policies",
    "run",
    "sweep",
]
