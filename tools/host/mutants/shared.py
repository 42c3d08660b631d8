# SPDX-License-Identifier: GPL-2.0
"""The mistakes in code that all engines share: see design.py."""

from design import Design, Edit

INDEX = "shared/index.c"

DESIGNS = [
    Design("attach: repairs are not fenced before service", [
        Edit("store/attach.c", """err = engine->ops->repair ? engine->ops->repair(engine, &flow) : 0;
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
             err = engine->ops->repair ? engine->ops->repair(engine, &flow) : 0;
             if (err) return err"""),
    ]),
    Design("attach: the state of the superblock is not changed from \"clean\" to \"attached\"", [
        Edit("store/attach.c", "store->super.state = CRAB_SUPER_STATE_ATTACHED;", ""),
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
]

RACES = [
    Design("index: a node is freed while readers are in it", [
        Edit(INDEX, "kfree_rcu(node, rcu);", "kfree(node)"),
    ]),
    Design("test_index: an emptied node is retired before the node above it is out of the tree", [
        Edit(INDEX, "node_remove_at(node, path.pos[level]);",
             """node_remove_at(node, path.pos[level]);
             if (!node->count && node != index->root) node_retire(index, node)"""),
        Edit(INDEX, "for (emptied = 0; emptied < level; emptied++)\n\t\tnode_retire(index, path.node[emptied]);",
             ""),
    ]),
    Design("index: a key is stored before its child", [
        Edit(INDEX, "smp_store_release(&node->children[pos], child);",
             "smp_store_release(&node->keys[pos], key); smp_store_release(&node->children[pos], child)"),
    ]),
    Design("ThreadSanitizer: an entry of the index does not publish its leaf or node", [
        Edit(INDEX, "smp_store_release(&node->children[pos], child);",
             "WRITE_ONCE(node->children[pos], child)"),
    ]),
]
