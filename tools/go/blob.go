// SPDX-License-Identifier: LGPL-2.1-or-later

// This file has the calls for blobs: values of up to 64 KiB, in a store that Format made with Blobs.

package crabtree

// #include <crabtree_blob.h>
import "C"

import (
	"errors"
	"syscall"
	"unsafe"
)

const blobRoom = 4096

func pointer(value []byte) unsafe.Pointer {
	if len(value) == 0 {
		return nil
	}
	return unsafe.Pointer(&value[0])
}

func (s *Store) put(key uint64, value []byte, flags C.uint, version uint64) (uint64, error) {
	if uint64(len(value)) > C.CRABTREE_BLOB_MAX {
		return 0, Error(syscall.EMSGSIZE)
	}
	raw := C.uint64_t(version)
	err := check(C.crabtree_put(s.opened(), C.uint64_t(key), pointer(value), C.uint32_t(len(value)), flags, &raw))
	if err != nil {
		return 0, err
	}
	return uint64(raw), nil
}

// Put stores a value, whether the key is there or not, and returns its version: no other value of the
// store has it, now or later.
func (s *Store) Put(key uint64, value []byte) (uint64, error) {
	return s.put(key, value, 0, 0)
}

// PutCreate is Put for a key that is not there, else the error is EEXIST.
func (s *Store) PutCreate(key uint64, value []byte) (uint64, error) {
	return s.put(key, value, C.CRABTREE_PUT_CREATE, 0)
}

// PutReplace is Put for a key that is there, else the error is ENOENT.
func (s *Store) PutReplace(key uint64, value []byte) (uint64, error) {
	return s.put(key, value, C.CRABTREE_PUT_REPLACE, 0)
}

// PutIf is Put for a key whose value has this version, else the error is ESTALE or ENOENT.
func (s *Store) PutIf(key uint64, value []byte, version uint64) (uint64, error) {
	return s.put(key, value, C.CRABTREE_IF_VERSION, version)
}

// Get returns a value and its version.
func (s *Store) Get(key uint64) ([]byte, uint64, error) {
	var version C.uint64_t
	bytes := C.uint32_t(blobRoom)
	for {
		room := make([]byte, bytes)
		err := check(C.crabtree_get(s.opened(), C.uint64_t(key), pointer(room), C.uint32_t(len(room)), &bytes, &version))
		if err == nil {
			return room[:bytes], uint64(version), nil
		}
		if !errors.Is(err, syscall.EMSGSIZE) {
			return nil, 0, err
		}
	}
}

// Erase removes a key and its value.
func (s *Store) Erase(key uint64) error {
	return check(C.crabtree_erase(s.opened(), C.uint64_t(key), nil))
}

// EraseIf is Erase for a key whose value has this version, else the error is ESTALE or ENOENT.
func (s *Store) EraseIf(key, version uint64) error {
	raw := C.uint64_t(version)
	return check(C.crabtree_erase(s.opened(), C.uint64_t(key), &raw))
}

// Entry is a key of a store of blobs. If the value is damaged, Bytes and Version are 0.
type Entry struct {
	Key, Version uint64
	Bytes        uint32
	Damaged      bool
}

// List calls fn for the keys from start to end, both included, in ascending order, until fn returns
// false. It is not a snapshot. After a damaged range it goes on, and its error is a DamagedError.
func (s *Store) List(start, end uint64, fn func(Entry) bool) error {
	var cursor C.struct_crabtree_cursor
	var entries [scanRecords]C.struct_crabtree_entry
	C.crabtree_cursor_init(&cursor, C.uint64_t(start), C.uint64_t(end))
	read := func() C.int {
		return C.crabtree_list(s.opened(), &cursor, &entries[0], scanRecords)
	}
	return walk(&cursor, read, func(i C.int) bool {
		one := &entries[i]
		return fn(Entry{uint64(one.key), uint64(one.version), uint32(one.bytes), one.status != 0})
	})
}
