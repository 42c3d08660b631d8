# SPDX-License-Identifier: GPL-2.0
"""The results of a run of scripts/bench, and its figures to reach."""

from report import grouped, num, size, verdict

FEW, MANY = 1000000, 10000000
FEWEST, MOST = 100000, 50000000     # of the operations alone; MOST only if it is asked for
LEAF, BATCH = 1024, 16
OPS = ("insert", "search", "update", "scan", "delete")
MIXES = tuple(f"ycsb-{c}" for c in "abcdef")
SLOTTED, SORTED = ("crab", "slotted"), ("crab", "sorted")    # those with figures to reach
# Where the caches persist, and no line is cleaned
CACHES = (("crab", "slotted caches"), ("nbtree", "eadr caches"))
ABSL, LMDB = ("absl", ""), ("lmdb", "")
PEERS = (ABSL, LMDB)
# Workload -> its rows
WORKLOADS = {
    "uniform": [("uniform", op) for op in OPS],
    "sequential": [("sequential", op) for op in OPS],
    "zipfian": [("zipfian", op) for op in ("search", "update", "scan")],
    "sparse": [("sparse", op) for op in ("delete", "search", "update", "scan")],
    "ycsb": [(mix, "mix") for mix in MIXES],
    "attach": [("attach", op) for op in ("attach", "read", "read-used")],
    "apart": [("apart", op) for op in OPS],     # two processes at once, a store and a CPU each
    "alone": [("alone", op) for op in OPS if op != "scan"],
}
LABEL = {SLOTTED: "slotted", SORTED: "sorted", ABSL: "absl::btree_map", LMDB: "LMDB",
         **{("clfb", layout): f"clfb {layout}" for layout in ("inplace", "twin", "atomic")},
         CACHES[0]: "slotted, caches persist", CACHES[1]: "nbtree eadr, caches persist"}

# Fields of every row, in this order; more may follow
FIELDS = ("engine", "layout", "workload", "op", "keys", "threads", "batch", "ns_cpu", "lines", "fences",
          "per_floor", "per_absl")

# Search of FAST-FAIR, the authors' code, one million uniform keys, by leaf size: nanoseconds, measured
# where a dependent load takes so many
FASTFAIR_SEARCH, FASTFAIR_LOAD = {512: 212, 1024: 175, 4096: 246}, 135


def leaf_of(system):
    """The size of leaves in which a map is measured; 0: as FORMAT chooses it."""
    return 0 if system in (SLOTTED, CACHES[0]) else LEAF


def label(system):
    """A map, for people."""
    return LABEL.get(system, system[0])


def identity(row):
    """The fields that identify a row."""
    return tuple(row[name] for name in ("engine", "layout", "workload", "op", "keys", "threads",
                                        "batch", "leaf_bytes"))


class Run:
    """The results of a run."""

    def __init__(self, rows, few=FEW, many=MANY, *others_alone):
        self.rows, self.few, self.many, self.alone = rows, few, many, sorted((few, many, *others_alone))
        self.at = {identity(row): row for row in rows if row["engine"] != "floor"}
        self.floor = {row["workload"]: row["ns_cpu"] for row in rows if row["engine"] == "floor"}
        found = list(dict.fromkeys(key[:2] for key in self.at if key[2] != "apart"))
        self.stores = [SLOTTED, *[system for system in found if system not in (SLOTTED, *PEERS, *CACHES)]]
        self.systems = [*self.stores, *CACHES, *PEERS]

    def row(self, system, workload, op, keys, threads=1, batch=1, leaf=None):
        """One row, or an empty one."""
        return self.at.get((*system, workload, op, keys, threads, batch, leaf or leaf_of(system)), {})

    def get(self, what, *of, **more):
        """One number, or None."""
        return self.row(*of, **more).get(what)

    def worst(self, ratio, keys_of):
        """The largest of some ratios that could be taken, and whose it is."""
        found = [(value, name) for value, name in ((ratio(key), key) for key in keys_of)
                 if value is not None]
        return max(found, default=(None, ""))


def over(a, b):
    """A ratio, if there are both."""
    return a / b if a is not None and b else None


class Figure:
    """One that is to be reached: at most, or at least if @least; and the command that measures it."""

    HEAD = ("figure", "measured", "in single rounds", "wanted", "verdict")

    def __init__(self, name, value, bound, command, note="", least=False, rounds=None):
        self.name, self.value, self.bound, self.least = name, value, bound, least
        self.command, self.note, self.rounds = command, note, rounds

    def verdict(self):
        """In words."""
        if self.value is None:
            return "not measured"
        return verdict(-self.value, -self.bound) if self.least else verdict(self.value, self.bound)

    def cells(self):
        """A row of the table."""
        near = self.verdict() == "not reached" and round(self.value, 2) == self.bound
        value = num(self.value, "{:.3f}" if near else "{:.2f}")
        value += f" ({self.note})" if self.note and self.value else ""
        rounds = "{:.2f} to {:.2f}".format(*self.rounds) if self.rounds else "–"
        return [self.name, value, rounds, f"{'>=' if self.least else '<='} {self.bound:.2f}", self.verdict()]


def command(op, system="slotted", workload="uniform", keys=FEW):
    """The command for the rows of a figure."""
    return f"scripts/bench --engine {system} --workload {workload} --op {op} --keys {keys}"


def with_maintenance(run, op):
    """The same figure if maintenance were on the write path."""
    row = run.row(SLOTTED, "uniform", op, run.few)
    if not row.get("prepare_ns"):
        return ""
    whole = row["per_floor"] * (1 + row["prepare_ns"] / row["ns_cpu"])
    return f"{whole:.2f} with maintenance"


def figures_of_time(run):
    """One thread, operations back to back: against the floor, against absl."""
    for keys, op, what, bound in (
            (run.few, "insert", "per_floor", 1.4), (run.few, "insert", "per_absl", 1.0),
            (run.few, "delete", "per_floor", 1.12), (run.few, "update", "per_floor", 1.12),
            (run.few, "search", "per_absl", 0.45), (run.few, "scan", "per_absl", 0.28),
            (run.many, "insert", "per_absl", 0.68), (run.many, "search", "per_absl", 0.46),
            (run.many, "update", "per_absl", 0.53), (run.many, "scan", "per_absl", 0.36),
            (run.many, "delete", "per_absl", 0.53)):
        against = "in absl's" if what == "per_absl" else "in floors"
        row = run.row(SLOTTED, "uniform", op, keys)
        yield Figure(f"{op}, {grouped(keys)} keys, {against}", row.get(what), bound, command(op, keys=keys),
                     with_maintenance(run, op) if what == "per_floor" else "",
                     rounds=row.get(f"{what}_rounds"))


def figures_of_alone(run):
    """Operations alone: against absl, and in dependent loads beyond the floor."""
    for keys, op, what, bound in ((run.few, "search", "per_absl", 0.60), (run.few, "update", "loads", 1.2),
                                  (run.few, "delete", "loads", 1.2), (run.few, "insert", "loads", 1.4),
                                  (run.many, "search", "per_absl", 0.47), (run.many, "update", "per_absl", 0.60),
                                  (run.many, "delete", "per_absl", 0.60), (run.many, "insert", "per_absl", 0.80)):
        row = run.row(SLOTTED, "alone", op, keys)
        against = "in absl's" if what == "per_absl" else "dependent loads beyond the floor"
        yield Figure(f"{op} alone, {grouped(keys)} keys, {against}", row.get(what), bound,
                     command(op, workload="alone", keys=keys), rounds=row.get(f"{what}_rounds"))


def figures_of_batches(run):
    """Batches of sixteen, against absl's operations one by one."""
    for keys, op, what, name, bound in ((run.few, "search", "per_absl", "in absl's", 0.22),
                                        (run.many, "search", "per_absl", "in absl's", 0.17),
                                        (run.few, "insert", "per_floor", "in floors", 0.75)):
        row = run.row(SLOTTED, "uniform", op, keys, batch=BATCH)
        yield Figure(f"{op} in batches of {BATCH}, {grouped(keys)} keys, {name}", row.get(what), bound,
                     command(op, keys=keys), rounds=row.get(f"{what}_rounds"))


def figures_of_counts(run):
    """Lines and fences between a call and its return, splits included."""
    row = run.row(SLOTTED, "uniform", "insert", run.few)
    for what, bound in (("lines", 1.5), ("fences", 1.02)):
        note = f"and {row[f'prepare_{what}']:.2f} off the write path" if row else ""
        yield Figure(f"{what} of an insert on the write path", row.get(what), bound,
                     command("insert", keys=run.few), note)


def figures_of_memory(run):
    """DRAM for descriptors, index and shortcuts."""
    for keys in (run.few, run.many):
        yield Figure(f"DRAM, {grouped(keys)} keys, bytes a key",
                     over(run.get("dram", SLOTTED, "uniform", "insert", keys), keys), 4.5,
                     command("insert", keys=keys))


def figure_of_threads(run):
    """The mix that gains least from a second thread."""
    def gain(key):
        value = run.get("per_one", SLOTTED, *key, run.few, threads=2)
        return None if value is None else -value
    mixes = [("uniform", op) for op in OPS] + [(mix, "mix") for mix in MIXES]
    worst, name = run.worst(gain, mixes)
    return Figure("two threads, in throughputs of one", None if worst is None else -worst, 1.85,
                  f"scripts/bench --engine slotted --workload uniform --workload ycsb --keys {run.few}",
                  f"lowest: {' '.join(name)}" if name else "", least=True,
                  rounds=run.get("per_one_rounds", SLOTTED, *name, run.few, threads=2) if name else None)


def figure_of_stores(run):
    """Two threads with one store against two processes with a store each, whose times are of both: the operation
    that loses most."""
    def loss(op):
        two, apart = (run.get("ns_wall", SLOTTED, *key, run.few, threads=n)
                      for key, n in ((("uniform", op), 2), (("apart", op), 1)))
        value = over(apart, two)
        return None if value is None else -value / 2
    worst, op = run.worst(loss, OPS)
    return Figure("two threads, in throughputs of two stores", None if worst is None else -worst, 0.95,
                  f"scripts/bench --engine slotted --workload uniform --workload apart --keys {run.few}",
                  f"lowest: {op}" if op else "", least=True)


def figures_of_size(run):
    """Ten million keys and more."""
    slotted = SLOTTED
    for keys in [keys for keys in run.alone if keys >= run.many]:
        attach, region, used = (run.get("ns_wall", slotted, "attach", op, keys) for _, op in WORKLOADS["attach"])
        measured_by = command("attach", workload="attach", keys=keys)
        if keys > run.many:
            measured_by += " --large"
        yield Figure(f"attach, {grouped(keys)} keys, in readings of the region", over(attach, region), 3, measured_by,
                     f"{over(attach, used):.2f} of the leaves in use" if used else "")
        yield Figure(f"attach, {grouped(keys)} keys, ns a key", attach, 4, measured_by)
    worst, op = run.worst(lambda op: over(run.get("ns_cpu", slotted, "uniform", op, run.many),
                                          run.get("ns_cpu", slotted, "uniform", op, run.few)), OPS)
    yield Figure("ten times the keys, in times of the operation", worst, 2.2,
                 f"scripts/bench --engine slotted --workload uniform --keys {run.few} --keys {run.many}",
                 f"highest: {op}" if op else "")


def figures_of_sorted(run):
    """Against FAST-FAIR, whose times are stretched as a dependent load is here."""
    for leaf, theirs in FASTFAIR_SEARCH.items():
        row = run.row(SORTED, "uniform", "search", run.few, leaf=leaf)
        there = over(row.get("floor_load"), FASTFAIR_LOAD)
        yield Figure(f"sorted, {size(leaf)}: search, in FAST-FAIR's",
                     over(row.get("ns_cpu"), there and theirs * there), 1.0,
                     command("search", "sorted", keys=run.few),
                     f"{row['ns_cpu']:.0f} ns against {theirs * there:.0f}" if row else "")


def figures(run):
    """All of them."""
    return [*figures_of_time(run), *figures_of_alone(run), *figures_of_batches(run), *figures_of_counts(run), *figures_of_memory(run),
            figure_of_threads(run), figure_of_stores(run), *figures_of_size(run), *figures_of_sorted(run)]
