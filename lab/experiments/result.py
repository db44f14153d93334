"""The result of an application, as JSON.

    result.py FOLDER APPLICATION FS SYSTEM NANOSECONDS RESULT

Writes RESULT.json, and RESULT.status.json with what the servers counted in the measured part. FOLDER has `before` and `after`, a line of
`ioda ctl --json status` for each server, and what the application left: `latencies` (nanoseconds of each operation, a line
each) or `fio.json`, `operation` (what these are of), `operations` (how many there were, where that is another number), `timeline.json`
if there is one, and `kind`. `paid` has the system calls, the pages and the nanoseconds that processors were charged, if they were.
"""

import json
import math
import sys
from pathlib import Path

PERCENTS = (50, 95, 99, 99.9, 99.99)


def quantiles(latencies):
    """Percentiles of sorted nanoseconds, in microseconds."""
    return {str(p): latencies[max(math.ceil(len(latencies) * p / 100), 1) - 1] / 1000 for p in PERCENTS}


def own(folder: Path):
    """How many operations there were, and their mean and percentiles in microseconds or none."""
    if (folder / "fio.json").exists():
        # Some versions of fio write remarks ahead.
        text = (folder / "fio.json").read_text()
        jobs = json.loads(text[text.index("{") :])["jobs"]
        operations = sum(job[way]["total_ios"] for job in jobs for way in ("read", "write"))
        reads = jobs[0]["read"]["lat_ns"]
        return operations, reads["mean"] / 1000, {str(p): reads["percentile"][f"{p:.6f}"] / 1000 for p in PERCENTS}
    number = folder / "operations"
    if not (folder / "latencies").exists():
        return int(number.read_text()), None, None
    # The last number of a line; ahead of it may be when the operation was due.
    latencies = sorted(int(line.split()[-1]) for line in (folder / "latencies").read_text().splitlines())
    operations = int(number.read_text()) if number.exists() else len(latencies)
    return operations, sum(latencies) / len(latencies) / 1000, quantiles(latencies)


class Grown:
    """A histogram of latencies of one interval: what it grew by."""

    def __init__(self, before, after):
        earlier = dict(map(tuple, before["buckets"]))
        self.counts = {bound: count - earlier.get(bound, 0) for bound, count in after["buckets"]}
        self.number, self.sum = after["count"] - before["count"], after["sum_nanoseconds"] - before["sum_nanoseconds"]
        self.most = after["max_nanoseconds"]

    def add(self, other):
        for bound, count in other.counts.items():
            self.counts[bound] = self.counts.get(bound, 0) + count
        self.number, self.sum, self.most = self.number + other.number, self.sum + other.sum, max(self.most, other.most)
        return self

    def mean(self):
        return self.sum / self.number / 1000 if self.number else None

    def percentiles(self):
        """In microseconds; buckets are 7 % wide."""
        if not self.number:
            return None
        result = {}
        for p in PERCENTS:
            rest = math.ceil(self.number * p / 100)
            for bound, count in sorted(self.counts.items()):
                rest -= count
                if rest <= 0:
                    result[str(p)] = min(bound, self.most) / 1000
                    break
        return result


def all_of(servers, name):
    total = None
    for before, after in servers:
        part = Grown(before[name], after[name])
        total = part if total is None else total.add(part)
    return total


def counted(servers):
    """What the servers counted in between: of each drive, and of reads that waited."""
    drives, causes = [], {}
    for before, after in servers:
        for old, new in zip(before["drives"], after["drives"], strict=True):
            fields = ("read_pages", "written_pages", "copied_pages", "erased_blocks", "errors")
            # A drive that was replaced has counted anew.
            old = old if all(new[field] >= old[field] for field in fields) else dict.fromkeys(fields, 0) | {"free_share": None}
            drives.append({field: new[field] - old[field] for field in fields} | {"free_share": [old["free_share"], new["free_share"]]})
        earlier = {cause["cause"]: cause["latency"] for cause in before["causes"]}
        nothing = {"buckets": [], "count": 0, "sum_nanoseconds": 0}
        for cause in after["causes"]:
            grown = Grown(earlier.get(cause["cause"], nothing), cause["latency"])
            sums = causes.setdefault(cause["cause"], {"reads": 0, "seconds": 0})
            sums["reads"] += grown.number
            sums["seconds"] += grown.sum / 1e9
    plain = ("fail_fasts", "rebuilds", "resubmitted", "failed_requests", "flushes", "read_bytes", "written_bytes")
    sums = {name: sum(after[name] - before[name] for before, after in servers) for name in plain}
    last = servers[0][1]
    return sums | {
        "policy": last["policy"],
        "busy_window_nanoseconds": last["busy_window_nanoseconds"],
        "busy_sub_ios": [[b - a for a, b in zip(before["busy_sub_ios"], after["busy_sub_ios"])] for before, after in servers],
        "tallies": [after["tallies"] for _, after in servers],
        "late": max(after["lateness"]["max_nanoseconds"] for _, after in servers),
        "causes": causes,
        "drives": drives,
    }


def stripe_reads(servers, least):
    """How many stripe reads met at least `least` drives that collect."""
    return sum(sum(after["busy_sub_ios"][least:]) - sum(before["busy_sub_ios"][least:]) for before, after in servers)


def main():
    folder, application, fs, system, took, path = Path(sys.argv[1]), *sys.argv[2:5], int(sys.argv[5]), sys.argv[6]
    before, after = ([json.loads(line) for line in (folder / name).read_text().splitlines()] for name in ("before", "after"))
    servers = list(zip(before, after, strict=True))
    reads, writes = all_of(servers, "read"), all_of(servers, "write")
    operations, mean, percentiles = own(folder)
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
        "mean_us": mean,
        "percentiles_us": percentiles,
        # Of md those of its four drives: its own it does not say.
        "array": {
            "reads": reads.number,
            "writes": writes.number,
            "stripe_reads": stripe_reads(servers, 0),
            "met": stripe_reads(servers, 1),
            "mean_us": reads.mean(),
            "percentiles_us": reads.percentiles(),
        },
    }
    if text("paid"):
        calls, pages, nanoseconds = map(int, text("paid").split())
        result["processor"] = {"calls": calls, "pages": pages, "seconds": nanoseconds / 1e9}
    if (folder / "timeline.json").exists():
        result["timeline"] = json.loads((folder / "timeline.json").read_text())
    for name, document in ((".status.json", counted(servers)), (".json", result)):
        Path(path + name + ".new").write_text(json.dumps(document, indent=1) + "\n")
        Path(path + name + ".new").rename(path + name)


main()
