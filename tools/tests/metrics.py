#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""metrics.py - a strict reader of Prometheus' text format, on standard input.

Each metric has one HELP and one TYPE, then all its samples; counters end in _total; no sample
appears twice; labels are escaped. Prints the number of samples."""

import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(\{{{LABEL}(?:,{LABEL})*\}}) (\d+(?:\.\d+)?)$")


def main():
    """Read and judge."""
    kinds, samples, current = {}, set(), None
    for line in sys.stdin.read().split("\n")[:-1]:
        if line.startswith("# HELP "):
            current = line.split()[2]
            assert current not in kinds, f"{current} twice"
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name == current and kind in ("gauge", "counter"), line
            assert (kind == "counter") == name.endswith("_total"), line
            kinds[name] = kind
        else:
            match = SAMPLE.match(line)
            assert match and match.group(1) == current and current in kinds, line
            assert match.group(1, 2) not in samples, line
            samples.add(match.group(1, 2))
    print(len(samples))


main()
