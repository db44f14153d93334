"""Second by second, what an application felt: reads FOLDER/latencies, events and epoch, writes FOLDER/timeline.json.

Operations are those that were due in the second."""

import json
import math
import sys
from pathlib import Path

folder = Path(sys.argv[1])
epoch = int((folder / "epoch").read_text())
seconds = {}
for line in (folder / "latencies").read_text().splitlines():
    due, took = map(int, line.split())
    seconds.setdefault((due - epoch) // 10**9, []).append(took)
events = {}
for line in (folder / "events").read_text().splitlines():
    moment, what = line.split(" ", 1)
    events.setdefault((int(moment) - epoch) // 10**9, []).append(what)
timeline = []
for second in range(max(max(seconds), max(events)) + 1):
    took = sorted(seconds.get(second, []))
    place = lambda p: took[math.ceil(len(took) * p / 100) - 1] / 1000 if took else None
    event = "; ".join(events.get(second, [])) or None
    timeline.append({"second": second, "operations": len(took), "p50_us": place(50), "p99_us": place(99), "max_us": place(100), "event": event})
(folder / "timeline.json").write_text(json.dumps(timeline))
