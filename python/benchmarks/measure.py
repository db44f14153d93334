"""What Python costs, beside the command, in one run on one machine. `scripts/bench-python` runs it.

    measure.py [overhead] [sweep] [requests] [policy]    all four unless some are named

Prints figures and ratios, and exits with 1 where results that must be equal are not. IODA names the command; else it is
target/release/ioda. Nothing else may run meanwhile.
"""

import json
import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ioda
import polars

COMMAND = os.environ.get("IODA") or str(Path(__file__).parents[2] / "target/release/ioda")
ROUNDS = 3


def command(*words: str) -> tuple[dict[str, Any], float]:
    """The document of `ioda … --json`, and the processor time of its process in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([COMMAND, *words, "--json"], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def here(work: Callable[[], Any]) -> tuple[Any, float]:
    """What `work` gives, and its processor time in this process in seconds."""
    began = time.process_time()
    return work(), time.process_time() - began


def set_up(draw: random.Random) -> tuple[str, dict[str, Any]]:
    """A set-up drawn by chance, of about a second."""
    options: dict[str, Any] = {
        "drives": draw.choice([4, 5, 6]),
        "raid": draw.choice([5, 6]),
        "policy": draw.choice(["base", "iod1", "iod2", "iod3", "ioda", "hedged", "quiet", "ideal"]),
        "tw": draw.choice(["80ms", "120ms"]),
        "chunk": draw.choice(["4k", "16k"]),
        "seed": draw.randrange(1 << 32),
        "requests": draw.randrange(40_000, 80_000),
        "threads": 1,
    }
    if draw.random() < 0.5:
        options["over_provisioning"] = draw.choice(["22%", "30%"])
    return draw.choice(["tpcc", "azure", "msnfs", "dtrs"]), options


def words(workload: str, options: dict[str, Any]) -> list[str]:
    """The same as words of the command."""
    return ["run", workload, *(f"--{name.replace('_', '-')}={value}" for name, value in options.items())]


def overhead() -> bool:
    """The result of the command and its time, for twenty set-ups."""
    draw = random.Random(20)
    equal, ratios, sums = True, [], [0.0, 0.0]
    while len(ratios) < 20:
        workload, options = set_up(draw)
        theirs, ours = [], []
        hashes = set()
        try:
            for _ in range(ROUNDS):
                document, spent = command(*words(workload, options))
                theirs.append(spent)
                hashes.add(document["runs"][0]["result_hash"])
                run, spent = here(lambda: ioda.run(workload, progress=False, **options))
                ours.append(spent)
                hashes.add(run.result_hash)
        except subprocess.CalledProcessError as error:
            print(f"  not counted: {error.stderr.strip().splitlines()[0]}")
            continue
        equal &= len(hashes) == 1
        ratios.append(min(ours) / min(theirs))
        sums[0] += min(ours)
        sums[1] += min(theirs)
        print(f"  {workload} {options}: {len(hashes)} hash, {min(ours):.3f} s in Python, {min(theirs):.3f} s", flush=True)
    print(
        f"overhead: 20 set-ups, results {'equal' if equal else 'NOT EQUAL'}; processor time in Python over that of the command:"
        f" {sums[0] / sums[1]:.4f} in all, median {statistics.median(ratios):.4f}, {min(ratios):.4f} to {max(ratios):.4f}"
    )
    return equal


# Small requests: runs are short, so what a sweep adds to them is large beside them.
GRID = {
    "drives": [4, 5, 6, 7, 8],
    "rate_iops": [2_000, 4_000, 6_000, 8_000, 10_000],
    "tw": ["25ms", "50ms", "100ms", "200ms", "400ms"],
    "policy": ["base", "ioda"],
    "seed": [1, 2, 3, 4],
}
EACH = {"rw": "randrw", "rwmixread": 70, "bs": "4k", "number_ios": 20_000, "blocks_per_plane": 64}
SWEPT = "import json, sys, ioda; ioda.sweep(json.loads(sys.argv[1]), 'synthetic', store=sys.argv[2], progress=False, **json.loads(sys.argv[3]))"
ON_RAY = SWEPT.replace("ioda.sweep(", "import ray; ioda.sweep(").replace("store=", "ray=ray, store=")


def most_memory(process: subprocess.Popen[bytes], peak: list[int]) -> None:
    """Bytes of memory of the process and all below it, while it runs; what several share counts once."""
    while process.poll() is None:
        children: dict[int, list[int]] = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
                except (OSError, IndexError):
                    continue
                children.setdefault(parent, []).append(int(folder.name))
        sum_of, left = 0, [process.pid]
        while left:
            number = left.pop()
            left += children.get(number, [])
            try:
                text = (Path("/proc") / str(number) / "smaps_rollup").read_text()
            except OSError:
                continue
            sum_of += sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))
        peak[0] = max(peak[0], sum_of)
        time.sleep(0.5)


def swept(code: str, store: Path, kills: int = 0, **options: Any) -> tuple[float, float]:
    """Makes the sweep in a process of its own, killed so often at random; wall seconds and the most memory in MB."""
    draw, peak = random.Random(3), [0]
    began = time.monotonic()
    while True:
        process = subprocess.Popen([sys.executable, "-c", code, json.dumps(GRID), str(store), json.dumps({**EACH, **options})])
        if kills:
            time.sleep(draw.uniform(4, 12))
            process.send_signal(signal.SIGKILL)
            process.wait()
            # Its workers end when they have nothing more to read.
            time.sleep(1)
            kills -= 1
            continue
        most_memory(process, peak)
        if process.returncode:
            sys.exit(f"the sweep failed: {process.returncode}")
        return time.monotonic() - began, peak[0] / 1e6


def sweep() -> bool:
    """1,000 runs: on processes, on Ray, in shards; killed and continued. Against the sum of the runs over the processors."""
    folder = Path(tempfile.mkdtemp())
    try:
        # The runs one after the other in one process, in the order of the sweep: what they take by themselves.
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", SWEPT, json.dumps(GRID), str(folder / "one"), json.dumps({**EACH, "processes": 1})], check=True)
        alone = time.monotonic() - began
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"  one process: {alone:.1f} s of wall, {spent.ru_utime + spent.ru_stime:.1f} s of processor", flush=True)
        stores = [folder / "one"]
        for name, code, kills in (("two", SWEPT, 0), ("ray", ON_RAY, 0), ("killed", SWEPT, 3)):
            wall, memory = swept(code, folder / name, kills, processes=2)
            stores.append(folder / name)
            print(f"  {name}: {wall:.1f} s, {wall / (alone / 2):.3f} of the best possible, at most {memory:.0f} MB", flush=True)
        began = time.monotonic()
        parts = []
        for number in range(1, 9, 2):
            both = [
                subprocess.Popen(
                    [sys.executable, "-c", SWEPT, json.dumps(GRID), str(folder / f"part-{part}"), json.dumps({**EACH, "processes": 1, "shard": f"{part}/8"})]
                )
                for part in (number, number + 1)
            ]
            parts += [folder / f"part-{part}" for part in (number, number + 1)]
            if any(process.wait() for process in both):
                sys.exit("a shard failed")
        ioda.merge(parts, folder / "merged")
        wall = time.monotonic() - began
        stores.append(folder / "merged")
        print(f"  8 shards, two at a time, merged: {wall:.1f} s, {wall / (alone / 2):.3f} of the best possible", flush=True)
        texts = {(store / "runs.jsonl").read_bytes() for store in stores}
        lines = len(next(iter(texts)).splitlines())
        print(f"sweep: {lines} runs; {len(stores)} stores {'equal, bit for bit' if len(texts) == 1 else 'NOT EQUAL'}")
        return len(texts) == 1
    finally:
        shutil.rmtree(folder)


def requests() -> bool:
    """10 million requests with and without a Parquet file, and whether causes add up to latencies."""
    folder = Path(tempfile.mkdtemp())
    try:
        path = folder / "requests.parquet"
        # The smallest requests: what is written of each is large beside what it takes to simulate it.
        options = ["run", "synthetic", "--rw=randrw", "--rwmixread=70", "--bs=4k", "--rate_iops=8000", "--number_ios=10000000", "--policy=ioda"]
        ratios, spent = [], []
        for _ in range(2):
            began = time.monotonic()
            _, alone = command(*options)
            middle = time.monotonic()
            _, written = command(*options, "--requests-out", str(path))
            ended = time.monotonic()
            ratios.append((ended - middle) / (middle - began))
            spent.append(written / alone)
            print(f"  {middle - began:.1f} s without, {ended - middle:.1f} s with; {alone:.1f} and {written:.1f} s of processor", flush=True)
        parts = [name for name in polars.read_parquet_schema(path) if name.endswith("_ns") and name not in ("arrived_ns", "completed_ns", "latency_ns")]
        wrong = (
            polars.scan_parquet(path)
            .select(
                rows=polars.len(),
                wrong=(polars.sum_horizontal(parts) != polars.col("latency_ns")).sum(),
                late=(polars.col("completed_ns") - polars.col("arrived_ns") != polars.col("latency_ns")).sum(),
            )
            .collect(engine="streaming")
        )
        rows, bad, late = wrong.row(0)
        print(
            f"requests: {rows} rows in {path.stat().st_size / 1e6:.0f} MB; wall time {statistics.median(ratios):.3f} of that without,"
            f" processor time {statistics.median(spent):.3f}; causes that do not add up: {bad}; latencies that are not completion - arrival: {late}"
        )
        return rows == 10_000_000 and bad == late == 0
    finally:
        shutil.rmtree(folder)


class Flagged(ioda.Policy):
    """As iod2."""

    asked = 0

    def first_attempt(self, now: int, drive: int, lba: int, view: ioda.View) -> ioda.Attempt:
        Flagged.asked += 1
        return ioda.Attempt.SEND_PREDICTABLE

    def reconstruct_flag(self) -> ioda.Flag:
        Flagged.asked += 1
        return ioda.Flag.PREDICTABLE

    def wait_for(self, failures: list[tuple[int, int, int]]) -> int:
        Flagged.asked += 1
        return min(range(len(failures)), key=lambda index: failures[index][2])


def policy() -> bool:
    """Decisions a second, and equality with the twin in Rust in verified runs."""
    equal, rates, ratios = True, [], []
    for seed in range(1, 6):
        Flagged.asked = 0
        mine, slow = here(lambda: ioda.run(policy=Flagged, seed=seed, requests=100_000, verify=True, progress=False))
        asked = Flagged.asked
        theirs, fast = here(lambda: ioda.run(policy="iod2", seed=seed, requests=100_000, verify=True, progress=False))
        equal &= mine.result_hash == theirs.result_hash
        rates.append(asked / (slow - fast))
        ratios.append(slow / fast)
    print(
        f"policy: five verified runs of 100,000 requests {'equal to' if equal else 'NOT EQUAL TO'} the twin's; {statistics.median(rates):,.0f}"
        f" decisions a second ({min(rates):,.0f} to {max(rates):,.0f}); a run takes {statistics.median(ratios):.2f} times the twin's"
    )
    return equal


def main() -> None:
    parts = {"overhead": overhead, "sweep": sweep, "requests": requests, "policy": policy}
    named = sys.argv[1:] or list(parts)
    if unknown := [name for name in named if name not in parts]:
        sys.exit(f"measure.py: there is no {unknown[0]}; there are {', '.join(parts)}")
    # Not a generator: all of them run.
    sys.exit(not all([parts[name]() for name in named]))


main()
