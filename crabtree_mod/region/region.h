/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the region (L2): a piece of memory, claimed and mapped. It may be included
 * from device/ and main.c; the folder includes media/ and compat/ only.
 *
 * Each provider (one file each) claims its memory exclusively, maps it write-back cached, sets the
 * durability that a fenced clean has there, and undoes all of it in release(). It passes each
 * region to the layer above by events->added(), and reports by events->removing() that the memory
 * is about to be removed.
 */
#ifndef CRABTREE_REGION_H
#define CRABTREE_REGION_H

#include <linux/errno.h>

#include "media/persist.h"

#define CRAB_REGION_NAME_LEN	64
#define CRAB_REGION_REASON_LEN	256

/* The smallest region: room for the smallest pool */
#define CRAB_REGION_BYTES_MIN \
	(CRAB_POOL_OFFSET + (u64)CRAB_LEAVES_MIN * CRAB_LEAF_BYTES_MIN)

struct crab_region;
struct device;

/* Parameter readonly=1: constant before the first region is claimed */
extern bool crab_region_readonly;

struct crab_region_ops {
	const char *provider;	/* "ram", "phys", "reserve", "of", "dax", "uml" */
	void (*release)(struct crab_region *region);
};

/**
 * struct crab_region - a claimed piece of memory
 * @id: of this region only, even after its end
 * @media: how L1 reaches it
 * @ops: its provider
 * @name: as the provider calls it
 * @phys: physical address, or 0 if unknown
 * @readonly: the provider forbids writing
 * @sealed: the media is mapped so that a store to it faults; vunmap() removes the mapping
 * @parent: the device of the memory, or NULL
 * @priv: private data of the provider
 */
struct crab_region {
	u64 id;
	struct crab_media media;
	const struct crab_region_ops *ops;
	char name[CRAB_REGION_NAME_LEN];
	phys_addr_t phys;
	bool readonly;
	bool sealed;
	struct device *parent;
	void *priv;
};

/**
 * struct crab_region_events - notifications of the providers to the layer above
 * @added: a region was claimed. On success the callee owns it and ends it by
 *	crab_region_free(); on an error the provider still owns it
 * @removing: the region's memory is about to be removed. On return no CPU accesses it, and the
 *	region is freed, or another task is freeing it. The region may be freed already: no other
 *	one has its @id
 * @failed: a part of the memory has become unreadable and is in the list of the region's media.
 *	@id as for @removing
 *
 * Context: may sleep; the caller holds no lock of the module.
 */
struct crab_region_events {
	int (*added)(struct crab_region *region);
	void (*removing)(u64 id);
	void (*failed)(u64 id, u64 offset, u64 len);
};

/**
 * crab_region_alloc() - allocate a region that has no memory yet
 * @ops: its provider
 * @name: format of its name
 *
 * Context: may sleep.
 * Return: the region, or NULL. kfree() frees it as long as release() has nothing to release.
 */
__printf(2, 3)
struct crab_region *crab_region_alloc(const struct crab_region_ops *ops, const char *name, ...);

/**
 * crab_region_free() - release the memory and free @region
 * @region: the region, or NULL
 *
 * Context: may sleep; the caller owns @region, and no CPU accesses its memory.
 */
void crab_region_free(struct crab_region *region);

/**
 * crab_region_check() - verify the bounds of a region
 * @name: name of the region, for messages
 * @start: its first byte
 * @size: its size in bytes
 *
 * Context: any.
 * Return: 0, or -EINVAL, with the reason in the log.
 */
int crab_region_check(const char *name, u64 start, u64 size);

/**
 * crab_region_give() - pass a complete region to the layer above
 * @region: the region, or ERR_PTR; freed if @events->added() fails
 * @events: the layer above
 *
 * Context: may sleep; see &struct crab_region_events.
 * Return: 0, the error in @region, or that of @events->added().
 */
int crab_region_give(struct crab_region *region, const struct crab_region_events *events);

/**
 * crab_region_caches() - declare that the platform's caches persist, so that cleans are not needed
 * @region: the region, its durability set for caches that do not persist
 *
 * Only for a region that its device-tree node or parameter declares so. Volatile memory stays
 * volatile.
 *
 * Context: any; before @region is passed to the layer above.
 */
void crab_region_caches(struct crab_region *region);

/**
 * crab_region_refuse() - log why a region is refused, and pass it to the listener
 * @fmt: format of the reason, in one line
 *
 * Context: may sleep.
 */
__printf(1, 2)
void crab_region_refuse(const char *fmt, ...);

/**
 * crab_region_listen() - set the listener
 * @listener: receives the text of each refusal, in the task that asked for the region
 *
 * Context: any; before the first region is added.
 */
void crab_region_listen(void (*listener)(const char *text));

#ifdef CONFIG_HAS_IOMEM
void *crab_region_map_readonly(phys_addr_t start, u64 size);
void crab_region_seal(struct crab_region *region, phys_addr_t start);
struct crab_region *crab_region_phys_claim(const struct crab_region_ops *ops, const char *name,
					   u64 start, u64 size, bool readonly);
int crab_region_phys_map(struct crab_region *region, u64 start, u64 size);
void crab_region_phys_unmap(struct crab_region *region);
void crab_region_phys_release(struct crab_region *region);
#endif

/* The driver core adds and removes regions of the device tree between register and unregister */
#if defined(CONFIG_OF_ADDRESS) && defined(CONFIG_HAS_IOMEM)
int crab_region_of_register(const struct crab_region_events *events);
void crab_region_of_unregister(void);
#else
static inline int crab_region_of_register(const struct crab_region_events *events)
{
	return 0;
}

static inline void crab_region_of_unregister(void) { }
#endif

#endif /* CRABTREE_REGION_H */
