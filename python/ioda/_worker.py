"""A worker of a sweep: it makes runs, one after the other."""

import os
import signal
import struct
import sys
from typing import Any, BinaryIO

from ioda import _native
from ioda._errors import Error, UsageError

_HEADER = struct.Struct("<Q")


class Worker:
    """Makes runs, and keeps drives for the next ones."""

    def __init__(self, known: list[str]) -> None:
        self._known = set(known)
        self._maker = _native.Maker()

    def make(self, point: dict[str, Any]) -> dict[str, Any]:
        """What came of a run: its key, and a record unless it need not be made; or why there is none."""
        made: dict[str, Any] = {"number": point["number"]}
        options = {**point["options"], "threads": 1}
        try:
            made["key"], made["record"] = self._maker.make(
                point["workload"], options, point["config"], point["policy"], point["point"], self._known.__contains__
            )
        except (UsageError, TypeError) as error:
            return made | {"refused": str(error)}
        except Error as error:
            return made | {"error": type(error).__name__, "why": str(error)}
        self._known.add(made["key"])
        return made


def main() -> None:
    """Takes runs from standard input and gives what came of them to standard output, until there are no more."""
    import json

    # The one who asked decides what an interrupt means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Nothing else may come between the messages.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    known = _next(sys.stdin.buffer)
    worker = Worker(json.loads(known or b"[]"))
    while (text := _next(sys.stdin.buffer)) is not None:
        answer = json.dumps(worker.make(json.loads(text))).encode()
        try:
            out.write(_HEADER.pack(len(answer)) + answer)
            out.flush()
        except BrokenPipeError:
            # Whoever asked is gone. What could not be written would be tried again, and complained about, at the exit.
            os._exit(0)


def _next(pipe: BinaryIO) -> bytes | None:
    header = pipe.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    (length,) = _HEADER.unpack(header)
    text = pipe.read(length)
    return text if len(text) == length else None
