"""Runs beside others, interrupted runs, the command."""

import os
import signal
import subprocess
import sys
import threading
import time

import ioda
import pytest

from conftest import Command

LONG = "import ioda; ioda.run('tpcc', requests=500_000_000)"


def test_the_interpreter_goes_on_during_a_run() -> None:
    turns = 0
    done = threading.Event()

    def run() -> None:
        ioda.run("tpcc", requests=300_000, threads=1)
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not done.is_set():
        turns += 1
        time.sleep(0.001)
    thread.join()
    # With the lock held the loop would get a turn or two.
    assert turns > 20


def test_runs_on_several_threads_are_those_of_one() -> None:
    results: dict[int, str] = {}

    def run(seed: int) -> None:
        results[seed] = ioda.run("tpcc", requests=2_000, blocks_per_plane=64, seed=seed, threads=1).result_hash

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {
        seed: ioda.run("tpcc", requests=2_000, blocks_per_plane=64, seed=seed).result_hash for seed in range(8)
    }


@pytest.mark.parametrize("code", [LONG, "from ioda._command import main; main()"], ids=["module", "command"])
def test_a_run_is_interrupted(code: str) -> None:
    arguments = ["run", "tpcc", "--requests", "500000000"] if "main" in code else []
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    time.sleep(4)
    assert process.poll() is None, process.communicate()
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert time.monotonic() - begun < 30
    if "main" in code:
        assert process.returncode == -signal.SIGINT
    else:
        assert "KeyboardInterrupt" in stderr and process.returncode in (1, 130, -signal.SIGINT)


def test_the_wheel_brings_the_command(command: Command) -> None:
    done = command("--version")
    assert done.returncode == 0 and ioda.__version__ in done.stdout
    assert command("run", "--drivs=4").returncode == 2
    module = subprocess.run(
        [sys.executable, "-m", "ioda", "presets", "policies"], capture_output=True, text=True, check=True
    )
    assert "ioda" in module.stdout
    closed = f"{sys.executable} -m ioda presets policies | true"
    assert subprocess.run(closed, shell=True, env=os.environ, capture_output=True).stderr == b""
