// SPDX-License-Identifier: LGPL-2.1-or-later

// This file has commits of values: of several blobs, or of several variables, all or none. The bytes of
// an operation are copied into memory of C: the structures of a commit contain addresses.

package crabtree

/*
#include <crabtree_blob.h>
#include <stdlib.h>
*/
import "C"

import (
	"syscall"
	"unsafe"
)

// ValueOp is an operation of CommitValues, and its result afterwards.
type ValueOp struct {
	op    C.struct_crabtree_commit_op
	name  string
	value []byte
	err   error
}

// PutOp stores a value of a store of blobs.
func PutOp(key uint64, value []byte) ValueOp {
	op := ValueOp{value: value}
	op.op.verb, op.op.key = C.CRABTREE_COMMIT_PUT, C.ulonglong(key)
	return op
}

// EraseOp removes a key of a store of blobs, if it is there.
func EraseOp(key uint64) ValueOp {
	var op ValueOp
	op.op.verb, op.op.key = C.CRABTREE_COMMIT_ERASE, C.ulonglong(key)
	return op
}

// TestOp does nothing: it is for a condition on a key of a store of blobs.
func TestOp(key uint64) ValueOp {
	var op ValueOp
	op.op.verb, op.op.key = C.CRABTREE_COMMIT_TEST, C.ulonglong(key)
	return op
}

// nameOp is an operation on a name.
func nameOp(verb C.uint, name string) ValueOp {
	op := ValueOp{name: name}
	op.op.verb = verb
	if name == "" {
		op.err = Error(syscall.EINVAL)
	}
	return op
}

// SetOp stores a variable; its value is as that of Set.
func SetOp(name string, value any) ValueOp {
	op := nameOp(C.CRABTREE_COMMIT_PUT, name)
	kind, data, err := encode(value)
	op.op._type, op.value = C.uint(kind), data
	if err != nil {
		op.err = err
	}
	return op
}

// RemoveOp removes a name and its variable, if it is there.
func RemoveOp(name string) ValueOp {
	return nameOp(C.CRABTREE_COMMIT_ERASE, name)
}

// TestNameOp does nothing: it is for a condition on a name.
func TestNameOp(name string) ValueOp {
	return nameOp(C.CRABTREE_COMMIT_TEST, name)
}

// IfAbsent is the operation with the condition that its key is absent, else CommitValues returns EEXIST.
func (o ValueOp) IfAbsent() ValueOp {
	o.op.flags |= C.CRABTREE_IF_ABSENT
	return o
}

// IfExists is the operation with the condition that its key exists, else CommitValues returns ENOENT.
func (o ValueOp) IfExists() ValueOp {
	o.op.flags |= C.CRABTREE_IF_EXISTS
	return o
}

// IfVersion is the operation with the condition that its value has a version, else CommitValues returns
// ESTALE, or ENOENT without the key.
func (o ValueOp) IfVersion(version uint64) ValueOp {
	o.op.flags |= C.CRABTREE_IF_VERSION
	o.op.version = C.ulonglong(version)
	return o
}

// Version is the new version of a value that CommitValues stored.
func (o ValueOp) Version() uint64 {
	return uint64(o.op.version)
}

// Existed tells, after CommitValues, whether the key that it stored or removed was there before.
func (o ValueOp) Existed() bool {
	if o.op.verb == C.CRABTREE_COMMIT_ERASE {
		return o.op.status == 0
	}
	return o.op.existed != 0
}

// raw is the structure of the library; memory is what it points to.
func (o ValueOp) raw(memory *[]unsafe.Pointer) C.struct_crabtree_commit_op {
	raw := o.op
	if o.name != "" {
		name := C.CString(o.name)
		*memory = append(*memory, unsafe.Pointer(name))
		raw.key, raw.name_bytes = C.ulonglong(uintptr(unsafe.Pointer(name))), C.uint(len(o.name))
	}
	if len(o.value) > 0 {
		value := C.CBytes(o.value)
		*memory = append(*memory, value)
		raw.value, raw.bytes = C.ulonglong(uintptr(value)), C.uint(len(o.value))
	}
	return raw
}

// valid is the first operation that cannot be done in any store, and its error.
func valid(ops []ValueOp) (failed int, err error) {
	for i, op := range ops {
		if op.err != nil {
			return i, op.err
		}
		if uint64(len(op.value)) > C.CRABTREE_BLOB_MAX {
			return i, Error(syscall.EMSGSIZE)
		}
	}
	return len(ops), nil
}

// CommitValues does up to 64 operations, each on another key or name, all or none: also after a power
// cut, and for every reader. The store is one of Commits, and of Blobs or Names. After an error none of
// them was done, and failed is the number of the operation that the error is about, or that of all
// operations.
func (s *Store) CommitValues(ops []ValueOp) (failed int, err error) {
	if len(ops) == 0 || len(ops) > C.CRABTREE_COMMIT_MAX {
		return len(ops), Error(syscall.EINVAL)
	}
	if failed, err := valid(ops); err != nil {
		return failed, err
	}
	var memory []unsafe.Pointer
	raws := make([]C.struct_crabtree_commit_op, len(ops))
	for i, op := range ops {
		raws[i] = op.raw(&memory)
	}
	var number C.uint32_t
	err = check(C.crabtree_commit_values(s.opened(), &raws[0], C.uint32_t(len(raws)), &number))
	for _, each := range memory {
		C.free(each)
	}
	for i := range raws {
		if err == nil && raws[i].verb == C.CRABTREE_COMMIT_PUT {
			ops[i].op.version = raws[i].version
		}
		ops[i].op.existed, ops[i].op.status = raws[i].existed, raws[i].status
	}
	return int(number), err
}
