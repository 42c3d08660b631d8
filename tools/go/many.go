// SPDX-License-Identifier: LGPL-2.1-or-later

// This file has the calls for many records: scans, batches and commits.

package crabtree

// #include <crabtree.h>
import "C"

const scanRecords = 256

// Scan calls fn for the records from start to end, both included, in the order of their keys, until fn
// returns false. It is not a snapshot. After a damaged range it goes on, and its error is a DamagedError.
func (s *Store) Scan(start, end uint64, fn func(Record) bool) error {
	var cursor C.struct_crabtree_cursor
	C.crabtree_cursor_init(&cursor, C.uint64_t(start), C.uint64_t(end))
	return s.scan(&cursor, fn)
}

// ScanReverse is Scan in descending order, from end to start.
func (s *Store) ScanReverse(start, end uint64, fn func(Record) bool) error {
	var cursor C.struct_crabtree_cursor
	C.crabtree_cursor_init_reverse(&cursor, C.uint64_t(start), C.uint64_t(end))
	return s.scan(&cursor, fn)
}

func (s *Store) scan(cursor *C.struct_crabtree_cursor, fn func(Record) bool) error {
	var records [scanRecords]C.struct_crabtree_record
	read := func() C.int {
		return C.crabtree_cursor_read(s.opened(), cursor, &records[0], scanRecords)
	}
	return walk(cursor, read, func(i C.int) bool {
		return fn(Record{uint64(records[i].key), uint64(records[i].value)})
	})
}

// Op is an operation of a batch, and its result afterwards.
type Op struct {
	op C.struct_crabtree_batch_op
}

// InsertOp stores a value; its result is the old value, 0 if there was none.
func InsertOp(key, value uint64) Op {
	return Op{C.struct_crabtree_batch_op{verb: C.CRABTREE_BATCH_INSERT, key: C.ulonglong(key), value: C.ulonglong(value)}}
}

// SwapOp replaces a value if it is the expected one, else its error is ESTALE.
func SwapOp(key, expected, value uint64) Op {
	return Op{C.struct_crabtree_batch_op{verb: C.CRABTREE_BATCH_INSERT, flags: C.CRABTREE_INSERT_SWAP,
		key: C.ulonglong(key), value: C.ulonglong(value), old_value: C.ulonglong(expected)}}
}

// AddOp adds to a value, modulo 2^64; its result is the value before, 0 if there was none.
func AddOp(key, addend uint64) Op {
	return Op{C.struct_crabtree_batch_op{verb: C.CRABTREE_BATCH_INSERT, flags: C.CRABTREE_INSERT_ADD,
		key: C.ulonglong(key), value: C.ulonglong(addend)}}
}

// SearchOp has the value of a key as its result.
func SearchOp(key uint64) Op {
	return Op{C.struct_crabtree_batch_op{verb: C.CRABTREE_BATCH_SEARCH, key: C.ulonglong(key)}}
}

// DeleteOp removes a key; its result is the value that the key had.
func DeleteOp(key uint64) Op {
	return Op{C.struct_crabtree_batch_op{verb: C.CRABTREE_BATCH_DELETE, key: C.ulonglong(key)}}
}

// IfAbsent is the operation with the condition that its key is absent, else Commit returns EEXIST.
func (o Op) IfAbsent() Op {
	o.op.flags |= C.CRABTREE_IF_ABSENT
	return o
}

// IfExists is the operation with the condition that its key exists, else Commit returns ENOENT.
func (o Op) IfExists() Op {
	o.op.flags |= C.CRABTREE_IF_EXISTS
	return o
}

// IfValue is the operation with the condition that its key has a value, else Commit returns ESTALE, or
// ENOENT without the key.
func (o Op) IfValue(value uint64) Op {
	o.op.flags |= C.CRABTREE_IF_VALUE
	o.op.old_value = C.ulonglong(value)
	return o
}

// Result is the result of the operation, after Batch or Commit.
func (o Op) Result() (uint64, error) {
	value := o.op.old_value
	if o.op.verb == C.CRABTREE_BATCH_SEARCH {
		value = o.op.value
	}
	return uint64(value), check(o.op.status)
}

// Batch does operations in one call for each 4096 of them. Operations on one key keep their order. It
// is not atomic: each operation is. The error is that of the call; each operation has its own result.
func (s *Store) Batch(ops []Op) error {
	for len(ops) > 0 {
		count := len(ops)
		if count > C.CRABTREE_BATCH_MAX {
			count = C.CRABTREE_BATCH_MAX
		}
		if err := check(C.crabtree_batch(s.opened(), &ops[0].op, C.uint32_t(count), nil)); err != nil {
			return err
		}
		ops = ops[count:]
	}
	return nil
}

// Commit does up to 64 operations, each on another key, all or none: also after a power cut, and for
// every reader. The store is one of Commits. After an error none of them was done, and failed is the
// number of the operation that the error is about, or that of all operations.
func (s *Store) Commit(ops []Op) (failed int, err error) {
	var first *C.struct_crabtree_batch_op
	var number C.uint32_t
	if len(ops) > 0 {
		first = &ops[0].op
	}
	err = check(C.crabtree_commit(s.opened(), first, C.uint32_t(len(ops)), &number))
	return int(number), err
}
