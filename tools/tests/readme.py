#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""readme.py TOP DIR - take the examples of the documentation apart, into files of a folder.

terminal.sh has the commands of the README's terminal, terminal.out their output; minute.sh those of
its first minute, for an image, minute.out the first line of each output; example.c a program of its
lines in C, example.py those in Python; page.* are the examples of the page of languages; info.out
is the output of info that getting started shows; manual.c the example of libcrabtree(3), and event.c
and boot.c those of the page for drivers. An example that is not there is an error.
"""

import os
import re
import sys

README, PAGE = "README.md", "Documentation/userspace-api/languages.rst"
DRIVER, MANUAL = "Documentation/driver-api/crabtree.rst", "tools/man/libcrabtree.3"
STARTED = "Documentation/admin-guide/getting-started.rst"


def read(page):
    """The text of a page."""
    with open(os.path.join(sys.argv[1], page), encoding="utf-8") as f:
        return f.read()


def block(page, start, indent=4):
    """The indented block of a page that begins so."""
    blanks = " " * indent
    match = re.search(rf"^({blanks}{re.escape(start)}.*\n(?:(?:{blanks}.*)?\n)*)", read(page), re.MULTILINE)
    if not match:
        sys.exit(f"{page}: there is no example that begins with {start!r}")
    return [line[indent:] for line in match.group(1).strip("\n").split("\n")]


def manual():
    """The example of the manual of the library, as a program"""
    lines = re.search(r"^\.Sh EXAMPLES\n\.Bd -literal\n(.*?)^\.Ed", read(MANUAL), re.MULTILINE | re.DOTALL).group(1)
    return ["#include <crabtree.h>", "#include <err.h>", "#include <stdio.h>", "int main(void)", "{",
            *lines.replace(r"\en", r"\n").replace("/dev/crab0", "file:manual.img").splitlines(), "return err;", "}"]


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
        "damaged.py": ["import crabtree", "import sys", *block(PAGE, "def sound(records)"),
                       "print(len(list(sound(crabtree.open(sys.argv[1], readonly=True).scan(0, 2**64 - 2)))))"],
        "bank.py": ["import crabtree", *block(PAGE, 'with crabtree.create("bank.img"')],
        "manual.c": manual(),
        "event.c": block(DRIVER, "static struct crabtree *motor_tree", 3),
        "boot.c": block(DRIVER, "static int count_boot", 3),
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
