"""What comes of runs."""

import json
import pickle
import random

import ioda
import numpy as np
import pandas
import polars
import pyarrow
import pytest

from conftest import SMALL, Command, words


@pytest.fixture(scope="module")
def comparison() -> ioda.Comparison:
    return ioda.compare("tpcc", policies=["base", "ioda"], **SMALL)


def drawn(seed: int) -> tuple[str, dict[str, object]]:
    """A set-up drawn by chance."""
    draw = random.Random(seed)
    options: dict[str, object] = dict(SMALL)
    workload = draw.choice(["tpcc", "azure", "msnfs", "synthetic"])
    if workload == "synthetic":
        del options["requests"]
        options |= {
            "rw": draw.choice(["randrw", "randread", "rw"]),
            "rwmixread": draw.choice([30, 70]),
            "bs": draw.choice(["4k", "8k,16k"]),
            "number_ios": 2_000,
            "rate_iops": draw.choice([2000, "20dwpd"]),
        }
    options["drives"] = draw.choice([4, 5, 6])
    options["raid"] = draw.choice([5, 6])
    options["policy"] = draw.choice(["base", "iod1", "iod2", "iod3", "ioda", "hedged", "quiet", "ideal"])
    options["seed"] = draw.randrange(1 << 64)
    for name, values in {
        "tw": ["50ms", "100ms"],
        "write_buffer": ["1m", "none"],
        "over_provisioning": ["20%", "30%"],
        "fail": ["1@1ms"],
        "precondition": ["fresh", "aged"],
        "verify": [True],
    }.items():
        if draw.random() < 0.4:
            options[name] = draw.choice(values)
    return workload, options


@pytest.mark.parametrize("seed", range(20))
def test_the_result_is_that_of_the_command(command: Command, seed: int) -> None:
    workload, options = drawn(seed)
    done = command("run", *words(workload, options), "--json")
    try:
        run = ioda.run(workload, **options)
    except ioda.Error as error:
        assert done.returncode == error.code, done.stderr
        assert str(error) in done.stderr
        return
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert run.result_hash == document["runs"][0]["result_hash"]
    typed = run.document | {"wall_seconds": 0}
    assert typed == document["runs"][0] | {"wall_seconds": 0}


def test_percentiles_are_those_of_the_report(comparison: ioda.Comparison) -> None:
    for run in comparison.values():
        for op in ("read", "write"):
            table = run.percentiles(op)
            assert np.array_equal(run.percentile(table["percentile"], op), table["value_us"])
            assert run.of(op).counts.sum() == run.of(op).count
            cdf = run.cdf(op)
            assert cdf["share"][-1] == 1 and np.all(np.diff(cdf["share"]) > 0)
            assert np.all(np.diff(cdf["latency_us"]) > 0)
    assert comparison.percentiles().rows == 20
    assert np.isnan(ioda.run("synthetic", rw="randread", number_ios=100, blocks_per_plane=64).percentile(99, "write"))
    with pytest.raises(ValueError, match="0 to 100"):
        comparison["base"].percentile(101)


def test_counters_and_tables(comparison: ioda.Comparison) -> None:
    run = comparison["ioda"]
    assert list(comparison) == ["base", "ioda"] and comparison["base"].label == "Base"
    assert run.collections == run.document["collections"] and "collections" in dir(run)
    assert run.permits == 0
    with pytest.raises(AttributeError, match="no such_thing"):
        run.such_thing
    causes = run.causes()
    for percentile in np.unique(causes["percentile"]):
        parts = causes["percentile"] == percentile
        # Each part is a mean in whole nanoseconds.
        assert causes["part_us"][parts].sum() == pytest.approx(causes["latency_us"][parts][0], abs=0.02)
    assert run.windows()["length_ms"][0] > 0 and run.drives().rows == 4
    timeline = run.timeline()
    assert timeline is not None and timeline.reads.rows > 0 and timeline.windows.rows > 0
    assert "ioda" in comparison.manifest["command_line"]


def test_data_frames(comparison: ioda.Comparison) -> None:
    table = comparison["ioda"].causes()
    frame = polars.DataFrame(table)
    assert frame.shape == (table.rows, 4) and frame["cause"].to_list() == table["cause"].tolist()
    assert pyarrow.table(table).to_pydict()["part_us"] == table["part_us"].tolist()
    assert pandas.DataFrame(dict(table)).shape == (table.rows, 4)
    for empty in (ioda.Table({}), ioda.run(policy="base", **SMALL).windows()):
        assert polars.DataFrame(empty).height == 0
    kinds = ioda.Table({"a": np.array([1], np.int32), "b": [True], "c": np.array([1], np.uint8), "d": ["x"]})
    assert polars.DataFrame(kinds).row(0) == (1, True, 1, "x")


def test_pickles_are_small_and_equal(comparison: ioda.Comparison) -> None:
    demonstration = ioda.compare("tpcc", requests=20_000)
    for result in (comparison, comparison["ioda"], demonstration):
        pickled = pickle.dumps(result)
        assert len(pickled) < 100_000, len(pickled)
        again = pickle.loads(pickled)
        assert again == result and repr(again) == repr(result)
    assert comparison["ioda"] != comparison["base"]
    table = comparison["ioda"].cdf()
    assert pickle.loads(pickle.dumps(table)) == table


def test_results_show_themselves(comparison: ioda.Comparison) -> None:
    html = comparison._repr_html_()
    assert html.count("<polyline") == 2 and "Base" in html and "http" not in html
    assert "IODA" in comparison["ioda"]._repr_html_()
    assert "p99.9" in repr(comparison) and "p99" in repr(comparison["base"])
    assert "<td>" in comparison["ioda"].causes()._repr_html_() and "rows" in repr(comparison["ioda"].cdf())


def test_assertions_are_told() -> None:
    run = ioda.compare("tpcc", policies=["base", "ioda"], asserts=["waf>=1", "base:read.p50<1ns"], **SMALL)
    assert [holds for holds, _ in run.verdicts] == [True, True, False] and not run.holds
    few = ioda.run("tpcc", asserts=["read.p99.99<1s"], **SMALL)
    assert [holds for holds, _ in few.verdicts] == [None] and not few.holds
    assert ioda.run("tpcc", asserts=["read.p99.99<1s"], allow_few=True, **SMALL).holds


def test_configurations(tmp_path: object) -> None:
    sections = {"array": {"drives": 5, "tw": "80ms"}, "run": {"policy": ["iod3"]}, "workload": {"requests": 2_000}}
    run = ioda.run(config=sections, blocks_per_plane=64)
    assert run.policy == "iod3" and run.drives().rows == 5
    assert run.result_hash == ioda.run(drives=5, tw="80ms", policy="iod3", **SMALL).result_hash
    assert ioda.run(config=sections, policy="base", blocks_per_plane=64).policy == "base"
    with pytest.raises(ioda.UsageError, match="did you mean `array`"):
        ioda.run(config={"aray": {"drives": 5}})


def test_plans_and_policies(command: Command) -> None:
    plan = ioda.plan(drive="femu", drives=8, load=["20dwpd", "burst"])
    document = command("plan", "--drive=femu", "--drives=8", "--load=20dwpd,burst", "--json").stdout
    assert plan == json.loads(document)
    assert "ioda" in ioda.policies()


def test_progress_is_told() -> None:
    told: list[tuple[int, int | None]] = []
    ioda.compare("tpcc", requests=200_000, policies=["base", "ioda"], progress=lambda *now: told.append(now))
    assert told[-1] == (400_000, 400_000) and all(done <= 400_000 for done, _ in told)
    with pytest.raises(ZeroDivisionError):
        ioda.run("tpcc", requests=2_000_000, progress=lambda done, total: 1 / 0)
