# SPDX-License-Identifier: LGPL-2.1-or-later
"""This file has the variables of a store of names: a mapping of names to typed values."""

import collections
import collections.abc
import ctypes
import struct

from . import _library

_TYPES = ("bytes", "text", "bool", "u8", "u16", "u32", "u64", "i64", "f64")
_NUMBERS = {"bool": "<?", "u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q", "i64": "<q", "f64": "<d"}
_CREATE, _REPLACE, _IF_VERSION = 1, 2, 4
_PREFIX = 2
_ROOM = 65536

Variable = collections.namedtuple("Variable", "value type version")
Variable.__doc__ = "A value, its type by name, and its version: no other value of the store has it, now or later."

NameEntry = collections.namedtuple("NameEntry", "name type bytes version damaged")
NameEntry.__doc__ = "A name of a list. If the value is damaged, its length `bytes` and its version are 0."


def _encode_name(name):
    """A name as bytes; a name that a program stored as other bytes than UTF-8 keeps them."""
    return name.encode(errors="surrogateescape")


def _type_of(value):
    """The type that a value has if none is asked for."""
    for python, name in ((bool, "bool"), (float, "f64"), (str, "text"), ((bytes, bytearray, memoryview), "bytes")):
        if isinstance(value, python):
            return name
    if isinstance(value, int):
        return "i64" if value < 2 ** 63 else "u64"
    raise TypeError(f"no type of a variable for {value!r}")


def _encode(value, kind):
    """A value in the form of its type; a value that does not fit is a ValueError."""
    if kind == "bytes":
        return bytes(value)
    if kind == "text":
        return value.encode()
    if kind not in _NUMBERS:
        raise ValueError(f"{kind!r} is not one of {', '.join(_TYPES)}")
    try:
        return struct.pack(_NUMBERS[kind], value)
    except struct.error as error:
        raise ValueError(f"{value!r} is no {kind}: {error}") from None


def _decode(data, kind):
    if kind == "text":
        return data.decode(errors="surrogateescape")
    return struct.unpack(_NUMBERS[kind], data)[0] if kind in _NUMBERS else data


class Variables(collections.abc.MutableMapping):
    """The variables of a store of names, see Store.variables: names are str, values bool, int, float, str or bytes.

    Names ascend, by their UTF-8. A missing name is a KeyError. An int is an i64, or a u64 if it is too
    large; set() stores other types."""

    def __init__(self, store):
        self._store = store

    def set(self, name, value, type=None, *, create=False, replace=False, version=None):
        """Store a value, durable on return; with `type` as that type: "u8", "bytes", ...

        With `create` only if the name is absent, with `replace` only if it is there, with `version` only if
        the present value has it, else ESTALE. Returns the new version."""
        # pylint: disable=redefined-builtin
        kind = type or _type_of(value)
        data, text = _encode(value, kind), _encode_name(name)
        flags = (_CREATE if create else 0) | (_REPLACE if replace else 0) | (0 if version is None else _IF_VERSION)
        named = _library.Named(name=text, name_bytes=len(text), type=_TYPES.index(kind),
                               value=ctypes.cast(data, ctypes.c_void_p), bytes=len(data), version=version or 0)
        self._store.call_key(name, "put_named", ctypes.byref(named), flags)
        return named.version

    def get_variable(self, name):
        """The Variable of a name; its checksum is verified."""
        text, room = _encode_name(name), ctypes.create_string_buffer(_ROOM)
        named = _library.Named(name=text, name_bytes=len(text), value=ctypes.cast(room, ctypes.c_void_p),
                               capacity=len(room))
        self._store.call_key(name, "get_named", ctypes.byref(named))
        kind = _TYPES[named.type] if named.type < len(_TYPES) else "bytes"
        return Variable(_decode(room.raw[:named.bytes], kind), kind, named.version)

    def remove(self, name, version=None):
        """Remove a name and its value; with `version` only if the value has it, else ESTALE."""
        text = _encode_name(name)
        old = None if version is None else ctypes.byref(ctypes.c_uint64(version))
        self._store.call_key(name, "erase_named", text, len(text), old)

    def entries(self, prefix=""):
        """A list of a NameEntry for each name that begins with `prefix`. Not a snapshot."""
        text, found = _encode_name(prefix), []

        def each(name, _):
            """Called for each name."""
            one = name.contents
            data = ctypes.string_at(ctypes.addressof(one) + _library.Name.name.offset, one.name_bytes)
            kind = _TYPES[one.type] if one.type < len(_TYPES) else "bytes"
            found.append(NameEntry(data.decode(errors="surrogateescape"), kind, one.bytes, one.version,
                                   one.status != 0))
            return 0

        names = _library.Names(flags=_PREFIX, end=ctypes.cast(text, ctypes.c_void_p).value or 0, end_bytes=len(text))
        self._store.call_key(prefix, "names", ctypes.byref(names), _library.EACH_NAME(each), None)
        return found

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
        return iter([entry.name for entry in self.entries()])

    def __len__(self):
        return len(self.entries())

