// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the table of providers and parses the text that names regions: the value of
 * a module parameter, or a line of the control node. Each region is one request: the items that its
 * provider parses, then options.
 *
 * Invariant: a request is complete before the first byte of memory is claimed for it. No lock: the
 * caller serialises the requests.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "provider.h"

/* The shift of the unit that ends a number; a hexadecimal number may end in the digit e */
static u32 number_shift(const char *item, const char *last)
{
	static const char units[] = "kmgtpe";
	bool hex = item[0] == '0' && tolower(item[1]) == 'x';
	const char *unit = strchr(units, tolower(*last));

	return unit && !(hex && isxdigit(*last)) ? 10 * (unit - units + 1) : 0;
}

/* memparse() drops bits that do not fit, so it is used only to find the end of the number */
int crab_region_number(const char *item, u64 *value, char **end)
{
	char digits[32];
	size_t len;
	u32 shift;

	memparse(item, end);
	if (!isdigit(*item))	/* it takes a unit without a number, too */
		return -EINVAL;
	shift = number_shift(item, *end - 1);
	len = *end - item - !!shift;
	memcpy(digits, item, min(len, sizeof(digits) - 1));
	digits[min(len, sizeof(digits) - 1)] = '\0';
	if (len >= sizeof(digits) || kstrtoull(digits, 0, value) || *value > U64_MAX >> shift) {
		crab_region_refuse("%s does not fit into 64 bits", item);
		return -ERANGE;
	}
	*value <<= shift;
	return 0;
}

int crab_region_size(char **spec, u64 *size)
{
	char *item = strsep(spec, ",");
	char *end;
	int err;

	if (!item || !*item) {
		crab_region_refuse("a size is missing at the end of a parameter");
		return -EINVAL;
	}
	err = crab_region_number(item, size, &end);
	if (!err && !*end)
		return 0;
	if (err != -ERANGE)
		crab_region_refuse("%s is not a size", item);
	return -EINVAL;
}

static bool region_option(char **spec, const char *option)
{
	size_t len = strlen(option);

	if (!*spec || strncmp(*spec, option, len) || ((*spec)[len] && (*spec)[len] != ','))
		return false;
	strsep(spec, ",");
	return true;
}

/* A name, for a provider whose regions are whole files */
static int parse_path(char **spec, struct crab_region_request *request)
{
	request->name = strsep(spec, ",");
	if (*request->name)
		return 0;
	crab_region_refuse("a path is missing");
	return -EINVAL;
}

/* NAME[,OFFSET,SIZE]. A number after a name is an offset: a name that is a number comes first */
static int parse_part(char **spec, struct crab_region_request *request)
{
	int err = parse_path(spec, request);

	if (err || !*spec || !isdigit(**spec))
		return err;
	err = crab_region_size(spec, &request->start) ?: crab_region_size(spec, &request->size);
	if (err || request->size)
		return err;
	crab_region_refuse("%s: a size of 0", request->name);
	return -EINVAL;
}

struct crab_region *crab_region_alloc_part(const struct crab_region_ops *ops, const char *prefix,
					   const struct crab_region_request *request)
{
	if (!request->size)
		return crab_region_alloc(ops, "%s%s", prefix, request->name);
	return crab_region_alloc(ops, "%s%s,%llu,%llu", prefix, request->name, request->start,
				 request->size);
}

int crab_region_part(const char *provider, const struct crab_region_request *request, u64 *start,
		     u64 *size)
{
	if (!request->size)
		return 0;
	if (request->start > *size || request->size > *size - request->start) {
		crab_region_refuse("%s=%s: %llu bytes at offset %llu are not within its %llu bytes",
				   provider, request->name, request->size, request->start, *size);
		return -EINVAL;
	}
	*start += request->start;
	*size = request->size;
	return 0;
}

static const struct crab_provider crab_providers[] = {
	{
		.name		= "ram",
		.caches		= true,
		.parse		= crab_region_ram_parse,
		.add		= crab_region_ram_add,
	}, {
		.name		= "region",
		.caches		= true,
		.hardware	= true,
		.parse		= crab_region_phys_parse,
		.add		= crab_region_phys_add,
	}, {
		.name		= "reserve",
		.caches		= true,
		.parse		= parse_part,
		.add		= crab_region_reserve_add,
	}, {
		.name		= "pmem",
		.parse		= parse_part,
		.add		= crab_region_dax_add,
#ifdef CONFIG_UML
	}, {
		.name		= "uml",
		.parse		= parse_path,
		.add		= crab_region_uml_add,
#endif
	},
};

const struct crab_provider *crab_provider_find(const char *name, size_t len)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(crab_providers); i++)
		if (strlen(crab_providers[i].name) == len &&
		    !strncmp(crab_providers[i].name, name, len))
			return &crab_providers[i];
	return NULL;
}

static void provider_options(const struct crab_provider *provider, char **spec,
			     struct crab_region_request *request)
{
	for (;;) {
		if (provider->caches && region_option(spec, "cache"))
			request->caches = true;
		else if (region_option(spec, "readonly"))
			request->readonly = true;
		else
			return;
	}
}

static int provider_add_next(const struct crab_provider *provider, char **spec, bool last,
			     const struct crab_region_events *events)
{
	struct crab_region_request request = { .readonly = crab_region_readonly };
	int err = provider->parse(spec, &request);

	if (err)
		return err;
	provider_options(provider, spec, &request);
	if (!*spec || !last)
		return provider->add(&request, events);
	crab_region_refuse("%s=: one region at a time, and then \"%s\"", provider->name, *spec);
	return -EINVAL;
}

static int provider_add(const struct crab_provider *provider, char *spec, unsigned int most,
			const struct crab_region_events *events)
{
	int err = provider->add ? 0 : -EOPNOTSUPP;

	while (spec && !err)
		err = provider_add_next(provider, &spec, !--most, events);
	return err;
}

int crab_provider_add(const struct crab_provider *provider, const char *value, unsigned int most,
		      const struct crab_region_events *events)
{
	char *copy = kstrdup(value, GFP_KERNEL);
	int err;

	if (!copy)
		return -ENOMEM;
	err = provider_add(provider, copy, most, events);
	if (!provider->add)
		crab_region_refuse("%s=%s: not supported by this kernel", provider->name, value);
	else if (err)
		crab_region_refuse("%s=%s: refused: error %d", provider->name, value, err);
	kfree(copy);
	return err;
}
