# SPDX-License-Identifier: GPL-2.0
"""The mistakes of design for the engine crab: see tools/host/mutants/design.py."""

from design import Design, Edit

BATCH = "engines/crab/batch.c"
OPS = "engines/crab/ops.c"
RECOVER = "engines/crab/recover.c"
SLOTTED = "engines/crab/slotted/write.c"
SPLIT = "engines/crab/split.c"
SORTED_SMO = "engines/crab/sorted/smo.c"
SORTED_READ = "engines/crab/sorted/read.c"

# A split that leaves the old leaf in place, with the records that it moved to the fresh one
SPLIT_LEAVES_BEHIND = """
    void crab_select(struct crab_record *records, u32 count, u32 nth);
    const struct crab_record *moved = tree->scratch + tree->slots / 2;
    u32 slot;
    (void)split;
    if (is_append(tree, leaf, key)) return append(write, leaf, key, value);
    err = crab_smo_begin(write, &smo, leaf, 1, CRAB_POOL_RESERVE);
    if (err) return err;
    count = crab_layout_collect(tree, leaf, tree->scratch);
    tree->scratch[count++] = extra;
    crab_select(tree->scratch, count, tree->slots / 2);
    count -= tree->slots / 2;
    crab_smo_write(write, &smo, moved->key, moved, count, count, leaf);
    crab_smo_link(write, leaf, crab_smo_first_word(tree, &smo));
    crab_smo_splice(tree, &smo, leaf, leaf->next);
    crab_index_insert(&tree->index, moved->key, crab_leaf_child(tree, smo.leaf[0]));
    tree->splits++;
    crab_leaf_for_each(tree, leaf, slot) {
        if (crab_leaf_key(tree, leaf, slot) >= moved->key) {
            for (u32 b = 0; b < 8; b++) leaf->fps[slot / 64 * 8 + b] &= ~(1ULL << slot % 64);
            leaf->count--;
        }
    }
    if (key < moved->key) {
        crab_slotted_insert(write, leaf, crab_slotted_place(tree, leaf, key).slot, key, value);
        crab_count(&tree->base, inserts, -1);
    }
    return 0
"""

DESIGNS = [
    Design("split: moved records remain in the old leaf, and are ignored there",
        Edit(SPLIT, """if (is_append(tree, leaf, key))
		return append(write, leaf, key, value);
	err = crab_smo_begin(write, &smo, leaf, 2, CRAB_POOL_RESERVE);
	if (err)
		return err;
	crab_smo_fetch_link(tree, leaf->prev);
	split = crab_layout_split(tree, leaf, &extra, &smo.head[1].low);
	err = crab_smo_verify_low(tree, leaf, leaf->high, smo.head[1].low);
	if (unlikely(err))
		return crab_smo_abort(write, &smo, err);
	crab_smo_replace(write, &smo, leaf, leaf, count, split);
	WRITE_ONCE(tree->splits, tree->splits + 1);
	return 0;""", SPLIT_LEAVES_BEHIND),
        Edit("engines/crab/slotted/read.c", "if (key == CRAB_KEY_EMPTY)\n\t\t\tcontinue;",
             "if (key == CRAB_KEY_EMPTY || key - low >= span) continue;"),
        Edit("engines/crab/slotted/check.c", "r.key != CRAB_KEY_EMPTY && r.value != leaf->void_value",
             "crab_slotted_is_live(leaf, slot)"),
        Edit("engines/crab/slotted/check.c",
             "leaf->torn || (r.key == CRAB_KEY_EMPTY &&\n\t\t\t\t\t\t\t  r.value == leaf->void_value)", "true")),
    Design("update: a delete and an insert into the same slot, in one fence epoch",
        Edit(OPS, "return crab_layout_update(write, leaf, d, key, value);",
             """crab_leaf_begin(leaf);
             crab_store(write->flow, &d->key, CRAB_KEY_EMPTY);
             crab_store(write->flow, &d->value, leaf->void_value);
             crab_store(write->flow, &d->value, value);
             crab_store(write->flow, &d->key, key);
             crab_clean(write->flow, d, sizeof(*d));
             crab_fence(write->flow, CRAB_P6_RECORD);
             crab_leaf_end(leaf);
             return 0""")),
    Design("batch: a slot that was freed in an epoch is used again in it",
        Edit(BATCH, "b->lost[which] = true;", "")),
    Design("batch: a value that is the leaf's void is stored in place",
        Edit(BATCH, "place.slot >= b->write.tree->slots || op->value == leaf->void_value",
             "place.slot >= b->write.tree->slots")),
    Design("insert or update: a value that is the leaf's void is stored in place",
        Edit(SLOTTED, "none || is_void", "none")),
    Design("shift: the left of two equal neighbouring keys is believed",
        Edit(SORTED_READ, "leaf->duplicate = slot - 1;", "leaf->duplicate = slot")),
    Design("attach: where a link leads nowhere the list ends, and the tail is handed out as free",
        Edit("engines/crab/recover_list.c", """if (!recover_gap(r, what, offset, low, &word))
				break;
			continue;""", "break;")),
    Design("attach: the content read after a cut is not made durable",
        Edit(RECOVER, "engine->clean ? 0 : repair_clean(tree, flow)", "0")),
    Design("attach: sorted leaves are not repaired",
        Edit(RECOVER, "crab_layout_repair(&write)",
             "crab_layout_may_overlap(tree) ? 0 : crab_layout_repair(&write)")),
    Design("attach: leaves of the list are not taken out of the pool",
        Edit(RECOVER, "crab_pool_mark(&tree->pool, leaf->number);", "")),
    Design("attach: births go on from 0",
        Edit("engines/crab/recover_pool.c", "tree->birth = max(tree->birth, part->birth);", "")),
]

# Rules of the publication that do not hold: tools/host/mutants/claims.py judges them
PUBLISHED = [
    Design("shift: the left of two equal neighbouring values is void",
        Edit(SORTED_READ, "if (!slot || key > prev)\n\t\t\tcontinue;", """if (slot &&
                crab_leaf_value(tree, leaf, slot) == crab_leaf_value(tree, leaf, slot - 1) &&
                leaf->duplicate == CRAB_LEAF_NO_DUPLICATE) {
                leaf->duplicate = slot - 1;
                leaf->torn++;
                continue;
            }
            if (!slot || key > prev) continue""")),
    Design("split in place: the old leaf is ended before the fresh one is linked",
        Edit(SORTED_SMO, "crab_smo_write(write, &smo, moved->key, moved, count, count, leaf);\n"
             "\tcrab_smo_link(write, leaf, crab_smo_first_word(tree, &smo));",
             """crab_sorted_end(write, leaf, keep);
             crab_smo_write(write, &smo, moved->key, moved, count, count, leaf);
             crab_smo_link(write, leaf, crab_smo_first_word(tree, &smo))""")),
]

PENDING = "the superblock's fence follows; that of an unfinished store does not, which KUnit tests (unfinished_sorted)"
SPARSE = "a leaf that stays sparse keeps its records; the next delete tries again"

# (function, statement, kind of mutant, why it does no harm)
HARMLESS = [
    ("move_record", "move_right(write, left, &record)", "left out", SPARSE),
    ("move_record", "move_left(write, left, &record, low)", "left out", SPARSE),
    ("rebalance_pair", "merge(write, left, right)", "left out", SPARSE),
    ("rebalance_pair", "redistribute(write, left, to_right)", "left out", SPARSE),
    ("crab_sorted_rebalance", "rebalance_pair(write, left, true)", "left out", SPARSE),
    ("crab_sorted_rebalance", "rebalance_pair(write, leaf, false)", "left out", SPARSE),
    ("crab_tree_remove", "crab_layout_rebalance(&write, key)", "left out", SPARSE),
    ("crab_underfull_merge", "underfull_sweep(&write, most)", "left out", SPARSE),
    ("crab_sorted_repair", "crab_smo_bypass(write, leaf, word)", "left out",
     "no cut leaves an empty leaf after another one, only a foreign image has such leaves"),
    ("crab_bitmap_rebuild", "crab_fence(write->flow, CRAB_P12_ALLOCATED)", "left out", PENDING),
    ("crab_bitmap_rebuild", "crab_fence(write->flow, CRAB_P12_ALLOCATED)", "a store barrier instead", PENDING),
    ("crab_bitmap_rebuild", "crab_clean(write->flow, bitmap_word(tree, 0), words * sizeof(__le64)) / "
     "crab_fence(write->flow, CRAB_P12_ALLOCATED)", "exchanged", PENDING),
    ("crab_smo_abort", "crab_smo_release(write, smo->spare[i].leaf)", "left out",
     "no cut leads there, only media that changes: the store is read-only then (crabtree_changing)"),
]
