"""Many runs: on processes here, or on Ray."""

import json
import selectors
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from os import PathLike, cpu_count
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from ioda import _native
from ioda._errors import DataError, Error, RunError, UsageError
from ioda._progress import Tell, shown
from ioda._table import Table

_MOST_ATTEMPTS = 3
_HEADER = struct.Struct("<Q")
Point = dict[str, Any]
"""What a worker is given: the number of the run, its options and so on."""
Made = dict[str, Any]
"""What it gives back: the number, the key, and a record or why there is none."""


class Sweep(Table):
    """The runs of a sweep as a table.

    A row for each run: what is varied, as text; ``policy``; ``seed``; ``outcome``, which is ``measured``, ``overloaded``
    (the array did not keep up), ``refused`` (it cannot be built) or ``failed``; ``why``, if it was not measured;
    ``result_hash``; ``key``; and every standard metric, such as ``read.p99.9``, in the words of ``asserts``: latencies in
    microseconds, not a number where a run has none.

    Attributes:
        varied: The names of what is varied.
        made: How many runs were made now.
        found: How many were there before.
        repeated: How many were made again because a worker was lost.
    """

    def __init__(self, columns: Mapping[str, Any], varied: Sequence[str], made: int, found: int, repeated: int) -> None:
        super().__init__(columns)
        self.varied = tuple(varied)
        self.made, self.found, self.repeated = made, found, repeated

    def pivot(
        self, metric: str, rows: str, columns: str, **where: Any
    ) -> tuple[list[str], list[str], npt.NDArray[np.float64]]:
        """A metric over two of the things that are varied, as a heat map has it.

        Args:
            metric: The column to be shown, such as ``"read.p99.9"``.
            rows: What is varied from row to row: a column.
            columns: What is varied from column to column.
            where: Values of other columns, such as ``policy="ioda"``; what is left is averaged by the median.

        Returns:
            The values of the rows, those of the columns, and the metric as an array of that shape; not a number where
            there is none.
        """
        for name in (metric, rows, columns, *where):
            if name not in self:
                raise UsageError(f"the sweep has no column {name}; there are {', '.join(self)}")
        chosen = np.ones(self.rows, bool)
        for name, value in where.items():
            chosen &= self[name].astype(str) == str(value)
        places = [[str(each) for each in dict.fromkeys(self[name].tolist())] for name in (rows, columns)]
        cells = np.full([len(each) for each in places], np.nan)
        texts = [self[name].astype(str) for name in (rows, columns)]
        for row, column in product(*(range(len(each)) for each in places)):
            here = chosen & (texts[0] == places[0][row]) & (texts[1] == places[1][column])
            values = self[metric][here]
            values = values[~np.isnan(values)]
            if len(values):
                cells[row, column] = np.median(values)
        return places[0], places[1], cells


class _Workers(Protocol):
    """Where runs are made."""

    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None: ...
    def idle(self) -> int:
        """How many more runs can be begun."""
    def begin(self, point: Point) -> None:
        """Begins one."""
    def ended(self) -> Iterator[tuple[Point, Made | None]]:
        """Waits until runs have ended, or their workers: then with nothing made."""


def sweep(
    grid: Mapping[str, Sequence[Any]],
    workload: Any = None,
    *,
    store: str | PathLike[str] = "ioda-sweep",
    processes: int | None = None,
    ray: Any = None,
    config: str | PathLike[str] | Mapping[str, Any] | None = None,
    fresh: bool = False,
    shard: str | None = None,
    progress: bool | Tell | None = None,
    **options: Any,
) -> Sweep:
    """Makes a run for every combination of the values of ``grid``, and keeps each when it ends.

    Runs are known by a hash of everything that determines them, so a sweep that was interrupted goes on where it was,
    and one with more values makes only what is missing. They are those of ``ioda sweep``, in the same file, and the
    same bits wherever they were made; so is the file when the sweep has ended.

    Args:
        grid: Options and the list of their values, such as ``{"drives": [4, 8], "tw": ["50ms", "100ms"]}``. ``policy``
            and ``seed`` may be among them, and ``workload``.
        workload: The workload of all runs, as in :func:`ioda.run`: a preset, ``"synthetic"`` or the path of a trace.
        store: The folder in which runs are kept.
        processes: How many runs are made at once; by default as many as there are processors, or as Ray has.
        ray: The module ``ray``: then runs are made by Ray, on this machine or its cluster.
        config: As in :func:`ioda.run`.
        fresh: Forget what is kept in the folder.
        shard: Make one part of the runs only, such as ``"3/64"``: the third of 64. Parts are blocks of runs that follow
            each other and differ by one run at most. Each has a ``store`` of its own; :func:`merge` puts them together.
        progress: As in :func:`ioda.run`, in runs.
        options: Options of all runs, as in :func:`ioda.run`.

    Returns:
        A table with a row for each run, or for each of the shard.

    Raises:
        UsageError: For options that no run can use.
        RunError: Where the store cannot be written, or is being written by another process.
    """
    if not isinstance(grid, Mapping):
        raise TypeError(f"grid is a dict of options and lists of values, not {grid!r:.100}")
    for name, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
            raise TypeError(f"grid[{name!r}] is a list of one value or more, not {values!r:.100}")
        if name in options:
            raise UsageError(f"{name} is in the grid, and an option of all runs")
    if processes is not None and not (isinstance(processes, int) and 1 <= processes <= 1024):
        raise UsageError(f"processes is {processes!r:.100}; it must be 1 to 1024")
    points = list(_points(grid, workload, config, options))
    if len(points) > 1_000_000:
        raise UsageError(f"the grid has {len(points)} runs; a sweep has at most 1000000")
    others: list[Point] = []
    if shard is not None:
        first, end = _native.shard(shard, len(points))
        others = points[:first] + points[end:]
        points = [point | {"number": number} for number, point in enumerate(points[first:end])]
    kept = _native.Store(store, fresh)
    try:
        with shown(progress, "runs") as tell:
            made, repeated, found = _made(points, others, kept, _workers(processes, ray), tell)
        kept.finish()
        records = dict(kept.records())
    finally:
        kept.close()
    varied = [name for name in grid if name not in ("policy", "policies", "seed")]
    return Sweep(_columns(points, made, records, varied), varied, sum(one["is_new"] for one in made), found, repeated)


def merge(folders: Sequence[str | PathLike[str]], output: str | PathLike[str]) -> int:
    """Puts the runs of several stores into one, as ``ioda sweep merge`` does: those of shards.

    The same sweep with this store and without ``shard`` finds them all then. Nothing is written unless all of them fit
    together.

    Args:
        folders: The stores, in any order.
        output: The store that gets their runs, beside those that it has already.

    Returns:
        How many runs it has then.

    Raises:
        DataError: Where two stores have different records of one run, or one is no store.
        UsageError: Where a store is of another version.
        RunError: Where a store cannot be read or written, or is being written.
    """
    if isinstance(folders, str | PathLike):
        raise TypeError(f"folders is a list of folders, not {folders!r:.100}")
    return _native.merge(list(folders), output)


def _points(
    grid: Mapping[str, Sequence[Any]], workload: Any, config: Any, options: dict[str, Any]
) -> Iterator[Point]:
    """Every run: seed by seed, so that runs with the same drives follow each other, then combination by combination."""
    options = dict(options)
    seeds = grid.get("seed", [options.pop("seed", 1)])
    policies = list(grid.get("policy", grid.get("policies", [])))
    for name in ("policy", "policies"):
        given = options.pop(name, None)
        policies += [given] if isinstance(given, str) else list(given or [])
    policies = policies or ["ioda"]
    for policy in policies:
        if not isinstance(policy, str):
            raise UsageError("a sweep runs policies that ioda knows by name; a class has no hash that determines it")
    others = {name: values for name, values in grid.items() if name not in ("policy", "policies", "seed")}
    configuration = dict(config) if isinstance(config, Mapping) else None
    if config is not None and configuration is None:
        options["config"] = str(config)
    number = 0
    for seed, values in product(seeds, product(*others.values())):
        varied = dict(zip(others, values, strict=True))
        words = ", ".join(f"{name} {_text(value)}" for name, value in varied.items())
        here = {name: value for name, value in (options | varied).items() if name != "workload"}
        for policy in policies:
            yield {
                "number": number,
                "workload": varied.get("workload", workload),
                "options": here | {"seed": seed, "policy": policies},
                "config": configuration,
                "policy": policy,
                "seed": seed,
                "point": words,
                "varied": varied,
            }
            number += 1


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _workers(processes: int | None, ray: Any) -> Callable[[list[str]], _Workers]:
    if ray is None:
        return lambda known: _Processes(processes or cpu_count() or 1, known)
    return lambda known: _Ray(ray, processes, known)


def _made(
    points: list[Point],
    others: list[Point],
    store: _native.Store,
    workers: Callable[[list[str]], _Workers],
    tell: Tell | None,
) -> tuple[list[Made], int, int]:
    """What came of every run, in their order; how many were made again, and how many were there. The others are those
    of other shards.
    """
    known = {key for key, _ in store.records()}
    waiting, attempts, done = deque(points), dict.fromkeys(range(len(points)), 0), dict[int, Made]()
    repeated = found = 0
    written = set(known)
    with workers(sorted(known)) as crew:

        def hand_out() -> None:
            while waiting and crew.idle():
                crew.begin(waiting.popleft())

        while len(done) < len(points):
            hand_out()
            ended = list(crew.ended())
            # Nobody waits until what has ended is on the disk.
            hand_out()
            for point, made in ended:
                number = point["number"]
                if made is None:
                    attempts[number] += 1
                    if attempts[number] < _MOST_ATTEMPTS:
                        repeated += 1
                        waiting.appendleft(point)
                        continue
                    made = {"number": number, "failed": f"its worker was lost {_MOST_ATTEMPTS} times"}
                if made.get("error"):
                    raise _ERRORS.get(made["error"], RunError)(made["why"])
                if made.get("record") and made["key"] not in written:
                    store.keep(made["key"], made["record"])
                    written.add(made["key"])
                made["is_new"] = bool(made.get("record"))
                found += made.get("key") in known
                done[number] = made
                if tell:
                    tell(len(done), len(points))
    ordered = [done[number] for number in range(len(points))]
    if ordered and all(made.get("refused") for made in ordered) and not any(map(_can_be_built, others)):
        raise UsageError(ordered[0]["refused"])
    return ordered, repeated, found


def _can_be_built(point: Point) -> bool:
    """Whether the options of a run can be used; it is not made."""
    plain = json.loads(json.dumps(point, default=_plain))
    try:
        _native.Maker().make(
            plain["workload"], plain["options"], plain["config"], plain["policy"], plain["point"], lambda key: True
        )
    except (UsageError, TypeError):
        return False
    return True


_ERRORS: dict[str, type[Error]] = {"RunError": RunError, "DataError": DataError}


def _columns(
    points: list[Point], made: list[Made], records: dict[str, str], varied: list[str]
) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {name: [_text(point["varied"][name]) for point in points] for name in varied}
    columns |= {
        "policy": [point["policy"] for point in points],
        "seed": [str(point["seed"]) for point in points],
    }
    outcomes, whys, hashes, metrics = [], [], [], []
    for one in made:
        outcome: dict[str, Any] = {}
        for why in ("refused", "failed"):
            if one.get(why):
                outcome = {why: one[why]}
        if not outcome:
            text = records.get(one["key"]) or one.get("record")
            outcome = json.loads(text)["outcome"] if text else {"failed": "nothing is kept of it"}
        (kind, what), *_ = outcome.items()
        outcomes.append(kind)
        whys.append("" if kind == "measured" else what)
        hashes.append(what["result_hash"] if kind == "measured" else "")
        metrics.append(what["metrics"] if kind == "measured" else {})
    columns |= {"outcome": outcomes, "why": whys, "result_hash": hashes, "key": [one.get("key", "") for one in made]}
    names = dict.fromkeys(name for each in metrics for name in each)
    return columns | {name: [each.get(name, np.nan) for each in metrics] for name in names}


class _Processes:
    """Workers that are processes of this machine, each with a pipe of its own, so that one that is lost is known."""

    def __init__(self, count: int, known: list[str]) -> None:
        self._known = json.dumps(known).encode()
        self._count = count
        self._workers: list[subprocess.Popen[bytes]] = []
        self._idle: list[subprocess.Popen[bytes]] = []
        self._points: dict[int, Point] = {}
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, at: object) -> None:
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.communicate()
        self._selector.close()

    def idle(self) -> int:
        return self._count - len(self._points)

    def _start(self) -> subprocess.Popen[bytes]:
        code = f"import sys; sys.path[:] = {sys.path!r}; from ioda import _worker; _worker.main()"
        worker = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._workers.append(worker)
        _send(worker, self._known)
        self._selector.register(_out(worker), selectors.EVENT_READ, worker)
        return worker

    def begin(self, point: Point) -> None:
        worker = self._idle.pop() if self._idle else self._start()
        self._points[worker.pid] = point
        try:
            _send(worker, json.dumps(point, default=_plain).encode())
        except OSError:
            # It is lost, which reading will tell.
            pass

    def ended(self) -> Iterator[tuple[Point, Made | None]]:
        for key, _ in self._selector.select():
            worker: subprocess.Popen[bytes] = key.data
            text = _receive(_out(worker))
            point = self._points.pop(worker.pid, None)
            if text is None:
                self._selector.unregister(_out(worker))
                self._workers.remove(worker)
                if worker in self._idle:
                    self._idle.remove(worker)
                worker.kill()
                worker.communicate()
                if point is not None:
                    yield point, None
            elif point is not None:
                self._idle.append(worker)
                yield point, json.loads(text)


def _plain(value: Any) -> Any:
    """Numbers of NumPy and paths, for a worker."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, PathLike):
        return str(Path(value))
    raise TypeError(f"a sweep cannot vary {value!r:.100}")


def _out(worker: subprocess.Popen[bytes]) -> Any:
    return worker.stdout


def _send(worker: subprocess.Popen[bytes], text: bytes) -> None:
    assert worker.stdin
    worker.stdin.write(_HEADER.pack(len(text)) + text)
    worker.stdin.flush()


def _receive(pipe: Any) -> bytes | None:
    """The next message; None at the end, also within one."""
    header = pipe.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    (length,) = _HEADER.unpack(header)
    text: bytes = pipe.read(length)
    return text if len(text) == length else None


# Ray's processes have a hundred threads, and the memory of each run would stay with the allocator's arena of one of them.
_ACTOR = {"num_cpus": 1, "runtime_env": {"env_vars": {"MALLOC_ARENA_MAX": "1"}}}


class _Ray:
    """Workers that are actors of Ray."""

    def __init__(self, ray: Any, count: int | None, known: list[str]) -> None:
        self._ray = ray
        if not ray.is_initialized():
            ray.init(num_cpus=count, include_dashboard=False, log_to_driver=False)
        self._count = count or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._known = ray.put(known)
        self._idle: list[Any] = []
        self._running: dict[Any, tuple[Point, Any]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, at: object) -> None:
        for actor in [*self._idle, *(actor for _, actor in self._running.values())]:
            self._ray.kill(actor)

    def idle(self) -> int:
        return self._count - len(self._running)

    def begin(self, point: Point) -> None:
        from ioda._worker import Worker

        actor = self._idle.pop() if self._idle else self._ray.remote(**_ACTOR)(Worker).remote(self._known)
        plain = json.loads(json.dumps(point, default=_plain))
        self._running[actor.make.remote(plain)] = (point, actor)

    def ended(self) -> Iterator[tuple[Point, Made | None]]:
        ready, _ = self._ray.wait(list(self._running), num_returns=1)
        for reference in ready:
            point, actor = self._running.pop(reference)
            try:
                made = self._ray.get(reference)
            except (self._ray.exceptions.RayActorError, self._ray.exceptions.ObjectLostError):
                yield point, None
            else:
                self._idle.append(actor)
                yield point, made
