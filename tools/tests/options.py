#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""options.py CRABCTL MAIN.C CRABCTL.1 - compare the options of each verb in its --help with the manual.

A synopsis has the long name of an option, or only its letter; some text of the page has each long name."""

import re
import subprocess
import sys


def items(page):
    """The text of each verb in the page, with its synopsis."""
    verbs, depth, verb = {}, 0, None
    for line in page.partition("\n.Sh VERBS\n")[2].partition("\n.Sh ")[0].split("\n"):
        depth += line.startswith(".Bl") - line.startswith(".El")
        found = re.match(r"\.It (?:Xo )?Cm ([a-z]+)", line)
        if depth == 1 and found:
            verb = found[1]
        if verb:
            verbs.setdefault(verb, []).append(line)
    return verbs


def synopsis(lines):
    """The first line, or those up to .Xc."""
    end = lines.index(".Xc") if ".Xc" in lines else 1
    return "\n".join(lines[:end])


def help_of(crabctl, verb):
    """Long names of options -> their letters, or None."""
    text = subprocess.run([crabctl, verb, "--help"], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^ {2,6}(?:-(.), )?--([a-z-]+)", text.partition("Target and output:")[0], re.MULTILINE)
    return {name: letter for letter, name in found}


def wrong(verb, options, lines, names):
    """The differences of a verb."""
    head = synopsis(lines)
    letters = "".join(re.findall(r"Fl ([a-z]+)", head))
    for name, letter in options.items():
        if f"Fl \\-{name}" not in head and (not letter or letter not in letters):
            yield f"{verb}: the synopsis lacks --{name}"
        if name not in names:
            yield f"{verb}: the manual lacks --{name}"
    for name in re.findall(r"Fl \\-([a-z-]+)", head):
        if name not in options:
            yield f"{verb}: --help lacks --{name}"


def main():
    """See above."""
    crabctl, source, manual = sys.argv[1:]
    with open(manual, encoding="utf-8") as page:
        page = page.read()
    names = set(re.findall(r"(?:\\-\\-|Fl \\-)([a-z-]+)", page))
    with open(source, encoding="utf-8") as text:
        verbs = re.findall(r'^\t{ "([a-z]+)", verb_', text.read(), re.MULTILINE)
    verbs_of_page = items(page)
    found = [one for verb in verbs for one in wrong(verb, help_of(crabctl, verb), verbs_of_page.get(verb, [""]), names)]
    print(*found, sep="\n", end="")
    return bool(found) or not verbs


if __name__ == "__main__":
    sys.exit(main())
