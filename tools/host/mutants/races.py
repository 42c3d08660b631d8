# SPDX-License-Identifier: GPL-2.0
"""Mistakes that take two threads to be seen, made on purpose as those of designs.py are.

Each is killed by test_tasks, or where SEEN_BY says so by test_threads under ThreadSanitizer,
which knows what the order of accesses would be on other machines.
"""

from designs import Design, Edit

BATCH = "engines/crab/batch.c"
CHECK = "engines/crab/check.c"
CRAB = "engines/crab/crab.h"
ENGINE = "engines/crab/engine.c"
ORDER = "engines/crab/order.c"
SMO = "engines/crab/smo.c"
INDEX = "index.c"

# The count as it is now, whatever it was when the reader came
ANY_COUNT = "reader.seq = READ_ONCE(leaf->seq.sequence)"

# What was stored is shown first, and made durable then
SHOW = "crab_leaf_end(leaf); crab_fence(write->flow, CRAB_P6_RECORD); crab_leaf_begin(leaf)"

RACES = [
    Design("search: takes what it read though the leaf changed meanwhile", [
        Edit(ENGINE, "read_seqcount_retry(&leaf->seq, seq) ? -EAGAIN : err", "err"),
    ]),
    Design("seek: takes what it read though the leaf changed meanwhile", [
        Edit(ENGINE, "next = dir == CRAB_SEEK_GE ? READ_ONCE(leaf->high) : READ_ONCE(leaf->low) - 1;",
             f"next = dir == CRAB_SEEK_GE ? READ_ONCE(leaf->high) : READ_ONCE(leaf->low) - 1; {ANY_COUNT}"),
    ]),
    Design("scan: takes what it read though the leaf changed meanwhile", [
        Edit(ENGINE, "next = READ_ONCE(leaf->high);", f"next = READ_ONCE(leaf->high); {ANY_COUNT}"),
    ]),
    Design("scan of several leaves: takes what it read though the leaf changed meanwhile", [
        Edit(ENGINE, "high = READ_ONCE(leaf->high);", f"high = READ_ONCE(leaf->high); {ANY_COUNT}"),
    ]),
    Design("scan of several leaves: believes that they are the ones it looked up", [
        Edit(ENGINE, "!crab_leaf_holds(leaf, *at) || leaf->bad", "leaf->bad"),
    ]),
    Design("insert: readers see the record before it is durable", [
        Edit(ENGINE, "crab_slotted_insert(write, leaf, slot, key, value);",
             f"crab_slotted_set(write, leaf, slot, key, value); {SHOW}"),
    ]),
    Design("update: readers see the value before it is durable", [
        Edit(ENGINE, "crab_slot_update(write, d, value);",
             f"crab_slot_set_value(write, d, value); {SHOW}"),
    ]),
    Design("delete: readers miss the record before that is durable", [
        Edit(ENGINE, "crab_slotted_remove(write, leaf, slot);",
             f"crab_slotted_clear(write, leaf, slot); {SHOW}"),
    ]),
    Design("batch: readers see the records of an epoch before its fence", [
        Edit(BATCH, "crab_fence(b->write.flow, CRAB_P6_RECORD);",
             """for (u32 j = 0; j < b->holds; j++) crab_leaf_end(b->held[j]);
             crab_fence(b->write.flow, CRAB_P6_RECORD);
             for (u32 j = 0; j < b->holds; j++) crab_leaf_begin(b->held[j])"""),
    ]),
    Design("split: fresh leaves are found before they are durably linked", [
        Edit(SMO, "smo_link(write, pred, smo_first_word(tree, smo));",
             """smo_join(tree, smo->leaf[0], smo->n == 2 ? smo->leaf[1] : after);
             crab_leaf_kill(leaf);
             crab_index_replace(&tree->index, leaf->low, smo->leaf[0], crab_leaf_hint(tree, smo->leaf[0]));
             smo_link(write, pred, smo_first_word(tree, smo))"""),
    ]),
    Design("writer: does not look again whether the locked leaf is the right one", [
        Edit(CRAB, "likely(crab_leaf_holds(leaf, key) && !read_seqcount_retry(&leaf->seq, seq))",
             "likely(!read_seqcount_retry(&leaf->seq, seq))"),
    ]),
    Design("writer: believes the place that it looked up before it had the lock", [
        Edit(CRAB, "likely(crab_leaf_holds(leaf, key) && !read_seqcount_retry(&leaf->seq, seq))",
             "likely(crab_leaf_holds(leaf, key) && (seq || true))"),
    ]),
    Design("split: the old leaf is not marked as dead", [
        Edit(SMO, "crab_leaf_kill(leaf);", "(void)leaf"),
    ]),
    Design("merge: the right one of the old leaves is not marked as dead", [
        Edit(SMO, "crab_leaf_kill(last);", "(void)last"),
    ]),
    Design("unlink: the leaf is not marked as dead", [
        Edit(SMO, "WRITE_ONCE(leaf->high, leaf->low);", "(void)leaf"),
    ]),
    Design("unlink: the leaf before it is not locked", [
        Edit(ENGINE, "crab_leaf_take_too(pred);", "(void)pred"),
        Edit(ENGINE, "crab_leaf_give(pred);", "(void)pred"),
    ]),
    Design("unlink: readers miss the record before that is durable", [
        Edit(SMO, "WRITE_ONCE(tree->unlinks, tree->unlinks + 1);",
             """WRITE_ONCE(tree->unlinks, tree->unlinks + 1); crab_leaf_end(leaf); crab_leaf_end(pred);
             crab_fence(write->flow, CRAB_P8_LINKED); crab_leaf_begin(pred); crab_leaf_begin(leaf)"""),
    ]),
    Design("index: a node is freed while readers are in it", [
        Edit(INDEX, "kfree_rcu(node, rcu);", "kfree(node)"),
    ]),
    Design("index: a key is stored before its child", [
        Edit(INDEX, "smp_store_release(&node->children[pos], child);",
             "smp_store_release(&node->keys[pos], key); smp_store_release(&node->children[pos], child)"),
    ]),
    Design("batch: a search takes what it read though the leaf changed meanwhile", [
        Edit(BATCH, "read_seqcount_retry(&leaf->seq, seq) ? -EAGAIN : err", "err"),
    ]),
    Design("batch: does not look again whether the locked leaf is the right one", [
        Edit(BATCH, "!crab_leaf_holds(leaf, op->key)", "false"),
    ]),
    Design("batch: a search does not look whether the leaf is the right one", [
        Edit(BATCH, "!crab_leaf_holds(leaf, key)", "false"),
    ]),
    Design("scan: the order of a leaf is kept though the leaf changed meanwhile", [
        Edit(ORDER, "!leaf->ordered && !read_seqcount_retry(&leaf->seq, reader->seq)",
             "!leaf->ordered"),
    ]),
    Design("check: compares with another sum than the one that no write disturbed", [
        Edit(CHECK, "records = tree->records + now.inserts - now.deletes;",
             "records = crab_tree_records(tree)"),
    ]),
    Design("ThreadSanitizer: an entry of the index does not publish what it leads to", [
        Edit(INDEX, "smp_store_release(&node->children[pos], child);",
             "WRITE_ONCE(node->children[pos], child)"),
    ]),
]
