// SPDX-License-Identifier: LGPL-2.1-or-later

// This file tests the StableStore: values of any length, and each point at which Set can end.

package crabtree

import (
	"bytes"
	"errors"
	"syscall"
	"testing"
)

func expectValue(t *testing.T, stable *StableStore, name string, want []byte) {
	t.Helper()
	got, err := stable.Get([]byte(name))
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Fatalf("%s: %d bytes %.20q instead of %d", name, len(got), got, len(want))
	}
}

func TestStable(t *testing.T) {
	store, _ := newStore(t, FormatOptions{})
	defer store.Close()
	stable := NewStableStore(store)
	expectValue(t, stable, "LastVoteCand", nil)
	for _, length := range []int{0, 1, 7, 8, 9, 5000, 3, 100} {
		value := bytes.Repeat([]byte{byte(length)}, length)
		must(t, stable.Set([]byte("LastVoteCand"), value))
		must(t, stable.SetUint64([]byte("CurrentTerm"), uint64(length)))
		expectValue(t, stable, "LastVoteCand", value)
		if term, err := stable.GetUint64([]byte("CurrentTerm")); err != nil || term != uint64(length) {
			t.Fatal(term, err)
		}
	}
	if err := stable.Set([]byte("x"), make([]byte, valueBytes)); !errors.Is(err, syscall.EFBIG) {
		t.Fatal(err)
	}
	if info, err := store.Info(); err != nil || info.Records > 2+2*2+15+1+5000/8 {
		t.Fatal("words of old values remain", info.Records, err)
	}
}

// A value that does not fit in the store, and the words of a Set that never wrote its root.
func TestStableUnfinished(t *testing.T) {
	store, _ := newStore(t, FormatOptions{})
	defer store.Close()
	stable, name := NewStableStore(store), []byte("vote")
	must(t, stable.Set(name, []byte("old")))
	if err := stable.Set(name, make([]byte, 200000)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	expectValue(t, stable, "vote", []byte("old"))
	must(t, stable.Set(name, []byte("new")))
	must(t, store.Insert(firstOf(rootOf(name), 0)+9, 1))
	expectValue(t, stable, "vote", []byte("new"))
	must(t, stable.Set(name, []byte("newer")))
	expectValue(t, stable, "vote", []byte("newer"))
	_, err := store.Delete(firstOf(rootOf(name), 0))
	must(t, err)
	if _, err := stable.Get(name); !errors.Is(err, syscall.EUCLEAN) {
		t.Fatal(err)
	}
}
