// SPDX-License-Identifier: LGPL-2.1-or-later

// This file tests the package on images of each engine, next to a map.

package crabtree

import (
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"syscall"
	"testing"
)

var engines = []FormatOptions{{Engine: "crab", Layout: "slotted"}, {Engine: "crab", Layout: "sorted"},
	{Engine: "volatile"}, {Engine: "nvtree"}, {Engine: "fastfair"},
	{Engine: "clfb", Layout: "inplace"}, {Engine: "clfb", Layout: "twin"}, {Engine: "nbtree"},
	{Engine: "nbtree", Layout: "eadr"}}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newStore(t *testing.T, options FormatOptions) (*Store, string) {
	t.Helper()
	return newStoreOf(t, options, 256<<10)
}

func newStoreOf(t *testing.T, options FormatOptions, size int) (*Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "go.img")
	must(t, os.WriteFile(path, make([]byte, size), 0o666))
	store, err := Open("file:" + path)
	must(t, err)
	must(t, store.Format(options))
	return store, "file:" + path
}

func expect(t *testing.T, what string, value, want uint64, there bool, err error) {
	t.Helper()
	if there && (err != nil || value != want) || !there && !errors.Is(err, syscall.ENOENT) {
		t.Fatalf("%s: %d %v instead of %d %v", what, value, err, want, there)
	}
}

func step(t *testing.T, store *Store, model map[uint64]uint64, random *rand.Rand) {
	key, value := uint64(random.Intn(400)), uint64(random.Intn(10))
	want, there := model[key]
	switch random.Intn(6) {
	case 0:
		must(t, store.Insert(key, value))
		model[key] = value
	case 1:
		got, err := store.Delete(key)
		expect(t, "delete", got, want, there, err)
		delete(model, key)
	case 2:
		got, err := store.Search(key)
		expect(t, "search", got, want, there, err)
	case 3:
		got, err := store.Replace(key, value)
		expect(t, "replace", got, want, there, err)
		if there {
			model[key] = value
		}
	case 4:
		got, err := store.Swap(key, value/2, value)
		if there && want != value/2 {
			if got != want || !errors.Is(err, syscall.ESTALE) {
				t.Fatalf("swap: %d %v instead of %d", got, err, want)
			}
			return
		}
		expect(t, "swap", got, want, there, err)
		if there {
			model[key] = value
		}
	case 5:
		got, err := store.Add(key, value)
		expect(t, "add", got, want, true, err)
		model[key] += value
	}
}

func compare(t *testing.T, store *Store, model map[uint64]uint64) {
	var keys, found []uint64
	for key := range model {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	must(t, store.Scan(0, KeyMax, func(record Record) bool {
		if model[record.Key] != record.Value {
			t.Fatalf("key %d has %d", record.Key, record.Value)
		}
		found = append(found, record.Key)
		return true
	}))
	if len(found) != len(keys) {
		t.Fatalf("%d records instead of %d", len(found), len(keys))
	}
	for i, key := range keys {
		if found[i] != key {
			t.Fatalf("key %d instead of %d", found[i], key)
		}
	}
	must(t, store.ScanReverse(0, KeyMax, func(record Record) bool {
		if last := len(found) - 1; record.Key != found[last] || record.Value != model[record.Key] {
			t.Fatalf("%v instead of key %d", record, found[last])
		}
		found = found[:len(found)-1]
		return true
	}))
	if len(found) != 0 {
		t.Fatalf("%d records less in the reverse order", len(found))
	}
}

// closeSound closes a store in which CHECK finds no damage.
func closeSound(t *testing.T, store *Store) {
	t.Helper()
	damage, err := store.Check()
	must(t, err)
	if damage.Errors != 0 {
		t.Fatal(damage)
	}
	must(t, store.Close())
}

func TestMap(t *testing.T) {
	for _, options := range engines {
		t.Run(options.Engine+options.Layout, func(t *testing.T) {
			store, _ := newStore(t, options)
			model, random := map[uint64]uint64{}, rand.New(rand.NewSource(1))
			for i := 0; i < 3000; i++ {
				step(t, store, model, random)
			}
			compare(t, store, model)
			closeSound(t, store)
		})
	}
}

func TestBatch(t *testing.T) {
	store, _ := newStore(t, FormatOptions{})
	defer store.Close()
	var ops []Op
	for key := uint64(0); key < 5000; key++ {
		ops = append(ops, InsertOp(key, key+1))
	}
	must(t, store.Batch(ops))
	must(t, store.Batch(nil))
	ops = []Op{SearchOp(4999), DeleteOp(4999), SearchOp(4999), InsertOp(7, 9)}
	must(t, store.Batch(ops))
	for i, want := range []uint64{5000, 5000, 0, 8} {
		got, err := ops[i].Result()
		expect(t, "batch", got, want, i != 2, err)
	}
}

func TestCommit(t *testing.T) {
	store, _ := newStore(t, FormatOptions{Commits: true})
	defer store.Close()
	must(t, store.Insert(1, 100))
	ops := []Op{AddOp(1, ^uint64(29)).IfExists(), AddOp(2, 30), SearchOp(3).IfAbsent(), DeleteOp(4)}
	_, err := store.Commit(ops)
	must(t, err)
	for key, want := range map[uint64]uint64{1: 70, 2: 30} {
		got, err := store.Search(key)
		expect(t, "commit", got, want, true, err)
	}
	if old, err := ops[0].Result(); err != nil || old != 100 {
		t.Fatal(old, err)
	}
	ops = []Op{InsertOp(9, 9), DeleteOp(2).IfValue(31)}
	if failed, err := store.Commit(ops); !errors.Is(err, syscall.ESTALE) || failed != 1 {
		t.Fatal(failed, err)
	}
	if _, err := store.Search(9); !errors.Is(err, syscall.ENOENT) {
		t.Fatal("a refused commit has written", err)
	}
	if failed, err := store.Commit(nil); !errors.Is(err, syscall.EINVAL) || failed != 0 {
		t.Fatal(failed, err)
	}
}

func TestErrors(t *testing.T) {
	store, path := newStore(t, FormatOptions{Label: "go"})
	must(t, store.Insert(20, 1))
	if old, err := store.Create(20, 2); !errors.Is(err, syscall.EEXIST) || old != 1 {
		t.Fatal(old, err)
	}
	if record, err := store.AtOrAbove(10); err != nil || record != (Record{20, 1}) {
		t.Fatal(record, err)
	}
	if _, err := store.AtOrBelow(10); !errors.Is(err, syscall.ENOENT) || err.Error() != "no such key, device or file" {
		t.Fatal(err)
	}
	if err := store.Format(FormatOptions{}); !errors.Is(err, syscall.EEXIST) || store.Reason() == "" {
		t.Fatal(err, store.Reason())
	}
	if _, err := Open(path); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Fatal(err)
	}
	must(t, store.Sync())
	must(t, store.Close())
	store, err := OpenReadonly(path)
	must(t, err)
	defer store.Close()
	if err := store.Insert(1, 1); !errors.Is(err, syscall.EBADF) {
		t.Fatal(err)
	}
	info, err := store.Info()
	must(t, err)
	if info.Label != "go" || info.State != "ready" && info.State != "read-only" || info.Records != 1 {
		t.Fatal(info)
	}
}

func TestTexts(t *testing.T) {
	store, path := newStore(t, FormatOptions{Label: "Größe"})
	if info, err := store.Info(); err != nil || info.Label != "Größe" {
		t.Fatal(info.Label, err)
	}
	if err := store.Format(FormatOptions{Label: "a\x00b", Force: true}); !errors.Is(err, syscall.EINVAL) {
		t.Fatal("a label is cut", err)
	}
	must(t, store.Close())
	if _, err := Open(path + "\x00junk"); !errors.Is(err, syscall.EINVAL) {
		t.Fatal("a path is cut", err)
	}
}

func TestClosed(t *testing.T) {
	store, _ := newStore(t, FormatOptions{})
	must(t, store.Close())
	must(t, store.Close())
	defer func() {
		if recover() == nil {
			t.Fatal("a call of a store that is closed")
		}
	}()
	store.Search(1)
}

func TestGoroutines(t *testing.T) {
	store, _ := newStore(t, FormatOptions{})
	defer store.Close()
	var group sync.WaitGroup
	for first := uint64(0); first < 4; first++ {
		group.Add(1)
		go func(first uint64) {
			defer group.Done()
			for key := first * 1000; key < first*1000+500; key++ {
				if err := store.Insert(key, 1); err != nil {
					t.Error(err)
				}
			}
		}(first)
	}
	group.Wait()
	info, err := store.Info()
	must(t, err)
	if info.Records != 2000 || info.Inserts != 2000 || info.Updates+info.Deletes+info.Repairs != 0 {
		t.Fatal(info)
	}
	if info.Splits == 0 || info.DRAMBytes == 0 || info.AttachNS == 0 || info.LinesBound < 2 {
		t.Fatal(info)
	}
	if info.Version != 1 || info.Keeps != 1 || info.FeatureIncompat != 0 || info.Options != "" {
		t.Fatal(info)
	}
}
