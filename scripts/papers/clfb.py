# SPDX-License-Identifier: GPL-2.0
"""The evaluation of clfB-tree (Kim et al. 2018, section 7): tables 1 and 2, figures 5 and 6."""

from papers import runs
from papers.runs import Figure, System, Verdict, by_leaf, cell, highest, over, panel
from report import size, table

NAME, PAGE = "clfb", "paper-clfb.rst"

NARROW = ("--bits", "31")       # the paper's differences of keys have two bytes, mostly
BARE = System("clfb bare", "clfB-tree, as published", "clfb", "bare", flags=NARROW)
WIDE = System("clfb bare wide", "clfB-tree, as published, keys of 64 bits", "clfb", "bare")
INPLACE = System("inplace", "clfB-tree, in place (ours)", "clfb", "inplace")
TWIN = System("twin", "clfB-tree, two lines (ours)", "clfb", "twin")
FASTFAIR = System("fastfair", "FAST-FAIR", "fastfair", "shift")
NVTREE = System("nvtree", "NV-Tree", "nvtree", "append")
SLOTTED = System("slotted", "slotted (ours)", "crab", "slotted")
VOLATILE = System("volatile", "Volatile", "volatile")

BARE_LEAVES, LEAVES, NODE = (64, 128, 256, 512), (512, 1024, 2048), 1024
TREES = (INPLACE, TWIN, FASTFAIR, NVTREE, SLOTTED, VOLATILE)

# Millions of flushes of a million inserts: table 1, a node by one flush; table 2, by four
PAPER_ATOMIC = {64: 2.75, 128: 2.70, 256: 2.71, 512: 2.71}
PAPER_INPLACE = {64: 4.42, 128: 3.33, 256: 3.00, 512: 2.85}
PAPER_SPLITS = "545 578"        # of leaves of 64 bytes
FLUSHES = 4                     # of a node in place, here as there


def figures(_):
    """The figures, and their systems."""
    return [Figure("T", (BARE, WIDE), ("insert",), BARE_LEAVES),
            Figure("6", TREES, ("insert", "search"), LEAVES)]


def insert(run, system, leaf, what, figure="T"):
    """A figure of the inserts."""
    return run.get(figure, system, leaf, "insert", what)


def flushes(run, system, leaf, atomic):
    """Flushes of an insert; @atomic: a node takes one."""
    lines, nodes, count = (insert(run, system, leaf, what) for what in ("lines", "node_updates", "count"))
    if lines is None:
        return None
    return lines - (FLUSHES - 1) * nodes / count if atomic else lines


def page_t(run):
    """Tables 1 and 2."""
    rows = []
    for system in (BARE, WIDE):
        for atomic, paper in ((True, PAPER_ATOMIC), (False, PAPER_INPLACE)):
            name = f"{system.label}, a node by {'one flush' if atomic else 'four'}"
            rows.append([name, *[cell(flushes(run, system.name, leaf, atomic), "{:.3f}") for leaf in BARE_LEAVES]])
            if system is BARE:
                rows.append(["the paper's", *[f"{paper[leaf]:.2f}" for leaf in BARE_LEAVES]])
    splits = [[system.label, *[cell(insert(run, system.name, leaf, "splits")) for leaf in BARE_LEAVES],
               *[cell(insert(run, system.name, leaf, "nodes_written")) for leaf in BARE_LEAVES]]
              for system in (BARE, WIDE)]
    sizes = [size(leaf) for leaf in BARE_LEAVES]
    return "\n".join(["**Flushes of an insert**\n", table(["tree", *sizes], rows), "**Splits**\n",
                      table(["tree", *[f"{s}: of leaves" for s in sizes], *[f"{s}: nodes written" for s in sizes]], splits),
                      f"""Leaves of 64 bytes hold three records. With an even split of four, random keys split leaves in 3 of 7
inserts, as here. The paper has {PAPER_SPLITS} splits in a million inserts, and no rule for the split. Larger
leaves agree.
"""])


def page_6(run):
    """Figure 6."""
    counts = [s for s in TREES if s is not VOLATILE]
    parts = ["**Lines of an insert**\n", by_leaf(run, "6", counts, "insert", "lines", "{:.2f}"),
             "**Fences of an insert**\n", by_leaf(run, "6", counts, "insert", "fences", "{:.2f}")]
    if run.timed():
        parts += ["**Insert, ns**\n", by_leaf(run, "6", TREES, "insert", "ns"),
                  "**Search, ns**\n", by_leaf(run, "6", TREES, "search", "ns")]
    return "\n".join(parts)


def verdicts(run):
    """The paper's statements, and those of this tree's layouts."""
    for leaf in BARE_LEAVES:
        for number, atomic, paper in (("1", True, PAPER_ATOMIC), ("2", False, PAPER_INPLACE)):
            yield Verdict(f"Table {number}, {size(leaf)}: flushes of an insert, in the paper's",
                          over(flushes(run, BARE.name, leaf, atomic), paper[leaf]), 1, near=0.02)
    for what in ("lines", "fences"):
        yield Verdict(f"Two lines for a node: {what} of an insert in those of the layout in place, the highest",
                      highest(run.ratio("6", TWIN.name, INPLACE.name, leaf, "insert", what) for leaf in LEAVES), 1)
    yield Verdict("Two lines for a node: time of an insert in that of the layout in place, the highest",
                  highest(run.ratio("6", TWIN.name, INPLACE.name, leaf, "insert") for leaf in LEAVES), 1)
    yield Verdict("An insert in place, 1 KiB, in one of Volatile",
                  run.ratio("6", INPLACE.name, VOLATILE.name, NODE, "insert"), 3.4)


PAGE_TEXT = """\
.. SPDX-License-Identifier: GPL-2.0
.. Written by make paper; not by hand

===========================
The evaluation of clfB-tree
===========================

Section 7 of *clfB-tree: Cacheline Friendly Persistent B-tree for NVRAM* (Kim et al., 2018), repeated
with the engine ``clfb``: Tables 1 and 2, and Figure 6 with the sizes of leaves that this tree has.

{keys} uniform, unique keys. One thread; persistent memory is DRAM; {repeats}.

* **As published**: the layout ``bare``, which only builds that measure have: a leaf begins with one
  word of a bitmap, has no header, and is flushed whole when it is fresh. Four flushes replace a node, through
  the log (Table 2). A node that is written by one flush (Table 1) needs a line that
  persists as a whole, which no machine here has: three flushes less for each node are counted.
* Keys have 31 bits: then most differences of keys have two bytes, as in the paper. **Keys of 64 bits** have
  differences of seven bytes, and a node has about four children.
* **In place** and **two lines** are the layouts ``inplace`` and ``twin``, with headers and checksums.

Systems that this tree lacks:

{absent}
Statements
==========

{verdicts}
Tables 1 and 2: flushes
=======================

{tables}
Figure 6: sizes of leaves
=========================

{figure6}
Not reproduced
==============

* Leaves that are one encoded line: this tree has none. Nodes that one store writes need model A: the layout
  ``atomic``, whose counts are those of two lines.
* Figures 7, 9 and 10: the share of flushes in the time, and latencies of an emulation board.
* Figure 8, wB+-tree and CDDS B-tree: they are not built here.

How this page was made
======================

{recorded}
"""


def page(run, note):
    """The page."""
    return PAGE_TEXT.format(
        recorded=runs.recorded(run, NAME, note), keys=runs.keys_of(run), repeats=runs.repeats(run),
        absent=runs.absent(run), verdicts=runs.verdict_table(verdicts(run)), tables=page_t(run), figure6=page_6(run))


def draw(run, plots):
    """The plots."""
    plots.save("clfb6", [panel(run, "6", [s for s in TREES if s is not VOLATILE], "insert", what, f"{what} of an insert")
                         for what in ("lines", "fences")])
