"""Filebench's personalities, on a set of files that is scaled to a small array.

    filebench.py prepare NAME FOLDER
    filebench.py measure NAME FOLDER LATENCIES    writes nanoseconds of each read, write and sync into LATENCIES

What a thread does in its loop, mean sizes and their distribution (gamma, 1.5), the share of files that exist at the beginning, and
how often something is done for how many reads are those of Filebench 1.4.9 (fileserver.f and so on). Smaller are the
numbers of files, threads and loops, and the sizes of videos; PERSONALITIES has both. What a thread has read it drops from
the page cache, so that a small set is read from the array as one is that is larger than memory. What was written
stays there until the kernel has written it.
"""

import os
import random
import sys
import threading
import time

KIB = 1024
MIB = 1024 * KIB

# name: files, mean size, share that exists, threads, loops of each
PERSONALITIES = {
    "fileserver": (400, 128 * KIB, 0.8, 8, 100),  # of 10,000 files, 50 threads
    "webserver": (1000, 16 * KIB, 1.0, 16, 290),  # of 1,000 files, 100 threads
    "webproxy": (1000, 16 * KIB, 0.8, 16, 480),  # of 10,000 files, 100 threads
    "varmail": (1000, 16 * KIB, 0.8, 8, 580),  # of 1,000 files, 16 threads
    "videoserver": (16, 8 * MIB, 0.5, 8, 60),  # of 226 videos of 10 GiB, 32 of them active, 48 readers
    "oltp": (10, 10 * MIB, 1.0, 20, 1200),  # of 10 files of 10 MiB, 200 readers
}
APPEND = 16 * KIB
LARGEST = MIB
VIDEO_READ = 256 * KIB
VIDEO_RATE = 96  # Reads per second, of all readers together.
PAGE = 2 * KIB  # Of the tables of oltp.


class Files:
    """Files of a set: those that exist and are not in use, and the names of those that do not exist."""

    def __init__(self, folder, names):
        self.folder, self.there, self.absent = folder, [], list(names)

    def path(self, name):
        return f"{self.folder}/{name}"


class Worker:
    """A thread that does the loops of a personality."""

    def __init__(self, number, files, mean):
        self.draw, self.files, self.mean, self.latencies = random.Random(1000 + number), files, mean, []

    def timed(self, what, *arguments):
        began = time.monotonic_ns()
        result = what(*arguments)
        self.latencies.append(time.monotonic_ns() - began)
        return result

    def take(self, names):
        # Lists change between system calls only. With few files all may be in use.
        while not names:
            time.sleep(0.001)
        at = self.draw.randrange(len(names))
        names[at], names[-1] = names[-1], names[at]
        return names.pop()

    def write(self, file, mean):
        data = self.draw.randbytes(int(self.draw.gammavariate(1.5, mean / 1.5)) + 1)
        for at in range(0, len(data), LARGEST):
            self.timed(os.write, file, data[at : at + LARGEST])

    def create(self, mean, sync=False):
        name = self.take(self.files.absent)
        file = os.open(self.files.path(name), os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
        self.write(file, mean)
        if sync:
            self.timed(os.fsync, file)
        os.close(file)
        self.files.there.append(name)

    def delete(self):
        name = self.take(self.files.there)
        os.unlink(self.files.path(name))
        self.files.absent.append(name)

    def append(self, path, sync=False):
        file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
        self.write(file, APPEND)
        if sync:
            self.timed(os.fsync, file)
        os.close(file)

    def read(self, path):
        file = os.open(path, os.O_RDONLY)
        while self.timed(os.read, file, LARGEST):
            pass
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)

    def with_any(self, what):
        """Does something with a file that exists, which no other thread uses meanwhile."""
        name = self.take(self.files.there)
        what(self.files.path(name))
        self.files.there.append(name)


class Fileserver(Worker):
    def loop(self):
        self.create(self.mean)
        self.with_any(self.append)
        self.with_any(self.read)
        self.delete()
        self.with_any(os.stat)


class Webserver(Worker):
    def loop(self):
        for _ in range(10):
            self.with_any(self.read)
        self.append(f"{self.files.folder}/log")


class Webproxy(Worker):
    def loop(self):
        self.delete()
        self.create(APPEND)
        for _ in range(5):
            self.with_any(self.read)


class Varmail(Worker):
    def loop(self):
        self.delete()
        self.create(APPEND, sync=True)
        self.with_any(self.answer)
        self.with_any(self.read)

    def answer(self, path):
        self.read(path)
        self.append(path, sync=True)


class Videoserver(Worker):
    """A reader reads a file on, at a rate. The active ones exist at the beginning."""

    def __init__(self, number, files, mean):
        super().__init__(number, files, mean)
        self.file, self.at = os.open(files.path(files.active[number % len(files.active)]), os.O_RDONLY), 0
        self.every = PERSONALITIES["videoserver"][3] / VIDEO_RATE
        self.next = time.monotonic() + number / VIDEO_RATE

    def loop(self):
        time.sleep(max(self.next - time.monotonic(), 0))
        self.next += self.every
        if not self.timed(os.pread, self.file, VIDEO_READ, self.at):
            self.at = 0
            return
        os.posix_fadvise(self.file, self.at, VIDEO_READ, os.POSIX_FADV_DONTNEED)
        self.at += VIDEO_READ


class Videowriter(Worker):
    """Puts a new video in the place of a passive one, and waits. Filebench's waits for 10 s, for videos a thousand times as large."""

    def loop(self):
        if self.files.there:
            self.delete()
        self.create(self.mean)
        time.sleep(0.1)


class Oltp(Worker):
    """Reads a page; a thousand reads of all wake each of the writers, and 3,200 that of the log."""

    reads = 0
    due = {1000: [], 3200: []}

    def loop(self):
        file = os.open(self.files.path(self.draw.choice(self.files.names)), os.O_RDONLY)
        at = self.draw.randrange(10 * MIB // PAGE) * PAGE
        self.timed(os.pread, file, PAGE, at)
        os.posix_fadvise(file, at - at % (2 * PAGE), 2 * PAGE, os.POSIX_FADV_DONTNEED)
        os.close(file)
        Oltp.reads += 1
        for every, waiting in Oltp.due.items():
            if Oltp.reads % every == 0:
                for semaphore in waiting:
                    semaphore.release()

    def waits(self, reads):
        self.woken = threading.Semaphore(0)
        Oltp.due[reads].append(self.woken)


class Tablewriter(Oltp):
    """Writes 100 pages at once and waits for all; ten do."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.waits(1000)

    def loop(self):
        self.woken.acquire()
        files = {}
        for _ in range(100):
            name, at = self.draw.choice(self.files.names), self.draw.randrange(10 * MIB // PAGE) * PAGE
            if name not in files:
                files[name] = os.open(self.files.path(name), os.O_WRONLY)
            os.pwrite(files[name], self.draw.randbytes(PAGE), at)
        for file in files.values():
            self.timed(os.fdatasync, file)
            os.close(file)


class Logwriter(Oltp):
    """Writes 256 KiB somewhere in the log."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.waits(3200)

    def loop(self):
        self.woken.acquire()
        file = os.open(f"{self.files.folder}/log", os.O_WRONLY | os.O_DSYNC)
        self.timed(os.pwrite, file, self.draw.randbytes(256 * KIB), self.draw.randrange(40) * 256 * KIB)
        os.close(file)


def prepare(name, folder):
    number, mean, share, _, _ = PERSONALITIES[name]
    os.makedirs(folder)
    draw = random.Random(1)
    constant = name in ("videoserver", "oltp")
    sizes = {str(n): mean if constant else int(draw.gammavariate(1.5, mean / 1.5)) + 1 for n in range(int(number * share))}
    if name == "oltp":
        sizes["log"] = 10 * MIB
    for file, size in sizes.items():
        with open(f"{folder}/{file}", "wb") as out:
            for at in range(0, size, LARGEST):
                out.write(draw.randbytes(min(LARGEST, size - at)))


def measure(name, folder, latencies):
    number, mean, share, threads, loops = PERSONALITIES[name]
    files = Files(folder, [])
    names = [str(n) for n in range(number)]
    there = int(number * share)
    files.there, files.absent, files.names, files.active = names[:there], names[there:], names, []
    if name == "videoserver":
        files.active, files.there = files.there, []
    kinds = {"fileserver": Fileserver, "webserver": Webserver, "webproxy": Webproxy, "varmail": Varmail, "videoserver": Videoserver, "oltp": Oltp}
    workers = [kinds[name](n, files, mean) for n in range(threads)]
    helpers = {"videoserver": [Videowriter], "oltp": [Tablewriter] * 10 + [Logwriter]}.get(name, [])
    helpers = [kind(threads + n, files, mean) for n, kind in enumerate(helpers)]
    ended = False

    def work(worker):
        for _ in range(loops):
            worker.loop()

    def help(worker):
        while not ended:
            worker.loop()

    running = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    for thread in running + [threading.Thread(target=help, args=(helper,), daemon=True) for helper in helpers]:
        thread.start()
    for thread in running:
        thread.join()
    ended = True
    with open(latencies, "w") as out:
        for worker in workers + helpers:
            out.writelines(f"{latency}\n" for latency in worker.latencies)
    # Helpers may wait for ever.
    os._exit(0)


{"prepare": prepare, "measure": measure}[sys.argv[1]](*sys.argv[2:])
