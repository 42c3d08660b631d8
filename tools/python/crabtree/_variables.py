# SPDX-License-Identifier: LGPL-2.1-or-later
"""This file has the variables of a store of names: a mapping of names to typed values."""

import collections
import collections.abc
import ctypes
import errno
import struct

from . import _library, _values
from ._watch import Watch

_TYPES = ("bytes", "text", "bool", "u8", "u16", "u32", "u64", "i64", "f64")
_NUMBERS = {"bool": "<?", "u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q", "i64": "<q", "f64": "<d"}
_CREATE, _REPLACE, _IF_VERSION = 1, 2, 4
_PREFIX = 2
_ROOM = 65536
_NAME_MAX = 240

Variable = collections.namedtuple("Variable", "value type version")
Variable.__doc__ = "A value, its type by name, and its version: no other value of the store has it, now or later."

NameEntry = collections.namedtuple("NameEntry", "name type bytes version damaged")
NameEntry.__doc__ = "A name of a list. If the value is damaged, its length `bytes` and its version are 0."

NameChange = collections.namedtuple("NameChange", "seq verb name type version old")
NameChange.__doc__ = """A change that a watch of names reports: `verb` is "set", "remove", or "lost": then `version` changes up
to number `seq` were dropped, because the reader was too slow. `old` is the version before, None if there was none."""


def _encode_name(name, least=1):
    """A name, or with 0 as `least` a prefix, as _encode_text(); one that no store can have is a ValueError."""
    text = _encode_text(name)
    if not least <= len(text) <= _NAME_MAX:
        raise ValueError(f"the name {name!r} is {f'longer than {_NAME_MAX} bytes' if text else 'empty'}")
    return text


def _encode_text(text):
    """A name or a text as UTF-8; one that a program stored as other bytes keeps these."""
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is not a str")
    return text.encode(errors="surrogateescape")


def _decode_text(data):
    return data.decode(errors="surrogateescape")


def _type_name(number):
    """The name of a type; "?" is that of a newer version."""
    return _TYPES[number] if number < len(_TYPES) else "?"


def _type_of(value):
    """The type that a value has if none is asked for."""
    for python, name in ((bool, "bool"), (float, "f64"), (str, "text"), ((bytes, bytearray, memoryview), "bytes")):
        if isinstance(value, python):
            return name
    if isinstance(value, int):
        return "i64" if value < 2 ** 63 else "u64"
    raise TypeError(f"no type of a variable for {value!r}")


def _encode_number(value, kind):
    if kind == "bool" and value not in (False, True):
        raise ValueError(f"{value!r} is no bool")
    try:
        return struct.pack(_NUMBERS[kind], value)
    except struct.error as error:
        raise ValueError(f"{value!r} is no {kind}: {error}") from None


def _encode(value, kind):
    """A value in the form of its type; a value that does not fit is a ValueError."""
    if kind not in _TYPES:
        raise ValueError(f"{kind!r} is not one of {', '.join(_TYPES)}")
    if kind == "bytes":
        return bytes(memoryview(value))     # a number has no buffer: bytes() would make so many NULs
    return _encode_text(value) if kind == "text" else _encode_number(value, kind)


def _decode(data, kind):
    """A value of its type; one of a newer type, or of a length that its type does not have, is bytes."""
    if kind == "text":
        return _decode_text(data)
    if kind in _NUMBERS and len(data) == struct.calcsize(_NUMBERS[kind]):
        return struct.unpack(_NUMBERS[kind], data)[0]
    return data


def _encode_operation(operation):
    name, kind, data = _encode_name(operation.key), 0, b""
    if operation.is_put():
        kind = _type_of(operation.value) if operation.kind is None else operation.kind
        data, kind = _encode(operation.value, kind), _TYPES.index(kind)
    return 0, name, kind, data


def _before(found, error):
    """Yields all that was found, then raises the error."""
    yield from found
    raise error


def _name_change(raw):
    if raw.flags & 2:
        return NameChange(raw.seq, "lost", None, None, raw.value, None)
    data = ctypes.string_at(ctypes.addressof(raw) + _library.NameChange.name.offset, raw.name_bytes)
    old = raw.old if raw.flags & 1 else None
    if raw.verb == 3:
        return NameChange(raw.seq, "remove", _decode_text(data), None, None, old)
    return NameChange(raw.seq, "set", _decode_text(data), _type_name(raw.type), raw.value, old)


class NameWatch(Watch):
    """The changes of names; see Variables.watch(). An iterator, and a file descriptor for select.

    A read takes all changes that wait: iterate until none is `pending` before the next select."""

    def __init__(self, fd):
        super().__init__(fd)
        self.pending = []

    def _read(self):
        each = _library.EACH_CHANGE(lambda change, _: self.pending.append(_name_change(change.contents)))
        return _library.lib.crabtree_watch_names_read(self._fd, each, None)

    def __next__(self):
        if not self.pending:
            self._wait(self._read)
        return self.pending.pop(0)


class Variables(collections.abc.MutableMapping):
    """The variables of a store of names, see Store.variables: names are str, values bool, int, float, str or bytes.

    Names ascend, by their UTF-8. A missing name is a KeyError. An int is an i64, or a u64 if it is too
    large; set() stores other types. A name or a text that is not UTF-8 has surrogates, as os.fsdecode() makes them."""

    def __init__(self, call, commit=None):
        self._call, self._commit = call, commit

    def set(self, name, value, type=None, *, create=False, replace=False, version=None):
        """Store a value, durable on return; with `type` as that type: "u8", "bytes", ...

        With `create` only if the name is absent, with `replace` only if it is there, with `version` only if
        the present value has it, else ESTALE. Returns the new version."""
        # pylint: disable=redefined-builtin
        kind = _type_of(value) if type is None else type
        data, text = _encode(value, kind), _encode_name(name)
        flags = (_CREATE if create else 0) | (_REPLACE if replace else 0) | (0 if version is None else _IF_VERSION)
        named = _library.Named(name=text, name_bytes=len(text), type=_TYPES.index(kind),
                               value=ctypes.cast(data, ctypes.c_void_p), bytes=len(data),
                               version=0 if version is None else _library.u64(version))
        self._call(name, "put_named", ctypes.byref(named), flags)
        return named.version

    def get_variable(self, name):
        """The Variable of a name; its checksum is verified."""
        text, room = _encode_name(name), ctypes.create_string_buffer(_ROOM)
        named = _library.Named(name=text, name_bytes=len(text), value=ctypes.cast(room, ctypes.c_void_p),
                               capacity=len(room))
        self._call(name, "get_named", ctypes.byref(named))
        kind = _type_name(named.type)
        return Variable(_decode(ctypes.string_at(room, named.bytes), kind), kind, named.version)

    def remove(self, name, version=None):
        """Remove a name and its value; with `version` only if the value has it, else ESTALE."""
        text = _encode_name(name)
        old = None if version is None else ctypes.byref(ctypes.c_uint64(_library.u64(version)))
        self._call(name, "erase_named", text, len(text), old)

    def commit(self, operations):
        """Do up to 64 put(), erase() and test() of the package, each on another name, all or none: also after a power
        cut, and for every reader. The store is one that format(names=True, commits=True) made.

        Returns a Committed for each. A condition, see when(), that does not hold is an Error with the errno EEXIST,
        ENOENT or ESTALE, and `failed`, the number of its operation. After an Error none was done."""
        return _values.commit(self._commit, list(operations), _encode_operation)

    def entries(self, prefix=""):
        """A NameEntry for each name that begins with `prefix`. Not a snapshot.

        An iterator. If names are damaged, which may be any, it has the others, then an Error with EUCLEAN."""
        text, found = _encode_name(prefix, 0), []

        def each(name, _):
            """Called for each name."""
            one = name.contents
            data = ctypes.string_at(ctypes.addressof(one) + _library.Name.name.offset, one.name_bytes)
            found.append(NameEntry(_decode_text(data), _type_name(one.type), one.bytes, one.version, one.status != 0))
            return 0

        names = _library.Names(flags=_PREFIX, end=ctypes.cast(text, ctypes.c_void_p).value, end_bytes=len(text))
        try:
            self._call(prefix, "names", ctypes.byref(names), _library.EACH_NAME(each), None)
        except _library.Error as error:
            if error.errno != errno.EUCLEAN:
                raise
            return _before(found, error)
        return iter(found)

    def watch(self, prefix="", entries=0):
        """The changes of names that begin with `prefix`, as an iterator, once each one is durable.

        It ends when the store is detached. `entries` changes wait for the reader at most, 1024 for 0."""
        text = _encode_name(prefix, 0)
        return NameWatch(self._call(prefix, "watch_names", text, len(text), _library.u32(entries)))

    def __getitem__(self, name):
        return self.get_variable(name).value

    def __setitem__(self, name, value):
        self.set(name, value)

    def __delitem__(self, name):
        self.remove(name)

    def __contains__(self, name):
        try:
            self.get_variable(name)
        except KeyError:
            return False
        return True

    def __iter__(self):
        return (entry.name for entry in self.entries())

    def __len__(self):
        return sum(1 for _ in self.entries())

    def clear(self):
        """Remove all variables, after one list of them."""
        for name in self:
            self.pop(name, None)
