#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""fields.py SNAPSHOT - print the snapshot of a store of names, with a text that is not UTF-8.
fields.py CHANGES records|names - print the changes of a watch, as the kernel returns them.
fields.py VERBS PAGE - print the verbs of the page, one section a line.
fields.py PAGE PAGE VERB - compare the JSON on standard input with the section of a verb in the page.

A section has one bullet for each field, or several; text before the colon has the fields that some
output must have. Each field of the output is in the section."""

import json
import re
import struct
import sys

from doctor import crc32c

FREE = ("options", "counters")      # their fields are those of the engine


def snapshot():
    """One name."""
    lines = b"""# crabtree snapshot 2
# uuid 00112233-4455-6677-8899-aabbccddeeff
# engine crab slotted 1024
# label n
# kind names
text 1 zz
\xff
"""
    return lines + b"# end 1 %08x\n" % crc32c(lines)


def changes(kind):
    """A new key, a removed one, and lost ones."""
    for seq, verb, flags in ((1, 1, 0), (2, 3, 1), (9, 0, 2)):
        if kind == "records":
            yield struct.pack("<4Q2I", seq, 5, 6, 7, verb, flags)
        else:
            yield struct.pack("<3Q2IHBB4s", seq, 6, 7, verb, flags, 40, 1, 5, b"x")


def sections(page):
    """Verbs -> the text of their section."""
    parts = re.split(r"^([a-z, ]+)\n=+\n", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def section(page, verb):
    """The section of a verb."""
    for verbs, text in sections(page).items():
        if verb in verbs.split(", "):
            return text
    sys.exit(f"no section of {verb}")


def words(text):
    """The fields in a text."""
    return set(re.findall(r"``([a-z_]+)``", text))


def required(text):
    """The fields at the beginning of each bullet."""
    bullets = re.findall(r"^\* (.*?)(?=^\*|^$|\Z)", text, re.MULTILINE | re.DOTALL)
    return set().union(*(words(bullet.split(":")[0]) for bullet in bullets))


def objects(text):
    """The values of a text, one after the other."""
    at = 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        value, at = json.JSONDecoder().raw_decode(text, at)
        yield value


def fields(value):
    """Those of a value, and of all in it."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        if isinstance(name, str):
            yield name
        if name not in FREE:
            yield from fields(inner)


def compare(path, verb, output):
    """The differences."""
    with open(path, encoding="utf-8") as page:
        text = section(page.read(), verb)
    got = set(fields(list(objects(output))))
    return [f"{name}: not in the page" for name in sorted(got - words(text))] + \
        [f"{name}: in the page only" for name in sorted(required(text) - got)]


def main():
    """See above."""
    command, *rest = sys.argv[1:]
    if command == "SNAPSHOT":
        sys.stdout.buffer.write(snapshot())
    elif command == "CHANGES":
        sys.stdout.buffer.writelines(changes(*rest))
    elif command == "VERBS":
        with open(rest[0], encoding="utf-8") as page:
            print(*sections(page.read()), sep="\n")
    else:
        print(*compare(*rest, sys.stdin.read()), sep="\n", end="")


if __name__ == "__main__":
    main()
