# SPDX-License-Identifier: GPL-2.0
"""Rules of the published engines that do not hold, as mistakes of design: claims.py judges them."""

from designs import Design, Edit

FF_WALK = "engines/fastfair/walk.c"
FF_SHIFT = "engines/fastfair/shift.c"
FF_REMOVE = "engines/fastfair/remove.c"
NV_LEAF = "engines/nvtree/leaf.c"
NV_SMO = "engines/nvtree/smo.c"
SORTED_READ = "engines/crab/sorted/read.c"
SORTED_SMO = "engines/crab/sorted/smo.c"

DESIGNS = [
    Design("shift: the left of two equal neighbouring values is void", [
        Edit(SORTED_READ, "if (!slot || key > prev)\n\t\t\tcontinue;", """if (slot &&
                crab_leaf_value(tree, leaf, slot) == crab_leaf_value(tree, leaf, slot - 1) &&
                leaf->duplicate == CRAB_LEAF_NO_DUPLICATE) {
                leaf->duplicate = slot - 1;
                leaf->torn++;
                continue;
            }
            if (!slot || key > prev) continue"""),
    ]),
    Design("split in place: the old leaf is ended before the fresh one is linked", [
        Edit(SORTED_SMO, "crab_smo_write(write, &smo, moved->key, moved, count, count, leaf);\n"
             "\tcrab_smo_link(write, leaf, crab_smo_first_word(tree, &smo));",
             """crab_sorted_end(write, leaf, keep);
             crab_smo_write(write, &smo, moved->key, moved, count, count, leaf);
             crab_smo_link(write, leaf, crab_smo_first_word(tree, &smo))"""),
    ]),
    Design("fastfair: the left of two equal neighbouring values is void", [
        Edit(FF_WALK, "i && key == above",
             """i && (key == above || (!node->level &&
                ff_value(ff, node->number, i) == ff_value(ff, node->number, i - 1)))"""),
    ]),
    Design("fastfair: a delete does not clean the line of its last store", [
        Edit(FF_SHIFT, "crab_store(op->flow, &slot[last].key, CRAB_KEY_EMPTY);\n"
             "\tcrab_clean(op->flow, &slot[last], sizeof(*slot));",
             "crab_store(op->flow, &slot[last].key, CRAB_KEY_EMPTY)"),
    ]),
    Design("fastfair: an end that begins a line is not cleaned", [
        Edit(FF_SHIFT, "if (ff_same_line(end - 1, end))\n\t\treturn;", "if (end) return"),
    ]),
    Design("fastfair: a merge bypasses the right node before its records are appended", [
        Edit(FF_REMOVE, "if (right->side->count)\n\t\tff_append(op, left, right);\n"
             "\tbypass(op, left, right, word, later);",
             """bypass(op, left, right, word, later);
             if (right->side->count) ff_append(op, left, right)"""),
    ]),
    Design("nvtree: a record is ignored if it has a negative with the same value", [
        Edit(NV_LEAF, "records[n].key = elements[i].key;", """{
            bool ignored = false;
            for (u32 j = 0; j < count; j++)
                ignored |= elements[j].negative && elements[j].key == elements[i].key &&
                           elements[j].value == elements[i].value;
            if (ignored) continue;
            records[n].key = elements[i].key;
        }"""),
    ]),
    Design("nvtree: a delete in a full leaf splits it", [
        Edit(NV_SMO, "c->count > room / 2 && c->spares == NV_SPARES && !delete",
             "c->count > room / 2"),
        Edit(NV_SMO, "*used = 2;", "if (c->spares < NV_SPARES) return -ENOSPC; *used = 2;"),
    ]),
]
