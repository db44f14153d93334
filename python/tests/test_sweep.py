"""Sweeps."""

import importlib.util
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import ioda
import numpy as np
import polars
import pytest
from ioda import _native

from conftest import SMALL, Command

GRID: dict[str, Any] = {"drives": [4, 5], "rerate": [0.01, 0.02], "policy": ["base", "ioda"], "seed": [1, 2]}
OPTIONS: dict[str, Any] = {"requests": 500, "blocks_per_plane": 64}


def lines(folder: Path) -> list[bytes]:
    """What is kept, in the order of the file: it is the same however it was made."""
    return (folder / "runs.jsonl").read_bytes().splitlines(keepends=True)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: Any) -> tuple[ioda.Sweep, Path]:
    folder = tmp_path_factory.mktemp("sweep")
    return ioda.sweep(GRID, store=folder, processes=2, **OPTIONS), folder


def test_a_sweep_is_a_table(swept: tuple[ioda.Sweep, Path]) -> None:
    sweep, _ = swept
    assert sweep.rows == 16 and (sweep.made, sweep.found, sweep.repeated) == (16, 0, 0)
    assert set(sweep["outcome"]) == {"measured"} and sweep.varied == ("drives", "rerate")
    assert polars.DataFrame(sweep).filter(polars.col("policy") == "ioda").height == 8
    rows, columns, cells = sweep.pivot("read.p99", "drives", "rerate", policy="base")
    assert rows == ["4", "5"] and columns == ["0.01", "0.02"] and not np.isnan(cells).any()
    assert pickle.loads(pickle.dumps(sweep)) == sweep
    run = ioda.run(drives=5, rerate=0.02, policy="base", seed=2, **OPTIONS)
    alike = (sweep["drives"] == "5") & (sweep["rerate"] == "0.02") & (sweep["policy"] == "base") & (sweep["seed"] == "2")
    assert sweep["result_hash"][alike].tolist() == [run.result_hash]
    assert sweep["read.p99"][alike][0] == run.percentile(99)


def test_it_is_that_of_the_command(swept: tuple[ioda.Sweep, Path], command: Command, tmp_path: Path) -> None:
    vary = ["--vary", "width=4,5", "--vary", "load=0.01,0.02", "--policy", "base,ioda", "--seeds", "2"]
    options = ["--requests", "500", "--blocks-per-plane", "64", "--output", str(tmp_path)]
    done = command("sweep", "tpcc", *vary, *options)
    assert done.returncode == 0, done.stderr
    assert lines(tmp_path) == lines(swept[1])


def test_it_goes_on_and_is_extended(swept: tuple[ioda.Sweep, Path], tmp_path: Path) -> None:
    fewer = ioda.sweep({**GRID, "drives": [4]}, store=tmp_path, processes=1, **OPTIONS)
    assert (fewer.made, fewer.found) == (8, 0)
    more = ioda.sweep(GRID, store=tmp_path, processes=1, **OPTIONS)
    assert (more.made, more.found) == (8, 8)
    assert lines(tmp_path) == lines(swept[1])
    again = ioda.sweep(GRID, store=tmp_path, processes=2, **OPTIONS)
    assert (again.made, again.found) == (0, 16) and again == swept[0]


def test_points_that_cannot_be_built_do_not_stop_the_others(tmp_path: Path) -> None:
    sweep = ioda.sweep({"raid": [5, 0, 10], "drives": [4, 5]}, policy="ioda", store=tmp_path, processes=2, **OPTIONS)
    assert sweep["outcome"].tolist() == ["measured", "measured", "refused", "refused", "measured", "refused"]
    assert "raid10" in sweep["why"][5]
    with pytest.raises(ioda.UsageError):
        ioda.sweep({"drives": [-1, "x"]}, store=tmp_path, **OPTIONS)
    with pytest.raises(ioda.UsageError):
        ioda.sweep({"drivs": [4, 5]}, store=tmp_path, **OPTIONS)
    for wrong in ({"drives": 4}, {"drives": []}, [4]):
        with pytest.raises(TypeError):
            ioda.sweep(wrong, store=tmp_path, **OPTIONS)  # type: ignore[arg-type]


def test_a_lost_worker_is_survived_and_counted(swept: tuple[ioda.Sweep, Path], tmp_path: Path) -> None:
    draw = random.Random(7)

    def kill(done: int, total: int | None) -> None:
        if done in (3, 8):
            listed = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "ioda import _worker"], capture_output=True)
            workers = [int(each) for each in listed.stdout.split()]
            os.kill(draw.choice(workers), signal.SIGKILL)

    sweep = ioda.sweep(GRID, store=tmp_path, processes=2, progress=kill, **OPTIONS)
    assert sweep["outcome"].tolist() == ["measured"] * 16 and lines(tmp_path) == lines(swept[1])
    assert sweep.repeated <= 2


def test_a_killed_sweep_goes_on(swept: tuple[ioda.Sweep, Path], tmp_path: Path) -> None:
    code = f"import ioda; ioda.sweep({GRID!r}, store={str(tmp_path)!r}, processes=2, **{OPTIONS!r})"
    process = subprocess.Popen([sys.executable, "-c", code])
    journal = tmp_path / "runs.jsonl"
    until = time.monotonic() + 60
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= 4) and time.monotonic() < until:
        time.sleep(0.01)
    process.kill()
    process.wait()
    # Workers of a sweep that is gone end when they have nothing more to read.
    time.sleep(1)
    sweep = ioda.sweep(GRID, store=tmp_path, processes=2, **OPTIONS)
    assert sweep.found >= 4 and lines(tmp_path) == lines(swept[1])


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
def test_ray_makes_the_same(swept: tuple[ioda.Sweep, Path], tmp_path: Path) -> None:
    import ray

    try:
        sweep = ioda.sweep(GRID, store=tmp_path, ray=ray, processes=2, **OPTIONS)
    finally:
        ray.shutdown()
    assert sweep == swept[0] and lines(tmp_path) == lines(swept[1])


def test_shards_that_are_merged_are_the_sweep(swept: tuple[ioda.Sweep, Path], tmp_path: Path) -> None:
    folders = [tmp_path / f"shard-{number}" for number in range(1, 4)]
    shards = []
    for number, folder in enumerate(folders, 1):
        shards.append(ioda.sweep(GRID, store=folder, processes=2, shard=f"{number}/3", **OPTIONS))
    assert [shard.made for shard in shards] == [5, 5, 6]
    assert sum((shard["key"].tolist() for shard in shards), []) == swept[0]["key"].tolist()
    output = tmp_path / "all"
    assert ioda.merge(folders, output) == 16 and lines(output) == lines(swept[1])
    assert ioda.merge([output, *map(str, folders)], output) == 16 and lines(output) == lines(swept[1])
    again = ioda.sweep(GRID, store=output, processes=1, **OPTIONS)
    assert (again.made, again.found) == (0, 16) and again == swept[0] and lines(output) == lines(swept[1])
    # Lines begin alike, up to the key.
    assert lines(output) == sorted(lines(output))
    none = ioda.sweep({"drives": [4, 5]}, store=tmp_path / "none", shard="1/64", **OPTIONS)
    assert none.rows == none.made == 0 and lines(tmp_path / "none") == []


def test_what_is_no_shard_or_no_store_is_refused(tmp_path: Path) -> None:
    for shard, why in (
        ("0/4", "of 4 shards the first is 1 and the last 4; 0 is none"),
        ("5/4", "of 4 shards the first is 1 and the last 4; 5 is none"),
        ("a/b", "a shard is K/N in whole numbers, such as 3/64"),
        ("3", "a shard is K/N in whole numbers, such as 3/64"),
    ):
        with pytest.raises(ioda.UsageError) as caught:
            ioda.sweep({"drives": [4]}, store=tmp_path / "never", shard=shard, **OPTIONS)
        assert str(caught.value) == f"invalid value '{shard}' for '--shard <K/N>': {why}"
    with pytest.raises(ioda.DataError, match="has no runs.jsonl"):
        ioda.merge([tmp_path / "never"], tmp_path / "output")
    with pytest.raises(TypeError):
        ioda.merge("never", tmp_path / "output")
    assert list(tmp_path.iterdir()) == []
    # A shard may have nothing that can be built, but not all of them.
    grid = {"raid": [5, 0], "policy": ["ioda"]}
    refused = ioda.sweep(grid, store=tmp_path / "2", shard="2/2", processes=1, drives=4, **OPTIONS)
    assert refused["outcome"].tolist() == ["refused"]
    with pytest.raises(ioda.UsageError):
        ioda.sweep({"drivs": [4, 5]}, store=tmp_path / "2", shard="2/2", processes=1, **OPTIONS)


def test_a_store_is_written_by_one(tmp_path: Path) -> None:
    store = _native.Store(tmp_path)
    for again in (
        lambda: ioda.sweep({"drives": [4]}, store=tmp_path, **OPTIONS),
        lambda: ioda.merge([], tmp_path),
    ):
        with pytest.raises(ioda.RunError) as caught:
            again()
        assert str(caught.value).startswith(f"{tmp_path} is being written by another ioda; ")
    store.close()
    assert ioda.merge([], tmp_path) == 0


def test_policies_of_python_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ioda.UsageError, match="no hash"):
        ioda.sweep({"policy": [ioda.Policy]}, store=tmp_path)
    assert SMALL
