# SPDX-License-Identifier: GPL-2.0
"""The ways in which a region can be bad, one function each.

Each takes a fresh copy of a good image and the numbers of its leaves in list
order, damages the image and returns the expected results (class Expect).
Checksums are restored unless they are the damage themselves, so
that the later checks are reached.

Not included, because the media is that of a valid store: a leaf skipped by
a valid link (an unlink leaves the same state).
"""
import errno

from image import (ATTACHED, EMPTY, HEAD_AT, LINK_MASK, MAGIC, MAGIC_VOID, POOL_AT,
                   link_check)

UNFORMATTED, READY, READONLY, REJECTED = 0, 1, 2, 3

MUTATIONS = []


class Expect:
    """State, errno of the verbs, a part of the reason, and leaves not served."""

    def __init__(self, state, error=0, reason="", bad=(), repairs=0, size=None):
        self.state, self.error, self.reason = state, error, reason
        self.bad, self.repairs, self.size = list(bad), repairs, size


def mutation(function):
    MUTATIONS.append(function)
    return function


def rejected(error, reason, **more):
    return Expect(REJECTED, error, reason, **more)


def readonly(reason, bad=(), **more):
    return Expect(READONLY, 0, reason, bad, **more)


def both(image, **fields):
    for copy in (0, 1):
        image.super_put(copy, dict(image.super_get(copy), **fields))


# superblocks

@mutation
def untouched(image, leaves):
    return Expect(READY)


@mutation
def super_newest_torn(image, leaves):
    image.data[image.newest() * 4096 + 100] ^= 1
    return Expect(READY)


@mutation
def super_oldest_torn(image, leaves):
    image.data[(1 - image.newest()) * 4096 + 190] ^= 0x80
    return Expect(READY)


@mutation
def super_oldest_zero(image, leaves):
    at = (1 - image.newest()) * 4096
    image.data[at:at + 192] = bytes(192)
    return Expect(READY)


@mutation
def supers_torn(image, leaves):
    for copy in (0, 1):
        image.data[copy * 4096 + 8 + 11] ^= 4
    return rejected(errno.EUCLEAN, "both superblocks are damaged")


@mutation
def supers_zero(image, leaves):
    """Our magic is gone, our leaves are not."""
    for at in (0, 4096):
        image.data[at:at + 192] = bytes(192)
    return rejected(errno.EMEDIUMTYPE, "other data at offset")


@mutation
def format_unfinished(image, leaves):
    for at in (0, 4096):
        image.word(at, MAGIC_VOID)
    return Expect(UNFORMATTED, errno.ENODATA, "FORMAT began")


@mutation
def blank(image, leaves):
    image.data[:] = bytes(len(image.data))
    return Expect(UNFORMATTED, errno.ENODATA, "blank")


@mutation
def foreign_ext4(image, leaves):
    image.data[:] = bytes(len(image.data))
    image.data[1024 + 56:1024 + 58] = b"\x53\xef"
    return rejected(errno.EMEDIUMTYPE, "offset 1080")


@mutation
def foreign_text(image, leaves):
    image.data[:] = (b"pstore: Oops#1 Part1 " * (len(image.data) // 21 + 1))[:len(image.data)]
    return rejected(errno.EMEDIUMTYPE, "not a crabtree store")


@mutation
def foreign_tail(image, leaves):
    """Only at the very end, as a backup partition table."""
    image.data[:] = bytes(len(image.data))
    image.data[-512:-504] = b"EFI PART"
    return rejected(errno.EMEDIUMTYPE, "other data at offset")


@mutation
def version_newer_in_one(image, leaves):
    """An upgrade that was cut off after its first copy: the newer one counts."""
    newest = image.super_get(image.newest())
    image.super_put(1 - image.newest(),
                    dict(newest, version=2, sequence=newest["sequence"] + 1))
    return rejected(errno.EPROTONOSUPPORT, "version 2")


def supers(name, expect, **fields):
    """A mutation: both superblocks have these fields."""
    def mutate(image, leaves):
        both(image, **fields)
        return expect
    mutate.__name__ = name
    MUTATIONS.append(mutate)


def nonsense(name, what, **fields):
    supers(name, rejected(errno.EUCLEAN, "impossible " + what), **fields)


supers("cut_off", Expect(READY), state=ATTACHED)    # the writer never detached
supers("version_newer", rejected(errno.EPROTONOSUPPORT, "version 2"), version=2)
supers("version_zero", rejected(errno.EPROTONOSUPPORT, "version 0"), version=0)
supers("feature_incompat", rejected(errno.EPROTONOSUPPORT, "0x8000000000000000"), feature_incompat=1 << 63)
supers("feature_ro_compat", readonly("unknown feature bits 0x4"), feature_ro_compat=4)
supers("feature_compat", Expect(READY), feature_compat=1 << 40)
supers("engine_unknown", rejected(errno.EPROTONOSUPPORT, "unknown engine 48879"), engine=0xBEEF)
supers("layout_unknown", rejected(errno.EPROTONOSUPPORT, "unknown layout 4660"), layout=0x1234)
supers("region_larger", rejected(errno.EINVAL, "1099511627776 bytes in a region of"), region_bytes=1 << 40)

nonsense("leaf_bytes_0", "leaf size", leaf_bytes=0)
nonsense("leaf_bytes_3", "leaf size", leaf_bytes=3)
nonsense("leaf_bytes_511", "leaf size", leaf_bytes=511)
nonsense("leaf_bytes_256", "leaf size", leaf_bytes=256)
nonsense("leaf_bytes_huge", "leaf size", leaf_bytes=1 << 31)
nonsense("pool_low", "pool offset", pool_offset=0)
nonsense("pool_odd", "pool offset", pool_offset=POOL_AT + 8)
nonsense("pool_huge", "pool offset", pool_offset=1 << 63)
nonsense("leaves_0", "number of leaves", leaves=0)
nonsense("leaves_many", "number of leaves", leaves=1 << 20)
nonsense("leaves_huge", "number of leaves", leaves=EMPTY)
nonsense("leaves_wrap", "number of leaves", leaves=(1 << 55) + 1)
nonsense("state_unknown", "state", state=77)
nonsense("region_small", "", region_bytes=4096)


@mutation
def region_cut(image, leaves):
    """The store is whole, the region that came back is only half of it."""
    return rejected(errno.EINVAL, "in a region of", size=len(image.data) // 2)


@mutation
def another_uuid(image, leaves):
    """The superblocks of another store were written over this one's."""
    both(image, uuid=bytes([0x77] * 16), store_id=0x0BADF00D)
    return readonly("head of the leaf list is damaged", range(len(leaves)))


@mutation
def another_uuid_in_one(image, leaves):
    """One copy is another store's, and newer."""
    newest = image.super_get(image.newest())
    image.super_put(1 - image.newest(), dict(
        newest, uuid=bytes([0x77] * 16), store_id=0x0BADF00D,
        sequence=newest["sequence"] + 1))
    return readonly("head of the leaf list is damaged", range(len(leaves)))


# the head of the list

def head(image, seal=True, **fields):
    image.head_put(HEAD_AT, dict(image.head_get(HEAD_AT), **fields), seal)


@mutation
def head_torn(image, leaves):
    image.data[HEAD_AT + 44] ^= 1
    return readonly("head of the leaf list is damaged", range(len(leaves)))


@mutation
def head_zero(image, leaves):
    image.data[HEAD_AT:HEAD_AT + 48] = bytes(48)
    return readonly("head of the leaf list is damaged", range(len(leaves)))


@mutation
def head_link_zero(image, leaves):
    head(image, next=0)
    return readonly("damaged at offset 8192", range(len(leaves)))


@mutation
def head_link_out(image, leaves):
    head(image, next=image.link_to(image.sb["leaves"], 1))
    return readonly("link out of the pool", range(len(leaves)))


@mutation
def head_link_second(image, leaves):
    """Right in every bit, but to a leaf that cannot be the first."""
    second = image.head_get(image.leaf_at(leaves[1]))
    head(image, next=image.link_to(leaves[1], second["birth"]))
    return readonly("least keys", range(len(leaves)))


# links between leaves; i is the place in the list

def link(image, leaves, i, word):
    image.word(image.leaf_at(leaves[i]), word)


def after(leaves, i):
    return range(i + 1, len(leaves))


def birth(image, leaves, i):
    return image.head_get(image.leaf_at(leaves[i]))["birth"]


def middle(leaves):
    return len(leaves) // 2


def link_of_middle(name, reason, word):
    """A mutation: the link of a leaf in the middle is WORD(image, leaves, i)."""
    def mutate(image, leaves):
        i = middle(leaves)
        link(image, leaves, i, word(image, leaves, i))
        return readonly(reason, after(leaves, i))
    mutate.__name__ = name
    MUTATIONS.append(mutate)


def to(image, leaves, i):
    return image.link_to(leaves[i], birth(image, leaves, i))


link_of_middle("link_out", "link out of the pool",
               lambda image, leaves, i: image.link_to(image.sb["leaves"] + 5, 1))
link_of_middle("link_huge", "link out of the pool", lambda image, leaves, i: EMPTY)
# a word that was never written is no end
link_of_middle("link_zero", "damaged at offset", lambda image, leaves, i: 0)
link_of_middle("link_end_of_another", "damaged at offset",
               lambda image, leaves, i: image.link_end(leaves[i + 1], birth(image, leaves, i + 1)))
# the right place, wrong check bits
link_of_middle("link_wild", "another birth",
               lambda image, leaves, i: image.word(image.leaf_at(leaves[i])) ^ 1 << 50)
link_of_middle("link_self", "in the list already", to)
link_of_middle("link_back", "in the list already", lambda image, leaves, i: to(image, leaves, 0))


@mutation
def link_shared(image, leaves):
    """The last leaf shares the next of one before it."""
    link(image, leaves, -1, to(image, leaves, middle(leaves)))
    return readonly("in the list already")


@mutation
def link_free(image, leaves):
    """To a leaf of the pool that was never born."""
    i = middle(leaves)
    free = next(n for n in range(image.sb["leaves"]) if n not in leaves)
    at = image.leaf_at(free)
    image.data[at:at + 48] = bytes(48)
    link(image, leaves, i, image.link_to(free, 0))
    return readonly("without a valid header", after(leaves, i))


@mutation
def end_missing(image, leaves):
    link(image, leaves, -1, 0)
    return readonly("damaged at offset")


@mutation
def end_stale(image, leaves):
    """The end of this leaf when it had another birth."""
    i = len(leaves) - 1
    link(image, leaves, i, image.link_end(leaves[i], birth(image, leaves, i) - 1))
    return readonly("damaged at offset")


# headers of leaves

def header(image, leaves, i, seal=True, **fields):
    at = image.leaf_at(leaves[i])
    image.head_put(at, dict(image.head_get(at), **fields), seal)


def torn(name, places):
    """A mutation: headers with a bad crc. Their own links lead on, only these leaves are lost."""
    def mutate(image, leaves):
        for i in places(len(leaves)):
            image.data[image.leaf_at(leaves[i]) + 45] ^= 1
        return readonly("without a valid header", places(len(leaves)))
    mutate.__name__ = name
    MUTATIONS.append(mutate)


torn("leaf_torn", lambda n: [n // 2])
torn("leaf_first_torn", lambda n: [0])
torn("leaf_last_torn", lambda n: [n - 1])
torn("leaf_two_torn", lambda n: [1, n - 2])     # far from each other


@mutation
def leaf_zero(image, leaves):
    """A page of the media came back as zeros: no link leads on."""
    i = middle(leaves)
    at = image.leaf_at(leaves[i])
    image.data[at:at + image.sb["leaf_bytes"]] = bytes(image.sb["leaf_bytes"])
    return readonly("without a valid header", range(i, len(leaves)))


@mutation
def leaf_stale(image, leaves):
    """The memory was used again: a header of this store, of another birth."""
    i = middle(leaves)
    header(image, leaves, i, birth=birth(image, leaves, i) + 1000)
    return readonly("another birth", range(i, len(leaves)))


@mutation
def leaf_of_another_store(image, leaves):
    i = middle(leaves)
    header(image, leaves, i, store_id=0x0BADF00D)
    return readonly("without a valid header", [i])


@mutation
def leaf_misplaced(image, leaves):
    """A leaf copied whole to another place."""
    i = middle(leaves)
    at, other = image.leaf_at(leaves[i]), image.leaf_at(leaves[i + 1])
    image.data[other:other + image.sb["leaf_bytes"]] = \
        image.data[at:at + image.sb["leaf_bytes"]]
    return readonly("without a valid header", range(i + 1, len(leaves)))


@mutation
def leaf_birth_huge(image, leaves):
    i = middle(leaves)
    header(image, leaves, i, birth=EMPTY)
    return readonly("without a valid header", [i])


@mutation
def leaf_low_descends(image, leaves):
    i = middle(leaves)
    header(image, leaves, i, low=0)
    return readonly("least keys", range(i, len(leaves)))


@mutation
def leaf_low_above(image, leaves):
    """A lowest key above the first records makes them foreign."""
    i = middle(leaves)
    keys = sorted(k for k, _ in image.records(leaves[i]).values())
    header(image, leaves, i, low=keys[len(keys) // 2])
    return readonly("outside the leaf's range", [i])


# slots

def free_slot(image, leaves, i):
    live = image.records(leaves[i])
    return next(s for s in range(image.slots()) if s not in live)


def record(image, leaves, i, slot, key, value):
    image.word(image.slot_at(leaves[i], slot), key)
    image.word(image.slot_at(leaves[i], slot) + 8, value)


@mutation
def key_below(image, leaves):
    i = middle(leaves)
    record(image, leaves, i, free_slot(image, leaves, i), 1, 1)
    return readonly("outside the leaf's range", [i])


@mutation
def key_above(image, leaves):
    """A key of the next leaf, as a move that was left half done."""
    i = middle(leaves)
    key = image.head_get(image.leaf_at(leaves[i + 1]))["low"]
    record(image, leaves, i, free_slot(image, leaves, i), key, 1)
    return readonly("outside the leaf's range", [i])


@mutation
def key_twice(image, leaves):
    i = middle(leaves)
    key, _ = next(iter(image.records(leaves[i]).values()))
    record(image, leaves, i, free_slot(image, leaves, i), key, 12345)
    return readonly("there twice", [i])


@mutation
def slots_half(image, leaves):
    """States after a power cut: an insert that stored its key only, then its value only."""
    i = middle(leaves)
    void = image.head_get(image.leaf_at(leaves[i]))["void"]
    key = image.head_get(image.leaf_at(leaves[i]))["low"] + 1
    record(image, leaves, i, free_slot(image, leaves, i), key, void)
    record(image, leaves, 0, free_slot(image, leaves, 0), EMPTY, 4711)
    return Expect(READY, repairs=2)


@mutation
def damage_and_half(image, leaves):
    """A damaged store is not repaired."""
    slots_half(image, leaves)
    link(image, leaves, -1, 0)
    return readonly("damaged at offset")
