// SPDX-License-Identifier: LGPL-2.1-or-later

// This file tests blobs on images of two engines, next to a map.

package crabtree

import (
	"bytes"
	"errors"
	"math/rand"
	"syscall"
	"testing"
)

type blob struct {
	value   []byte
	version uint64
}

func fails(t *testing.T, err error, errno syscall.Errno) {
	t.Helper()
	if !errors.Is(err, errno) {
		t.Fatalf("%v instead of %v", err, errno)
	}
}

func stepBlob(t *testing.T, store *Store, model map[uint64]blob, random *rand.Rand) {
	key, value := uint64(random.Intn(60)), make([]byte, random.Intn(6000))
	random.Read(value)
	want, there := model[key]
	switch random.Intn(5) {
	case 0:
		version, err := store.Put(key, value)
		must(t, err)
		model[key] = blob{value, version}
	case 1:
		got, version, err := store.Get(key)
		if there && (err != nil || !bytes.Equal(got, want.value) || version != want.version) {
			t.Fatalf("get: %d bytes, version %d, %v", len(got), version, err)
		} else if !there {
			fails(t, err, syscall.ENOENT)
		}
	case 2:
		version, err := store.PutCreate(key, value)
		if there {
			fails(t, err, syscall.EEXIST)
			version, err = store.PutReplace(key, value)
		}
		must(t, err)
		model[key] = blob{value, version}
	case 3:
		if there {
			_, err := store.PutIf(key, value, want.version-1)
			fails(t, err, syscall.ESTALE)
			fails(t, store.EraseIf(key, want.version+1), syscall.ESTALE)
			version, err := store.PutIf(key, value, want.version)
			must(t, err)
			model[key] = blob{value, version}
		} else {
			_, err := store.PutReplace(key, value)
			fails(t, err, syscall.ENOENT)
		}
	default:
		if there {
			must(t, store.EraseIf(key, want.version))
		} else {
			fails(t, store.Erase(key), syscall.ENOENT)
		}
		delete(model, key)
	}
}

func sameBlobs(t *testing.T, store *Store, model map[uint64]blob) {
	t.Helper()
	next, listed := uint64(0), 0
	must(t, store.List(0, KeyMax, func(one Entry) bool {
		want, there := model[one.Key]
		if !there || one.Key < next || one.Damaged || one.Version != want.version || int(one.Bytes) != len(want.value) {
			t.Fatalf("entry %+v", one)
		}
		next = one.Key + 1
		listed++
		return true
	}))
	if listed != len(model) {
		t.Fatalf("%d keys of %d", listed, len(model))
	}
}

func TestBlobs(t *testing.T) {
	for _, engine := range []string{"crab", "nvtree", "clfb", "nbtree"} {
		store, path := newStoreOf(t, FormatOptions{Engine: engine, Blobs: true}, 2<<20)
		model, random := map[uint64]blob{}, rand.New(rand.NewSource(1))
		for i := 0; i < 1000; i++ {
			stepBlob(t, store, model, random)
		}
		sameBlobs(t, store, model)
		must(t, store.Close())
		store, err := Open(path)
		must(t, err)
		sameBlobs(t, store, model)
		closeSound(t, store)
	}
}

func TestBlobErrors(t *testing.T) {
	store, _ := newStoreOf(t, FormatOptions{Blobs: true}, 8<<20)
	defer store.Close()
	_, err := store.Put(1, make([]byte, 65536))
	must(t, err)
	_, err = store.Put(1, make([]byte, 65537))
	fails(t, err, syscall.EMSGSIZE)
	fails(t, store.Insert(1, 1), syscall.EOPNOTSUPP)
	records, _ := newStore(t, FormatOptions{})
	defer records.Close()
	_, err = records.Put(1, nil)
	fails(t, err, syscall.EOPNOTSUPP)
}
