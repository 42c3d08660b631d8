#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""variables.py - the variables of the Python package on images, in the current folder: TAP.

As store.py: operations in any order on a store of names and on a dict, then the limits and the damage.
"""

import ctypes
import errno
import os
import sys

import crabtree
import store as tests
from crabtree._library import Name as NameOfLibrary
from hypothesis import strategies as st
from hypothesis.stateful import rule
from store import ENGINES, IMAGE, outcome, raises, tap

SIZES = {"bool": 1, "u8": 1, "u16": 2, "u32": 4, "u64": 8, "i64": 8, "f64": 8}
NAMES = st.sampled_from(["a", "a/b", "a/b\0", "a/\u00f6", "\u00f6", "\udcff", "\uffff", "\U00010000", "x" * 239, "x" * 240])
TEXTS = st.text("a/\0\u00f6\udcff", max_size=300)


def typed(kind, values, *asked):
    """A value, the type to ask for and the type that it has then."""
    return st.tuples(values, st.sampled_from([kind, *asked]), st.just(kind))


TYPED = st.one_of(
    typed("bytes", st.binary(max_size=300) | st.just(b"z" * 5000), None), typed("text", TEXTS, None),
    typed("bool", st.booleans(), None), typed("i64", st.integers(-2 ** 63, 2 ** 63 - 1), None),
    typed("u64", st.integers(2 ** 63, 2 ** 64 - 1) | st.just(2 ** 63), None), typed("f64", st.floats(allow_nan=False), None),
    *[typed(f"u{bits}", st.integers(0, 2 ** bits - 1)) for bits in (8, 16, 32, 64)])


def utf8(text):
    """The bytes of a name or a text."""
    return text.encode(errors="surrogateescape")


class Machine(tests.StoreMachine):
    """A store of names and a dict of crabtree.Variable."""
    kind = {"names": True}

    def __init__(self):
        super().__init__()
        self.open(self.store)

    def open(self, store):
        """Go on with this handle."""
        self.store, self.variables = store, store.variables

    expect_put = tests.BlobMachine.expect_put

    @rule(name=NAMES, value=TYPED, flags=st.tuples(st.booleans(), st.booleans()),
          version=st.sampled_from([None, None, 0, 1]))
    def set(self, name, value, flags, version):
        """With each pair of flags; version 1 stands for the present one."""
        if version and name in self.model:
            version = self.model[name].version
        want = self.expect_put(name, flags, version)
        value, asked, kind = value
        got = outcome(self.variables.set, name, value, asked, create=flags[0], replace=flags[1], version=version)
        if want:
            assert got == want
            return
        assert got > self.last
        self.last = got
        self.model[name] = crabtree.Variable(value, kind, got)

    @rule(name=NAMES)
    def get(self, name):
        """A name."""
        got = outcome(self.variables.get_variable, name)
        assert got == self.model.get(name, (KeyError, None))
        assert name not in self.model or isinstance(got.value, type(self.model[name].value))
        assert (name in self.variables) == (name in self.model)

    @rule(name=NAMES, stale=st.booleans())
    def remove(self, name, stale):
        """A name."""
        if stale and name in self.model:
            for version in (0, 2 ** 64 - 1):
                assert outcome(self.variables.remove, name, version) == (crabtree.Error, errno.ESTALE)
        old = self.model.pop(name, None)
        assert outcome(self.variables.remove, name, old and old.version) == (None if old else (KeyError, None))

    @rule(prefix=st.just("") | NAMES)
    def entries(self, prefix):
        """In the order of the bytes."""
        want = [(name, one.type, SIZES.get(one.type) or len(utf8(one.value) if one.type == "text" else one.value),
                 one.version, False)
                for name, one in sorted(self.model.items(), key=lambda item: utf8(item[0]))
                if utf8(name).startswith(utf8(prefix))]
        assert list(self.variables.entries(prefix)) == want

    @rule()
    def mapping(self):
        """As a dict."""
        assert self.variables == {name: one.value for name, one in self.model.items()}
        assert len(self.variables) == len(self.model)

    @rule()
    def clear(self):
        """Nothing is there."""
        self.variables.clear()
        self.model.clear()

    @rule()
    def reopen(self):
        """All is there."""
        self.store.close()
        self.open(crabtree.open("file:" + IMAGE))
        self.entries("")


class CommitMachine(tests.ValueCommits, Machine):
    """A store of names and of commits is like any other of names, and has commits."""
    options = {"commits": True}

    @rule(operations=st.dictionaries(NAMES, st.tuples(st.sampled_from(["put", "erase", "test"]), TYPED,
                                                      tests.VALUE_CONDITIONS), min_size=1, max_size=6))
    def commit(self, operations):
        """Commit operations on names."""
        self.run_commit(self.variables.commit, operations,
                        lambda value, version: crabtree.Variable(value[0], value[2], version))
        self.entries("")
        self.mapping()


def commits():
    """Stores of names and of commits, of two engines, and the refused ones."""
    for engine in (ENGINES[0], ENGINES[3]):
        tests.properties(*engine, CommitMachine, "a dict of names with commits")
    with crabtree.create("commits2.img", 8 << 20, names=True, commits=True) as store:
        one = store.variables
        most = [crabtree.put(f"name {number}", number) for number in range(65)]
        tap.ok(tests.failure(one.commit, most) == (errno.EINVAL, None), "65 variables are too many")
        tap.ok(tests.failure(one.commit, [most[1], crabtree.erase("name 1")]) == (errno.EINVAL, 1), "a name twice")
        tap.ok(raises(ValueError, one.commit, [most[1], crabtree.test("")]) and
               raises(ValueError, one.commit, [crabtree.erase("x" * 241)]), "names that do not fit")
        tap.ok(raises(ValueError, one.commit, [crabtree.put("x", 256, "u8")]) and
               raises(ValueError, one.commit, [crabtree.put("x", 1, "u128")]) and
               raises(TypeError, one.commit, [crabtree.put(1, 1)]) and
               raises(TypeError, one.commit, [crabtree.insert(1, 1)]), "values and operations that do not fit")
        tap.ok(raises(TypeError, store.commit, most[:1]), "a name as a key")
        tap.ok(not one, "none of them did anything")
        tap.ok(len(one.commit(most[:64])) == len(one) == 64 and one["name 63"] == 63, "64 variables are not")
    with crabtree.create("plain3.img", 64 << 10, names=True) as store:
        tap.ok("another kind" in raises(crabtree.Error, store.variables.commit, most[:1]), "a store without commits")


def limits():
    """Names and values that do not fit."""
    with crabtree.create("names.img", 8 << 20, names=True) as store:
        one = store.variables
        for name, wrong in (("", "empty"), ("x" * 241, "longer than 240"), ("\u00f6" * 121, "longer than 240")):
            tap.ok(wrong in raises(ValueError, one.set, name, 1), f"a name of {len(utf8(name))} bytes")
        tap.ok(raises(ValueError, one.entries, "x" * 241), "a prefix of 241 bytes")
        for name in (1, b"x", None):
            tap.ok(raises(TypeError, one.set, name, 1) and raises(TypeError, one.remove, name), f"the name {name!r}")
        tap.ok(raises(ValueError, one.set, "\ud800", 1), "a name with half a character")
        for value, kind, error in ((256, "u8", ValueError), (-1, "u16", ValueError), (2 ** 32, "u32", ValueError),
                                   (2 ** 64, None, ValueError), (-2 ** 63 - 1, None, ValueError),
                                   (2, "bool", ValueError), ("no", "bool", ValueError), (10 ** 400, "f64", ValueError),
                                   (1.5, "u8", ValueError), (5, "bytes", TypeError), ("x", "bytes", TypeError),
                                   (b"x", "text", TypeError), (1, "u128", ValueError), (1, "", ValueError),
                                   (None, None, TypeError), ([1], None, TypeError)):
            tap.ok(raises(error, one.set, "x", value, kind), f"{kind}: {str(value)[:30]}")
        tap.ok(raises(ValueError, one.set, "x", 1, version=2 ** 64) and raises(ValueError, one.remove, "x", -1),
               "versions that do not fit")
        tap.ok(not one and not list(one), "nothing was stored")
        one["x"] = b"z" * 65536
        tap.ok(one["x"] == b"z" * 65536, "a value of 64 KiB")
        tap.ok("too long" in raises(crabtree.Error, one.set, "x", bytes(65537)), "one byte more")
        tap.ok("another kind" in raises(crabtree.Error, store.insert, 1, 1), "insert in a store of names")


def kinds():
    """Stores of another kind."""
    for options in ({}, {"blobs": True}):
        with crabtree.create("other.img", 64 << 10, **options) as store:
            tap.ok(raises(crabtree.Error, store.variables.set, "x", 1) and
                   "another kind" in raises(crabtree.Error, list, store.variables), f"names in a store of {options}")
        os.unlink("other.img")


def damaged():
    """A damaged value, and values as only a newer version has them."""
    with crabtree.create("damaged.img", 1 << 20, names=True) as store:
        store.variables.update({"good": 1, "spoilt": "running"})
    with open("damaged.img", "r+b") as image:
        image.seek(image.read().index(b"running"))
        image.write(b"R")
    names = ["a", "b", "c"]
    with crabtree.create("damaged_name.img", 1 << 20, names=True) as store:
        store.variables.update(dict.fromkeys(names + ["a name"], True))
    with open("damaged_name.img", "r+b") as image:
        image.seek(image.read().index(b"a name"))
        image.write(b"A")
    with crabtree.open("file:damaged_name.img", readonly=True) as store:
        walk = iter(store.variables)
        tap.ok([next(walk) for _ in names] == names and outcome(next, walk) == (crabtree.Error, errno.EUCLEAN) and
               next(walk, None) is None, "a damaged name: the others, then an error")
        tap.ok(outcome(len, store.variables) == (crabtree.Error, errno.EUCLEAN), "their number is an error")
    with crabtree.open("file:damaged.img") as store:
        tap.ok(outcome(store.variables.get_variable, "spoilt") == (crabtree.Error, errno.EUCLEAN) and
               store.variables["good"] == 1, "a damaged value is an error, the other is whole")

    def newer(name, call, argument, *each):
        """A library of a newer version."""
        if call == "get_named":
            kind = 5 if name == "u32" else 9
            argument._obj.type, argument._obj.bytes = kind, 3      # pylint: disable=protected-access
        else:
            entry = NameOfLibrary(status=-errno.EUCLEAN, name_bytes=3, type=9, name=b"abc")
            each[0](ctypes.pointer(entry), None)
    one = crabtree.Variables(newer)
    tap.ok(one.get_variable("x") == (bytes(3), "?", 0), "a type that this version does not know")
    tap.ok(one.get_variable("u32") == (bytes(3), "u32", 0), "a number of a length that this version does not know")
    tap.ok(list(one.entries()) == [("abc", "?", 0, 0, True)], "a list with it, and with a damaged value")


def main():
    """All of it."""
    for engine in (ENGINES[0], ENGINES[3]):
        tests.properties(*engine, Machine, "a dict of names")
    commits()
    limits()
    kinds()
    damaged()
    sys.exit(tap.done())


main()
