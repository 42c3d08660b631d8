# SPDX-License-Identifier: GPL-2.0
"""A deliberate mistake: one of design, or one that only two threads show.

A mistake is a few edits. Each replaces a text that its file contains once: statements up to a
semicolon, or an expression. The shipped source has none of the mistakes. If a file no longer
contains the text, generate.py reports it and exits.

mistakes.py finds all of them.
"""

import collections


class Design(collections.namedtuple("Design", "what edits")):
    """Design(what, edit, ...)"""

    def __new__(cls, what, *edits):
        return super().__new__(cls, what, edits)


Edit = collections.namedtuple("Edit", "path old new")
