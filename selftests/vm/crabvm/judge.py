# SPDX-License-Identifier: GPL-2.0
"""Judge the console of a machine; nothing else is evidence.

A run is good when its end marker is there with status 0, no line looks like a
kernel complaint, no test is "not ok", and as many tests passed as were
expected.  A skipped test is neither passed nor failed; its name is printed.

Only lines after our init's begin marker count: a kernel may complain while it boots
(user-mode Linux 6.1 does, under lockdep).  A kernel that does not reach the begin marker
has no end marker either.

A data race that KCSAN reports counts if it names our module; other data races are
printed and do not count.

KTAP nests: the line of a suite follows the indented lines of its tests, sums them up and
is not counted again ("not ok" fails at every level).
"""

import re

SPLAT = re.compile(
    r"BUG:|WARNING:|KASAN:|KCSAN:|UBSAN:|ODEBUG:|Oops|Internal error|Kernel panic"
    r"|possible recursive|possible circular|inconsistent lock state|bad unlock balance"
    r"|held lock freed|still held|suspicious RCU|rcu.*(?:stall|self-detected)|INFO: task"
    r"|Call [Tt]race|cut here|unreferenced object|[1-9]\d* new suspected memory leaks"
    r"|list_(?:add|del) corruption|refcount_t:|[Uu]nable to handle|general protection"
    r"|soft lockup|hard LOCKUP|scheduling while atomic|CRABTREE FAIL")
STAMP = re.compile(r"^\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ")
RESULT = re.compile(r"^((?: {4}|# )*)(not )?ok (\d+)\b(.*)$")
BEGIN = re.compile(r"=== CRABTREE BEGIN ")
END = re.compile(r"=== CRABTREE END (\d+) ===")
RACE = re.compile(r"^BUG: KCSAN: ")
RACE_END = re.compile(r"^={60,}$")
OURS = "[crabtree"
WHERE = re.compile(r"(?:RIP: [0-9a-f]+:|pc : )(\S+)")
# The last byte before the instruction pointer, which is in angle brackets
BREAKPOINT = re.compile(r"\bint3: 0000 \[#")
CODE = re.compile(r"Code: .*\b([0-9a-f]{2}) <[0-9a-f]{2}>")
INT3 = "cc"


def stale_breakpoint(text):
    """True if a kernel died of a breakpoint that its memory no longer held.

    An x86 kernel patches a jump under a breakpoint, and takes that away when all processors have seen
    the patch.  QEMU before 8.1 may execute its translation of the breakpoint even then, in one boot of
    some hundreds.  In that case, the code that the kernel prints has another byte at that place.
    """
    death = BREAKPOINT.search(text)
    code = CODE.search(text, death.end()) if death else None
    return bool(code) and code.group(1) != INT3


class Races:
    """The reports of KCSAN, each a list of lines."""

    def __init__(self):
        self.ours, self.foreign, self.report = [], [], []

    def line(self, line):
        """Take one line; True if it is the first of a report."""
        first = bool(RACE.search(line))
        if first or RACE_END.search(line):
            self.close()
        if first or self.report:
            self.report.append(line)
        return first

    def close(self):
        """The report is complete: sort it by whether it names our module."""
        if self.report:
            ours = any(OURS in line for line in self.report)
            (self.ours if ours else self.foreign).append(self.report)
        self.report = []


class Verdict:
    """The content of a console: counts, complaints, and whether the end was reached."""

    def __init__(self, text):
        self.passed, self.failed, self.skipped = [], [], []
        self.splats, self.where = [], ""
        self.races = Races()
        self.begun = False
        self.status = None
        self.deepest = []
        for raw in text.splitlines():
            self.line(STAMP.sub("", raw.rstrip("\r")))
        self.races.close()

    def line(self, line):
        """Take one line of the console."""
        self.begun = self.begun or bool(BEGIN.search(line))
        if not self.begun:
            return
        result = RESULT.match(line)
        if result:
            self.result(line, result)
        elif not self.races.line(line) and SPLAT.search(line):
            self.splats.append(line)
        elif self.splats and not self.where and WHERE.search(line):
            self.where = " at " + WHERE.search(line).group(1)
        end = END.search(line)
        if end:
            self.status = int(end.group(1))

    def sums_up(self, depth):
        """True if results nested deeper came since the last one at this depth."""
        nested = any(d > depth for d in self.deepest)
        self.deepest = [d for d in self.deepest if d < depth] + [depth]
        return nested

    def result(self, line, match):
        """Count an "ok" or "not ok"."""
        depth = len(re.findall(r" {4}|# ", match.group(1)))
        nested = self.sums_up(depth)
        if match.group(2):
            if not (nested and self.failed):
                self.failed.append(line.strip())
        elif re.search(r"#\s*SKIP\b", match.group(4), re.I):
            self.skipped.append(line.strip())
        elif not nested:
            self.passed.append(line.strip())

    def problems(self, expect, killed):
        """Everything wrong with the run, worst first; empty when it is good."""
        found = []
        if self.splats:
            found.append(f"{len(self.splats)} kernel complaints, the first: {self.splats[0]}{self.where}")
        if self.races.ours:
            found.append(f"{len(self.races.ours)} data races")
            found += sorted({report[0] for report in self.races.ours})
        found += self.failed
        if killed and self.status is not None:
            found.append("the machine ended before its power was cut")
        if not killed and self.status is None:
            found.append("no end marker")
        if not killed and self.status not in (None, 0):
            found.append(f"the test ended with status {self.status}")
        if expect is not None and len(self.passed) != expect:
            found.append(f"{len(self.passed)} tests passed where {expect} were expected")
        return found
