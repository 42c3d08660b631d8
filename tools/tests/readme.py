#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""readme.py TOP DIR - take the examples of the documentation apart, into files of a folder.

terminal.sh has the commands of the README's terminal, terminal.out their output; minute.sh those of
its first minute, for an image, minute.out the first line of each output; example.c a program of its
lines in C, example.py those in Python; page.* are the examples of the page of languages; info.out
is the output of info that getting started shows. An example that is not there is an error.
"""

import os
import re
import sys

README, PAGE = "README.md", "Documentation/userspace-api/languages.rst"
STARTED = "Documentation/admin-guide/getting-started.rst"


def block(page, start):
    """The indented block of a page that begins so."""
    with open(os.path.join(sys.argv[1], page), encoding="utf-8") as f:
        text = f.read()
    match = re.search(rf"^(    {re.escape(start)}.*\n(?:(?:    .*)?\n)*)", text, re.MULTILINE)
    if not match:
        sys.exit(f"{page}: there is no example that begins with {start!r}")
    return [line[4:] for line in match.group(1).strip("\n").split("\n")]


def minute():
    """The first minute, with an image in place of the device: (commands, first lines of the output)"""
    pairs = [re.match(r"crabctl (\w+)([^#]*?) *(?:# (.*))?$", line).groups() for line in block(README, "make modules tools")
             if line.startswith("crabctl ")]
    commands = [f"crabctl --image minute.img {verb}{' --size=16M' * (verb == 'format')}{rest} >all; head -n 1 all"
                for verb, rest, _ in pairs]
    return commands, [output.replace("/dev/crab0:", "minute.img:") for _, _, output in pairs if output]


def main():
    """Write the files."""
    terminal, code = block(README, "$ crabctl"), block(README, "#include <crabtree.h>")
    files = {
        "terminal.sh": [line[2:] for line in terminal if line.startswith("$ ")],
        "terminal.out": [line for line in terminal if not line.startswith("$ ")],
        "minute.sh": minute()[0],
        "minute.out": minute()[1],
        "example.c": ["#include <stdio.h>", code[0], "int main(void)", "{", *code[1:],
                      'printf("%lu\\n", value);', "return crabtree_close(ct);", "}"],
        "example.py": block(README, "import crabtree"),
        "info.out": block(STARTED, "device       /dev/crab0"),
        "page.py": block(PAGE, "import crabtree"),
        "names.py": ["import crabtree", *block(PAGE, 'with crabtree.create("plc.img"')],
        "page.rs": block(PAGE, "use crabtree"),
        "names.rs": block(PAGE, "fn run(store"),
        "page.go": block(PAGE, "package main"),
        "names.go": block(PAGE, "func run(store"),
    }
    for name, lines in files.items():
        with open(os.path.join(sys.argv[2], name), "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in lines)


main()
