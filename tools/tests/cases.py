#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""cases.py - the Python package on images, in the current folder: the cases that a dict does not have. TAP."""

import errno
import os
import struct
import sys
import threading
import uuid

import crabtree
from crabtree._library import Cursor
from store import failure, outcome, raises, tap


def limits():
    """Numbers and texts that do not fit."""
    with crabtree.create("limits.img", 64 << 10, "limits") as store:
        for wrong in (-1, 2 ** 64):
            tap.ok(raises(ValueError, store.insert, wrong, 0), f"key {wrong}")
            tap.ok(raises(ValueError, store.insert, 0, wrong), f"value {wrong}")
        tap.ok(raises(TypeError, store.insert, 1.5, 0), "a key that is no integer")
        for call, *more in ((store.insert, 0), (store.search,), (store.delete,), (store.swap, 0, 0), (store.add, 0),
                            (store.put, b""), (store.blob,), (store.erase,), (crabtree.delete,)):
            tap.ok("reserved" in raises(ValueError, call, 2 ** 64 - 1, *more), f"{call.__name__}: the reserved key")
        tap.ok(raises(ValueError, store.update, {1: 1, 2 ** 64 - 1: 1}) and not store, "... in an update, which does nothing")
        tap.ok(raises(ValueError, store.__getitem__, slice(0, 9, 2)), "a slice with a step")
        tap.ok(raises(ValueError, store.format, "x" * 32), "a label that is too long")
        tap.ok(raises(ValueError, store.format, "a\0b", force=True), "a label that C would cut")
        tap.ok(raises(ValueError, store.format, force=True, leaf_bytes=2 ** 32 + 512), "a number that C would cut")
        tap.ok(raises(ValueError, store.watch, entries=-1), "... of a watch")
        tap.ok("force=True" in raises(crabtree.Error, store.format), "format over a store, and the reason")
        store.format("again", force=True, leaf_bytes=512)
        tap.ok(store.info()["label"] == "again" and store.info()["leaf_bytes"] == 512, "format with force")
        batch = store.batch(crabtree.insert(key, key) for key in range(5000))
        tap.ok(batch[-1].status == -errno.ENOSPC and batch[0].status == 0, "a batch that fills the store")
        tap.ok(raises(crabtree.Error, store.update, {10 ** 9: 1}), "an update of a full store")
        tap.ok(len(list(store.items())) == len(store) == len(set(store)), "its records")


def files():
    """Images that are not there, in use or closed."""
    tap.ok(raises(FileExistsError, crabtree.create, "limits.img", 64 << 10), "create over a file")
    tap.ok(raises(crabtree.Error, crabtree.create, "small.img", 8192) and not os.path.exists("small.img"),
           "an image that is too small leaves no file")
    for size, kind in ((100, crabtree.Error), (2 ** 62, OSError), (2 ** 64, OverflowError)):
        tap.ok(raises(kind, crabtree.create, "odd.img", size) and not os.path.exists("odd.img"),
               f"an image of {size} bytes leaves no file")
    identity = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
    with crabtree.create(b"\xff.img", 64 << 10, uuid=identity) as store:
        tap.ok(store.info()["uuid"] == identity, "the identity asked for")
    tap.ok(os.path.getsize(b"\xff.img") == 64 << 10, "a path of bytes")
    tap.ok("No such file" in raises(crabtree.Error, crabtree.open, "file:none"), "no such image")
    tap.ok(raises(ValueError, crabtree.open, "file:limits.img\0x"), "a path that C would cut")
    tap.ok("not a crabtree device" in raises(crabtree.Error, crabtree.open, "/dev/null"), "no such device")
    store = crabtree.open("file:limits.img")
    tap.ok(raises(crabtree.Error, crabtree.open, "file:limits.img"), "a second writer")
    store.close()
    store.close()
    tap.ok(raises(ValueError, store.search, 1), "a store that is closed")


def durable():
    """The name of an image is on the disk, as its content is once it is closed."""
    synced, fsync = [], os.fsync
    os.fsync = lambda file: synced.append(os.fstat(file).st_ino) or fsync(file)
    try:
        crabtree.create("durable.img", 64 << 10).close()
    finally:
        os.fsync = fsync
    tap.ok(os.stat(".").st_ino in synced, "create syncs the directory of the image")


def messages():
    """Errors name the mistake, not only the number of an errno."""
    def says(text, call, *arguments, **options):
        tap.ok(text in str(raises(crabtree.Error, call, *arguments, **options)), f"{text}")
    with crabtree.create("file:prefixed.img", 64 << 10, uuid="00112233-4455-6677-8899-aabbccddeeff") as store:
        tap.ok(os.path.exists("prefixed.img"), "create with the path of open")
        tap.ok(store.info()["uuid"].fields[0] == 0x00112233, "an identity as a text")
        says("the image is open already", crabtree.open, "file:prefixed.img")
        says("opened as file:PATH", crabtree.open, "prefixed.img")
        says("no other writer", store.watch)
        tap.ok(raises(ValueError, store.watch, 6, 5), "a watch of a range that ends below its start")
        says("no other writer", store.snapshot)
        says("has records, and no commits", store.commit, [crabtree.insert(1, 1)])
        says("has records, and no commits", store.put, 1, b"")
        says("has records, and no commits", store.variables.set, "x", 1)
        says("has records, and no commits", store.variables.get_variable, "x")
        says("has records, and no commits", store.variables.remove, "x")
        says("has records, and no commits", list, store.variables)
        says("no other writer", store.variables.watch)
        tap.ok(raises(ValueError, store.format, uuid="x", force=True), "an identity that is none")
    for options, kind in (({"names": True}, "names"), ({"blobs": True, "commits": True}, "blobs")):
        with crabtree.create("kind.img", 64 << 10, **options) as store:
            says(f"has {kind}", store.insert, 1, 1)
            if kind == "names":
                says("has names, and no commits", store.put, 1, b"")
                says("has names, and no commits", store.blob, 1)
            else:
                says("has blobs, and commits", store.variables.set, "x", 1)
                tap.ok(failure(store.variables.commit, [crabtree.put("x", 1)]) == (errno.EOPNOTSUPP, 0),
                       "the operation of a commit that is on a name")
        os.unlink("kind.img")
    says("too small", crabtree.create, "small.img", 100)


def walk_on(walk):
    """All that a walk has, and the ranges that it left out."""
    items, ranges = [], []
    while True:
        try:
            for item in walk:
                items.append(item)
            return items, ranges
        except crabtree.Error as error:
            assert error.errno == errno.EUCLEAN
            ranges.append(error.damaged)


def spoil(path, value=None):
    """Two leaves, each of which others follow, and the words before a value."""
    with open(path, "r+b") as image:
        if value:
            image.seek(image.read().index(value) - 8)
            image.write(b"!")
        for leaf in (4, 8):
            image.seek(16384 + leaf * 1024 + 24)
            image.write(b"!")


def damaged():
    """Walks over damaged ranges have all that is not in them."""
    with crabtree.create("spoilt.img", 1 << 20) as store:
        store.update({key: key for key in range(3000)})
    spoil("spoilt.img")
    with crabtree.open("file:spoilt.img", readonly=True) as store:
        items, ranges = walk_on(store.scan())
        tap.ok(len(ranges) == 2 and [key for key, _ in items] ==
               [key for key in range(3000) if not any(low <= key <= high for low, high in ranges)], "after damaged ranges")
        down = walk_on(store.scan(reverse=True))
        tap.ok(down[0] == items[::-1] and down[1] == ranges[::-1], "and in descending order")
        tap.ok(walk_on(store.scan(0, ranges[0][0])) == (items[:ranges[0][0]], [(ranges[0][0],) * 2]), "up to the first one")
        tap.ok(outcome(list, store) == (crabtree.Error, errno.EUCLEAN), "a list of all keys is an error")
        tap.ok(store.reason() == store.info()["reason"] and "valid header" in store.reason(), "the reason")
        errors, offset, text = store.check()
        tap.ok(f"offset {offset}: {text}" in store.info()["reason"] and text and errors < offset, "what check found")
    with crabtree.create("spoilt_blobs.img", 1 << 20, blobs=True) as store:
        for key in range(1000):
            store.put(key, b"spoilt" if key == 999 else b"")
    spoil("spoilt_blobs.img", b"spoilt")
    with crabtree.open("file:spoilt_blobs.img", readonly=True) as store:
        items, ranges = walk_on(store.blobs())
        tap.ok(ranges and [one.key for one in items] ==
               [key for key in range(1000) if not any(low <= key <= high for low, high in ranges)], "of blobs, too")
        tap.ok([one for one in items if one.damaged] == [(999, 0, 0, True)], "a damaged value in a list")


def walks_end():
    """After an error that no range explains nothing follows."""
    cursor = Cursor()
    walk = crabtree.Walk(lambda _, *room: 0 if cursor.done else -errno.EIO, [], cursor, None)
    tap.ok(outcome(next, walk) == (crabtree.Error, errno.EIO) and list(walk) == [], "a walk ends after an error")


def threads():
    """Calls run concurrently with each other."""
    with crabtree.create("threads.img", 1 << 20) as store:
        def work(first):
            for key in range(first, first + 500):
                store[key] = first
        workers = [threading.Thread(target=work, args=(1000 * n,)) for n in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        tap.ok(len(store) == 2000 and store.check() is None, "four threads")
        tap.ok(store.info()["state"] == "ready" and store.info()["inserts"] == 2000, "info")


class Later(crabtree.Snapshot):
    """A snapshot whose store has changed since: an image has none, and stands for it."""

    def info(self):
        """INFO counts the records of the store."""
        return dict(super().info(), records=99)


def snapshots():
    """The length of one of records, of blobs and of names."""
    lengths = []
    for options in ({}, {"blobs": True}, {"names": True}):
        with crabtree.create("later.img", 64 << 10, **options) as store:
            if "names" in options:
                store.variables.update(a=1, b=2)
            elif "blobs" in options:
                store.put(1, b"a")
            else:
                store.update({1: 2, 3: 4, 5: 6})
            later = Later(store._handle)  # pylint: disable=protected-access
            lengths.append(len(later))
            later._handle = None  # pylint: disable=protected-access
        os.unlink("later.img")
    tap.ok(lengths == [3, 1, 2], "the length of a snapshot")


def observers():
    """Changes and snapshots need a device; the iterator of changes also reads any other descriptor."""
    with crabtree.create("observed.img", 64 << 10) as store:
        tap.ok(raises(crabtree.Error, store.watch), "a watch of an image")
        tap.ok(raises(crabtree.Error, store.snapshot), "a snapshot of an image")
    get, put = os.pipe()
    for change in ((1, 5, 0, 0, 1, 0), (2, 5, 60, 0, 1, 1), (3, 5, 0, 60, 3, 1), (9, 0, 6, 0, 0, 2)):
        os.write(put, struct.pack("<4Q2I", *change))
    os.close(put)
    with crabtree.Watch(get) as watch:
        tap.ok(list(watch) == [(1, "insert", 5, 0, None), (2, "insert", 5, 60, 0), (3, "delete", 5, None, 60),
                               (9, "lost", None, 6, None)], "the iterator of changes")
    get, put = os.pipe()
    for change in ((1, 7, 0, 1, 0, 5, b"plc/a"), (2, 0, 7, 3, 1, 0, b"plc/a"), (9, 6, 0, 0, 2, 0, b"")):
        *head, name = change
        size = (36 + len(name) + 8) // 8 * 8
        os.write(put, struct.pack("<3Q2IHBB", *head[:5], size, len(name), head[5]) + name.ljust(size - 36, b"\0"))
    os.close(put)
    with crabtree.NameWatch(get) as watch:
        tap.ok(list(watch) == [(1, "set", "plc/a", "u32", 7, None), (2, "remove", "plc/a", None, None, 7),
                               (9, "lost", None, None, 6, None)], "the iterator of changes of names")
    reads = [-errno.ENODEV, 1, -errno.EINTR]
    wait = crabtree.Watch._wait  # pylint: disable=protected-access
    tap.ok(wait(reads.pop) is None and reads == [-errno.ENODEV], "a signal does not end a watch")
    tap.ok(raises(StopIteration, wait, reads.pop) is not None, "the end of the store does")
    with crabtree.create("named.img", 64 << 10, names=True) as store:
        tap.ok(raises(crabtree.Error, store.variables.watch, "plc/"), "a watch of names of an image")
        tap.ok(raises(ValueError, store.variables.watch, "plc/", 2 ** 32), "... with a number that C would cut")


def main():
    """All of it."""
    limits()
    files()
    durable()
    messages()
    damaged()
    walks_end()
    threads()
    snapshots()
    observers()
    sys.exit(tap.done())


if __name__ == "__main__":
    main()
