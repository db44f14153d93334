"""Workloads from memory."""

import os
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ioda
import numpy as np
import pandas
import polars
import pyarrow
import pytest

RUN: dict[str, Any] = {"policy": "ioda", "blocks_per_plane": 64}


def drawn(count: int = 3_000) -> list[ioda.Request]:
    draw = random.Random(3)
    at, requests = 0, []
    for _ in range(count):
        at += draw.randrange(1, 200_000)
        op = draw.choice(["read", "write"])
        requests.append(ioda.Request(at, op, draw.randrange(1 << 14) * 4096, draw.choice([4096, 16384])))
    return requests


@pytest.fixture(scope="module")
def requests() -> list[ioda.Request]:
    return drawn()


@pytest.fixture(scope="module")
def columns(requests: list[ioda.Request]) -> dict[str, Any]:
    return dict(zip(ioda.Request._fields, map(list, zip(*requests, strict=True)), strict=True))


def test_every_kind_of_frame_is_the_same_workload(
    requests: list[ioda.Request], columns: dict[str, Any], tmp_path: Any
) -> None:
    path = tmp_path / "mine.csv"
    lines = ["t_us,op,offset_bytes,size_bytes", *(f"{r[0] / 1e3:.3f},{r[1]},{r[2]},{r[3]}" for r in requests)]
    path.write_text("\n".join(lines) + "\n")
    trace = ioda.run(path, **RUN)
    kinds = [(name, np.asarray(column).dtype) for name, column in columns.items()]
    frame = polars.DataFrame(columns)
    workloads = {
        "list": requests,
        "generator": (request for request in requests),
        "tuples": [tuple(request) for request in requests],
        "dict": columns,
        "arrays": {name: np.asarray(column) for name, column in columns.items()},
        "fields": np.array([tuple(request) for request in requests], kinds),
        "polars": frame,
        "part": polars.concat([frame[:7], frame])[7:],
        "categories": frame.with_columns(polars.col("op").cast(polars.Categorical)),
        "pandas": pandas.DataFrame(columns),
        "arrow": pyarrow.table(columns),
        "narrow": frame.with_columns(polars.col("size_bytes").cast(polars.UInt16)),
        "us": frame.select(polars.col("at_ns").cast(polars.Float64).truediv(1e3).alias("at_us"), "op", "offset_bytes", "size_bytes"),
    }
    runs = {name: ioda.run(workload, **RUN) for name, workload in workloads.items()}
    assert {name: run.result_hash for name, run in runs.items()} == dict.fromkeys(runs, trace.result_hash)
    assert runs["list"].read.count + runs["list"].write.count == len(requests)
    manifest = runs["list"].manifest
    assert manifest == ioda.run(requests, **RUN).manifest and "/tmp" not in str(manifest)


def test_a_pipe_is_the_file_that_goes_through_it(tmp_path: Any) -> None:
    path, pipe = tmp_path / "mine.csv", tmp_path / "pipe"
    rows = (f"{n * 100},{'R' if n % 3 else 'W'},{n * 8192},4096" for n in range(2_000))
    path.write_text("\n".join(["t_us,op,offset_bytes,size_bytes", *rows]) + "\n")
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as writer:
        written = writer.submit(pipe.write_bytes, path.read_bytes())
        through_pipe = ioda.run(pipe, **RUN)
        assert written.result() == path.stat().st_size
    assert through_pipe.result_hash == ioda.run(path, **RUN).result_hash


def test_the_options_of_traces_apply(requests: list[ioda.Request]) -> None:
    def forever() -> Any:
        at = 0
        while True:
            at += 100_000
            yield at, "read", 0, 4096

    assert ioda.run(forever(), requests=100, **RUN).read.count == 100
    assert ioda.run(requests, repeat=2, requests=2_000, **RUN).read.count > 0
    fast = ioda.run(requests, rerate=2, **RUN)
    assert fast.simulated_seconds < ioda.run(requests, **RUN).simulated_seconds


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"size_bytes": 0}, "line 3"),
        ({"size_bytes": -4096}, "line 3"),
        ({"op": "trim?"}, "line 3"),
        ({"at_ns": float("nan")}, "line 3"),
        ({"at_ns": -1}, "line 3"),
        ({"at_ns": None}, "line 3"),
        ({"offset_bytes": 1 << 70}, "line 3"),
        ({"offset_bytes": 1.5}, "line 3"),
    ],
)
def test_wrong_requests_are_refused_as_in_a_trace(change: dict[str, Any], why: str) -> None:
    requests = [ioda.Request(0, "read", 0, 4096), ioda.Request(10, "read", 0, 4096)._replace(**change)]
    with pytest.raises(ioda.DataError, match=why) as raised:
        ioda.run(requests, **RUN)
    assert "requests.csv" in str(raised.value) and "/tmp" not in str(raised.value)


def test_what_is_no_workload_is_refused(columns: dict[str, Any]) -> None:
    for wrong in (7, 1.5, b"tpcc", object(), [1], [(1, 2)], lambda: 0):
        with pytest.raises(TypeError):
            ioda.run(wrong, **RUN)
    for usage in (
        {"op": ["read"]},
        {**columns, "at_us": columns["at_ns"]},
        {name: column for name, column in columns.items() if name != "op"},
        {**columns, "op": ["read"]},
        np.zeros(4),
    ):
        with pytest.raises(ioda.UsageError):
            ioda.run(usage, **RUN)
    with pytest.raises(ioda.UsageError, match="columns is for trace files"):
        ioda.run(columns, columns="time=at_ns:ns", **RUN)
    with pytest.raises(ioda.DataError):
        ioda.run([], **RUN)
