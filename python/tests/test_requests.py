"""Requests, one by one."""

import pickle

import ioda
import numpy as np
import polars
import pytest

from conftest import SMALL, Command


def test_the_parts_of_every_request_add_up() -> None:
    comparison = ioda.compare(policies=["base", "ioda"], keep_requests=True, **SMALL)
    for policy, run in comparison.items():
        requests = run.requests()
        assert run.result_hash == ioda.run(policy=policy, **SMALL).result_hash
        assert requests.rows == SMALL["requests"] and sorted(requests["number"]) == list(range(1, requests.rows + 1))
        frame = polars.DataFrame(requests)
        names = list(requests)
        causes = names[names.index("latency_ns") + 1 : names.index("write_ns") + 1]
        assert (frame.select(polars.sum_horizontal(causes)).to_series() == frame["latency_ns"]).all()
        reads = frame.filter(polars.col("op") == "read")
        assert reads.height == run.read.count == (requests["op"] == "read").sum()
        assert reads["latency_ns"].mean() / 1e3 == pytest.approx(run.read.mean_us, abs=1e-3)
        assert requests["failed"].dtype == bool and not requests["failed"].any()
        assert np.array_equal(requests["completed_ns"] - requests["arrived_ns"], requests["latency_ns"])
    assert pickle.loads(pickle.dumps(comparison)) == comparison
    table = comparison["ioda"].requests()
    numbers = table["latency_ns"]
    del table, comparison
    assert numbers.sum() > 0
    with pytest.raises(ioda.UsageError, match="keep_requests=True"):
        ioda.run(**SMALL).requests()


def test_they_are_those_of_the_command(command: Command, tmp_path: object) -> None:
    path = f"{tmp_path}/requests.parquet"
    done = command("run", "--requests=2000", "--blocks-per-plane=64", f"--requests-out={path}")
    assert done.returncode == 0, done.stderr
    theirs = polars.read_parquet(path).drop("policy")
    mine = polars.DataFrame(ioda.run(keep_requests=True, **SMALL).requests())
    assert theirs.columns == mine.columns
    for name in theirs.columns:
        if name != "failed":
            assert theirs[name].cast(polars.String).to_list() == mine[name].cast(polars.String).to_list(), name
