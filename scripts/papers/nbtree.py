# SPDX-License-Identifier: GPL-2.0
"""The evaluation of NBTree (Zhang et al. 2024, section VI): tables I and IV, figures 6 to 11, 14, 17 and 18."""

from papers import runs
from papers.runs import Figure, System, Verdict, cell, highest, lowest, over, panel
from report import size, table

NAME, PAGE = "nbtree", "paper-nbtree.rst"

NO_CLEANS = ("--no-cleans",)
EADR = System("eadr", "NBTree", "nbtree", "eadr", flags=NO_CLEANS)
ADR = System("adr", "NBTree-WR", "nbtree", "adr")
WR = System("adr no cleans", "NBTree-WR", "nbtree", "adr", flags=NO_CLEANS)
FASTFAIR = System("fastfair", "FAST-FAIR", "fastfair", "shift")
FASTFAIR_E = System("fastfair no cleans", "FAST-FAIR", "fastfair", "shift", flags=NO_CLEANS)
NVTREE = System("nvtree", "NV-Tree", "nvtree", "append")
NVTREE_E = System("nvtree no cleans", "NV-Tree", "nvtree", "append", flags=NO_CLEANS)
SLOTTED = System("slotted", "slotted (ours)", "crab", "slotted")
SLOTTED_E = System("slotted no cleans", "slotted (ours)", "crab", "slotted", flags=NO_CLEANS)
VOLATILE = System("volatile", "Volatile", "volatile")
ABSL = System("absl", "absl::btree_map", "absl")

# The same tree in the modes eADR and ADR. NBTree itself has two layouts
MODES = ((EADR, ADR), (WR, ADR), (FASTFAIR_E, FASTFAIR), (NVTREE_E, NVTREE), (SLOTTED_E, SLOTTED))
PERSISTENT = tuple(eadr for eadr, _ in MODES)
CLEANED = (ADR, FASTFAIR, NVTREE, SLOTTED)
OTHERS, OTHERS_ADR = (FASTFAIR_E, NVTREE_E), (FASTFAIR, NVTREE)     # the trees of the paper
DRAM = (VOLATILE, ABSL)

LEAVES, NODE = (512, 1024), 1024
OPS = ("insert", "search", "update", "delete")
WRITES = ("insert", "update", "delete")
SKEWS, SHARES = (50, 60, 70, 80, 90, 99), (0, 20, 50, 80, 100)
SKEWED, UPDATES, SEARCHES = "zipf-99-50", "zipf-99-100", "zipf-99-0"
MIXES = {SEARCHES: "searches", SKEWED: "half updates", UPDATES: "updates"}

# Numbers of the paper. Table I: flushes of an insert, an update and a delete
PAPER_FLUSHES = {ADR: (1, 1, 1), FASTFAIR: ("O(n)", 1, "O(n)"), NVTREE: (2, 2, 2)}
PAPER_BYTES, PAPER_DRAM = 22.3, 0.125   # table IV: of a key; DRAM in the media's
PAPER_RECOVERY = 20                     # ns a key: 16 million in 0.32 s
PAPER_FASTER = {SKEWED: 6.0, UPDATES: 11}   # times the others' throughput, 56 threads
PAPER_TAIL = {SKEWED: 32, UPDATES: 43}      # the others' 99 % latency in NBTree's, 56 threads


def figures(_):
    """The figures, and their systems."""
    zipfs = list(dict.fromkeys([*[f"zipf-{skew}-50" for skew in SKEWS], *[f"zipf-99-{share}" for share in SHARES]]))
    return [Figure("T", (EADR, *CLEANED), WRITES, LEAVES, once=True),
            Figure("6", (*PERSISTENT, *CLEANED, *DRAM), OPS, LEAVES, timed=True),
            Figure("6-many", (*PERSISTENT, *CLEANED, *DRAM), OPS, (NODE,), many=True, once=True, timed=True),
            Figure("7", PERSISTENT, OPS, (NODE,), threads=2, timed=True),
            Figure("8", (EADR, *CLEANED), ("insert", "cut"), LEAVES),
            *[Figure(f"9-{threads}", (*PERSISTENT, *CLEANED), ("insert", *zipfs), (NODE,), threads=threads, timed=True)
              for threads in (1, 2)],
            Figure("9-tail", (*PERSISTENT, *CLEANED), ("insert", *MIXES), (NODE,), threads=2, timed=True, alone=True)]


def get(run, figure, system, phase, what="ns", leaf=NODE):
    """A number of a figure."""
    return run.get(figure, system.name, leaf, phase, what)


def in_lowest(run, figure, system, others, phase, what="ns"):
    """A number of a system in the lowest of others."""
    return over(get(run, figure, system, phase, what), lowest(get(run, figure, other, phase, what) for other in others))


def of_two(run, system, phase, one, two):
    """The throughput of two threads in that of one."""
    return over(get(run, one, system, phase, "ns_wall"), get(run, two, system, phase, "ns_wall"))


def gain(run, figure, pair, phase, what="ns"):
    """How much faster a tree is without cleans."""
    return over(get(run, figure, pair[1], phase, what), get(run, figure, pair[0], phase, what))


def counted(run, system, phase, what, leaf):
    """A number of Table I; with persistent caches no line is cleaned."""
    return None if system is EADR and what == "lines" else get(run, "T", system, phase, what, leaf)


def page_t(run):
    """Table I."""
    parts = [".. image:: paper/nbtree1.svg\n   :alt: lines of an insert, an update and a delete\n"]
    for leaf in run.leaves("T"):
        rows = []
        for system in (EADR, *CLEANED):
            paper = PAPER_FLUSHES.get(system)
            rows.append([f"{system.label}, {mode(system)}",
                         *[cell(counted(run, system, phase, what, leaf), "{:.2f}")
                           for what in ("lines", "fences") for phase in WRITES],
                         "/".join(str(n) for n in paper) if paper else "–"])
        parts += [f"**Leaves of {size(leaf)}**\n",
                  table(["tree", *[f"{what}: {phase}" for what in ("lines", "fences") for phase in WRITES],
                         "the paper's flushes"], rows)]
    return "\n".join(parts)


def mode(system):
    """The mode of persistence, for a row."""
    return "–" if system in DRAM else "ADR" if system in CLEANED else "eADR"


def page_6(run):
    """Figures 6 and 17."""
    if not run.systems("6"):
        return "Not recorded.\n"
    parts = [".. image:: paper/nbtree6.svg\n   :alt: time of an operation, one thread\n"]
    for figure in ("6", "6-many"):
        for leaf in run.leaves(figure):
            rows = [[system.label, mode(system), *[cell(get(run, figure, system, phase, leaf=leaf)) for phase in OPS]]
                    for system in (*PERSISTENT, *CLEANED, *DRAM) if get(run, figure, system, "insert", leaf=leaf)]
            parts += [f"**{runs.keys_of(run, figure != '6')} keys, {size(leaf)}: ns**\n",
                      table(["tree", "mode", *OPS], rows)]
    return "\n".join(parts)


def page_7(run):
    """Figure 7."""
    if not run.systems("7"):
        return "Not recorded.\n"
    rows = [[system.label, *[cell(get(run, "7", system, phase, "ns_wall")) for phase in OPS],
             *[cell(of_two(run, system, phase, "6", "7"), "{:.2f}") for phase in OPS]] for system in PERSISTENT]
    return table(["tree", *[f"{phase}: ns" for phase in OPS], *[f"{phase}: in one thread's" for phase in OPS]], rows)


def media_of_key(run, system, leaf=NODE):
    """Bytes of the media for a key."""
    return over(get(run, "8", system, "insert", "media", leaf), get(run, "8", system, "insert", "count", leaf))


def dram_of_media(run, system, leaf=NODE):
    """Bytes of memory for one of the media."""
    return over(get(run, "8", system, "insert", "dram", leaf), get(run, "8", system, "insert", "media", leaf))


def page_8(run):
    """Figure 8, Table IV, recovery."""
    rows = []
    for leaf in run.leaves("8"):
        for system in (EADR, *CLEANED):
            row = [size(leaf), f"{system.label}, {mode(system)}", cell(media_of_key(run, system, leaf), "{:.1f}"),
                   cell(dram_of_media(run, system, leaf), "{:.3f}")]
            rows.append(row + ([cell(get(run, "8", system, "cut", leaf=leaf), "{:.1f}")] if run.timed() else []))
    rows.append(["the paper's, 1 KiB", "NBTree", f"{PAPER_BYTES}", f"{PAPER_DRAM}", *([PAPER_RECOVERY] if run.timed() else [])])
    return table(["leaf", "tree", "media: bytes of a key", "DRAM for a byte of the media",
                  *(["recovery: ns of a key"] if run.timed() else [])], rows)


def page_9(run):
    """Figures 9, 11, 14 and 18."""
    if not run.systems("9-2"):
        return "Not recorded.\n"
    parts = [".. image:: paper/nbtree11.svg\n   :alt: time by skew and by the share of updates, two threads\n"]
    for threads in (1, 2):
        for name, phases, heads in (("skew", [f"zipf-{skew}-50" for skew in SKEWS], [f"0.{skew}" for skew in SKEWS]),
                                    ("updates", [f"zipf-99-{n}" for n in SHARES], [f"{n} %" for n in SHARES])):
            rows = [[system.label, mode(system), *[cell(get(run, f"9-{threads}", system, phase, "ns_wall")) for phase in phases]]
                    for system in (*PERSISTENT, *CLEANED)]
            parts += [f"**{['One thread', 'Two threads'][threads - 1]}, by {name}: ns**\n", table(["tree", "mode", *heads], rows)]
    return "\n".join(parts)


def conflicts(run, system):
    """Updates that waited for the other thread or began again, of a million of hot keys by two threads."""
    waits, again, count = (get(run, "9-2", system, UPDATES, what) for what in ("waits", "writes_again", "count"))
    return None if waits is None else 1e6 * (waits + (again or 0)) / count


def page_10(run):
    """Tail latencies, and figure 10."""
    if not run.systems("9-tail"):
        return "Not recorded.\n"
    rows = [[system.label, mode(system),
             *[cell(get(run, "9-tail", system, phase, what)) for phase in MIXES for what in ("p50", "p99", "p999")],
             cell(conflicts(run, system))] for system in (*PERSISTENT, *CLEANED)]
    return table(["tree", "mode", *[f"{mix}: {what}" for mix in MIXES.values() for what in ("50 %", "99 %", "99.9 %")],
                  "conflicts"], rows)


def verdicts_of_counts(run):
    """Tables I and IV."""
    for what, bound in (("lines", 1.6), ("fences", 1.2)):
        yield Verdict(f"Table I: {what} of an insert in NBTree-WR, ADR, with the splits",
                      get(run, "T", ADR, "insert", what), bound)
        yield Verdict(f"Table I: {what} of an update in NBTree-WR, ADR", get(run, "T", ADR, "update", what), 1, near=0.005)
        yield Verdict(f"Table I: {what} of a delete in NBTree-WR, ADR, with the unlinks", get(run, "T", ADR, "delete", what), 1.2)
    yield Verdict("Table I: fences of an insert in NBTree, eADR, with the splits", get(run, "T", EADR, "insert", "fences"), 1.2)
    for phase in WRITES:
        yield Verdict(f"Table I: lines of NBTree-WR, ADR, in the lowest of the other trees, {phase}",
                      in_lowest(run, "T", ADR, OTHERS_ADR, phase, "lines"), 1)
    for system in (EADR, ADR):
        yield Verdict(f"Table IV: bytes of the media for a key, {system.label}", media_of_key(run, system), 25)
        yield Verdict(f"Table IV: DRAM for a byte of the media, {system.label}", dram_of_media(run, system), 0.2, form="{:.3f}")
        yield Verdict(f"Section VI-C: recovery, ns of a key, {system.label}", get(run, "8", system, "cut"), PAPER_RECOVERY)


def verdicts_of_one_thread(run):
    """Figures 6 and 17."""
    for phase in OPS:
        yield Verdict(f"Figure 6: time of NBTree in the lowest of the other trees, {phase}",
                      in_lowest(run, "6", EADR, OTHERS, phase), 1)
    yield Verdict("Figure 6, ten times the keys: the same, the highest",
                  highest(in_lowest(run, "6-many", EADR, OTHERS, phase) for phase in OPS), 1)
    yield Verdict("A search of NBTree in one of absl::btree_map", run.ratio("6", EADR.name, ABSL.name, NODE, "search"), 0.85)
    for phase in WRITES:
        yield Verdict(f"Figure 17: NBTree in ADR mode in eADR mode, {phase}", gain(run, "6", MODES[0], phase),
                      1.5 if phase == "insert" else 1, True)
        yield Verdict(f"Figure 17, ADR: time of NBTree-WR in the lowest of the other trees, {phase}",
                      in_lowest(run, "6", ADR, OTHERS_ADR, phase), 1)
    yield Verdict("Figure 17: an insert in ADR mode in eADR mode, the lowest of all trees",
                  lowest(gain(run, "6", pair, "insert") for pair in MODES), 1, True)


def verdicts_of_threads(run):
    """Figures 7, 9, 11, 14 and 18."""
    for phase in OPS:
        yield Verdict(f"Figure 7: throughput of two threads in that of one, {phase}", of_two(run, EADR, phase, "6", "7"), 1.7, True)
        yield Verdict(f"Figure 7: time of NBTree in the lowest of the other trees, two threads, {phase}",
                      in_lowest(run, "7", EADR, OTHERS, phase, "ns_wall"), 1)
    yield Verdict("Figure 9, skew 0.99: throughput of two threads in that of one", of_two(run, EADR, SKEWED, "9-1", "9-2"), 1.7, True)
    for phase, what in ((SKEWED, "Figure 9, skew 0.99"), (UPDATES, "Figure 11b, updates only")):
        yield Verdict(f"{what}, two threads: throughput in the highest of the other trees (the paper's, 56 threads: "
                      f"{PAPER_FASTER[phase]})", over(1, in_lowest(run, "9-2", EADR, OTHERS, phase, "ns_wall")), 1, True)
    yield Verdict("Figure 11a, two threads: time at skew 0.99 in that at 0.5",
                  over(get(run, "9-2", EADR, SKEWED, "ns_wall"), get(run, "9-2", EADR, "zipf-50-50", "ns_wall")), 1)
    yield Verdict("Figure 11a, two threads, FAST-FAIR: the same from 0.8 on",
                  over(get(run, "9-2", FASTFAIR_E, SKEWED, "ns_wall"), get(run, "9-2", FASTFAIR_E, "zipf-80-50", "ns_wall")), 1, True)
    for phase, what, paper in ((UPDATES, "updates", "5.5, over NBTree-W"), (SEARCHES, "searches", "1.8, of W over WR")):
        yield Verdict(f"Figure 14, two threads, {what}: throughput of NBTree in NBTree-WR's (the paper's, 56 threads: {paper})",
                      run.ratio("9-2", WR.name, EADR.name, NODE, phase, "ns_wall"), 1, True)
    for phase, what in ((SKEWED, "Figure 9, skew 0.99"), (UPDATES, "Figure 11d, updates only")):
        yield Verdict(f"{what}, two threads: 99 % latency of NBTree in the lowest of the other trees (the paper's, 56 threads: "
                      f"1 / {PAPER_TAIL[phase]})", in_lowest(run, "9-tail", EADR, OTHERS, phase, "p99"), 1)
    yield Verdict("Figure 14, two threads, updates: 99 % latency of NBTree in NBTree-WR's (the paper's, 56 threads: 1 / 48.6, "
                  "in NBTree-W's)", in_lowest(run, "9-tail", EADR, (WR,), UPDATES, "p99"), 1)
    yield Verdict("Figure 10, two threads: conflicts of NBTree in the fewest of the other trees",
                  over(conflicts(run, EADR), lowest(conflicts(run, other) for other in OTHERS)), 1)
    gains = [gain(run, "9-2", pair, SKEWED, "ns_wall") for pair in MODES if pair[0] is not WR]
    yield Verdict("Figure 18: NBTree's throughput in eADR mode in ADR mode, in the most of the other trees'",
                  over(gains[0], highest(gains[1:3])), 1, True)


def verdicts(run):
    """The paper's statements."""
    yield from verdicts_of_counts(run)
    yield from verdicts_of_one_thread(run)
    yield from verdicts_of_threads(run)


PAGE_TEXT = """\
.. SPDX-License-Identifier: GPL-2.0
.. Written by make paper; not by hand

========================
The evaluation of NBTree
========================

Section VI of *Revisiting PM-Based B+-Tree With Persistent CPU Cache* (Zhang et al., 2024), repeated with the
engine ``nbtree``: Tables I and IV, Figures 6 to 11, 14, 17 and 18.

{keys} and {many} uniform, unique keys; persistent memory is DRAM; {repeats}.

* **NBTree** is the layout ``eadr``: lock-free, for caches that persist. It freezes a leaf before it is copied,
  because the paper's synchronisation of two copies `loses updates <verdicts.rst>`_.
* **NBTree-WR** is the layout ``adr``: a lock and a sequence for each leaf, as in the paper's variant NBTree-WR,
  whose searches take a lock; ours take none. In ADR mode it stands for NBTree, and has no dirty reads.
* **eADR** mode: a fence, and no line is cleaned. **ADR** mode: lines are cleaned.
* **FAST-FAIR**, **NV-Tree**, **slotted** and **Volatile** are engines of this tree.

Systems that this tree lacks:

{absent}
Statements of the paper
=======================

{verdicts}
The bounds of Table I allow for splits and unlinks, which the paper's table leaves out. Two CPUs cannot show the
throughput of 56 threads: there, only the direction is judged.

Table I: lines and fences
=========================

{tables}
Figures 6 and 17: one thread
============================

{figure6}
Figure 7: two threads
=====================

Nodes of 1 KiB. Time of the machine for one operation, and throughput of two threads in that of one.

{figure7}
Figure 8 and Table IV: memory and recovery
==========================================

After {keys} inserts. Recovery follows a power cut.

{figure8}
Figures 9, 11, 14 and 18: skewed keys
=====================================

Searches and updates of {keys} keys by Zipf's distribution, nodes of 1 KiB. Time of the machine for one operation.

{figure9}
Figures 9 to 11 and 14: tail latencies, and conflicts
=====================================================

Searches and updates of {keys} keys by Zipf's distribution, skew 0.99, two threads, nodes of 1 KiB. Each operation is
measured: ns of the median, and the times that 99 % and 99.9 % of the operations do not exceed. The last column
counts the conflicts in a million updates: one waits for the other thread, or loses its swap and begins again.

{figure10}
Not reproduced
==============

* WB+-tree, FPTree, RNTree, BzTree, uTree, in all figures; Masstree and BwTree, Figure 19: they are not built here.
* Figure 12, large keys and values: a store of words has none.
* Figure 13, metadata in the leaf: this tree has no such layout.
* Figure 15, allocators: the pool of all engines needs no store to allocate a leaf. Figure 16, two NUMA nodes.
* NBTree-W, Figure 14: NBTree-WR here has locks for writers only, as that one has.
* Upserts of new keys in the skewed workloads: writes are updates of keys that are there.
* Redis, section VI-I.

How this page was made
======================

{recorded}
"""


def page(run, note):
    """The page."""
    return PAGE_TEXT.format(
        recorded=runs.recorded(run, NAME, note), keys=runs.keys_of(run), many=runs.keys_of(run, True),
        repeats=runs.repeats(run), absent=runs.absent(run), verdicts=runs.verdict_table(verdicts(run)),
        tables=page_t(run), figure6=page_6(run), figure7=page_7(run), figure8=page_8(run), figure9=page_9(run), figure10=page_10(run))


def by_phase(run, figure, systems, phases, heads, title):
    """Lines of a plot, by phase."""
    return (heads, {f"{s.label}, {mode(s)}": [get(run, figure, s, phase, "ns_wall") for phase in phases]
                    for s in systems if s.name in run.systems(figure)}, title)


def draw(run, plots):
    """The plots."""
    plots.save("nbtree1", [panel(run, "T", CLEANED, phase, "lines", f"{phase}, lines") for phase in WRITES])
    if not run.timed():
        return
    shown = (EADR, ADR, FASTFAIR_E, FASTFAIR, NVTREE_E, NVTREE)
    plots.save("nbtree6", [by_phase(run, "6", shown, OPS, list(OPS), "one thread, ns")])
    plots.save("nbtree11", [
        by_phase(run, "9-2", shown, [f"zipf-{n}-50" for n in SKEWS], [f"0.{n}" for n in SKEWS], "skew, two threads, ns"),
        by_phase(run, "9-2", shown, [f"zipf-99-{n}" for n in SHARES], [f"{n} %" for n in SHARES], "updates, two threads, ns")])
