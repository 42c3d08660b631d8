# SPDX-License-Identifier: LGPL-2.1-or-later
"""This file declares libcrabtree to ctypes: the structures of <linux/crabtree.h> and the calls.

Invariant: the fields of a structure are those of the header, in its order; the test compares each
offset. The library of a newer version may have fields after them, and writes none of these.
"""

import ctypes
import operator
from ctypes import POINTER, c_bool, c_char, c_char_p, c_int, c_int32, c_size_t, c_uint, c_uint8
from ctypes import c_uint16, c_uint32, c_uint64, c_void_p


class Record(ctypes.Structure):
    """struct crabtree_record"""
    _fields_ = [("key", c_uint64), ("value", c_uint64)]


class Cursor(ctypes.Structure):
    """struct crabtree_cursor"""
    _fields_ = [("next", c_uint64), ("end", c_uint64), ("done", c_bool), ("reverse", c_bool)]


class BatchOp(ctypes.Structure):
    """struct crabtree_batch_op"""
    _fields_ = [("verb", c_uint32), ("flags", c_uint32), ("key", c_uint64), ("value", c_uint64),
                ("old_value", c_uint64), ("status", c_int32), ("existed", c_uint32)]


class CommitOp(ctypes.Structure):
    """struct crabtree_commit_op"""
    _fields_ = [("verb", c_uint32), ("flags", c_uint32), ("key", c_uint64), ("value", c_uint64), ("bytes", c_uint32),
                ("name_bytes", c_uint32), ("version", c_uint64), ("type", c_uint32), ("existed", c_uint32),
                ("status", c_int32), ("reserved", c_uint32)]


class Counter(ctypes.Structure):
    """struct crabtree_counter"""
    _fields_ = [("name", c_char * 16), ("value", c_uint64)]


class Info(ctypes.Structure):
    """struct crabtree_info"""
    _fields_ = [
        ("size", c_uint32), ("flags", c_uint32), ("state", c_uint32), ("durability", c_uint32),
        ("model", c_uint32), ("version", c_uint32), ("uuid", c_uint8 * 16), ("label", c_char * 32),
        ("engine", c_char * 16), ("layout", c_char * 16), ("region", c_char * 64), ("reason", c_char * 128),
        *[(name, c_uint64) for name in (
            "region_bytes", "leaf_bytes", "leaves", "leaves_used", "leaves_bad", "records", "capacity",
            "feature_compat", "feature_ro_compat", "feature_incompat", "dram_bytes", "attach_ns",
            "lines", "fences", "prepare_lines", "prepare_fences", "inserts", "updates", "deletes",
            "searches", "splits", "unlinks", "repairs", "orders", "lines_bound")],
        ("counters", Counter * 8), ("options", c_char * 192), ("keeps", c_uint32), ("reserved", c_uint32)]


class Check(ctypes.Structure):
    """struct crabtree_check"""
    _fields_ = [("size", c_uint32), ("flags", c_uint32), ("leaves", c_uint64), ("records", c_uint64),
                ("errors", c_uint64), ("first_offset", c_uint64), ("first", c_char * 96)]


class Format(ctypes.Structure):
    """struct crabtree_format"""
    _fields_ = [("size", c_uint32), ("flags", c_uint32), ("leaf_bytes", c_uint32), ("reserved", c_uint32),
                ("engine", c_char * 16), ("layout", c_char * 16), ("label", c_char * 32), ("uuid", c_uint8 * 16)]


class Change(ctypes.Structure):
    """struct crabtree_change"""
    _fields_ = [("seq", c_uint64), ("key", c_uint64), ("value", c_uint64), ("old", c_uint64),
                ("verb", c_uint32), ("flags", c_uint32)]


class Entry(ctypes.Structure):
    """struct crabtree_entry"""
    _fields_ = [("key", c_uint64), ("version", c_uint64), ("bytes", c_uint32), ("status", c_int32)]


class Named(ctypes.Structure):
    """struct crabtree_named"""
    _fields_ = [("name", c_char_p), ("name_bytes", c_uint32), ("type", c_uint32), ("value", c_void_p),
                ("capacity", c_uint32), ("bytes", c_uint32), ("version", c_uint64)]


class Name(ctypes.Structure):
    """struct crabtree_name"""
    _fields_ = [("version", c_uint64), ("bytes", c_uint32), ("status", c_int32), ("entry_bytes", c_uint16),
                ("name_bytes", c_uint8), ("type", c_uint8), ("name", c_char * 4)]


class Names(ctypes.Structure):
    """struct crabtree_names"""
    _fields_ = [("size", c_uint32), ("flags", c_uint32), ("start", c_uint64), ("end", c_uint64),
                ("start_bytes", c_uint32), ("end_bytes", c_uint32), ("buffer", c_uint64), ("capacity", c_uint32),
                ("used", c_uint32), ("count", c_uint32), ("more", c_uint32)]


class NameChange(ctypes.Structure):
    """struct crabtree_name_change"""
    _fields_ = [("seq", c_uint64), ("value", c_uint64), ("old", c_uint64), ("verb", c_uint32), ("flags", c_uint32),
                ("entry_bytes", c_uint16), ("name_bytes", c_uint8), ("type", c_uint8), ("name", c_char * 4)]


EACH_NAME = ctypes.CFUNCTYPE(c_int, POINTER(Name), c_void_p)    # crabtree_names_fn
EACH_CHANGE = ctypes.CFUNCTYPE(None, POINTER(NameChange), c_void_p)     # crabtree_change_fn

# Name of a call without "crabtree_", result, arguments
CALLS = [
    ("open", c_int, POINTER(c_void_p), c_char_p, c_uint),
    ("close", c_int, c_void_p),
    ("sync", c_int, c_void_p),
    ("reason", None, c_void_p, c_char_p, c_size_t),
    ("info", c_int, c_void_p, POINTER(Info), c_size_t),
    ("insert", c_int, c_void_p, c_uint64, c_uint64, c_uint, POINTER(c_bool), POINTER(c_uint64)),
    ("swap", c_int, c_void_p, c_uint64, c_uint64, c_uint64, POINTER(c_uint64)),
    ("add", c_int, c_void_p, c_uint64, c_uint64, c_uint, POINTER(c_uint64)),
    ("search", c_int, c_void_p, c_uint64, POINTER(c_uint64)),
    ("seek", c_int, c_void_p, c_uint64, c_uint, POINTER(Record)),
    ("delete", c_int, c_void_p, c_uint64, POINTER(c_uint64)),
    ("delete_range", c_int, c_void_p, c_uint64, c_uint64, POINTER(c_uint64), POINTER(c_uint64)),
    ("cursor_init", None, POINTER(Cursor), c_uint64, c_uint64),
    ("cursor_init_reverse", None, POINTER(Cursor), c_uint64, c_uint64),
    ("cursor_read", c_int, c_void_p, POINTER(Cursor), POINTER(Record), c_uint32),
    ("batch", c_int, c_void_p, POINTER(BatchOp), c_uint32, POINTER(c_uint32)),
    ("commit", c_int, c_void_p, POINTER(BatchOp), c_uint32, POINTER(c_uint32)),
    ("commit_values", c_int, c_void_p, POINTER(CommitOp), c_uint32, POINTER(c_uint32)),
    ("put", c_int, c_void_p, c_uint64, c_char_p, c_uint32, c_uint, POINTER(c_uint64)),
    ("get", c_int, c_void_p, c_uint64, c_char_p, c_uint32, POINTER(c_uint32), POINTER(c_uint64)),
    ("erase", c_int, c_void_p, c_uint64, POINTER(c_uint64)),
    ("list", c_int, c_void_p, POINTER(Cursor), POINTER(Entry), c_uint32),
    ("put_named", c_int, c_void_p, POINTER(Named), c_uint),
    ("get_named", c_int, c_void_p, POINTER(Named)),
    ("erase_named", c_int, c_void_p, c_char_p, c_uint32, POINTER(c_uint64)),
    ("names", c_int, c_void_p, POINTER(Names), EACH_NAME, c_void_p),
    ("check", c_int, c_void_p, POINTER(Check), c_size_t),
    ("format", c_int, c_void_p, POINTER(Format), c_size_t),
    ("watch", c_int, c_void_p, c_uint64, c_uint64, c_uint32),
    ("watch_read", c_int, c_int, POINTER(Change), c_uint32),
    ("watch_names", c_int, c_void_p, c_char_p, c_uint32, c_uint32),
    ("watch_names_read", c_int, c_int, EACH_CHANGE, c_void_p),
    ("snapshot", c_int, c_void_p, POINTER(c_void_p)),
    ("strerror", c_char_p, c_int),
    ("state_name", c_char_p, c_uint32),
    ("durability_name", c_char_p, c_uint32),
    ("model_name", c_char_p, c_uint32),
]


def _number(number, bits):
    """An integer that fits; ctypes would cut it."""
    number = operator.index(number)
    if not 0 <= number < 2 ** bits:
        raise ValueError(f"{number} is not between 0 and 2**{bits} - 1")
    return number


def u64(number):
    """A key, a value or a version."""
    return _number(number, 64)


def u32(number):
    """A count or a size."""
    return _number(number, 32)


def c_text(data):
    """Bytes of which C reads all."""
    if b"\0" in data:
        raise ValueError(f"a zero byte in {data!r}")
    return data


def load():
    """The shared library, with its calls declared."""
    library = ctypes.CDLL("libcrabtree.so.0")
    for name, result, *arguments in CALLS:
        call = getattr(library, "crabtree_" + name)
        call.restype, call.argtypes = result, arguments
    return library


lib = load()


class Error(OSError):
    """A call that failed; with its `errno`. After a commit `failed` is the number of the operation that the
    error is about, from 0, or None. `damaged` is the lowest and the highest key that a walk left out, or None."""

    failed = None
    damaged = None


def check(err, detail=""):
    """The result of a call, if it is no error."""
    if err < 0:
        text = lib.crabtree_strerror(err).decode()
        raise Error(-err, f"{text} ({detail})" if detail else text)
    return err

