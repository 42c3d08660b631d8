# SPDX-License-Identifier: GPL-2.0
"""The claims of the papers about power cuts, recovery and concurrent readers, and the verdicts.

scripts/verdicts replays the evidence and writes Documentation/verdicts.rst. A replay is the line that
`crashes` prints for a fault: space, state before, operation, number of the crash point, and the words
that persisted; a change of a protocol may need a new one: run the space with the mistake
(CRAB_MUTANT=NUMBER out/host/fast/mutated SPACE).
"""

import collections

Claim = collections.namedtuple("Claim", "id paper where title text verdict because evidence repair")

Mistake = collections.namedtuple("Mistake", "design replay story")
Model = collections.namedtuple("Model", "model replay story")
Space = collections.namedtuple("Space", "space")
Race = collections.namedtuple("Race", "race")
Command = collections.namedtuple("Command", "command")

HOLDS = "Holds"
HOLDS_L = "Holds under model L"
FAILS = "Does not hold"

PAPERS = {
    "crab": "Crab-tree (Wang, Chattopadhyay, Brihadiswarn 2020)",
}

CLAIMS = [
    Claim("crab-values", "crab", "sections 4.1 and 4.5", "torn shifts are recognised by duplicate values",
          """A node never holds a value twice, so a shift that was cut is recognised by two equal
          neighbouring values, and recovery closes the gap.""",
          FAILS,
          """Values are words of the user, and two keys may have the same one. The rule then removes a
          record that was never shifted.""",
          [Mistake("shift: the left of two equal neighbouring values is void",
                   "sorted-sip-5x3x3 010000010000 put,1,0 2 cut cut,2147485704:1,2056:1",
                   "Key 0 has value 0. Key 1 is inserted with the same value, and the cut keeps all of it")],
          """Keys are unique: of two equal neighbouring *keys* the left one is void. One rule for both
          directions, without a restriction on values."""),
    Claim("crab-nulls", "crab", "sections 4.4 and 4.5", "null values mark the end of a node",
          """A vacated slot gets a null value, and recovery counts the values that are not null.""",
          FAILS,
          """Zero is a value like any other, and the tests of the model store it. Here the reserved key ends a node, and the media holds no count
          of records.""",
          [Command("make host"), Space("sorted-sip-5x3x3")],
          """Records end at the first reserved key; the end moves first where an append would reveal old
          slots. The line and the fence of the counter are saved."""),
    Claim("crab-shift", "crab", "section 4.2", "shifts in place are crash consistent",
          """In-place shifts need no fence within a cache line, only an order of the stores; each write ends
          with an atomic store of 8 bytes.""",
          HOLDS_L,
          """It relies on the order of stores to one line. Where the words of a line persist in any order, a
          cut in the first insert of all shows a record with a value that was never stored.""",
          [Space("sorted-sip-5x3x3"),
           Model("word", "sorted-sip-5x3x3 00000000 put,0,0 2 cut cut,2054:1",
                 "Under model W the key persists, and its value does not")],
          """None is worth its cost: a fence for each record. ``sorted`` states that it needs model L."""),
    Claim("crab-split", "crab", "section 4.2", "a split in place is crash consistent",
          """The larger half is copied to a new leaf with a batched flush; then the number of records in
          the original leaf is reduced; then the new leaf is linked.""",
          FAILS,
          """A cut between the two leaves the upper half in no leaf of the list.""",
          [Mistake("split in place: the old leaf is ended before the fresh one is linked",
                   "sorted-sip-5x4x7 0101000500000100020003000500 put,4,0 1 cut cut,2058:1",
                   "A full leaf of five records; the insert of another one splits it")],
          """Link the new leaf first, durably; the upper half is then in both leaves, and void in the
          left one, because it is not below the lowest key of the next leaf. Then end the old leaf."""),
    Claim("crab-copy", "crab", "section 4.2", "copy on write leaves the old leaf or the new one",
          """A copy ends with one atomic store to the left neighbour's pointer, so a cut leaves the
          original leaf or the new one.""",
          HOLDS,
          """Under model W as well, if the copy is durable before the pointer is stored.""",
          [Space("sorted-cow-5x3x3")], None),
    Claim("crab-leak", "crab", "section 4.5", "leaves are not leaked",
          """The addresses of the leaves of a copy on write can be recorded, and recovery reclaims those that
          are not in the list.""",
          HOLDS,
          """No record is needed: all leaves belong to the store's own pool, and a leaf is free if the list does
          not reach it. Every explored state is compared with that rule.""",
          [Space("slotted-2x5x3")], None),
]
