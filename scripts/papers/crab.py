# SPDX-License-Identifier: GPL-2.0
"""The evaluation of Crab-tree (Wang et al. 2020, section 6): figures 7 to 13.

Invariant: constants are the paper's own numbers, or bounds.
"""

from report import grouped, percent, size, table
from papers import runs
from papers.runs import Figure, System, Verdict, cell, lowest, highest, over, panel

NAME, PAGE = "crab", "paper.rst"
LEAVES = (512, 1024, 2048, 4096, 8192)
PHASES = ("insert", "search", "delete")


def sorted_(name, strategy="auto", pool=True, probe=True, pair=True, label=None):
    """Sorted leaves with a choice of the optimizations."""
    return System(name, label or name, "crab", "sorted",
                  (f"strategy={strategy}", f"on_demand={int(not pool)}", f"probe={int(probe)}",
                   f"pair={int(pair)}"))


VOLATILE = System("volatile", "Volatile", "volatile")
CRAB = sorted_("crab", pool=False, probe=False, pair=False, label="Crab-tree")
OPT = sorted_("crab_opt", label="Crab_opt")
SLOTTED = System("slotted", "slotted (ours)", "crab", "slotted")
NVTREE = System("nvtree", "NV-Tree", "nvtree", "append", wishes=("pack=1", "pairs=1"))
FASTFAIR = System("fastfair", "FAST-FAIR", "fastfair", "shift")
SYSTEMS = (VOLATILE, NVTREE, FASTFAIR, CRAB, OPT, SLOTTED)
BIG = (VOLATILE, FASTFAIR, CRAB, OPT)   # the paper leaves NV-Tree out, too
STRATEGIES = (
    CRAB, sorted_("crab, COW only", "cow", False, False, False),
    sorted_("crab, SIP only", "sip", False, False, False), OPT,
    System("crab_opt, pair as priced", "crab_opt, pair as priced", "crab", "sorted",
           ("strategy=auto", "on_demand=0", "probe=1", "pair=-1")),
    sorted_("crab_opt, no probe", probe=False), sorted_("crab_opt, COW only", "cow"),
    sorted_("crab_opt, SIP only", "sip"))
COMBINATIONS = tuple(
    sorted_(name, "auto", bool(i & 4), bool(i & 2), bool(i & 1)) for i, name in enumerate((
        "crab", "+16B_AW", "+probe", "+probe +16B_AW", "+self_space", "+self_space +16B_AW",
        "+self_space +probe", "crab_opt")))

# Numbers from section 6 of the paper; no other number here is from the paper
PAPER_OPT_INSERT = {1024: 19.5, 2048: 13.5, 4096: 13.7, 8192: 16.8}     # % less than Crab-tree
PAPER_OPT_DELETE = {1024: 22.9}
PAPER_OPT_DELETE_BIG = {1024: 22.1}
PAPER_COW_SHARE = 71.9          # at least, % of the data flushed
PAPER_FENCES = 22.5             # % of FAST-FAIR's
PAPER_LINES = 22.7              # % more than FAST-FAIR's, at most
PAPER_ONLY = {"COW": 90.5, "SIP": 22.2}                                 # % more, 8 KiB
PAPER_COMBINATIONS = {"+16B_AW": 2.3, "+probe": 3.0, "+self_space": 12.4, "crab_opt": 19.5}
PAPER_REBUILD = {"small": 8.3, "big": 9.7}                              # us per key
PAPER_DELETE_8K = (10.3, 10.9)                                          # us, 1 M and 10 M
PAPER_FASTFAIR = {"insert": 1.6, "search": 2.8, "delete": 1.9}          # of Crab-tree's, 8 KiB
PAPER_FASTFAIR_BIG = {"insert": 1.6, "search": 2.3, "delete": 1.9}
PAPER_NVTREE_SEARCH = {1024: 1.6, 2048: 2.0, 4096: 2.6, 8192: 3.7}      # of Crab-tree's

# Figures to reach
FLOORS = {512: 4.1, 4096: 10.5}
AUTO_BOUND = 1.05


def figures(_):
    """What is run."""
    return [Figure("7", SYSTEMS, PHASES, LEAVES),
            Figure("11", STRATEGIES, ("insert",), LEAVES),
            Figure("12", COMBINATIONS, ("insert",), (1024,)),
            Figure("13", (OPT,), ("insert", "clean", "cut"), LEAVES, timed=True),
            Figure("9", BIG, PHASES, LEAVES, many=True, once=True, timed=True),
            Figure("13-big", (OPT,), ("insert", "clean", "cut"), LEAVES, many=True, once=True, timed=True)]


def label(name):
    """A system, for people."""
    return next((s.label for s in SYSTEMS if s.name == name), name)


def ns(run, figure, system, leaf, phase="insert"):
    """Nanoseconds of an operation."""
    return run.get(figure, system, leaf, phase, "ns")


def more(run, figure, system, base, leaf, phase="insert"):
    """By how many per cent a system takes more than another."""
    ratio = run.ratio(figure, system, base, leaf, phase)
    return None if ratio is None else 100 * (ratio - 1)


def minus(value):
    """Less, as a number with a sign."""
    return None if value is None else -value


def picture(name, text):
    """A plot."""
    return f".. image:: paper/{name}.svg\n   :alt: {text}\n"


def times(run, figure, phase):
    """Nanoseconds of every system; and Crab_opt against Crab-tree."""
    big, there, rows = figure == "9", run.systems(figure), []
    paper = {"insert": {} if big else PAPER_OPT_INSERT,
             "delete": PAPER_OPT_DELETE_BIG if big else PAPER_OPT_DELETE}.get(phase, {})
    for leaf in run.leaves(figure):
        rows.append([size(leaf), *[cell(ns(run, figure, s, leaf, phase)) for s in there],
                     percent(more(run, figure, "crab_opt", "crab", leaf, phase)),
                     percent(minus(paper.get(leaf)))])
    head = ["leaf", *[f"{label(s)}, ns" for s in there], "Crab_opt against Crab-tree", "the paper's"]
    return f"**{phase.capitalize()}**\n\n" + table(head, rows)


def page_times(run, figure):
    """Figures 7 and 9."""
    return "\n".join([picture(f"figure{figure}", "time per operation by leaf size"),
                      *[times(run, figure, phase) for phase in PHASES]])


def page_counts(run):
    """Figure 8."""
    rows = [[size(leaf), label(s), *[cell(run.get("7", s, leaf, "insert", what), "{:.2f}")
                                     for what in ("lines", "fences", "orders")],
             cell(64 * (run.get("7", s, leaf, "insert", "lines") or 0))]
            for leaf in run.leaves("7") for s in run.systems("7")
            if s != "volatile" and run.get("7", s, leaf, "insert", "lines") is not None]
    return "\n".join([picture("figure8", "lines and fences per insert by leaf size"),
                      table(["leaf", "system", "lines", "fences", "ordered stores",
                             "bytes flushed"], rows), against_shifting(run)])


def against_shifting(run):
    """Crab-tree against FAST-FAIR, and against its own leaves with shifts alone."""
    rows = []
    for other, figure, name in (("fastfair", "7", "FAST-FAIR"), ("crab, SIP only", "11", "its SIP only")):
        for leaf in run.leaves(figure):
            lines, fences = (over(run.get(figure, "crab", leaf, "insert", w),
                                  run.get(figure, other, leaf, "insert", w)) for w in ("lines", "fences"))
            if lines:
                rows.append([size(leaf), name, runs.against(lines), f"{100 * fences:.1f} %"])
    rows.append(["8 KiB", "the paper: FAST-FAIR", percent(PAPER_LINES), f"{PAPER_FENCES} %"])
    return ("Crab-tree against always shifting in place:\n\n" +
            table(["leaf", "against", "lines", "fences, of the other's"], rows))


def share(run, leaf, part, whole):
    """Per cent of the lines or fences of Crab-tree's inserts, which the engine counted by strategy."""
    row = run.rows.get(("7", "crab", leaf), {}).get("phases", {}).get("insert", {})
    if not row.get(whole):
        return None
    return 100 * row[part] / (row[whole] * row["count"])


def page_shares(run):
    """Figure 10."""
    rows = []
    for leaf in run.leaves("7"):
        cows, sips = (run.get("7", "crab", leaf, "insert", w) or 0 for w in ("cows", "sips"))
        rows.append([size(leaf), *[cell(share(run, leaf, a, b), "{:.1f} %") for a, b in
                                   (("sip_lines", "lines"), ("cow_lines", "lines"),
                                    ("sip_fences", "fences"), ("cow_fences", "fences"))],
                     cell(100 * cows / ((cows + sips) or 1), "{:.1f} %")])
    rows.append(["the paper", "", f"at least {PAPER_COW_SHARE} %", "", "", ""])
    return "\n".join([picture("figure10", "share of lines and fences by strategy"),
                      table(["leaf", "lines by SIP", "lines by COW", "fences by SIP",
                             "fences by COW", "writes by COW"], rows),
                      "Splits flush the rest.\n"])


def page_strategies(run):
    """Figure 11."""
    rows = []
    for leaf in run.leaves("11"):
        for system in run.systems("11"):
            paper = PAPER_ONLY.get(system[6:9]) if leaf == 8192 and "crab, " in system else None
            rows.append([size(leaf), system, cell(ns(run, "11", system, leaf)),
                         percent(more(run, "11", system, "crab", leaf)), percent(paper)])
    return "\n".join([picture("figure11", "COW only, SIP only and both, by leaf size"),
                      table(["leaf", "system", "insert, ns", "against Crab-tree", "the paper's"], rows)])


def page_combinations(run):
    """Figure 12."""
    rows = [[system, cell(ns(run, "12", system, 1024)), percent(more(run, "12", system, "crab", 1024)),
             percent(minus(PAPER_COMBINATIONS.get(system))),
             cell(run.get("12", system, 1024, "insert", "fences"), "{:.2f}")] for system in run.systems("12")]
    return "\n".join([*([picture("figure12", "the eight combinations of the optimizations")] if run.timed() else []),
                      table(["combination", "insert, ns", "against Crab-tree", "the paper's", "fences"], rows)])


def page_rebuild(run):
    """Figure 13."""
    rows = [[runs.keys_of(run, figure == "13-big"), size(leaf),
             *[cell(ns(run, figure, "crab_opt", leaf, how), "{:.1f}") for how in ("clean", "cut")]]
            for figure in ("13", "13-big") for leaf in run.leaves(figure)]
    return "\n".join([picture("figure13", "time of a rebuild per key"),
                      table(["keys", "leaf", "after a clean detach, ns a key", "after a cut, ns a key"], rows),
                      f"The paper, from a file on an SD card: {PAPER_REBUILD['small']} and "
                      f"{PAPER_REBUILD['big']} microseconds a key, with 1 M and 10 M keys.\n"])


def verdicts_of_engines(run):
    """FAST-FAIR and NV-Tree against Crab-tree."""
    for figure, keys in (("7", "fewer"), ("9", "more")):
        for phase in PHASES:
            leaves = [leaf for leaf in run.leaves(figure) if leaf >= 2048]
            yield Verdict(f"Figure {figure}, {keys} keys: FAST-FAIR's {phase} in Crab-tree's, from 2 KiB, the lowest",
                          lowest(run.ratio(figure, "fastfair", "crab", leaf, phase) for leaf in leaves), 1, True)
    leaves = [leaf for leaf in run.leaves("7") if leaf >= 1024]
    yield Verdict("Figure 7: NV-Tree's insert in Crab-tree's, from 1 KiB, the highest",
                  highest(run.ratio("7", "nvtree", "crab", leaf, "insert") for leaf in leaves), 0.95)
    for leaf in leaves:
        yield Verdict(f"Figure 7: NV-Tree's search in Crab-tree's, {size(leaf)} (the paper's: "
                      f"{PAPER_NVTREE_SEARCH[leaf]})", run.ratio("7", "nvtree", "crab", leaf, "search"), 1, True)
    yield Verdict("Figure 8: fences of Crab-tree in FAST-FAIR's, 8 KiB",
                  run.ratio("7", "crab", "fastfair", 8192, "insert", "fences"), 0.225)
    yield Verdict("Figure 8: lines of Crab-tree in FAST-FAIR's, 8 KiB",
                  run.ratio("7", "crab", "fastfair", 8192, "insert", "lines"), 1, True)


def verdicts(run):
    """The figures to reach, and the paper's statements about other trees."""
    for leaf in run.leaves("11"):
        for name, pure in (("crab", "crab"), ("crab_opt", "crab_opt"), ("crab_opt, no probe", "crab_opt")):
            best = lowest(ns(run, "11", f"{pure}, {s} only", leaf) for s in ("COW", "SIP"))
            yield Verdict(f"{name}: auto against the better pure strategy, {size(leaf)}",
                          over(ns(run, "11", name, leaf), best), AUTO_BOUND)
    for leaf, bound in FLOORS.items():
        for name in ("crab_opt", "crab_opt, pair as priced"):
            yield Verdict(f"{name}: an insert in floors, {size(leaf)}",
                          run.get("11", name, leaf, "insert", "floors"), bound)
    yield Verdict("Figure 10: lines flushed by COW, from 1 KiB, the lowest share in %",
                  lowest(share(run, leaf, "cow_lines", "lines") for leaf in run.leaves("7") if leaf >= 1024),
                  PAPER_COW_SHARE, True, "{:.1f}")
    yield from verdicts_of_engines(run)


def agrees(ok):
    """A judgement of a comparison that the run made."""
    return "Agrees" if ok else "Does not agree"


def reading(run):
    """Agreement with the paper and differences, computed from the run, with reasons."""
    top = max(run.leaves("11"))
    at = {s: ns(run, "11", s, top) for s in run.systems("11")}
    both = at["crab"] <= min(at["crab, COW only"], at["crab, SIP only"]) * 1.02
    shares = [share(run, leaf, "cow_lines", "lines") for leaf in run.leaves("7") if leaf >= 1024]
    opt = [more(run, "7", "crab_opt", "crab", leaf) for leaf in run.leaves("7")]
    combo = {s: more(run, "12", s, "crab", 1024) for s in PAPER_COMBINATIONS}
    pool = combo["+self_space"] <= min(combo["+probe"], combo["+16B_AW"])
    grown = [over(ns(run, "13-big", "crab_opt", leaf, "clean"), ns(run, "13", "crab_opt", leaf, "clean"))
             for leaf in run.leaves("13")]
    costs = run.all["costs_ps"]
    return READING.format(
        both=agrees(both), share=agrees(min(shares) >= PAPER_COW_SHARE),
        share_from=f"{min(shares):.1f}", share_to=f"{max(shares):.1f}", top=size(top),
        cow=percent(more(run, "11", "crab, COW only", "crab", top)),
        sip=percent(more(run, "11", "crab, SIP only", "crab", top)),
        dearer=agrees(at["crab, COW only"] > at["crab, SIP only"]),
        opt=agrees(max(opt) < 0), opt_from=percent(min(opt)), opt_to=percent(max(opt)),
        pool=agrees(pool), combo=percent(combo["+self_space"]),
        pair=percent(combo["+16B_AW"]), probe=percent(combo["+probe"]),
        pair_ps=costs["pair"], order_ps=costs["order"], round=f"{costs['round'] / 1000:.0f}",
        line=f"{costs['line'] / 1000:.0f}", grows=agrees(max(grown) < 1.5),
        grown_from=f"{min(grown):.2f}", grown_to=f"{max(grown):.2f}",
        grown_said=f"{PAPER_REBUILD['big'] / PAPER_REBUILD['small']:.2f}")


READING = """\
* {both}: choosing per operation is at least as good as either strategy alone. With leaves of
  {top}, COW only costs {cow} and SIP only {sip} against the choice.
* {dearer} on which of the two costs more: the paper has COW (+90.5 %) above SIP
  (+22.2 %). Here one more line in a batch costs {line} ns and a line with its own fence
  {round} ns, so copying many lines is cheap and shifting them one by one is not. On the
  paper's Cortex-A53 each ``dc cvac`` is expensive, in a batch too.
* {share}: COW flushes most of the lines, from {share_from} to {share_to} % of the
  lines at 1 KiB and above.
* {opt}: Crab_opt inserts faster than Crab-tree at every leaf size ({opt_from} to {opt_to}).
  It saves a few rounds per write, which matter less for larger copied leaves.
* {pool}: the self-managed pool alone does more ({combo}) than the probe ({probe}) or the
  16-byte store ({pair}) alone. Our allocation on demand is only a bitmap with one word and one
  fence for each leaf allocated or freed: less than a ``pmalloc``, which does more.
* The 16-byte store replaces an order by an atomic instruction. The paper's ``dmb`` is expensive;
  x86 orders stores without an instruction, so an order costs nearly nothing ({order_ps} ps) and a
  ``cmpxchg16b`` {pair_ps} ps for every record that moves. Its cost is measured with the CPU's
  other costs; ``pair as priced`` is Crab_opt that uses it only where it is cheaper.
* {grows}: rebuilding grows in proportion to the keys. With more keys each takes {grown_from} to
  {grown_to} times as long, by leaf size; the paper's takes {grown_said}. The absolute times are
  not comparable: the paper's include reading a file from an SD card.

Other differences from the paper:

* No counter in the leaf: the records end at the first reserved key. Each shift saves the
  counter's line and fence.
* Values can be equal, and zero: equal neighbouring keys identify a torn shift.
* A split makes the new leaf durable before the old one is ended; the paper's order can lose
  half a leaf.
* The probe chooses regardless of the costs, and saves no search: the copy needs the lines that
  a search reads, and they are prefetched together.
* Internal nodes have 512 bytes at every leaf size, in Volatile too; the paper's have the
  size of a leaf.
* x86 is TSO: the paper's additional fences between a value and its key are ordered stores
  here, counted in their own column, not among the fences.
"""

PAGE_TEXT = """\
.. SPDX-License-Identifier: GPL-2.0
.. Written by make paper; not by hand

=======================
The paper's evaluation
=======================

Section 6 of *Crab-tree: A Crash Recoverable B+-tree Variant for Persistent Memory with
ARMv8 Architecture* (Wang, Chattopadhyay, Brihadiswarn, 2020), repeated on the layout
``sorted``: Figures 7 to 13.

Persistent memory is DRAM, in huge pages if available. The machine was shared with others, so **only
ratios are meaningful**, and only within one figure and leaf size, whose systems ran in turn. {keys} and
{big} keys, uniform and unique, inserted, searched in another order, deleted in a third;
{repeats}. One thread on one core, its CPU time; the engines in user space
with the store's lock and counters, and real cleans and fences.

The systems: **Volatile**, no cleans; **NV-Tree** and **FAST-FAIR**, the engines ``nvtree`` and
``fastfair``; **Crab-tree**, the paper's basic version (leaves allocated on demand, no probe, two ordered
stores a record); **Crab_opt**, all three optimizations; **slotted**, this project's default layout, which
the paper does not have. Its insert time includes the preparation of leaves, which a worker does in the
kernel. NV-Tree runs with as few nodes after a rebuild and with updates as published. The paper leaves it
out of Figure 9, since its rebuild needs one array of all inner nodes.

Systems that this tree lacks:

{absent}
The floor
=========

{floor}
The *floor* below is cleaning and fencing one line that is in the cache, measured before each run.

Statements and figures to reach
===============================

{verdicts}
Reading
=======

{reading}
Figure 7: {keys} keys
==========================

{figure7}
The paper's FAST-FAIR needs {ff_insert}, {ff_search} and {ff_delete} times Crab-tree's time to insert,
search and delete with leaves of 8 KiB.

Figure 8: memory operations of an insert
========================================

{figure8}
Figure 9: {big} keys
==========================

{figure9}
The paper's FAST-FAIR needs {big_insert}, {big_search} and {big_delete} times Crab-tree's time with leaves
of 8 KiB. From the smaller to the larger number of keys, the time of a delete of Crab-tree in such
leaves changes by {grow}; the paper's by {paper_grow}.

Figure 10: lines flushed by shifting and copying
================================================

{figure10}
Figure 11: either strategy alone
================================

{figure11}
Figure 12: the three optimizations
==================================

Leaves of 1 KiB. ``16B_AW`` is the 16-byte store, ``probe`` the approximate probe,
``self_space`` the pool that the tree manages itself.

{figure12}
Figure 13: rebuilding
=====================

{figure13}
How this page was made
======================

{recorded}
"""


def page_floor(run):
    """The floor and the prices that the strategy uses."""
    if not run.timed():
        return "Not recorded.\n"
    costs = run.all["costs_ps"]
    rows = [["clean and fence one line, lines in order", f"{run.all['floor_line']:.0f}"],
            ["the same, lines anywhere (each is loaded from memory first)", f"{run.all['floor_any']:.0f}"],
            ["a load that depends on the previous one, anywhere", f"{run.all['floor_load']:.0f}"],
            *[[text, f"{costs[name] / 1000:.1f}"] for name, text in
              (("round", "cost of a line with its fence"), ("line", "cost of one more line"),
               ("order", "cost of an order"), ("pair", "cost of a 16-byte store"),
               ("record", "cost of moving a record"))]]
    return table(["cost", "ns"], rows)


def growth(run):
    """A delete of Crab-tree with many keys against few."""
    ratio = over(ns(run, "9", "crab", 8192, "delete"), ns(run, "7", "crab", 8192, "delete"))
    return "–" if ratio is None else percent(100 * (ratio - 1))


def page(run, note):
    """The page."""
    few, many = PAPER_DELETE_8K
    part = {figure: run.leaves(figure) for figure in ("7", "9", "11", "12", "13")}
    lines = {name: (make(run) if part[figure] and (run.timed() or figure in ("7", "12")) else "Not recorded.\n")
             for name, figure, make in (("figure8", "7", page_counts), ("figure10", "7", page_shares),
                                        ("figure11", "11", page_strategies),
                                        ("figure12", "12", page_combinations),
                                        ("figure13", "13", page_rebuild), ("reading", "13", reading))}
    for figure in ("7", "9"):
        lines[f"figure{figure}"] = page_times(run, figure) if run.timed() else "Not recorded.\n"
    return PAGE_TEXT.format(
        recorded=runs.recorded(run, NAME, note), repeats=runs.repeats(run), keys=grouped(run.all["keys"]),
        big=grouped(run.all["many"]), absent=runs.absent(run), floor=page_floor(run),
        verdicts=runs.verdict_table(verdicts(run)), grow=growth(run),
        paper_grow=percent(100 * (many / few - 1)),
        **{f"ff_{phase}": value for phase, value in PAPER_FASTFAIR.items()},
        **{f"big_{phase}": value for phase, value in PAPER_FASTFAIR_BIG.items()}, **lines)


def shares(run, unit):
    """Shares of one unit by strategy."""
    leaves = run.leaves("7")
    return ([size(leaf) for leaf in leaves],
            {how.upper(): [share(run, leaf, f"{how}_{unit}", unit) for leaf in leaves] for how in ("sip", "cow")},
            f"{unit}, %")


def draw(run, plots):
    """All plots."""
    if run.timed():
        for figure, systems in (("7", SYSTEMS), ("9", BIG)):
            plots.save(f"figure{figure}", [panel(run, figure, systems, p, "ns", f"{p}, ns") for p in PHASES])
        plots.save("figure11", [panel(run, "11", STRATEGIES, "insert", "ns", "insert, ns")])
        plots.save("figure12", [panel(run, "12", COMBINATIONS, "insert", "ns", "insert, ns")])
        plots.save("figure13", [panel(run, figure, (OPT,), how, "ns", f"{how}, ns a key, {count}")
                                for figure, count in (("13", "fewer keys"), ("13-big", "more keys"))
                                for how in ("clean", "cut")])
    plots.save("figure8", [panel(run, "7", SYSTEMS[1:], "insert", what, f"{what} per insert")
                           for what in ("lines", "fences")])
    plots.save("figure10", [shares(run, unit) for unit in ("lines", "fences")])
