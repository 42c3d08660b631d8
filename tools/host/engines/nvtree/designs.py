# SPDX-License-Identifier: GPL-2.0
"""The mistakes of design for the engine nvtree: see tools/host/mutants/design.py."""

from design import Design, Edit

NV_OPS = "engines/nvtree/ops.c"
NV_SMO = "engines/nvtree/smo.c"
NV_LEAF = "engines/nvtree/leaf.c"
NV_PARK = "engines/nvtree/park.c"
NV_ACCESS = "engines/nvtree/access.c"
NV_RECOVER = "engines/nvtree/recover.c"

DESIGNS = [
    Design("nvtree: the count becomes durable together with the element",
        Edit(NV_LEAF, "crab_fence(flow, CRAB_P11_APPENDED);", ";")),
    Design("nvtree: the count is durable before the element",
        Edit(NV_LEAF, "crab_store(flow, &slot->key, elements->key);",
             "crab_store(flow, &d->count, end); crab_clean_word(flow, &d->count); "
             "crab_fence(flow, CRAB_P6_RECORD); crab_store(flow, &slot->key, elements->key)")),
    Design("nvtree: the sign of an element is set, and never cleared",
        Edit(NV_LEAF, "*signs = (*signs & ((1ULL << bit) - 1)) | (u64)negative << bit;",
             "*signs |= (u64)negative << bit")),
    Design("nvtree: the oldest element of a key counts",
        Edit(NV_LEAF, "i + 1 < count && elements[i + 1].key == elements[i].key",
             "i && elements[i - 1].key == elements[i].key")),
    Design("nvtree: an update with pairs stores the count twice",
        Edit(NV_OPS, "crab_nv_leaf_append(write, place, elements + PAIR - n, n);",
             "if (n == PAIR) crab_nv_leaf_append(write, place, elements, 1); "
             "crab_nv_leaf_append(write, place, elements + 1, 1)")),
    Design("nvtree: a fresh leaf is linked before it is durable",
        Edit(NV_SMO, "crab_fence(flow, CRAB_P7_FRESH);", ";")),
    Design("nvtree: the right leaf of a merge is not unlinked, and its records are in both",
        Edit(NV_SMO, "c->right.side ? &c->right : &c->leaf", "&c->leaf")),
    Design("nvtree: an old leaf goes to the pool, and is written again, before P8",
        Edit(NV_SMO, "smo_link(c->write, before, crab_link_to(geo, c->spare[0].leaf, head[0].birth));",
             "crab_store(flow, &nv_leaf_media(tree, c->leaf.leaf)->count, 0); "
             "crab_clean_word(flow, &nv_leaf_media(tree, c->leaf.leaf)->count); "
             "smo_link(c->write, before, crab_link_to(geo, c->spare[0].leaf, head[0].birth))")),
    Design("nvtree: the lowest key of a leaf is that of its first record, as of a scan",
        Edit(NV_SMO, "i ? tree->scratch[split].key : c->leaf.low", "tree->scratch[i ? split : 0].key")),
    Design("nvtree: attach believes a count that is too high",
        Edit(NV_RECOVER, "*count > tree->room", "false")),
    Design("nvtree: births begin from 0 at each attach",
        Edit(NV_RECOVER, "tree->birth = max(tree->birth, head->birth);", "tree->birth = 0")),
    Design("nvtree, instant: the root stays in the superblock of an attached store, and is believed",
        Edit("store/attach.c", "store->super.engine_root = 0;", ";"),
        Edit("store/attach.c", "clean ? store->super.engine_root : 0", "store->super.engine_root")),
    Design("nvtree, instant: the parked entries are not durable before the superblock names them",
        Edit(NV_PARK, "crab_fence(flow, CRAB_P16_PARKED);", ";")),
    Design("nvtree, instant: births continue from those of the leaves that were read",
        Edit(NV_PARK, "tree->birth = p->birth;", "tree->birth = 0")),
    Design("nvtree, instant: a leaf that was not read counts as empty",
        Edit(NV_ACCESS, "crab_nv_look(tree, key, place, NULL);\n\tcrab_nv_touch(tree, place);",
             "crab_nv_look(tree, key, place, NULL)")),
]

# Rules of the publication that do not hold: tools/host/mutants/claims.py judges them
PUBLISHED = [
    Design("nvtree: a record is ignored if it has a negative with the same value",
        Edit(NV_LEAF, "records[n].key = elements[i].key;", """{
            bool ignored = false;
            for (u32 j = 0; j < count; j++)
                ignored |= elements[j].negative && elements[j].key == elements[i].key &&
                           elements[j].value == elements[i].value;
            if (ignored) continue;
            records[n].key = elements[i].key;
        }""")),
    Design("nvtree: a delete in a full leaf splits it",
        Edit(NV_SMO, "c->count > room / 2 && c->spares == NV_SPARES && !delete",
             "c->count > room / 2"),
        Edit(NV_SMO, "*used = 2;", "if (c->spares < NV_SPARES) return -ENOSPC; *used = 2;")),
]

# (function, statement, kind of mutant, why it does no harm)
HARMLESS = [
    ("fresh_line", "crab_store(flow, &line->zero, 0)", "left out", "the word is reserved: nothing reads it yet"),
    ("crab_nv_leaf_fresh", "crab_store(flow, &d->zero, 0)", "left out", "the word is reserved: nothing reads it yet"),
]
