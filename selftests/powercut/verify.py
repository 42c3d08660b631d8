# SPDX-License-Identifier: GPL-2.0
"""Judge a store after a power cut: records are lost, torn, or correct.

Several writers wrote.  For each of them a file outside the machine holds the acknowledged
operations; a number of further ones may have been in progress (the window).  The keys of
the writers are disjoint, so each writer is judged by itself, and no writer wrote the
remaining records.

- The loader stores line L of a table.  Lines up to the acknowledged one must
  be there with their values; those of the window may be; later ones must not.
- A churner performs a known sequence one by one, so its keys must be exactly as
  after its first M operations, acknowledged <= M <= acknowledged + window. One that
  commits has done a whole number of commits.
- The accounts, between which each commit moves an amount, have one sum.

Lost is an acknowledged operation whose effect, or that of a later operation on
its key, is not there.  Torn is a record that no issued operation wrote.
"""

import math

import sequence


class Damage(Exception):
    """Evidence that cannot be read: a dump or a log that makes no sense."""


def whole_lines(path):
    """The lines of a file without a last one that was cut short."""
    try:
        with open(path, encoding="ascii") as f:
            text = f.read()
    except FileNotFoundError:
        return []
    return text[:text.rfind("\n") + 1].splitlines()


def read_acks(path, letter, start):
    """The last operation acknowledged; START is the one before the first.

    Acknowledgements come one by one: a gap would be a fault of the writer.
    """
    last = start
    for line in whole_lines(path):
        if line != f"{letter} {last + 1}":
            raise Damage(f"{path}: found '{line}' where '{letter} {last + 1}' must follow")
        last += 1
    return last


def read_records(lines):
    """A dump as a dictionary; its keys must ascend."""
    records, before = {}, -1
    for line in lines:
        key, value = (int(word, 0) for word in line.split())
        if key <= before:
            raise Damage(f"key {key} of the dump does not follow {before}")
        records[key] = value
        before = key
    return records


class Loader:
    """The writer of the table: the acknowledged records, and those that may be there."""

    window = sequence.WINDOW

    def __init__(self, table):
        self.table = table
        self.acked = 0
        self.issued = 0

    def acknowledge(self, last):
        """The lines up to LAST are done."""
        self.acked = last
        self.issued = max(self.issued, min(last + self.window, len(self.table)))

    def judge(self, records, verdict):
        """Compare every line of the table with its record."""
        for number, (key, value) in enumerate(self.table, 1):
            found = records.pop(key, None)
            if found is None:
                if number <= self.acked:
                    verdict.lost.append(f"line {number}, key {key:#x}: not there")
            elif found != value:
                verdict.torn.append(f"line {number}, key {key:#x}: holds {found:#x}")
            elif number > self.issued:
                verdict.torn.append(f"line {number}, key {key:#x}: there before it was written")


class Churner:
    """A writer of a sequence: its keys as after M operations."""

    window = sequence.WINDOW

    def __init__(self, seed, writer=0, step=1):
        self.sequence = sequence.Sequence(seed, writer)
        self.step = step
        self.writer = writer
        self.begun = 0      # the operation before the first of the last run
        self.acked = 0      # may end within a commit: the log is cut anywhere
        self.state = {}
        self.applied = 0

    def state_after(self, count):
        """Bring the model up to COUNT operations."""
        while self.applied < count:
            self.applied += 1
            self.sequence.apply(self.state, self.applied)

    def skip(self, last):
        """Operations up to LAST that are not done yet are never done."""
        self.state_after(self.acked)
        self.begun = self.acked = self.applied = last

    def acknowledge(self, last):
        """Operations up to LAST are done."""
        self.acked = last

    def judge(self, records, verdict):
        """Find the M that the records agree with; resume from there."""
        found = {k: records.pop(k) for k in list(records) if self.sequence.owns(k)}
        self.state_after(self.acked)
        state = dict(self.state)
        wrong = {k for k in state.keys() | found.keys() if state.get(k) != found.get(k)}
        best = (len(wrong) if self.is_whole(self.acked) else math.inf, self.acked, set(wrong))
        for i in range(self.acked + 1, self.acked + self.window + 1):
            key = self.sequence.apply(state, i)
            (wrong.discard if state.get(key) == found.get(key) else wrong.add)(key)
            if len(wrong) < best[0] and self.is_whole(i):
                best = (len(wrong), i, set(wrong))
        if best[0] and self.is_ahead(state, found, verdict):
            return
        self.blame(best[1], best[2], found, verdict)
        self.acked = best[1]

    def is_whole(self, count):
        """Whether COUNT operations are a whole number of commits."""
        return (count - self.begun) % self.step == 0

    def is_ahead(self, state, found, verdict):
        """Whether more was done than was issued: STATE is as after the window."""
        for i in range(self.acked + self.window + 1, self.acked + 200 * self.window):
            self.sequence.apply(state, i)
            if state == found:
                verdict.torn.append(f"writer {self.writer}: operation {i} is there before it was issued")
                return True
        return False

    def blame(self, count, wrong, found, verdict):
        """Why each key in WRONG is not as after COUNT operations."""
        if not wrong:
            return
        written = {}
        for i in range(1, count + self.window + 1):
            removes, key = self.sequence.key_at(i)
            if key in wrong and not removes:
                written.setdefault(key, set()).add(self.sequence.value_at(i))
        for key in sorted(wrong):
            value = found.get(key)
            if value is None or value in written.get(key, ()):
                verdict.lost.append(f"key {key:#x}: an acknowledged operation has no effect")
            else:
                verdict.torn.append(f"key {key:#x}: holds {value:#x}, which no writer wrote")


class Bank:
    """The accounts, which all writers that commit share."""

    def judge(self, records, verdict):
        """None is there, or all are with their sum."""
        found = [records.pop(key) for key in range(sequence.ACCOUNTS) if key in records]
        if found and (len(found) != sequence.ACCOUNTS or
                      sum(found) & sequence.MASK != sequence.ACCOUNTS * sequence.BALANCE):
            verdict.torn.append(f"the accounts hold {found}")


class Verdict:
    """The lost and the torn records, one description each."""

    def __init__(self):
        self.lost = []
        self.torn = []

    def good(self):
        """Whether nothing is lost or torn."""
        return not self.lost and not self.torn


def judge(records, writers):
    """Compare the records with the operations of the writers; a churner moves on to its M."""
    verdict = Verdict()
    records = dict(records)
    for writer in writers:
        writer.judge(records, verdict)
    for key, value in records.items():
        verdict.torn.append(f"key {key:#x}: holds {value:#x}, but no writer wrote it")
    return verdict
