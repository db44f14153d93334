"""The compiled half: conversions between Python and Rust."""

from collections.abc import Callable
from os import PathLike
from typing import Any

VERSION: str

class Array:
    """The array that a policy is made for."""

    @property
    def drives(self) -> int:
        """Number of drives."""

    @property
    def parities(self) -> int:
        """How many members of a stripe can be reconstructed at once."""

    @property
    def reconstruct_compute_ns(self) -> int:
        """Time to compute a reconstructed page, in nanoseconds."""

class View:
    """What a policy can look at when it is asked."""

    @property
    def stripe(self) -> int:
        """The drives that hold the stripe in question, as bits."""

    @property
    def missing(self) -> int:
        """Drives that have failed or are being rebuilt, as bits."""

    @property
    def busy(self) -> int:
        """Drives in their busy window now, as bits; 0 where there are no windows."""

    @property
    def busy_time_window_ns(self) -> int | None:
        """The length of the busy window in nanoseconds; None where there are no windows."""

    @property
    def read_blocks(self) -> tuple[int, ...]:
        """Blocks that each drive was asked to read and has not answered yet."""

    @property
    def write_blocks(self) -> tuple[int, ...]:
        """Blocks that each drive was asked to write and has not answered yet."""

class _Arrow:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Maker:
    """Makes runs of a sweep. It keeps prepared drives and traces for the next run."""

    def make(
        self,
        workload: str | PathLike[str] | None,
        options: dict[str, Any],
        configuration: dict[str, Any] | None,
        policy: str,
        point: str,
        known: Callable[[str], bool],
    ) -> tuple[str, str | None]: ...

class Store:
    """The folder of a sweep, which this process alone writes until it is closed."""

    def __init__(self, folder: str | PathLike[str], fresh: bool = False) -> None: ...
    def records(self) -> list[tuple[str, str]]: ...
    def keep(self, key: str, record: str) -> None: ...
    def finish(self) -> None: ...
    def close(self) -> None: ...

class Column:
    """A column that NumPy looks at."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Where NumPy finds its numbers."""

class Requests:
    """The requests of a run, in the order of their completion."""

    def names(self) -> list[str]: ...
    def column(self, name: str) -> Column: ...
    def words(self, name: str) -> list[str] | None: ...
    def arrow(self) -> _Arrow: ...

Histogram = tuple[bytes, bytes]

def arrow(columns: list[tuple[str, Any]]) -> _Arrow: ...
def columns(frame: Any) -> list[tuple[str, str, Any]]: ...
def command(arguments: list[str]) -> int: ...
def merge(folders: list[str | PathLike[str]], output: str | PathLike[str]) -> int: ...
def plan(options: dict[str, Any]) -> str: ...
def policies() -> list[tuple[str, str]]: ...
def shard(text: str, runs: int) -> tuple[int, int]: ...
def simulate(
    command: str,
    workload: str | PathLike[str] | None,
    options: dict[str, Any],
    configuration: dict[str, Any] | None,
    policies: list[Any] | None,
    progress: Callable[[int, int | None], Any] | None,
    keep_requests: bool,
) -> tuple[str, list[tuple[Histogram, Histogram]], list[tuple[bool | None, str]], list[Requests]]: ...
