# SPDX-License-Identifier: LGPL-2.1-or-later
"""This file has walks over a range of keys, which go on after a damaged range."""

import ctypes
import errno

from . import _library


class Walk:
    """The items of a range of keys, in order. After an Error whose `damaged` is the lowest and the highest key of a
    damaged range, the walk goes on after that range; after any other Error it has ended."""

    def __init__(self, read, room, cursor, convert):
        self._read, self._room, self._cursor, self._convert = read, room, cursor, convert
        self._ahead = iter(())

    def __iter__(self):
        return self

    def __next__(self):
        for item in self._ahead:
            return item
        self._ahead = iter([self._convert(one) for one in self._room[:self._read_on()]])
        return next(self._ahead)

    def _read_on(self):
        before = self._cursor.next
        try:
            return _library.check(self._read(ctypes.byref(self._cursor), self._room, len(self._room)))
        except _library.Error as error:
            if error.errno == errno.EUCLEAN:
                error.damaged = self._passed(before)
            self._cursor.done |= error.damaged is None
            raise

    def _passed(self, before):
        """The range that the cursor left out; None if it did not move."""
        cursor = self._cursor
        if cursor.next == before and not cursor.done:
            return None
        if cursor.reverse:
            return (cursor.end if cursor.done else cursor.next + 1), before
        return before, (cursor.end if cursor.done else cursor.next - 1)
