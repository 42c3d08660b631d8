#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""doctor.py SUPER FILE FIELD=NUMBER|label=TEXT... - change fields of both superblocks of an image.
doctor.py FLIP FILE OFFSET... - invert a byte each.
doctor.py PAGE FILE - compare `doctor --causes --json` on standard input with the manual's page.

The checksum of a superblock is made correct again."""

import json
import struct
import sys

SUPER = struct.Struct("<QIIQQQQ16s32sHHIQQQIIQQ40s")
NAMES = ("magic version crc sequence compat ro_compat incompat uuid label engine layout leaf_bytes "
         "region_bytes pool_offset leaves state store_id formatted_at engine_root reserved").split()


def crc32c(data):
    """As the module does it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def change_supers(path, changes):
    """Both copies."""
    with open(path, "r+b") as f:
        for at in (0, 4096):
            f.seek(at)
            fields = dict(zip(NAMES, SUPER.unpack(f.read(SUPER.size))))
            fields.update({name: value.encode() if name == "label" else int(value, 0) for name, value in changes}, crc=0)
            fields["crc"] = crc32c(SUPER.pack(*(fields[n] for n in NAMES)))
            f.seek(at)
            f.write(SUPER.pack(*(fields[n] for n in NAMES)))


def flip(path, offsets):
    """One byte each."""
    with open(path, "r+b") as f:
        for at in offsets:
            f.seek(at)
            byte = f.read(1)[0]
            f.seek(at)
            f.write(bytes([byte ^ 0xFF]))


def rows(page):
    """The causes of the page: name -> its text and remedy, in one line."""
    table = {}
    for block in page.split("   * - ``")[1:]:
        name, rest = block.split("``", 1)
        table[name] = " ".join(rest.split("\n\n")[0].replace("``", "").split())
    return table


def compare_page(path, causes):
    """The differences between the page and the causes."""
    with open(path, encoding="utf-8") as f:
        table = rows(f.read())
    for cause in causes:
        want = f"- {cause['text']} - {cause['next']}"
        got = table.pop(cause["cause"], None)
        if got != want:
            yield f"{cause['cause']}: the page has {got!r}, doctor {want!r}"
    yield from (f"{name}: doctor does not know it" for name in table if "_" in name)


def main():
    """See above."""
    what, path, *rest = sys.argv[1:]
    if what == "SUPER":
        change_supers(path, [word.split("=") for word in rest])
    elif what == "FLIP":
        flip(path, [int(word, 0) for word in rest])
    else:
        wrong = list(compare_page(path, json.load(sys.stdin)))
        print("\n".join(wrong))
        return bool(wrong)
    return 0


if __name__ == "__main__":
    sys.exit(main())
