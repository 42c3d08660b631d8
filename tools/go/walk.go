// SPDX-License-Identifier: LGPL-2.1-or-later

// This file has walks over a range of keys, which go on after damaged ranges.

package crabtree

// #include <crabtree.h>
import "C"

import (
	"fmt"
	"syscall"
)

// KeyRange is a range of keys, both ends included.
type KeyRange struct {
	First, Last uint64
}

// DamagedError is the error of a walk that left damaged ranges out: fn was called for all keys that are not
// in them, until it returned false. errors.Is compares it with EUCLEAN.
type DamagedError struct {
	Ranges []KeyRange
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%v: %d ranges of keys are left out, the first from %d to %d", e.Unwrap(), len(e.Ranges),
		e.Ranges[0].First, e.Ranges[0].Last)
}

// Unwrap returns EUCLEAN.
func (e *DamagedError) Unwrap() error {
	return Error(syscall.EUCLEAN)
}

// The range that a cursor left out since it was before; nil if it did not move.
func passed(cursor *C.struct_crabtree_cursor, before C.uint64_t) *KeyRange {
	end := cursor.end
	if !bool(cursor.done) {
		if cursor.next == before {
			return nil
		}
		end = cursor.next - 1
		if bool(cursor.reverse) {
			end = cursor.next + 1
		}
	}
	if bool(cursor.reverse) {
		before, end = end, before
	}
	return &KeyRange{uint64(before), uint64(end)}
}

// Calls each for each of the items that read returns the number of, until it returns false.
func walk(cursor *C.struct_crabtree_cursor, read func() C.int, each func(C.int) bool) error {
	var ranges []KeyRange
	for more := true; more; {
		before := cursor.next
		count := read()
		if count < 0 {
			out := passed(cursor, before)
			if count != -C.int(syscall.EUCLEAN) || out == nil {
				return check(count)
			}
			ranges = append(ranges, *out)
			continue
		}
		more = count > 0
		for i := C.int(0); i < count && more; i++ {
			more = each(i)
		}
	}
	if ranges != nil {
		return &DamagedError{ranges}
	}
	return nil
}
