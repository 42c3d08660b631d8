// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests permissions: read-only descriptors, FORMAT without its
 * capability, the mode of the device node, and calls that the device always refuses.
 *
 * Invariant: after each refusal the store is as it was.
 */
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "device.h"

/* A store of one record, closed again */
static void one_record(void)
{
	int fd = fresh_store(0);

	REQUIRE(dev_put(fd, 7, 70), 0);
	close(fd);
}

TEST(readonly_reads, "a read-only descriptor may read")
{
	struct crabtree_batch_op op;
	struct crabtree_record r[2];
	struct crabtree_batch b;
	struct crabtree_info info;
	struct crabtree_scan s;
	int fd;

	one_record();
	fd = device_open(O_RDONLY);
	EXPECT(dev_info(fd, &info), 0);
	EXPECT(info.records, 1);
	EXPECT(dev_scan(fd, 0, ~0ULL, r, 2, &s), 0);
	EXPECT(s.count, 1);
	dev_op(&op, CRABTREE_BATCH_SEARCH, 7, 0);
	EXPECT(dev_batch(fd, &op, 1, &b), 0);
	EXPECT(op.status, 0);
	EXPECT(op.value, 70);
	expect_one_record(fd);
}

TEST(readonly_writes, "a read-only descriptor gets EBADF for INSERT, DELETE, FORMAT")
{
	struct crabtree_format f;
	int fd;

	one_record();
	fd = device_open(O_RDONLY);
	format_args(&f, CRABTREE_FORMAT_FORCE, 0);
	EXPECT(dev_put(fd, 7, 71), -EBADF);
	EXPECT(dev_put(fd, 8, 80), -EBADF);
	EXPECT(dev_delete(fd, 7, NULL), -EBADF);
	EXPECT(call(fd, CRABTREE_FORMAT, &f), -EBADF);
	expect_one_record(fd);
}

TEST(readonly_batch, "a read-only descriptor gets EBADF for writes in a BATCH")
{
	struct crabtree_batch_op op[2];
	struct crabtree_batch b;
	int fd, rc;

	one_record();
	fd = device_open(O_RDONLY);
	dev_op(&op[0], CRABTREE_BATCH_INSERT, 7, 71);
	dev_op(&op[1], CRABTREE_BATCH_DELETE, 7, 0);
	rc = dev_batch(fd, op, 2, &b);
	if (rc) {
		EXPECT(rc, -EBADF);
	} else {
		EXPECT(op[0].status, -EBADF);
		EXPECT(op[1].status, -EBADF);
	}
	expect_one_record(fd);
}

TEST(writeonly, "a descriptor for writing only may read: writes return old values in any case")
{
	struct crabtree_record r[4];
	struct crabtree_insert in;
	struct crabtree_scan s;
	u64 value;
	int fd;

	one_record();
	fd = device_open(O_WRONLY);
	EXPECT(dev_insert(fd, 7, 71, CRABTREE_INSERT_CREATE, &in), -EEXIST);
	EXPECT(in.old_value, 70);
	EXPECT(dev_get(fd, 7, &value), 0);
	EXPECT(value, 70);
	EXPECT(dev_scan(fd, 0, ~0ULL, r, 4, &s), 0);
	EXPECT(s.count, 1);
	expect_one_record(fd);
}

/* Leaves root with all its capabilities but one */
static void drop_capability(int cap)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	REQUIRE(syscall(SYS_capget, &head, data), 0);
	data[cap / 32].effective &= ~(1U << cap % 32);
	data[cap / 32].permitted &= ~(1U << cap % 32);
	REQUIRE(syscall(SYS_capset, &head, data), 0);
}

TEST(format_capability, "without CAP_SYS_ADMIN FORMAT returns EPERM, and INFO has no region")
{
	struct crabtree_format f;
	struct crabtree_info info;
	int fd;

	one_record();
	fd = device_open(O_RDWR);
	EXPECT(dev_info(fd, &info), 0);
	EXPECT_TRUE(info.region[0]);
	drop_capability(CAP_SYS_ADMIN);
	EXPECT(dev_info(fd, &info), 0);
	EXPECT_TRUE(!info.region[0]);
	format_args(&f, CRABTREE_FORMAT_FORCE, 0);
	EXPECT(call(fd, CRABTREE_FORMAT, &f), -EPERM);
	format_args(&f, 0, 0);
	EXPECT(call(fd, CRABTREE_FORMAT, &f), -EPERM);
	EXPECT(dev_put(fd, 8, 80), 0);
	EXPECT(dev_delete(fd, 8, NULL), 0);
	expect_one_record(fd);
}

TEST(node, "the device node is a character device of root alone, who alone sees the addresses of regions")
{
	struct stat st;

	one_record();
	REQUIRE(stat(device_path(), &st), 0);
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT(st.st_mode & 07777, 0600);
	EXPECT(st.st_uid, 0);
	REQUIRE(stat("/sys/module/crabtree/parameters/region", &st), 0);
	EXPECT(st.st_mode & 07777, 0400);
	REQUIRE(setuid(65534), 0);
	EXPECT(open(device_path(), O_RDONLY), -1);
	EXPECT(errno, EACCES);
}

TEST(mode_is_enough, "the mode of the node permits reading and writing, not FORMAT")
{
	struct crabtree_format f;
	int fd;

	one_record();
	fd = device_open(O_RDWR);
	REQUIRE(setuid(65534), 0);
	EXPECT(dev_put(fd, 8, 80), 0);
	EXPECT(dev_delete(fd, 8, NULL), 0);
	format_args(&f, CRABTREE_FORMAT_FORCE, 0);
	EXPECT(call(fd, CRABTREE_FORMAT, &f), -EPERM);
	expect_one_record(fd);
}

TEST(mmap_refused, "mmap is refused")
{
	int fd;

	one_record();
	fd = device_open(O_RDWR);
	EXPECT_TRUE(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
	EXPECT(errno, ENODEV);
	EXPECT_TRUE(mmap(NULL, 4096, PROT_WRITE, MAP_PRIVATE, fd, 0) == MAP_FAILED);
	EXPECT(errno, ENODEV);
}

TEST(read_write_refused, "read() and write() are refused")
{
	char byte[16] = { 0 };
	int fd;

	one_record();
	fd = device_open(O_RDWR);
	EXPECT(read(fd, byte, sizeof(byte)), -1);
	EXPECT(errno, EINVAL);
	EXPECT(write(fd, byte, sizeof(byte)), -1);
	EXPECT(errno, EINVAL);
	expect_one_record(fd);
}
