// SPDX-License-Identifier: LGPL-2.1-or-later

// This file has the calls that read while others write: watches and snapshots, of devices only.

package crabtree

// #include <crabtree.h>
import "C"

import (
	"errors"
	"io"
	"syscall"
)

// Snapshot returns the store as of now, for reading, while others write to it; it is to be closed. The
// error of its calls is ESTALE once the memory for old values was used up.
func (s *Store) Snapshot() (*Store, error) {
	snapshot := &Store{}
	if err := check(C.crabtree_snapshot(s.handle, &snapshot.handle)); err != nil {
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
	fd := C.crabtree_watch(s.handle, C.uint64_t(start), C.uint64_t(end), C.uint32_t(entries))
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

// Next waits for the next change. The error is io.EOF once the store is detached and all were read.
func (w *Watch) Next() (Change, error) {
	var raw C.struct_crabtree_change
	count := C.crabtree_watch_read(C.int(w.fd), &raw, 1)
	for count == -C.int(syscall.EINTR) {
		count = C.crabtree_watch_read(C.int(w.fd), &raw, 1)
	}
	err := check(count)
	if count == 0 || errors.Is(err, syscall.ENODEV) {
		return Change{}, io.EOF
	}
	if err != nil {
		return Change{}, err
	}
	if raw.flags&C.CRABTREE_CHANGE_LOST != 0 {
		return Change{Seq: uint64(raw.seq), Lost: uint64(raw.value)}, nil
	}
	return Change{Seq: uint64(raw.seq), Key: uint64(raw.key), Value: uint64(raw.value), Old: uint64(raw.old),
		Existed: raw.flags&C.CRABTREE_CHANGE_EXISTED != 0, Deleted: raw.verb == C.CRABTREE_BATCH_DELETE}, nil
}
