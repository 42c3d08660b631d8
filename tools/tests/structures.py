#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""structures.py - print a C program that compares the structures of the Python package with the headers.

The program fails to compile if a size or an offset differs, or if a field is missing on one side.
"""

from crabtree import _library

KINDS = {"crabtree_record": _library.Record, "crabtree_cursor": _library.Cursor,
         "crabtree_batch_op": _library.BatchOp, "crabtree_commit_op": _library.CommitOp,
         "crabtree_counter": _library.Counter, "crabtree_info": _library.Info, "crabtree_check": _library.Check, "crabtree_format": _library.Format,
         "crabtree_change": _library.Change, "crabtree_entry": _library.Entry,
         "crabtree_named": _library.Named, "crabtree_name": _library.Name, "crabtree_names": _library.Names,
         "crabtree_name_change": _library.NameChange}


def main():
    """One assertion a line."""
    print("#include <crabtree_names.h>\n#include <stddef.h>")
    for name, kind in KINDS.items():
        print(f'_Static_assert(sizeof(struct {name}) == {_library.ctypes.sizeof(kind)}, "{name}");')
        for field, *_ in kind._fields_:
            offset = getattr(kind, field).offset
            print(f'_Static_assert(offsetof(struct {name}, {field}) == {offset}, "{name}.{field}");')


main()
