# SPDX-License-Identifier: GPL-2.0
"""The verdict on a store after a power cut: lost, torn, or as it should be.

Two writers wrote, and the host knows of each, from a file outside the machine,
what it was told to be done (acknowledged), and how much more may have been
under way (the window).  Their keys are disjoint.

- The loader stores line L of a table.  Lines up to the acknowledged one must
  be there with their values; those of the window may be; later ones must not.
- churn performs a known sequence one by one, so its keys must be exactly as
  after its first M operations, acknowledged <= M <= acknowledged + window.

Lost is an acknowledged operation whose effect, or that of a later operation on
its key, is not there.  Torn is a record that no issued operation wrote.
"""

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
    """The writer of the table: what is acknowledged, and what may be there."""

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
        """Every line of the table, and what is there for it."""
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
    """The writer of the sequence: its keys as after M operations."""

    window = sequence.WINDOW

    def __init__(self, seed):
        self.seed = seed
        self.acked = 0
        self.state = {}
        self.applied = 0

    def state_after(self, count):
        """Bring the model up to COUNT operations."""
        while self.applied < count:
            self.applied += 1
            sequence.apply(self.state, self.seed, self.applied)

    def acknowledge(self, last):
        """Operations up to LAST are done."""
        self.acked = last

    def judge(self, records, verdict):
        """Find the M that the records agree with; resume from there."""
        found = {k: records.pop(k) for k in list(records) if sequence.is_ours(k)}
        self.state_after(self.acked)
        state = dict(self.state)
        wrong = {k for k in state.keys() | found.keys() if state.get(k) != found.get(k)}
        best = (len(wrong), self.acked, set(wrong))
        for i in range(self.acked + 1, self.acked + self.window + 1):
            key = sequence.apply(state, self.seed, i)
            (wrong.discard if state.get(key) == found.get(key) else wrong.add)(key)
            if len(wrong) < best[0]:
                best = (len(wrong), i, set(wrong))
        if best[0] and self.is_ahead(state, found, verdict):
            return
        self.blame(best[1], best[2], found, verdict)
        self.acked = best[1]

    def is_ahead(self, state, found, verdict):
        """Whether more was done than was issued: STATE is as after the window."""
        for i in range(self.acked + self.window + 1, self.acked + 200 * self.window):
            sequence.apply(state, self.seed, i)
            if state == found:
                verdict.torn.append(f"churn: operation {i} is there before it was issued")
                return True
        return False

    def blame(self, count, wrong, found, verdict):
        """Why each key in WRONG is not as after COUNT operations."""
        if not wrong:
            return
        written = {}
        for i in range(1, count + self.window + 1):
            removes, key = sequence.key_at(self.seed, i)
            if key in wrong and not removes:
                written.setdefault(key, set()).add(sequence.value_at(self.seed, i))
        for key in sorted(wrong):
            value = found.get(key)
            if value is None or value in written.get(key, ()):
                verdict.lost.append(f"key {key:#x}: an acknowledged operation has no effect")
            else:
                verdict.torn.append(f"key {key:#x}: holds {value:#x}, which nobody wrote")


class Verdict:
    """What is lost and what is torn, in words, one string each."""

    def __init__(self):
        self.lost = []
        self.torn = []

    def good(self):
        """Nothing is."""
        return not self.lost and not self.torn


def judge(records, loader, churner):
    """Compare the records with what the writers did; CHURNER moves on to its M."""
    verdict = Verdict()
    records = dict(records)
    loader.judge(records, verdict)
    churner.judge(records, verdict)
    for key, value in records.items():
        verdict.torn.append(f"key {key:#x}: holds {value:#x}, but nobody ever wrote it")
    return verdict
