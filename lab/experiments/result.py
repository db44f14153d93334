"""The result of an application, as JSON.

    result.py FOLDER APPLICATION FS SYSTEM NANOSECONDS

FOLDER has `before` and `after`, a line of `ioda ctl --json status` for each server, and what the application left:
`latencies` (nanoseconds of each operation, a line each) or `fio.json`, `operation` (what these are of), `operations` (how many there
were, if there are no latencies), and `kind`.
"""

import json
import math
import sys
from pathlib import Path

PERCENTS = (50, 95, 99, 99.9, 99.99)


def own(folder: Path):
    """How many operations there were, and their percentiles in microseconds or none."""
    if (folder / "fio.json").exists():
        # Some versions of fio write remarks ahead.
        text = (folder / "fio.json").read_text()
        jobs = json.loads(text[text.index("{") :])["jobs"]
        operations = sum(job[way]["total_ios"] for job in jobs for way in ("read", "write"))
        # One group has its percentiles together (group_reporting).
        reads = jobs[0]["read"]["clat_ns"].get("percentile", {})
        return operations, {str(p): reads[f"{p:.6f}"] / 1000 for p in PERCENTS if f"{p:.6f}" in reads} or None
    if (folder / "latencies").exists():
        latencies = sorted(int(line) for line in (folder / "latencies").read_text().split())
        place = lambda p: max(math.ceil(len(latencies) * p / 100), 1) - 1
        number = folder / "operations"
        operations = int(number.read_text()) if number.exists() else len(latencies)
        return operations, {str(p): latencies[place(p)] / 1000 for p in PERCENTS} if latencies else None
    return int((folder / "operations").read_text()), None


def reads_of(before, after):
    """How many reads and writes a server was sent in between, and percentiles of reads, of buckets 7 % wide."""
    earlier = dict(map(tuple, before["read"]["buckets"]))
    counts = [(bound, count - earlier.get(bound, 0)) for bound, count in after["read"]["buckets"]]
    total = sum(count for _, count in counts)
    percentiles = {}
    for p in PERCENTS:
        rest = math.ceil(total * p / 100)
        for bound, count in counts:
            rest -= count
            if rest <= 0:
                percentiles[str(p)] = min(bound, after["read"]["max_nanoseconds"]) / 1000
                break
    return total, after["write"]["count"] - before["write"]["count"], percentiles if total else None


def main():
    folder, application, fs, system, took = Path(sys.argv[1]), *sys.argv[2:5], int(sys.argv[5])
    servers = [[json.loads(line) for line in (folder / name).read_text().splitlines()] for name in ("before", "after")]
    each = [reads_of(*pair) for pair in zip(*servers, strict=True)]
    operations, percentiles = own(folder)
    # Of md's four drives the worst at each percentile: its reads are their reads.
    worst = {str(p): max(part[2][str(p)] for part in each if part[2]) for p in PERCENTS} if any(part[2] for part in each) else None
    text = lambda name: (folder / name).read_text().strip() if (folder / name).exists() else None
    result = {
        "application": application,
        "kind": text("kind"),
        "file_system": fs,
        "system": system,
        "seconds": took / 1e9,
        "operations": operations,
        "operations_per_second": operations / (took / 1e9) if took else None,
        "operation": text("operation"),
        "percentiles_us": percentiles,
        "array": {"reads": sum(p[0] for p in each), "writes": sum(p[1] for p in each), "percentiles_us": worst},
    }
    print(json.dumps(result, indent=1))


main()
