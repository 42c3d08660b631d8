// SPDX-License-Identifier: GPL-2.0
/*
 * This file provides regions in persistent-memory block devices:
 * pmem=PATH[,OFFSET,SIZE][,PATH...]. Such devices are made by memmap=SIZE!START, a pmem-region of
 * the device tree or an NVDIMM. The block device is opened exclusively, so that no file system can
 * use it, and accessed through DAX. A mapped volume is refused: the device mapper may move it, and
 * forwards no notification.
 *
 * Invariant: from the first claim to the last release of a region in it the block device is open
 * and this file is the holder of the DAX device. A byte belongs to one region at most. When the
 * driver is unbound, the holder's notification runs before the mapping is removed, and returns only
 * when no CPU accesses the memory. Bad blocks known at claim, and those reported later, are in the
 * list of the region's media.
 *
 * Locks: dax_lock protects the list of holds and the number of users of a disk; claims are
 * serialised by the caller. A notification of bad memory holds dax_notices for reading. The
 * provider's device lock, under which its driver is unbound, is held while a region is set up, so
 * that no notification of an unbind sees an incomplete region. Before a released hold is freed,
 * dax_reap() takes and releases both, so that no notification still uses it. At exit, dax_barrier
 * waits for those that the lock does not cover.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/completion.h>
#include <linux/dax.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/io.h>
#include <linux/libnvdimm.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "media/badmem.h"
#include "compat/bdev.h"
#include "provider.h"

/**
 * struct crab_dax_disk - a block device with regions in it
 * @users: holds whose @disk it is; dax_lock
 * @bdev: the block device
 * @dax: its DAX device, or NULL until the first region is claimed
 * @provider: the device whose driver can be unbound
 * @nvdimm: the libnvdimm region of the block device
 * @start: offset of the block device in the DAX device
 */
struct crab_dax_disk {
	u32 users;
	struct crab_bdev bdev;
	struct dax_device *dax;
	struct device *provider;
	struct device *nvdimm;
	u64 start;
};

/**
 * struct crab_dax - a region's hold on its block device
 * @list: in dax_list, from claim until dax_reap(); dax_lock
 * @disk: the block device, NULL once the region is released; dax_lock
 * @provider: as that of @disk, until dax_reap()
 * @id: of the region
 * @name: of the region
 * @events: the layer above
 * @released: no CPU accesses the memory any more
 * @start: offset of the region in the DAX device
 * @size: size of the region in bytes
 * @bad: unreadable ranges of the region
 */
struct crab_dax {
	struct list_head list;
	struct crab_dax_disk *disk;
	struct device *provider;
	u64 id;
	char name[CRAB_REGION_NAME_LEN];
	const struct crab_region_events *events;
	struct completion released;
	u64 start;
	u64 size;
	struct crab_badmem bad;
};

static LIST_HEAD(dax_list);
static DEFINE_MUTEX(dax_lock);
static DECLARE_RWSEM(dax_notices);

/*
 * A DAX device without memory, made for the first claim. A notification runs in a read section of
 * dax_srcu, which modules cannot name; kill_dax() of any device waits for the sections of all
 */
static struct dax_device *dax_barrier;

/*
 * The hold of the lowest @id above @id on @dev. A notification visits the holds by their numbers,
 * since it cannot keep the lock while it reports one.
 */
static struct crab_dax *dax_next(const struct dax_device *dev, u64 id)
{
	struct crab_dax *dax, *found = NULL;

	mutex_lock(&dax_lock);
	list_for_each_entry(dax, &dax_list, list)
		if (dax->disk && dax->disk->dax == dev && dax->id > id &&
		    (!found || dax->id < found->id))
			found = dax;
	mutex_unlock(&dax_lock);
	return found;
}

/* Bytes [@offset, @offset + @len) of the DAX device; no part of them may be the region's */
static void dax_fail(struct crab_dax *dax, u64 offset, u64 len)
{
	u64 from = max(offset, dax->start);
	u64 to = min(offset + len, dax->start + dax->size);

	if (from >= to)
		return;
	crab_badmem_add(&dax->bad, from - dax->start, to - from);
	dax->events->failed(dax->id, from - dax->start, to - from);
}

/* A part of @dev failed. Return: 0, or -ENODEV if no region is there */
static int dax_notify_part(const struct dax_device *dev, u64 offset, u64 len)
{
	struct crab_dax *dax;
	u64 id = 0;

	down_read(&dax_notices);
	for (; (dax = dax_next(dev, id)); id = dax->id)
		dax_fail(dax, offset, len);
	up_read(&dax_notices);
	return id ? 0 : -ENODEV;
}

/*
 * Called by kill_dax() for the whole device when its driver is unbound, under the
 * provider's device lock, and by memory_failure() for a part of it. The module may be
 * removing the regions itself.
 */
static int dax_notify(struct dax_device *dev, u64 offset, u64 len, int flags)
{
	struct crab_dax *dax;
	u64 id = 0;

	if (offset || len != U64_MAX)
		return dax_notify_part(dev, offset, len);
	for (; (dax = dax_next(dev, id)); id = dax->id) {
		dax->events->removing(dax->id);
		wait_for_completion(&dax->released);
	}
	return id ? 0 : -ENODEV;
}

static const struct dax_holder_operations dax_holder_ops = {
	.notify_failure	= dax_notify,
};

/* Release the devices; a notification that finds no hold does nothing */
static void dax_close(struct crab_dax_disk *disk)
{
	if (disk->dax)
		fs_put_dax(disk->dax, disk);
	crab_bdev_close(&disk->bdev, disk);
	put_device(disk->provider);
	kfree(disk);
}

/* The last hold closes the disk */
static void dax_put(struct crab_dax *dax)
{
	struct crab_dax_disk *disk = dax->disk;
	bool last;

	mutex_lock(&dax_lock);
	dax->disk = NULL;
	last = !--disk->users;
	mutex_unlock(&dax_lock);
	if (last)
		dax_close(disk);
}

static void dax_release(struct crab_region *region)
{
	struct crab_dax *dax = region->priv;

	if (region->sealed)
		vunmap(region->media.base);
	dax_put(dax);
	complete_all(&dax->released);
}

static void dax_free(struct crab_dax *dax)
{
	put_device(dax->provider);
	kvfree(dax);
}

static const struct crab_region_ops dax_ops = {
	.provider	= "dax",
	.release	= dax_release,
};

static bool dax_is_type(const struct device *dev, const char *type)
{
	return dev->type && dev->type->name && !strcmp(dev->type->name, type);
}

/*
 * The libnvdimm region above the device that the disk belongs to; disk, namespace and region
 * are on libnvdimm's bus. NULL: another driver made this disk.
 */
static struct device *dax_nvdimm(struct device *dev)
{
	for (; dev && dev->bus && !strcmp(dev->bus->name, "nd"); dev = dev->parent)
		if (dax_is_type(dev, "nd_pmem") || dax_is_type(dev, "nd_volatile"))
			return dev;
	return NULL;
}

/* Users read it without a table of errors */
static const char *dax_open_cause(int err)
{
	switch (err) {
	case -ENOENT:
		return ": no such device";
	case -ENOTBLK:
		return ": not a block device";
	case -EBUSY:
		return ": it is mounted, or in use otherwise";
	default:
		return "";
	}
}

/* Return: 0, or an error; then the disk is closed */
static int dax_open_disk(struct crab_dax_disk *disk, const char *path, bool readonly)
{
	int err = crab_bdev_open(&disk->bdev, path, readonly, disk);
	struct device *parent;

	if (err) {
		crab_region_refuse("pmem=%s: cannot open it exclusively: error %d%s", path, err,
				   dax_open_cause(err));
		return err;
	}
	parent = disk_to_dev(disk->bdev.bdev->bd_disk)->parent;
	disk->nvdimm = dax_nvdimm(parent);
	if (!disk->nvdimm) {
		crab_region_refuse("pmem=%s: not a device of libnvdimm; mapped volumes are refused",
				   path);
		crab_bdev_close(&disk->bdev, disk);
		return -ENXIO;
	}
	disk->provider = get_device(parent);
	return 0;
}

/* The disk of a region that is there, with one user more, or NULL */
static struct crab_dax_disk *dax_get_disk(const char *path)
{
	struct crab_dax_disk *found = NULL;
	struct crab_dax *dax;
	dev_t dev;

	if (lookup_bdev(path, &dev))
		return NULL;
	mutex_lock(&dax_lock);
	list_for_each_entry(dax, &dax_list, list)
		if (dax->disk && dax->disk->bdev.bdev->bd_dev == dev)
			found = dax->disk;
	if (found)
		found->users++;
	mutex_unlock(&dax_lock);
	return found;
}

static int dax_open(struct crab_dax *dax, const char *path, bool readonly)
{
	struct crab_dax_disk *disk = dax_get_disk(path);
	int err;

	if (!disk) {
		disk = kzalloc(sizeof(*disk), GFP_KERNEL);
		err = disk ? dax_open_disk(disk, path, readonly) : -ENOMEM;
		if (err) {
			kfree(disk);
			return err;
		}
		disk->users = 1;
	}
	dax->disk = disk;
	dax->provider = get_device(disk->provider);
	if (readonly || !disk->bdev.readonly)
		return 0;
	crab_region_refuse("pmem=%s: another region has opened it for reading only", path);
	dax_put(dax);
	return -EBUSY;
}

/*
 * Number of pages from @page on that are contiguous in the mapping. DAX refuses a plain access to
 * a bad block; the recovering access stops before such a page, and returns it alone.
 */
static long dax_map_piece(struct crab_dax *dax, u64 page, u64 pages, void **base)
{
	void *at = NULL;
	long got = dax_direct_access(dax->disk->dax, (dax->start >> PAGE_SHIFT) + page,
				     pages - page, DAX_RECOVERY_WRITE, &at, NULL);

	if (got <= 0)
		return got ?: -ENXIO;
	if (!page)
		*base = at;
	return at == *base + (page << PAGE_SHIFT) ? got : -ENXIO;
}

/* One contiguous range or nothing: the media has no holes */
static int dax_map(struct crab_dax *dax, struct crab_media *media)
{
	u64 pages = media->size >> PAGE_SHIFT, page = 0;
	void *base = NULL;
	long got = 0;
	int id;

	id = dax_read_lock();
	for (; page < pages && got >= 0; page += max(got, 0L))
		got = dax_map_piece(dax, page, pages, &base);
	dax_read_unlock(id);
	if (got < 0) {
		crab_region_refuse("pmem=%s: %llu of %llu pages in one piece: error %ld",
				   dax->name, page, pages, got);
		return got;
	}
	media->base = base;
	return 0;
}

/* Bad blocks that the driver lists for the disk, and so for the DAX device */
static void dax_badblocks(struct crab_dax *dax)
{
	sector_t end = (dax->start + dax->size) >> SECTOR_SHIFT;
	sector_t at = dax->start >> SECTOR_SHIFT, before = at, first;

	while (crab_bdev_badblocks(&dax->disk->bdev, &at, end, &first)) {
		first = max(first, before);
		at = min(at, end);
		pr_warn("pmem=%s: bad blocks: %llu bytes at offset %llu\n", dax->name,
			(u64)(at - first) << SECTOR_SHIFT,
			((u64)first << SECTOR_SHIFT) - dax->start);
		crab_badmem_add(&dax->bad, ((u64)first << SECTOR_SHIFT) - dax->start,
				(u64)(at - first) << SECTOR_SHIFT);
		before = at;
	}
}

#if IS_ENABLED(CONFIG_LIBNVDIMM)

/*
 * ND_REGION_PERSIST_CACHE of a non-volatile region. The switch dax/write_cache of the disk
 * has the same initial value, but the administrator may change it. The symbols are looked up
 * because a module that uses them could not be loaded without libnvdimm.
 */
static bool dax_caches_persist(struct device *nvdimm)
{
	int (*has_cache)(struct nd_region *region) = symbol_get(nvdimm_has_cache);
	struct nd_region *(*to_region)(struct device *dev) = symbol_get(to_nd_region);
	bool persist = has_cache && to_region && !has_cache(to_region(nvdimm));

	if (has_cache)
		symbol_put(nvdimm_has_cache);
	if (to_region)
		symbol_put(to_nd_region);
	return persist;
}

#else

static bool dax_caches_persist(struct device *nvdimm)
{
	return false;
}

#endif

/* An asynchronous device (virtio-pmem) keeps only the data that its host flushes on request */
static void dax_durability(const struct crab_dax_disk *disk, struct crab_region *region)
{
	struct crab_media *media = &region->media;

	media->durability = CRAB_DURABILITY_NONE;
	if (dax_is_type(disk->nvdimm, "nd_volatile")) {
		pr_warn("pmem=%s: a volatile region: not durable\n", region->name);
	} else if (!dax_synchronous(disk->dax)) {
		pr_warn("pmem=%s: flushed by its host only: not durable\n", region->name);
	} else {
		media->durability = crab_persist_class();
		if (dax_caches_persist(disk->nvdimm))
			crab_region_caches(region);
	}
}

/* The region that has a byte of @dax, or NULL. Its name stays until dax_reap() */
static const struct crab_dax *dax_overlap(const struct crab_dax *dax)
{
	const struct crab_dax *other, *found = NULL;

	mutex_lock(&dax_lock);
	list_for_each_entry(other, &dax_list, list)
		if (other->disk == dax->disk && dax->start < other->start + other->size &&
		    other->start < dax->start + dax->size)
			found = other;
	mutex_unlock(&dax_lock);
	return found;
}

/* Which bytes of the DAX device are the region's? */
static int dax_range(struct crab_dax *dax, const struct crab_region_request *request)
{
	struct block_device *bdev = dax->disk->bdev.bdev;
	const struct crab_dax *other;
	int err;

	dax->start = 0;
	dax->size = round_down(bdev_nr_bytes(bdev), PAGE_SIZE);
	err = crab_region_part("pmem", request, &dax->start, &dax->size);
	dax->start += dax->disk->start;
	if (err)
		return err;
	other = dax_overlap(dax);
	if (!other)
		return crab_region_check(dax->name, dax->start, dax->size);
	crab_region_refuse("pmem=%s: a part of it is another region already: %s", dax->name,
			   other->name);
	return -EBUSY;
}

/* Become the holder. Notifications may run as soon as the device lock is free */
static int dax_hold(struct crab_dax_disk *disk, const char *path)
{
	if (!disk->dax)
		disk->dax = fs_dax_get_by_bdev(disk->bdev.bdev, &disk->start, disk,
					       &dax_holder_ops);
	if (disk->dax)
		return 0;
	crab_region_refuse("pmem=%s: no DAX: not persistent memory, or held by another", path);
	return -ENXIO;
}

/* From now on a notification of bad memory finds the hold; no later step of the claim fails */
static void dax_list_add(struct crab_dax *dax, u64 id)
{
	mutex_lock(&dax_lock);
	dax->id = id;
	list_add(&dax->list, &dax_list);
	mutex_unlock(&dax_lock);
}

static int dax_claim(struct crab_dax *dax, struct crab_region *region,
		     const struct crab_region_request *request)
{
	struct crab_media *media = &region->media;
	struct crab_dax_disk *disk = dax->disk;
	int err;

	crab_badmem_init(&dax->bad);
	err = dax_hold(disk, request->name) ?: dax_range(dax, request);
	if (err)
		return err;
	media->size = dax->size;
	err = dax_map(dax, media);
	if (err)
		return err;
	dax_list_add(dax, region->id);
	dax_badblocks(dax);
	media->bad = &dax->bad;
	dax_durability(disk, region);
	region->readonly = request->readonly || bdev_read_only(disk->bdev.bdev);
	crab_region_seal(region, virt_to_phys(media->base));
	region->parent = dax->provider;
	region->priv = dax;
	return 0;
}

/* Claim the memory and pass the region on, or undo everything */
static int dax_give(struct crab_dax *dax, struct crab_region *region,
		    const struct crab_region_request *request)
{
	int err;

	device_lock(dax->provider);
	err = dax_claim(dax, region, request);
	if (err) {
		dax_put(dax);
		device_unlock(dax->provider);
		dax_free(dax);
		kfree(region);
		return err;
	}
	err = crab_region_give(region, dax->events);
	device_unlock(dax->provider);
	return err;
}

/* Take a released hold off the list: no later notification finds it */
static struct crab_dax *dax_take(void)
{
	struct crab_dax *dax, *found = NULL;

	mutex_lock(&dax_lock);
	list_for_each_entry(dax, &dax_list, list)
		if (!dax->disk)
			found = dax;
	if (found)
		list_del(&found->list);
	mutex_unlock(&dax_lock);
	return found;
}

/* Wait for the notifications that found a released hold, then free it */
static void dax_reap(void)
{
	struct crab_dax *dax;

	while ((dax = dax_take())) {
		down_write(&dax_notices);
		up_write(&dax_notices);
		wait_for_completion(&dax->released);
		device_lock(dax->provider);
		device_unlock(dax->provider);
		dax_free(dax);
	}
}

/* Before the first claim, so that the exit needs no memory */
static int dax_prepare(void)
{
	struct dax_device *barrier = dax_barrier ?: alloc_dax(NULL, NULL);

	if (!IS_ERR(barrier))
		dax_barrier = barrier;
	return PTR_ERR_OR_ZERO(barrier);
}

/**
 * crab_region_dax_exit() - wait until no notification runs code of this file
 *
 * All regions are released, or a notification is releasing them.
 *
 * Context: may sleep; no lock of the module is held.
 */
void crab_region_dax_exit(void)
{
	struct crab_dax *dax;

	list_for_each_entry(dax, &dax_list, list)
		wait_for_completion(&dax->released);
	dax_reap();
	/* No device has this file's operations any more: no later notification calls them */
	kill_dax(dax_barrier);
	put_dax(dax_barrier);
}

/**
 * crab_region_dax_add() - claim a block device or a part of one
 * @request: its path, and the part of it that is wanted
 * @events: the layer above, which receives the region
 *
 * Context: may sleep; the caller holds no lock that the release of a region takes.
 * Return: 0 or an error, with the reason in the log.
 */
int crab_region_dax_add(const struct crab_region_request *request,
			const struct crab_region_events *events)
{
	struct crab_region *region = crab_region_alloc_part(&dax_ops, "", request);
	struct crab_dax *dax = kvzalloc(sizeof(*dax), GFP_KERNEL);
	int err = region && dax ? dax_prepare() : -ENOMEM;

	dax_reap();
	if (err)
		goto err_free;
	init_completion(&dax->released);
	dax->events = events;
	strscpy(dax->name, region->name, sizeof(dax->name));
	err = dax_open(dax, request->name, request->readonly);
	if (!err)
		return dax_give(dax, region, request);
	put_device(dax->provider);
err_free:
	kvfree(dax);
	kfree(region);
	return err;
}
