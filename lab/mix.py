"""Random reads and writes of 4 KiB on a block device, past the page cache, each at a rate of its own (Poisson).

    mix.py DEVICE READS WRITES SECONDS LATENCIES    rates per second; writes nanoseconds of each read into LATENCIES

Says how long writes took. It is an open loop: a request is sent when it is due, as long as no more than REQUESTS are under way, and its latency counts from
then. fio can do the same but waits for the last microseconds in a loop that looks at the clock, and where programs
take no time such a loop is as good as endless.
"""

import mmap
import os
import random
import sys
import threading
import time

REQUESTS = 256
BLOCK = 4096

device, reads, writes, seconds, latencies = sys.argv[1], *map(float, sys.argv[2:5]), sys.argv[5]
file = os.open(device, os.O_RDWR | os.O_DIRECT)
blocks = os.lseek(file, 0, os.SEEK_END) // BLOCK


def requests():
    """When each is due, whether it reads, and where, in the order of time."""
    draw = random.Random(7)
    at = 0.0
    while (at := at + draw.expovariate(reads + writes)) < seconds:
        yield int(at * 1e9), draw.random() < reads / (reads + writes), draw.randrange(blocks) * BLOCK


def work(todo, began, took, wrote):
    buffer = mmap.mmap(-1, BLOCK)
    for due, reading, place in todo:
        due += began
        if (wait := due - time.monotonic_ns()) > 0:
            time.sleep(wait / 1e9)
        if reading:
            os.preadv(file, [buffer], place)
            took.append(time.monotonic_ns() - due)
        else:
            os.pwritev(file, [buffer], place)
            wrote.append(time.monotonic_ns() - due)


took, wrote = [], []
# An iterator of a list, unlike a generator, gives each item to one thread.
todo, began = iter(list(requests())), time.monotonic_ns() + 1_000_000
threads = [threading.Thread(target=work, args=(todo, began, took, wrote)) for _ in range(REQUESTS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if wrote:
    wrote.sort()
    print("writes: us", *(f"p{p} {wrote[len(wrote) * p // 100] / 1000:.1f}" for p in (1, 50, 95, 99)), f"mean {sum(wrote) / len(wrote) / 1000:.1f}")
with open(latencies, "w") as out:
    out.writelines(f"{latency}\n" for latency in took)
