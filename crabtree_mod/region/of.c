// SPDX-License-Identifier: GPL-2.0
/*
 * This file provides the regions that the device tree names: a node compatible
 * with "crabtree,region" whose memory-region points to a reserved-memory node
 * with no-map (Documentation/devicetree/bindings/crabtree,region.yaml). The
 * compatible node is outside /reserved-memory, where the platform bus probes no device.
 *
 * Invariant: a bound node is claimed; after remove() no CPU accesses the memory.
 * No lock: the driver core serialises probe and remove of a node.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/err.h>
#include <linux/ioport.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/platform_device.h>

#include "region.h"

/* Set before the driver is registered, constant from then on */
static const struct crab_region_events *of_events;

static const struct crab_region_ops of_ops = {
	.provider	= "of",
	.release	= crab_region_phys_release,
};

static int of_memory(struct platform_device *pdev, struct resource *res)
{
	struct device_node *np = of_parse_phandle(pdev->dev.of_node, "memory-region", 0);
	int err;

	if (!np) {
		crab_region_refuse("%pOF: no memory-region", pdev->dev.of_node);
		return -EINVAL;
	}
	err = of_address_to_resource(np, 0, res);
	if (err)
		crab_region_refuse("%pOF: no address in %pOF", pdev->dev.of_node, np);
	of_node_put(np);
	return err;
}

static int of_probe(struct platform_device *pdev)
{
	struct device_node *np = pdev->dev.of_node;
	struct crab_region *region;
	char full[CRAB_REGION_NAME_LEN];
	const char *name = full;
	struct resource res;
	int err;

	err = of_memory(pdev, &res);
	if (err)
		return err;
	snprintf(full, sizeof(full), "%pOF", np);
	of_property_read_string(np, "label", &name);
	region = crab_region_phys_claim(&of_ops, name, res.start, resource_size(&res),
					of_property_read_bool(np, "read-only"));
	if (!IS_ERR(region)) {
		if (of_property_read_bool(np, "crabtree,persistent-caches"))
			crab_region_caches(region);
		region->parent = &pdev->dev;
		platform_set_drvdata(pdev, region);
	}
	return crab_region_give(region, of_events);
}

static crab_remove_result of_remove(struct platform_device *pdev)
{
	struct crab_region *region = platform_get_drvdata(pdev);

	of_events->removing(region->id);
	return CRAB_REMOVED;
}

static const struct of_device_id of_match[] = {
	{ .compatible = "crabtree,region" },
	{ }
};
MODULE_DEVICE_TABLE(of, of_match);

static struct platform_driver of_driver = {
	.driver = {
		.name		= "crabtree",
		.of_match_table	= of_match,
	},
	.probe	= of_probe,
	.remove	= of_remove,
};

/**
 * crab_region_of_register() - register the driver of the device tree's nodes
 * @events: the layer above
 *
 * Context: may sleep.
 * Return: 0 or an error of the driver core.
 */
int crab_region_of_register(const struct crab_region_events *events)
{
	of_events = events;
	return platform_driver_register(&of_driver);
}

/**
 * crab_region_of_unregister() - unregister the driver, which removes all regions of the device tree
 *
 * Context: may sleep; no lock of the module is held.
 */
void crab_region_of_unregister(void)
{
	platform_driver_unregister(&of_driver);
}
