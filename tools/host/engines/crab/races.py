# SPDX-License-Identifier: GPL-2.0
"""The mistakes for the engine crab that only two threads show: see tools/host/mutants/design.py."""

from design import Design, Edit

BATCH = "engines/crab/batch.c"
CHECK = "engines/crab/check.c"
ACCESS = "engines/crab/access.h"
LEAF = "engines/crab/leaf.c"
LEAF_ORDER = "engines/crab/leaf_order.c"
MERGE = "engines/crab/merge.c"
OPS = "engines/crab/ops.c"
ORDER = "engines/crab/slotted/order.c"
RECOVER = "engines/crab/recover.c"
SCAN = "engines/crab/scan.c"
SLOTTED = "engines/crab/slotted/write.c"
SMO = "engines/crab/smo.c"
SPLIT = "engines/crab/split.c"
TABLE = "engines/crab/leaf_table.c"

# The current sequence instead of the one with which the reader began
ANY_COUNT = "reader.seq = READ_ONCE(leaf->seq.sequence)"

# Readers see the store before it is durable
SHOW = "crab_leaf_end(leaf); crab_fence(write->flow, CRAB_P6_RECORD); crab_leaf_begin(leaf)"

# The read of one of several leaves
SCAN_TRY = """got = crab_layout_scan(reader, *at, end, records, cap, room);
\thigh = READ_ONCE(leaf->high);"""

# A second look at a leaf, from the key after the first record on
TWO_MOMENTS = """got = crab_layout_scan(reader, *at, end, records, min(cap, 1U), room);
                 if (got == 1 && cap > 1) {
                         int i, more;
                         if (read_seqcount_retry(&leaf->seq, reader->seq)) return -EAGAIN;
                         for (i = 0; i < 8; i++)
                                 (void)READ_ONCE(leaf->count);
                         reader->seq = read_seqcount_begin(&leaf->seq);
                         more = crab_layout_scan(reader, records[0].key + 1, end, records + 1, cap - 1, room);
                         got = more < 0 ? more : more + 1;
                 }
                 high = READ_ONCE(leaf->high)"""

RACES = [
    Design("search: returns a value although the leaf changed meanwhile",
        Edit(OPS, "crab_leaf_read_valid(leaf, seq) ? err : -EAGAIN", "err")),
    Design("seek: returns a record although the leaf changed meanwhile",
        Edit(SCAN, "next = dir == CRAB_SEEK_GE ? READ_ONCE(leaf->high) : READ_ONCE(leaf->low) - 1;",
             f"next = dir == CRAB_SEEK_GE ? READ_ONCE(leaf->high) : READ_ONCE(leaf->low) - 1; {ANY_COUNT}")),
    Design("scan: returns records although the leaf changed meanwhile",
        Edit(SCAN, "next = READ_ONCE(leaf->high);", f"next = READ_ONCE(leaf->high); {ANY_COUNT}")),
    Design("scan of several leaves: returns records although the leaf changed meanwhile",
        Edit(SCAN, SCAN_TRY, f"{SCAN_TRY} reader->seq = READ_ONCE(leaf->seq.sequence)")),
    Design("scan of several leaves: believes that they are the ones it looked up",
        Edit(SCAN, "!crab_leaf_read_begin(leaf, *at, &reader->seq)",
             "(reader->seq = raw_seqcount_begin(&leaf->seq), leaf->quarantined)")),
    Design("insert: readers see the record before it is durable",
        Edit(SLOTTED, "crab_count_settled(&tree->base, inserts, flow, 1);",
             f"crab_count_settled(&tree->base, inserts, flow, 1); {SHOW}")),
    Design("update: readers see the value before it is durable",
        Edit(LEAF, "crab_count_settled(&write->tree->base, updates, flow, 1);",
             f"crab_count_settled(&write->tree->base, updates, flow, 1); {SHOW}")),
    Design("delete: readers miss the record before that is durable",
        Edit(SLOTTED, "crab_count_settled(&write->tree->base, deletes, flow, 1);",
             f"crab_count_settled(&write->tree->base, deletes, flow, 1); {SHOW}")),
    Design("batch: readers see the records of an epoch before its fence",
        Edit(BATCH, "crab_fence(b->write.flow, CRAB_P6_RECORD);",
             """for (u32 j = 0; j < b->holds; j++) crab_leaf_end(b->held[j]);
             crab_fence(b->write.flow, CRAB_P6_RECORD);
             for (u32 j = 0; j < b->holds; j++) crab_leaf_begin(b->held[j])""")),
    Design("split: fresh leaves are found before they are durably linked",
        Edit(SMO, "crab_smo_link(write, pred, crab_smo_first_word(tree, smo));",
             """smo_join(tree, smo->leaf[0], smo->n == 2 ? smo->leaf[1] : after);
             crab_leaf_kill(leaf);
             crab_index_replace(&tree->index, leaf->low, crab_leaf_child(tree, smo->leaf[0]));
             crab_smo_link(write, pred, crab_smo_first_word(tree, smo))""")),
    Design("writer: does not look again whether the locked leaf is the right one",
        Edit(ACCESS, "likely(crab_leaf_holds(leaf, key) && crab_leaf_read_valid(leaf, seq))",
             "likely(crab_leaf_read_valid(leaf, seq))")),
    Design("writer: believes the place that it looked up before it had the lock",
        Edit(ACCESS, "likely(crab_leaf_holds(leaf, key) && crab_leaf_read_valid(leaf, seq))",
             "likely(crab_leaf_holds(leaf, key) && (seq || true))")),
    Design("split: the old leaf is not marked as dead",
        Edit(SMO, "crab_leaf_kill(leaf);", "(void)leaf")),
    Design("merge: the right one of the old leaves is not marked as dead",
        Edit(SMO, "crab_leaf_kill(last);", "(void)last")),
    Design("unlink: the leaf is not marked as dead",
        Edit(SMO, "WRITE_ONCE(leaf->high, leaf->low);", "(void)leaf")),
    Design("leaf table: a descriptor is freed while readers are in it",
        Edit(TABLE, "poll_state_synchronize_rcu(leaf->dead.cookie)", "true")),
    Design("unlink: the leaf before it is not locked",
        Edit(OPS, "crab_lock_nested(&pred->lock);", "(void)pred"),
        Edit(OPS, "crab_unlock(&pred->lock);", "(void)pred")),
    Design("unlink: readers miss the record before that is durable",
        Edit(SMO, "WRITE_ONCE(tree->unlinks, tree->unlinks + 1);",
             """WRITE_ONCE(tree->unlinks, tree->unlinks + 1); crab_leaf_end(leaf); crab_leaf_end(pred);
             crab_fence(write->flow, CRAB_P8_LINKED); crab_leaf_begin(pred); crab_leaf_begin(leaf)""")),
    Design("batch: a search returns a value although the leaf changed meanwhile",
        Edit(BATCH, "crab_leaf_read_valid(leaf, seq) ? err : -EAGAIN", "err")),
    Design("batch: does not look again whether the locked leaf is the right one",
        Edit(BATCH, "!crab_leaf_holds(leaf, op->key)", "false")),
    Design("batch: a search does not look whether the leaf is the right one",
        Edit(BATCH, "unlikely(!crab_leaf_read_begin(leaf, key, &seq))",
             "(seq = raw_seqcount_begin(&leaf->seq), false)")),
    Design("scan: the order of a leaf is kept though the leaf changed meanwhile",
        Edit(ORDER, "!leaf->ordered && !read_seqcount_retry(&leaf->seq, reader->seq)",
             "!leaf->ordered")),
    Design("scan: the order that is kept has slot numbers that were never written",
        Edit(ORDER, "memset(order, 0, crab_order_bytes(tree));", "")),
    Design("scan: the order that is kept of a wide leaf has slot numbers that were never written",
        Edit(ORDER, "memset(room, 0, crab_order_bytes(tree));", "")),
    Design("scan: the first record of a leaf is of another state than the others",
        Edit(SCAN, SCAN_TRY, TWO_MOMENTS)),
    Design("merge: the right leaf is not locked",
        Edit(MERGE, "crab_leaf_lock_pair(write, leaf, right);", "crab_rcu_enter(); crab_lock(&leaf->lock); (void)right"),
        Edit(MERGE, "crab_leaf_unlock_pair(leaf, right);", "crab_leaf_unlock(leaf)")),
    Design("split: reports that there is no space",
        Edit(SPLIT, "err = crab_smo_begin(write, &smo, leaf, 2, CRAB_POOL_RESERVE);", "err = -ENOSPC")),
    Design("concurrent insert or update: a value that is the leaf's void is stored in place",
        Edit(SLOTTED, "none || is_void", "none")),
    Design("attach: the content that a crashed kernel left in caches is not made durable",
        Edit(RECOVER, "engine->clean ? 0 : repair_clean(tree, flow)", "0")),
    Design("check: compares with another sum than the one that no write disturbed",
        Edit("engines/defaults.c", "records += now.inserts - now.deletes;",
             "crab_counts_sum(engine, &now); records += now.inserts - now.deletes")),
    Design("check: goes on at the leaf that was next before the structure changed",
        Edit(CHECK, "crab_leaf_find(tree, low)", "leaf")),
    Design("check: counts leaves of a list that changed meanwhile",
        Edit(CHECK, "if (check_changes(tree) == changes)\n\t\t\tcrab_engine_check_counts(engine, report, "
             "&before, tree->leaves,\n\t\t\t\t\t\t tree->records);",
             "crab_engine_check_counts(engine, report, &before, tree->leaves, tree->records)")),
    Design("compare-and-swap: compares before it has the lock",
        Edit(OPS, "err = insert_once(&write, key, value, mode, old);",
             """err = mode == CRAB_INSERT_SWAP && !crab_tree_lookup(engine, key, &old->value) && (old->existed = true) ?
             (old->value != old->expected ? -ESTALE :
              insert_once(&write, key, value, CRAB_INSERT_REPLACE, old)) : insert_once(&write, key, value, mode, old)""")),
    Design("add: reads before it has the lock",
        Edit(OPS, "err = insert_once(&write, key, value, mode, old);",
             """err = mode == CRAB_INSERT_ADD && !crab_tree_lookup(engine, key, &old->value) ?
             insert_once(&write, key, value + old->value, CRAB_INSERT_REPLACE, old) :
             insert_once(&write, key, value, mode, old)""")),
    Design("ThreadSanitizer: a scan does not see the orders that another one has zeroed",
        Edit(LEAF_ORDER, "rcu_dereference_raw(chunk->orders) ?: orders_make(table, chunk)",
             "READ_ONCE(chunk->orders) ?: orders_make(table, chunk)")),
]

# Races that few stores show: only that store runs, for longer
SUBJECTS = {
    "batch: a search does not look whether the leaf is the right one": ("sorted, hardly any space", 1609),
    "insert: readers see the record before it is durable": ("slotted", 1728),
    "update: readers see the value before it is durable": ("slotted", 3770),
    "delete: readers miss the record before that is durable": ("slotted, one leaf", 12541),
    "batch: readers see the records of an epoch before its fence": ("slotted, hardly any space", 1711),
    "split: fresh leaves are found before they are durably linked": ("slotted, leaves of two", 740),
    "batch: a search returns a value although the leaf changed meanwhile": ("sorted, shifted", 1),
    "unlink: readers miss the record before that is durable": ("slotted, leaves of two", 8307),
    "scan: the order that is kept has slot numbers that were never written": ("slotted, one leaf", 200),
    "scan: the order that is kept of a wide leaf has slot numbers that were never written":
        ("slotted, one leaf of 8 KiB", 1),
    "concurrent insert or update: a value that is the leaf's void is stored in place": ("slotted", 12),
}
