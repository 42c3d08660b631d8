# SPDX-License-Identifier: GPL-2.0
"""The papers whose evaluations scripts/paper repeats, a module each."""

from papers import crab, fastfair, nvtree

ALL = {"crab": crab, "nvtree": nvtree, "fastfair": fastfair}
