/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the providers that a parameter or the control node names (L2), and the parser
 * of the text that names regions. It may be included from device/ and main.c; within the folder by
 * each provider that has a parameter.
 */
#ifndef CRABTREE_PROVIDER_H
#define CRABTREE_PROVIDER_H

#include "region.h"

/**
 * struct crab_region_request - one region that a parameter or the control node asks for
 * @name: a path, or the name of a reservation; points into the parameter
 * @start: physical address, or offset in @name
 * @size: bytes; 0: all of @name
 * @caches: the platform's caches persist
 * @readonly: nothing may write the region
 */
struct crab_region_request {
	const char *name;
	u64 start;
	u64 size;
	bool caches;
	bool readonly;
};

/**
 * struct crab_provider - a parameter that names regions
 * @name: the parameter
 * @caches: its regions take the option "cache"
 * @hardware: it takes physical addresses, which a locked-down kernel refuses
 * @parse: fill the request from the next items; 0, or -EINVAL with the reason in the log
 * @add: claim the region and pass it to @events; 0, or an error with the reason in the log.
 *	NULL: not supported by this kernel
 */
struct crab_provider {
	const char *name;
	bool caches;
	bool hardware;
	int (*parse)(char **spec, struct crab_region_request *request);
	int (*add)(const struct crab_region_request *request,
		   const struct crab_region_events *events);
};

/**
 * crab_provider_find() - find a provider by the name of its parameter
 * @name: the name
 * @len: its length
 *
 * Context: any.
 * Return: the provider, or NULL.
 */
const struct crab_provider *crab_provider_find(const char *name, size_t len);

/**
 * crab_provider_add() - claim the regions that the value of a parameter names
 * @provider: of the parameter
 * @value: the value
 * @most: at most so many regions
 * @events: the layer above, which receives the regions
 *
 * A region that was added stays if a later one is refused.
 *
 * Context: may sleep; the caller serialises the calls.
 * Return: 0, or an error with the reason in the log: -EOPNOTSUPP if this kernel does not support
 * such memory.
 */
int crab_provider_add(const struct crab_provider *provider, const char *value, unsigned int most,
		      const struct crab_region_events *events);

/**
 * crab_region_alloc_part() - allocate a region of @request, with the name of that part
 * @ops: its provider
 * @prefix: begin of the name
 * @request: the memory, and the part of it that is wanted
 *
 * Context: may sleep.
 * Return: as crab_region_alloc().
 */
struct crab_region *crab_region_alloc_part(const struct crab_region_ops *ops, const char *prefix,
					   const struct crab_region_request *request);

/**
 * crab_region_part() - narrow a range to the part of it that a request names
 * @provider: name of the parameter, for messages
 * @request: the request; all of the range if it names no part
 * @start: first byte of the range
 * @size: its size in bytes
 *
 * Context: any.
 * Return: 0, or -EINVAL if the part is not within the range, with the reason in the log.
 */
int crab_region_part(const char *provider, const struct crab_region_request *request, u64 *start,
		     u64 *size);

/**
 * crab_region_size() - parse the next size in a module parameter
 * @spec: rest of the parameter; advanced past the next comma
 * @size: out
 *
 * Context: any.
 * Return: 0, or -EINVAL, with the reason in the log.
 */
int crab_region_size(char **spec, u64 *size);

/**
 * crab_region_number() - read a number with an optional unit, as memparse() does
 * @item: the text
 * @value: out
 * @end: out: the first character after the number and its unit
 *
 * Context: any.
 * Return: 0, -EINVAL if there is no number, -ERANGE if it needs more than 64 bits; the log
 * reports the latter.
 */
int crab_region_number(const char *item, u64 *value, char **end);

/*
 * The providers' parse() and add(), as struct crab_provider describes them.
 */
int crab_region_ram_parse(char **spec, struct crab_region_request *request);
int crab_region_ram_add(const struct crab_region_request *request,
			const struct crab_region_events *events);

#ifdef CONFIG_HAS_IOMEM
int crab_region_reserve_add(const struct crab_region_request *request,
			    const struct crab_region_events *events);
int crab_region_phys_parse(char **spec, struct crab_region_request *request);
int crab_region_phys_add(const struct crab_region_request *request,
			 const struct crab_region_events *events);
#else
#define crab_region_reserve_add	NULL
#define crab_region_phys_parse	NULL
#define crab_region_phys_add	NULL
#endif

#if defined(CONFIG_BLOCK) && defined(CONFIG_FS_DAX)
int crab_region_dax_add(const struct crab_region_request *request,
			const struct crab_region_events *events);
void crab_region_dax_exit(void);
#else
#define crab_region_dax_add	NULL
static inline void crab_region_dax_exit(void) { }
#endif

#ifdef CONFIG_UML
int crab_region_uml_add(const struct crab_region_request *request,
			const struct crab_region_events *events);
#endif

#endif /* CRABTREE_PROVIDER_H */
