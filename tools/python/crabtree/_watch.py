# SPDX-License-Identifier: LGPL-2.1-or-later
"""This file has the changes of a range of keys: an iterator over the descriptor of a watch."""

import collections
import ctypes
import errno
import os

from . import _library

Change = collections.namedtuple("Change", "seq verb key value old")
Change.__doc__ = """A change that a watch reports: `verb` is "insert", "delete", or "lost": then `value` changes up to
number `seq` were dropped, because the reader was too slow. `old` is None if the key was absent. In a store of blobs
`value` and `old` are versions."""


class Watch:
    """The changes of a range of keys; see Store.watch(). An iterator, and a file descriptor for select."""

    def __init__(self, fd):
        self._fd = fd

    def fileno(self):
        """For select.poll() and asyncio."""
        return self._fd

    def close(self):
        """End the watch. A second close() does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __del__(self):
        self.close()

    def __iter__(self):
        return self

    @staticmethod
    def _wait(read):
        """Read until changes are there."""
        err = read()
        while err == -errno.EINTR:
            err = read()
        if err == -errno.ENODEV or not err:
            raise StopIteration
        _library.check(err)

    def __next__(self):
        change = _library.Change()
        self._wait(lambda: _library.lib.crabtree_watch_read(self._fd, ctypes.byref(change), 1))
        if change.flags & 2:
            return Change(change.seq, "lost", None, change.value, None)
        return Change(change.seq, "delete" if change.verb == 3 else "insert", change.key,
                      None if change.verb == 3 else change.value, change.old if change.flags & 1 else None)
