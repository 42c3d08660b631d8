# SPDX-License-Identifier: GPL-2.0
"""The mistakes for the engine fastfair that only two threads show: see tools/host/mutants/design.py."""

from design import Design, Edit

FF_ENGINE = "engines/fastfair/engine.c"
FF_FIND = "engines/fastfair/find.c"
FF_REMOVE = "engines/fastfair/remove.c"
FF_SCAN = "engines/fastfair/scan.c"
FF_SHIFT = "engines/fastfair/shift.c"

RACES = [
    Design("fastfair: a search returns a value although the leaf changed meanwhile",
        Edit(FF_ENGINE, "!crab_side_read_valid(side, seq)", "false")),
    Design("fastfair: a scan returns records although the leaf changed meanwhile",
        Edit(FF_SCAN, "!crab_side_read_valid(side, seq)", "false")),
    Design("fastfair: a search does not go on in the next leaf",
        Edit(FF_ENGINE, "err = key < high ? -ENOENT : 1;", "err = -ENOENT")),
    Design("fastfair: readers see a value before it is durable, as published",
        Edit(FF_SHIFT, "crab_clean(op->flow, &slot->value, sizeof(slot->value));",
             "crab_clean(op->flow, &slot->value, sizeof(slot->value)); crab_side_end(node->side); "
             "crab_fence(op->flow, CRAB_P6_RECORD); crab_side_begin(node->side)")),
    Design("fastfair: a leaf that was removed is not marked",
        Edit(FF_REMOVE, "WRITE_ONCE(node->side->flags, FF_DEAD);", ";")),
    Design("fastfair: a leaf that was removed is free at once, under its readers",
        Edit(FF_REMOVE, "later->leaf = node->number;\n\tcrab_pool_free_later(&ff->pool, later);",
             "crab_pool_free(&ff->pool, node->number); kfree(later)")),
    Design("fastfair: a writer takes a leaf without a look whether it was removed",
        Edit(FF_FIND, "node->side->flags & (FF_DEAD | FF_BAD)", "node->side->flags & FF_BAD")),
    Design("fastfair: a writer takes a leaf that a split took its key from",
        Edit(FF_FIND, "!err && key < high", "!err")),
    Design("fastfair: a merge does not lock the right leaf",
        Edit(FF_REMOVE, "crab_lock_nested(&right->side->lock);", ";"),
        Edit(FF_REMOVE, "crab_unlock(&right->side->lock);", ";")),
    Design("fastfair: compare-and-swap: compares before it has the lock",
        Edit(FF_ENGINE, "err = insert_once(&op, key, value, mode, old, &sibling);",
             """err = mode == CRAB_INSERT_SWAP && !ff_lookup(engine, key, &old->value) && (old->existed = true) ?
             (old->value != old->expected ? -ESTALE :
              insert_once(&op, key, value, CRAB_INSERT_REPLACE, old, &sibling)) : insert_once(&op, key, value, mode, old, &sibling)""")),
    Design("fastfair: add: reads before it has the lock",
        Edit(FF_ENGINE, "err = insert_once(&op, key, value, mode, old, &sibling);",
             """err = mode == CRAB_INSERT_ADD && !ff_lookup(engine, key, &old->value) ?
             insert_once(&op, key, value + old->value, CRAB_INSERT_REPLACE, old, &sibling) :
             insert_once(&op, key, value, mode, old, &sibling)""")),
]

# Races that few stores show: only that store runs, for longer
SUBJECTS = {
    "fastfair: a leaf that was removed is free at once, under its readers": ("fastfair, hardly any space", 1520),
}
