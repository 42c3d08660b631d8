# SPDX-License-Identifier: GPL-2.0
"""Running a machine, and cutting its power.

The machine is a process group; the cut is SIGKILL to all of it at once, when the
files of acknowledgements have a number of lines or after a number of seconds.  The
stores to the region's file and the bytes sent over a channel remain; everything else
in the guest is lost.

Every wait is bounded: a machine without output for too long is ended in the same way
(silence.py).  A machine ends with the program that started it.
"""

import ctypes
import os
import signal
import subprocess
import time

from crabvm.silence import Watch


class LineCounter:
    """Lines in a growing file, reading each byte once."""

    def __init__(self, path):
        self.path, self.offset, self.lines = path, 0, 0

    def count(self):
        """The number of lines now."""
        try:
            with open(self.path, "rb") as f:
                f.seek(self.offset)
                data = f.read()
        except FileNotFoundError:
            return 0
        self.offset += len(data)
        self.lines += data.count(b"\n")
        return self.lines


PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def die_with_parent():
    """In the child: be killed when the parent is gone."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Run:
    """A machine under way."""

    def __init__(self, command, log, pass_fds=()):
        self.start = time.monotonic()
        self.killed = self.unbooted = False
        self.hung = ""
        self.log, self.begun = log.name, False
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            pass_fds=pass_fds, start_new_session=True, preexec_fn=die_with_parent)

    def elapsed(self):
        """Seconds since the start."""
        return time.monotonic() - self.start

    def cut(self):
        """End the whole group at once, and wait until it is gone."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def has_begun(self):
        """Whether our init has spoken yet."""
        if not self.begun:
            with open(self.log, "rb") as f:
                self.begun = b"CRABTREE BEGIN" in f.read()
        return self.begun

    def last_words(self):
        """The end of the console, in one line."""
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return " / ".join(line.strip() for line in f.read().splitlines()[-4:])[-400:] or "nothing"

    def is_over(self, watch, boot_seconds):
        """Whether it is hung, the reason being kept, or has had its time to boot."""
        self.hung = watch.hung()
        self.unbooted = watch.active >= boot_seconds and not self.has_begun()
        return bool(self.hung) or self.unbooted

    def wait(self, silence, boot_seconds, acks=(), kill_lines=None, kill_seconds=None):
        """Until it ends, is to be killed, is silent for too long, or does not boot."""
        counters = [LineCounter(ack) for ack in acks] if kill_lines else []
        watch = Watch(self.process.pid, [self.log, *acks], silence)
        while self.process.poll() is None:
            if counters and sum(c.count() for c in counters) >= kill_lines:
                self.killed = True
            if kill_seconds and self.elapsed() >= kill_seconds:
                self.killed = True
            if self.killed or self.is_over(watch, boot_seconds):
                break
            time.sleep(0.005 if counters else 0.02)
        self.cut()
        if not (self.killed or self.hung):     # or it ended by itself, before our init
            self.unbooted = not self.has_begun()
