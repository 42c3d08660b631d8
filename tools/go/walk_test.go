// SPDX-License-Identifier: LGPL-2.1-or-later

// This file tests walks over damaged ranges.

package crabtree

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Two damaged leaves, each of which others follow, and the words before a value
func spoil(t *testing.T, path string) *Store {
	t.Helper()
	name := strings.TrimPrefix(path, "file:")
	data, err := os.ReadFile(name)
	must(t, err)
	for _, leaf := range []int{4, 8} {
		data[16384+leaf*1024+24] ^= 1
	}
	if at := bytes.Index(data, []byte("spoilt")); at > 0 {
		data[at-8] ^= 1
	}
	must(t, os.WriteFile(name, data, 0o666))
	store, err := OpenReadonly(path)
	must(t, err)
	return store
}

func isIn(ranges []KeyRange, key uint64) bool {
	for _, one := range ranges {
		if one.First <= key && key <= one.Last {
			return true
		}
	}
	return false
}

// The keys that a walk returned are those of 0 to count - 1 that are not in its damaged ranges
func leftOut(t *testing.T, keys []uint64, count uint64, err error) {
	t.Helper()
	var damaged *DamagedError
	if !errors.As(err, &damaged) || !errors.Is(err, syscall.EUCLEAN) || len(damaged.Ranges) == 0 {
		t.Fatal(err)
	}
	for key := uint64(0); key < count; key++ {
		if isIn(damaged.Ranges, key) {
			continue
		}
		if len(keys) == 0 || keys[0] != key {
			t.Fatalf("%d is missing: %v", key, err)
		}
		keys = keys[1:]
	}
	if len(keys) != 0 {
		t.Fatal(keys, err)
	}
}

func TestScanAfterDamage(t *testing.T) {
	store, path := newStore(t, FormatOptions{})
	for key := uint64(0); key < 3000; key++ {
		must(t, store.Insert(key, key))
	}
	must(t, store.Close())
	store = spoil(t, path)
	defer store.Close()
	var up, down []uint64
	err := store.Scan(0, KeyMax, func(record Record) bool {
		up = append(up, record.Key)
		return true
	})
	leftOut(t, up, 3000, err)
	err = store.ScanReverse(0, KeyMax, func(record Record) bool {
		down = append([]uint64{record.Key}, down...)
		return true
	})
	leftOut(t, down, 3000, err)
	calls := 0
	must(t, store.Scan(0, KeyMax, func(Record) bool {
		calls++
		return false
	}))
	if calls != 1 {
		t.Fatal(calls, "calls after the first one returned false")
	}
}

// Properties before and after damage, its reason, and the first error that Check finds.
func TestDamage(t *testing.T) {
	store, path := newStoreOf(t, FormatOptions{LeafBytes: 512}, 1<<20)
	for key := uint64(0); key < 1000; key++ {
		must(t, store.Insert(key, key))
	}
	info, err := store.Info()
	must(t, err)
	if info.LeafBytes != 512 || info.LeavesBad != 0 || info.Lines <= info.Fences || info.Fences < 1000 {
		t.Fatal(info)
	}
	must(t, store.Close())
	store = spoil(t, path)
	defer store.Close()
	info, err = store.Info()
	must(t, err)
	if info.LeavesBad != 2 || info.Reason != store.Reason() {
		t.Fatal(info, store.Reason())
	}
	damage, err := store.Check()
	must(t, err)
	info, err = store.Info()
	must(t, err)
	first := fmt.Sprintf("offset %d: %s", damage.FirstOffset, damage.First)
	if !strings.Contains(info.Reason, first) || damage.First == "" || damage.Errors == 0 ||
		damage.Errors >= damage.FirstOffset {
		t.Fatal(damage, info.Reason)
	}
}

func TestListAfterDamage(t *testing.T) {
	store, path := newStoreOf(t, FormatOptions{Blobs: true}, 1<<20)
	for key := uint64(0); key < 1000; key++ {
		_, err := store.Put(key, nil)
		must(t, err)
	}
	_, err := store.Put(999, []byte("spoilt"))
	must(t, err)
	must(t, store.Close())
	store = spoil(t, path)
	defer store.Close()
	var keys []uint64
	err = store.List(0, KeyMax, func(entry Entry) bool {
		if entry.Damaged != (entry.Key == 999) {
			t.Fatal(entry)
		}
		keys = append(keys, entry.Key)
		return true
	})
	leftOut(t, keys, 1000, err)
}

func TestNamesWithoutADamagedOne(t *testing.T) {
	store, path := newStoreOf(t, FormatOptions{Names: true}, 1<<20)
	for _, name := range []string{"first", "second", "third"} {
		_, err := store.Set(name, true)
		must(t, err)
	}
	must(t, store.Close())
	data, err := os.ReadFile(strings.TrimPrefix(path, "file:"))
	must(t, err)
	data[bytes.Index(data, []byte("second"))] ^= 1
	must(t, os.WriteFile(strings.TrimPrefix(path, "file:"), data, 0o666))
	store, err = OpenReadonly(path)
	must(t, err)
	defer store.Close()
	var names []string
	err = store.Names("", func(entry NameEntry) bool {
		names = append(names, entry.Name)
		return true
	})
	if !errors.Is(err, syscall.EUCLEAN) || strings.Join(names, " ") != "first third" {
		t.Fatal(names, err)
	}
}
