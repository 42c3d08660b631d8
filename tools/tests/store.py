#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""store.py - the Python package on images, in the current folder: TAP.

Hypothesis does operations in any order on a store of each engine and on a dict, and compares all
results. The examples are the same in each run. cases.py has the cases that a dict does not have.
"""

import errno
import os
import sys

sys.dont_write_bytecode = True  # nothing is written into the source tree
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts"))
# pylint: disable=wrong-import-position
import crabtree
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tap import Tap

KEYS = st.one_of(st.integers(0, 300), st.sampled_from([crabtree.KEY_MAX, crabtree.KEY_MAX - 1, 2 ** 32, 2 ** 63]))
VALUES = st.one_of(st.integers(0, 9), st.sampled_from([2 ** 64 - 1, 2 ** 63]))
OPS = {
    "insert": crabtree.insert,
    "swap": lambda key, value: crabtree.swap(key, 1, value),
    "add": crabtree.add,
    "search": lambda key, _: crabtree.search(key),
    "delete": lambda key, _: crabtree.delete(key),
}
OPERATIONS = st.lists(st.tuples(st.sampled_from(sorted(OPS)), KEYS, VALUES), max_size=20)
ENGINES = [("crab", "slotted"), ("crab", "sorted"), ("volatile", ""), ("nvtree", ""), ("fastfair", ""),
           ("clfb", "inplace"), ("clfb", "twin"), ("clfb", "encoded"), ("nbtree", ""), ("nbtree", "eadr")]
IMAGE = "python.img"
tap = Tap()


def outcome(call, *arguments, **options):
    """The result of a call or its exception."""
    try:
        return call(*arguments, **options)
    except (KeyError, crabtree.Error) as error:
        return type(error), getattr(error, "errno", None)


class StoreMachine(RuleBasedStateMachine):
    """A store and a dict. @kind: of the store, for create()"""
    engine, layout = ENGINES[0]
    size, kind, options = 2 << 20, {}, {}

    def __init__(self):
        super().__init__()
        if os.path.exists(IMAGE):
            os.unlink(IMAGE)
        self.store = crabtree.create(IMAGE, self.size, "python", engine=self.engine, layout=self.layout,
                                     **self.kind, **self.options)
        self.model = {}
        self.last = 0   # version

    def teardown(self):
        """The image is sound."""
        assert self.store.check() is None
        self.store.close()


class Machine(StoreMachine):
    """A store of records."""
    size = 256 << 10

    def expect_insert(self, key, value, create=False, replace=False):
        """The result of an insert, and its effect on the model."""
        if create and not replace and key in self.model:
            return crabtree.Error, errno.EEXIST
        if replace and not create and key not in self.model:
            return KeyError, None
        old = self.model.get(key)
        self.model[key] = value
        return old

    @rule(key=KEYS, value=VALUES, create=st.booleans(), replace=st.booleans())
    def insert(self, key, value, create, replace):
        """With each pair of flags."""
        assert outcome(self.store.insert, key, value, create, replace) == \
            self.expect_insert(key, value, create, replace)

    @rule(key=KEYS, expected=VALUES, value=VALUES)
    def swap(self, key, expected, value):
        """Replaced if the value is the expected one."""
        old = self.model.get(key)
        assert outcome(self.store.swap, key, expected, value) == ((KeyError, None) if old is None else old)
        if old == expected:
            self.model[key] = value

    @rule(key=KEYS, addend=VALUES, replace=st.booleans())
    def add(self, key, addend, replace):
        """Modulo 2**64."""
        old = self.model.get(key)
        want = (KeyError, None) if replace and old is None else old or 0
        assert outcome(self.store.add, key, addend, replace) == want
        if want == (old or 0):
            self.model[key] = ((old or 0) + addend) % 2 ** 64

    @rule(key=KEYS)
    def search(self, key):
        """A key."""
        assert self.store.get(key) == self.model.get(key)
        assert (key in self.store) == (key in self.model)

    @rule(key=KEYS)
    def delete(self, key):
        """A key."""
        assert self.store.pop(key, None) == self.model.pop(key, None)
        assert outcome(self.store.delete, key) == (KeyError, None)

    @rule(key=KEYS)
    def neighbours(self, key):
        """The nearest records."""
        above = min((one for one in self.model if one >= key), default=None)
        below = max((one for one in self.model if one <= key), default=None)
        assert self.store.at_or_above(key) == (None if above is None else (above, self.model[above]))
        assert self.store.at_or_below(key) == (None if below is None else (below, self.model[below]))

    @rule(start=st.none() | KEYS, end=st.none() | KEYS)
    def slice(self, start, end):
        """A range of keys."""
        want = [(key, self.model[key]) for key in sorted(self.model)
                if (start is None or key >= start) and (end is None or key < end)]
        assert list(self.store[start:end]) == want

    @rule(start=st.none() | KEYS, end=st.none() | KEYS)
    def slice_down(self, start, end):
        """A range of keys, from the highest on."""
        want = [(key, self.model[key]) for key in sorted(self.model, reverse=True)
                if (start is None or key <= start) and (end is None or key > end)]
        assert list(self.store[start:end:-1]) == want

    @rule(first=st.integers(0, 250), count=st.integers(1, 200))
    def update(self, first, count):
        """Many neighbours: leaves are split."""
        many = {key: first for key in range(first, first + count)}
        self.store.update(many)
        self.model.update(many)

    @rule(first=st.integers(0, 300), count=st.integers(1, 200))
    def remove(self, first, count):
        """Many neighbours: leaves are merged."""
        keys = [key for key in range(first, first + count) if key in self.model]
        assert [one.old_value for one in self.store.batch(map(crabtree.delete, keys))] == \
            [self.model.pop(key) for key in keys]

    @rule(start=KEYS, end=KEYS)
    def remove_range(self, start, end):
        """A range, by one call."""
        gone = [key for key in self.model if start <= key <= end]
        assert self.store.delete_range(start, end) == len(gone)
        for key in gone:
            del self.model[key]

    def expect(self, verb, key, value):
        """The result of one operation of a batch: status, and the value that it returns."""
        if verb == "insert":
            return 0, self.expect_insert(key, value) or 0
        if verb == "add":
            old = self.model.get(key, 0)
            self.model[key] = (old + value) % 2 ** 64
            return 0, old
        if key not in self.model:
            return -errno.ENOENT, None
        if verb == "swap" and self.model[key] != 1:
            return -errno.ESTALE, None
        if verb == "swap":
            self.model[key] = value
            return 0, 1
        return 0, self.model[key] if verb == "search" else self.model.pop(key)

    @rule(operations=OPERATIONS)
    def batch(self, operations):
        """In the order of the operations of each key."""
        results = self.store.batch([OPS[verb](key, value) for verb, key, value in operations])
        for (verb, key, value), result in zip(operations, results):
            status, want = self.expect(verb, key, value)
            assert result.status == status
            assert status or want == (result.value if verb == "search" else result.old_value)

    @precondition(lambda self: self.engine != "volatile")
    @rule(readonly=st.booleans())
    def reopen(self, readonly):
        """Close it, and open it for reading only at first."""
        self.store.close()
        self.store = crabtree.open("file:" + IMAGE, readonly)
        if readonly:
            assert outcome(self.store.insert, 1, 1) == (crabtree.Error, errno.EBADF)
            self.slice(None, None)
            self.reopen(False)

    @invariant()
    def counts(self):
        """The number of records, and their order."""
        assert len(self.store) == len(self.model)
        assert list(reversed(self.store)) == sorted(self.model, reverse=True)
        assert list(reversed(self.store.items())) == sorted(self.model.items(), reverse=True)


CONDITIONS = st.sampled_from([{}, {}, {"exists": True}, {"absent": True}, {"was": 1}])


class CommitMachine(Machine):
    """A store of commits is like any other, and commits are batches with conditions."""
    options = {"commits": True}

    def fails(self, key, condition):
        """The errno of a condition that does not hold."""
        if condition.get("absent") and key in self.model:
            return errno.EEXIST
        if (condition.get("exists") or "was" in condition) and key not in self.model:
            return errno.ENOENT
        return errno.ESTALE if "was" in condition and self.model[key] != 1 else 0

    @rule(operations=st.dictionaries(KEYS, st.tuples(st.sampled_from(["insert", "add", "search", "delete"]),
                                                     VALUES, CONDITIONS), min_size=1, max_size=20))
    def commit(self, operations):
        """All or none, and the results are those of a batch."""
        wanted = [(verb, key, value, condition if verb != "add" else {})
                  for key, (verb, value, condition) in operations.items()]
        ops = [crabtree.when(OPS[verb](key, value), **condition) for verb, key, value, condition in wanted]
        errors = [self.fails(key, condition) for _, key, _, condition in wanted]
        if any(errors):
            first = next(i for i, err in enumerate(errors) if err)
            assert failure(self.store.commit, ops) == (errors[first], first)
            return
        for (verb, key, value, _), result in zip(wanted, self.store.commit(ops)):
            status, want = self.expect(verb, key, value)
            assert result.status == status
            assert status or want == (result.value if verb == "search" else result.old_value)


def failure(call, *arguments):
    """The errno of a commit that fails, and the number of its operation."""
    try:
        call(*arguments)
    except crabtree.Error as error:
        return error.errno, error.failed
    return 0, None


def commits():
    """Stores of commits, of two engines, and the commits that are refused."""
    for engine in (ENGINES[0], ENGINES[3]):
        properties(*engine, CommitMachine, "a dict with commits")
    with crabtree.create("commits.img", 256 << 10, commits=True) as store:
        most = [crabtree.insert(key, key) for key in range(65)]
        tap.ok(failure(store.commit, most) == (errno.EINVAL, None) and not store, "65 operations are too many")
        tap.ok(failure(store.commit, [most[1], most[1]]) == (errno.EINVAL, 1) and not store, "a key twice")
        tap.ok(len(store.commit(most[:64])) == len(store) == 64, "64 are not")
        tap.ok(failure(store.commit, []) == (errno.EINVAL, None), "no operation is too few")
        tap.ok("another kind" in raises(crabtree.Error, store.commit, [crabtree.put(1, b"")]), "put in a commit of records")
        tap.ok(raises(TypeError, store.commit, [crabtree.put(1, b""), most[0]]) and
               raises(TypeError, crabtree.when, most[0], version=1) and
               raises(TypeError, crabtree.when, crabtree.test(1), was=1) and len(store) == 64, "a mixed commit")
    with crabtree.create("plain.img", 64 << 10) as store:
        tap.ok("another kind" in raises(crabtree.Error, store.commit, most[:1]), "a commit in a store without commits")


class BlobMachine(StoreMachine):
    """A store of blobs and a dict of bytes and versions."""
    kind = {"blobs": True}

    def expect_put(self, key, flags, version):
        """The error of a put that must be refused, or None."""
        create, replace = flags
        if (version is not None or replace and not create) and key not in self.model:
            return KeyError, None
        if create and not replace and key in self.model:
            return crabtree.Error, errno.EEXIST
        if version is not None and self.model[key].version != version:
            return crabtree.Error, errno.ESTALE
        return None

    @rule(key=KEYS, value=st.binary(max_size=300), flags=st.tuples(st.booleans(), st.booleans()),
          version=st.sampled_from([None, None, 0, 1]))
    def put(self, key, value, flags, version):
        """With each pair of flags; version 1 stands for the present one."""
        if version and key in self.model:
            version = self.model[key][1]
        want = self.expect_put(key, flags, version)
        got = outcome(self.store.put, key, value, *flags, version=version)
        if want:
            assert got == want
            return
        assert got > self.last
        self.last = got
        self.model[key] = crabtree.Blob(value, got)

    @rule(key=KEYS, size=st.sampled_from([0, 4056, 4096, 4097, 20000]))
    def long(self, key, size):
        """Around the first room of a get."""
        self.put(key, bytes(range(256)) * 79 + b"x" if size == 20000 else b"y" * size, (False, False), None)
        assert self.store.blob(key) == self.model[key]

    @rule(key=KEYS)
    def get(self, key):
        """A key."""
        assert outcome(self.store.blob, key) == self.model.get(key, (KeyError, None))

    @rule(key=KEYS, stale=st.booleans())
    def erase(self, key, stale):
        """A key."""
        if stale and key in self.model:
            assert outcome(self.store.erase, key, 1) == (crabtree.Error, errno.ESTALE)
        old = self.model.pop(key, None)
        assert outcome(self.store.erase, key, old and old[1]) == (None if old else (KeyError, None))

    @rule(start=KEYS, end=KEYS)
    def blobs(self, start, end):
        """A range of keys."""
        want = [(key, len(value), version, False) for key, (value, version) in sorted(self.model.items())
                if start <= key <= end]
        assert list(self.store.blobs(start, end)) == want

    @rule()
    def reopen(self):
        """All is there."""
        self.store.close()
        self.store = crabtree.open("file:" + IMAGE)
        self.blobs(0, crabtree.KEY_MAX)


VALUE_CONDITIONS = st.sampled_from(["", "", "exists", "absent", "version", "version", "stale"])


class ValueCommits:
    """Commits of values, in a machine whose model has the version of each key."""

    def condition(self, key, want):
        """The arguments of when(), and the errno if it does not hold. A key that is absent has no version."""
        old = self.model.get(key)
        if not want:
            return {}, 0
        if want == "absent":
            return {"absent": True}, errno.EEXIST if old else 0
        if want == "exists":
            return {"exists": True}, 0 if old else errno.ENOENT
        if not old:
            return {"version": 1}, errno.ENOENT
        return {"version": old.version + (want == "stale")}, errno.ESTALE if want == "stale" else 0

    def run_commit(self, call, operations, model_of):
        """All or none; model_of(value, version) is the entry of the model. Operations: key, (verb, value, condition)."""
        conditions = [self.condition(key, want) for key, (_, _, want) in operations.items()]
        ops = []
        for (key, (verb, value, _)), (condition, _) in zip(operations.items(), conditions):
            op = crabtree.put(key, *value[:2]) if verb == "put" else getattr(crabtree, verb)(key)
            ops.append(crabtree.when(op, **condition))
        errors = [err for _, err in conditions]
        if any(errors):
            first = next(i for i, err in enumerate(errors) if err)
            assert failure(call, ops) == (errors[first], first)
            return
        for (key, (verb, value, _)), done in zip(operations.items(), call(ops)):
            assert done.existed == (None if verb == "test" else key in self.model)
            assert (done.version is None) == (verb != "put")
            if verb == "put":
                assert done.version > self.last
                self.last = done.version
                self.model[key] = model_of(value, done.version)
            elif verb == "erase":
                self.model.pop(key, None)


class BlobCommitMachine(ValueCommits, BlobMachine):
    """A store of blobs and of commits is like any other of blobs, and has commits."""
    options = {"commits": True}

    @rule(operations=st.dictionaries(KEYS, st.tuples(st.sampled_from(["put", "erase", "test"]),
                                                     st.tuples(st.binary(max_size=300) | st.just(b"z" * 5000)),
                                                     VALUE_CONDITIONS), min_size=1, max_size=12))
    def commit(self, operations):
        """Commit operations on keys."""
        self.run_commit(self.store.commit, operations, lambda value, version: crabtree.Blob(value[0], version))
        self.blobs(0, crabtree.KEY_MAX)


def blob_commits():
    """Stores of blobs and of commits, of two engines, and the refused ones."""
    for engine in (ENGINES[0], ENGINES[3]):
        properties(*engine, BlobCommitMachine, "a dict of bytes with commits")
    with crabtree.create("values.img", 8 << 20, blobs=True, commits=True) as store:
        most = [crabtree.put(key, b"x" * key) for key in range(65)]
        tap.ok(failure(store.commit, most) == (errno.EINVAL, None), "65 blobs are too many")
        tap.ok(failure(store.commit, [most[1], crabtree.erase(1)]) == (errno.EINVAL, 1), "a key twice, of blobs")
        tap.ok(failure(store.commit, [most[1], crabtree.put(2, bytes(65537))]) == (errno.EMSGSIZE, 1),
               "one byte too many, in a commit")
        tap.ok(raises(TypeError, store.commit, [crabtree.put(1, "text")]) and
               raises(TypeError, store.commit, [crabtree.put(1, 5)]) and
               raises(TypeError, store.commit, [crabtree.put(1, b"", "u8")]) and
               raises(ValueError, store.commit, [crabtree.put(-1, b"")]), "values and keys that do not fit")
        tap.ok(not list(store.blobs()), "none of them did anything")
        tap.ok(len(store.commit(most[:64])) == 64 and store.blob(63).value == b"x" * 63, "64 blobs are not")
    with crabtree.create("plain2.img", 64 << 10, blobs=True) as store:
        tap.ok("another kind" in raises(crabtree.Error, store.commit, most[:1]), "a store of blobs without commits")


def blobs():
    """Stores of blobs, of two engines; the two kinds of stores refuse each other's calls."""
    for engine in (ENGINES[0], ENGINES[3]):
        properties(*engine, BlobMachine, "a dict of bytes and versions")
    with crabtree.create("blobs.img", 8 << 20, blobs=True) as store:
        store.put(1, b"z" * 65536)
        tap.ok(store.blob(1).value == b"z" * 65536, "a value of 64 KiB")
        tap.ok("too long" in raises(crabtree.Error, store.put, 1, bytes(65537)), "one byte more")
        tap.ok(raises(TypeError, store.put, 1, "text"), "a text that is not encoded")
        tap.ok(raises(TypeError, store.put, 1, 5) and store.blob(1).value[:1] == b"z", "a number is not so many zeros")
        tap.ok("another kind" in raises(crabtree.Error, store.insert, 1, 1), "insert in a store of blobs")
    with crabtree.create("records.img", 64 << 10) as store:
        tap.ok("another kind" in raises(crabtree.Error, store.put, 1, b""), "put in a store of records")


def properties(engine, layout, base=Machine, what="a dict whose keys ascend"):
    """All operations, on one engine: fewer on the others, for which the package is the same."""
    machine = type(f"Machine_{engine}_{layout}", (base,), {"engine": engine, "layout": layout})
    try:
        run_state_machine_as_test(machine, settings=settings(
            max_examples=30 if (engine, layout) == ENGINES[0] else 8,
            stateful_step_count=25, deadline=None, derandomize=True, database=None))
    except Exception as error:  # pylint: disable=broad-except
        return tap.ok(False, f"{engine} {layout}", [repr(error)])
    return tap.ok(True, f"a store of {engine} {layout} is {what}")


def raises(kind, call, *arguments, **options):
    """Whether a call fails so."""
    try:
        call(*arguments, **options)
    except kind as error:
        return str(error) or True
    return False


def main():
    """All of it."""
    for engine, layout in ENGINES:
        properties(engine, layout)
    commits()
    blobs()
    blob_commits()
    sys.exit(tap.done())


if __name__ == "__main__":
    main()
