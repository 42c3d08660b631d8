# SPDX-License-Identifier: GPL-2.0
"""The mistakes for the engine nbtree that only two threads show: see tools/host/mutants/design.py."""

from design import Design, Edit

ACCESS = "engines/nbtree/access.c"
LEAF = "engines/nbtree/leaf.c"
FIND = "engines/nbtree/find.c"
SMO = "engines/nbtree/smo.c"
OPS = "engines/nbtree/ops.c"

RACES = [
    Design("nbtree: a search ignores that the leaf changed", [
        Edit(ACCESS, "valid && !read_seqcount_retry(&leaf->seq, seq)", "valid"),
    ]),
    Design("nbtree: a writer does not look whether the leaf is still the right one", [
        Edit(ACCESS, "leaf_holds(leaf, key) && !leaf->quarantined", "!leaf->quarantined"),
    ]),
    Design("nbtree: readers see a record before it is durable", [
        Edit(LEAF, "crab_store(write->flow, &d->key, record->key);",
             "crab_store(write->flow, &d->key, record->key); "
             "WRITE_ONCE(leaf->fp[slot], fingerprint(record->key)); "
             "WRITE_ONCE(leaf->live, leaf->live | 1ULL << slot)"),
    ]),
    Design("nbtree: a scan returns what a leaf holds below the key, after its range grew", [
        Edit(FIND, "read->records[i].key >= read->key", "read->records[i].key >= start"),
    ]),
    Design("nbtree: a leaf is unlinked although a record was inserted into it since", [
        Edit(SMO, "leaf->live || before->quarantined || leaf->quarantined", "before->quarantined"),
    ]),
    Design("nbtree: a split does not lock the leaf", [
        Edit(SMO, "crab_lock(&leaf->lock);", ";"),
        Edit(SMO, "err = split_leaf(write, leaf, fresh, key);\n\tcrab_unlock(&leaf->lock);",
             "err = split_leaf(write, leaf, fresh, key)"),
    ]),
    Design("nbtree: an unlinked leaf keeps its range", [
        Edit(SMO, "WRITE_ONCE(leaf->high, leaf->low);", ";"),
    ]),
    Design("nbtree: compare-and-swap: the lock is released after the comparison", [
        Edit(OPS, "err = crab_insert_decide(mode, old, &record.value);",
             """err = crab_insert_decide(mode, old, &record.value);
             if (mode == CRAB_INSERT_SWAP) { crab_unlock(&leaf->lock); crab_lock(&leaf->lock); }"""),
    ]),
]
