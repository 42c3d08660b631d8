# SPDX-License-Identifier: GPL-2.0
"""Limits on silence: a program is hung when it has written nothing for too long.

Wall time alone does not show that: on a loaded host everything is slower. Time that the
program's tasks spend waiting for a CPU is therefore subtracted, as the scheduler of the host
counts it, up to nine tenths of the silence, so that each wait stays bounded. A program that
writes without end is hung after TIMES the limit.
"""

import os
import time

TIMES = 10
SHARE = 0.9     # of a silence that waiting for a CPU may explain
PERIOD = 2.0    # seconds between two looks, which read all of /proc; less where the limit is small


def tree(pid):
    """The process and its descendants."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                parent = int(f.read().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue    # it has ended
        children.setdefault(parent, []).append(int(name))
    found = [pid]
    for process in found:
        found += children.get(process, ())
    return found


class Starved:
    """Seconds for which the tasks of a process tree waited for a CPU."""

    def __init__(self, pid):
        self.pid, self.seen, self.total = pid, {}, 0.0

    def tasks(self):
        """(task, nanoseconds of its own)"""
        for pid in tree(self.pid):
            try:
                for task in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
                        yield task, int(f.read().split()[1])
            except (OSError, IndexError):
                continue    # it has ended, or the host does not count

    def seconds(self):
        """So far."""
        now = dict(self.tasks())
        self.total += sum(max(0, delay - self.seen.get(task, 0)) for task, delay in now.items()) / 1e9
        self.seen = now
        return self.total


class Watch:
    """Whether a program is hung; it writes to the files PATHS."""

    def __init__(self, pid, paths, limit, clock=time.monotonic, starved=None):
        self.paths, self.limit, self.clock = paths, limit, clock
        self.starved = starved or Starved(pid).seconds
        self.written = self.sizes()
        self.start = self.last = clock(), 0.0
        self.period = min(PERIOD, limit / 4)
        self.next = clock() + self.period
        self.active = 0.0

    def sizes(self):
        """The size of each file."""
        return [os.path.getsize(path) if os.path.exists(path) else 0 for path in self.paths]

    def since(self, then, now):
        """Seconds between two looks in which the program could run."""
        wall, waited = now[0] - then[0], now[1] - then[1]
        return wall - min(waited, SHARE * wall)

    def hung(self):
        """Look, if the last look is long enough ago; the reason if it is hung."""
        if self.clock() < self.next:
            return ""
        now = self.clock(), self.starved()
        self.next = now[0] + self.period
        self.active = self.since(self.start, now)
        written = self.sizes()
        if written != self.written:
            self.written, self.last = written, now
        if self.since(self.last, now) >= self.limit:
            return f"printed nothing for {self.limit:.0f} s"
        return f"still printing after {self.active:.0f} s" if self.active >= TIMES * self.limit else ""
