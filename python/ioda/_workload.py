"""Workloads from memory: arrays, data frames and generators of requests."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ioda import _native
from ioda._errors import UsageError

_TIMES = {"at_ns": "ns", "at_us": "us", "at_ms": "ms", "at_s": "s"}
_AT_ONCE = 65_536
NAME = "requests.csv"
"""The name of the file in which requests from memory are read."""


class Request(NamedTuple):
    """One request of a workload, for generators.

    Attributes:
        at_ns: When it arrives, in whole nanoseconds; each no earlier than the one before. The first is at the start of
            the run.
        op: ``"read"`` or ``"write"``.
        offset_bytes: Its first byte.
        size_bytes: Its length.
    """

    at_ns: int
    op: str
    offset_bytes: int
    size_bytes: int


Workload = str | PathLike[str] | Mapping[str, Any] | Iterable[Request | tuple[int, str, int, int]] | Any | None
"""A preset, ``"synthetic"``, the path of a trace, or requests: columns with the names ``at_ns`` (or ``at_us``, ``at_ms``,
``at_s``), ``op`` (``"read"`` or ``"write"``), ``offset_bytes``, ``size_bytes`` and perhaps ``device``, as a dict of
arrays, a NumPy array with fields, or a data frame; or an iterable of :class:`ioda.Request`."""


@contextmanager
def readable(workload: Workload, options: dict[str, Any]) -> Iterator[Any]:
    """A workload as the command line has it. Requests from memory are in a file meanwhile, and ``options`` say how it is
    read."""
    if workload is None or isinstance(workload, str | PathLike):
        yield workload
        return
    if isinstance(workload, bool | int | float | bytes):
        raise TypeError(f"a workload cannot be {workload!r:.100}")
    for name in ("format", "columns"):
        if options.get(name) is not None:
            raise UsageError(f"{name} is for trace files, and these requests have columns with names")
    with tempfile.TemporaryDirectory(prefix="ioda-") as folder:
        path = Path(folder) / NAME
        columns = _columns(workload)
        most = options.get("requests")
        if columns is not None:
            unit = _written(path, columns)
        else:
            unit = "ns"
            _write_each(path, workload, most if isinstance(most, int) and most > 0 else None)
        time = next(name for name, each in _TIMES.items() if each == unit)
        device = ",device=device" if columns is not None and "device" in columns else ""
        options["format"] = "csv"
        options["columns"] = f"time={time}:{unit},op=op,offset=offset_bytes:bytes,size=size_bytes:bytes{device}"
        yield path


def _columns(workload: Any) -> dict[str, Any] | None:
    """Columns by name; None if there are none."""
    if isinstance(workload, np.ndarray):
        if workload.dtype.names is None:
            raise UsageError("an array of requests needs fields with names: at_ns, op, offset_bytes, size_bytes")
        return {name: workload[name] for name in workload.dtype.names}
    if hasattr(workload, "__arrow_c_stream__"):
        return {
            name: np.frombuffer(values, kind) if kind else values for name, kind, values in _native.columns(workload)
        }
    if hasattr(workload, "keys") and hasattr(workload, "__getitem__"):
        return {str(name): np.asarray(workload[name]) for name in workload.keys()}
    return None


def _written(path: Path, columns: dict[str, Any]) -> str:
    """Writes columns, and gives the unit of time."""
    times = [name for name in _TIMES if name in columns]
    if len(times) != 1:
        raise UsageError(f"requests have one column of times, {', '.join(_TIMES)}; these have {list(columns)}")
    names = [times[0], "op", "offset_bytes", "size_bytes", *(["device"] if "device" in columns else [])]
    for name in names:
        if name not in columns:
            raise UsageError(f"requests need the column {name}; these have {list(columns)}")
    lists = [np.asarray(columns[name]) for name in names]
    lengths = {each.shape for each in lists}
    if len(lengths) > 1 or any(each.ndim != 1 for each in lists):
        raise UsageError(f"columns of requests have one length, not {sorted(lengths)}")
    with path.open("w") as file:
        file.write(",".join(names) + "\n")
        for start in range(0, len(lists[0]), _AT_ONCE):
            parts = (map(_text, each[start : start + _AT_ONCE].tolist()) for each in lists)
            file.writelines(",".join(row) + "\n" for row in zip(*parts, strict=True))
    return _TIMES[times[0]]


def _write_each(path: Path, requests: Any, most: int | None) -> None:
    if not isinstance(requests, Iterable):
        raise TypeError(f"a workload cannot be {requests!r:.100}")
    with path.open("w") as file:
        file.write(",".join(Request._fields) + "\n")
        for request in islice(chain(requests), most):
            if not isinstance(request, tuple) or len(request) != len(Request._fields):
                raise TypeError(f"a request is {Request._fields} as a tuple, not {request!r:.100}")
            file.write(",".join(map(_text, request)) + "\n")


def _text(value: Any) -> str:
    # What is no number of the kind is told by the reader, with the line.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "".join(c for c in str(value) if c not in ",\n\r\"")
