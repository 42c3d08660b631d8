#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes hostile images: make.py [--base IMAGE] OUTDIR [NAME...]

Writes NAME.img, NAME.expect (what must be seen) for each mutation, base.records
(what the good image holds, "key value" a line) and LIST, in the order of the
mutations.  Without --base the good image is built here, by format.h; with it,
it is a region's content, detached cleanly, with at least 6 leaves in use and
a free slot in each.

An .expect file holds lines:
  state N       crabtree_info.state
  errno N       the verbs' result, if the store is unavailable
  reason TEXT   a part of crabtree_info.reason
  size N        how much of the image the region takes
  served A B    keys from A to B are there as in base.records
  unclean A B   keys from A to B get -EUCLEAN
  repairs N     crabtree_info.repairs
  media WORD    "same": not a bit of the media may change; "free"
"""
import argparse
import os
import sys

import image as media
from mutations import MUTATIONS, READONLY, READY


def ranges(image, leaves):
    lows = [image.head_get(image.leaf_at(n))["low"] for n in leaves] + [media.EMPTY]
    return [(lows[i], lows[i + 1] - 1) for i in range(len(leaves))]


def lines(expect, image, spans):
    yield "state %d" % expect.state
    yield "errno %d" % -expect.error
    if expect.reason:
        yield "reason %s" % expect.reason
    yield "size %d" % (expect.size or len(image.data))
    yield "repairs %d" % expect.repairs
    yield "media %s" % ("free" if expect.state == READY else "same")
    if expect.state in (READY, READONLY):
        for i, (low, high) in enumerate(spans):
            yield "%s %d %d" % ("unclean" if i in expect.bad else "served", low, high)


def write(path, content):
    with open(path, "wb") as f:
        f.write(content)


def load(path):
    if not path:
        return media.build()
    with open(path, "rb") as f:
        return media.Image(f.read())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base")
    parser.add_argument("outdir")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    base = load(args.base)
    leaves = base.list()
    if len(leaves) < 6:
        sys.exit("%s: only %d leaves are in use" % (args.base, len(leaves)))
    spans = ranges(base, leaves)
    os.makedirs(args.outdir, exist_ok=True)
    names = []
    for mutate in MUTATIONS:
        if args.names and mutate.__name__ not in args.names:
            continue
        image = base.copy()
        expect = mutate(image, leaves)
        stem = os.path.join(args.outdir, mutate.__name__)
        write(stem + ".img", image.data)
        write(stem + ".expect", ("\n".join(lines(expect, image, spans)) + "\n").encode())
        names.append(mutate.__name__)
    write(os.path.join(args.outdir, "base.records"),
          "".join("%d %d\n" % r for r in base.all_records()).encode())
    write(os.path.join(args.outdir, "LIST"), ("\n".join(names) + "\n").encode())
    print("%d images of %d bytes in %s" % (len(names), len(base.data), args.outdir))


if __name__ == "__main__":
    main()
