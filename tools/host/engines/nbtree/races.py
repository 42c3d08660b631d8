# SPDX-License-Identifier: GPL-2.0
"""The mistakes for the engine nbtree that only two threads show: see tools/host/mutants/design.py."""

from design import Design, Edit

ACCESS = "engines/nbtree/access.c"
LEAF = "engines/nbtree/leaf.c"
FIND = "engines/nbtree/find.c"
SMO = "engines/nbtree/smo.c"
OPS = "engines/nbtree/ops.c"

EADR_LEAF = "engines/nbtree/eadr/leaf.c"
EADR_LOCATE = "engines/nbtree/eadr/locate.c"
EADR_SMO = "engines/nbtree/eadr/smo.c"
EADR_OPS = "engines/nbtree/eadr/ops.c"
EADR_UPKEEP = "engines/nbtree/eadr/upkeep.c"

RACES = [
    Design("nbtree: a search ignores that the leaf changed",
        Edit(ACCESS, "valid && !read_seqcount_retry(&leaf->seq, seq)", "valid")),
    Design("nbtree: a writer does not look whether the leaf is still the right one",
        Edit(ACCESS, "leaf_holds(leaf, key) && !leaf->quarantined", "!leaf->quarantined")),
    Design("nbtree: readers see a record before it is durable",
        Edit(LEAF, "crab_store(write->flow, &d->key, record->key);",
             "crab_store(write->flow, &d->key, record->key); "
             "WRITE_ONCE(leaf->fp[slot], nb_fingerprint(record->key)); "
             "WRITE_ONCE(leaf->live, leaf->live | 1ULL << slot)")),
    Design("nbtree: a scan returns what a leaf holds below the key, after its range grew",
        Edit(FIND, "count += crab_records_take(read->records, got, read->key, end, records + count,\n"
             "\t\t\t\t\t   cap - count);",
             "count += crab_records_take(read->records, got, start, end, records + count, cap - count);")),
    Design("nbtree: a leaf is unlinked although a record was inserted into it since",
        Edit(SMO, "leaf->live || before->quarantined || leaf->quarantined", "before->quarantined")),
    Design("nbtree: a split does not lock the leaf",
        Edit(SMO, "crab_lock(&leaf->lock);", ";"),
        Edit(SMO, "err = split_leaf(write, leaf, fresh, key);\n\tcrab_unlock(&leaf->lock);",
             "err = split_leaf(write, leaf, fresh, key)")),
    Design("nbtree: an unlinked leaf keeps its range",
        Edit(SMO, "WRITE_ONCE(leaf->high, leaf->low);", ";")),
    Design("nbtree: compare-and-swap: the lock is released after the comparison",
        Edit(OPS, "err = leaf_decide(tree, leaf, slot, mode, old, &record.value);",
             """err = leaf_decide(tree, leaf, slot, mode, old, &record.value);
             if (mode == CRAB_INSERT_SWAP) { crab_unlock(&leaf->lock); crab_lock(&leaf->lock); }""")),
    Design("eadr: an insert whose slot another task has used takes the next one",
        Edit(EADR_LEAF, "ea_swap(write, leaf, slot, EA_FREE, ea_value(tree, leaf, slot),\n"
             "\t\t     EA_LIVE | (record->key & EA_KEY_BITS), record->value)",
             "ea_swap(write, leaf, slot, EA_FREE, ea_value(tree, leaf, slot), "
             "EA_LIVE | (record->key & EA_KEY_BITS), record->value) || "
             "(++slot < tree->nb.room && ea_swap(write, leaf, slot, EA_FREE, ea_value(tree, leaf, slot), "
             "EA_LIVE | (record->key & EA_KEY_BITS), record->value))")),
    Design("eadr: an insert notes its key before it has the slot",
        Edit(EADR_LEAF, "if (slot >= tree->nb.room)\n\t\treturn slot == EA_SLOT_LOST ? -ERANGE : -ENOSPC;",
             "if (slot >= tree->nb.room) return -ENOSPC; ea_note_key(leaf, slot, record->key)"),
        Edit(EADR_LEAF, "ea_note_key(leaf, slot, record->key);\n\treturn 0;", "return 0")),
    Design("eadr: a search does not follow a leaf that is gone",
        Edit(EADR_LOCATE, "leaf && unlikely(smp_load_acquire(&leaf->gone))",
             "leaf && smp_load_acquire(&leaf->gone) && !ea_smo(leaf)->fresh[0]")),
    Design("eadr: an update compares the key, but not the value",
        Edit(EADR_OPS, "ea_swap(write, leaf, slot->number, slot->word, old->value, slot->word, value)",
             "ea_swap(write, leaf, slot->number, slot->word, "
             "ea_value(ea_tree_of(&write->tree->base), leaf, slot->number), slot->word, value)")),
    Design("eadr: two deletes of a record both succeed",
        Edit(EADR_OPS, "ea_swap(write, leaf, slot.number, slot.word, old->value, EA_DEAD, old->value)",
             "(ea_swap(write, leaf, slot.number, slot.word, old->value, EA_DEAD, old->value), true)")),
    Design("eadr: a delete notes that its slot is void before the swap",
        Edit(EADR_OPS, "ea_is_frozen(slot.word)",
             "ea_is_frozen(slot.word) || ({ WRITE_ONCE(leaf->fp[slot.number], EA_FP_VOID); false; })")),
    Design("eadr: a leaf moves by the plan for the leaf that it has replaced",
        Edit(EADR_SMO, "leaf->birth != plan->birth", "false")),
    Design("eadr: a copy overwrites the slot that another task has copied to",
        Edit(EADR_SMO, "crab_cas_pair(flow, &d->key, old, EA_LIVE | (key & EA_KEY_BITS), value)",
             "(crab_store(flow, &d->value, value), "
             "crab_store(flow, &d->key, EA_LIVE | (key & EA_KEY_BITS)), true)")),
    Design("eadr: the link of a leaf does not freeze",
        Edit(EADR_SMO, "crab_cas(write->flow, at, word, word | EA_LINK_MARK) != word", "false")),
    Design("eadr: the fresh leaf gets the mark of the frozen link",
        Edit(EADR_SMO, "return tries ? word & ~EA_LINK_MARK : LINK_CHANGES;", "return word")),
    Design("eadr: an empty leaf is unlinked although an insert comes",
        Edit(EADR_SMO, "crab_ea_close(write, leaf)", "true")),
    Design("eadr: a leaf is gone before the list has its fresh leaves",
        Edit(EADR_SMO, "done = to != LINK_CHANGES && crab_cas(write->flow, at, old, to) == old;",
             "smo_gone(tree, leaf); "
             "done = to != LINK_CHANGES && crab_cas(write->flow, at, old, to) == old")),
    Design("eadr: a leaf is gone although the leaf before it, which freezes, still links it",
        Edit(EADR_SMO, "!done && before && ea_smo(before)", "false")),
    Design("eadr: the free slots of a fresh leaf are not durable when another CPU copies (P5)",
        Edit(EADR_SMO, "crab_fence(write->flow, CRAB_P5_PREPARED);", "")),
    Design("eadr: a copy is not durable when another CPU links it (P7)",
        Edit(EADR_SMO, "crab_fence(write->flow, CRAB_P7_FRESH);", "")),
    Design("eadr: a link is not durable when another CPU changes the fresh leaf (P8)",
        Edit(EADR_SMO, "crab_fence(write->flow, CRAB_P8_LINKED);", "")),
    Design("eadr: a replaced leaf is free at once",
        Edit(EADR_UPKEEP, "crab_pool_free_later(&tree->nb.pool, smo->later);",
             "crab_pool_free(&tree->nb.pool, leaf->number); kfree(smo->later)")),
    Design("eadr: the index follows a leaf before the one that it replaces",
        Edit(EADR_UPKEEP, "for (first = leaf; first->before; first = first->before)\n\t\t\t;", "first = leaf")),
    Design("test_progress: a task that meets a frozen leaf waits for the task that froze it",
        Edit(EADR_SMO, "if (smo_publish(write, leaf, *smo))\n\t\t*smo = NULL;",
             "if (smo_publish(write, leaf, *smo)) { crab_ea_smo_finish(write, leaf); *smo = NULL; }"),
        Edit(EADR_OPS, "crab_ea_smo_finish(write, leaf) ? -EAGAIN : -EUCLEAN", "-EAGAIN")),
    Design("test_progress: a task waits for the leaf before, which freezes, instead of completing it",
        Edit(EADR_SMO, "at = at ?: leaf;", "at = leaf")),
    Design("test_progress: an insert waits until the keys of the slots below its own are known",
        Edit(EADR_LEAF, "if (slot >= tree->nb.room)\n\t\treturn slot == EA_SLOT_LOST ? -ERANGE : -ENOSPC;",
             "if (slot >= tree->nb.room) return -ENOSPC; "
             "for (u32 i = 0; i < slot; i++) "
             "while (!READ_ONCE(leaf->fp[i]) && ea_word(tree, leaf, i) != EA_FREE)")),
    Design("test_progress: an operation waits for the task that changes the index",
        Edit(EADR_UPKEEP, "!crab_ea_is_behind(tree) || !mutex_trylock(&tree->nb.smo_lock)",
             "!crab_ea_is_behind(tree) || ({ mutex_lock(&tree->nb.smo_lock); false; })")),
    Design("test_progress: a search waits until the index leads to the leaf",
        Edit(EADR_LOCATE, "return leaf_by_list(tree, key);",
             "do leaf = leaf_onward(crab_index_find(&tree->nb.index, key), key); "
             "while (!leaf || key < leaf->low || key >= READ_ONCE(leaf->high)); return leaf")),
    Design("test_progress: a search along the list takes a fresh leaf before the old one is gone",
        Edit(EADR_LOCATE, "leaf_onward(leaf_counts(next), key)", "leaf_onward(next, key)")),
    Design("test_progress: an unlinked leaf stays in the index until a late task queues it",
        Edit(EADR_UPKEEP, "leaf && smp_load_acquire(&leaf->gone)", "false")),
]

SUBJECTS = {
    "nbtree: readers see a record before it is durable": ("nbtree", 61),
    "nbtree: compare-and-swap: the lock is released after the comparison": ("nbtree, leaves of 512 bytes", 255),
    "eadr: an insert whose slot another task has used takes the next one": ("eadr", 128),
    "eadr: an insert notes its key before it has the slot": ("eadr", 96),
    "eadr: a search does not follow a leaf that is gone": ("eadr", 1),
    "eadr: an update compares the key, but not the value": ("eadr", 402),
    "eadr: two deletes of a record both succeed": ("eadr", 93),
    "eadr: a delete notes that its slot is void before the swap": ("eadr", 3),
    "eadr: the link of a leaf does not freeze": ("eadr", 94),
    "eadr: the fresh leaf gets the mark of the frozen link": ("eadr", 9),
    "eadr: an empty leaf is unlinked although an insert comes": ("eadr", 7),
    "eadr: a leaf is gone before the list has its fresh leaves": ("eadr", 79),
    "eadr: a leaf is gone although the leaf before it, which freezes, still links it": ("eadr", 57),
    "eadr: the free slots of a fresh leaf are not durable when another CPU copies (P5)": ("eadr", 79),
    "eadr: a copy is not durable when another CPU links it (P7)": ("eadr", 524),
    "eadr: a link is not durable when another CPU changes the fresh leaf (P8)": ("eadr", 209),
    "eadr: a replaced leaf is free at once": ("eadr, hardly any space", 541),
    "eadr: the index follows a leaf before the one that it replaces": ("eadr, leaves of two", 150),
}
