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
Load = collections.namedtuple("Load", "design load story")
Model = collections.namedtuple("Model", "model replay story")
Space = collections.namedtuple("Space", "space")
Race = collections.namedtuple("Race", "race")
History = collections.namedtuple("History", "history story")
Command = collections.namedtuple("Command", "command")

HOLDS = "Holds"
HOLDS_L = "Holds under model L"
HOLDS_E = "Holds under model E"
FAILS = "Does not hold"

PAPERS = {
    "crab": "Crab-tree (Wang, Chattopadhyay, Brihadiswarn 2020)",
    "nvtree": "NV-Tree (Yang, Wei, Chen, Wang, Yong, He 2015)",
    "fastfair": "FAST and FAIR (Hwang, Kim, Won, Nam 2018)",
    "clfb": "clfB-tree (Kim, Seo, Kim, Nam 2018)",
    "nbtree": "NBTree (Zhang, Zheng, Nie, Qi, Chen, Huang, Mei 2024)",
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
    Claim("nvtree-append", "nvtree", "section 3.2.3", "an append is consistent without a log",
          """An element is appended and flushed, then the number of elements is stored and flushed: an
          element is visible only after the number includes it.""",
          HOLDS,
          """Under model W: nothing reads beyond the number, and it is one word. A key, a value and a sign of
          any value fit in three words of a line.""",
          [Space("nvtree-2x4x3")], None),
    Claim("nvtree-negatives", "nvtree", "section 3.2.3", "an element and its negative cancel",
          """An update appends the negative of the old value and the new one; a search ignores a value that
          has a negative.""",
          FAILS,
          """A record that is deleted and inserted again with the same value is ignored as well, and so is an
          update to the value that is there already.""",
          [Load("nvtree: a record is ignored if it has a negative with the same value", "load-nvtree-512",
                "A key is inserted, deleted, and inserted again with the same value: the leaf shows no record")],
          """The newest element of a key decides. An update then appends one element instead of two; the
          option ``pairs`` appends both."""),
    Claim("nvtree-split", "nvtree", "section 3.2.4", "a full leaf is replaced by an atomic pointer",
          """Split, replacement and merge write new leaves and change the pointer of the left neighbour.""",
          HOLDS,
          """Under model W, if the new leaves are durable before the pointer is stored. The paper has no rule for
          a left neighbour that is replaced at the same time: here one mutex serialises these changes.""",
          [Space("nvtree-3x3x3")], None),
    Claim("nvtree-full", "nvtree", "section 3.2.4", "deletes and updates are appended like inserts",
          """Both are implemented as an insertion; a full leaf with enough valid elements is split.""",
          FAILS,
          """A split needs two free leaves, so a delete or an update in a full store fails for want of space, and
          the store stays full.""",
          [Mistake("nvtree: a delete in a full leaf splits it",
                   "nvtree-full 010100020000010002010200 put,0,0 0 cut cut",
                   "Three keys in three leaves; an update of one of them returns ENOSPC")],
          """A delete or an update in a full leaf replaces the leaf by one, without the elements that do not
          count any more; one leaf always remains free."""),
    Claim("nvtree-recovery", "nvtree", "section 3.2.6", "the list of leaves is enough to recover",
          """The inner nodes are rebuilt from the list of leaves after a power cut.""",
          HOLDS,
          """The list is never broken: a leaf is linked by one word.""",
          [Space("nvtree-survive")], None),
    Claim("nvtree-separators", "nvtree", "section 3.2.6", "the largest key of a leaf is its separator",
          """A rebuild after a failure scans each leaf for its largest key, and takes that as the separator.""",
          FAILS,
          """A leaf of deleted keys has none, and a leaf whose outermost key was deleted has another one than
          before: its range shrinks, and a key that is inserted later can be in the range of another leaf.""",
          [Mistake("nvtree: the lowest key of a leaf is that of its first record, as of a scan",
                   "nvtree-2x4x3 0101000200000020 put,1,0 0 cut cut",
                   "The first key of a leaf was deleted. Another one is inserted, and the leaf is split")],
          """The lowest key of a leaf is in its header, and does not change while the leaf is in use. Attach
          then needs no scan for it."""),
    Claim("nvtree-leak", "nvtree", "section 4.7", "no memory is lost by a failure",
          """Leaves that were allocated before a failure, and not linked, are not lost.""",
          HOLDS,
          """The paper names no mechanism. Here all leaves belong to the store's own pool, and a leaf is free if
          the list does not reach it: every explored state is compared with that rule.""",
          [Space("nvtree-full")], None),
    Claim("nvtree-readers", "nvtree", "section 3.2.3", "readers are bounded by the number of elements",
          """Searches of leaves and parent nodes take no latch: the number of elements bounds them.""",
          FAILS,
          """The number is visible before it is durable, so that a reader can return a record that a power cut
          takes back. And the entries of a parent node shift while a reader searches them.""",
          [Race("nvtree: a search reads up to the count on the media, which may not be durable"),
           Race("nvtree: a search ignores that the parent node changed")],
          """A second number in memory, increased after the fence of the first; a sequence count for each
          parent node."""),
    Claim("nvtree-tests", "nvtree", "section 4.7", "thousands of kills and power cuts find nothing",
          """The process is killed and the power is cut a few thousand times; each time the tree recovers.""",
          "Shows no fence",
          """A kill keeps the caches, and few lines are in flight at a power cut. A lost fence shows in one
          image of many: here in one of those that a single insert can leave.""",
          [Mistake("nvtree: a fresh leaf is linked before it is durable",
                   "nvtree-2x4x3 0101000200000000 put,0,0 3 cut cut,1024:1",
                   "A split without its fence. Only the image in which the link persists alone is damaged")],
          """Every image of every crash point of every state of a small store."""),
    Claim("nvtree-instant", "nvtree", "sections 3.2.6 and 4.7", "recovery after a normal stop is instant",
          """A normal stop flushes the inner nodes, then the pointer to the root and a flag; the next start resets the
          flag, and uses the inner nodes as they are.""",
          "Holds with a crc and a fence",
          """Root and flag are two words: here they are one superblock with a crc, in which the root is 0 before the
          first operation. An earlier list of the same births can stand where the new one is written, so a
          fence is needed before the superblock names it. The option ``instant`` of test builds does that. By
          default attach reads every leaf, because no other way finds damage before it is served.""",
          [Space("nvtree-instant"),
           Mistake("nvtree, instant: the root stays in the superblock of an attached store, and is believed",
                   "nvtree-instant 0001010000 put,0,1 4 cut cut,2054:1",
                   "An empty store was detached. Key 0 is inserted; the next attach counts no record"),
           Mistake("nvtree, instant: the parked entries are not durable before the superblock names them",
                   "nvtree-instant 0000000000 detach,0,0 6 cut cut,1:1,2:1,18:1",
                   "An empty store is detached. The superblock persists, and names a block of an earlier detach")],
          None),
    Claim("nvtree-rebuild", "nvtree", "sections 3.2.5 and 4.7", "the cost of a rebuild is negligible",
          """Rebuilding takes less than a hundredth of the time of the inserts.""",
          "Holds for uniform keys, not for ascending ones",
          """After a rebuild each parent node has one pointer, so a few thousand ascending keys fill the last one
          again.""",
          [Command("make paper PAPER=nvtree")],
          """Several pointers in a parent node (option ``pack``), chosen where most splits are at the end of the
          tree."""),
    Claim("fastfair-values", "fastfair", "section 3.1", "duplicate pointers reveal a cut shift",
          """The pointers of a node are unique, so a key between two equal pointers is ignored.""",
          FAILS,
          """Values are words of the user. Two keys with the same value look like a shift that was cut.""",
          [Mistake("fastfair: the left of two equal neighbouring values is void",
                   "fastfair-2x3x3 0100010100010000 put,1,0 0 cut cut",
                   "Key 0 has a value; key 1 gets the same value, and the left record is taken for a trace")],
          """Keys are unique: of two equal neighbouring *keys* the left one is void. Zero is a value like any
          other; the reserved key ends a node."""),
    Claim("fastfair-routing", "fastfair", "section 3.1, Algorithm 1", "the sibling's first key routes a search",
          """A search and an insert go to the right sibling if the key is not below its first key.""",
          FAILS,
          """The first record of a sibling can be deleted. Keys between the entry of the sibling and its first key are
          then in two nodes.""",
          [Mistake("fastfair: a leaf is found by its first key, as published",
                   "fastfair-2x3x3 000001010000 put,1,0 0 cut cut",
                   "One insert into a leaf")],
          """The lowest key of a node is in its header, and does not change while the node is in use."""),
    Claim("fastfair-readers", "fastfair", "sections IV and 4.1", "searches without a lock are read uncommitted",
          """A search without a lock may read a record that is not durable yet; with locks in leaves it is
          serializable.""",
          "Holds, and is too little",
          """A record that a reader acted on can vanish in a power cut.""",
          [Race("fastfair: readers see a value before it is durable, as published")],
          """The sequence of a leaf is odd until the fence, and a reader validates by it: it returns durable records
          only, and takes no lock. The option ``leaf_locks`` is the paper's variant."""),
    Claim("fastfair-shift", "fastfair", "sections 3.1 and VI", "each state of a shift is consistent",
          """Stores of 8 bytes in order leave a node consistent or with an inconsistency that readers tolerate;
          a line is flushed before the next one is changed.""",
          HOLDS_L,
          """The stores to one line must persist in their order. Under model W the first insert can show a value
          that was never stored.""",
          [Space("fastfair-2x3x3"),
           Model("word", "fastfair-2x3x3 000001010000 put,0,0 2 cut cut,2056:1",
                 "Under model W the key persists, and its value does not")],
          """None is worth its cost. ``shift`` states that it needs model L."""),
    Claim("fastfair-end", "fastfair", "section 3.1, published code", "the end of a node needs no flush of its own",
          """The code flushes the end if it begins a line, by a test that is never true.""",
          FAILS,
          """The slots after the old end can have old records. A record that fills the last slot of a line
          persists before the end that begins the next one, and reveals them.""",
          [Mistake("fastfair: an end that begins a line is not cleaned",
                   "fastfair-5x3x5 010101010003000001000200 put,3,0 3 cut,2064:1 cut,2147485704:1,2062:1",
                   "A fourth record fills the first line of slots")],
          """Clean an end that begins a line, and fence, before the slot in front of it is filled (P10)."""),
    Claim("fastfair-delete", "fastfair", "section IV, published code", "a delete is durable when it returns",
          """A delete shifts to the left and flushes the lines that it changed.""",
          FAILS,
          """The code flushes only lines that end within the shift, never the last one.""",
          [Mistake("fastfair: a delete does not clean the line of its last store",
                   "fastfair-2x3x3 0100010100010000 delete,0,0 3 cut cut",
                   "The only record is deleted; it is there again after a cut that follows the return")],
          """Clean the line of the last store (P6)."""),
    Claim("fastfair-split", "fastfair", "section 3.2", "a split is consistent at each step",
          """The sibling is written and linked, then the upper half of the old node is cut off, then the parent
          gets its entry.""",
          HOLDS_L,
          """With two rules: a key at or above the lowest key of the next node is void, and the lowest key of a
          node never changes. The paper takes the first key of the sibling instead, which a delete moves.""",
          [Space("fastfair-2x6x4")],
          """The lowest key is in the header, under its checksum; the new record is in the sibling before that is
          linked, not inserted into it afterwards without a lock."""),
    Claim("fastfair-merge", "fastfair", "sections IV and 4.2", "siblings merge in place",
          """A merge is mentioned, without an algorithm; the published code disables it.""",
          FAILS,
          """If the right node leaves the list before its records are in the left one, a cut loses them.""",
          [Mistake("fastfair: a merge bypasses the right node before its records are appended",
                   "fastfair-2x6x4 01010102000200000100010201000200 delete,0,0 5 cut cut,2048:1",
                   "A delete leaves two records in two leaves, which are merged")],
          """First the entry leaves the parent, then the records are appended to the left node, void because
          they are not below the lowest key of the right one; one store of the link makes them live."""),
    Claim("fastfair-recovery", "fastfair", "sections 4.2 and 5.7", "recovery is instant",
          """A tree is usable at once after a power cut: writers repair each node that they visit.""",
          "Holds for the repair, not for the space",
          """Each state that a cut leaves is readable as it is. But no list leads to blocks that were allocated and
          not linked yet, so the pool needs a full read; this engine repairs in the same pass. Repair by later
          writes is sound, too, if a write completes every node that it passes, and a removal also both
          neighbours on each level: the option `lazy` of test builds. Kill tests of a process, as in
          the paper, show no lost fence: caches survive.""",
          [Space("fastfair-2x3x3"), Space("fastfair-lazy")], None),
    Claim("clfb-line", "clfb", "section 3.1, Algorithms 1 and 2", "a cache line is written failure-atomically",
          """A node is copied within a hardware transaction, then flushed: so the memory gets the whole line or
          nothing of it.""",
          "Holds under model A",
          """If a line persists as a whole, one flush replaces a node. A transaction does not make it so: it orders
          the stores for other CPUs, not for the media, and between its end and the flush the line can be written
          back in parts. (On CPUs that abort every transaction, the published loop does not end.)""",
          [Space("clfb-atomic"),
           Model("word", "clfb-atomic 01010102000100000101010100 put,2,0 6 cut cut,1547:1",
                 "Under model W: a third record splits a leaf, and one word of the node above it persists")],
          """The layout ``atomic`` stores the line by one instruction, where the CPU has one, and states that it needs
          model A. Under model W two lines for each node, with a sequence and a checksum, cost as little: the line
          that does not count is written, by one line and one fence (layout ``twin``). Or the log of the next
          claim."""),
    Claim("clfb-log", "clfb", "section 4.2, Algorithm 3", "a node is updated in place through a log",
          """The old node is copied to a log line, the node is marked as invalid, changed, and marked as
          valid.""",
          "Holds, if recovery finds the log",
          """The order is right, with four flushes (Algorithm 3 prints five; Table 2 counts four). But no recovery is
          described, and nothing leads from the log to its node or back. A recovery that believes the node itself
          reads a mixture of both contents.""",
          [Space("clfb-2x4x3"),
           Mistake("clfb, inplace: attach believes an invalid node",
                   "clfb-high 01010102000100000101010100 put,2,0 12 cut cut,1546:1",
                   "The same split; the cut is between the marks")],
          """One log line at a fixed place. Its checksum is seeded with the number of the node, so attach restores
          the invalid node that the log fits."""),
    Claim("clfb-append", "clfb", "sections 2.2 and 7.2", "an append to a leaf is consistent without a log",
          """An entry is written to a free slot and flushed, then its bit in the bitmap is set and flushed; a delete
          clears the bit.""",
          HOLDS,
          """Under model W: the bit is one word, and the slot is durable before it. With more than 64 slots an
          update by append needs two words of the bitmap, so here an update replaces the value in its slot.""",
          [Space("clfb-2x4x3")], None),
    Claim("clfb-split", "clfb", "section 5", "a split needs no redo log",
          """Two fresh leaves are written, then one update of the parent replaces the old leaf by them.""",
          HOLDS,
          """Under model W, if the update of one line is atomic (see above). The split of inner nodes is not
          described: here fresh nodes of all levels are durable before the line of the lowest node with room, or the
          root word, commits all of them. A node is full by bytes: a distant key or reference can split it.""",
          [Space("clfb-high"), Space("clfb-twin-high")], None),
    Claim("nbtree-insert", "nbtree", "section III-B", "an insert survives with its key",
          """The value is written, then the key. After that the insert survives a power failure; before, the
          key of the slot is 0, and recovery discards it.""",
          HOLDS_L,
          """Both words are in one line, so the order of the stores is enough. Free slots have the reserved
          key here, not 0.""",
          [Space("nbtree-2x3x3"),
           Model("word", "nbtree-2x3x3 0000002020 put,0,0 2 cut cut,2054:1",
                 "Under model W the key persists, and its value does not")],
          """None is worth its cost: a second line or fence. ``adr`` states that it needs model L."""),
    Claim("nbtree-visible", "nbtree", "sections II-A and IV", "globally visible data is persistent",
          """With persistent caches a compare-and-swap changes and persists its data at once, so that no
          reader sees data that a power cut takes back.""",
          HOLDS_E,
          """Model E promises it. No line is cleaned, so on other machines a record is lost that the call
          reported as inserted.""",
          [Space("eadr-2x7x3"),
           Model("line", "eadr-2x7x3 0000102020112020122020132020 put,0,0 4 cut cut",
                 "Under model L the first insert returns, and its record is not there after a cut")],
          """FORMAT and a writable attach of ``eadr`` refuse media that do not keep model E."""),
    Claim("nbtree-recovery", "nbtree", "section III-B", "recovery takes each slot whose key is not 0",
          """Recovery scans the list of blocks and takes the slots with a key that is not 0 as records.""",
          FAILS,
          """A block that was in use before has keys in the slots that its new use has not reached, and no
          step clears them.""",
          [Load("nbtree: the free slots of a fresh leaf keep the keys of its earlier use", "load-nbtree-512",
                "The first leaf of a store is one of a region that was in use; its free slots have keys")],
          """All slots of a fresh leaf are written before it is linked (P7)."""),
    Claim("nbtree-link", "nbtree", "sections IV-B and VI-G", "the link phase replaces the old leaf durably",
          """The old leaf is in the list until the link of the leaf before it is changed, which is the point of
          durability. In ADR mode clwb and mfence persist a store.""",
          HOLDS,
          """If the fresh leaf is durable before the link. Which stores of a split are flushed in ADR mode is
          not stated.""",
          [Space("nbtree-2x4x4"),
           Mistake("nbtree: the link to a fresh leaf is durable before it",
                   "nbtree-2x3x3 01010000000100 put,2,0 1 cut cut,2048:1",
                   "A full leaf is split, and the link persists alone")],
          """P7 and P8: two fences."""),
    Claim("nbtree-leak", "nbtree", "section III-C", "a log prevents leaks of leaves",
          """The addresses of the old and the new leaves are in a log during a structure modification, and
          recovery reclaims those that are not in the list.""",
          HOLDS,
          """No log is needed: a leaf is free if the list does not reach it. Every explored state is compared
          with that rule.""",
          [Space("nbtree-2x3x3"), Space("eadr-2x7x3")], None),
    Claim("nbtree-dirty", "nbtree", "section VI-G", "dirty reads are likely in ADR mode",
          """NBTree performs best in ADR mode, too, but a reader may see data that is not durable.""",
          "Holds, and can be avoided",
          """A record that a reader acted on can vanish in a power cut.""",
          [Race("nbtree: readers see a record before it is durable")],
          """``adr`` locks a leaf for a write. Its sequence is odd until the fence, and an insert sets its bit
          after the fence: readers take no lock, and return durable records only."""),
    Claim("nbtree-search", "nbtree", "section IV-B, Algorithm 5", "sync-on-read returns the latest version",
          """A search that finds a copy of its leaf compares both, and stores the value of the old leaf to the
          copy if they differ.""",
          FAILS,
          """The value was read before the search looked for a copy. Stored late, it replaces the update that
          was copied, and the copy bit is gone, so that no later step repairs it.""",
          [History("stale-search",
                   """A search reads 1. An update to 2 returns; the leaf is copied. The search then finds the
                   copy, in which 2 is not its 1, and stores 1: the update is lost for good""")],
          """A reader stores nothing. A leaf freezes before it is copied, so that no record of it changes
          afterwards."""),
    Claim("nbtree-update", "nbtree", "section IV-B, Algorithms 2 and 3", "sync-on-write loses no update",
          """An update that finds a copy of its leaf stores its value there, too, unless both are equal. The
          copy bit keeps the phase that synchronises the leaves from a newer value.""",
          FAILS,
          """If the values are equal the copy bit stays, and the phase overwrites the value by one that it read
          before.""",
          [History("equal-values",
                   """The value 1 is copied. An update to 2 returns before the copy is published, and the sync
                   phase reads it. An update to 1 finds 1 in the copy, and returns. The sync phase then
                   stores 2""")],
          """The same: a frozen leaf has one content, which the copy gets."""),
    Claim("nbtree-bits", "nbtree", "section IV-B", "two bits of a value serialise synchronisations",
          """Threads that synchronise a value are serialised by the copy bit and the sync bit.""",
          FAILS,
          """Even if a search reads the old leaf again, if equal values are synchronised, and if updates
          change the old leaf by compare-and-swap: a value that returns looks as if it had not changed.""",
          [History("value-returns",
                   """The copy has 1, with the sync bit. An update to 2 reads that, and then the 3 of another
                   update in the old leaf. The update to 3 returns; one to 1 returns, and the copy has 1 again.
                   Now the first one replaces that 1 by 3""")],
          """The same. And key and value of a slot change together, by one swap of 16 bytes."""),
    Claim("nbtree-unique", "nbtree", "section IV-A, Algorithms 1 and 4", "conflicts of inserts are resolved",
          """Concurrent inserts take different slots by fetch-and-add, and the bitmap commits them. A delete
          stores the key 0.""",
          FAILS,
          """Two inserts of a key make two records: a delete removes one, and the other one is there again.
          Two deletes of one record both succeed.""",
          [History("two-inserts", "Inserts of 2 and of 3 return, then a delete; a search finds 2"),
           History("two-deletes", "One record, two deletes, and both report that they found it")],
          """An insert swaps the lowest free slot, below which it has not found its key: slots fill in their
          order, so no other one can get the key. A delete is a swap from the record that it found."""),
    Claim("nbtree-stalled", "nbtree", "sections IV-B and V-B, Algorithms 3 and 4", "an update reaches the new leaf",
          """An update that operates on a leaf which is being replaced repeats its change in the copy.""",
          FAILS,
          """It looks for one copy. If that was replaced as well, the change is in two dead leaves.""",
          [History("two-copies",
                   """An update waits before its store. Inserts split the leaf, and one of the new leaves. The
                   update stores to the first leaf and to its copy, and returns; its value is in no leaf of the
                   tree""")],
          """A record in a frozen leaf cannot be changed: the swap fails, and the update begins again in the
          fresh leaf."""),
]
