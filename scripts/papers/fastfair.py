# SPDX-License-Identifier: GPL-2.0
"""The evaluation of FAST & FAIR (Hwang et al. 2018, section 5): figures 3 to 7.

Invariant: constants are the paper's own numbers, bounds, or measurements of the authors' code.
"""

from report import grouped, size, table
from papers import runs
from papers.runs import Figure, System, Verdict, by_leaf, cell, highest, lowest, over, panel

NAME, PAGE = "fastfair", "paper-fastfair.rst"
LEAVES = (256, 512, 1024, 2048, 4096)
NODE = 512      # of the paper's experiments, where it does not say otherwise
RANGES = (100, 1000, 10000, 100000)
MIX = "mix-4-16-1"

FASTFAIR = System("fastfair", "FAST-FAIR", "fastfair", "shift")
BINARY = System("fastfair binary", "FAST-FAIR, binary search", "fastfair", "shift", ("binary=1",))
LOCKS = System("fastfair locks", "FAST-FAIR, leaf locks", "fastfair", "shift", ("leaf_locks=1",))
NO_CLEANS = System("fastfair no cleans", "FAST-FAIR, no cleans", "fastfair", "shift", flags=("--no-cleans",))
NO_FENCES = System("fastfair no fences", "FAST-FAIR, no cleans, no fences", "fastfair", "shift", flags=("--no-cleans",),
                   fences=False)
NVTREE = System("nvtree", "NV-Tree", "nvtree", "append", wishes=("pack=1", "pairs=1"))
SORTED = System("sorted", "Crab_opt", "crab", "sorted",
                ("strategy=auto", "on_demand=0", "probe=1", "pair=1"))
SLOTTED = System("slotted", "slotted (ours)", "crab", "slotted")
VOLATILE = System("volatile", "Volatile", "volatile")
ABSL = System("absl", "absl::btree_map", "absl")
SKIPLIST = System("skiplist", "SkipList", "skiplist")
LCB = System("lcb", "B+-tree with a log", "lcb")

# Numbers from section 5 of the paper
PAPER_LINES = 4.2               # of an insert, 512 B
PAPER_SKIPLIST = 20             # times as fast in range queries, at most
PAPER_SPEEDUP = {"search": 11.7, "insert": 12.5, MIX: 11.44}    # 16 threads over one
# W1 to W4: New-Order, Payment, Order-Status, Delivery, Stock-Level
PAPER_MIXES = ("34/43/5/4/14", "27/43/15/4/11", "20/43/25/4/8", "13/43/35/4/5")

# Lines and fences of an insert, one million uniform keys, of the authors' code on x86-64 with clwb
AUTHORS = {512: (4.2, 3.8), 1024: (6.9, 6.6), 4096: (24, 24)}


def figures(amount):
    """What is run."""
    ranges = tuple(f"scan-{n}" for n in RANGES if n <= amount.many / 10) or ("scan-100",)
    trees = (FASTFAIR, NVTREE, SORTED, SLOTTED)
    return [Figure("3", (FASTFAIR, BINARY), ("insert", "search"), LEAVES),
            Figure("4", (*trees, ABSL, SKIPLIST), ("insert", *ranges), (1024,), many=True, once=True, timed=True),
            Figure("5", (FASTFAIR, NO_CLEANS, NO_FENCES, NVTREE, SORTED, SLOTTED, LCB, SKIPLIST), ("insert", "search"),
                   (NODE,), many=True, once=True),
            *[Figure(f"6-W{w}", (*trees, VOLATILE, ABSL, SKIPLIST, LCB), ("tpcc-load", f"tpcc-{w}"), (NODE,))
              for w in range(1, 5)],
            *[Figure(f"7-{threads}", (FASTFAIR, LOCKS, NVTREE, SORTED, SLOTTED),
                     ("insert", "search", MIX), (NODE,), threads=threads, timed=True) for threads in (1, 2)]]


def get(run, figure, system, phase, what="ns", leaf=NODE):
    """A number of a figure with one node size."""
    return run.get(figure, system, leaf, phase, what)


def labels(run, figure, *systems):
    """The systems that ran."""
    return [s for s in systems if s.name in run.systems(figure)]


ALL = (FASTFAIR, BINARY, LOCKS, NO_CLEANS, NO_FENCES, NVTREE, SORTED, SLOTTED, VOLATILE, ABSL, SKIPLIST, LCB)


def page_3(run):
    """Figure 3: sizes of nodes."""
    both = (FASTFAIR, BINARY)
    if not run.systems("3"):
        return "Not recorded.\n"
    return "\n".join([".. image:: paper/fastfair3.svg\n   :alt: FAST-FAIR by the size of a node\n", "**Insert, ns**\n", by_leaf(run, "3", both, "insert", "ns"),
                      "**Search, ns**\n", by_leaf(run, "3", both, "search", "ns"),
                      "**Lines of an insert**\n", by_leaf(run, "3", (FASTFAIR,), "insert", "lines", "{:.2f}"),
                      "**Fences of an insert**\n", by_leaf(run, "3", (FASTFAIR,), "insert", "fences", "{:.2f}"),
                      "**Ordered stores of an insert**\n",
                      by_leaf(run, "3", (FASTFAIR,), "insert", "orders", "{:.2f}")])


def page_4(run):
    """Figure 4: ranges, as times and as the speed-up over the skip list."""
    phases = [f"scan-{n}" for n in RANGES]
    rows = []
    for s in labels(run, "4", *ALL):
        cells = []
        for phase in phases:
            ns, faster = (get(run, "4", s.name, phase, leaf=1024),
                          run.ratio("4", "skiplist", s.name, 1024, phase))
            cells.append("–" if ns is None else f"{ns / 1000:.1f} ({faster:.1f})" if faster else f"{ns / 1000:.1f}")
        rows.append([s.label, *cells])
    if not rows:
        return "Not recorded.\n"
    return (".. image:: paper/fastfair4.svg\n   :alt: time per record of a range query\n\n"
            "Microseconds of a range query, in brackets how many times as fast as the skip list.\n\n" +
            table(["index", *[f"{grouped(n)} records" for n in RANGES]], rows))


def page_5(run):
    """Figure 5a: the time of an insert by its parts; lines and fences of the others."""
    rows = [[s.label, *[cell(get(run, "5", s.name, phase)) for phase in ("insert", "search")],
             *[cell(get(run, "5", s.name, "insert", what), "{:.2f}") for what in ("lines", "fences", "orders")]]
            for s in labels(run, "5", *ALL)]
    parts = breakdown(run)
    return "\n".join([table(["index", "insert, ns", "search, ns", "lines", "fences", "ordered stores"], rows),
                      "**Parts of FAST-FAIR's insert**\n",
                      table(["part", "ns"], [[name, cell(value)] for name, value in parts])])


def breakdown(run):
    """The parts of an insert: differences of runs."""
    whole, bare, no_fences = (get(run, "5", f"fastfair{what}", "insert") for what in ("", " no cleans", " no fences"))
    search = get(run, "5", "fastfair", "search")
    yield "cleaning of lines: an insert, less one without cleans", minus(whole, bare)
    yield "fences alone: one without cleans, less one without fences, too", minus(bare, no_fences)
    yield "search, measured alone", search
    yield "change of nodes: the rest", minus(no_fences, search)


def minus(a, b):
    """A difference, if there are both."""
    return a - b if a is not None and b is not None else None


def page_6(run):
    """Figure 6: TPC-C."""
    rows, counts = [], []
    for s in labels(run, "6-W1", *ALL):
        ns = [get(run, f"6-W{w}", s.name, f"tpcc-{w}") for w in range(1, 5)]
        rows.append([s.label, *[cell(1e6 / n if n else None) for n in ns],
                     *[cell(get(run, f"6-W{w}", s.name, f"tpcc-{w}", "lines"), "{:.2f}") for w in range(1, 5)]])
    for w in range(1, 5):
        row = next((r["phases"].get(f"tpcc-{w}", {}) for r in run.all.get("rows", []) if r["figure"] == f"6-W{w}"), {})
        if row:
            counts.append([f"W{w}", PAPER_MIXES[w - 1], *[f"{row[what] / row['count']:.2f}" for what in
                                                         ("inserts", "deletes", "searches", "scans")]])
    return "\n".join([table(["mix", "shares of the paper, in %", "inserts", "deletes", "searches", "scans"], counts),
                      ".. image:: paper/fastfair6.svg\n   :alt: TPC-C\n",
                      "Thousands of transactions in a second, and lines cleaned in a transaction:\n",
                      table(["index", *[f"W{w}" for w in range(1, 5)], *[f"W{w}: lines" for w in range(1, 5)]], rows)])


def throughput(run, system, phase):
    """How much more two threads do than one."""
    return over(get(run, "7-1", system, phase, "ns_wall"), get(run, "7-2", system, phase, "ns_wall"))


def page_7(run):
    """Figure 7: threads."""
    rows = [[s.label, phase, *[cell(get(run, f"7-{n}", s.name, phase, "ns_wall")) for n in (1, 2)],
             cell(throughput(run, s.name, phase), "{:.2f}")]
            for s in labels(run, "7-1", *ALL) for phase in ("search", "insert", MIX)]
    if not rows:
        return "Not recorded.\n"
    return ".. image:: paper/fastfair7.svg\n   :alt: throughput of two threads\n\n" + table(
        ["index", "work", "one thread: ns", "two threads: ns", "throughput of two"], rows)


def verdicts_of_counts(run):
    """Lines and fences."""
    for leaf, (lines, fences) in AUTHORS.items():
        for what, theirs in (("lines", lines), ("fences", fences)):
            yield Verdict(f"Section 5.4, {size(leaf)}: {what} of an insert, as of the authors' code",
                          run.get("3", "fastfair", leaf, "insert", what), theirs, near=1.5 if leaf == 4096 else 0.3)


def verdicts_of_nodes(run):
    """Figure 3."""
    times = {leaf: run.get("3", "fastfair", leaf, "insert", "ns") for leaf in run.leaves("3")}
    small, large = (lowest(ns for leaf, ns in times.items() if keep(leaf)) for keep in
                    (lambda leaf: leaf <= 1024, lambda leaf: leaf > 1024))
    yield Verdict("Figure 3a: the best insert up to 1 KiB in the best above", over(small, large), 1)
    yield Verdict("Figure 3a: an insert at 4 KiB in that at 1 KiB", over(times.get(4096), times.get(1024)), 1, True)
    yield Verdict("Figure 3b: linear search in binary search, below 4 KiB, the highest",
                  highest(run.ratio("3", "fastfair", "fastfair binary", leaf, "search") for leaf in (256, 512, 1024, 2048)),
                  1)


def verdicts_of_tpcc(run):
    """Figure 6."""
    ratios = [run.ratio(f"6-W{w}", "nvtree", "fastfair", NODE, f"tpcc-{w}") for w in range(1, 5)]
    for w, ratio in enumerate(ratios, 1):
        yield Verdict(f"Figure 6, W{w}: transactions in a second, in NV-Tree's", ratio, 1, True)
    yield Verdict("Figure 6: that of W4 in that of W1", over(ratios[3], ratios[0]), 1, True)


def verdicts_of_threads(run):
    """Figure 7."""
    for phase in ("search", "insert", MIX):
        yield Verdict(f"Figure 7, {phase}: two threads, in the throughput of one (the paper's 16: "
                      f"{PAPER_SPEEDUP[phase]})", throughput(run, "fastfair", phase), 1.8, True)
    base = get(run, "7-2", "fastfair", MIX, "ns_wall")
    yield Verdict(f"Figure 7, two threads, {LOCKS.label}: time of the mix in FAST-FAIR's",
                  over(get(run, "7-2", LOCKS.name, MIX, "ns_wall"), base), 1, near=0.1)


def verdicts(run):
    """The paper's statements."""
    yield from verdicts_of_counts(run)
    yield from verdicts_of_nodes(run)
    yield Verdict("Figure 5a: an insert without cleans, in an insert",
                  run.ratio("5", "fastfair no cleans", "fastfair", NODE, "insert"), 1)
    scans = [f"scan-{n}" for n in RANGES]
    for name, system, bound in ((f"SkipList (the paper's: {PAPER_SKIPLIST})", "skiplist", 5), ("NV-Tree", "nvtree", 2)):
        yield Verdict(f"Figure 4: times as fast as {name}, the most",
                      highest(run.ratio("4", system, "fastfair", 1024, scan) for scan in scans), bound, True)
    yield Verdict("Figure 4: in the time of sorted leaves, the highest",
                  highest(run.ratio("4", "fastfair", "sorted", 1024, scan) for scan in scans), 1.3)
    yield from verdicts_of_tpcc(run)
    yield from verdicts_of_threads(run)


PAGE_TEXT = """\
.. SPDX-License-Identifier: GPL-2.0
.. Written by make paper; not by hand

===============================
The evaluation of FAST and FAIR
===============================

Section 5 of *Endurable Transient Inconsistency in Byte-Addressable Persistent B+-Tree* (Hwang et al.,
2018), repeated with the engine ``fastfair``: Figures 3 to 7.

{keys} and {many} uniform, unique keys; persistent memory is DRAM; {repeats}.

* **SkipList** and the **B+-tree with a log** exist only in ``tools/bench``.
* **NV-Tree**, **Crab_opt** (sorted leaves), **slotted** and **Volatile** are engines of this tree.

Systems that this tree lacks:

{absent}
Statements of the paper
=======================

{verdicts}
The counts of the authors' code were measured on x86-64 with ``clwb``, one million uniform keys.

Figure 3: size of a node
========================

{figure3}
Figure 4: range queries
=======================

Nodes of 1 KiB, {many} keys. The paper's FAST-FAIR is up to {skiplist} times as fast as the skip list.

{figure4}
Figure 5a: parts of an insert
=============================

Nodes of 512 B, {many} keys. The paper's FAST-FAIR cleans {lines} lines for an insert.

{figure5}
Figure 6: TPC-C
===============

The index operations of the five transactions, computed in advance: nine tables, the customers by name and
the orders of a customer are key ranges of one store; rows are changed in place. {keys} records,
nodes of 512 B. Operations of a transaction:

{figure6}
Figure 7: threads
=================

Nodes of 512 B. The mix is four inserts, sixteen searches and one delete, in turn. Time of the machine for
one operation.

{figure7}
Not reproduced
==============

* FP-tree, wB+-tree, WORT and B-link tree, in all figures: they are not built here.
* FAST with logging of splits: the B+-tree with a log copies a whole node for each change.
* Figures 5b to 5d, injected latency and an ARM phone: the counts of lines, fences and ordered stores are
  above; a time would be arithmetic.
* Figure 7 with 50 million keys and 16 threads: the machine has two CPUs.
* Figure 7 with lock-free reads as published, of records that are not durable yet: the engine has no such
  option, because a power cut can revert the values that they returned.
* Transactions of Figure 6 that roll back, and remote warehouses: they change no number of operations.

How this page was made
======================

{recorded}
"""


def page(run, note):
    """The page."""
    return PAGE_TEXT.format(
        recorded=runs.recorded(run, NAME, note), keys=runs.keys_of(run), many=runs.keys_of(run, True),
        repeats=runs.repeats(run), absent=runs.absent(run), verdicts=runs.verdict_table(verdicts(run)),
        skiplist=PAPER_SKIPLIST, lines=PAPER_LINES, figure3=page_3(run), figure4=page_4(run),
        figure5=page_5(run), figure6=page_6(run), figure7=page_7(run))


def draw_times(run, plots):
    """Figures 4 and 7, which nothing is counted for."""
    ranges = [n for n in RANGES if get(run, "4", "skiplist", f"scan-{n}", leaf=1024)]
    plots.save("fastfair4", [([grouped(n) for n in ranges],
                              {s.label: [over(get(run, "4", s.name, f"scan-{n}", leaf=1024), n) for n in ranges]
                               for s in labels(run, "4", *ALL)}, "records of a query: ns a record")])
    phases = ("search", "insert", MIX)
    plots.save("fastfair7", [(["search", "insert", "4:16:1"],
                              {s.label: [throughput(run, s.name, phase) for phase in phases]
                               for s in labels(run, "7-1", *ALL)}, "two threads, in one's throughput")])


def draw(run, plots):
    """The plots."""
    if run.systems("3"):
        plots.save("fastfair3", [panel(run, "3", (FASTFAIR, BINARY), phase, what, f"{phase}, {what}") for phase, what in
                                 ((("insert", "ns"), ("search", "ns")) if run.timed() else
                                  (("insert", "lines"), ("insert", "fences")))])
    if run.timed():
        draw_times(run, plots)
    names = [f"W{w}" for w in range(1, 5)]
    what = "ns" if run.timed() else "lines"
    series = {s.label: [get(run, f"6-W{w}", s.name, f"tpcc-{w}", what) for w in range(1, 5)]
              for s in labels(run, "6-W1", *ALL) if run.timed() or s.engine not in ("absl", "volatile")}
    if series:
        plots.save("fastfair6", [(names, series, f"a transaction, {what}")])
