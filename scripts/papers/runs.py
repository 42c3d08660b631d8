# SPDX-License-Identifier: GPL-2.0
"""Runs of tools/bench/paper for the figures of a paper: what is run, and the results of it.

Invariant: an engine, a layout or an option that the table of engines lacks is left out and named;
it is never replaced by another one.
"""

import dataclasses
import datetime
import json
import os
import shlex
import statistics
import subprocess
import sys
import time

from report import OUT, build, grouped, load, machine, percent, save, size, table, tree

# Maps of tools/bench that are no engine
PEERS = ("absl", "lmdb", "skiplist", "lcb", "nvt-a")
# Maps and phases that clean no line
COUNTLESS = ("volatile", "absl", "lmdb")
UNCOUNTED = ("search",)


@dataclasses.dataclass(frozen=True)
class System:
    """A bar: a map and how it is run.

    @options are required, @wishes are set where the engine has them. @flags: of the program. @fences: else
    it runs in a build that leaves out the instruction of a fence, where times are measured."""

    name: str
    label: str
    engine: str
    layout: str = ""
    options: tuple = ()
    wishes: tuple = ()
    flags: tuple = ()
    fences: bool = True

    def lacks(self, engines):
        """Why it cannot run, or None."""
        if self.engine in PEERS:
            return None
        row = engines.get((self.engine, self.layout))
        if not row:
            return f"there is no engine `{self.engine}` with the layout `{self.layout}`"
        for option in self.options:
            if option.split("=")[0] not in row["options"]:
                return f"engine `{self.engine}` has no option `{option.split('=')[0]}`"
        return None

    def takes(self, engines, leaf):
        """Whether its leaves may have this size."""
        row = engines.get((self.engine, self.layout))
        return not row or row["volatile"] or row["leaf_min"] <= leaf <= row["leaf_max"]

    def arguments(self, engines, costs):
        """As the program takes them."""
        known = engines.get((self.engine, self.layout), {}).get("options", [])
        options = [*costs, *self.wishes]
        options = [option for option in options if option.split("=")[0] in known] + [*self.options]
        return ["--engine", self.engine, "--layout", self.layout, *self.flags,
                *[word for option in options for word in ("--option", option)]]


@dataclasses.dataclass(frozen=True)
class Figure:
    """Bars that are compared with each other, which run in turn, round after round.

    @many: with the greater number of keys. @once: one round. @timed: nothing that is counted. @alone: each
    operation is measured, for its percentiles."""

    number: str
    systems: tuple
    phases: tuple
    leaves: tuple
    many: bool = False
    once: bool = False
    timed: bool = False
    threads: int = 1
    alone: bool = False


@dataclasses.dataclass(frozen=True)
class Size:
    """How much is run.

    @name: of the results; @counted: nothing is measured; @page: the page is recorded"""

    keys: int
    many: int
    rounds: int
    name: str
    counted: bool = False
    page: bool = False


FULL = Size(1000000, 10000000, 3, "", page=True)
QUICK = Size(300000, 1500000, 1, "-quick")
TINY = Size(2000, 4000, 1, "-tiny")
COUNTS = Size(1000000, 10000000, 1, "-counts", counted=True, page=True)


class Run:
    """The results of a run."""

    def __init__(self, said):
        self.all = said
        self.rows = {(row["figure"], row["system"], row["leaf_bytes"]): row
                     for row in said.get("rows", [])}

    def get(self, figure, system, leaf, phase, what):
        """One number, or None."""
        return self.rows.get((figure, system, leaf), {}).get("phases", {}).get(phase, {}).get(what)

    def leaves(self, figure):
        """The leaf sizes of a figure."""
        return sorted({row[2] for row in self.rows if row[0] == figure})

    def systems(self, figure):
        """The bars of a figure, in the order in which they ran."""
        return list(dict.fromkeys(row["system"] for row in self.all.get("rows", []) if row["figure"] == figure))

    def ratio(self, figure, a, b, leaf, phase, what="ns"):
        """What of one system to that of another, or None."""
        return over(self.get(figure, a, leaf, phase, what), self.get(figure, b, leaf, phase, what))

    def timed(self):
        """Were times measured?"""
        return bool(self.rows) and not self.all.get("counted")


def over(a, b):
    """A ratio, if there are both."""
    return a / b if a is not None and b else None


@dataclasses.dataclass
class Verdict:
    """A statement of a paper, and whether it holds here.

    @value: None if it was not measured. @least: the bound is a lower one. @near: the value may differ from
    the bound by so much"""

    name: str
    value: float
    bound: float
    least: bool = False
    form: str = "{:.2f}"
    near: float = None

    def holds(self):
        """True, False or None."""
        if self.value is None:
            return None
        if self.near is not None:
            return abs(self.value - self.bound) <= self.near
        return self.value >= self.bound if self.least else self.value <= self.bound

    def word(self):
        """In words."""
        return {True: "holds", False: "does not hold", None: "not measured"}[self.holds()]

    def cells(self):
        """A row of the table."""
        value, bound = cell(self.value, self.form), self.form.format(self.bound)
        wanted = f"{'≥' if self.least else '≤'} {bound}" if self.near is None else f"{bound} ± {self.near}"
        return [self.name, value, wanted, self.word()]


def verdict_table(verdicts):
    """The verdicts of a paper."""
    return table(["statement", "measured", "wanted", "verdict"], [v.cells() for v in verdicts])


def highest(values):
    """The highest of the values that there are, or None."""
    return max((v for v in values if v is not None), default=None)


def lowest(values):
    """The lowest of them."""
    return min((v for v in values if v is not None), default=None)


def by_leaf(run, figure, systems, phase, what, form="{:.0f}"):
    """A table: systems by leaf sizes."""
    leaves, there = run.leaves(figure), run.systems(figure)
    rows = [[system.label, *[cell(run.get(figure, system.name, leaf, phase, what), form) for leaf in leaves]]
            for system in systems if system.name in there]
    return table(["system", *[size(leaf) for leaf in leaves]], rows)


def cell(value, form="{:.0f}"):
    """A number of a table."""
    return "–" if value is None else form.format(value)


def panel(run, figure, systems, phase, what, title):
    """Bars of a plot, by leaf size."""
    leaves, there = run.leaves(figure), run.systems(figure)
    return ([size(leaf) for leaf in leaves],
            {s.label: [run.get(figure, s.name, leaf, phase, what) for leaf in leaves]
             for s in systems if s.name in there}, title)


def recorded(run, name, note):
    """How, when and where a run was made, for its page."""
    said = run.all
    how = "" if run.timed() else " OPTIONS=--counts"
    lines = (f"Written by ``make paper PAPER={name}{how}`` on {said['when']}, of the tree ``{said['tree']}``, in\n"
             f"{said['pieces']} processes")
    if run.timed():
        return f"{lines}: {said['machine']}, cleaning with ``{said['method']}``."
    return (f"{lines}. {note} Lines, fences, rebuilds, splits and operations are counted, with cleans\n"
            f"that are not executed; ``make paper PAPER={name}`` measures the times.")


def repeats(run):
    """How often each row ran, for the page."""
    rounds = run.all["rounds"]
    return "each row is one run" if rounds == 1 else f"a row is the median of {rounds} runs, one with more keys a single run"


def absent(run):
    """The systems that could not run, a list for the page."""
    lines = [f"* {name}: {why}" for name, why in run.all.get("absent", {}).items()]
    return "\n".join(lines).replace("`", "``") + "\n" if lines else "* none\n"


def against(value):
    """How much more or less than another, for a cell."""
    return percent(None if value is None else 100 * (value - 1))


class Piece:
    """One process: a bar of a figure, at one leaf size, in one round."""

    def __init__(self, bench, figure, system, leaf, nth):
        self.figure, self.system, self.leaf, self.nth = figure, system, leaf, nth
        self.keys = bench.size.many if figure.many else bench.size.keys
        arguments = [*system.arguments(bench.engines, bench.costs), "--leaf", str(leaf),
                     "--keys", str(self.keys), "--threads", str(figure.threads)]
        if bench.counted:
            arguments.append("--counted")
        if figure.alone:
            arguments.append("--alone")
        if bench.size.name == TINY.name:
            arguments.append("--no-floor")
        phases = [phase for phase in figure.phases if not (bench.counted and phase in UNCOUNTED)]
        self.command = [*([] if system.fences else ["no fences"]), *arguments, *phases]

    def path(self, place):
        """The file that keeps it."""
        return os.path.join(place, f"{self.figure.number}-{self.system.name}-{self.leaf}-{self.nth}.json".replace(" ", "_"))


class Bench:
    """Runs the pieces of a paper."""

    def __init__(self, paper, amount, args):
        self.paper, self.size, self.args = paper, amount, args
        self.counted = amount.counted
        self.program = os.path.join(build("paper"), "paper")
        self.engines = {(row["engine"], row["layout"]): row for row in self.output("--list")}
        self.floor = {} if self.counted else self.output("--floor")
        self.costs = [f"cost_{name}={ps}" for name, ps in self.floor.get("costs_ps", {}).items()]
        self.seconds, self.full, self.pieces = 0, 0, 0

    def output(self, *arguments):
        """What the program prints."""
        program = self.program
        if arguments[0] == "no fences":
            program, arguments = os.path.join(build("paper", fences=False), "paper"), arguments[1:]
        return json.loads(subprocess.check_output([*shlex.split(self.args.under), program, *arguments]))

    def runs(self, system):
        """Whether a system can run, and has anything that this run is for."""
        if system.lacks(self.engines) or (self.counted and system.engine in COUNTLESS):
            return False
        return system.fences or not (self.counted or self.size.name == TINY.name)

    def run(self, piece):
        """The results of a piece, which may have been kept."""
        place = os.path.join(OUT, f"paper-{self.paper.NAME}{self.size.name}")
        os.makedirs(place, exist_ok=True)
        path, what = piece.path(place), {"tree": tree(), "command": piece.command}
        said = load(path)
        if not (self.args.keep and said.items() >= what.items()):
            began = time.monotonic()
            said = {**self.output(*piece.command), **what, "seconds": time.monotonic() - began}
            save(path, said)
        self.seconds += said["seconds"]
        self.pieces += 1
        full = FULL.many if piece.figure.many else FULL.keys
        self.full += said["seconds"] * full / piece.keys * (1 if piece.figure.once else FULL.rounds)
        return said

    def figure(self, figure):
        """The rows of a figure."""
        systems = [s for s in figure.systems if self.runs(s)]
        rounds = 1 if figure.once else self.size.rounds
        leaves = figure.leaves
        if self.size.name == TINY.name:
            leaves = set(leaves) & {1024} or leaves[:1]
        for leaf in leaves:
            rows = {s: [] for s in systems if s.takes(self.engines, leaf)}
            for nth in range(rounds):
                for system, said in rows.items():
                    print(f"paper: figure {figure.number}, {size(leaf)}, round {nth + 1} of {rounds}: "
                          f"{system.label}", file=sys.stderr)
                    said.append(self.run(Piece(self, figure, system, leaf, nth)))
            for system, said in rows.items():
                yield {"figure": figure.number, "system": system.name, "leaf_bytes": leaf,
                       "phases": medians(said)}

    def measure(self):
        """All rows, and what is known of the run."""
        figures = [f for f in self.paper.figures(self.size) if not (self.counted and f.timed) and
                   (not self.args.figure or f.number in self.args.figure)]
        if not figures:
            sys.exit("paper: there is no such figure")
        rows = [row for figure in figures for row in self.figure(figure)]
        missing = {s.label: s.lacks(self.engines) for f in figures for s in f.systems if s.lacks(self.engines)}
        return {"when": datetime.date.today().isoformat(), "tree": tree(), "machine": machine(),
                "counted": self.counted, "keys": self.size.keys, "many": self.size.many,
                "rounds": self.size.rounds, "pieces": self.pieces, "seconds": round(self.seconds),
                "minutes_in_full": round(self.full / 60), "absent": missing, **self.floor, "rows": rows}


def medians(said):
    """The phases of several rounds as one: the median of each number, and of time in floors."""
    phases = {}
    for rounds in zip(*[one["phases"] for one in said]):
        row = {name: statistics.median_low([r[name] for r in rounds]) for name, value in rounds[0].items()
               if not isinstance(value, str)}
        floors = [over(r.get("ns"), one.get("floor_line")) for r, one in zip(rounds, said)]
        if None not in floors:
            row["floors"] = statistics.median_low(floors)
        phases[rounds[0]["phase"]] = row
    return phases


def keys_of(run, many=False):
    """A number of keys, for people."""
    return grouped(run.all["many" if many else "keys"])
