#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""generate.py [--races] OUT FILE... - sources in which one mistake can be switched on at run time.

Finds every statement that stores, cleans, orders or fences, every compare-and-swap, and every call
of a function that does, in files of crabtree_mod, and writes copies below OUT in which each of them can be
left out, weakened, aimed elsewhere or exchanged with the next, and in which each mistake of design
(design.py) can be made. OUT/table.h numbers them; which one is made is chosen by crab_mutant
(mutant.h).

A statement keeps its line. Two statements are not exchanged if the media cannot show the difference:
two stores in a row, for example, persist in any order.

With --races the mistakes are those that only two threads show, and no others.
"""

import collections
import os
import re
import sys

sys.dont_write_bytecode = True  # nothing is written into the source tree
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import mistakes
import source

MODULE = os.path.join(ROOT, "crabtree_mod")
FROM_HOST = os.path.relpath(MODULE, os.path.join(ROOT, "tools/host"))   # where they are compiled

# Effects of the primitives of L1
EFFECTS = {"crab_store": {"store"}, "crab_store_pair": {"store"}, "crab_store_line": {"store"}, "crab_clean": {"clean"},
           "crab_clean_word": {"clean"}, "crab_order": {"order"}, "crab_fence": {"fence"},
           "crab_cas": {"store", "order"}, "crab_cas_pair": {"store", "order"}}
# Functions that report whether they swapped: expressions, not statements
SWAPS = {"crab_cas", "crab_cas_pair", "ea_swap"}
# Neighbours that may be exchanged without any difference
ALIKE = [{"store"}, {"clean", "order"}, {"order", "fence"}]

# Not a call through a pointer, whose name may be that of some function
CALL = re.compile(r"(?<!->)(?<!\.)\b([a-z_]\w*)\s*\(")
SIMPLE = re.compile(r"\s*(?!(?:return|goto|break|continue|if|for|while|do|switch|case|default|else)\b)"
                    r"[A-Za-z_*(+-][^;{}]*;")

# The end of the code before a statement; not the colon of ? :
BEFORE = re.compile(r"[;{})]$|\belse$|(?:^|[;{}])[^?;{}]*:$")

Mutant = collections.namedtuple("Mutant", "file function text kind lines")
Statement = collections.namedtuple("Statement", "begin end name effects free function")


class Table:
    """All mutants; their numbers begin with 1."""

    def __init__(self):
        self.mutants = []

    def add(self, file, function, text, kinds):
        """Add the mutants of a text, as (kind, lines that it needs); return the first number."""
        first = len(self.mutants) + 1
        self.mutants += [Mutant(file, function, text, kind, lines) for kind, lines in kinds]
        return first


def squeeze(text):
    """A piece of code on one line."""
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)).strip().rstrip(";")


def calls(code):
    """Names that are called in a piece of code."""
    return {match.group(1) for match in CALL.finditer(code)}


def effects_of_functions(codes):
    """Function -> its effects on the media, by itself or by the functions that it calls."""
    bodies = {f.group("name"): calls(f.group("body")) for code in codes
              for f in source.functions(code)}
    effects = {name: set() for name in bodies} | EFFECTS
    while True:
        before = sum(map(len, effects.values()))
        for name, called in bodies.items():
            effects[name] = effects[name].union(*(effects.get(c, set()) for c in called))
        if sum(map(len, effects.values())) == before:
            return {name: does for name, does in effects.items() if does}


def calls_with_effect(code, effects):
    """Each call with an effect, in order, and whether it is a statement."""
    for function in source.functions(code):
        begin, end = function.span("body")
        for call in CALL.finditer(code, begin, end):
            if call.group(1) not in effects:
                continue
            before = code[begin:call.start()].rstrip()
            behind = source.argument_end(code, call.end() - 1)
            alone = code[behind:behind + 1] == ";" and (not before or bool(BEFORE.search(before)))
            free = not before or before[-1] in ";{}"
            yield Statement(call.start(), behind + 1, call.group(1), effects[call.group(1)], free,
                            function.group("name")), alone


def statements(code, effects):
    """Each statement that is one call with an effect, in order."""
    return [call for call, alone in calls_with_effect(code, effects) if alone]


def swaps(code, effects):
    """Each compare-and-swap in an expression, which uses its result."""
    return [call for call, alone in calls_with_effect(code, effects) if not alone and call.name in SWAPS]


def runs(code, found):
    """Lists of statements of one block with only plain statements between them."""
    begins = {s.begin: s for s in found}
    at = 0
    for first in found:
        if first.begin < at or not first.free:
            continue
        run, at = [first], first.end
        while True:
            plain = SIMPLE.match(code, at)
            if not plain:
                break
            begin = at + len(plain.group()) - len(plain.group().lstrip())
            at = plain.end()
            if begin in begins:
                run.append(begins[begin])
        if len(run) > 1:
            yield run


def arguments(text, statement):
    """The arguments of a call, as text."""
    inner = text[text.index("(", statement.begin) + 1:statement.end - 2]
    parts, depth, last = [], 0, 0
    for at, c in enumerate(inner):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(c, 0)
        if c == "," and not depth:
            parts.append(inner[last:at])
            last = at + 1
    return [squeeze(p) for p in parts + [inner[last:]]]


def alternatives(text, statement):
    """The mutants of one statement: (kind, lines that the clean must have, code)."""
    args = arguments(text, statement)
    yield "left out", 0, ""
    if statement.name == "crab_fence":
        yield "a store barrier instead", 0, f"crab_order({args[0]});"
    if statement.name == "crab_clean_word":
        yield "of the wrong line", 0, f"crab_mutant_clean({', '.join(args)}, sizeof(__le64), CRAB_MUTANT_WRONG);"
    if statement.name == "crab_clean":
        for kind, lines, which in (("of the wrong line", 0, "WRONG"), ("first line left out", 2, "NOT_FIRST"),
                                   ("last line left out", 2, "NOT_LAST"),
                                   ("a line within left out", 3, "NOT_WITHIN")):
            yield kind, lines, f"crab_mutant_clean({', '.join(args)}, CRAB_MUTANT_{which});"
    if statement.name == "crab_store_pair":
        flow, place, first, second = args
        yield "two stores instead", 0, f"crab_store({flow}, ({place}) + 1, {second}); " \
            f"crab_store({flow}, {place}, {first});"


def swap_alternatives(text, swap):
    """The mutants of a compare-and-swap in an expression: (kind, code). Each reports that it swapped."""
    args = arguments(text, swap)
    yield "left out", f"({args[2]})" if swap.name == "crab_cas" else "true"
    if swap.name == "crab_cas_pair":
        flow, place, _, first, second = args
        yield "two stores instead", f"(crab_store({flow}, ({place}) + 1, {second}), " \
            f"crab_store({flow}, {place}, {first}), true)"


def exchanges(text, run):
    """The mutants of the order in a run of statements: (text to print, kind, code)."""
    def swapped(i, j):
        a, b = run[i], run[j]
        return text[run[0].begin:a.begin] + text[b.begin:b.end] + text[a.end:b.begin] + \
            text[a.begin:a.end] + text[b.end:run[-1].end]

    def told(i, j):
        return f"{squeeze(text[run[i].begin:run[i].end])} / {squeeze(text[run[j].begin:run[j].end])}"

    for i in range(len(run) - 1):
        both = run[i].effects | run[i + 1].effects
        same = squeeze(text[run[i].begin:run[i].end]) == squeeze(text[run[i + 1].begin:run[i + 1].end])
        if not same and not any(both <= alike for alike in ALIKE):
            yield told(i, i + 1), "exchanged", swapped(i, i + 1)
        if i + 2 < len(run) and [r.effects for r in run[i:i + 3]] == [{"store"}, {"order"}, {"store"}]:
            yield told(i, i + 2), "exchanged", swapped(i, i + 2)


class File:
    """One source and the insertions in its copy: begin, end, code before and after."""

    def __init__(self, path):
        self.path = path
        self.text = source.read(MODULE, path)
        self.code = source.code_of(self.text)
        self.insertions = []

    def wrap(self, begin, end, before, behind):
        """Put code around a piece of text; it has no newline, so line numbers do not change."""
        for b, e, _, _ in self.insertions:
            if b < begin < e < end or begin < b < end < e:
                sys.exit(f"{self.path}: {squeeze(self.text[begin:end])!r} crosses "
                         f"{squeeze(self.text[b:e])!r}: take more or less of it")
        self.insertions.append((begin, end, before, behind))

    def switch(self, begin, end, first, codes):
        """Run the original text or one of @codes."""
        cases = "".join(f" case {i}: {squeeze(code)}{';' if squeeze(code) else ''} break;"
                        for i, code in enumerate(codes, 1))
        self.wrap(begin, end, f"switch (crab_mutant_at({first}, {len(codes)})) {{ default: ",
                  f" break;{cases} }}")

    def add_statements(self, table, effects):
        """Mutants of statements and of their order."""
        found = statements(self.code, effects)
        for run in runs(self.code, found):
            changed = list(exchanges(self.text, run))
            for what, kind, _ in changed:
                table.add(self.path, run[0].function, what, [(kind, 0)])
            if changed:
                self.switch(run[0].begin, run[-1].end, len(table.mutants) - len(changed) + 1,
                            [code for _, _, code in changed])
        for s in found:
            options = list(alternatives(self.text, s))
            first = table.add(self.path, s.function, squeeze(self.text[s.begin:s.end]),
                              [(kind, lines) for kind, lines, _ in options])
            args = arguments(self.text, s)
            self.switch(s.begin, s.end, first, [code for _, _, code in options])
            if s.name == "crab_clean":
                self.wrap(s.begin, s.end, f"crab_mutant_lines({first}, {len(options)}, {args[1]}, {args[2]}); ", "")
            if s.name == "crab_fence":
                self.wrap(s.begin, s.end, f"crab_mutant_fenced({args[1]}); ", "")

    def add_swaps(self, table, effects):
        """Mutants of compare-and-swaps in expressions."""
        for swap in swaps(self.code, effects):
            options = list(swap_alternatives(self.text, swap))
            first = table.add(self.path, swap.function, squeeze(self.text[swap.begin:swap.end - 1]),
                              [(kind, 0) for kind, _ in options])
            cases = "".join(f"crab_mutant_at({n}, 1) ? {code} : " for n, (_, code) in enumerate(options, first))
            self.wrap(swap.begin, swap.end - 1, f"({cases}", ")")

    def add_design(self, number, edit):
        """One edit of a design mistake."""
        at = self.text.find(edit.old)
        if at < 0 or self.text.find(edit.old, at + 1) >= 0:
            sys.exit(f"a design: {self.path}: {edit.old!r} is there "
                     f"{'more than once' if at >= 0 else 'no more'}: give this mistake another place")
        end = at + len(edit.old)
        if edit.old.endswith(";"):
            self.wrap(at, end, f"if (crab_mutant_at({number}, 1)) {{ {squeeze(edit.new)}; }} else {{ ", " }")
        else:
            self.wrap(at, end, f"(crab_mutant_at({number}, 1) ? ({squeeze(edit.new)}) : (", "))")

    def copy(self):
        """The text with all insertions."""
        marks = []
        for order, (begin, end, before, behind) in enumerate(self.insertions):
            size = end - begin
            marks.append((begin, 1, -size, order, before))
            marks.append((end, 0, size, -order, behind))
        marks.sort()
        parts, at = [f'#include "mutant.h"\n#undef pr_fmt\n#line 1 "{FROM_HOST}/{self.path}"\n'], 0
        for where, _, _, _, code in marks:
            parts += [self.text[at:where], code]
            at = where
        return "".join(parts) + self.text[at:]


def quote(text):
    """A C string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def justify(mutants):
    """Number -> why this mutant does no harm; exits if a reason has no mutant any more."""
    reasons = {}
    for where, text, kind, why in mistakes.HARMLESS:
        numbers = [n for n, m in enumerate(mutants, 1)
                   if (m.function, m.text, m.kind) == (where, text, kind)]
        if not numbers:
            sys.exit(f"HARMLESS: there is no mutant {where}: {text}: {kind} any more")
        reasons.update(dict.fromkeys(numbers, why))
    return reasons


def add_designs(files, table, chosen):
    """Add the mistakes of design."""
    for design in chosen:
        number = table.add(design.edits[0].path, "", design.what, [("design", 0)])
        for edit in design.edits:
            files[edit.path].add_design(number, edit)


def add_all_statements(files, table):
    """Add the mutants of every statement that has an effect on the media."""
    effects = effects_of_functions([f.code for f in files.values()])
    for path, file in files.items():
        if path.endswith(".c"):     # a header only leads from a statement to its effect
            file.add_statements(table, effects)
            file.add_swaps(table, effects)


def main(out, paths, is_races):
    """Write the copies and the table below @out."""
    files = {path: File(path) for path in sorted(paths)}
    table = Table()
    add_designs(files, table, mistakes.RACES if is_races else mistakes.DESIGNS)
    if not is_races:
        add_all_statements(files, table)
    why = {} if is_races else justify(table.mutants)
    for path, file in files.items():
        if is_races or path.endswith(".c"):
            source.write_if_changed(os.path.join(out, path), file.copy())
    rows = "".join(f"\t{{ {quote(m.file)}, {quote(m.function)}, {quote(m.text)}, {quote(m.kind)}, "
                   f"{m.lines}, {quote(why[n]) if n in why else 'NULL'} }},\n"
                   for n, m in enumerate(table.mutants, 1))
    source.write_if_changed(os.path.join(out, "table.h"), rows)


if __name__ == "__main__":
    ARGS = [arg for arg in sys.argv[1:] if arg != "--races"]
    main(ARGS[0], ARGS[1:], "--races" in sys.argv)
