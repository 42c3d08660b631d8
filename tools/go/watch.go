// SPDX-License-Identifier: LGPL-2.1-or-later

// This file has the calls that read while others write: watches and snapshots, of devices only.

package crabtree

/*
#include <crabtree_names.h>
#include <string.h>

static int watch_names(struct crabtree *ct, _GoString_ prefix, uint32_t entries)
{
	return crabtree_watch_names(ct, _GoStringPtr(prefix), _GoStringLen(prefix), entries);
}

struct changes_page {
	uint32_t used;
	char entries[16384] __attribute__((aligned(8)));
};

// One read of the library has at most half of this
static void page_change(const struct crabtree_name_change *change, void *arg)
{
	struct changes_page *page = arg;

	if (change->entry_bytes > sizeof(page->entries) - page->used)
		return;
	memcpy(page->entries + page->used, change, change->entry_bytes);
	page->used += change->entry_bytes;
}

static int watch_names_read(int fd, struct changes_page *page)
{
	page->used = 0;
	return crabtree_watch_names_read(fd, page_change, page);
}

static const struct crabtree_name_change *change_at(const struct changes_page *page, uint32_t at)
{
	return (const void *)(page->entries + at);
}
*/
import "C"

import (
	"errors"
	"io"
	"syscall"
	"unsafe"
)

// Snapshot returns the store as of now, for reading, while others write to it; it is to be closed. The
// error of its calls is ESTALE once the memory for old values was used up.
func (s *Store) Snapshot() (*Store, error) {
	snapshot := &Store{}
	if err := check(C.crabtree_snapshot(s.opened(), &snapshot.handle)); err != nil {
		return nil, err
	}
	return snapshot, nil
}

// Change is a change that a watch reports. If Lost is not 0, so many changes up to number Seq were
// dropped, because the reader was too slow, and the other fields are 0.
type Change struct {
	Seq, Key         uint64
	Value            uint64 // the new value
	Old              uint64 // if the key Existed before
	Existed, Deleted bool
	Lost             uint64
}

// Watch has the changes of a range of keys, once each one is durable.
type Watch struct {
	fd int
}

// Watch reports the changes of the keys from start to end, both included. At most entries changes wait
// for the reader, 1024 for 0.
func (s *Store) Watch(start, end uint64, entries uint32) (*Watch, error) {
	fd := C.crabtree_watch(s.opened(), C.uint64_t(start), C.uint64_t(end), C.uint32_t(entries))
	if err := check(fd); err != nil {
		return nil, err
	}
	return &Watch{int(fd)}, nil
}

// Fd returns the descriptor, for poll.
func (w *Watch) Fd() uintptr {
	return uintptr(w.fd)
}

// Close ends the watch.
func (w *Watch) Close() error {
	fd := w.fd
	w.fd = -1
	return syscall.Close(fd)
}

// Reads until changes are there; false once the store is detached and all were read
func watchWait(read func() int) (bool, error) {
	count := read()
	for count == -int(syscall.EINTR) {
		count = read()
	}
	err := check(C.int(count))
	if count == 0 || errors.Is(err, syscall.ENODEV) {
		return false, nil
	}
	return err == nil, err
}

// Next waits for the next change. The error is io.EOF once the store is detached and all were read.
func (w *Watch) Next() (Change, error) {
	var raw C.struct_crabtree_change
	more, err := watchWait(func() int { return int(C.crabtree_watch_read(C.int(w.fd), &raw, 1)) })
	if err != nil {
		return Change{}, err
	}
	if !more {
		return Change{}, io.EOF
	}
	if raw.flags&C.CRABTREE_CHANGE_LOST != 0 {
		return Change{Seq: uint64(raw.seq), Lost: uint64(raw.value)}, nil
	}
	return Change{Seq: uint64(raw.seq), Key: uint64(raw.key), Value: uint64(raw.value), Old: uint64(raw.old),
		Existed: raw.flags&C.CRABTREE_CHANGE_EXISTED != 0, Deleted: raw.verb == C.CRABTREE_BATCH_DELETE}, nil
}

// NameChange is a change of a name. If Lost is not 0, so many changes up to number Seq were dropped,
// because the reader was too slow, and the other fields are 0.
type NameChange struct {
	Seq              uint64
	Name             string
	Type             Type
	Version          uint64 // the new version
	Old              uint64 // the version before, if the name Existed
	Existed, Removed bool
	Lost             uint64
}

// NameWatch has the changes of the names with a prefix, once each one is durable.
type NameWatch struct {
	Watch
	page C.struct_changes_page
	at   C.uint32_t
}

// WatchNames reports the changes of the names that begin with a prefix. At most entries changes wait
// for the reader, 1024 for 0.
func (s *Store) WatchNames(prefix string, entries uint32) (*NameWatch, error) {
	fd := C.watch_names(s.opened(), prefix, C.uint32_t(entries))
	if err := check(fd); err != nil {
		return nil, err
	}
	return &NameWatch{Watch: Watch{int(fd)}}, nil
}

// Next waits for the next change. The error is io.EOF once the store is detached and all were read.
func (w *NameWatch) Next() (NameChange, error) {
	if w.at == w.page.used {
		w.at = 0
		more, err := watchWait(func() int { return int(C.watch_names_read(C.int(w.fd), &w.page)) })
		if err != nil {
			return NameChange{}, err
		}
		if !more {
			return NameChange{}, io.EOF
		}
	}
	raw := C.change_at(&w.page, w.at)
	w.at += C.uint32_t(raw.entry_bytes)
	if raw.flags&C.CRABTREE_CHANGE_LOST != 0 {
		return NameChange{Seq: uint64(raw.seq), Lost: uint64(raw.value)}, nil
	}
	name := C.GoStringN((*C.char)(unsafe.Pointer(&raw.name)), C.int(raw.name_bytes))
	return NameChange{Seq: uint64(raw.seq), Name: name, Type: Type(raw._type), Version: uint64(raw.value),
		Old: uint64(raw.old), Existed: raw.flags&C.CRABTREE_CHANGE_EXISTED != 0,
		Removed: raw.verb == C.CRABTREE_BATCH_DELETE}, nil
}
