# SPDX-License-Identifier: GPL-2.0
"""The evaluation of NV-Tree (Yang et al. 2015, section 4): figures 5 to 8 and 10, and table 2.

Invariant: constants are the paper's own numbers, or bounds.
"""

from report import size, table
from papers import runs
from papers.runs import Figure, System, Verdict, by_leaf, cell, highest, over, panel

NAME, PAGE = "nvtree", "paper-nvtree.rst"
LEAVES = (512, 1024, 2048, 4096)
TOP = LEAVES[-1]
PHASES = ("insert", "update", "search", "delete")
MIXES = (90, 70, 50, 30, 10)     # per cent of inserts; the rest are searches

NVTREE = System("nvtree", "NV-Tree", "nvtree", "append", wishes=("pack=1", "pairs=1"))
INSTANT = System("nvtree instant", "NV-Tree, instant", "nvtree", "append",
                 wishes=("pack=1", "pairs=1", "instant=1"))
NEWEST = System("nvtree newest", "NV-Tree, newest wins", "nvtree", "append", ("pairs=0",), wishes=("pack=1",))
FASTFAIR = System("fastfair", "FAST-FAIR", "fastfair", "shift")
SORTED = System("sorted", "Crab_opt", "crab", "sorted",
                ("strategy=auto", "on_demand=0", "probe=1", "pair=1"))
SLOTTED = System("slotted", "slotted (ours)", "crab", "slotted")
VOLATILE = System("volatile", "Volatile", "volatile")
LCB = System("lcb", "LCB+Tree", "lcb")
NVT_A = System("nvt-a", "NVT-A", "nvt-a")
TREES = (NVTREE, FASTFAIR, SORTED, SLOTTED, VOLATILE, LCB)
WRITERS = (NVTREE, FASTFAIR, SORTED, SLOTTED, LCB)

# Numbers from section 4 of the paper, by leaf size where there are several
PAPER_SECONDS = {512: 6.11, 1024: 4.67, 2048: 4.35, 4096: 3.96}         # 1 M inserts of NV-Tree
PAPER_LCB_LINES = {512: 14.8, 1024: 24.6, 2048: 44.7, 4096: 85.26}      # per insert
PAPER_CDDS_LINES = {512: 12.1, 1024: 19.0, 2048: 34.2, 4096: 64.7}
PAPER_SAVED = (80, 97)          # % fewer lines than LCB+Tree
PAPER_INNER = (7, 20)           # % of the lines for inner nodes: LCB+Tree; NVT-A, more than
PAPER_SPEEDUP = {"1 M": 15.2, "10 M": 6.3}      # over LCB+Tree, 4 KiB
PAPER_REBUILDS = {512: 4, 1024: 3, 2048: 2, 4096: 1}            # 1 M inserts
PAPER_REBUILDS_BIG = {512: 5, 1024: 3, 2048: 2, 4096: 2}        # 10 M inserts
PAPER_REBUILD = 0.78            # from parent nodes, in one from leaves, at most; at least 0.53

# Lines of an insert that this tree's leaves need: two, and the share of splits and rebuilds
EXPECTED_LINES = {512: 2.6, 1024: 2.54, 2048: 2.51, 4096: 2.50}


def figures(_):
    """What is run. Figures 5 and 7 are phases of the same process."""
    mixes = [Figure(f"8-{share}", TREES, ("insert", f"mix-{share}-{100 - share}-0"), (TOP,)) for share in MIXES]
    return [Figure("7", (*TREES, NEWEST), PHASES, LEAVES), Figure("5c", (NVT_A,), ("insert",), LEAVES),
            Figure("6", TREES, ("insert",), (TOP,), many=True, once=True),
            *mixes,
            Figure("10", (NVTREE,), ("insert", "clean", "cut"), LEAVES, many=True, once=True),
            Figure("10i", (INSTANT,), ("insert", "clean"), LEAVES, many=True, once=True)]


def inner_share(run, figure, system, leaf):
    """Per cent of the lines of an insert that are for inner nodes."""
    row = run.rows.get((figure, system, leaf), {}).get("phases", {}).get("insert", {})
    if "inner_lines" not in row:
        return None
    lines = row["lines"] * row["count"]
    # NV-Tree's inner nodes are in DRAM: its engine counts what they would clean on the media
    whole = lines + row["inner_lines"] if system == "nvtree" else lines
    return 100 * row["inner_lines"] / whole


def page_5(run):
    """Figure 5: time, lines, and the share of the inner nodes."""
    rows = [["LCB+Tree", *[cell(inner_share(run, "7", "lcb", leaf), "{:.1f} %") for leaf in LEAVES]],
            ["NVT-A", *[cell(inner_share(run, "5c", "nvt-a", leaf), "{:.1f} %") for leaf in LEAVES]],
            ["NV-Tree, if its inner nodes were durable",
             *[cell(inner_share(run, "7", "nvtree", leaf), "{:.1f} %") for leaf in LEAVES]],
            ["the paper: LCB+Tree", f"around {PAPER_INNER[0]} %", "", "", ""],
            ["the paper: NVT-A", f"more than {PAPER_INNER[1]} %", "", "", ""]]
    lines = by_leaf(run, "7", WRITERS, "insert", "lines", "{:.2f}")
    for name, paper in (("LCB+Tree", PAPER_LCB_LINES), ("CDDS-Tree", PAPER_CDDS_LINES)):
        lines += f'   "the paper: {name}", ' + ", ".join(f'"{paper[leaf]:.1f}"' for leaf in run.leaves("7")) + "\n"
    return "\n".join([
        "**5a: nanoseconds of an insert**\n", by_leaf(run, "7", TREES, "insert", "ns"),
        "The paper's NV-Tree takes " + ", ".join(f"{s} s ({size(leaf)})" for leaf, s in PAPER_SECONDS.items()) +
        " for one million inserts.\n",
        ".. image:: paper/nvtree5.svg\n   :alt: lines and fences of an insert\n",
        "**5b: lines of an insert**\n", lines,
        "**Fences of an insert**\n", by_leaf(run, "7", WRITERS, "insert", "fences", "{:.2f}"),
        "**5c: share of the lines that are for inner nodes**\n",
        table(["tree", *[size(leaf) for leaf in LEAVES]], rows)])


def page_6(run):
    """Figure 6: more keys."""
    rows = [[s.label, cell(run.get("7", s.name, TOP, "insert", "ns")),
             cell(run.get("6", s.name, TOP, "insert", "ns")),
             cell(over(run.get("6", s.name, TOP, "insert", "ns"), run.get("7", s.name, TOP, "insert", "ns")),
                  "{:.2f}"),
             *[cell(run.get(figure, s.name, TOP, "insert", "lines"), "{:.2f}") for figure in ("7", "6")]]
            for s in TREES if s.name in run.systems("6")]
    return table(["tree", f"{runs.keys_of(run)}: ns", f"{runs.keys_of(run, True)}: ns", "ratio",
                  f"{runs.keys_of(run)}: lines", f"{runs.keys_of(run, True)}: lines"], rows)


def page_7(run):
    """Figure 7: update, delete, search; as throughput in the paper, as time here."""
    parts = [".. image:: paper/nvtree7.svg\n   :alt: time per operation by leaf size\n"] if run.timed() else []
    for phase in ("update", "delete", "search"):
        parts += [f"**{phase.capitalize()}, ns**\n", by_leaf(run, "7", (*TREES, NEWEST), phase, "ns")]
    for phase in ("update", "delete"):
        parts += [f"**{phase.capitalize()}: lines**\n",
                  by_leaf(run, "7", (*WRITERS, NEWEST), phase, "lines", "{:.2f}")]
    return "\n".join(parts)


def page_8(run):
    """Figure 8: inserts and searches."""
    rows = [[s.label, *[cell(run.get(f"8-{share}", s.name, TOP, f"mix-{share}-{100 - share}-0", "ns"))
                        for share in MIXES]] for s in TREES if s.name in run.systems(f"8-{MIXES[0]}")]
    lines = [[s.label, *[cell(run.get(f"8-{share}", s.name, TOP, f"mix-{share}-{100 - share}-0", "lines"), "{:.2f}")
                         for share in MIXES]] for s in WRITERS if s.name in run.systems(f"8-{MIXES[0]}")]
    head = ["tree", *[f"{share} / {100 - share}" for share in MIXES]]
    plot = [".. image:: paper/nvtree8.svg\n   :alt: time of mixes\n"] if run.timed() else []
    return "\n".join([*plot, "**Nanoseconds of an operation, by per cent of inserts and searches**\n", table(head, rows),
                      "**Lines of an operation**\n", table(head, lines)])


def insert(run, figure, leaf, what):
    """A figure of NV-Tree's inserts."""
    return run.get(figure, "nvtree", leaf, "insert", what)


def page_table2(run):
    """Table 2 and figure 10."""
    rows = []
    for figure, paper in (("7", PAPER_REBUILDS), ("10", PAPER_REBUILDS_BIG)):
        for leaf in run.leaves(figure):
            rows.append([runs.keys_of(run, figure == "10"), size(leaf),
                         cell(insert(run, figure, leaf, "rebuilds")), str(paper[leaf]),
                         cell(insert(run, figure, leaf, "splits")),
                         cell(insert(run, figure, leaf, "rebuilt_pointers")),
                         cell(rebuild_share(run, figure, leaf), "{:.2f} %")])
    return table(["keys", "leaf", "rebuilds", "the paper's", "splits", "pointers that they copied",
                  "of the time of the inserts"], rows)


def rebuild_share(run, figure, leaf):
    """Per cent of the time of the inserts that rebuilding took, if the engine counts its time."""
    took, all_ = insert(run, figure, leaf, "rebuild_ns"), insert(run, figure, leaf, "ns")
    if took is None or not all_:
        return None
    return 100 * took / (all_ * insert(run, figure, leaf, "count"))


def recovered(run, how, leaf, what):
    """A figure of an attach: from the leaves after a cut, or from parked entries."""
    figure, system, phase = {"cut": ("10", "nvtree", "cut"), "instant": ("10i", "nvtree instant", "clean")}[how]
    return run.get(figure, system, leaf, phase, what)


def per_leaf(run, how, leaf, what, factor=1):
    """The same for each leaf."""
    value, leaves = recovered(run, how, leaf, what), recovered(run, how, leaf, "leaves")
    return over(value * factor if value is not None else None, leaves)


def attach_ns(run, how, leaf):
    """Nanoseconds of an attach for each leaf."""
    return per_leaf(run, how, leaf, "ns", run.all["many"])


def rebuild_ns(run, leaf):
    """Nanoseconds of a rebuild from the parent nodes for each leaf."""
    took = insert(run, "10", leaf, "rebuild_ns") if run.timed() else None
    return over(took, insert(run, "10", leaf, "rebuilt_pointers"))


def page_10(run):
    """Figure 10b and section 4.7: recovery."""
    counts = [[size(leaf), cell(recovered(run, "cut", leaf, "leaves")),
               *[cell(recovered(run, how, leaf, "attach_lines")) for how in ("cut", "instant")],
               cell(per_leaf(run, "cut", leaf, "attach_lines"), "{:.1f}"),
               cell(per_leaf(run, "instant", leaf, "attach_lines", 64), "{:.1f}")] for leaf in run.leaves("10")]
    times = [[size(leaf), *[cell(run.get("10", "nvtree", leaf, how, "ns"), "{:.1f}") for how in ("clean", "cut")],
              cell(run.get("10i", "nvtree instant", leaf, "clean", "ns"), "{:.1f}"),
              cell(run.get("10", "nvtree", leaf, "cut", "used_ns"), "{:.1f}"),
              *[cell(attach_ns(run, how, leaf)) for how in ("cut", "instant")], cell(rebuild_ns(run, leaf))]
             for leaf in run.leaves("10")]
    return "\n".join([
        "**Lines that attach reads**, in all and for each leaf\n",
        table(["leaf", "leaves", "from the leaves", "from parked entries", "lines a leaf",
               "bytes a leaf, parked entries"], counts),
        "**Nanoseconds a key**, and for each leaf\n",
        table(["leaf", "after a clean detach", "after a cut", "from parked entries", "reading the leaves in use",
               "after a cut, a leaf", "from parked entries, a leaf", "rebuild from parent nodes, a leaf"], times)])


def verdicts_of_counts(run):
    """Lines, fences and rebuilds."""
    for leaf, lines in EXPECTED_LINES.items():
        yield Verdict(f"Figure 5b, {size(leaf)}: lines of an insert", insert(run, "7", leaf, "lines"), lines, near=0.1)
    value = highest(insert(run, "7", leaf, "fences") for leaf in LEAVES)
    yield Verdict("Figure 5b: fences of an insert, the highest", value, 2.1)
    for leaf in LEAVES:
        saved = run.ratio("7", "nvtree", "lcb", leaf, "insert", "lines")
        yield Verdict(f"Figure 5b, {size(leaf)}: lines saved of LCB+Tree's, in % (the paper's: "
                      f"{PAPER_SAVED[0]} to {PAPER_SAVED[1]})", None if saved is None else 100 * (1 - saved),
                      PAPER_SAVED[0], True, "{:.1f}")
        yield Verdict(f"Figure 1c, {size(leaf)}: LCB+Tree's lines in the paper's",
                      over(run.get("7", "lcb", leaf, "insert", "lines"), PAPER_LCB_LINES[leaf]), 1, near=0.1)
    yield Verdict("Figure 5b: lines in FAST-FAIR's, 4 KiB", run.ratio("7", "nvtree", "fastfair", TOP, "insert", "lines"),
                  0.15)
    for leaf in LEAVES:
        yield Verdict(f"Figure 5c, {size(leaf)}: share of the inner nodes, NVT-A, in %",
                      inner_share(run, "5c", "nvt-a", leaf), 15, True, "{:.1f}")
    yield Verdict("Section 4.7: bytes that an attach from parked entries reads for each leaf, the highest",
                  highest(per_leaf(run, "instant", leaf, "attach_lines", 64) for leaf in run.leaves("10i")), 20)
    for figure, paper, keys in (("7", PAPER_REBUILDS, "fewer"), ("10", PAPER_REBUILDS_BIG, "more")):
        for leaf in run.leaves(figure):
            yield Verdict(f"Table 2, {keys} keys, {size(leaf)}: rebuilds, as the paper's",
                          insert(run, figure, leaf, "rebuilds"), paper[leaf], form="{:.0f}", near=1)


def falls(run, phase):
    """What 4 KiB takes of 512 B."""
    return over(run.get("7", "nvtree", TOP, phase, "ns"), run.get("7", "nvtree", LEAVES[0], phase, "ns"))


def lead(run, share):
    """LCB+Tree's time in NV-Tree's, of a mix."""
    return run.ratio(f"8-{share}", "lcb", "nvtree", TOP, f"mix-{share}-{100 - share}-0")


def verdicts(run):
    """The paper's statements."""
    yield from verdicts_of_counts(run)
    yield Verdict("Figure 5a: an insert at 4 KiB in that at 512 B", falls(run, "insert"), 0.85)
    yield Verdict("Figure 6: an insert with ten times the keys, in that with fewer",
                  over(insert(run, "6", TOP, "ns"), insert(run, "7", TOP, "ns")), 1.5)
    for phase in ("update", "delete"):
        yield Verdict(f"Figure 7: throughput of the {phase} rises: time at 4 KiB in that at 512 B", falls(run, phase), 1)
    yield Verdict("Figure 7: search falls behind sorted leaves: its time in theirs, 4 KiB",
                  run.ratio("7", "nvtree", "sorted", TOP, "search"), 1, True)
    few, many = lead(run, MIXES[0]), lead(run, MIXES[-1])
    yield Verdict("Figure 8: LCB+Tree's time in NV-Tree's, 10 % inserts, in that of 90 %", over(many, few), 1)
    yield Verdict("Figure 8: LCB+Tree's time in NV-Tree's, 10 % inserts", many, 1, True)
    for leaf in run.leaves("10"):
        yield Verdict(f"Figure 10b, {size(leaf)}: a rebuild from parent nodes in one from leaves, for each leaf", over(
            rebuild_ns(run, leaf), attach_ns(run, "cut", leaf)), PAPER_REBUILD)
    for figure in ("7", "10"):
        yield Verdict(f"Table 2, {'fewer' if figure == '7' else 'more'} keys: share of the rebuilds, the highest in %",
                      highest(rebuild_share(run, figure, leaf) for leaf in run.leaves(figure)), 2)


PAGE_TEXT = """\
.. SPDX-License-Identifier: GPL-2.0
.. Written by make paper; not by hand

=========================
The evaluation of NV-Tree
=========================

Section 4 of *NV-Tree: Reducing Consistency Cost for NVM-based Single Level Systems* (Yang et al., 2015),
repeated with the engine ``nvtree``: Figures 5 to 8 and 10, and Table 2.

{keys} and {many} uniform, unique keys; leaves of 512 B to 4 KiB. One thread; persistent memory is DRAM;
{repeats}.

* **NV-Tree**: the engine ``nvtree``, with one leaf for each parent node after a rebuild and with updates
  of two elements, as published. **Newest wins**: updates of one element.
* **LCB+Tree**, the paper's log-based B+-tree: before a node changes, all of it is copied to a log. It
  exists only in ``tools/bench``, does not recover, and does not merge nodes.
* **NVT-A**, the paper's NV-Tree with logged, durable inner nodes, exists there, too, for inserts alone.
* **FAST-FAIR**, **Crab_opt** (sorted leaves), **slotted** and **Volatile** are engines of this tree.

Systems that this tree lacks:

{absent}
Statements of the paper
=======================

{verdicts}
Figure 5: inserts
=================

{figure5}
Figure 6: more keys
===================

Leaves of 4 KiB.

{figure6}
Figure 7: update, delete, search
================================

The caches are not flushed between the phases, as they are in the paper.

{figure7}
Figure 8: mixes
===============

Leaves of 4 KiB; as many operations as keys in the tree.

{figure8}
Figure 10a and Table 2: splits and rebuilds
===========================================

The heap is populated before the inserts, so a rebuild does not include the first use of its pages.

{table2}
Figure 10b and section 4.7: recovery
====================================

A rebuild in life copies the entries of the parent nodes, 16 bytes for each leaf. Attach reads the leaves: after a
power cut it has to, after a clean detach it does so to find damage. **From parked entries** is an attach with
the option ``instant`` of test builds, after a clean detach: it reads 16 bytes for each leaf, and each
leaf at its first use.

{figure10}
Not reproduced
==============

* CDDS-Tree, in all figures: it is not built here; the paper's own numbers are above.
* Figure 6 with 100 million keys, and Table 2 with them: the machine lacks the memory and the time.
* Figure 9, loads and misses of the last cache by vTune: a virtual machine has no such counters.
* Figure 10b, a rebuild from leaves that looks for the highest key of each: here the lowest key is in
  the header. Attach reads all elements nevertheless, to find damage.
* Figure 11, NV-Store and Redis: there is no NV-Store here, and Redis is reached through a socket.
* Figure 12, latency injected before each write, and Figure 13, an estimate: the lines above times a
  latency are the same arithmetic.

How this page was made
======================

{recorded}
"""


def page(run, note):
    """The page."""
    return PAGE_TEXT.format(
        recorded=runs.recorded(run, NAME, note), keys=runs.keys_of(run), many=runs.keys_of(run, True),
        repeats=runs.repeats(run), absent=runs.absent(run), verdicts=runs.verdict_table(verdicts(run)),
        figure5=page_5(run), figure6=page_6(run), figure7=page_7(run), figure8=page_8(run),
        table2=page_table2(run), figure10=page_10(run))


def draw(run, plots):
    """The plots."""
    counts = [panel(run, "7", WRITERS, "insert", what, f"{what} of an insert") for what in ("lines", "fences")]
    times = [panel(run, "7", TREES, phase, "ns", f"{phase}, ns") for phase in PHASES] if run.timed() else []
    plots.save("nvtree5", counts)
    if times:
        plots.save("nvtree7", times)
        plots.save("nvtree8", [([f"{share} / {100 - share}" for share in MIXES],
                                {s.label: [run.get(f"8-{share}", s.name, TOP, f"mix-{share}-{100 - share}-0", "ns")
                                           for share in MIXES] for s in TREES if s.name in run.systems("8-90")},
                                "inserts / searches, ns")])
