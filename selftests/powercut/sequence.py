# SPDX-License-Identifier: GPL-2.0
"""The sequence of operations that churn performs, as sequence.h has it.

Operation I of a seed is a function of the two alone.
"""

BASE = 1 << 40
KEYS = 16384
WINDOW = 64
MASK = (1 << 64) - 1


def mix(x):
    """One to one, so that values differ."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def key_at(seed, i):
    """(removes, key) of operation I."""
    dice = mix(seed ^ mix(i))
    return dice >> 62 == 0, BASE + dice % KEYS


def value_at(seed, i):
    """The value that operation I stores."""
    return mix(((seed << 32) + i) & MASK)


def apply(state, seed, i):
    """Do operation I to STATE, which maps keys to values; return its key."""
    removes, key = key_at(seed, i)
    if removes:
        state.pop(key, None)
    else:
        state[key] = value_at(seed, i)
    return key


def is_ours(key):
    """Whether churn uses the key."""
    return BASE <= key < BASE + KEYS
