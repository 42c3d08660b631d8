# SPDX-License-Identifier: GPL-2.0
"""The mistakes of design for the engine toy: see tools/host/mutants/design.py."""

from design import Design, Edit


DESIGNS = [
    Design("toy: a change overwrites the leaf in use",
        Edit("engines/toy/toy.c", "toy_write(flow, &engine->geo, ++toy->birth, toy->array.records, toy->array.count);",
             "toy->birth += 2; toy_write(flow, &engine->geo, toy->birth, toy->array.records, toy->array.count)")),
]
