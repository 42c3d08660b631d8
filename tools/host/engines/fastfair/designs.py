# SPDX-License-Identifier: GPL-2.0
"""The mistakes of design for the engine fastfair: see tools/host/mutants/design.py."""

from design import Design, Edit

FF = "engines/fastfair/"
FF_WALK = "engines/fastfair/walk.c"
FF_SHIFT = "engines/fastfair/shift.c"
FF_REMOVE = "engines/fastfair/remove.c"

DESIGNS = [
    Design("fastfair: a value of 0 ends a node, as published",
        Edit(FF + "walk.c", "key == CRAB_KEY_EMPTY",
             "key == CRAB_KEY_EMPTY || !ff_value(ff, node->number, i)")),
    Design("fastfair: a shift to the right stores keys before values",
        Edit(FF_SHIFT, "slot_copy(flow, to, to - 1, true);", "slot_copy(flow, to, to - 1, false);")),
    Design("fastfair: a split ends the node before it links the fresh one",
        Edit(FF + "split.c", "crab_ff_link(op, node, sibling->link);\n\tcrab_ff_end(op, node, keep);",
             "crab_ff_end(op, node, keep); crab_ff_link(op, node, sibling->link);")),
    Design("fastfair: a split never ends the old node",
        Edit(FF + "split.c", "crab_ff_end(op, node, keep);", "node->side->count = keep;")),
    Design("fastfair: the entry of a fresh node is added before its link",
        Edit(FF + "split.c", "fresh_done(op, sibling);", "fresh_done(op, sibling); crab_ff_adopt(op, sibling);")),
    Design("fastfair: slots at or above the next node's lowest key are not void",
        Edit(FF + "walk.c", "key >= high", "false")),
    Design("fastfair: a merge bypasses the right leaf before its entry is removed",
        Edit(FF + "remove.c", """entry_drop(op, &entry);
	if (right->side->count)
		crab_ff_append(op, left, right);
	done = merge_holds(op, left, right, count);
	if (done)
		bypass(op, left, right, word, later);""",
             """if (right->side->count) crab_ff_append(op, left, right);
             bypass(op, left, right, word, later);
             entry_drop(op, &entry); done = true;""")),
    Design("fastfair: a leaf is found by its first key, as published",
        Edit(FF + "find.c", "at = &d->head.low;",
             "at = level || crab_load(media, &d->slot[0].key) == CRAB_KEY_EMPTY ? "
             "&d->head.low : &d->slot[0].key;")),
    Design("fastfair: births go on from 0 at attach",
        Edit(FF + "recover.c", "ff->birth = max(ff->birth, birth);", "(void)birth;")),
    Design("fastfair: nodes without an entry are not taken out of the pool",
        Edit(FF + "recover.c", "if (has_entry && !torn)\n\t\treturn;",
             "if (!has_entry) __clear_bit(node->number, ff->pool.used), ff->pool.free++;"
             " if (has_entry && !torn) return;")),
    Design("fastfair: the entry of a fresh node is added twice",
        Edit(FF + "engine.c", "crab_ff_adopt(&op, &sibling);", "crab_ff_adopt(&op, &sibling), crab_ff_adopt(&op, &sibling);"),
        Edit(FF + "split.c", "if (crab_ff_slot_of(op->ff, above, node->low, &pos))\n\t\treturn -EEXIST;",
             "crab_ff_slot_of(op->ff, above, node->low, &pos)")),
    Design("fastfair: repair leaves the void slots of inner nodes, and the next node changes",
        Edit(FF + "recover.c", "crab_ff_trace_slots(&op, trace);",
             "if (!trace->node.level) crab_ff_trace_slots(&op, trace)")),
    Design("fastfair, lazy: a write completes only the last node that it passes",
        Edit(FF + "lazy.c", "node_complete(op, &find.node, passed);",
             "if (crab_ff_next(ff, &find.node, &right) || key < right.low) node_complete(op, &find.node, passed)")),
    Design("fastfair, lazy: after the first write no node is taken as torn",
        Edit(FF + "lazy.c", "\tif (ff->traces)\n\t\treturn;", "")),
]

# Rules of the publication that do not hold: tools/host/mutants/claims.py judges them
PUBLISHED = [
    Design("fastfair: the left of two equal neighbouring values is void",
        Edit(FF_WALK, "i && key == above",
             """i && (key == above || (!node->level &&
                ff_value(ff, node->number, i) == ff_value(ff, node->number, i - 1)))""")),
    Design("fastfair: a delete does not clean the line of its last store",
        Edit(FF_SHIFT, "crab_store(op->flow, &slot[last].key, CRAB_KEY_EMPTY);\n"
             "\tcrab_clean_word(op->flow, &slot[last].key);",
             "crab_store(op->flow, &slot[last].key, CRAB_KEY_EMPTY)")),
    Design("fastfair: an end that begins a line is not cleaned",
        Edit(FF_SHIFT, "if (!ff_begins_line(at))\n\t\treturn;", "if (end) return")),
    Design("fastfair: a merge bypasses the right node before its records are appended",
        Edit(FF_REMOVE, "if (right->side->count)\n\t\tcrab_ff_append(op, left, right);\n"
             "\tdone = merge_holds(op, left, right, count);\n\tif (done)\n"
             "\t\tbypass(op, left, right, word, later);",
             """bypass(op, left, right, word, later);
             if (right->side->count) crab_ff_append(op, left, right); done = true""")),
]

SPARSE = "a sparse node stays, with its records; the next delete in it tries again"
ENTRY = ("the fence of the entry follows (P13), or that of the superblock; only without memory for a "
         "node above is there none, which these tests cannot show")
CHANGES = "only media that changes under the store leads here; test_blink shows that it is needed"

# (function, statement, kind of mutant, why it does no harm)
HARMLESS = [
    ("ff_remove", "crab_ff_thin(&op, key)", "left out", SPARSE),
    ("crab_ff_thin", "thin(op, key)", "left out", SPARSE),
    ("thin", "prune(op, &find.node)", "left out", SPARSE),
    ("crab_ff_end", "crab_fence(op->flow, CRAB_P10_ENDED)", "left out", ENTRY),
    ("crab_ff_end", "crab_fence(op->flow, CRAB_P10_ENDED)", "a store barrier instead", ENTRY),
    ("crab_ff_end", "crab_clean(op->flow, &slot->key, sizeof(slot->key)) / crab_fence(op->flow, CRAB_P10_ENDED)",
     "exchanged", ENTRY),
    ("merge_holds", "crab_ff_end(op, left, count)", "left out", CHANGES),
    ("root_grow", "crab_store(op->flow, &crab_list_head(media)->next, fresh.link) / "
     "crab_clean(op->flow, &crab_list_head(media)->next, sizeof(__le64))", "exchanged",
     "the level of the old root is complete: the next attach grows the root again"),
]
