#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""acked.py LINES ACKS DUMP: every acknowledged line of LINES is in DUMP.

The last value of a key counts; a later line that was not acknowledged may have
been stored all the same.
"""
import sys


def main(lines_path, acks_path, dump_path):
    lines = [tuple(map(int, line.split())) for line in open(lines_path)]
    acks = [int(line[2:]) for line in open(acks_path) if line.endswith("\n")]
    dump = dict(tuple(map(int, line.split())) for line in open(dump_path))
    allowed = {}
    for number in acks:
        key, value = lines[number - 1]
        allowed[key] = {value}
    last = max(acks, default=0)
    for key, value in lines[last:last + 64]:
        if key in allowed:
            allowed[key].add(value)
    lost = [key for key, values in allowed.items() if dump.get(key) not in values]
    print(f"acknowledged {len(acks)}, lost or torn {len(lost)}: {lost[:5]}")
    if acks != list(range(1, len(acks) + 1)):
        print("acknowledgements are not in the order of the lines")
        return 1
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
