# SPDX-License-Identifier: GPL-2.0
"""The mistakes for the engine nvtree that only two threads show: see tools/host/mutants/design.py."""

from design import Design, Edit

NV_ACCESS = "engines/nvtree/access.c"
NV_OPS = "engines/nvtree/ops.c"
NV_SMO = "engines/nvtree/smo.c"

RACES = [
    Design("nvtree: a search reads up to the count on the media, which may not be durable",
        Edit(NV_OPS, "count = smp_load_acquire(&place.side->count);",
             "count = crab_load(tree->base.media, &nv_leaf_media(tree, place.leaf)->count); "
             "if (count > tree->room) count = 0")),
    Design("nvtree: a leaf that was replaced is not marked",
        Edit(NV_ACCESS, "WRITE_ONCE(side->gen, side->gen + 1);", ";")),
    Design("nvtree: a search ignores that the parent node changed",
        Edit(NV_ACCESS, "valid = !read_seqcount_retry(seq, at);", "valid = true")),
    Design("nvtree: a search ignores that a rebuild replaced the inner nodes",
        Edit(NV_ACCESS, "valid = valid && inner == rcu_access_pointer(tree->inner);", ";")),
    Design("nvtree: a merge does not lock the right leaf",
        Edit(NV_SMO, "crab_lock_nested(&right.side->lock);", ";"),
        Edit(NV_SMO, "crab_unlock(&c->right.side->lock);", ";"),
        Edit(NV_SMO, "crab_unlock(&right.side->lock);", ";")),
    Design("nvtree: compare-and-swap: the lock is released after the comparison",
        Edit(NV_OPS, "err = leaf_decide(tree, &place, key, mode, old, &next);",
             """err = leaf_decide(tree, &place, key, mode, old, &next);
             if (mode == CRAB_INSERT_SWAP) { crab_unlock(&place.side->lock); crab_lock(&place.side->lock); }""")),
    Design("nvtree: add: the lock is released after the old value is read",
        Edit(NV_OPS, "err = leaf_decide(tree, &place, key, mode, old, &next);",
             """err = leaf_decide(tree, &place, key, mode, old, &next);
             if (mode == CRAB_INSERT_ADD) { crab_unlock(&place.side->lock); crab_lock(&place.side->lock); }""")),
]

SUBJECTS = {
    "nvtree: a search ignores that a rebuild replaced the inner nodes": ("nvtree, hardly any space", 12024),
    "nvtree: compare-and-swap: the lock is released after the comparison": ("nvtree, leaves of 512 bytes", 1181),
    "nvtree: a search reads up to the count on the media, which may not be durable": ("nvtree", 157),
}
