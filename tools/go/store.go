// SPDX-License-Identifier: LGPL-2.1-or-later

// Package crabtree is an ordered index of 64-bit keys to 64-bit values in persistent memory, over
// libcrabtree.
//
//	store, err := crabtree.Open("/dev/crab0") // or file:PATH, for trials: durable after Close
//	err = store.Insert(16, 42)                // durable when it has returned
//	value, err := store.Search(16)
//
// Goroutines may share a store; Close comes after their last call. Errors are of type Error, and
// errors.Is compares them with an errno: errors.Is(err, syscall.ENOENT).
//
// This file has the calls for single records and for the store as a whole.
package crabtree

/*
#cgo LDFLAGS: -lcrabtree
#include <crabtree.h>
#include <stdlib.h>
*/
import "C"

import (
	"strings"
	"syscall"
	"unsafe"
)

// KeyMax is the highest key that can be stored.
const KeyMax = ^uint64(0) - 1

// Error is an errno that a call returned, in the words of the library.
type Error syscall.Errno

func (e Error) Error() string {
	return C.GoString(C.crabtree_strerror(C.int(e)))
}

// Unwrap returns the errno.
func (e Error) Unwrap() error {
	return syscall.Errno(e)
}

func check(err C.int) error {
	if err < 0 {
		return Error(-err)
	}
	return nil
}

// Record is a key and its value.
type Record struct {
	Key, Value uint64
}

// Store is an open store.
type Store struct {
	handle *C.struct_crabtree
}

func open(path string, flags C.uint) (*Store, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return nil, Error(syscall.EINVAL)
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	store := &Store{}
	if err := check(C.crabtree_open(&store.handle, name, flags)); err != nil {
		return nil, err
	}
	return store, nil
}

// Open opens a device, or an image: file:PATH.
func Open(path string) (*Store, error) {
	return open(path, 0)
}

// OpenReadonly is the same for reading only.
func OpenReadonly(path string) (*Store, error) {
	return open(path, C.CRABTREE_OPEN_READONLY)
}

// The handle, which C would follow without a look at it.
func (s *Store) opened() *C.struct_crabtree {
	if s.handle == nil {
		panic("crabtree: a call of a store that is closed")
	}
	return s.handle
}

// Close ends the use of the store; the writes to an image are then in its file. A second Close does nothing,
// every other call panics then.
func (s *Store) Close() error {
	handle := s.handle
	s.handle = nil
	return check(C.crabtree_close(handle))
}

func (s *Store) insert(key, value uint64, flags C.uint) (uint64, error) {
	var old C.uint64_t
	err := C.crabtree_insert(s.opened(), C.uint64_t(key), C.uint64_t(value), flags, nil, &old)
	return uint64(old), check(err)
}

// Insert stores a value, whether the key is there or not.
func (s *Store) Insert(key, value uint64) error {
	_, err := s.insert(key, value, 0)
	return err
}

// Create stores a value under a key that is not there. With EEXIST it returns the present value.
func (s *Store) Create(key, value uint64) (uint64, error) {
	return s.insert(key, value, C.CRABTREE_INSERT_CREATE)
}

// Replace stores a value under a key that is there, and returns the old value.
func (s *Store) Replace(key, value uint64) (uint64, error) {
	return s.insert(key, value, C.CRABTREE_INSERT_REPLACE)
}

// Swap replaces the value of a key if it is the expected one, else the error is ESTALE. It returns the
// value before.
func (s *Store) Swap(key, expected, value uint64) (uint64, error) {
	var old C.uint64_t
	err := C.crabtree_swap(s.opened(), C.uint64_t(key), C.uint64_t(expected), C.uint64_t(value), &old)
	return uint64(old), check(err)
}

// Add adds to the value of a key, modulo 2^64; a key that is not there has 0. It returns the value before.
func (s *Store) Add(key, addend uint64) (uint64, error) {
	var old C.uint64_t
	err := C.crabtree_add(s.opened(), C.uint64_t(key), C.uint64_t(addend), 0, &old)
	return uint64(old), check(err)
}

// Search returns the value of a key.
func (s *Store) Search(key uint64) (uint64, error) {
	var value C.uint64_t
	err := C.crabtree_search(s.opened(), C.uint64_t(key), &value)
	return uint64(value), check(err)
}

// Delete removes a key and returns the value that it had.
func (s *Store) Delete(key uint64) (uint64, error) {
	var old C.uint64_t
	err := C.crabtree_delete(s.opened(), C.uint64_t(key), &old)
	return uint64(old), check(err)
}

// DeleteRange removes the keys from start to end, both included, and returns how many. Each delete is
// atomic, not all of them.
func (s *Store) DeleteRange(start, end uint64) (uint64, error) {
	var deleted C.uint64_t
	err := C.crabtree_delete_range(s.opened(), C.uint64_t(start), C.uint64_t(end), &deleted, nil)
	return uint64(deleted), check(err)
}

func (s *Store) seek(key uint64, flags C.uint) (Record, error) {
	var record C.struct_crabtree_record
	err := C.crabtree_seek(s.opened(), C.uint64_t(key), flags, &record)
	return Record{uint64(record.key), uint64(record.value)}, check(err)
}

// AtOrAbove returns the record with the lowest key that is not below this one.
func (s *Store) AtOrAbove(key uint64) (Record, error) {
	return s.seek(key, C.CRABTREE_SEARCH_GE)
}

// AtOrBelow returns the record with the highest key that is not above this one.
func (s *Store) AtOrBelow(key uint64) (Record, error) {
	return s.seek(key, C.CRABTREE_SEARCH_LE)
}

// Sync writes an image to its file: durable until the next write. A device needs no sync.
func (s *Store) Sync() error {
	return check(C.crabtree_sync(s.opened()))
}

// Reason says why the store is rejected or read-only; it is empty if the store is neither.
func (s *Store) Reason() string {
	var text [160]C.char
	C.crabtree_reason(s.opened(), &text[0], C.size_t(len(text)))
	return C.GoString(&text[0])
}

// Info has properties of a store, and its counters since attach: struct crabtree_info.
type Info struct {
	State, Durability, Model                        string
	Keeps                                           uint32 // enum crabtree_keeps: whether the region keeps the model
	Version                                         uint32 // of the media format
	UUID                                            [16]byte
	Label, Engine, Layout, Region, Reason           string
	RegionBytes, LeafBytes                          uint64
	Leaves, LeavesUsed, LeavesBad                   uint64
	Records, Capacity                               uint64
	FeatureCompat, FeatureROCompat, FeatureIncompat uint64
	DRAMBytes, AttachNS                             uint64
	Lines, Fences, PrepareLines, PrepareFences      uint64
	Inserts, Updates, Deletes, Searches             uint64
	Splits, Unlinks, Repairs, Orders, LinesBound    uint64
	Counters                                        map[string]uint64 // those of the engine itself
	Options                                         string            // of the engine: "name=value name=value"
}

// Info returns properties and counters.
func (s *Store) Info() (Info, error) {
	var raw C.struct_crabtree_info
	if err := check(C.crabtree_info(s.opened(), &raw, C.sizeof_struct_crabtree_info)); err != nil {
		return Info{}, err
	}
	info := Info{
		State:      C.GoString(C.crabtree_state_name(raw.state)),
		Durability: C.GoString(C.crabtree_durability_name(raw.durability)),
		Model:      C.GoString(C.crabtree_model_name(raw.model)),
		Keeps:      uint32(raw.keeps), Version: uint32(raw.version),
		UUID:  *(*[16]byte)(unsafe.Pointer(&raw.uuid)),
		Label: C.GoString(&raw.label[0]), Engine: C.GoString(&raw.engine[0]),
		Layout: C.GoString(&raw.layout[0]), Region: C.GoString(&raw.region[0]),
		Reason:      C.GoString(&raw.reason[0]),
		RegionBytes: uint64(raw.region_bytes), LeafBytes: uint64(raw.leaf_bytes),
		Leaves: uint64(raw.leaves), LeavesUsed: uint64(raw.leaves_used), LeavesBad: uint64(raw.leaves_bad),
		Records: uint64(raw.records), Capacity: uint64(raw.capacity),
		FeatureCompat:   uint64(raw.feature_compat),
		FeatureROCompat: uint64(raw.feature_ro_compat),
		FeatureIncompat: uint64(raw.feature_incompat),
		DRAMBytes:       uint64(raw.dram_bytes), AttachNS: uint64(raw.attach_ns),
		Lines: uint64(raw.lines), Fences: uint64(raw.fences),
		PrepareLines: uint64(raw.prepare_lines), PrepareFences: uint64(raw.prepare_fences),
		Inserts: uint64(raw.inserts), Updates: uint64(raw.updates),
		Deletes: uint64(raw.deletes), Searches: uint64(raw.searches),
		Splits: uint64(raw.splits), Unlinks: uint64(raw.unlinks), Repairs: uint64(raw.repairs),
		Orders: uint64(raw.orders), LinesBound: uint64(raw.lines_bound),
		Counters: map[string]uint64{}, Options: C.GoString(&raw.options[0]),
	}
	for i := range raw.counters {
		if name := C.GoString(&raw.counters[i].name[0]); name != "" {
			info.Counters[name] = uint64(raw.counters[i].value)
		}
	}
	return info, nil
}

// Damage is the result of Check: broken invariants, and the first of them.
type Damage struct {
	Errors, FirstOffset uint64
	First               string
}

// Check verifies every invariant; Errors is 0 if all hold.
func (s *Store) Check() (Damage, error) {
	var raw C.struct_crabtree_check
	err := check(C.crabtree_check(s.opened(), &raw, C.sizeof_struct_crabtree_check))
	return Damage{uint64(raw.errors), uint64(raw.first_offset), C.GoString(&raw.first[0])}, err
}

// FormatOptions are those of Format; zero values are the defaults.
type FormatOptions struct {
	Label, Engine, Layout string
	LeafBytes             uint32
	Force                 bool // over the store or the other data that is there
	Blobs                 bool // for values of up to 64 KiB: Put, Get, Erase, List
	Commits               bool // for Commit
	Names                 bool // for variables: Set, Variable, Remove, Names
}

func set(field []C.char, text string) error {
	if len(text) >= len(field) || strings.IndexByte(text, 0) >= 0 {
		return Error(syscall.EINVAL)
	}
	for i := 0; i < len(text); i++ {
		field[i] = C.char(text[i])
	}
	return nil
}

// Format makes an empty store.
func (s *Store) Format(options FormatOptions) error {
	raw := C.struct_crabtree_format{leaf_bytes: C.uint(options.LeafBytes)}
	if options.Force {
		raw.flags |= C.CRABTREE_FORMAT_FORCE
	}
	if options.Blobs {
		raw.flags |= C.CRABTREE_FORMAT_BLOBS
	}
	if options.Commits {
		raw.flags |= C.CRABTREE_FORMAT_COMMITS
	}
	if options.Names {
		raw.flags |= C.CRABTREE_FORMAT_NAMES
	}
	for _, err := range []error{set(raw.label[:], options.Label), set(raw.engine[:], options.Engine),
		set(raw.layout[:], options.Layout)} {
		if err != nil {
			return err
		}
	}
	return check(C.crabtree_format(s.opened(), &raw, C.sizeof_struct_crabtree_format))
}
