# SPDX-License-Identifier: GPL-2.0
"""A crabtree region in memory: read, write and build one by format.h.

Written from Documentation/design/format.rst, not from the engine: a second
reader of the media.  Invariant: seal() after a change makes
the checksum of that structure good again; without it the checksum is the damage.
"""
import struct

MAGIC = 0x4545525442415243
MAGIC_VOID = 0x44494F5642415243
EMPTY = (1 << 64) - 1
SUPER_AT = (0, 4096)
HEAD_AT = 8192
POOL_AT = 16384
HEAD_BYTES = 48
LINK_BITS = 40
LINK_MASK = (1 << LINK_BITS) - 1
CLEAN, ATTACHED = 1, 2

_SUPER = struct.Struct("<QIIQQQQ16s32sHHIQQQIIQ48s")
_SUPER_NAMES = ("magic version crc sequence feature_compat feature_ro_compat "
                "feature_incompat uuid label engine layout leaf_bytes region_bytes "
                "pool_offset leaves state store_id formatted_at reserved").split()
_HEAD = struct.Struct("<QQQQQII")
_HEAD_NAMES = "next self birth low void store_id crc".split()
_WORD = struct.Struct("<Q")

U64 = (1 << 64) - 1


def _crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


_TABLE = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def link_check(store_id, offset, birth):
    h = (offset ^ store_id << 32) * 0x9E3779B97F4A7C15 & U64
    h = (h ^ h >> 32 ^ birth) * 0xD6E8FEB86659FD93 & U64
    return h >> LINK_BITS << LINK_BITS


class Image:
    """The bytes of a region, and its structures as dictionaries."""

    def __init__(self, data):
        self.data = bytearray(data)

    def copy(self):
        return Image(self.data)

    def word(self, at, value=None):
        if value is not None:
            _WORD.pack_into(self.data, at, value & U64)
        return _WORD.unpack_from(self.data, at)[0]

    # superblocks
    def super_get(self, copy):
        return dict(zip(_SUPER_NAMES, _SUPER.unpack_from(self.data, SUPER_AT[copy])))

    def super_put(self, copy, fields, seal=True):
        fields = dict(fields)
        if seal:
            fields["crc"] = 0
            fields["crc"] = crc32c(_SUPER.pack(*(fields[n] for n in _SUPER_NAMES)))
        _SUPER.pack_into(self.data, SUPER_AT[copy], *(fields[n] for n in _SUPER_NAMES))

    def super_valid(self, copy):
        fields = self.super_get(copy)
        crc, fields["crc"] = fields["crc"], 0
        packed = _SUPER.pack(*(fields[n] for n in _SUPER_NAMES))
        return fields["magic"] == MAGIC and crc == crc32c(packed)

    def newest(self):
        """Which copy counts."""
        valid = [c for c in (0, 1) if self.super_valid(c)]
        if not valid:
            raise ValueError("no valid superblock: not an image to begin with")
        return max(valid, key=lambda c: self.super_get(c)["sequence"])

    @property
    def sb(self):
        return self.super_get(self.newest())

    # leaves
    def head_get(self, at):
        return dict(zip(_HEAD_NAMES, _HEAD.unpack_from(self.data, at)))

    def head_put(self, at, fields, seal=True):
        fields = dict(fields)
        if seal:
            body = struct.pack("<QQQQI", *(fields[n] for n in _HEAD_NAMES[1:6]))
            fields["crc"] = crc32c(body)
        _HEAD.pack_into(self.data, at, *(fields[n] for n in _HEAD_NAMES))

    def head_valid(self, at, sb):
        fields = self.head_get(at)
        body = struct.pack("<QQQQI", *(fields[n] for n in _HEAD_NAMES[1:6]))
        return (fields["self"] == at and fields["store_id"] == sb["store_id"] and
                fields["crc"] == crc32c(body))

    def leaf_at(self, number, sb=None):
        sb = sb or self.sb
        return sb["pool_offset"] + number * sb["leaf_bytes"]

    def link_to(self, number, birth, sb=None):
        sb = sb or self.sb
        return link_check(sb["store_id"], self.leaf_at(number, sb), birth) | number + 1

    def link_end(self, number, birth, sb=None):
        sb = sb or self.sb
        return link_check(sb["store_id"], self.leaf_at(number, sb), birth)

    def slots(self, sb=None):
        return ((sb or self.sb)["leaf_bytes"] - HEAD_BYTES) // 16

    def slot_at(self, number, slot):
        return self.leaf_at(number) + HEAD_BYTES + 16 * slot

    def list(self):
        """Numbers of the leaves in the list, in order; raises where it is broken."""
        sb, numbers = self.sb, []
        word = self.head_get(HEAD_AT)["next"]
        while word & LINK_MASK:
            number = (word & LINK_MASK) - 1
            if number in numbers or number >= sb["leaves"]:
                raise ValueError("broken list at leaf %d" % number)
            head = self.head_get(self.leaf_at(number, sb))
            if (not self.head_valid(self.leaf_at(number, sb), sb) or
                    word != self.link_to(number, head["birth"], sb)):
                raise ValueError("bad link to leaf %d" % number)
            numbers.append(number)
            word = head["next"]
        if not numbers or word != self.link_end(numbers[-1], head["birth"], sb):
            raise ValueError("the list has no proper end")
        return numbers

    def records(self, number):
        """Live records of a leaf: {slot: (key, value)}."""
        void, live = self.head_get(self.leaf_at(number))["void"], {}
        for slot in range(self.slots()):
            key, value = (self.word(self.slot_at(number, slot) + o) for o in (0, 8))
            if key != EMPTY and value != void:
                live[slot] = (key, value)
        return live

    def all_records(self):
        return sorted(r for n in self.list() for r in self.records(n).values())


def _place(image, number, head, records, slots):
    at = image.leaf_at(number)
    image.head_put(at, head)
    for slot in range(slots):
        key, value = records[slot] if slot < len(records) else (EMPTY, head["void"])
        image.word(at + HEAD_BYTES + 16 * slot, key)
        image.word(at + HEAD_BYTES + 16 * slot + 8, value)


def build(region_bytes=65536, leaf_bytes=512, used=12, per_leaf=20):
    """A store of @used leaves, scattered over the pool, cleanly detached."""
    image = Image(bytes(region_bytes))
    leaves = (region_bytes - POOL_AT) // leaf_bytes
    sb = dict(zip(_SUPER_NAMES, (
        MAGIC, 1, 0, 5, 0, 0, 0, bytes(range(16)), b"selftest", 1, 1, leaf_bytes,
        region_bytes, POOL_AT, leaves, CLEAN, 0x00C0FFEE, 1700000000, b"")))
    image.super_put(1, sb)
    image.super_put(0, dict(sb, sequence=4, state=ATTACHED))
    numbers = [(7 * i + 3) % leaves for i in range(used)]
    births = [2 * i + 9 for i in range(used)]
    slots = image.slots(sb)
    for i, number in enumerate(numbers):
        last = i + 1 == used
        head = {
            "next": image.link_end(number, births[i], sb) if last else
                    image.link_to(numbers[i + 1], births[i + 1], sb),
            "self": image.leaf_at(number, sb), "birth": births[i],
            "low": 1000 * i, "void": 0xDEADBEEF00000001 + i * 0x10001,
            "store_id": sb["store_id"], "crc": 0,
        }
        keys = [1000 * i + 10 * k + 5 for k in range(per_leaf)]
        _place(image, number, head, [(k, k * 3 + 1) for k in keys], slots)
    image.head_put(HEAD_AT, {"next": image.link_to(numbers[0], births[0], sb),
                             "self": HEAD_AT, "birth": 0, "low": 0, "void": 0,
                             "store_id": sb["store_id"], "crc": 0})
    return image
