# SPDX-License-Identifier: GPL-2.0
"""The deliberate mistakes of design, and the mutants that do no harm.

A mistake is a few edits. Each replaces a text that its file contains once: statements up to a
semicolon, or an expression. The shipped source has none of the mistakes. If a file no longer
contains the text, generate.py reports it and exits.
"""

import collections

Design = collections.namedtuple("Design", "what edits")
Edit = collections.namedtuple("Edit", "path old new")

SPLIT = "engines/crab/split.c"
SLOTTED = "engines/crab/slotted/write.c"
SORTED_SMO = "engines/crab/sorted/smo.c"
SORTED_READ = "engines/crab/sorted/read.c"
RECOVER = "engines/crab/recover.c"
OPS = "engines/crab/ops.c"
BATCH = "engines/crab/batch.c"
FF = "engines/fastfair/"
NV_LEAF = "engines/nvtree/leaf.c"
NV_OPS = "engines/nvtree/ops.c"
NV_RECOVER = "engines/nvtree/recover.c"
NV_SMO = "engines/nvtree/smo.c"

# A split that leaves the old leaf in place, with the records that it moved to the fresh one
SPLIT_LEAVES_BEHIND = """
    const struct crab_record *moved = tree->scratch + tree->slots / 2;
    u32 slot;
    (void)split;
    if (is_append(tree, leaf, key)) return append(write, leaf, key, value);
    err = crab_smo_begin(write, &smo, leaf, 1, CRAB_POOL_RESERVE);
    if (err) return err;
    count = crab_layout_collect(tree, leaf, tree->scratch);
    tree->scratch[count++] = extra;
    crab_order_halve(tree->scratch, count, tree->slots / 2);
    count -= tree->slots / 2;
    crab_smo_write(write, &smo, moved->key, moved, count, count, leaf);
    crab_smo_link(write, leaf, crab_smo_first_word(tree, &smo));
    crab_smo_splice(tree, &smo, leaf, leaf->next);
    crab_index_insert(&tree->index, moved->key, smo.leaf[0], crab_leaf_hint(tree, smo.leaf[0]));
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
    Design("split: moved records remain in the old leaf, and are ignored there", [
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
        Edit("engines/crab/slotted/read.c", "unlikely(value == void_value)",
             "unlikely(value == void_value || key - low >= span)"),
        Edit("engines/crab/slotted/check.c", "r.key != CRAB_KEY_EMPTY && r.value != leaf->void_value",
             "crab_slotted_is_live(leaf, slot)"),
        Edit("engines/crab/slotted/check.c",
             "leaf->torn || (r.key == CRAB_KEY_EMPTY &&\n\t\t\t\t\t\t\t  r.value == leaf->void_value)", "true"),
    ]),
    Design("update: a delete and an insert into the same slot, in one fence epoch", [
        Edit(OPS, "return crab_layout_update(write, leaf, d, key, value);",
             """crab_leaf_begin(leaf);
             crab_store(write->flow, &d->key, CRAB_KEY_EMPTY);
             crab_store(write->flow, &d->value, leaf->void_value);
             crab_store(write->flow, &d->value, value);
             crab_store(write->flow, &d->key, key);
             crab_clean(write->flow, d, sizeof(*d));
             crab_fence(write->flow, CRAB_P6_RECORD);
             crab_leaf_end(leaf);
             return 0"""),
    ]),
    Design("batch: a slot that was freed in an epoch is used again in it", [
        Edit(BATCH, "b->lost[which] = true;", ""),
    ]),
    Design("batch: a value that is the leaf's void is stored in place", [
        Edit(BATCH, "place.slot == b->write.tree->slots || op->value == leaf->void_value",
             "place.slot == b->write.tree->slots"),
    ]),
    Design("insert or update: a value that is the leaf's void is stored in place", [
        Edit(SLOTTED, "full || is_void", "full"),
    ]),
    Design("shift: the left of two equal neighbouring keys is believed", [
        Edit(SORTED_READ, "leaf->duplicate = slot - 1;", "leaf->duplicate = slot"),
    ]),
    Design("attach: repairs are not fenced before service", [
        Edit("store/attach.c", """err = engine->ops->repair(engine, &flow);
	if (err)
		return err;
	crab_store_look(store);
	if (store->readonly)
		return 0;
	store->super.state = CRAB_SUPER_STATE_ATTACHED;
	store->super.engine_root = 0;
	crab_super_write(&flow, &store->super);""",
             """store->super.state = CRAB_SUPER_STATE_ATTACHED;
             store->super.engine_root = 0;
             crab_super_write(&flow, &store->super);
             err = engine->ops->repair(engine, &flow);
             if (err) return err"""),
    ]),
    Design("attach: the state of the superblock is not changed from \"clean\" to \"attached\"", [
        Edit("store/attach.c", "store->super.state = CRAB_SUPER_STATE_ATTACHED;", ""),
    ]),
    Design("attach: where a link leads nowhere the list ends, and the tail is handed out as free", [
        Edit("engines/crab/recover_list.c", """if (!recover_gap(r, what, offset, low, &word))
				break;
			continue;""", "break;"),
    ]),
    Design("attach: the content read after a cut is not made durable", [
        Edit(RECOVER, "engine->clean ? 0 : repair_clean(tree, flow)", "0"),
    ]),
    Design("attach: sorted leaves are not repaired", [
        Edit(RECOVER, "crab_layout_repair(&write)",
             "crab_layout_may_overlap(tree) ? 0 : crab_layout_repair(&write)"),
    ]),
    Design("attach: leaves of the list are not taken out of the pool", [
        Edit(RECOVER, "crab_pool_mark(&tree->pool, leaf->number);", ""),
    ]),
    Design("attach: births go on from 0", [
        Edit("engines/crab/recover_pool.c", "tree->birth = max(tree->birth, part->birth);", ""),
    ]),
    Design("superblock: the copy in use is overwritten", [
        Edit("shared/super.c", "super->copy = (super->copy + 1) % CRAB_SUPER_COPIES;", ""),
    ]),
    Design("superblock: the sequence stays as it is", [
        Edit("shared/super.c", "super->sequence++;", ""),
    ]),
    Design("pool: a leaf is handed out without being marked as taken", [
        Edit("shared/pool.c", "__set_bit(leaf, pool->used);\n\tpool->free--;\n\treturn leaf;",
             "pool->free--; return leaf"),
    ]),
    Design("toy: a change overwrites the leaf in use", [
        Edit("engines/toy/toy.c", "toy_write(flow, &engine->geo, ++toy->birth, toy->records, toy->count);",
             "toy->birth += 2; toy_write(flow, &engine->geo, toy->birth, toy->records, toy->count)"),
    ]),
    Design("fastfair: the left of two equal neighbouring values is void, as published", [
        Edit(FF + "walk.c", "i && key == above",
             "i && ff_value(ff, node->number, i) == ff_value(ff, node->number, i - 1)"),
    ]),
    Design("fastfair: a value of 0 ends a node, as published", [
        Edit(FF + "walk.c", "key == CRAB_KEY_EMPTY",
             "key == CRAB_KEY_EMPTY || !ff_value(ff, node->number, i)"),
    ]),
    Design("fastfair: a shift to the right stores keys before values", [
        Edit(FF + "shift.c", """slot_store(op, &slot[i], crab_load(media, &slot[i - 1].key),
			   crab_load(media, &slot[i - 1].value), true);""",
             """slot_store(op, &slot[i], crab_load(media, &slot[i - 1].key),
             crab_load(media, &slot[i - 1].value), false);"""),
    ]),
    Design("fastfair: a delete cleans the line that gives a slot, as published", [
        Edit(FF + "shift.c", "if (!ff_same_line(i, i + 1))\n\t\t\tline_done(op, &slot[i]);",
             "if (!ff_same_line(i, i + 1)) line_done(op, &slot[i + 1]);"),
    ]),
    Design("fastfair: an end that begins a line is not cleaned, as published", [
        Edit(FF + "shift.c", "ff_same_line(end - 1, end)", "true"),
    ]),
    Design("fastfair: a split ends the node before it links the fresh one", [
        Edit(FF + "split.c", "ff_link(op, node, sibling->link);\n\tff_end(op, node, keep);",
             "ff_end(op, node, keep); ff_link(op, node, sibling->link);"),
    ]),
    Design("fastfair: a split never ends the old node", [
        Edit(FF + "split.c", "ff_end(op, node, keep);", "node->side->count = keep;"),
    ]),
    Design("fastfair: the entry of a fresh node is added before its link", [
        Edit(FF + "split.c", "fresh_done(op, sibling);", "fresh_done(op, sibling); ff_adopt(op, sibling);"),
    ]),
    Design("fastfair: slots at or above the next node's lowest key are not void", [
        Edit(FF + "walk.c", "key >= high", "false"),
    ]),
    Design("fastfair: a merge bypasses the right leaf before its entry is removed", [
        Edit(FF + "remove.c", """entry_drop(op, &entry);
	if (right->side->count)
		ff_append(op, left, right);
	bypass(op, left, right, word, later);""",
             """if (right->side->count) ff_append(op, left, right);
             bypass(op, left, right, word, later);
             entry_drop(op, &entry);"""),
    ]),
    Design("fastfair: a merge appends the records after the bypass", [
        Edit(FF + "remove.c", """if (right->side->count)
		ff_append(op, left, right);
	bypass(op, left, right, word, later);""",
             """bypass(op, left, right, word, later);
             if (right->side->count) ff_append(op, left, right);"""),
    ]),
    Design("fastfair: a leaf is found by its first key, as published", [
        Edit(FF + "find.c", "crab_load(media, &d->head.low)",
             "crab_load(media, level || crab_load(media, &d->slot[0].key) == CRAB_KEY_EMPTY ? "
             "&d->head.low : &d->slot[0].key)"),
    ]),
    Design("fastfair: a node gets a second entry", [
        Edit(FF + "split.c", "if (ff_slot_of(op->ff, above, node->low, &pos))\n\t\treturn -EEXIST;",
             "(void)ff_slot_of(op->ff, above, node->low, &pos);"),
    ]),
    Design("fastfair: births go on from 0 at attach", [
        Edit(FF + "recover.c", """ff->birth = max(ff->birth, crab_load(ff->base.media,
					     &ff_media(ff, node->number)->head.birth));""", ""),
    ]),
    Design("fastfair: nodes without an entry are not taken out of the pool", [
        Edit(FF + "recover.c", "if (has_entry && !torn)\n\t\treturn;",
             "if (!has_entry) __clear_bit(node->number, ff->pool.used), ff->pool.free++;"
             " if (has_entry && !torn) return;"),
    ]),
    Design("nvtree: the count becomes durable together with the element", [
        Edit(NV_LEAF, "crab_fence(flow, CRAB_P11_APPENDED);", ";"),
    ]),
    Design("nvtree: the count is durable before the element", [
        Edit(NV_LEAF, "crab_store(flow, &slot->key, elements->key);",
             "crab_store(flow, &d->count, end); crab_clean_word(flow, &d->count); "
             "crab_fence(flow, CRAB_P6_RECORD); crab_store(flow, &slot->key, elements->key)"),
    ]),
    Design("nvtree: the sign of an element is set, and never cleared", [
        Edit(NV_LEAF, "return (sign & ((1ULL << bit) - 1)) | (u64)negative << bit;",
             "return crab_load(tree->base.media, &leaf_line(tree, leaf, at)->sign) | (u64)negative << bit"),
    ]),
    Design("nvtree: elements of equal values cancel each other, as published", [
        Edit(NV_LEAF, "*value = crab_load(tree->base.media, &leaf_slot(tree, leaf, at)->value);",
             "*value = crab_load(tree->base.media, &leaf_slot(tree, leaf, at)->value); "
             "for (u32 other = 0; other < count; other++) "
             "if (leaf_is_negative(tree, leaf, other) && crab_nv_leaf_key(tree, leaf, other) == key && "
             "crab_load(tree->base.media, &leaf_slot(tree, leaf, other)->value) == *value) return false"),
    ]),
    Design("nvtree: the oldest element of a key counts", [
        Edit(NV_LEAF, "i + 1 < count && elements[i + 1].key == elements[i].key",
             "i && elements[i - 1].key == elements[i].key"),
    ]),
    Design("nvtree: an update with pairs stores the count twice", [
        Edit(NV_OPS, "crab_nv_leaf_append(write, place, elements + PAIR - n, n);",
             "if (n == PAIR) crab_nv_leaf_append(write, place, elements, 1); "
             "crab_nv_leaf_append(write, place, elements + 1, 1)"),
    ]),
    Design("nvtree: a fresh leaf is linked before it is durable", [
        Edit(NV_SMO, "crab_fence(flow, CRAB_P7_FRESH);", ";"),
    ]),
    Design("nvtree: the right leaf of a merge is not unlinked, and its records are in both", [
        Edit(NV_SMO, "c->right.side ? &c->right : &c->leaf", "&c->leaf"),
    ]),
    Design("nvtree: an old leaf goes to the pool, and is written again, before P8", [
        Edit(NV_SMO, "smo_link(c->write, smo_before(tree, &c->leaf),\n\t\t crab_link_to(geo, c->spare[0].leaf, head[0].birth));",
             "crab_store(flow, &nv_leaf_media(tree, c->leaf.leaf)->count, 0); "
             "crab_clean_word(flow, &nv_leaf_media(tree, c->leaf.leaf)->count); "
             "smo_link(c->write, smo_before(tree, &c->leaf), "
             "crab_link_to(geo, c->spare[0].leaf, head[0].birth))"),
    ]),
    Design("nvtree: the lowest key of a leaf is that of its first record, as of a scan", [
        Edit(NV_SMO, "i ? tree->scratch[split].key : c->leaf.low", "tree->scratch[i ? split : 0].key"),
    ]),
    Design("nvtree: a delete in a full leaf splits it, as published", [
        Edit(NV_SMO, "c->spares == NV_SPARES && !delete", "(c->spares == NV_SPARES || delete)"),
    ]),
    Design("nvtree: attach believes a count that is too high", [
        Edit(NV_RECOVER, "*count > tree->room", "false"),
    ]),
    Design("nvtree: births begin from 0 at each attach", [
        Edit(NV_RECOVER, "tree->birth = max(tree->birth, head->birth);", "tree->birth = 0"),
    ]),
]

SPARSE = "a leaf that stays sparse keeps its records; the next delete tries again"

# (function, statement, kind of mutant, why it does no harm)
HARMLESS = [
    ("fresh_line", "crab_store(flow, &line->zero, 0)", "left out", "the word is reserved: nothing reads it yet"),
    ("crab_nv_leaf_fresh", "crab_store(flow, &d->zero, 0)", "left out", "the word is reserved: nothing reads it yet"),
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
    ("crab_smo_abort", "crab_smo_release(write, smo->spare[i].leaf)", "left out",
     "no cut leads there, only media that changes: the store is read-only then (crabtree_changing)"),
]
