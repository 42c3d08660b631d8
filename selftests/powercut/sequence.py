# SPDX-License-Identifier: GPL-2.0
"""The sequence of operations that churn performs, as sequence.h has it.

Operation I of a writer is a function of these two and a seed alone.
"""

BASE = 1 << 40
KEYS = 4096
WRITERS = 64
WAVE = 4096
WINDOW = 64
COMMIT = 8      # operations of a commit
ACCOUNTS, BALANCE = 8, 1000
MASK = (1 << 64) - 1


def mix(x):
    """One to one, so that values differ."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def is_ours(key):
    """Whether some writer of sequences uses the key."""
    return BASE <= key < BASE + KEYS * WRITERS


class Sequence:
    """The operations of one writer."""

    def __init__(self, seed, writer=0):
        self.seed = seed * WRITERS + writer
        self.writer = writer

    def key_at(self, i):
        """(removes, key) of operation I."""
        dice = mix(self.seed ^ mix(i))
        drains = i // WAVE % 2 == 1
        return drains != (dice >> 60 == 0), BASE + dice % KEYS * WRITERS + self.writer

    def value_at(self, i):
        """The value that operation I stores."""
        return mix(((self.seed << 32) + i) & MASK)

    def apply(self, state, i):
        """Do operation I to STATE, which maps keys to values; return its key."""
        removes, key = self.key_at(i)
        if removes:
            state.pop(key, None)
        else:
            state[key] = self.value_at(i)
        return key

    def owns(self, key):
        """Whether this writer uses the key."""
        return is_ours(key) and key % WRITERS == self.writer
