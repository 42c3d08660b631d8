// SPDX-License-Identifier: LGPL-2.1-or-later

// This file tests variables on images of two engines, next to a map.

package crabtree

import (
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"sort"
	"strings"
	"syscall"
	"testing"
)

func randomName(random *rand.Rand) string {
	return []string{"", "plc/", "plc/line1/", "\xff\x00"}[random.Intn(4)] + fmt.Sprint(random.Intn(12))
}

// randomValue returns a value of each type, its type and its length.
func randomValue(random *rand.Rand) (any, Type, int) {
	number := random.Uint64()
	long := strings.Repeat("\xffx", random.Intn(3000))
	switch kind := Type(random.Intn(9)); kind {
	case TypeBytes:
		return []byte(long), kind, len(long)
	case TypeText:
		return long, kind, len(long)
	case TypeBool:
		return number%2 == 0, kind, 1
	case TypeU8:
		return uint8(number), kind, 1
	case TypeU16:
		return uint16(number), kind, 2
	case TypeU32:
		return uint32(number), kind, 4
	case TypeU64:
		return number, kind, 8
	case TypeI64:
		return int64(number), kind, 8
	default:
		return random.NormFloat64(), kind, 8
	}
}

type variable struct {
	Variable
	bytes int
}

// setAny sets a variable in each of the four ways, and returns its version.
func setAny(t *testing.T, store *Store, name string, value any, want variable, there bool, way int) (uint64, error) {
	if way == 0 {
		return store.Set(name, value)
	}
	if !there {
		_, err := store.SetReplace(name, value)
		fails(t, err, syscall.ENOENT)
		_, err = store.SetIf(name, value, 1)
		fails(t, err, syscall.ENOENT)
		return store.SetCreate(name, value)
	}
	_, err := store.SetCreate(name, value)
	fails(t, err, syscall.EEXIST)
	_, err = store.SetIf(name, value, want.Version+1)
	fails(t, err, syscall.ESTALE)
	if way == 1 {
		return store.SetReplace(name, value)
	}
	return store.SetIf(name, value, want.Version)
}

func stepName(t *testing.T, store *Store, model map[string]variable, random *rand.Rand) {
	name, way := randomName(random), random.Intn(5)
	want, there := model[name]
	if way < 3 {
		value, kind, bytes := randomValue(random)
		version, err := setAny(t, store, name, value, want, there, way)
		must(t, err)
		want, there = variable{Variable{value, kind, version}, bytes}, true
		model[name] = want
	}
	got, err := store.Variable(name)
	if there && (err != nil || !reflect.DeepEqual(got, want.Variable)) {
		t.Fatalf("%q: %v %v instead of %v", name, got, err, want)
	} else if !there {
		fails(t, err, syscall.ENOENT)
		fails(t, store.Remove(name), syscall.ENOENT)
	} else if way > 3 {
		fails(t, store.RemoveIf(name, want.Version+1), syscall.ESTALE)
		must(t, store.RemoveIf(name, want.Version))
		delete(model, name)
	}
}

func sameNames(t *testing.T, store *Store, model map[string]variable, prefix string) {
	t.Helper()
	var want, got []NameEntry
	for name, one := range model {
		if strings.HasPrefix(name, prefix) {
			want = append(want, NameEntry{name, one.Type, uint32(one.bytes), one.Version, false})
		}
	}
	sort.Slice(want, func(i, j int) bool { return want[i].Name < want[j].Name })
	must(t, store.Names(prefix, func(one NameEntry) bool {
		got = append(got, one)
		return true
	}))
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: %v instead of %v", prefix, got, want)
	}
}

func TestNames(t *testing.T) {
	for _, engine := range []string{"crab", "nvtree"} {
		store, path := newStoreOf(t, FormatOptions{Engine: engine, Names: true}, 2<<20)
		model, random := map[string]variable{}, rand.New(rand.NewSource(1))
		for i := 0; i < 1500; i++ {
			stepName(t, store, model, random)
		}
		sameNames(t, store, model, "plc/")
		must(t, store.Close())
		store, err := Open(path)
		must(t, err)
		for _, prefix := range []string{"", "plc/l", "\xff", "x"} {
			sameNames(t, store, model, prefix)
		}
		closeSound(t, store)
	}
}

// Names come by pages, and a function that returns false ends the list.
func TestManyNames(t *testing.T) {
	store, _ := newStoreOf(t, FormatOptions{Names: true}, 8<<20)
	defer store.Close()
	model := map[string]variable{}
	for i := 0; i < 300; i++ {
		name := fmt.Sprintf("%0*d", 1+i%240, i)
		version, err := store.Set(name, i)
		must(t, err)
		model[name] = variable{Variable{int64(i), TypeI64, version}, 8}
	}
	sameNames(t, store, model, "")
	sameNames(t, store, model, "0")
	count := 0
	must(t, store.Names("", func(NameEntry) bool {
		count++
		return count < 100
	}))
	if count != 100 {
		t.Fatal(count)
	}
}

func TestNameErrors(t *testing.T) {
	store, _ := newStoreOf(t, FormatOptions{Names: true}, 8<<20)
	defer store.Close()
	for _, name := range []string{"", strings.Repeat("x", 241)} {
		_, err := store.Set(name, 1)
		fails(t, err, syscall.EINVAL)
		_, err = store.Variable(name)
		fails(t, err, syscall.EINVAL)
		fails(t, store.Remove(name), syscall.EINVAL)
	}
	for _, value := range []any{nil, int8(1), float32(1), struct{}{}} {
		_, err := store.Set("x", value)
		fails(t, err, syscall.EINVAL)
	}
	_, err := store.Set("x", make([]byte, 65536))
	must(t, err)
	_, err = store.Set("x", make([]byte, 65537))
	fails(t, err, syscall.EMSGSIZE)
	fails(t, store.Insert(1, 1), syscall.EOPNOTSUPP)
	blobs, _ := newStore(t, FormatOptions{Blobs: true})
	defer blobs.Close()
	_, err = blobs.Set("x", 1)
	fails(t, err, syscall.EOPNOTSUPP)
	fails(t, blobs.Names("", func(NameEntry) bool { return true }), syscall.EOPNOTSUPP)
}

// Values as another version has them.
func TestDecode(t *testing.T) {
	if Type(9).String() != "?" || TypeF64.String() != "f64" {
		t.Fatal(Type(9), TypeF64)
	}
	for kind, data := range map[Type]string{9: "abc", TypeU32: "abc", TypeU8: "ab", TypeBool: ""} {
		if got, is := decode(kind, []byte(data)).([]byte); !is || string(got) != data {
			t.Fatal(kind, got)
		}
	}
	if decode(TypeU16, []byte{1, 2}) != uint16(0x201) || decode(TypeF64, make([]byte, 8)) != math.Copysign(0, 1) {
		t.Fatal("the order of the bytes")
	}
}
