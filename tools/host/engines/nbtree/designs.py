# SPDX-License-Identifier: GPL-2.0
"""The mistakes of design for the engine nbtree: see tools/host/mutants/design.py."""

from design import Design, Edit

LEAF = "engines/nbtree/leaf.c"
SMO = "engines/nbtree/smo.c"
RECOVER = "engines/nbtree/recover.c"

EADR_LEAF = "engines/nbtree/eadr/leaf.c"
EADR_SMO = "engines/nbtree/eadr/smo.c"
EADR_RECOVER = "engines/nbtree/eadr/recover.c"

DESIGNS = [
    Design("nbtree: an insert stores the key before the value",
        Edit(LEAF, "crab_store(write->flow, &d->value, record->value);",
             "crab_store(write->flow, &d->key, record->key)"),
        Edit(LEAF, "crab_store(write->flow, &d->key, record->key);",
             "crab_store(write->flow, &d->value, record->value)")),
    Design("nbtree: a delete clears the value, not the key",
        Edit(LEAF, "crab_store(write->flow, &d->key, CRAB_KEY_EMPTY);",
             "crab_store(write->flow, &d->value, CRAB_KEY_EMPTY)")),
    Design("nbtree: the free slots of a fresh leaf keep the keys of its earlier use",
        Edit(LEAF, "crab_store(flow, &d->slot[i].key, CRAB_KEY_EMPTY);", ";")),
    Design("nbtree: the link to a fresh leaf is durable before it",
        Edit(SMO, "crab_nb_leaf_fresh(write->flow, geo, &head, tree->scratch + split, count - split);",
             "smo_link(write, leaf, crab_link_to(geo, fresh->number, fresh->birth)); "
             "crab_nb_leaf_fresh(write->flow, geo, &head, tree->scratch + split, count - split)")),
    Design("nbtree: the fresh leaf ends the list",
        Edit(SMO, "smo_word(tree, fresh, leaf->high)", "smo_word(tree, fresh, CRAB_KEY_EMPTY)")),
    Design("nbtree: stale keys return where the range of a leaf grows",
        Edit(SMO, "crab_nb_leaf_erase(write, before);", ";")),
    Design("nbtree: stale keys are erased after the link that bypasses the next leaf",
        Edit(SMO, "crab_nb_leaf_erase(write, before);\n"
             "\tsmo_link(write, before, smo_word(tree, before, leaf->high));",
             "smo_link(write, before, smo_word(tree, before, leaf->high)); "
             "crab_nb_leaf_erase(write, before)")),
    Design("nbtree: a split forgets that the old leaf has stale keys now",
        Edit(LEAF, "WRITE_ONCE(leaf->stale, leaf->stale || upper);", "")),
    Design("nbtree: attach takes stale keys as records",
        Edit(LEAF, "key < leaf->high", "key != CRAB_KEY_EMPTY")),
    Design("nbtree: births begin anew at each attach",
        Edit(RECOVER, "tree->birth = max(tree->birth, head->birth);", "tree->birth = 1")),
    Design("nbtree: repair cleans no leaf",
        Edit(RECOVER, "crab_clean(flow, nb_leaf_media(tree, leaf), engine->geo.leaf_bytes);", ";")),
    Design("eadr: an insert swaps the key only, and stores the value afterwards",
        Edit(EADR_LEAF, "ea_swap(write, leaf, slot, EA_FREE, ea_value(tree, leaf, slot),\n"
             "\t\t     EA_LIVE | (record->key & EA_KEY_BITS), record->value)",
             "ea_swap(write, leaf, slot, EA_FREE, ea_value(tree, leaf, slot), "
             "EA_LIVE | (record->key & EA_KEY_BITS), ea_value(tree, leaf, slot)) && "
             "ea_swap(write, leaf, slot, EA_LIVE | (record->key & EA_KEY_BITS), "
             "ea_value(tree, leaf, slot), EA_LIVE | (record->key & EA_KEY_BITS), record->value)")),
    Design("eadr: the list has the fresh leaves before they have the records",
        Edit(EADR_SMO, "if (!smo_copy(write, at))\n\t\t\treturn false;\n\t\tat = smo_bypass(write, at);",
             "struct nb_leaf *was = at; at = smo_bypass(write, at); smo_copy(write, was)")),
    Design("eadr: the first fresh leaf has no link to the second one",
        Edit(EADR_SMO, "next = crab_ea_smo_link(ea_tree_of(&write->tree->base), smo->fresh[1]);",
             "next = 0")),
    Design("eadr: an unlinked leaf stays, the one after it goes",
        Edit(EADR_SMO, "return next == LINK_CHANGES ? next : link_for(tree, before, next);",
             "return crab_ea_smo_link(tree, leaf)")),
    Design("eadr: repair removes frozen records",
        Edit(EADR_RECOVER, "EA_LIVE | (word & EA_KEY_BITS)", "EA_DEAD")),
    Design("eadr: births begin anew at each attach",
        Edit(EADR_RECOVER, "max_t(u64, atomic64_read(&tree->births), leaf->birth)", "1")),
]

EADR_STAYS = "the empty leaf stays in the list, until it is empty for the next time or splits"
EADR_SWEPT = "the empty leaf stays in the list; test_sweep expects it to go"
EADR_REPAIR = "any mixture of the repairs will do; the order keeps the states that tests try few"
EADR_CPUS = ("one CPU persists its stores in their order; another one that completes the steps needs it: "
             "make races")
EADR_MARK = "another task that changes the link in between needs it: make races"
EADR_LATER = "the next task that meets the leaf does it; concurrent searches need it at once: make races"
EADR_COPIES = "the leaf is not in the list yet; tasks that copy it together need the swap: make races"
EADR_FENCES = [("smo_prepare", "crab_fence(write->flow, CRAB_P5_PREPARED)"),
               ("smo_copy", "crab_fence(write->flow, CRAB_P7_FRESH)"),
               ("smo_bypass", "crab_fence(write->flow, CRAB_P8_LINKED)")]

# (function, statement, kind of mutant, why it does no harm)
HARMLESS = [
    *[(function, text, kind, EADR_CPUS) for function, text in EADR_FENCES
      for kind in ("left out", "a store barrier instead")],
    ("smo_prepare", "fresh_prepare(write, smo->fresh[0], leaf->low, min(high, smo->split), next) / "
     "crab_fence(write->flow, CRAB_P5_PREPARED)", "exchanged", EADR_CPUS),
    ("link_freeze", "crab_cas(write->flow, at, word, word | EA_LINK_MARK)", "left out", EADR_MARK),
    ("slot_copy", "crab_cas_pair(flow, &d->key, old, EA_LIVE | (key & EA_KEY_BITS), value)",
     "two stores instead", EADR_COPIES),
    ("crab_ea_close", "ea_swap(write, leaf, slot, EA_FREE, ea_value(tree, leaf, slot), EA_DEAD, 0)",
     "left out", EADR_STAYS),
    ("unlink_once", "crab_ea_smo_finish(write, leaf)", "left out", EADR_LATER),
    ("write_loop", "crab_ea_unlink(write, this->key)", "left out", EADR_STAYS),
    ("sweep_leaf", "leaf_unlink(write, low)", "left out", EADR_SWEPT),
    ("crab_ea_sweep", "sweep_leaf(&write)", "left out", EADR_SWEPT),
    ("slot_repair", "crab_store(flow, &ea_slot_at(tree, leaf, slot)->key, "
     "EA_LIVE | (word & EA_KEY_BITS)) / crab_order(flow)", "exchanged", EADR_REPAIR),
    ("slot_repair", "crab_order(flow)", "left out", EADR_REPAIR),
    ("nb_remove", "crab_nb_smo_unlink(&write, key)", "left out",
     "the empty leaf stays in the list, and later inserts use it"),
]
