/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file holds hostile scripts (hostile.h), in hexadecimal, that once found a
 * bug, each with its description. A new one is added with its fix.
 */
/* the verifier saw damage before a leaf that a cut had emptied */
"15ef06611af08649",
/* a record that also belonged to a leaf in quarantine was scanned, and not found */
"08e4069767b05054",
/* a slotted leaf born for the reserved key was scanned, and not found */
"02c0060301000300060302000300020803021300",
/* a scan skipped the leaves after a gap, to a key that belonged there */
"0a2ffeeaa483d34d069a28e5cc90021011cf4681",
/* keys in a gap after or before an empty leaf were reported as absent */
"0a00023319a92dc606ce0ffe438d",
/* a scan that skipped a gap did not advance past an empty leaf */
"08ae069a28e6cc90021011cf4681",
/* leaves were written with births that the next attach refuses */
"08a00283321e875a080100000000",
/* a delete by copying failed where the list has every leaf */
"0aa0069aabf88c02dcdcdcdcdc70dddcdc8906590283321e875a",
/* a superblock with the highest sequence could not be superseded */
"06a9007a62354a80",
/* a gap without room after the previous leaf: a record of that leaf was scanned, and not found */
"022202d3f920a4b302be198eb930",
/* fastfair: a scan of the leaf before a quarantined one returned -EAGAIN */
"1840030206021200",
/* fastfair: a record below a quarantined inner node was scanned, and not found */
"19a8062b44d3790e05b37466552a57576b9d5215024a0859f5e6",
/* fastfair: a check of a store whose inner nodes form a cycle did not end */
"180d0507917cd2f002c5ace220e705858bc9a69002bae9d47d84",
/* nvtree: a delete failed in a store whose births were used up */
"25a0069aabf88c02083e27c22826dcdcdcdcdc70dd00000020590283321e878a",
/* fastfair: nodes were written with births that the next attach refuses */
"19e004ec2ede0bcd0246c280b78301e3ea36c50a",
/* nvtree: the judge passed options of another engine, which made attach read no leaf */
"276d069aabf88c02dcdcdcdcdc70dddcdc890659",
/* an image of records that claims to hold blobs was attached, and had no list */
"00000000dd000000",
/* clfb: a node was read from the log for good, in a store that claims to be clean */
"2902dcccdcfcdcdcdc90dcdc9cdcdcdcdc0001000875734370d8988e1100248b",
/* a superblock that claims blobs and commits was refused without a reason */
"1c000000dd740000",
/* the judge compared a store that grows with the smaller one */
"35e7002a9fe5497a0044957979520100000096000000b54423d9",
/* the judge read a leaf beyond a region that is shorter than its image */
"3510002a9fe5497a0000b54423d905cebcfc85f60859bc6f13da",
/* the judge wanted a store of eadr to be writable in a region whose caches do not persist */
"cfc9087c2118431608306a5866f308dcfdfc1a3201d7e0aae1b6080d163f571f000b54940100",
/* fastfair: a search found leaves after a quarantined one that scans passed over */
"19e006048857ec5604152ede0bcd01e3ea36c50a",
/* fastfair: a scan down passed leaves with keys beyond an entry that names no node */
"180206d4972e7a30055b78db0831d72108380b8427fb9ca3a7f4",
