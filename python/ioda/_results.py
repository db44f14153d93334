"""What came of runs."""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from ioda import _html
from ioda._errors import UsageError
from ioda._table import Table

Floats = npt.NDArray[np.float64]
Histogram = tuple[bytes, bytes]
Operation = Literal["read", "write"]
Verdict = tuple[bool | None, str]

_NANOS_PER_MICRO = 1e3


class Latency:
    """The latencies of the reads of a run, or of its writes, from the intended arrival to the completion.

    Attributes:
        count: Number of requests.
        mean_us: Mean in microseconds.
        min_us: Shortest in microseconds.
        max_us: Longest in microseconds.
        values_ns: Every latency that was measured, in nanoseconds to three significant digits, ascending.
        counts: How many requests took each of them.
    """

    def __init__(self, document: dict[str, Any], histogram: Histogram) -> None:
        self.count: int = document["count"]
        self.mean_us: float = document["mean_us"]
        self.min_us: float = document["min_us"]
        self.max_us: float = document["max_us"]
        self._percentiles: list[dict[str, Any]] = document["percentiles"]
        self.values_ns: npt.NDArray[np.uint64] = np.frombuffer(histogram[0], "<u8")
        self.counts: npt.NDArray[np.uint64] = np.frombuffer(histogram[1], "<u8")
        self._until = np.cumsum(self.counts)

    @overload
    def percentile(self, percentile: float) -> float: ...
    @overload
    def percentile(self, percentile: npt.ArrayLike) -> float | Floats: ...
    def percentile(self, percentile: npt.ArrayLike) -> float | Floats:
        """The latency in microseconds that so many per cent of the requests do not exceed.

        Args:
            percentile: One number from 0 to 100, or an array of them.

        Returns:
            A number, or an array of the same shape; not a number where there were no requests.
        """
        wanted = np.asarray(percentile, dtype=float)
        if not np.all((wanted >= 0) & (wanted <= 100)):
            raise ValueError(f"percentile is {percentile!r:.100}; it must be 0 to 100")
        if not self.count:
            found = np.full(wanted.shape, np.nan)
        else:
            rank = np.clip(np.ceil(wanted / 100.0 * self.count), 1, self.count)
            found = self.values_ns[np.searchsorted(self._until, rank.astype(np.uint64))] / _NANOS_PER_MICRO
        return float(found) if wanted.ndim == 0 else found

    def percentiles(self) -> Table:
        """The percentiles of the report: ``percentile``, ``value_us``, ``samples_beyond`` (below 100 a percentile says
        little), and with ``intervals=True`` also ``low_us`` and ``high_us``, between which it lies with a confidence of
        95 %."""
        entries = self._percentiles
        columns = {name: [entry[name] for entry in entries] for name in ("percentile", "value_us", "samples_beyond")}
        if any(entry.get("interval_us") for entry in entries):
            ends = [entry.get("interval_us") or (np.nan, np.nan) for entry in entries]
            columns |= {"low_us": [low for low, _ in ends], "high_us": [high for _, high in ends]}
        return Table(columns)

    def cdf(self) -> Table:
        """The distribution function: ``latency_us``, ascending, and ``share``, the part of the requests, above 0 to 1,
        that took no longer."""
        share = self._until / self.count if self.count else np.empty(0)
        return Table({"latency_us": self.values_ns / _NANOS_PER_MICRO, "share": share})

    def __repr__(self) -> str:
        if not self.count:
            return "no requests"
        some = ", ".join(f"p{each:g} {_html.time(self.percentile(each))}" for each in (50, 99, 99.9))
        return f"{self.count} requests, mean {_html.time(self.mean_us)}, {some}"


class Timeline:
    """A stretch of a run in detail. Times are those of the simulation, in milliseconds.

    Attributes:
        start_ms: Its start.
        end_ms: Its end.
        reads: Single reads: ``t_ms``, ``latency_us``, ``cause`` (the one with the largest part).
        windows: Busy windows: ``drive``, ``start_ms``, ``end_ms``.
        collections: Collections: ``drive``, ``start_ms``, ``end_ms``.
        p99: Of reads, by intervals: ``start_ms``, ``latency_us``.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.start_ms: float = document["start_ms"]
        self.end_ms: float = document["end_ms"]
        points = document["points"]
        self.reads = Table(
            {
                "t_ms": _floats(point["t_ms"] for point in points),
                "latency_us": _floats(point["latency_us"] for point in points),
                "cause": [point["dominant_cause"] for point in points],
            }
        )
        self.windows = _bands(document["windows"])
        self.collections = _bands(document["collections"])
        self.p99 = _pairs(document["p99_per_bin"], "start_ms", "latency_us")

    def __repr__(self) -> str:
        reads, windows, collections = self.reads.rows, self.windows.rows, self.collections.rows
        stretch = f"{self.start_ms:g} to {self.end_ms:g} ms"
        return f"{stretch}: {reads} reads, {windows} windows, {collections} collections"


class Run:
    """What came of one run.

    Every number of its document is an attribute, such as ``extra_reads``, ``contract_violations``, ``collections``,
    ``write_amplification_device`` or ``iops_read``: ``dir(run)`` lists them, and ``docs/reference`` describes them.

    Attributes:
        policy: The policy, as in ``policy=``.
        label: The policy, as in figures.
        result_hash: Equal hashes mean equal runs, wherever and however they were made.
        read: The latencies of reads.
        write: The latencies of writes.
        document: Everything, as in the JSON of ``ioda run --json``.
        manifest: What is needed to run it again.
        verdicts: For each of ``asserts`` of :func:`ioda.run`, as in :class:`Comparison`. A comparison has those of all
            its runs.
        holds: Whether everything holds that ``asserts`` says.
    """

    def __init__(
        self,
        document: dict[str, Any],
        manifest: dict[str, Any],
        histograms: tuple[Histogram, Histogram],
        verdicts: Sequence[Verdict] = (),
    ) -> None:
        self.verdicts = list(verdicts)
        self.holds = all(holds for holds, _ in verdicts)
        self.document = document
        self.manifest = manifest
        self.policy: str = document["policy"]
        self.label: str = document["label"] or document["policy"]
        self.result_hash: str = document["result_hash"]
        self._histograms = histograms
        self._requests: Table | None = None
        self.read = Latency(document["read"], histograms[0])
        self.write = Latency(document["write"], histograms[1])

    def __getattr__(self, name: str) -> Any:
        document = self.__dict__.get("document", {})
        if name in document and isinstance(document[name], (int, float)):
            return document[name]
        # Counts of nothing are left out of the document.
        if name in ("held_back", "suspensions", "scrubbed_pages", "slc_pages", "folded_pages", "permits"):
            return 0
        raise AttributeError(f"a run has no {name}")

    def __dir__(self) -> list[str]:
        numbers = (name for name, value in self.document.items() if isinstance(value, (int, float)))
        return sorted({*super().__dir__(), *numbers})

    def of(self, op: Operation) -> Latency:
        """The latencies of ``"read"`` or of ``"write"``."""
        if op not in ("read", "write"):
            raise ValueError(f"op is {op!r:.100}; it must be read or write")
        return self.read if op == "read" else self.write

    @overload
    def percentile(self, percentile: float, op: Operation = "read") -> float: ...
    @overload
    def percentile(self, percentile: npt.ArrayLike, op: Operation = "read") -> float | Floats: ...
    def percentile(self, percentile: npt.ArrayLike, op: Operation = "read") -> float | Floats:
        """The latency in microseconds that so many per cent of the requests do not exceed; see
        :meth:`Latency.percentile`."""
        return self.of(op).percentile(percentile)

    def percentiles(self, op: Operation = "read") -> Table:
        """The percentiles of the report; see :meth:`Latency.percentiles`."""
        return self.of(op).percentiles()

    def cdf(self, op: Operation = "read") -> Table:
        """The distribution function; see :meth:`Latency.cdf`."""
        return self.of(op).cdf()

    def requests(self) -> Table:
        """The requests one by one, in the order of their completion: ``number``, ``op``, ``offset_bytes``, ``size_bytes``,
        ``arrived_ns``, ``completed_ns``, ``latency_ns``, a column in nanoseconds for every cause (they add up to the
        latency, with ``write_ns`` of writes), ``busy_members`` as bits, ``reconstructions``, ``blocked``, ``failed``;
        ``docs/requests.md`` says more. They are not pickled.

        Raises:
            UsageError: If the run was made without ``keep_requests=True``.
        """
        if self._requests is None:
            raise UsageError("the requests of this run were not kept; run it with keep_requests=True")
        return self._requests

    def causes(self) -> Table:
        """Where the time of reads at p50, p99, p99.9 and p99.99 went: ``percentile``, ``latency_us`` of the reads there
        on average, ``cause``, and ``part_us``. The parts of a percentile add up to its latency."""
        rows = [
            (split["percentile"], split["latency_us"], cause, part)
            for split in self.document["causes"]
            for cause, part in split["parts_us"]
        ]
        names = ("percentile", "latency_us", "cause", "part_us")
        return Table({name: [row[index] for row in rows] for index, name in enumerate(names)})

    def windows(self) -> Table:
        """Every length of the busy window: ``at_s`` when drives were told, in seconds of simulated time, and
        ``length_ms``. No rows without windows."""
        windows = self.document.get("windows", [])
        return Table({name: _floats(window[name] for window in windows) for name in ("at_s", "length_ms")})

    def timeline(self) -> Timeline | None:
        """A stretch of the run in detail: about twenty windows, a quarter into it."""
        timeline = self.document["timeline"]
        return Timeline(timeline) if timeline else None

    def p99_over_time(self) -> Table:
        """The p99 of reads over the whole run: ``start_s`` of each interval, and ``latency_us``."""
        return _pairs(self.document.get("p99_over_time", []), "start_s", "latency_us")

    def drives(self) -> Table:
        """The drives at the end: ``drive``, ``write_amplification``, ``erases``, ``collections``,
        ``contract_violations``, and ``free_share`` of its blocks, 0 to 1."""
        drives = self.document["drives"]
        names = ("drive", "write_amplification", "erases", "collections", "contract_violations", "free_share")
        return Table({name: [drive[name] for drive in drives] for name in names})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Run):
            return NotImplemented
        mine, others = ((each.document, each._histograms, each.verdicts) for each in (self, other))
        return mine == others

    def __hash__(self) -> int:
        return hash(self.result_hash)

    def __repr__(self) -> str:
        return f"{self.label}: reads: {self.read!r}; writes: {self.write!r}"

    def _repr_html_(self) -> str:
        return _html.shown(self.manifest["workload"], [self])

    def __getstate__(self) -> bytes:
        return _packed((self.document, self.manifest, self.verdicts), [self._histograms])

    def __setstate__(self, state: bytes) -> None:
        (document, manifest, verdicts), (histograms,) = _unpacked(state)
        self.__init__(document, manifest, histograms, [(holds, line) for holds, line in verdicts])  # type: ignore[misc]


class Comparison(Mapping[str, Run]):
    """Several runs of one workload on one array: a mapping from the names of policies to runs, in order.

    Attributes:
        title: What was compared, in one line.
        manifest: What is needed to run it again: ``command_line``, ``configuration_toml``, ``seed`` and so on.
        notes: Anything else that a reader should know.
        holds: Whether everything holds that ``asserts`` says.
        verdicts: For each of ``asserts`` and each policy: whether it holds, ``None`` if too few samples lie behind the
            number, and a line that says so.
        document: Everything, as in the JSON of ``ioda compare --json``.
    """

    def __init__(
        self,
        document: dict[str, Any],
        histograms: list[tuple[Histogram, Histogram]],
        verdicts: Sequence[Verdict],
        requests: Sequence[Table] = (),
    ) -> None:
        self.document = document
        self.manifest: dict[str, Any] = document["manifest"]
        self.title: str = document["title"]
        self.notes: list[str] = self.manifest["notes"]
        self.verdicts = list(verdicts)
        self.holds = all(holds for holds, _ in verdicts)
        self._histograms = list(histograms)
        pairs = zip(document["runs"], histograms, strict=True)
        self._runs = {run["policy"]: Run(run, self.manifest, pair) for run, pair in pairs}
        for run, table in zip(self._runs.values(), requests, strict=False):
            run._requests = table

    def __getitem__(self, policy: str) -> Run:
        return self._runs[policy]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def percentiles(self, op: Operation = "read") -> Table:
        """The percentiles of all runs: those of :meth:`Run.percentiles` with the column ``policy`` in front."""
        tables = {policy: run.percentiles(op) for policy, run in self.items()}
        names = list(next(iter(tables.values()), Table({})))
        policies = [policy for policy, table in tables.items() for _ in range(table.rows)]
        columns = {name: np.concatenate([table[name] for table in tables.values()]) for name in names}
        return Table({"policy": policies} | columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Comparison):
            return NotImplemented
        mine, others = (each.document for each in (self, other))
        return (mine, self._histograms, self.verdicts) == (others, other._histograms, other.verdicts)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return _html.as_text(self.title, list(self.values()))

    def _repr_html_(self) -> str:
        return _html.shown(self.title, list(self.values()))

    def __getstate__(self) -> bytes:
        return _packed((self.document, self.verdicts), self._histograms)

    def __setstate__(self, state: bytes) -> None:
        (document, verdicts), histograms = _unpacked(state)
        self.__init__(document, histograms, [(holds, line) for holds, line in verdicts])  # type: ignore[misc]


def _packed(document: Any, histograms: list[tuple[Histogram, Histogram]]) -> bytes:
    """Documents and histograms, compressed: of ascending numbers the differences, which are small and alike."""
    text = json.dumps(document).encode()
    parts = [text]
    for values, counts in (histogram for pair in histograms for histogram in pair):
        parts += [np.diff(np.frombuffer(values, "<u8"), prepend=np.uint64(0)).tobytes(), counts]
    lengths = np.array([len(part) for part in parts], "<u8").tobytes()
    return zlib.compress(len(parts).to_bytes(8, "little") + lengths + b"".join(parts), 9)


def _unpacked(state: bytes) -> tuple[Any, list[tuple[Histogram, Histogram]]]:
    plain = zlib.decompress(state)
    count = int.from_bytes(plain[:8], "little")
    ends = np.cumsum(np.frombuffer(plain[8 : 8 * (count + 1)], "<u8")) + 8 * (count + 1)
    starts = [8 * (count + 1), *ends[:-1]]
    text, *rest = (plain[start:end] for start, end in zip(starts, ends, strict=True))
    values = [np.cumsum(np.frombuffer(part, "<u8"), dtype=np.uint64).tobytes() for part in rest[::2]]
    histograms = list(zip(values, rest[1::2], strict=True))
    return json.loads(text), list(zip(histograms[::2], histograms[1::2], strict=True))


def _floats(values: Any) -> Floats:
    return np.fromiter(values, float)


def _pairs(pairs: list[list[float]], first: str, second: str) -> Table:
    both = np.asarray(pairs, dtype=float).reshape(-1, 2)
    return Table({first: both[:, 0], second: both[:, 1]})


def _bands(bands: list[dict[str, Any]]) -> Table:
    return Table(
        {
            "drive": np.array([band["drive"] for band in bands], np.int64),
            "start_ms": _floats(band["start_ms"] for band in bands),
            "end_ms": _floats(band["end_ms"] for band in bands),
        }
    )
