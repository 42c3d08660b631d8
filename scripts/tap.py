# SPDX-License-Identifier: GPL-2.0
"""Shared by the tests in Python: their results as KTAP."""


def result(good, text, number="-"):
    """One result; a program without a plan need not number them."""
    print(f"{'ok' if good else 'not ok'} {number} {text}", flush=True)


class Tap:
    """The results of one program; without a plan, the plan comes last."""

    def __init__(self, plan=None):
        self.count = self.failed = 0
        self.plan = plan
        print("KTAP version 1")
        if plan is not None:
            print(f"1..{plan}")

    def ok(self, good, text, details=()):
        """One of them; with details if it failed."""
        self.count += 1
        self.failed += not good
        for line in details if not good else ():
            print(f"# {line}")
        result(good, text, self.count)

    def done(self):
        """The exit status."""
        if self.plan is None:
            print(f"1..{self.count}")
        return 1 if self.failed or self.plan not in (None, self.count) else 0
