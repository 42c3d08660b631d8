# SPDX-License-Identifier: GPL-2.0
"""The mistakes of design for the engine clfb: see tools/host/mutants/design.py."""

from design import Design, Edit

LEAF = "engines/clfb/leaf_append.c"
ENCODED = "engines/clfb/leaf_encoded.c"
LINE = "engines/clfb/line.c"
NODE = "engines/clfb/node.c"
SMO = "engines/clfb/smo.c"
RECOVER = "engines/clfb/recover.c"

DESIGNS = [
    Design("clfb: the bit of a slot is durable before the slot",
        Edit(LEAF, "crab_store(write->flow, &d->key, record->key);",
             "leaf_mark(write, leaf, slot, bits.word[slot / WORD_BITS], true); "
             "crab_store(write->flow, &d->key, record->key)"),
        Edit(LEAF, "crab_fence(write->flow, CRAB_P11_APPENDED);\n"
             "\tleaf_mark(write, leaf, slot, bits.word[slot / WORD_BITS], true);",
             "crab_fence(write->flow, CRAB_P11_APPENDED)")),
    Design("clfb, encoded: a key wider than the others does not widen them",
        Edit(ENCODED, "return r->count > 1 ? key_bytes(r->at[r->count - 1].key - r->at[0].key) : 1;",
             "return r->count > 1 ? key_bytes(r->at[1].key - r->at[0].key) : 1")),
    Design("clfb, encoded: attach believes a leaf with a wrong crc",
        Edit(ENCODED, "(u32)crab_clfb_line_word(&line, CLFB_LEAF_CRC) !=\n"
             "\t    line_crc(&line, geo, place->leaf)", "false")),
    Design("clfb, encoded: a line is stored word by word",
        Edit(LINE, "crab_store_line(flow, to, words);",
             "for (i = 0; i < CLFB_LINE_WORDS; i++) crab_store(flow, to + i, words[i])")),
    Design("clfb: the line above the fresh leaves is written before them",
        Edit(SMO, "split_write(write, place, &s);\n\tplan_commit(write);",
             "plan_commit(write); split_write(write, place, &s)")),
    Design("clfb: an old leaf goes to the pool, and is written again, before the line above it",
        Edit(SMO, "crab_fence(write->flow, CRAB_P7_FRESH);",
             "crab_fence(write->flow, CRAB_P7_FRESH); "
             "if (s->n == 2) crab_clfb_leaf_fresh(write->flow, geo, place->leaf, place->low, NULL, 0)")),
    Design("clfb: a reference is stored without its sign",
        Edit(LINE, "clfb_ref_extend(difference & ((1ULL << 8 * width) - 1), width)",
             "(difference & ((1ULL << 8 * width) - 1))")),
    Design("clfb, inplace: the log is written after the node is invalid",
        Edit(NODE, "line_store(flow, log, &old, 0);",
             "old.byte[CLFB_MARK] = 0; crab_store(flow, to, crab_clfb_line_word(&old, 0)); crab_clean_word(flow, to); "
             "crab_fence(flow, CRAB_P18_INVALID); old.byte[CLFB_MARK] = 1; line_store(flow, log, &old, 0)")),
    Design("clfb, inplace: a node becomes valid together with its other words",
        Edit(NODE, "line_store(flow, to, line, 1);", "line_store(flow, to, line, 0)")),
    Design("clfb, inplace: attach believes an invalid node",
        Edit(NODE, "line->byte[CLFB_MARK] == 1", "true")),
    Design("clfb, inplace: repair does not restore an invalid node",
        Edit(RECOVER, "crab_clfb_node_restore(tree, flow);", ";")),
    Design("clfb, two lines: the line that counts is overwritten",
        Edit(NODE, "return !tree->second[number];", "return tree->second[number]")),
    Design("clfb, two lines: the sequence does not advance",
        Edit(NODE, "line->byte[CLFB_MARK] = old.byte[CLFB_MARK] + 1;",
             "line->byte[CLFB_MARK] = old.byte[CLFB_MARK]")),
    Design("clfb, two lines: a fresh node begins with the first sequence",
        Edit(NODE, "line->byte[CLFB_MARK] = other.byte[CLFB_MARK] + 1;", "line->byte[CLFB_MARK] = 1")),
    Design("clfb, two lines: repair clears a word of a torn line that is not the first",
        Edit(NODE, "crab_store(flow, clfb_node_media(tree, number, copy), 0);",
             "crab_store(flow, clfb_node_media(tree, number, copy) + 1, 0)")),
    Design("clfb, two lines: attach believes the line with the lower sequence",
        Edit(NODE, "first_whole && is_newer(line, &second)", "first_whole && is_newer(&second, line)")),
]

# (function, statement, kind of mutant, why it does no harm)
HARMLESS = [
    ("crab_clfb_format", "crab_clfb_leaf_fresh(flow, geo, 0, 0, NULL, 0) / "
     "crab_clfb_root_store(flow, geo->store_id, 0, 0)", "exchanged", "one fence makes both durable (P2)"),
]
