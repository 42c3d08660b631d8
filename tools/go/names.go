// SPDX-License-Identifier: LGPL-2.1-or-later

// This file has the calls for variables: typed values of up to 64 KiB under names, in a store that
// Format made with Names. A C function of each call fills the structure: Go pointers in one are not
// allowed.

package crabtree

/*
#include <crabtree_names.h>
#include <string.h>

static int put_named(struct crabtree *ct, _GoString_ name, uint32_t type, void *value, uint32_t bytes,
		     unsigned int flags, uint64_t *version)
{
	struct crabtree_named named = {
		.name = _GoStringPtr(name), .name_bytes = _GoStringLen(name), .type = type,
		.value = value, .bytes = bytes, .version = *version,
	};
	int err = crabtree_put_named(ct, &named, flags);

	*version = named.version;
	return err;
}

static int get_named(struct crabtree *ct, _GoString_ name, void *value, uint32_t capacity,
		     uint32_t *bytes, uint32_t *type, uint64_t *version)
{
	struct crabtree_named named = {
		.name = _GoStringPtr(name), .name_bytes = _GoStringLen(name),
		.value = value, .capacity = capacity,
	};
	int err = crabtree_get_named(ct, &named);

	*bytes = named.bytes;
	*type = named.type;
	*version = named.version;
	return err;
}

static int erase_named(struct crabtree *ct, _GoString_ name, const uint64_t *version)
{
	return crabtree_erase_named(ct, _GoStringPtr(name), _GoStringLen(name), version);
}

struct names_page {
	uint32_t used;
	char entries[16384] __attribute__((aligned(8)));
};

static int page_add(const struct crabtree_name *name, void *arg)
{
	struct names_page *page = arg;

	if (name->entry_bytes > sizeof(page->entries) - page->used)
		return 1;
	memcpy(page->entries + page->used, name, name->entry_bytes);
	page->used += name->entry_bytes;
	return 0;
}

// The names with a prefix that come after another one, as many as a page has room for: 1 if there are more
static int names_page(struct crabtree *ct, _GoString_ prefix, _GoString_ after, struct names_page *page)
{
	struct crabtree_names names = {
		.flags = CRABTREE_NAMES_PREFIX | (_GoStringLen(after) ? CRABTREE_NAMES_AFTER : 0),
		.start = (uintptr_t)_GoStringPtr(after), .start_bytes = _GoStringLen(after),
		.end = (uintptr_t)_GoStringPtr(prefix), .end_bytes = _GoStringLen(prefix),
	};

	page->used = 0;
	return crabtree_names(ct, &names, page_add, page);
}
*/
import "C"

import (
	"bytes"
	"encoding/binary"
	"errors"
	"syscall"
	"unsafe"
)

// Type is the type of a variable.
type Type uint32

// The types, and those of their values in Go.
const (
	TypeBytes Type = C.CRABTREE_TYPE_BYTES // []byte
	TypeText  Type = C.CRABTREE_TYPE_TEXT  // string
	TypeBool  Type = C.CRABTREE_TYPE_BOOL  // bool
	TypeU8    Type = C.CRABTREE_TYPE_U8    // uint8
	TypeU16   Type = C.CRABTREE_TYPE_U16   // uint16
	TypeU32   Type = C.CRABTREE_TYPE_U32   // uint32
	TypeU64   Type = C.CRABTREE_TYPE_U64   // uint64
	TypeI64   Type = C.CRABTREE_TYPE_I64   // int64
	TypeF64   Type = C.CRABTREE_TYPE_F64   // float64
)

var typeNames = []string{"bytes", "text", "bool", "u8", "u16", "u32", "u64", "i64", "f64"}

// String is the name of the type; that of a newer version is "?".
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "?"
}

// Variable is a typed value and its version: no other value of the store has it, now or later. A value
// of a type of a newer version, or of a length that its type does not have, is a []byte.
type Variable struct {
	Value   any
	Type    Type
	Version uint64
}

// typeOf returns the type of a value; false if there is none.
func typeOf(value any) (Type, bool) {
	switch value.(type) {
	case []byte:
		return TypeBytes, true
	case string:
		return TypeText, true
	case bool:
		return TypeBool, true
	case uint8:
		return TypeU8, true
	case uint16:
		return TypeU16, true
	case uint32:
		return TypeU32, true
	case uint64:
		return TypeU64, true
	case int64:
		return TypeI64, true
	case float64:
		return TypeF64, true
	}
	return 0, false
}

func encode(value any) (Type, []byte, error) {
	if number, is := value.(int); is {
		value = int64(number)
	}
	kind, known := typeOf(value)
	if !known {
		return 0, nil, Error(syscall.EINVAL)
	}
	switch kind {
	case TypeBytes:
		return kind, value.([]byte), nil
	case TypeText:
		return kind, []byte(value.(string)), nil
	}
	var data bytes.Buffer
	err := binary.Write(&data, binary.LittleEndian, value)
	return kind, data.Bytes(), err
}

func number[T any](data []byte) any {
	var value T
	if len(data) != binary.Size(value) || binary.Read(bytes.NewReader(data), binary.LittleEndian, &value) != nil {
		return data
	}
	return value
}

func decode(kind Type, data []byte) any {
	switch kind {
	case TypeText:
		return string(data)
	case TypeBool:
		return number[bool](data)
	case TypeU8:
		return number[uint8](data)
	case TypeU16:
		return number[uint16](data)
	case TypeU32:
		return number[uint32](data)
	case TypeU64:
		return number[uint64](data)
	case TypeI64:
		return number[int64](data)
	case TypeF64:
		return number[float64](data)
	}
	return data
}

func (s *Store) set(name string, value any, flags C.uint, version uint64) (uint64, error) {
	kind, data, err := encode(value)
	if err != nil {
		return 0, err
	}
	if uint64(len(data)) > C.CRABTREE_BLOB_MAX {
		return 0, Error(syscall.EMSGSIZE)
	}
	raw := C.uint64_t(version)
	err = check(C.put_named(s.opened(), name, C.uint32_t(kind), pointer(data), C.uint32_t(len(data)), flags, &raw))
	if err != nil {
		return 0, err
	}
	return uint64(raw), nil
}

// Set stores a variable, whether the name is there or not, and returns its version. The type of the
// value in Go is that of the variable, and an int is an int64; else the error is EINVAL.
func (s *Store) Set(name string, value any) (uint64, error) {
	return s.set(name, value, 0, 0)
}

// SetCreate is Set for a name that is not there, else the error is EEXIST.
func (s *Store) SetCreate(name string, value any) (uint64, error) {
	return s.set(name, value, C.CRABTREE_PUT_CREATE, 0)
}

// SetReplace is Set for a name that is there, else the error is ENOENT.
func (s *Store) SetReplace(name string, value any) (uint64, error) {
	return s.set(name, value, C.CRABTREE_PUT_REPLACE, 0)
}

// SetIf is Set for a name whose variable has this version, else the error is ESTALE or ENOENT.
func (s *Store) SetIf(name string, value any, version uint64) (uint64, error) {
	return s.set(name, value, C.CRABTREE_IF_VERSION, version)
}

// Variable returns the variable of a name.
func (s *Store) Variable(name string) (Variable, error) {
	var kind C.uint32_t
	var version C.uint64_t
	length := C.uint32_t(blobRoom)
	for {
		room := make([]byte, length)
		err := check(C.get_named(s.opened(), name, pointer(room), C.uint32_t(len(room)), &length, &kind, &version))
		if err == nil {
			return Variable{decode(Type(kind), room[:length]), Type(kind), uint64(version)}, nil
		}
		if !errors.Is(err, syscall.EMSGSIZE) {
			return Variable{}, err
		}
	}
}

// Remove removes a name and its variable.
func (s *Store) Remove(name string) error {
	return check(C.erase_named(s.opened(), name, nil))
}

// RemoveIf is Remove for a name whose variable has this version, else the error is ESTALE or ENOENT.
func (s *Store) RemoveIf(name string, version uint64) error {
	raw := C.uint64_t(version)
	return check(C.erase_named(s.opened(), name, &raw))
}

// NameEntry is a name of a list. If the value is damaged, Bytes and Version are 0.
type NameEntry struct {
	Name    string
	Type    Type
	Bytes   uint32
	Version uint64
	Damaged bool
}

// Names calls fn for the names that begin with a prefix, in ascending order of their bytes, until fn
// returns false. It is not a snapshot. EUCLEAN: fn was called for all names but those that are damaged.
func (s *Store) Names(prefix string, fn func(NameEntry) bool) error {
	var page C.struct_names_page
	after := ""
	for {
		more := C.names_page(s.opened(), prefix, after, &page)
		for at := C.uint32_t(0); at < page.used; {
			one := (*C.struct_crabtree_name)(unsafe.Pointer(&page.entries[at]))
			after = C.GoStringN(&one.name[0], C.int(one.name_bytes))
			at += C.uint32_t(one.entry_bytes)
			if !fn(NameEntry{after, Type(one._type), uint32(one.bytes), uint64(one.version), one.status != 0}) {
				return nil
			}
		}
		if more <= 0 {
			return check(more)
		}
	}
}
