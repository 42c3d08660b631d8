# SPDX-License-Identifier: GPL-2.0
"""The papers whose evaluations scripts/paper repeats, a module each."""

from papers import clfb, crab, fastfair, nbtree, nvtree

ALL = {"crab": crab, "nvtree": nvtree, "fastfair": fastfair, "clfb": clfb, "nbtree": nbtree}
