#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""readme.py TOP DIR - take the examples of the documentation apart, into files of a folder.

terminal.sh has the commands of the README's terminal, terminal.out their output, example.c a program
of its lines in C, example.py those in Python; page.* are the examples of the page of languages. An
example that is not there is an error.
"""

import os
import re
import sys

README, PAGE = "README.md", "Documentation/userspace-api/languages.rst"


def block(page, start):
    """The indented block of a page that begins so."""
    with open(os.path.join(sys.argv[1], page), encoding="utf-8") as f:
        text = f.read()
    match = re.search(rf"^(    {re.escape(start)}.*\n(?:(?:    .*)?\n)*)", text, re.MULTILINE)
    if not match:
        sys.exit(f"{page}: there is no example that begins with {start!r}")
    return [line[4:] for line in match.group(1).strip("\n").split("\n")]


def main():
    """Write the files."""
    terminal, code = block(README, "$ crabctl"), block(README, "#include <crabtree.h>")
    files = {
        "terminal.sh": [line[2:] for line in terminal if line.startswith("$ ")],
        "terminal.out": [line for line in terminal if not line.startswith("$ ")],
        "example.c": ["#include <stdio.h>", code[0], "int main(void)", "{", *code[1:],
                      'printf("%lu\\n", value);', "return crabtree_close(ct);", "}"],
        "example.py": block(README, "import crabtree"),
        "page.py": block(PAGE, "import crabtree"),
        "page.rs": block(PAGE, "use crabtree"),
        "page.go": block(PAGE, "package main"),
    }
    for name, lines in files.items():
        with open(os.path.join(sys.argv[2], name), "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in lines)


main()
