# SPDX-License-Identifier: GPL-2.0
"""The mistakes of design for the engine nbtree: see tools/host/mutants/design.py."""

from design import Design, Edit

LEAF = "engines/nbtree/leaf.c"
SMO = "engines/nbtree/smo.c"
RECOVER = "engines/nbtree/recover.c"

DESIGNS = [
    Design("nbtree: an insert stores the key before the value", [
        Edit(LEAF, "crab_store(write->flow, &d->value, record->value);",
             "crab_store(write->flow, &d->key, record->key)"),
        Edit(LEAF, "crab_store(write->flow, &d->key, record->key);",
             "crab_store(write->flow, &d->value, record->value)"),
    ]),
    Design("nbtree: a delete clears the value, not the key", [
        Edit(LEAF, "crab_store(write->flow, &d->key, CRAB_KEY_EMPTY);",
             "crab_store(write->flow, &d->value, CRAB_KEY_EMPTY)"),
    ]),
    Design("nbtree: the free slots of a fresh leaf keep the keys of its earlier use", [
        Edit(LEAF, "crab_store(flow, &d->slot[i].key, CRAB_KEY_EMPTY);", ";"),
    ]),
    Design("nbtree: the link to a fresh leaf is durable before it", [
        Edit(SMO, "crab_nb_leaf_fresh(write->flow, geo, &head, tree->scratch + split, count - split);",
             "smo_link(write, leaf, crab_link_to(geo, fresh->number, fresh->birth)); "
             "crab_nb_leaf_fresh(write->flow, geo, &head, tree->scratch + split, count - split)"),
    ]),
    Design("nbtree: the fresh leaf ends the list", [
        Edit(SMO, "smo_word(tree, fresh, leaf->high)", "smo_word(tree, fresh, CRAB_KEY_EMPTY)"),
    ]),
    Design("nbtree: stale keys return where the range of a leaf grows", [
        Edit(SMO, "crab_nb_leaf_erase(write, before);", ";"),
    ]),
    Design("nbtree: stale keys are erased after the link that bypasses the next leaf", [
        Edit(SMO, "crab_nb_leaf_erase(write, before);\n"
             "\tsmo_link(write, before, smo_word(tree, before, leaf->high));",
             "smo_link(write, before, smo_word(tree, before, leaf->high)); "
             "crab_nb_leaf_erase(write, before)"),
    ]),
    Design("nbtree: a split forgets that the old leaf has stale keys now", [
        Edit(LEAF, "WRITE_ONCE(leaf->live, leaf->live & ~(1ULL << slot));\n"
             "\t\tleaf->stale |= 1ULL << slot;",
             "WRITE_ONCE(leaf->live, leaf->live & ~(1ULL << slot))"),
    ]),
    Design("nbtree: attach takes stale keys as records", [
        Edit(LEAF, "key < leaf->high", "key != CRAB_KEY_EMPTY"),
    ]),
    Design("nbtree: births begin anew at each attach", [
        Edit(RECOVER, "tree->birth = max(tree->birth, head->birth);", "tree->birth = 1"),
    ]),
    Design("nbtree: repair cleans no leaf", [
        Edit(RECOVER, "crab_clean(flow, nb_leaf_media(tree, leaf), engine->geo.leaf_bytes);", ";"),
    ]),
]

# (function, statement, kind of mutant, why it does no harm)
HARMLESS = [
    ("nb_remove", "crab_nb_smo_unlink(&write, key)", "left out",
     "the empty leaf stays in the list, and later inserts use it"),
]
