// SPDX-License-Identifier: LGPL-2.1-or-later

// This file tests commits of blobs and of variables on images of two engines, next to a map.

package crabtree

import (
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"syscall"
	"testing"
)

// old is the value of a key before a commit: a []byte, or a value of Go under a name.
type old struct {
	value   any
	version uint64
}

// valueStore is a store of blobs or of names, and its model.
type valueStore struct {
	*Store
	names bool
	model map[uint64]old
}

func (v *valueStore) name(key uint64) string {
	return fmt.Sprintf("plc/%d\x00\xff", key)
}

func (v *valueStore) op(verb int, key uint64, value any) ValueOp {
	switch {
	case v.names && verb == 0:
		return SetOp(v.name(key), value)
	case v.names && verb == 1:
		return RemoveOp(v.name(key))
	case v.names:
		return TestNameOp(v.name(key))
	case verb == 0:
		return PutOp(key, value.([]byte))
	case verb == 1:
		return EraseOp(key)
	}
	return TestOp(key)
}

func (v *valueStore) get(key uint64) (old, error) {
	if v.names {
		got, err := v.Variable(v.name(key))
		return old{got.Value, got.Version}, err
	}
	value, version, err := v.Get(key)
	return old{value, version}, err
}

// same compares all keys.
func (v *valueStore) same(t *testing.T) {
	t.Helper()
	for key := uint64(0); key < 40; key++ {
		got, err := v.get(key)
		if want, there := v.model[key]; there && (err != nil || !reflect.DeepEqual(got, want)) {
			t.Fatalf("key %d: %v %v instead of %v", key, got, err, want)
		} else if !there {
			fails(t, err, syscall.ENOENT)
		}
	}
}

// condition adds a condition to an operation, and returns the error if it does not hold.
func (v *valueStore) condition(op ValueOp, key uint64, which int) (ValueOp, error) {
	was, there := v.model[key]
	switch {
	case which == 0 && there:
		return op.IfAbsent(), Error(syscall.EEXIST)
	case which == 0:
		return op.IfAbsent(), nil
	case which == 1 && there:
		return op.IfExists(), nil
	case which == 1:
		return op.IfExists(), Error(syscall.ENOENT)
	case which == 2 && there:
		return op.IfVersion(was.version), nil
	case which == 3 && there:
		return op.IfVersion(was.version + 1), Error(syscall.ESTALE)
	case which == 3:
		return op.IfVersion(1), Error(syscall.ENOENT)
	}
	return op, nil
}

func (v *valueStore) value(random *rand.Rand) any {
	data := make([]byte, random.Intn(3000))
	random.Read(data)
	if !v.names {
		return data
	}
	value, _, _ := randomValue(random)
	return value
}

// done updates the model after a commit, and compares the results.
func (v *valueStore) done(t *testing.T, ops []ValueOp, keys, verbs []int, values []any) {
	for i, op := range ops {
		key := uint64(keys[i])
		_, there := v.model[key]
		if verbs[i] != 2 && op.Existed() != there {
			t.Fatalf("key %d existed: %v", key, op.Existed())
		}
		switch verbs[i] {
		case 0:
			v.model[key] = old{values[i], op.Version()}
		case 1:
			delete(v.model, key)
		}
	}
}

func (v *valueStore) step(t *testing.T, random *rand.Rand) {
	count := 1 + random.Intn(8)
	keys := random.Perm(40)[:count]
	ops, verbs, values := make([]ValueOp, count), make([]int, count), make([]any, count)
	var want error
	first := count
	for i, key := range keys {
		var err error
		verbs[i], values[i] = random.Intn(3), v.value(random)
		ops[i], err = v.condition(v.op(verbs[i], uint64(key), values[i]), uint64(key), random.Intn(12))
		if err != nil && want == nil {
			want, first = err, i
		}
	}
	failed, err := v.CommitValues(ops)
	if want == nil {
		must(t, err)
		v.done(t, ops, keys, verbs, values)
	} else if !errors.Is(err, want.(Error)) || failed != first {
		t.Fatalf("%v, operation %d, instead of %v, %d", err, failed, want, first)
	}
}

func TestCommitValues(t *testing.T) {
	for _, options := range []FormatOptions{{Engine: "crab", Blobs: true}, {Engine: "nvtree", Blobs: true},
		{Engine: "crab", Names: true}, {Engine: "nvtree", Names: true}} {
		options.Commits = true
		store, path := newStoreOf(t, options, 2<<20)
		both := valueStore{store, options.Names, map[uint64]old{}}
		random, sizes := rand.New(rand.NewSource(1)), map[int]bool{}
		for i := 0; i < 600; i++ {
			both.step(t, random)
			both.same(t)
			sizes[len(both.model)] = true
		}
		if len(sizes) < 5 {
			t.Fatalf("few commits were done: %v", sizes)
		}
		must(t, store.Close())
		store, err := Open(path)
		must(t, err)
		both.Store = store
		both.same(t)
		closeSound(t, store)
	}
}

// refuses tells that a commit of a first operation and these fails at one of them.
func refuses(t *testing.T, store *Store, errno syscall.Errno, failed int, ops ...ValueOp) {
	t.Helper()
	got, err := store.CommitValues(ops)
	fails(t, err, errno)
	if got != failed {
		t.Fatalf("operation %d instead of %d", got, failed)
	}
}

func TestCommitBlobErrors(t *testing.T) {
	store, _ := newStoreOf(t, FormatOptions{Blobs: true, Commits: true}, 8<<20)
	defer store.Close()
	var most []ValueOp
	for key := uint64(0); key < 65; key++ {
		most = append(most, PutOp(key, nil))
	}
	refuses(t, store, syscall.EINVAL, 65, most...)
	refuses(t, store, syscall.EINVAL, 0)
	refuses(t, store, syscall.EINVAL, 1, PutOp(1, nil), EraseOp(1))
	refuses(t, store, syscall.EINVAL, 1, PutOp(1, nil), EraseOp(^uint64(0)))
	refuses(t, store, syscall.EMSGSIZE, 1, PutOp(1, nil), PutOp(2, make([]byte, 65537)))
	refuses(t, store, syscall.EOPNOTSUPP, 1, PutOp(1, nil), SetOp("x", 1))
	_, _, err := store.Get(1)
	fails(t, err, syscall.ENOENT)
	_, err = store.CommitValues(most[:64])
	must(t, err)
	if info, err := store.Info(); err != nil || info.Records != 64 || most[63].Version() <= most[0].Version() {
		t.Fatal(info, err)
	}
	plain, _ := newStoreOf(t, FormatOptions{Blobs: true}, 1<<20)
	defer plain.Close()
	_, err = plain.CommitValues(most[:1])
	fails(t, err, syscall.EOPNOTSUPP)
}

func TestCommitNameErrors(t *testing.T) {
	names, _ := newStoreOf(t, FormatOptions{Names: true, Commits: true}, 8<<20)
	defer names.Close()
	refuses(t, names, syscall.EINVAL, 1, SetOp("a", 1), RemoveOp("a"))
	refuses(t, names, syscall.EINVAL, 1, SetOp("a", 1), TestNameOp(""))
	refuses(t, names, syscall.EINVAL, 1, SetOp("a", 1), SetOp("b", float32(1)))
	refuses(t, names, syscall.EOPNOTSUPP, 0, PutOp(1, nil))
	_, err := names.Set("a", 1)
	must(t, err)
	refuses(t, names, syscall.EEXIST, 1, SetOp("b", 1), SetOp("a", 1).IfAbsent(), RemoveOp("c"))
}
