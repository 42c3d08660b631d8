# SPDX-License-Identifier: GPL-2.0
"""The mistakes for the engine clfb that only two threads show: see tools/host/mutants/design.py."""

from design import Design, Edit

FIND = "engines/clfb/find.c"
LEAF = "engines/clfb/leaf_append.c"
OPS = "engines/clfb/ops.c"

RACES = [
    Design("clfb: a scan takes keys of the next leaf that are below the end of the previous one",
        Edit(FIND, "from = at;", "from = start;")),
    Design("clfb: a reader sees a record before it is durable",
        Edit(LEAF, "crab_store(write->flow, word, counts ? others | bit : others);",
             "crab_store(write->flow, word, counts ? others | bit : others); "
             "crab_clean_word(write->flow, word); up_write(&write->tree->lock); "
             "crab_fence(write->flow, CRAB_P6_RECORD); down_write(&write->tree->lock)")),
    Design("clfb: a delete looks for the key before it has the lock",
        Edit(OPS, "old->value = crab_clfb_leaf_value(tree, place.leaf, slot);",
             "old->value = crab_clfb_leaf_value(tree, place.leaf, slot); "
             "up_write(&tree->lock); cond_resched(); down_write(&tree->lock)")),
]
