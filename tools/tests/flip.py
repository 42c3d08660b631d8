#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""flip.py CRABCTL SNAPSHOT IMAGE - is a snapshot refused with each bit flipped, and with each length?

Restores each to IMAGE, which must remain.
"""

import subprocess
import sys

crabctl, snapshot, image = sys.argv[1:]
with open(snapshot, "rb") as f:
    whole = f.read()


def refused(data):
    """Whether a restore of other bytes fails."""
    with open("bad", "wb") as bad:
        bad.write(data)
    return subprocess.run([crabctl, "--image", image, "restore", "--force", "bad"], check=False,
                          capture_output=True).returncode == 3


wrong = [i for i in range(len(whole)) if not refused(whole[:i])]
wrong += [(i, bit) for i in range(len(whole)) for bit in range(0, 8, 3)
          if not refused(whole[:i] + bytes([whole[i] ^ 1 << bit]) + whole[i + 1:])]
print(len(whole), wrong)
sys.exit(bool(wrong))
