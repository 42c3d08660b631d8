/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the region: a piece of memory, claimed and mapped.
 *
 * Each provider (region_*.c) claims its memory exclusively, maps it write-back
 * cached, says honestly what a fenced clean means there, and lets go of all of
 * it in release(). It hands each region to the layer above by events->added();
 * if the memory is about to vanish it says so by events->removing().
 */
#ifndef CRABTREE_REGION_H
#define CRABTREE_REGION_H

#include <linux/errno.h>

#include "media/persist.h"

#define CRAB_REGION_NAME_LEN	64

/* The least region worth claiming: what the smallest pool needs */
#define CRAB_REGION_BYTES_MIN \
	(CRAB_POOL_OFFSET + (u64)CRAB_LEAVES_MIN * CRAB_LEAF_BYTES_MIN)

struct crab_region;
struct device;

/* Parameter readonly=1: constant before the first region is claimed */
extern bool crab_region_readonly;

struct crab_region_ops {
	const char *provider;	/* "ram", "phys", "of", "dax", "uml" */
	void (*release)(struct crab_region *region);
};

/**
 * struct crab_region - a claimed piece of memory
 * @media: how L1 reaches it
 * @ops: its provider
 * @name: as the provider calls it
 * @phys: physical address, or 0 where there is none to tell
 * @readonly: the provider forbids writing
 * @parent: the device that stands for the memory, or NULL
 * @priv: the provider's own
 */
struct crab_region {
	struct crab_media media;
	const struct crab_region_ops *ops;
	char name[CRAB_REGION_NAME_LEN];
	phys_addr_t phys;
	bool readonly;
	struct device *parent;
	void *priv;
};

/**
 * struct crab_region_events - what providers tell the layer above
 * @added: a region was claimed. On 0 it belongs to the callee, who ends it by
 *	crab_region_free(); on an error it stays the provider's
 * @removing: the region's memory is about to vanish. On return nobody touches it and
 *	the region is freed, or is being freed by another task. @region is only
 *	compared, so it may be stale
 * @failed: a part of the memory cannot be read any more; it is in the list of the
 *	region's media. @region as for @removing
 *
 * Context: may sleep; the caller holds no lock of ours.
 */
struct crab_region_events {
	int (*added)(struct crab_region *region);
	void (*removing)(struct crab_region *region);
	void (*failed)(struct crab_region *region, u64 offset, u64 len);
};

/**
 * crab_region_alloc() - an empty region, not claimed yet
 * @ops: its provider
 * @name: format of its name
 * Return: the region, or NULL without memory. kfree() undoes it until release()
 * has something to release.
 */
__printf(2, 3)
struct crab_region *crab_region_alloc(const struct crab_region_ops *ops, const char *name, ...);

/**
 * crab_region_free() - release the memory and free @region
 * @region: the region, or NULL
 */
void crab_region_free(struct crab_region *region);

/**
 * crab_region_check() - may this be a region? Says in the log why not
 * @name: of whom to speak
 * @start: its first byte
 * @size: bytes
 * Return: 0 or -EINVAL.
 */
int crab_region_check(const char *name, u64 start, u64 size);

/**
 * crab_region_give() - hand a finished region to the layer above
 * @region: the region, or ERR_PTR; freed if nobody takes it
 * @events: the layer above
 * Return: 0 or an error.
 */
int crab_region_give(struct crab_region *region, const struct crab_region_events *events);

/**
 * crab_region_size() - the next size in a module parameter
 * @spec: what is left of the parameter; advanced behind the next comma
 * @size: out
 * Return: 0 or -EINVAL.
 */
int crab_region_size(char **spec, u64 *size);

/**
 * crab_region_number() - read a number with an optional unit, as memparse() does
 * @item: the text
 * @value: out
 * @end: out: the first character after the number and its unit
 * Return: 0, -EINVAL if there is no number, -ERANGE if it needs more than 64 bits; the log
 * reports the latter.
 */
int crab_region_number(const char *item, u64 *value, char **end);

/**
 * crab_region_option() - take the next item of a module parameter if it is this option
 * @spec: what is left of the parameter
 * @option: a word
 * Return: true if the item was the option.
 */
bool crab_region_option(char **spec, const char *option);

/**
 * crab_region_caches() - the platform's caches persist: cleans are not needed
 * @region: the region, its durability set for caches that do not persist
 *
 * Only for a region whose provider was told so. Volatile memory stays volatile.
 */
void crab_region_caches(struct crab_region *region);

/*
 * The providers. crab_region_*_add() reads one region off a module parameter,
 * claims it and hands it up; -EOPNOTSUPP where this kernel has no such memory.
 */
int crab_region_ram_add(char **spec, const struct crab_region_events *events);

#ifdef CONFIG_HAS_IOMEM
struct crab_region *crab_region_phys_claim(const struct crab_region_ops *ops, const char *name,
					   u64 start, u64 size);
void crab_region_phys_release(struct crab_region *region);
int crab_region_phys_add(char **spec, const struct crab_region_events *events);
#else
static inline int crab_region_phys_add(char **spec, const struct crab_region_events *events)
{
	return -EOPNOTSUPP;
}
#endif

#if defined(CONFIG_BLOCK) && defined(CONFIG_FS_DAX)
int crab_region_dax_add(char **spec, const struct crab_region_events *events);
void crab_region_dax_exit(void);
#else
static inline int crab_region_dax_add(char **spec, const struct crab_region_events *events)
{
	return -EOPNOTSUPP;
}

static inline void crab_region_dax_exit(void) { }
#endif

#ifdef CONFIG_UML
int crab_region_uml_add(char **spec, const struct crab_region_events *events);
#else
static inline int crab_region_uml_add(char **spec, const struct crab_region_events *events)
{
	return -EOPNOTSUPP;
}
#endif

/* Nodes of the device tree come and go by themselves, from register to unregister */
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
