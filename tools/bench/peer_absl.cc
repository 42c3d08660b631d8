// SPDX-License-Identifier: GPL-2.0
/*
 * This file measures absl::btree_map: an ordinary B-tree in DRAM, with one thread and
 * without locks. Its nodes come from the same allocator as those of the store.
 */
#include <cerrno>
#include <cstddef>
#include <functional>
#include <new>
#include <utility>

#include <absl/container/btree_map.h>

/* The system's <linux/types.h> lacks these names; that of the shims is not for C++ */
using u8 = unsigned char;
using u32 = unsigned int;
using u64 = unsigned long long;

#include "peer.h"

extern "C" void *crab_host_alloc(size_t size, size_t align, unsigned int gfp);
extern "C" void crab_host_free(const void *p);

namespace {

template <typename T>
struct Slab {
	using value_type = T;

	Slab() = default;
	template <typename U>
	Slab(const Slab<U> &) {}

	T *allocate(std::size_t n)
	{
		void *p = crab_host_alloc(n * sizeof(T), 0, 0);

		if (!p)
			throw std::bad_alloc();
		return static_cast<T *>(p);
	}

	void deallocate(T *p, std::size_t)
	{
		crab_host_free(p);
	}

	bool operator==(const Slab &) const { return true; }
	bool operator!=(const Slab &) const { return false; }
};

using Map = absl::btree_map<u64, u64, std::less<u64>, Slab<std::pair<const u64, u64>>>;

struct Record {
	u64 key;
	u64 value;
};

int search(const Map &map, u64 key)
{
	auto it = map.find(key);

	if (it == map.end())
		return -ENOENT;
	return crab_bench_value_ok(key, it->second) ? 0 : -EIO;
}

int update(Map &map, u64 key)
{
	auto it = map.find(key);

	if (it == map.end())
		return -ENOENT;
	it->second = crab_bench_value(key, 1);
	return 0;
}

int scan(const Map &map, u64 key, u32 n)
{
	Record records[CRAB_BENCH_SCAN];
	u32 got = 0, last = 0;

	for (auto it = map.lower_bound(key); got < n && it != map.end(); ++it) {
		last = got++ % CRAB_BENCH_SCAN;
		records[last] = { it->first, it->second };
	}
	return got && !crab_bench_value_ok(records[last].key, records[last].value) ? -EIO : 0;
}

inline __attribute__((always_inline)) int one(Map &map, const struct crab_bench_work *work,
					      enum crab_bench_op op, u64 i)
{
	u64 key = work->keys[i];
	int err;

	switch (op) {
	case CRAB_BENCH_INSERT:
		return map.try_emplace(key, crab_bench_value(key, 0)).second ? 0 : -EEXIST;
	case CRAB_BENCH_SEARCH:
		return search(map, key);
	case CRAB_BENCH_UPDATE:
		return update(map, key);
	case CRAB_BENCH_MODIFY:
		err = search(map, key);
		return err ? err : update(map, key);
	case CRAB_BENCH_DELETE:
		return map.erase(key) ? 0 : -ENOENT;
	default:
		return scan(map, key, crab_bench_scan_length(work, op, i));
	}
}

void *absl_open(const struct peer *, u64, u32)
{
	return new Map;
}

/* Operations of the kinds in @ops, or of one kind */
inline __attribute__((always_inline)) int each(Map &map, const struct crab_bench_work *work,
					       const u8 *ops, enum crab_bench_op op)
{
	for (u64 i = 0; i < work->n; i++) {
		int err = one(map, work, ops ? static_cast<enum crab_bench_op>(ops[i]) : op, i);

		if (err)
			return err;
	}
	return 0;
}

int absl_run(void *arg, struct crab_bench_work *work)
{
	Map &map = *static_cast<Map *>(arg);
	auto each_of = [&](enum crab_bench_op op) __attribute__((always_inline)) {
		return each(map, work, nullptr, op);
	};

	if (work->ops)
		return each(map, work, work->ops, work->op);
	return crab_bench_each(work->op, each_of);
}

} // namespace

const struct peer peer_absl = { "absl", "", absl_open, absl_run, nullptr, nullptr, false, false };
