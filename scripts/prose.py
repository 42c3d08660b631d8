# SPDX-License-Identifier: GPL-2.0
"""Finds the prose of a file: comments, messages, documentation strings and manual pages.

paragraphs(path, text) yields blocks of prose. A block is a list of (line number, text) and
holds no code: literal blocks, inline literals, identifiers and quoted words are blanked.
"""

import io
import re
import tokenize

import source

WORDS = re.compile(r"[A-Za-z][a-z']+ ")
CODE = re.compile(r"->|==|;\s*$|;\n|\\[bdswS(.\[]|\{\s*\n|\$\(|</|/\*|^[\w.]+=")
INLINE = [
    re.compile(r"\{[^{}]*\}"),                                  # replacement fields
    re.compile(r"``[^`]*``|:[\w:]+:`[^`]*`|`[^`\n]*`"),         # literals and references
    re.compile(r"[\w./@%-]*[_/@(\[][\w./@%\[\]()>-]*"),         # names, paths, calls
    re.compile(r"\b\w+(?:\.(?:[chS]|py|sh|rst|md)\b|=|->\w+)"),   # files, fields, options
    re.compile(r"(?<!\w)--?\w[\w-]*"),                          # options
    re.compile(r"(?<![\w])\"[^\"\n]{1,80}\"|(?<!\w)'[^'\n]{1,60}'(?!\w)"),   # quotations
]


def without_code(line):
    """A line with the names and quotations in it replaced by a neutral word."""
    for pattern in INLINE:
        line = pattern.sub("X", line)
    return line


def blocks(lines):
    """Split (number, text) pairs into paragraphs: at blank lines and at list items."""
    block = []
    for number, text in lines:
        if not text.strip() or re.match(r"\s*(?:[-*+]|\d+[.)]|@\w+:|#\.)\s", text):
            if block:
                yield block
            block = []
        if text.strip():
            block.append((number, text))
    if block:
        yield block


def c_prose(text):
    """Comments, and strings of four or more words."""
    for match in source.TOKEN.finditer(text):
        token, first = match.group(), source.line_of(text, match.start())
        if token[0] == "/":
            body = re.sub(r"^/\*+|\*+/$|^//", "", token).split("\n")
            yield [(first + i, re.sub(r"^\s*\*( |$)", "", line)) for i, line in enumerate(body)]
        elif token[0] == '"' and len(WORDS.findall(token)) >= 3 and not CODE.search(token):
            yield [(first, re.sub(r"\\[nt]", " ", token[1:-1]))]


def python_prose(text):
    """Comments, documentation strings, and other strings of four or more words."""
    before, comment = tokenize.NEWLINE, []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind, string, (first, _) = token.type, token.string, token.start
        if kind == tokenize.COMMENT:
            comment.append((first, string.lstrip("#!")))
        elif kind != tokenize.NL and comment:
            yield comment
            comment = []
        if kind == tokenize.STRING:
            body = re.sub(r"^\w*(?:\"\"\"|'''|\"|')|(?:\"\"\"|'''|\"|')$", "", string)
            doc = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.NL)
            if doc or (len(WORDS.findall(body)) >= 3 and not CODE.search(body)):
                yield [(first + i, line) for i, line in enumerate(body.replace("\\n", " ").split("\n"))]
        if kind not in (tokenize.COMMENT, tokenize.NL):
            before = kind
    if comment:
        yield comment


def hash_prose(text):
    """Comments that begin with #, and messages in double quotes, of a script or a Makefile."""
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.match(r"\s*#(?!!)\s?(.*)|.*?\s#\s(.*)", line)
        if comment:
            yield number, comment.group(1) or comment.group(2) or ""
            continue
        for string in re.findall(r"\"([^\"]*)\"", line):
            if len(WORDS.findall(string)) >= 3 and not CODE.search(string):
                yield number, ""
                yield number, string
        yield number, ""


def marked_prose(text, indented):
    """Text of a page of rst (@indented: a literal block follows "::") or of markdown."""
    literal, fence, blank = None, False, True
    for number, line in enumerate(text.split("\n"), 1):
        indent = len(line) - len(line.lstrip())
        if line.strip().startswith("```"):
            fence = not fence
        elif line.strip() and literal is not None and indent <= literal:
            literal = None
        elif not indented and literal is None and blank and indent >= 4:
            literal = indent - 1
        skip = fence or literal is not None or re.match(r"\s*(?:\.\. |:\w+:|\+[-=+]+|[=~^-]{4,}\s*$)", line)
        yield number, "" if skip or not line.strip() else line.replace("**", "").replace("|", " ")
        blank = not line.strip()
        if indented and literal is None and re.search(r"::\s*$", line) and \
           not re.match(r"\s*\.\. (?:note|warning|list-table|table|figure|tip|important)", line):
            literal = indent


def roff_prose(text):
    """Text of a manual page."""
    example = False
    for number, line in enumerate(text.split("\n"), 1):
        macro = re.match(r"[.'](\w*)", line)
        if macro and macro.group(1) in ("EX", "nf"):
            example = True
        elif macro and macro.group(1) in ("EE", "fi"):
            example = False
        if macro and macro.group(1) in ("B", "I", "BR", "IR", "RB", "RI", "BI", "IB"):
            line = "X"
        yield number, "" if example or line[:1] in (".", "'") else re.sub(r"\\f[BI].*?\\f[RP]", "X", line)


def litmus_prose(text):
    """Comments in (* *)."""
    for match in re.finditer(r"\(\*.*?\*\)|//[^\n]*", text, re.DOTALL):
        first = source.line_of(text, match.start())
        yield [(first + i, re.sub(r"^\s*\(?\*+\)?", "", line))
               for i, line in enumerate(match.group().split("\n"))]


def plain(text):
    """All lines."""
    return enumerate(text.split("\n"), 1)


def texts(path, text):
    """Lists of (line number, text) of the prose in a file; none for a file without any."""
    name, start = path.rsplit("/", 1)[-1], text[:80]
    if name.endswith((".c", ".h", ".S", ".cc", ".cpp", ".dts", ".dtsi")):
        return c_prose(text)
    if name.endswith(".py") or re.match(r"#!.*python", start):
        return python_prose(text)
    if name.endswith((".litmus", ".cat")):
        return litmus_prose(text)
    if name.endswith((".rst", ".md")):
        return [list(marked_prose(text, name.endswith(".rst")))]
    if re.search(r"\.[1-8]$", name):
        return [list(roff_prose(text))]
    if name == "Kconfig" or name.startswith("sysfs-") or name.endswith(".yaml"):
        return [list(plain(text))]
    if name.endswith((".sh", ".mk", ".rules", ".service", ".conf", ".bash", ".expect")) or \
       name in ("Makefile", "Kbuild", "expected", "crabctl") or re.match(r"#!", start):
        return [list(hash_prose(text))]
    return []


def paragraphs(path, text):
    """The prose of a file, in paragraphs of (line number, text)."""
    for lines in texts(path, text):
        yield from blocks([(number, without_code(line)) for number, line in lines
                           if "SPDX-License" not in line])
