/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file is the table of causes that `crabctl doctor` finds. The page
 * Documentation/admin-guide/when-it-does-not-work.rst has the same texts; tools/tests/doctor.sh
 * compares them, and has a transcript of each cause.
 *
 * CAUSE(name, severity, reason, text, next): @reason is the beginning of the reason that the
 * module reports, or "" if doctor concludes the cause from something else.
 */
#ifndef CAUSE
#error "define CAUSE before"
#endif

/* No device */
CAUSE(wrong_architecture, PROBLEM, "",
      "crabtree runs on x86-64 and arm64 only",
      "use such a machine, also for images")
CAUSE(module_missing, PROBLEM, "",
      "the module is not installed",
      "install the package crabtree-dkms, or run make modules and insmod")
CAUSE(wrong_kernel, PROBLEM, "",
      "the module is installed for another kernel than the running one",
      "install the headers of this kernel and run dkms autoinstall, or boot the other kernel")
CAUSE(module_not_loaded, PROBLEM, "",
      "the module is installed but not loaded",
      "modprobe crabtree with a region, for example ram=16M; the kernel's log has the reason if it fails")
CAUSE(no_region, PROBLEM, "",
      "the module has no region",
      "crabctl region add, for example ram=16M, or name the memory in the device tree")
CAUSE(lockdown, WARNING, "",
      "the kernel is locked down (Secure Boot), which forbids region=",
      "use pmem=, reserve= or the device tree")
CAUSE(node_missing, PROBLEM, "",
      "the kernel has the device, but its node in /dev is missing",
      "udevadm trigger; in a container, pass the device to it")
CAUSE(no_permission, WARNING, "",
      "this user may not open the device",
      "use root, or a udev rule that sets another owner")
CAUSE(label_twice, WARNING, "",
      "another store has the same label: /dev/crabtree/by-label/ names only one of them",
      "use by-uuid, or crabctl snapshot, then crabctl restore --force --label of the file that it wrote")
CAUSE(uuid_twice, WARNING, "",
      "another store has the same uuid: a copy of a region, or a second restore of one snapshot",
      "crabctl snapshot of one of them, then crabctl restore --force --uuid of the file that it wrote")

/* Unformatted */
CAUSE(blank, PROBLEM, "no store: the region is blank",
      "the region is blank: no store was made here, or the memory lost it",
      "crabctl format. If there was a store: does the firmware clear this memory, is it the same address?")
CAUSE(format_cut, PROBLEM, "a FORMAT began here and did not end",
      "a FORMAT or a restore was cut short, by the power or the end of its program: there is no store",
      "crabctl restore, if there is a snapshot; or crabctl format")
CAUSE(unfinished, NOTE, "a store is filled here",
      "a store is filled here, as by crabctl restore: it is none before it is complete",
      "wait for the program that fills it")

/* Rejected */
CAUSE(foreign_data, PROBLEM, "not a crabtree store",
      "the region holds other data",
      "verify that it is the right region; then crabctl format --force")
CAUSE(supers_damaged, PROBLEM, "both superblocks are damaged",
      "both superblocks are damaged: the memory lost its content, or something else wrote to it",
      "save a copy of the region; crabctl restore --force of a snapshot, or format --force and load of a dump")
CAUSE(super_unreadable, PROBLEM, "no superblock: uncorrectable",
      "the memory of the superblocks cannot be read",
      "replace the memory, or clear its bad blocks; crabctl restore of a snapshot, or format and load of a dump")
CAUSE(super_impossible, PROBLEM, "superblock at",
      "a superblock with a correct checksum has an impossible value: no power cut does that",
      "save a copy of the region; crabctl restore --force of a snapshot, or format --force and load of a dump")
CAUSE(newer_format, PROBLEM, "format version",
      "a newer module wrote the store",
      "use that module; nothing was changed")
CAUSE(newer_features, PROBLEM, "unknown incompatible feature",
      "the store has features that this module does not know",
      "use the module that wrote it; nothing was changed")
CAUSE(unknown_engine, PROBLEM, "unknown engine",
      "the store has an engine that this module does not have",
      "use the module that wrote it; nothing was changed")
CAUSE(unknown_layout, PROBLEM, "unknown layout",
      "the store has a leaf layout that this module does not have",
      "use the module that wrote it; nothing was changed")
CAUSE(region_shrunk, PROBLEM, "store of",
      "the region is smaller than the store in it",
      "give the region its former size")
CAUSE(region_too_small, PROBLEM, "region of",
      "the region is too small for a store",
      "use at least 24576 bytes, or 20480 with leaves of 512 bytes")
CAUSE(caches_needed, PROBLEM, "layout",
      "the layout needs persistent caches, which this region does not have",
      "attach it where caches persist, or read it with readonly=1, dump and load it")
CAUSE(swap_needed, PROBLEM, "no 16-byte compare-and-swap",
      "the layout writes with an instruction that this CPU does not have",
      "attach it on another machine, or read it with readonly=1, dump and load it")
CAUSE(no_memory, PROBLEM, "attach failed: error -12",
      "not enough DRAM for descriptors and index",
      "free memory and load the module again")
CAUSE(no_memory_store, PROBLEM, "attach failed: no memory",
      "not enough DRAM for the store",
      "free memory and load the module again")
CAUSE(attach_failed, PROBLEM, "attach failed",
      "the engine could not attach the store",
      "save a copy of the region; the kernel's log has more")

CAUSE(parked, NOTE, "detached for hibernation or shutdown",
      "the store was detached because the machine hibernates or shuts down",
      "nothing: the machine attaches it again when it runs")

/* Read-only */
CAUSE(readonly_asked, WARNING, "attached read-only",
      "the store is read-only because the module, the region or the device tree has readonly",
      "load the module, or add the region, without readonly to write")
CAUSE(readonly_newer, WARNING, "read-only: unknown feature",
      "a newer module wrote the store: this one can only read it",
      "use that module to write")
CAUSE(super_half_bad, PROBLEM, "read-only: the other superblock",
      "one superblock is in memory that cannot be read: the store is read-only",
      "crabctl snapshot, clear the bad blocks, crabctl restore")
CAUSE(damaged, PROBLEM, "damaged at offset",
      "the store is damaged, which no power cut does: it is read-only",
      "crabctl snapshot, which reports each loss, then crabctl restore --force of the file that it wrote")
CAUSE(memory_failed, PROBLEM, "memory at offset",
      "memory failed while the store was in use: it is read-only",
      "crabctl snapshot, which reports each loss; replace the memory; crabctl restore --force of the file that it wrote")
CAUSE(commit_waits, PROBLEM, "a commit waits for the next attach",
      "a commit is durable but could not be applied in full: the store is read-only",
      "free memory and load the module again: attach applies the rest")

/* Rejected or read-only */
CAUSE(other_reason, PROBLEM, "",
      "the store is not served, or only read, for a reason that doctor does not know",
      "the reason above and the kernel's log have more; a newer crabctl may know it")

/* Gone */
CAUSE(region_gone, PROBLEM, "the region was taken away",
      "the region was removed: its driver was unbound",
      "close the device; a new one appears with the region")

/* Served, but */
CAUSE(quarantine, PROBLEM, "",
      "leaves are quarantined: keys in their ranges return EUCLEAN",
      "crabctl snapshot, which reports each loss, then crabctl restore --force of the file that it wrote")
CAUSE(full, PROBLEM, "",
      "the store is full: inserts, and all new values of blobs and names, return ENOSPC; deletes work",
      "delete records, or enlarge the region: the store grows at the next attach")
CAUSE(nearly_full, WARNING, "",
      "more than nine in ten leaves are in use",
      "delete records, or enlarge the region: the store grows at the next attach")
CAUSE(one_superblock, NOTE, "",
      "one of the two superblocks is not valid, as after a power cut in attach or detach",
      "nothing: the next attach for writing replaces it")
CAUSE(not_detached, NOTE, "",
      "the last writer did not detach, as after a power cut",
      "nothing: every attach recovers; no acknowledged write is lost")
CAUSE(repaired, NOTE, "",
      "the last attach repaired what a power cut left undecided",
      "nothing: no acknowledged write is lost")

/* The class of durability */
CAUSE(class_none, WARNING, "",
      "nothing survives: the memory is volatile, or the engine cleans nothing",
      "good for trials; use real memory for data")
CAUSE(class_unproven, WARNING, "",
      "read after an unclean end without repair: some of it may be in caches only",
      "attach it for writing once")
CAUSE(class_poc, WARNING, "",
      "writes are cleaned to the point of coherency: a buffer beyond that point may lose them",
      "ask the vendor of the SoC whether such a buffer exists, and pull the plug under load")
CAUSE(class_cache, NOTE, "",
      "the caches count as persistent because the platform or a parameter declares it",
      "make sure that a battery covers the caches")
CAUSE(model_unproven, WARNING, "",
      "this architecture does not promise the media model that the layout needs",
      "use the layout slotted, which needs no such promise, or test it on the board")
