# SPDX-License-Identifier: LGPL-2.1-or-later
"""An ordered index of 64-bit keys to 64-bit values in persistent memory, as a mapping.

    import crabtree

    with crabtree.open("/dev/crab0") as store:
        store[0x10] = 42                # durable when it has returned
        print(store[0x10], list(store[0x10:0x20]))

"file:PATH" opens an image in a file, without root and without the kernel module. It is durable
after close(), or after sync() until the next write; a power cut before may damage it.

Keys are integers from 0 to 2**64 - 2, values from 0 to 2**64 - 1. A store is a
collections.abc.MutableMapping whose keys ascend; a slice of it yields (key, value) of the keys from
its start up to, and without, its end, with the step -1 down to it; reversed() yields the keys from
the highest. A missing key is a KeyError, all other failures are crabtree.Error with an errno.
Threads may share a store; close() must come after their last call.
"""

import collections.abc
import ctypes
import errno
import functools
import os
import uuid as uuids

from . import _library, _values
from ._library import Error, check as _check, lib as _lib, u64 as _u64  # noqa: F401
from ._values import Committed, ValueOp, erase, put, test  # noqa: F401 pylint: disable=unused-import
from ._variables import (NameChange, NameEntry, NameWatch, Variable,  # noqa: F401 pylint: disable=unused-import
                         Variables)
from ._walk import Walk  # noqa: F401
from ._watch import Change, Watch  # noqa: F401 pylint: disable=unused-import

KEY_MAX = 2 ** 64 - 2
_U64_MAX = 2 ** 64 - 1
_READONLY = 1
_CREATE, _REPLACE, _SWAP, _ADD = 1, 2, 4, 8
_GE, _LE = 1, 2
_FORCE, _BLOBS, _COMMITS, _NAMES = 1, 2, 4, 8
_IF_VERSION = 4
_OF_BLOBS, _OF_COMMITS, _OF_NAMES = 1, 2, 4   # bits of feature_incompat
_BLOB_ROOM = 4096
_BATCH_MAX = 4096
_SCAN_RECORDS = 256


def _check_key(err, key):
    """The same for a call that needs a record."""
    if err == -errno.ENOENT:
        raise KeyError(key)
    return _check(err)


def _key(number):
    """A key that a store may have."""
    if _u64(number) > KEY_MAX:
        raise ValueError("the key 2**64 - 1 is reserved")
    return _u64(number)


def _flags(create, replace):
    return (_CREATE if create else 0) | (_REPLACE if replace else 0)


def insert(key, value, create=False, replace=False):
    """An operation of Store.batch(): store a value; its result has the old value, if the key was there."""
    return _library.BatchOp(verb=1, flags=_flags(create, replace), key=_key(key), value=_u64(value))


def swap(key, expected, value):
    """An operation of Store.batch(): replace a value if it is the expected one, else its status is -ESTALE."""
    return _library.BatchOp(verb=1, flags=_SWAP, key=_key(key), value=_u64(value), old_value=_u64(expected))


def add(key, addend):
    """An operation of Store.batch(): add to a value, modulo 2**64, 0 if the key is absent."""
    return _library.BatchOp(verb=1, flags=_ADD, key=_key(key), value=_u64(addend))


def search(key):
    """An operation of Store.batch(): the value of a key."""
    return _library.BatchOp(verb=2, key=_key(key))


def delete(key):
    """An operation of Store.batch(): remove a key; its result has the old value."""
    return _library.BatchOp(verb=3, key=_key(key))


def when(operation, *, exists=False, absent=False, was=None, version=None):
    """An operation of a commit with a condition: its key exists, is absent, or has the value `was`; the key or the
    name of a put(), erase() or test() exists, is absent, or its value has the `version`."""
    if (version if isinstance(operation, _library.BatchOp) else was) is not None:
        raise TypeError("`was` is for records, `version` for values")
    if isinstance(operation, ValueOp):
        operation.when(exists, absent, version)
        return operation
    operation.flags |= (_REPLACE if exists else 0) | (_CREATE if absent else 0) | (0 if was is None else _SWAP)
    if was is not None:
        operation.old_value = _u64(was)
    return operation


def _encode_operation(operation):
    if operation.kind is not None:
        raise TypeError("only a value with a name has a type")
    data = bytes(memoryview(operation.value)) if operation.is_put() else b""
    return _key(operation.key), b"", 0, data


Blob = collections.namedtuple("Blob", "value version")
Blob.__doc__ = "A value of a store of blobs, as bytes, and its version: no other value of the store has it, now or later."

Entry = collections.namedtuple("Entry", "key bytes version damaged")
Entry.__doc__ = "A key of a store of blobs. If the value is damaged, its length `bytes` and its version are 0."


class Store(collections.abc.MutableMapping):
    """An open store; see open()."""

    def __init__(self, path, readonly=False):
        self._handle = None
        self._image = os.fsencode(path).startswith(b"file:")
        handle = ctypes.c_void_p()
        err = _lib.crabtree_open(ctypes.byref(handle), _library.c_text(os.fsencode(path)),
                                 _READONLY if readonly else 0)
        if err < 0:
            raise self._unopened(-err, path)
        self._handle = handle

    def _unopened(self, number, path):
        """The Error of an open that failed: some of them mean something else in all other calls."""
        if number == errno.ENOENT:
            return Error(number, os.strerror(number), path)
        text = _lib.crabtree_strerror(number).decode()
        if self._image:
            text = {errno.EINVAL: "too small to be an image of a region",
                    errno.EWOULDBLOCK: "the image is open already, here or in another program"}.get(number, text)
        elif number == errno.ENOTTY and os.path.isfile(path):
            text += "; an image is opened as file:PATH"
        return Error(number, f"{text} ({os.fsdecode(path)})")

    def close(self):
        """Write an image to its file, and end the use of the store. A second close() does nothing."""
        handle, self._handle = self._handle, None
        if handle:
            _check(_lib.crabtree_close(handle))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __del__(self):
        self.close()

    def _call(self, name, *arguments):
        """A call of the library; its result."""
        if not self._handle:
            raise ValueError("the store is closed")
        err = getattr(_lib, "crabtree_" + name)(self._handle, *arguments)
        if err == -errno.EOPNOTSUPP:
            raise self._unfit(name)
        return err

    def _unfit(self, name):
        """The Error of a call that is for another kind of store."""
        if self._image and name in ("watch", "watch_names", "snapshot"):
            return Error(errno.EOPNOTSUPP, "an image has no other writer, so that it has no watch and no snapshot")
        features = self.info()["feature_incompat"]
        kind = "names" if features & _OF_NAMES else "blobs" if features & _OF_BLOBS else "records"
        commits = "commits" if features & _OF_COMMITS else "no commits"
        return Error(errno.EOPNOTSUPP, f"a store of another kind: it has {kind}, and {commits}")

    def _commit(self, call, array):
        """A commit of the library; the Error names the operation that it is about."""
        failed = ctypes.c_uint32()
        try:
            _check(self._call(call, array, len(array), ctypes.byref(failed)))
        except Error as error:
            error.failed = failed.value if failed.value < len(array) else None
            raise

    # One record

    def insert(self, key, value, create=False, replace=False):
        """Store a value; with `create` only if the key is absent, with `replace` only if it is there.

        Returns the old value, or None."""
        existed, old = ctypes.c_bool(), ctypes.c_uint64()
        err = self._call("insert", _key(key), _u64(value), _flags(create, replace),
                         ctypes.byref(existed), ctypes.byref(old))
        _check_key(err, key)
        return old.value if existed else None

    def swap(self, key, expected, value):
        """Replace the value of a key if it is the expected one.

        Returns the value before: `expected` if it was replaced, else another."""
        old = ctypes.c_uint64()
        err = self._call("swap", _key(key), _u64(expected), _u64(value), ctypes.byref(old))
        if err != -errno.ESTALE:
            _check_key(err, key)
        return old.value

    def add(self, key, addend, replace=False):
        """Add to the value of a key, modulo 2**64; an absent key has 0, with `replace` it is a KeyError.

        Returns the value before."""
        old = ctypes.c_uint64()
        err = self._call("add", _key(key), _u64(addend), _flags(False, replace), ctypes.byref(old))
        _check_key(err, key)
        return old.value

    def search(self, key):
        """The value of a key."""
        value = ctypes.c_uint64()
        _check_key(self._call("search", _key(key), ctypes.byref(value)), key)
        return value.value

    def delete(self, key):
        """Remove a key; returns the value that it had."""
        old = ctypes.c_uint64()
        _check_key(self._call("delete", _key(key), ctypes.byref(old)), key)
        return old.value

    def delete_range(self, start=0, end=KEY_MAX):
        """Remove the keys from start to end, both included; returns how many. Each delete is atomic, not all of them."""
        deleted = ctypes.c_uint64()
        _check(self._call("delete_range", _u64(start), _u64(end), ctypes.byref(deleted), None))
        return deleted.value

    def _seek(self, key, flags):
        record = _library.Record()
        err = self._call("seek", _u64(key), flags, ctypes.byref(record))
        if err == -errno.ENOENT:
            return None
        _check(err)
        return record.key, record.value

    def at_or_above(self, key):
        """(key, value) of the lowest key that is not below `key`, or None."""
        return self._seek(key, _GE)

    def at_or_below(self, key):
        """(key, value) of the highest key that is not above `key`, or None."""
        return self._seek(key, _LE)

    # Many records

    def scan(self, start=0, end=KEY_MAX, reverse=False):
        """The (key, value) of the keys from start to end, both included; with `reverse` from end to start.

        Not a snapshot. It is an iterator: after an Error about a damaged range, whose lowest and highest key are
        `damaged` of the Error, it goes on after that range."""
        cursor = _library.Cursor()
        records = (_library.Record * _SCAN_RECORDS)()
        begin = _lib.crabtree_cursor_init_reverse if reverse else _lib.crabtree_cursor_init
        begin(ctypes.byref(cursor), _u64(start), _u64(end))
        return Walk(functools.partial(self._call, "cursor_read"), records, cursor, lambda one: (one.key, one.value))

    def batch(self, operations):
        """Do insert(), search() and delete() of this module; yields none of them before all are done.

        Returns them in their order: `status` (0 or a negative errno), `value`, `old_value` and
        `existed` are the result. It is not atomic: each operation is."""
        operations = list(operations)
        for first in range(0, len(operations), _BATCH_MAX):
            part = operations[first:first + _BATCH_MAX]
            array = (_library.BatchOp * len(part))(*part)
            _check(self._call("batch", array, len(part), None))
            operations[first:first + _BATCH_MAX] = array
        return operations

    def commit(self, operations):
        """Do up to 64 operations of this module, each on another key, all or none: also after a power cut, and for
        every reader. The store is one that format(commits=True) made.

        Returns them as batch() does. A condition, see when(), that does not hold is an Error with the errno
        EEXIST, ENOENT or ESTALE. After an Error none of the operations was done. In a store of blobs, that
        format(blobs=True, commits=True) made, they are put(), erase() and test(), and it returns a Committed
        for each; for names see Variables.commit()."""
        operations = list(operations)
        if any(isinstance(operation, ValueOp) for operation in operations):
            return _values.commit(self._commit, operations, _encode_operation)
        array = (_library.BatchOp * len(operations))(*operations)
        self._commit("commit", array)
        return list(array)

    # Values of any length, in a store that format(blobs=True) made

    def put(self, key, value, create=False, replace=False, version=None):
        """Store bytes, up to 64 KiB; with `create` only if the key is absent, with `replace` only if it is there.

        With `version` only if the present value has it, else ESTALE. Returns the new version."""
        value = bytes(memoryview(value))    # of a number, bytes() would make so many NULs
        new = ctypes.c_uint64(0 if version is None else _u64(version))
        flags = _flags(create, replace) | (0 if version is None else _IF_VERSION)
        _check_key(self._call("put", _key(key), value, len(value), flags, ctypes.byref(new)), key)
        return new.value

    def blob(self, key):
        """The Blob of a key; its checksum is verified."""
        size, version = ctypes.c_uint32(_BLOB_ROOM), ctypes.c_uint64()
        err = -errno.EMSGSIZE
        while err == -errno.EMSGSIZE:
            room = ctypes.create_string_buffer(size.value)
            err = self._call("get", _key(key), room, len(room), ctypes.byref(size), ctypes.byref(version))
        _check_key(err, key)
        return Blob(room.raw[:size.value], version.value)

    def erase(self, key, version=None):
        """Remove a key and its value; with `version` only if the value has it, else ESTALE."""
        old = None if version is None else ctypes.byref(ctypes.c_uint64(_u64(version)))
        _check_key(self._call("erase", _key(key), old), key)

    def blobs(self, start=0, end=KEY_MAX):
        """An Entry for each key from start to end, both included. Not a snapshot. An iterator as that of scan()."""
        cursor = _library.Cursor()
        entries = (_library.Entry * _SCAN_RECORDS)()
        _lib.crabtree_cursor_init(ctypes.byref(cursor), _u64(start), _u64(end))
        return Walk(functools.partial(self._call, "list"), entries, cursor,
                    lambda one: Entry(one.key, one.bytes, one.version, one.status != 0))

    @property
    def variables(self):
        """The Variables of a store that format(names=True) made: a mapping of names to typed values."""
        return Variables(self._call_named, self._commit)

    def _call_named(self, name, call, *arguments):
        """A call of the library about a name."""
        return _check_key(self._call(call, *arguments), name)

    # While others write

    def watch(self, start=0, end=KEY_MAX, entries=0):
        """The changes of the keys from start to end, as an iterator, once each one is durable.

        It ends when the store is detached. `entries` changes wait for the reader at most, 1024 for 0."""
        start, end = _u64(start), _u64(end)
        if start > end:
            raise ValueError(f"the range {start} to {end} ends below its start")
        return Watch(_check(self._call("watch", start, end, _library.u32(entries))))

    def snapshot(self):
        """The store as of now, for reading, while others write to it; to be closed. Not of an image."""
        handle = ctypes.c_void_p()
        _check(self._call("snapshot", ctypes.byref(handle)))
        return Snapshot(handle)

    # The mapping

    def __getitem__(self, key):
        if isinstance(key, slice):
            return self._slice(key)
        return self.search(key)

    def _slice(self, keys):
        if keys.step == -1:
            return self._slice_down(keys)
        if keys.step not in (None, 1):
            raise ValueError("the step of a slice of keys is 1 or -1")
        start = 0 if keys.start is None else _u64(keys.start)
        end = _U64_MAX if keys.stop is None else _u64(keys.stop)
        return self.scan(start, end - 1) if start < end else iter(())

    def _slice_down(self, keys):
        end = KEY_MAX if keys.start is None else _u64(keys.start)
        start = 0 if keys.stop is None else _u64(keys.stop) + 1
        return self.scan(start, end, reverse=True) if start <= end else iter(())

    def __setitem__(self, key, value):
        self.insert(key, value)

    def __delitem__(self, key):
        self.delete(key)

    def __contains__(self, key):
        try:
            self.search(key)
        except KeyError:
            return False
        return True

    def __iter__(self):
        return (key for key, _ in self.scan())

    def __reversed__(self):
        return (key for key, _ in self.scan(reverse=True))

    def __len__(self):
        return self.info()["records"]

    def items(self):
        """All records, as a view whose iterator is one scan."""
        return _Items(self)

    def update(self, other=(), /, **kwargs):
        """Insert all pairs of a mapping or an iterable, by batches."""
        if kwargs:
            raise TypeError("keys are integers")
        pairs = other.items() if isinstance(other, collections.abc.Mapping) else other
        for done in self.batch([insert(key, value) for key, value in pairs]):
            _check(done.status)

    # The store as a whole

    def sync(self):
        """Write an image to its file: durable until the next write. A device needs no sync."""
        _check(self._call("sync"))

    def reason(self):
        """Why the store is rejected or read-only; empty if it is neither."""
        text = ctypes.create_string_buffer(160)
        self._call("reason", text, len(text))
        return text.value.decode(errors="replace")

    def info(self):
        """Properties and counters: the fields of struct crabtree_info, as a dict."""
        info = _library.Info()
        _check(self._call("info", ctypes.byref(info), ctypes.sizeof(info)))
        fields = {name: getattr(info, name) for name, _ in info._fields_ if name not in ("size", "flags", "reserved")}
        fields = {name: value.decode(errors="replace") if isinstance(value, bytes) else value
                  for name, value in fields.items()}
        return dict(fields, uuid=uuids.UUID(bytes=bytes(info.uuid)),
                    counters={one.name.decode(): one.value for one in info.counters if one.name},
                    state=_lib.crabtree_state_name(info.state).decode(),
                    durability=_lib.crabtree_durability_name(info.durability).decode(),
                    model=_lib.crabtree_model_name(info.model).decode())

    def check(self):
        """Verify every invariant: None if all hold, else (how many do not, offset and text of the first)."""
        check = _library.Check()
        _check(self._call("check", ctypes.byref(check), ctypes.sizeof(check)))
        if not check.errors:
            return None
        return check.errors, check.first_offset, check.first.decode(errors="replace")

    def format(self, label="", *, engine="", layout="", leaf_bytes=0, uuid=None, force=False, blobs=False,
               commits=False, names=False):
        """Make an empty store; with `force` over the store or the other data that is there; with `blobs` for put();
        with `commits` for commit(); with `names` for `variables`."""
        options = _library.Format()
        options.flags = (_FORCE if force else 0) | (_BLOBS if blobs else 0) | (_COMMITS if commits else 0) | \
            (_NAMES if names else 0)
        options.leaf_bytes = _library.u32(leaf_bytes)
        for name, text in (("label", label), ("engine", engine), ("layout", layout)):
            if len(text.encode()) >= getattr(_library.Format, name).size:
                raise ValueError(f"{name} is too long: {text!r}")
            setattr(options, name, _library.c_text(text.encode()))
        if uuid:
            options.uuid[:] = uuid.bytes if isinstance(uuid, uuids.UUID) else uuids.UUID(uuid).bytes
        err = self._call("format", ctypes.byref(options), ctypes.sizeof(options))
        if err == -errno.EEXIST:    # in all other calls it is a key
            raise Error(-err, "the region holds a store or other data; force=True discards it")
        _check(err, self.reason())


class Snapshot(Store):
    """A store as of one point in time; see Store.snapshot()."""

    def __init__(self, handle):  # pylint: disable=super-init-not-called
        self._handle, self._image = handle, False

    def _call(self, name, *arguments):
        err = super()._call(name, *arguments)
        if err == -errno.ENOTTY:
            raise Error(errno.ENOTTY, f"a snapshot can only be read: {name}")
        return err

    def __len__(self):
        """By a list: info() counts the records that the store has now."""
        features = self.info()["feature_incompat"]
        if features & _OF_NAMES:
            return len(self.variables)
        return sum(1 for _ in (self.blobs() if features & _OF_BLOBS else self))


class _Items(collections.abc.ItemsView):
    """One scan, not a search for each key"""

    def __iter__(self):
        return self._mapping.scan()

    def __reversed__(self):
        return self._mapping.scan(reverse=True)


def open(path, readonly=False):  # pylint: disable=redefined-builtin
    """Open a device, or an image: "file:PATH"."""
    return Store(path, readonly)


def create(path, size, label="", **options):
    """Make a file of `size` bytes, an image with an empty store, and open it. `options` are those of format().

    The path may have the "file:" of open()."""
    path = os.fsdecode(path).removeprefix("file:")
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        return _fill_file(file, path, size, label, options)
    except BaseException:
        os.unlink(path)
        raise


def _sync_name(path):
    """The name of a new file is durable once its directory is."""
    try:
        directory = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:     # files may be made in a directory that cannot be read
        os.sync()
        return
    try:
        os.fsync(directory)
    except OSError as error:    # not all file systems can sync a directory, or need it
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(directory)


def _fill_file(file, path, size, label, options):
    try:
        os.posix_fallocate(file, 0, size)
    finally:
        os.close(file)
    _sync_name(path)
    store = Store("file:" + path)
    try:
        store.format(label, **options)
    except BaseException:
        store.close()
        raise
    return store
