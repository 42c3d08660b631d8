# SPDX-License-Identifier: LGPL-2.1-or-later
"""This file has commits of values: of several blobs or of several variables, all or none."""

import collections
import ctypes

from . import _library

_PUT, _TEST, _ERASE = 1, 2, 3
_ABSENT, _EXISTS, _IF_VERSION = 1, 2, 4

Committed = collections.namedtuple("Committed", "existed version")
Committed.__doc__ = """The result of an operation of a commit of values: whether its key was there before, None for a test();
for a put() the new version, else None."""


class ValueOp:
    """An operation of a commit of values; see put(), erase(), test() and when()."""

    def __init__(self, verb, key, value=None, kind=None):
        self.verb, self.key, self.value, self.kind = verb, key, value, kind
        self.flags = self.version = 0

    def when(self, exists, absent, version):
        """A condition; see when() of the package."""
        self.flags |= (_EXISTS if exists else 0) | (_ABSENT if absent else 0) | (0 if version is None else _IF_VERSION)
        if version is not None:
            self.version = _library.u64(version)

    def is_put(self):
        """It has a value."""
        return self.verb == _PUT

    def raw(self, encode):
        """The structure of the library, and the objects that it points to."""
        key, name, kind, data = encode(self)
        text = ctypes.create_string_buffer(name, len(name)) if name else None
        room = ctypes.create_string_buffer(data, len(data)) if data else None
        op = _library.CommitOp(verb=self.verb, flags=self.flags, key=ctypes.addressof(text) if text else key,
                               name_bytes=len(name), type=kind, bytes=len(data),
                               value=ctypes.addressof(room) if room else 0, version=self.version)
        return op, (text, room)

    def result(self, op):
        """The Committed of this operation, from the structure after the call."""
        if self.is_put():
            return Committed(bool(op.existed), op.version)
        return Committed(op.status == 0 if self.verb == _ERASE else None, None)


def put(key, value, type=None):
    """An operation of a commit: store a value, bytes under a key, or one of `type` under a name as Variables.set()."""
    # pylint: disable=redefined-builtin
    return ValueOp(_PUT, key, value, type)


def erase(key):
    """An operation of a commit: remove a key, or a name, and its value, if it is there."""
    return ValueOp(_ERASE, key)


def test(key):
    """An operation of a commit that does nothing: for a condition on a key, or on a name, see when()."""
    return ValueOp(_TEST, key)


def commit(do, operations, encode):
    """A commit by `do`; encode(operation) returns the key, the name, the number of the type and the bytes."""
    if not all(isinstance(operation, ValueOp) for operation in operations):
        raise TypeError("an operation on values is put(), erase() or test()")
    raws = [operation.raw(encode) for operation in operations]
    array = (_library.CommitOp * len(raws))(*[op for op, _ in raws])
    do("commit_values", array)
    return [operation.result(op) for operation, op in zip(operations, array)]
